//! Settings: the keys that a channel documents are those that it takes.

use std::collections::BTreeSet;

use super::{
    complete,
    stage::{Script, Stage},
};
use crate::channels::{account::OpenError, registry::Kind};

/// No setting of any channel.
const UNKNOWN: &str = "no_such_setting";

/// The settings that a channel takes, as it names them when it refuses another one ("unknown field `no_such_setting`, expected
/// one of `token`, `base_url`").
fn taken(stage: &Stage, kind: &Kind) -> BTreeSet<String> {
    let refused = stage.open_with(kind, toml::Table::from_iter([(UNKNOWN.to_owned(), true.into())]));
    let Some(OpenError::Settings(error)) = refused.err() else {
        panic!("{0}: daemon/src/channels/{0}/mod.rs: refuse settings that are not known", kind.name)
    };
    let names: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
    assert_eq!(names.first(), Some(&UNKNOWN), "{}: {error}", kind.name);
    names.into_iter().skip(1).map(str::to_owned).collect()
}

#[test]
fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
    let stage = Stage::set(Script::Nobody);
    for kind in complete() {
        let documented: BTreeSet<String> = kind.keys.iter().map(|key| key.name.to_owned()).collect();
        assert_eq!(taken(&stage, kind), documented, "daemon/src/channels/{}/profile.rs: KEYS", kind.name);
    }
}

#[test]
fn every_documented_value_is_one_that_its_setting_takes() {
    let stage = Stage::set(Script::Nobody);
    for kind in complete() {
        let all: String = kind.keys.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect();
        // Settings that exclude each other, and secrets that are not there, are refused later.
        if let Err(OpenError::Settings(error)) = stage.open_with(kind, toml::from_str(&all).unwrap()) {
            panic!("daemon/src/channels/{}/profile.rs: KEYS: {error}", kind.name);
        }
    }
}
