//! The hub, as an account sees it that hears from its platform by a connection of its own.
//!
//! An adapter knows nothing of the queue, and a platform that speaks first asks for what only the queue knows. So it is
//! handed this: a few questions about the account's own messages, and no other's.

use async_trait::async_trait;
use serde_json::Value;

use crate::message::action::Action;

/// What an account may ask the hub.
#[async_trait]
pub trait House: Send + Sync {
    /// The composed request of the newest of the account's messages with this action that was sent; none where there is
    /// none, or its retention is over.
    async fn newest(&self, action: Action) -> Option<Value>;
}
