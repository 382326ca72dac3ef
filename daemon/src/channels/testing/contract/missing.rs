//! What a channel does not say yet, a sentence each, with the file to say it in: what the author of a new one reads first.
//!
//! The rest of the suite takes only channels of which nothing is missing, so that a new one has one failure with a list, and
//! not twenty without a reason.

use super::{Case, Contract, Scene};
use crate::channels::registry::Kind;

/// Why a case is missing takes more letters than this.
const REASON: usize = 10;

/// Cases that may be missing, for a reason.
const CASES: [Case; 18] = [
    Case::File,
    Case::Removed,
    Case::Located,
    Case::Missing,
    Case::Limited,
    Case::LimitedVaguely,
    Case::Trouble,
    Case::Unavailable,
    Case::Gateway,
    Case::Away,
    Case::Closed,
    Case::Silent,
    Case::Malformed,
    Case::Nameless,
    Case::Endless,
    Case::Refused,
    Case::Replaced,
    Case::NotReady,
];

/// Cases that every way has.
const PLAYED: [Case; 3] = [Case::Text, Case::Parts(2), Case::Ready];

/// What is missing of a channel; of one that is finished, nothing.
pub(super) fn missing(kind: &Kind) -> Vec<String> {
    let name = kind.name;
    let mut said = Vec::new();
    let mut unless = |is_there: bool, file: &str, what: &str| {
        if !is_there {
            said.push(format!("{name}: daemon/src/channels/{name}/{file}: {what}"));
        }
    };
    let title = kind.setup.strip_prefix(&format!("# {name}: ")).and_then(|rest| rest.lines().next());
    unless(
        title.is_some_and(|title| !title.trim().is_empty() && !title.starts_with('#')),
        "SETUP.md",
        &format!("begin with `# {name}: ` and what an account is, such as `# telegram: a bot`"),
    );
    unless(
        kind.setup.contains(&format!("[channels.{name}.")),
        "SETUP.md",
        &format!("show the configuration of an account, `[channels.{name}.home]`, and how to get its values"),
    );
    unless(kind.format.channel == name, "profile.rs", "`channel` of FORMAT is the name of the folder");
    let guide = kind.format.guide;
    unless(
        !guide.is_empty() && guide.lines().all(|line| line.starts_with("- ")),
        "profile.rs",
        "tell an agent in the guide of FORMAT how to write for the channel, in lines that begin with `- `",
    );
    unless(
        !kind.contracts.is_empty(),
        "contract.rs",
        "describe each way to the platform in CONTRACTS, at least one",
    );
    for contract in kind.contracts {
        let way = if contract.way.is_empty() { String::new() } else { format!("{}: ", contract.way) };
        unless(contract.channel == name, "contract.rs", "`channel` is the name of the folder");
        of_way(contract, |is_there, what| unless(is_there, "contract.rs", &format!("{way}{what}")));
    }
    said
}

/// What is missing of one of its ways.
fn of_way(contract: &Contract, mut unless: impl FnMut(bool, &str)) {
    unless(
        !contract.address.is_empty(),
        "write in `address` a conversation, as `resolve` spells it, and in `alike` addresses that are one person or place",
    );
    unless(!contract.message.is_empty(), "write in `message` the id of a message, as the platform gives it");
    unless(!contract.user.is_empty(), "write in `user` the id of a person, as the platform gives it");
    let plays = |case: &Case| matches!((contract.scene)(*case), Scene::Plays(..));
    let unplayed = words(PLAYED.iter().filter(|case| !plays(case)));
    unless(
        unplayed.is_empty(),
        &format!("say in `scene` what the platform answers in the cases {unplayed}, which every way has"),
    );
    let unsaid = words(
        CASES
            .iter()
            .filter(|case| matches!((contract.scene)(**case), Scene::Never(why) if why.len() <= REASON)),
    );
    unless(
        unsaid.is_empty(),
        &format!(
            "say in `scene` what the platform answers in the cases {unsaid}, or why there is no such case"
        ),
    );
    unless(
        plays(&Case::Replaced) == contract.secret.is_some(),
        "a secret is one that can be replaced: either `secret` and the case Replaced, or neither",
    );
}

fn words<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    cases.map(|case| format!("{case:?}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::channels::{
        registry::KINDS,
        testing::skeleton::{self, profile},
    };

    const SKELETON: Kind = Kind {
        name: "skeleton",
        keys: profile::KEYS,
        format: profile::FORMAT,
        limits: profile::LIMITS,
        setup: include_str!("../skeleton/SETUP.md"),
        open: skeleton::open,
        person_id: skeleton::person_id,
        decoders: skeleton::DECODERS,
        contracts: skeleton::contract::CONTRACTS,
    };

    #[test]
    fn nothing_is_missing_of_any_channel() {
        let missing: Vec<String> = KINDS.iter().flat_map(missing).collect();
        assert!(missing.is_empty(), "this is missing:\n{}\n", missing.join("\n"));
    }

    /// `cargo xtask new-channel` copies the skeleton.
    #[test]
    fn whoever_begins_a_channel_is_told_what_is_missing_and_where() {
        let said = missing(&SKELETON);
        for (file, what) in [
            ("SETUP.md", "what an account is"),
            ("SETUP.md", "[channels.skeleton.home]"),
            ("profile.rs", "the guide of FORMAT"),
            ("contract.rs", "`address`"),
            ("contract.rs", "`message`"),
            ("contract.rs", "`user`"),
            ("contract.rs", "Text, Parts(2), Ready, which every way has"),
            ("contract.rs", "Trouble, Unavailable"),
            ("contract.rs", "a secret is one that can be replaced"),
        ] {
            let start = format!("skeleton: daemon/src/channels/skeleton/{file}: ");
            assert!(
                said.iter().any(|one| one.starts_with(&start) && one.contains(what)),
                "{what}: {said:#?}"
            );
            let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/channels/testing/skeleton").join(file);
            assert!(here.exists(), "{}", here.display());
        }
        assert_eq!(said.len(), 9, "{said:#?}");
    }

    #[test]
    fn a_channel_without_a_contract_is_told_so() {
        let said = missing(&Kind { contracts: &[], ..SKELETON });
        assert!(said.iter().any(|one| one.contains("contract.rs: describe each way")), "{said:#?}");
    }
}
