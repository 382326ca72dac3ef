//! Every channel there is, one line each.

use std::sync::{Arc, LazyLock};

use super::{
    Adapter,
    account::{OpenError, Opening},
    discord, email, googlechat, imessage, local, matrix, ntfy, signal, slack, teams, telegram, webhook,
    whatsapp,
};
use crate::settings::Key;

/// A channel that the hub knows.
pub struct Kind {
    /// Its name in targets and in `[channels.NAME.ACCOUNT]`.
    pub name: &'static str,
    /// The keys of an account.
    pub keys: &'static [Key],
    /// Opens an account.
    pub open: fn(Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError>,
}

/// All channels.
pub const KINDS: &[Kind] = &[
    Kind { name: "local", keys: local::KEYS, open: local::open },
    Kind { name: "email", keys: email::KEYS, open: email::open },
    Kind { name: "matrix", keys: matrix::KEYS, open: matrix::open },
    Kind { name: "telegram", keys: telegram::KEYS, open: telegram::open },
    Kind { name: "discord", keys: discord::KEYS, open: discord::open },
    Kind { name: "slack", keys: slack::KEYS, open: slack::open },
    Kind { name: "googlechat", keys: googlechat::KEYS, open: googlechat::open },
    Kind { name: "teams", keys: teams::KEYS, open: teams::open },
    Kind { name: "signal", keys: signal::KEYS, open: signal::open },
    Kind { name: "whatsapp", keys: whatsapp::KEYS, open: whatsapp::open },
    Kind { name: "imessage", keys: imessage::KEYS, open: imessage::open },
    Kind { name: "webhook", keys: webhook::KEYS, open: webhook::open },
    Kind { name: "ntfy", keys: ntfy::KEYS, open: ntfy::open },
];

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
