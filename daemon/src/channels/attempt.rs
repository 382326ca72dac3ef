//! One request on its way: what is known of it before it is settled, and what its platform says of it when it arrived.

use super::{PartKey, local};
use crate::message::recipients::Recipients;

/// A request whose answer was lost, for whoever looks for what became of it.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The part.
    pub key: &'a PartKey,
    /// When the first request that may have arrived left, in milliseconds since 1970.
    pub left: i64,
    /// Where the conversation stood before that, as [`Sender::position`](super::Sender::position) said.
    pub position: Option<&'a str>,
}

impl<'a> Attempt<'a> {
    /// One of a part whose conversation was not looked at before.
    pub fn new(key: &'a PartKey, left: i64) -> Self {
        Self { key, left, position: None }
    }
}

/// What arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The platform's id of it.
    pub id: String,
    /// What is to be said of how, where it is not as it was asked for.
    pub note: Option<String>,
    /// Whom it reached, where it went to several people.
    pub recipients: Option<Recipients>,
    /// What arrives with the end of its part, in the same transaction, which gives it its id: `id` is empty.
    pub row: Option<local::Row>,
}

impl From<String> for Delivered {
    fn from(id: String) -> Self {
        Self { id, ..Self::default() }
    }
}
