//! Delivery actions: what the hub itself does when a message arrives that is for no platform.
//!
//! Three channels are the hub's own, and need no account. A message to `hub:ACTION/ARGUMENT` arrives by being done: its action is
//! found by name in [`ACTIONS`]. A message to `agent:NAME` arrives as a turn of that agent. One to `person:owner` is a question, and
//! arrives by a person's yes. All are messages like any other: they are written down, judged, shown to a person and signed before
//! anything happens here, and the audit proves it by the same rows. Nothing calls an action but its delivery.
//!
//! What is done is done once: [`once`] keeps the outcome under the part's key, in the transaction that does it. A crash
//! before that transaction did nothing, and after it the second delivery finds the outcome.
//!
//! - [`own`]: the channel `hub`; [`let_in`]: the action by which a person lets somebody in;
//! - [`agents`]: the channel `agent`; [`ask`]: what opens the turn;
//! - [`questions`]: the channel `person`;
//! - [`channel`]: what the three have alike.

pub mod agents;
pub mod ask;
mod channel;
mod let_in;
mod once;
pub mod own;
pub mod questions;
#[cfg(test)]
mod tests;

use rusqlite::Transaction;

use crate::{outbox::row::MessageRow, store::StoreError};

/// The account of the hub's own channels.
pub const ACCOUNT: &str = "hub";

/// The action that lets in whoever asked for it by a code.
pub const LET_IN: &str = "let-in";

/// All actions. A new one is a module here and a line in this list.
pub const ACTIONS: &[&dyn Action] = &[&let_in::LetIn];

/// Something that the hub does in place of a delivery.
pub trait Action: Send + Sync {
    /// Its name in `hub:NAME/ARGUMENT`.
    fn name(&self) -> &'static str;

    /// Does it. All that it writes is written with the outcome, or not at all.
    ///
    /// # Errors
    /// It cannot be done, or the database failed.
    fn perform(&self, tx: &Transaction<'_>, order: &Order<'_>) -> Result<String, Undone>;
}

/// What is to be done, and by which message.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// What stands behind the action's name in the address.
    pub argument: &'a str,
    /// The message that is delivered by it.
    pub message: &'a MessageRow,
    /// Milliseconds since 1970.
    pub now: i64,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Undone {
    /// It cannot be, now or later.
    #[error("{0}")]
    Never(String),
    /// It cannot be now; it is tried again.
    #[error("{0}")]
    Later(String),
    /// The database; it is tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for Undone {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The action of this name.
pub fn action(name: &str) -> Option<&'static dyn Action> {
    ACTIONS.iter().copied().find(|action| action.name() == name)
}
