//! Accounts that hear from their platforms by a connection of their own, and what they ask the hub then.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::task::JoinSet;

use super::Pipeline;
use crate::{
    channels::house::House,
    message::action::Action,
    outbox::{Outbox, heard},
};

/// The hub, as one account sees it.
struct Behind {
    outbox: Outbox,
    channel: String,
    account: String,
}

impl Pipeline {
    /// Lets each account keep what it keeps open; until the set is dropped.
    pub fn listen(&self) -> JoinSet<()> {
        let mut listening = JoinSet::new();
        for (channel, account, adapter) in self.0.accounts.iter() {
            let (outbox, adapter) = (self.0.outbox.clone(), Arc::clone(adapter));
            let behind = Behind { outbox, channel: channel.to_owned(), account: account.to_owned() };
            listening.spawn(async move { adapter.listen(&behind).await });
        }
        listening
    }
}

#[async_trait]
impl House for Behind {
    async fn newest(&self, action: Action) -> Option<Value> {
        let (channel, account) = (self.channel.clone(), self.account.clone());
        let found = self
            .outbox
            .store()
            .read(move |db| heard::newest_sent(db, (&channel, &account), action.word()))
            .await;
        match found {
            Ok(wire) => serde_json::from_str(&wire?).ok(),
            Err(error) => {
                tracing::warn!(%error, "cannot look up what an account did last");
                None
            }
        }
    }
}
