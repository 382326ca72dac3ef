//! Every channel there is, one line each.

use std::sync::{Arc, LazyLock};

#[cfg(test)]
use super::testing::contract::Contract;
use super::{
    Adapter,
    account::{OpenError, Opening},
    formats::Format,
    kit::http::Decode,
    limits::Limits,
};
use crate::settings::Key;

/// A channel that the hub knows.
pub struct Kind {
    /// Its name in targets and in `[channels.NAME.ACCOUNT]`.
    pub name: &'static str,
    /// The keys of an account.
    pub keys: &'static [Key],
    /// How its text looks.
    pub format: Format,
    /// How fast it takes messages.
    pub limits: Limits,
    /// How an account is set up, from the steps at the platform on: its `SETUP.md`.
    pub setup: &'static str,
    /// Opens an account.
    pub open: fn(Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError>,
    /// What the answers of its platform mean, by what was asked for: none if it is not asked over HTTP.
    pub decoders: &'static [(&'static str, Decode)],
    /// What its platform says in each case, by which it is tested as all are.
    #[cfg(test)]
    pub(super) contracts: &'static [Contract],
}

/// A channel by the name of its folder, where its `profile.rs` and its `SETUP.md` are.
macro_rules! channel {
    ($name:ident) => {
        Kind {
            name: stringify!($name),
            keys: super::$name::profile::KEYS,
            format: super::$name::profile::FORMAT,
            limits: super::$name::profile::LIMITS,
            setup: include_str!(concat!(stringify!($name), "/SETUP.md")),
            open: super::$name::open,
            decoders: super::$name::DECODERS,
            #[cfg(test)]
            contracts: super::$name::contract::CONTRACTS,
        }
    };
}

/// All channels.
pub const KINDS: &[Kind] = &[
    channel!(local),
    channel!(email),
    channel!(matrix),
    channel!(telegram),
    channel!(discord),
    channel!(slack),
    channel!(googlechat),
    channel!(teams),
    channel!(signal),
    channel!(whatsapp),
    channel!(imessage),
    channel!(webhook),
    channel!(ntfy),
];

impl Kind {
    /// What an account is, in a few words: the title of its set-up, `# telegram: a bot`.
    pub fn title(&self) -> &'static str {
        let first = self.setup.lines().next().unwrap_or_default();
        first.split_once(": ").map_or(first, |(_, title)| title)
    }
}

/// The channel of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The names of all channels.
///
/// Not a constant array: its length would be a type, and an optimised build then finds a cycle from that type to the async
/// closures of whoever reads it (rustc 1.95, E0391).
pub static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| KINDS.iter().map(|kind| kind.name).collect());
