//! What an account asks of the hub, and hands to it, when its platform speaks first.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    channels::{
        PartKey,
        envelope::Envelope,
        hub_handle::{FilePlace, FileStream, HubHandle, NotKept, OfRequest, Unavailable},
        received::{Batch, MAX_FILES, Received, Seen},
    },
    files::Pin,
    message::{
        action::Action,
        attachment::Attachment,
        form::{Entry, Taken},
    },
    outbox::{Outbox, form_submissions, own, reconcile},
    pipeline::current::Current,
    policy::Scope,
    router::{
        Route, Routing, UnknownSenders,
        arrival::{Receiving, place_of, sender_of, wirings},
        positions,
    },
    store::{StoreError, now_ms},
};

/// The most files that are kept for batches that have not come yet: those of ten messages, and as many again of what was given up. An
/// account that could not hand a batch over may hand over the same again, or fetch it anew; then the oldest are let go.
const MAX_FRESH_FILES: usize = 2 * 10 * MAX_FILES;

/// The hub, as one account sees it: while it listens, or while one notification of its platform's is read.
pub struct AccountHandle {
    current: Current,
    channel: String,
    account: String,
    /// Files that are kept until the batch that names them is written down.
    fresh: Mutex<VecDeque<Pin>>,
}

impl AccountHandle {
    /// For an account of this hub.
    pub fn of(current: &Current, channel: &str, account: &str) -> Self {
        let (channel, account) = (channel.to_owned(), account.to_owned());
        Self { current: current.clone(), channel, account, fresh: Mutex::default() }
    }

    fn outbox(&self) -> Outbox {
        self.current.pipeline().outbox().clone()
    }

    fn account(&self) -> (&str, &str) {
        (&self.channel, &self.account)
    }
}

/// Whether no agent reads what a stranger writes there, and nobody is asked about it: what comes with it has no use.
fn shuts_out_strangers(routing: &Routing, wired: &[Route], at: &Receiving, of: &Received) -> bool {
    if wired.is_empty() {
        let asks = of.conversation.direct && at.unknown == UnknownSenders::RequestApproval;
        return routing.default_agent.is_none() || !asks;
    }
    wired.iter().all(|route| route.unknown.unwrap_or(at.unknown) == UnknownSenders::Strict)
}

fn unavailable(error: impl std::fmt::Display) -> Unavailable {
    tracing::error!(%error, "the database cannot be used for what a platform told");
    Unavailable
}

#[async_trait]
impl HubHandle for AccountHandle {
    async fn newest(&self, action: Action) -> Option<Value> {
        let (channel, account) = (self.channel.clone(), self.account.clone());
        let found = self
            .outbox()
            .store()
            .read(move |db| form_submissions::newest_sent(db, (&channel, &account), action.word()))
            .await;
        match found {
            Ok(request) => Some(Envelope::read(&request?).ok()?.request),
            Err(error) => {
                tracing::warn!(%error, "cannot look up what an account did last");
                None
            }
        }
    }

    async fn request(&self, key: &PartKey) -> Result<Option<Value>, Unavailable> {
        let found = self.outbox().store().look(|db| form_submissions::request(db, self.account(), &key.0));
        // Of a recording and its words, both of which were planned, the one that goes first.
        let read = |request: String| Some(Envelope::read(&request).ok()?.request);
        Ok(found.map_err(unavailable)?.and_then(read))
    }

    async fn entered(&self, key: &PartKey, id: &str, entry: Entry) -> Result<Taken, Unavailable> {
        // Of a nearly full disk, what is in the queue needs the rest.
        let room = self.outbox().store().space().look();
        if !room.accepts() {
            return Err(unavailable(room));
        }
        let found =
            self.outbox().store().look(|db| reconcile::message_of(db, &key.0)).map_err(unavailable)?;
        // It went in the very moment.
        let seq = found.ok_or(Unavailable)?;
        let (channel, account) = (self.channel.clone(), self.account.clone());
        let (key, id) = (key.0.clone(), format!("{channel}:{account}:{id}"));
        let entered = self
            .outbox()
            .change(seq, move |tx| form_submissions::entered(tx, (&channel, &account), &key, &id, &entry))
            .await;
        entered.map_err(unavailable)
    }

    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        let pipeline = self.current.pipeline();
        let at = pipeline.receiving(&self.channel, Some(&self.account), None);
        // The account is gone from the configuration in this moment.
        let at = at.map_err(|_| Unavailable)?;
        pipeline.receive(at, batch).await.map_err(|_| Unavailable)?;
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    fn seen(&self, seen: Seen) {
        self.outbox().seen(self.account(), seen);
    }

    async fn position(&self, stream: &str) -> Result<Option<String>, Unavailable> {
        let (channel, account, stream) = (self.channel.clone(), self.account.clone(), stream.to_owned());
        let read =
            self.outbox().store().read(move |db| positions::get(db, &channel, &account, &stream)).await;
        read.map_err(unavailable)
    }

    async fn is_own(&self, address: &str, id: &str, is: OfRequest<'_>) -> Result<bool, Unavailable> {
        // In this order: what is confirmed in between is sent by then.
        let found = self.outbox().store().look(|db| {
            let open = own::open_requests(db, self.account(), address, now_ms())?;
            Ok::<_, StoreError>((open, own::is_sent(db, self.account(), address, id)?))
        });
        let (open, is_sent) = found.map_err(unavailable)?;
        Ok(is_sent
            || open.iter().any(|stored| Envelope::read(stored).is_ok_and(|stored| is(&stored.request))))
    }

    async fn place_for_files(&self, of: &Received) -> Option<FilePlace> {
        let pipeline = self.current.pipeline();
        let at = pipeline.receiving(&self.channel, Some(&self.account), None).ok()?;
        let routing = pipeline.0.routing.clone();
        // Whom a hook alone knows is a stranger here: it is asked once, when the event is written down.
        let looked = self.outbox().store().look(|db| {
            let sender = sender_of(db, &at, of, None, &routing)?;
            Ok::<_, StoreError>((sender.scope, wirings(db, &routing, &place_of(&at, of))?))
        });
        let (scope, wired) = looked.map_err(unavailable).ok()?;
        if scope > Scope::Unknown {
            return Some(FilePlace::default());
        }
        let a_hook_may_know_them = !pipeline.0.hooks.0.gates.sender.is_empty();
        if scope == Scope::Blocked || !a_hook_may_know_them && shuts_out_strangers(&routing, &wired, &at, of)
        {
            return None;
        }
        pipeline.0.strangers_files.take().map(|place| FilePlace(Some(place)))
    }

    async fn keep_file(
        &self,
        name: Option<&str>,
        kind: Option<&str>,
        bytes: FileStream<'_>,
    ) -> Result<Attachment, NotKept> {
        let files = self.current.pipeline().files().clone();
        let staged = files.keep(name, kind, bytes).await.map_err(|error| NotKept(error.to_string()))?;
        let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        if fresh.len() >= MAX_FRESH_FILES {
            fresh.pop_front();
        }
        fresh.push_back(staged.pin);
        Ok(staged.attachment)
    }

    async fn rest(&self, wait: Duration) {
        let _ = timeout(wait, self.current.changed()).await;
    }

    async fn stops(&self) {
        self.current.stops().await;
    }
}
