//! Accounts that hear from their platforms by a connection of their own, and what they ask the hub then.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;
use tokio::{task::JoinSet, time::timeout};

use super::{Pipeline, spoken::Planned};
use crate::{
    channels::{
        PartKey,
        house::{House, Unavailable},
    },
    message::{
        action::Action,
        form::{Entry, Taken},
    },
    outbox::{Outbox, heard, told},
};

/// How long all accounts together may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

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

    /// Lets each account say goodbye over what it keeps open, and ends that. A platform that does not take it in time finds out by
    /// itself.
    pub async fn leave(&self, listening: JoinSet<()>) {
        let mut leaving = JoinSet::new();
        for (_, _, adapter) in self.0.accounts.iter() {
            let adapter = Arc::clone(adapter);
            leaving.spawn(async move { adapter.leave().await });
        }
        let all = async { while leaving.join_next().await.is_some() {} };
        if timeout(GOODBYE, all).await.is_err() {
            tracing::info!("a platform did not take leave in time");
        }
        drop(listening);
    }
}

impl Behind {
    fn account(&self) -> (&str, &str) {
        (&self.channel, &self.account)
    }
}

fn unavailable(error: impl std::fmt::Display) -> Unavailable {
    tracing::error!(%error, "what somebody entered into a form cannot be written down");
    Unavailable
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

    async fn request(&self, key: &PartKey) -> Result<Option<Value>, Unavailable> {
        let found = self.outbox.store().look(|db| heard::request(db, self.account(), &key.0));
        let wire = found.map_err(unavailable)?.and_then(|wire| serde_json::from_str(&wire).ok());
        // Of a recording and its words, both of which were planned, the one that goes first.
        Ok(wire.map(|wire: Value| Planned::read(&wire).first().clone()))
    }

    async fn entered(&self, key: &PartKey, id: &str, entry: Entry) -> Result<Taken, Unavailable> {
        // Of a nearly full disk, what is in the queue needs the rest.
        let room = self.outbox.store().space().look();
        if !room.accepts() {
            return Err(unavailable(room));
        }
        let found = self.outbox.store().look(|db| told::message_of(db, &key.0)).map_err(unavailable)?;
        // It went in the very moment.
        let seq = found.ok_or(Unavailable)?;
        let (channel, account) = (self.channel.clone(), self.account.clone());
        let (key, id) = (key.0.clone(), format!("{channel}:{account}:{id}"));
        let entered = self
            .outbox
            .change(seq, move |tx| heard::entered(tx, (&channel, &account), &key, &id, &entry))
            .await;
        entered.map_err(unavailable)
    }
}
