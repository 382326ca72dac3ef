//! What a platform tells of its own accord, by a request to the hub's HTTP interface: what became of parts whose answer was lost, and
//! of those that it had taken and could not deliver after all.
//!
//! Whoever sends it has no token of the hub's. It is believed because it is signed with a secret that the account shares
//! with its platform, over the bytes as they came; whether it is, the account's adapter knows.

use super::{PartKey, hub_handle::Unavailable};

/// What became of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// The part.
    pub key: PartKey,
    /// The platform's id of what arrived, or what never will.
    pub outcome: Result<String, Lost>,
}

/// What a platform had taken, and did not deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The platform's id of it: what is told of an earlier attempt says nothing of a later one.
    pub id: String,
    /// Why, in the platform's words.
    pub why: String,
    /// The part goes once more: its request has something else in it for this very case, which was approved with it.
    pub again: bool,
}

/// Why a request says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallbackRefused {
    /// The account takes none.
    #[error("this account is told nothing by its platform; set app_secret and verify_token if it shall be")]
    Nobody,
    /// It is not signed with the account's secret.
    #[error("the notification is not signed with this account's secret")]
    Signature,
    /// It is none.
    #[error("this is no notification, or too long for one")]
    Body,
    /// It cannot be taken now.
    #[error("too much is told at once; tell it again")]
    Busy,
    /// What it tells cannot be written down now.
    #[error("{Unavailable}; tell it again")]
    Unwritten,
}
