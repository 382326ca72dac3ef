//! What people do where the bot is, as the Bot Connector tells it: an activity a request
//! (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#activity-object>).
//!
//! The answer to the request is the receipt: it is given once the row is on disk. Teams keeps nothing for a bot that is away and has
//! nothing that could be asked afterwards without Graph's permissions, so what comes meanwhile is lost, which the account's standing
//! says. Whatever an activity says of where the Connector is, requests go to the service that the account is set up with; so nobody who
//! could have one believed makes the hub send its token elsewhere.
//!
//! - [`activity`]: an activity as what somebody did, read without asking anybody; [`answers`]: presses, choices and what was entered;
//!   [`reactions`]; [`receipts`]: what was read; [`members`]: who came and went; [`words`]: what a message says; [`html`]: that as
//!   plain text, and what it quotes;
//! - [`files`]: files, fetched at once.

mod activity;
mod answers;
mod files;
mod html;
mod members;
mod reactions;
mod receipts;
#[cfg(test)]
mod tests;
mod words;

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use serde_json::Value;

use self::activity::Draft;
use super::client::Client;
use crate::{
    channels::{
        callback::CallbackRefused,
        hub_handle::{HubHandle, Unavailable},
        received::{AuthorKind, Batch, Dropped, Event, Received, ReplyTo, unreadable},
        receiver::Hearing,
    },
    clock,
};

/// Teams shows it for some seconds and names no number; shorter than any that was seen
/// (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/send-proactive-messages>).
pub(super) const TYPING: Duration = Duration::from_secs(3);

/// What an account receives, and when it did last.
pub(super) struct Reception {
    account: String,
    /// In milliseconds since 1970; 0 for never.
    heard: AtomicI64,
    /// Since when nothing can be written down; 0 if it can.
    unwritten: AtomicI64,
}

impl Reception {
    pub(super) fn new(account: &str) -> Self {
        Self { account: account.to_owned(), heard: AtomicI64::new(0), unwritten: AtomicI64::new(0) }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(super) fn standing(&self) -> String {
        let at =
            |time: &AtomicI64| Some(time.load(Ordering::Relaxed)).filter(|at| *at > 0).map(clock::rfc3339);
        if let Some(since) = at(&self.unwritten) {
            return format!("nothing is received since {since}: {Unavailable}");
        }
        let heard = match at(&self.heard) {
            Some(heard) => format!("last at {heard}"),
            None => "of which nothing has come since the hub's start".into(),
        };
        format!(
            "receives what Teams tells at /v1/platform/teams/{}, {heard}; what comes while the hub is away is lost",
            self.account
        )
    }

    /// How the account hears.
    pub(super) fn hearing(&self) -> Hearing {
        Hearing { ready: self.unwritten.load(Ordering::Relaxed) == 0, standing: self.standing() }
    }

    /// Writes down what an activity tells that is believed.
    ///
    /// # Errors
    /// It is not on disk: Teams is not told that it was taken.
    pub(super) async fn take(
        &self,
        client: &Client,
        hub: &dyn HubHandle,
        activity: &Value,
    ) -> Result<(), CallbackRefused> {
        let written = async {
            let batch = self.batch(client, hub, activity).await?;
            if batch == Batch::default() { Ok(()) } else { hub.receive(batch).await }
        };
        self.note(written.await)
    }

    /// Counts an activity that is believed, of which something cannot be read.
    ///
    /// # Errors
    /// As those of [`take`](Self::take).
    pub(super) async fn take_unreadable(&self, hub: &dyn HubHandle) -> Result<(), CallbackRefused> {
        let batch = Batch { dropped: vec![unreadable("activity")], ..Batch::default() };
        self.note(hub.receive(batch).await)
    }

    fn note(&self, written: Result<(), Unavailable>) -> Result<(), CallbackRefused> {
        let now = clock::now_ms();
        match written {
            Ok(()) => {
                self.heard.store(now, Ordering::Relaxed);
                if self.unwritten.swap(0, Ordering::Relaxed) > 0 {
                    tracing::info!(account = self.account, "what Teams tells is written down again");
                }
                Ok(())
            }
            Err(Unavailable) => {
                let before = self.unwritten.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
                if before.is_ok() {
                    tracing::warn!(account = self.account, "what Teams tells cannot be written down");
                }
                Err(CallbackRefused::Unwritten)
            }
        }
    }

    async fn batch(
        &self,
        client: &Client,
        hub: &dyn HubHandle,
        activity: &Value,
    ) -> Result<Batch, Unavailable> {
        let mut batch = Batch::default();
        if receipts::is_one(activity) {
            match receipts::read(activity, client.app_id()) {
                Ok(seen) => hub.seen(seen),
                Err(dropped) => batch.dropped.push(dropped),
            }
            return Ok(batch);
        }
        match activity::read(activity, client.app_id()) {
            Ok(drafts) => {
                for draft in drafts {
                    batch.received.push(settle(client, hub, draft).await?);
                }
            }
            Err(dropped) => batch.dropped.push(dropped),
        }
        Ok(batch)
    }
}

/// Makes a draft what the hub is told. What is nobody's words goes no further, so nothing is fetched for it.
async fn settle(client: &Client, hub: &dyn HubHandle, draft: Draft) -> Result<Received, Unavailable> {
    let Draft { mut received, files, root } = draft;
    if received.author.kind != AuthorKind::Person {
        return Ok(received);
    }
    let address = received.conversation.address.clone();
    let place = if files.is_empty() { None } else { hub.place_for_files(&received).await };
    if let Event::Message(words) = &mut received.event {
        // In a thread that the account began, each message is an answer to it.
        if let Some(root) = root.filter(|_| words.reply_to.is_none())
            && hub.is_own(&address, &root, &|_| false).await?
        {
            words.reply_to = Some(ReplyTo { id: root, mine: true, ..ReplyTo::default() });
        }
        match place {
            Some(_place) => files::fetch_all(client, hub, files, words).await,
            // Teams does not tell it again: the words go without.
            None => files::leave_out(&files, words),
        }
    }
    Ok(received)
}

/// What an activity tells the bot of this application, for tests with any bytes: what an account would hand over, without its files.
pub fn read(bytes: &[u8], app_id: &str) -> Result<Vec<Received>, Dropped> {
    let activity: Value = serde_json::from_slice(bytes).unwrap_or_default();
    Ok(activity::read(&activity, app_id)?.into_iter().map(|draft| draft.received).collect())
}
