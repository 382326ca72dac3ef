//! Every channel there is, one line each.

use std::sync::Arc;

use super::{
    Adapter,
    account::{OpenError, Opening},
    discord, email, googlechat, imessage, local, matrix, ntfy, signal, slack, teams, telegram, webhook,
    whatsapp,
};
use crate::{render::Flavour, settings::Key};

/// A channel that the hub knows.
pub struct Kind {
    /// Its name in targets and in `[channels.NAME.ACCOUNT]`.
    pub name: &'static str,
    /// The keys of an account.
    pub keys: &'static [Key],
    /// How text is rendered for an account without settings of its own.
    pub flavour: fn() -> Flavour,
    /// Opens an account.
    pub open: fn(Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError>,
}

/// All channels.
pub const KINDS: &[Kind] = &[
    Kind { name: "local", keys: local::KEYS, flavour: local::flavour, open: local::open },
    Kind { name: "email", keys: email::KEYS, flavour: email::flavour, open: email::open },
    Kind { name: "matrix", keys: matrix::KEYS, flavour: matrix::flavour, open: matrix::open },
    Kind { name: "telegram", keys: telegram::KEYS, flavour: telegram::flavour, open: telegram::open },
    Kind { name: "discord", keys: discord::KEYS, flavour: discord::flavour, open: discord::open },
    Kind { name: "slack", keys: slack::KEYS, flavour: slack::flavour, open: slack::open },
    Kind { name: "googlechat", keys: googlechat::KEYS, flavour: googlechat::flavour, open: googlechat::open },
    Kind { name: "teams", keys: teams::KEYS, flavour: teams::flavour, open: teams::open },
    Kind { name: "signal", keys: signal::KEYS, flavour: signal::flavour, open: signal::open },
    Kind { name: "whatsapp", keys: whatsapp::KEYS, flavour: whatsapp::flavour, open: whatsapp::open },
    Kind { name: "imessage", keys: imessage::KEYS, flavour: imessage::flavour, open: imessage::open },
    Kind { name: "webhook", keys: webhook::KEYS, flavour: webhook::flavour, open: webhook::open },
    Kind { name: "ntfy", keys: ntfy::KEYS, flavour: ntfy::flavour, open: ntfy::open },
];

/// The channel of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
