//! What people do at Discord, as the Gateway tells it: read, written down with the place where the session goes on, and only
//! then acknowledged.
//!
//! The connection must not miss a beat, and a hub whose disk is full may keep an event waiting: so the connection hands over and
//! goes on, and one task here reads in order. What it has no room for stays with Discord, which keeps a session's events for
//! some minutes. A session that is lost leaves a gap, which is filled by asking each conversation that is known.
//!
//! - [`reader`]: an event as a [`draft`], by what stands in it alone; [`message`] those that have words;
//! - [`settle`]: what else must be asked of Discord until a draft says all: its place and its files;
//! - [`files`]: files, fetched at once;
//! - [`streams`]: how far all is read;
//! - [`backlog`]: what was said in a gap;
//! - here: the task.

mod backlog;
mod draft;
mod files;
mod message;
pub mod reader;
mod settle;
mod streams;
#[cfg(test)]
mod tests;

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::{sync::mpsc, time::sleep};

use self::{
    draft::{Callback, Draft},
    streams::Streams,
};
use super::{
    client::Client,
    gateway::{Ear, Gateway, Told, Written},
    presence::Presence,
};
use crate::channels::{
    RateHints,
    hub_handle::HubHandle,
    received::{Batch, Dropped, MAX_BATCH},
};

/// Events that wait to be read. An event is a megabyte at the very most, and usually a thousandth of that.
const WAITING: usize = 64;
/// Events that are written down together at most.
const TOGETHER: usize = 50;

/// "You must send an initial response within 3 seconds of receiving the event"
/// (<https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback>).
const IN_TIME: Duration = Duration::from_millis(2_800);

/// `DEFERRED_UPDATE_MESSAGE`: taken, and nothing changes for who pressed
/// (<https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type>).
const TAKEN: u8 = 6;

/// Keeps the connection, and writes down what comes over it.
pub(super) async fn listen(
    client: &Client,
    gateway: &Gateway,
    hub: &dyn HubHandle,
    presence: Option<Presence>,
) {
    let streams = Streams::read(hub, gateway).await;
    let (told, waiting) = mpsc::channel(WAITING);
    let written = Written::default();
    let before = streams.session(gateway.intents);
    if let Some((session, _)) = &before {
        written.up_to(session.seq);
    }
    let ear = Ear { told, written: written.clone(), before };
    let reception =
        Reception { client, gateway, hub, streams, written, batch: Batch::default(), pressed: vec![] };
    tokio::join!(gateway.keep(client, hub, presence, Some(ear)), reception.run(waiting));
}

/// The task that reads.
struct Reception<'a> {
    client: &'a Client,
    gateway: &'a Gateway,
    hub: &'a dyn HubHandle,
    streams: Streams,
    written: Written,
    /// What is written down next.
    batch: Batch,
    /// Presses in it, which are answered once they are written down.
    pressed: Vec<Callback>,
}

impl Reception<'_> {
    async fn run(mut self, mut waiting: mpsc::Receiver<Told>) {
        let mut some = Vec::new();
        while waiting.recv_many(&mut some, TOGETHER).await > 0 {
            for told in some.drain(..) {
                self.take(told).await;
            }
            self.write().await;
        }
    }

    /// Reads one event into the batch.
    async fn take(&mut self, told: Told) {
        if told.name == "READY" {
            // A session begins; what was said since the one before it comes first.
            self.write().await;
            self.fill_gap(&told.bot).await;
        }
        // Two sessions never have the same event.
        let unique = format!("{}:{}", told.session.id, told.session.seq);
        let read = reader::read(&told.name, &told.data, &unique, &told.bot);
        self.add(read, &told.bot).await;
        self.streams.at(told.session, told.bot);
    }

    /// Adds what was read, as far as there is more to say of it.
    async fn add(&mut self, read: Result<Vec<Draft>, Dropped>, bot: &str) {
        match read {
            Ok(drafts) => {
                if self.batch.received.len() + drafts.len() > MAX_BATCH {
                    self.write().await;
                }
                for draft in drafts {
                    let said_last = draft.said_last();
                    let callback = draft.callback.clone();
                    match settle::settle(self.client, self.gateway, self.hub, draft, bot).await {
                        Ok(received) => {
                            self.batch.received.push(received);
                            self.pressed.extend(callback);
                            said_last.into_iter().for_each(|(channel, id)| self.streams.said(channel, id));
                        }
                        Err(dropped) => self.batch.dropped.push(dropped),
                    }
                }
            }
            Err(dropped) => self.batch.dropped.push(dropped),
        }
    }

    /// Writes the batch down, however long that takes, and acknowledges it.
    async fn write(&mut self) {
        if !self.streams.have_moved() && self.batch == Batch::default() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.positions = self.streams.positions(self.gateway.intents);
        let mut failures = 0;
        while self.hub.receive(batch.clone()).await.is_err() {
            if failures == 0 {
                tracing::warn!(
                    account = self.gateway.account,
                    "what came from Discord cannot be written down; it waits"
                );
            }
            sleep(self.gateway.tempo.pause(failures)).await;
            failures += 1;
        }
        if failures > 0 {
            tracing::info!(account = self.gateway.account, "what came from Discord is written down again");
        }
        self.streams.are_written().into_iter().for_each(|seq| self.written.up_to(seq));
        let pressed = std::mem::take(&mut self.pressed);
        join_all(pressed.into_iter().map(|press| self.taken(press))).await;
    }

    /// Tells who pressed a button that it was heard. Its error has the address in it, and so the token.
    async fn taken(&self, press: Callback) {
        let path = ["interactions", &press.id, &press.token, "callback"];
        let request = self.client.request(Method::POST, &path).json(&json!({"type": TAKEN}));
        let answer = self.client.http.ask_within(request, IN_TIME, &mut RateHints::default()).await;
        if !answer.is_ok_and(|answer| answer.status.is_success()) {
            tracing::debug!(account = self.gateway.account, "Discord took no answer to a press in time");
        }
    }
}
