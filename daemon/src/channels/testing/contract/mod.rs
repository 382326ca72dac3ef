//! What every channel keeps, whichever platform is behind it: one suite for all of them.
//!
//! Each adapter describes each of its ways once, as a [`Contract`]: how an account of it is opened, and what its platform
//! says in each [`Case`]. A case that a way does not have says why it has none ([`Scene::Never`]), so that nothing is left
//! out unnoticed; of a channel that does not say all of this, the suite says what is missing. Accounts are opened as the hub opens them, by their settings.
//!
//! - `missing`: what a channel does not say yet, which is all that a new one hears at first;
//! - [`stage`]: the platforms that stand on loopback;
//! - `deliveries`: what becomes of a part, however its platform answers;
//! - `secrets`: tokens that are refused, replaced, and in no error;
//! - `settings`: the keys that are documented are those that are taken;
//! - `claims`: what the capabilities say is what the adapter does;
//! - `identities`: addresses that are one person or place are known to be that;
//! - `spellings`: identities, and forms in which they are written, made at random;
//! - `located`: a message that is named is of the conversation that the request names, or it is asked for.
//!
//! What one platform alone has stands in its own scenarios.

mod claims;
mod deliveries;
mod guides;
pub(crate) mod identities;
mod located;
mod missing;
mod secrets;
mod settings;
pub(crate) mod spellings;
pub(in crate::channels) mod stage;

use std::sync::Arc;

use proptest::strategy::BoxedStrategy;

pub(in crate::channels) use self::identities::Alike;
use self::stage::{Script, Stage};
use self::{claims::nowhere, missing::missing, spellings::Spelt};
use super::http::Reply;
use crate::channels::{
    Adapter,
    registry::{KINDS, Kind},
};
use crate::message::action::Action;

/// One way to one platform.
pub(in crate::channels) struct Contract {
    /// The channel's name.
    pub(in crate::channels) channel: &'static str,
    /// Which of its ways, where it has several.
    pub(in crate::channels) way: &'static str,
    /// The table of an account whose platform stands on this stage.
    pub(in crate::channels) settings: fn(&Stage) -> String,
    /// A conversation, by its one spelling.
    pub(in crate::channels) address: &'static str,
    /// Addresses that are one person or place there, at least once; none where nobody can say which place it is.
    pub(in crate::channels) alike: &'static [Alike],
    /// Identities made at random, each in all forms in which it may be written.
    pub(in crate::channels) spelt: fn() -> BoxedStrategy<Spelt>,
    /// Addresses whose spelling does not tell whose they are, as patterns.
    pub(in crate::channels) unknown: &'static [&'static str],
    /// What the platform answers first, once, when it is asked who somebody is.
    pub(in crate::channels) acquainted: &'static [Reply],
    /// The id of a message there.
    pub(in crate::channels) message: &'static str,
    /// The id of a person there.
    pub(in crate::channels) user: &'static str,
    /// The name and type of a file that it takes.
    pub(in crate::channels) file: (&'static str, &'static str),
    /// A card that it takes, as JSON; empty where it has none.
    pub(in crate::channels) card: &'static str,
    /// The content of its secret, at first and later; each has [`NEEDLE`] in it. None where it has no secret.
    pub(in crate::channels) secret: Option<fn(&Stage, Age) -> String>,
    /// What happens in each case.
    pub(in crate::channels) scene: fn(Case) -> Scene,
}

/// In every secret, and in no error.
pub(in crate::channels) const NEEDLE: &str = "hush";

/// Which secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::channels) enum Age {
    /// The one with which the account was opened.
    Old,
    /// The one that took its place.
    New,
}

/// What a platform does when a part comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::channels) enum Case {
    /// It takes it.
    Text,
    /// It takes so many.
    Parts(usize),
    /// It takes one with a file.
    File,
    /// It does this, and says so.
    Operation(Action),
    /// Too much, says when: in seven seconds.
    Limited,
    /// Too much, does not say when.
    LimitedVaguely,
    /// An error of its own, in the midst of it.
    Trouble,
    /// It takes nothing for now, and says so itself.
    Unavailable,
    /// A gateway speaks for it.
    Gateway,
    /// Nobody is there.
    Away,
    /// It closes the line after the request.
    Closed,
    /// It says nothing.
    Silent,
    /// It says something that means nothing.
    Malformed,
    /// It says yes, and not as which message.
    Nameless,
    /// It does not stop talking.
    Endless,
    /// It refuses the secret.
    Refused,
    /// It refuses the old secret, and takes the part with the new one.
    Replaced,
    /// It removes a message and its answer is lost, and is asked again. Then it refuses to remove another one.
    Removed,
    /// It is asked where a message is that the account did not send: in the conversation, in the thread that the id says.
    Located,
    /// It is asked the same of a message that is not there.
    Missing,
    /// It is asked whether it is ready, and is: as what the id says.
    Ready,
    /// It is asked whether it is ready, and is not.
    NotReady,
}

/// What happens in a case.
pub(in crate::channels) enum Scene {
    /// The platform follows a script, and the delivery ends so.
    Plays(Script, Ends),
    /// There is no such case, for this reason.
    Never(&'static str),
}

/// How a delivery ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::channels) enum Ends {
    /// With this id; with any, where this is empty.
    Sent(&'static str),
    /// Not before seven seconds are over.
    Waits,
    /// It is tried again.
    Retried,
    /// For good, with these words.
    Refused(&'static str),
    /// Nobody knows.
    Unknown,
}

/// Why there is no such case where the capabilities have no such thing.
pub(in crate::channels) const UNCLAIMED: &str = "the way does not claim it";

/// Why nobody is asked where a message is.
pub(in crate::channels) const NOT_TOLD: &str = "the platform answers no such question";

/// What most platforms with an HTTP interface do alike: `before` the message's own answer it gives these, and `sent` is its
/// yes, by which the message has the id `id`.
pub(in crate::channels) fn usual(before: &[Reply], sent: Reply, id: &'static str, case: Case) -> Scene {
    const HALF: Reply = Reply::Says(200, "", r#"{"id":"#);
    let (own, ends): (Vec<Reply>, Ends) = match case {
        Case::Text => (vec![sent], Ends::Sent(id)),
        Case::Parts(n) => (vec![sent; n], Ends::Sent(id)),
        Case::Limited => (vec![Reply::Says(429, "Retry-After: 7\r\n", "{}")], Ends::Waits),
        Case::LimitedVaguely => (vec![Reply::Says(429, "", "{}")], Ends::Retried),
        Case::Trouble => (vec![Reply::Says(500, "", r#"{"error":"internal"}"#)], Ends::Unknown),
        Case::Unavailable => (vec![Reply::Says(503, "", r#"{"error":"in maintenance"}"#)], Ends::Retried),
        Case::Gateway => (vec![Reply::Says(502, "", "<h1>Bad gateway</h1>")], Ends::Unknown),
        Case::Away => return Scene::Plays(Script::Nobody, Ends::Retried),
        Case::Closed => (vec![Reply::Close], Ends::Unknown),
        Case::Silent => (vec![Reply::Silent], Ends::Unknown),
        Case::Malformed => (vec![HALF], Ends::Unknown),
        Case::Nameless => (vec![Reply::Says(200, "", "{}")], Ends::Unknown),
        Case::Endless => (vec![Reply::Endless], Ends::Unknown),
        Case::File | Case::Operation(_) | Case::Removed => return Scene::Never(UNCLAIMED),
        Case::Located | Case::Missing => return Scene::Never(NOT_TOLD),
        Case::Refused | Case::Replaced | Case::Ready | Case::NotReady => {
            panic!(
                "say in `scene` of the contract what the platform answers in the case {case:?}: no two do that alike"
            )
        }
    };
    plays([before, &own].concat(), ends)
}

/// A platform over HTTP follows a script.
pub(in crate::channels) fn plays(script: impl Into<Vec<Reply>>, ends: Ends) -> Scene {
    Scene::Plays(Script::Http(script.into()), ends)
}

/// The accounts of all contracts, each on a platform where nobody is: its name, and an address on it.
pub(crate) fn accounts() -> impl Iterator<Item = (String, &'static str, Arc<dyn Adapter>)> {
    all().map(|contract| (contract.name(), contract.address, Stage::set(Script::Nobody).open(contract)))
}

/// The channels of which nothing is missing: all, unless somebody is at work on one.
pub(in crate::channels) fn complete() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| missing(kind).is_empty())
}

/// The contracts of these channels.
fn all() -> impl Iterator<Item = &'static Contract> {
    complete().flat_map(|kind| kind.contracts)
}

impl Contract {
    /// Its name in a failed test.
    fn name(&self) -> String {
        format!("{} {}", self.channel, self.way).trim_end().to_owned()
    }

    /// Where something of its channel is said.
    fn file(&self, file: &str) -> String {
        format!("daemon/src/channels/{}/{file}", self.channel)
    }
}

#[test]
fn every_way_has_one_contract() {
    for contract in all() {
        let same = all().filter(|other| other.name() == contract.name()).count();
        assert_eq!(same, 1, "{} has several contracts", contract.name());
    }
}

#[test]
fn a_channel_has_one_name_wherever_it_is_named() {
    for contract in all() {
        let channel = nowhere(contract).capabilities().channel;
        assert_eq!(channel, contract.channel, "the capabilities in {}", contract.file("profile.rs"));
    }
}
