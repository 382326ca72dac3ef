//! Addresses that are one person or place are known to be that: by their spelling, or by what their platform says.

use std::sync::Arc;

use super::{
    Contract, all,
    stage::{Script, Stage},
};
use crate::channels::{Adapter, identity::Spelling, testing::http::Reply};

/// Addresses that are one person or place.
pub(in crate::channels) struct Alike {
    /// Who they are: one of them, as its channel spells it.
    pub(in crate::channels) identity: &'static str,
    /// Those of which the spelling tells it.
    pub(in crate::channels) spelt: &'static [&'static str],
    /// Those for which the platform has to be asked, with its answers.
    pub(in crate::channels) asked: &'static [(&'static str, &'static [Reply])],
}

impl Alike {
    /// All of them, with what the platform has to answer.
    fn all(&self) -> impl Iterator<Item = (&'static str, &'static [Reply])> {
        self.spelt.iter().map(|one| (*one, &[][..])).chain(self.asked.iter().copied())
    }
}

/// Two addresses that are one, and an account whose platform says so, once each.
pub(crate) struct Pair {
    pub(crate) channel: &'static str,
    pub(crate) identity: &'static str,
    /// The one that is asked for first, and the other one.
    pub(crate) addresses: [&'static str; 2],
    pub(crate) account: Arc<dyn Adapter>,
    /// The platform, for as long as it is needed.
    pub(crate) stage: Stage,
}

/// Each address of each contract with the one behind it in its list, and the last one with the first; one that stands alone with
/// itself.
pub(crate) fn pairs() -> impl Iterator<Item = Pair> {
    let of = |contract: &'static Contract, alike: &'static Alike| {
        let all: Vec<_> = alike.all().collect();
        let pair = move |n: usize| {
            let (one, other) = (all[n], all[(n + 1) % all.len()]);
            let mut script = one.1.to_vec();
            if one.0 != other.0 {
                script.extend(other.1);
            }
            if !script.is_empty() {
                script.splice(0..0, contract.acquainted.iter().copied());
            }
            let stage = Stage::set(match script.is_empty() {
                true => Script::Nobody,
                false => Script::Http(script),
            });
            let account = stage.open(contract);
            let addresses = [one.0, other.0];
            Pair { channel: contract.channel, identity: alike.identity, addresses, account, stage }
        };
        (0..alike.all().count()).map(pair)
    };
    all().flat_map(move |contract| contract.alike.iter().flat_map(move |alike| of(contract, alike)))
}

/// Accounts whose platforms are away, and an address for which they would have to be asked.
pub(crate) fn unidentified() -> impl Iterator<Item = (&'static str, &'static str, Arc<dyn Adapter>, Stage)> {
    let of = |contract: &'static Contract| {
        let asked = contract.alike.iter().flat_map(|alike| alike.asked);
        asked.map(move |(address, _)| {
            let stage = Stage::set(Script::Nobody);
            (contract.channel, *address, stage.open(contract), stage)
        })
    };
    all().flat_map(of)
}

#[test]
fn every_way_says_which_addresses_are_one() {
    for contract in all() {
        let name = contract.name();
        let adapter = Stage::set(Script::Nobody).open(contract);
        let known = adapter.identity(&adapter.resolve(contract.address).unwrap());
        let has_none =
            known == Spelling::Ask && contract.channel == "teams" && contract.way == "by a workflow";
        assert_eq!(
            has_none,
            contract.alike.is_empty(),
            "{name}: name in `alike` of {} an address that has an identity",
            contract.file("contract.rs")
        );
        for alike in contract.alike {
            for spelt in alike.spelt {
                let spelling = adapter.identity(&adapter.resolve(spelt).unwrap());
                assert_eq!(spelling, Spelling::known(alike.identity), "{name}: {spelt}");
            }
            for (asked, answers) in alike.asked {
                let spelling = adapter.identity(&adapter.resolve(asked).unwrap());
                assert!(!matches!(spelling, Spelling::Known(_)) && !answers.is_empty(), "{name}: {asked}");
            }
            // Whoever it is can be named by it.
            assert_eq!(adapter.resolve(alike.identity).as_deref(), Ok(alike.identity), "{name}");
        }
    }
}

#[tokio::test]
async fn where_the_spelling_does_not_tell_the_platform_does() {
    for contract in all() {
        for alike in contract.alike {
            for (asked, answers) in alike.asked {
                let script = [contract.acquainted, answers].concat();
                let stage = Stage::set(Script::Http(script.clone()));
                let adapter = stage.open(contract);
                let found = adapter.identify(&adapter.resolve(asked).unwrap()).await;
                let found = found.unwrap_or_else(|why| panic!("{}: {asked}: {why}", contract.name()));
                assert_eq!(found.as_str(), alike.identity, "{}: {asked}", contract.name());
                assert_eq!(stage.heard().len(), script.len(), "{}: {asked}", contract.name());
            }
        }
    }
}

#[tokio::test]
async fn a_platform_that_is_away_or_talks_nonsense_identifies_nobody() {
    for contract in all() {
        for (asked, _) in contract.alike.iter().flat_map(|alike| alike.asked) {
            for script in [
                Script::Nobody,
                Script::Http(vec![Reply::Says(200, "", "{}"); 3]),
                Script::Http(vec![Reply::Says(200, "", "[]"); 3]),
                Script::Http(vec![Reply::Says(200, "", "\"yes\""); 3]),
                Script::Http(vec![Reply::Says(200, "", r#"{"ok":true,"result":[],"channel":{}}"#); 3]),
                Script::Http(vec![Reply::Says(500, "", r#"{"ok":false}"#); 3]),
                Script::Http(vec![Reply::Close; 3]),
            ] {
                let stage = Stage::set(script);
                let adapter = stage.open(contract);
                let found = adapter.identify(&adapter.resolve(asked).unwrap()).await;
                assert!(found.is_err(), "{}: {asked}: {found:?}", contract.name());
            }
        }
    }
}
