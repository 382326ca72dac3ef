//! The hub, as an account sees it that hears from its platform by a connection of its own.
//!
//! An adapter knows nothing of the queue, and a platform that speaks first asks for what only the queue knows. So it is
//! handed this: a few questions about the account's own messages, and no other's.

use async_trait::async_trait;
use serde_json::Value;

use super::PartKey;
use crate::message::{
    action::Action,
    form::{Entry, Taken},
};

/// The hub cannot say now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hub cannot use its database")]
pub struct Unavailable;

/// What an account may ask the hub.
#[async_trait]
pub trait HubHandle: Send + Sync {
    /// The composed request of the newest of the account's messages with this action that was sent; none where there is
    /// none, or its retention is over.
    async fn newest(&self, action: Action) -> Option<Value>;

    /// The composed request of one of the account's parts; none where it is another's, or gone.
    ///
    /// # Errors
    /// Nobody can say now.
    async fn request(&self, key: &PartKey) -> Result<Option<Value>, Unavailable>;

    /// Writes down what somebody entered into a form of one of the account's parts, once for each `id` of the platform's, and
    /// tells the message's agent. When this returns, it is on disk.
    ///
    /// # Errors
    /// It is not written down.
    async fn entered(&self, key: &PartKey, id: &str, entry: Entry) -> Result<Taken, Unavailable>;
}
