//! What Meta notifies the hub of (<https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages>).
//!
//! Meta takes the answer 200 for a receipt, and else tells the same again, for days. So all of a notification is on disk before it is
//! answered, and what was on disk before is known by the message's id. A file is fetched before its row is written, within the time
//! that Meta waits; one that takes longer is missing from its row, for a second notification would take no less.
//!
//! - `notification`: a notification as what people did; `words`: what a message says;
//! - `files`: files, from Meta alone; `recent`: the message by which Meta is told that somebody is answered; `signs`: how it is told.

mod files;
mod notification;
mod recent;
mod signs;
mod words;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

pub(in crate::channels::whatsapp) use self::signs::{TYPING, mark_read};
use self::{notification::Draft, recent::Recent};
use crate::{
    channels::{
        hub_handle::{HubHandle, Unavailable},
        received::{Batch, Dropped, Event, Received, unreadable},
        whatsapp::graph::Graph,
    },
    clock,
};

/// Events, and files, after which what was read is written down.
const TOGETHER: usize = 50;
const FILES: usize = 8;
/// For all files of a notification: how long Meta waits for an answer it does not say.
const FETCHING: Duration = Duration::from_secs(15);

/// What a notification tells, for tests with any bytes: what an account with a number of this id would hand over, without its files.
pub fn read(body: &[u8], number: &str) -> (Vec<Received>, Vec<Dropped>) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let (mut received, mut dropped) = (Vec::new(), Vec::new());
    for read in notification::read(&body, number) {
        match read {
            Ok(draft) => received.push(draft.received),
            Err(not) => dropped.push(not),
        }
    }
    (received, dropped)
}

/// What an account hears by notifications.
#[derive(Default)]
pub(in crate::channels::whatsapp) struct Hearing {
    recent: Recent,
    /// When it last heard something of people.
    last: Mutex<Option<i64>>,
}

impl Hearing {
    /// What there is to say of it to who asks whether the account is ready: nobody but Meta knows whether it notifies.
    pub(in crate::channels::whatsapp) fn standing(&self) -> String {
        match *self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(last) => format!("receives by notifications, the last at {}", clock::rfc3339(last)),
            None => "receives by notifications, of which none came since the hub began".into(),
        }
    }

    /// Hands over what people did, a batch after the other.
    ///
    /// # Errors
    /// A batch is not written down; Meta tells all of them again.
    pub(in crate::channels::whatsapp) async fn take(
        &self,
        graph: &Graph,
        body: &Value,
        hub: &dyn HubHandle,
    ) -> Result<(), Unavailable> {
        let until = Instant::now() + FETCHING;
        let (mut batch, mut fetched) = (Batch::default(), 0);
        if body.is_null() {
            batch.dropped.push(unreadable("notification"));
        }
        for read in notification::read(body, graph.number()) {
            match read {
                Ok(Draft { mut received, file }) => {
                    let place = if file.is_some() { hub.place_for_files(&received).await } else { None };
                    if let (Event::Message(words), Some(sent)) = (&mut received.event, file) {
                        fetched += 1;
                        // Meta tells it again, and then there may be one.
                        let Some(_place) = place else { return Err(Unavailable) };
                        let kept = tokio::select! {
                            biased;
                            kept = files::keep(graph, hub, &sent, until) => kept,
                            // Meta tells it again, and the file is fetched then.
                            () = hub.stops() => return Err(Unavailable),
                        };
                        match kept {
                            Ok(kept) => words.files.push(kept),
                            Err(why) => words.missing.push(why),
                        }
                    }
                    batch.received.push(received);
                }
                Err(dropped) => batch.dropped.push(dropped),
            }
            if batch.received.len() + batch.dropped.len() >= TOGETHER || fetched >= FILES {
                self.write(&mut batch, hub).await?;
                fetched = 0;
            }
        }
        self.write(&mut batch, hub).await
    }

    async fn write(&self, batch: &mut Batch, hub: &dyn HubHandle) -> Result<(), Unavailable> {
        let batch = std::mem::take(batch);
        if batch == Batch::default() {
            return Ok(());
        }
        let newest: Vec<(String, String)> = batch.received.iter().filter_map(recent::named).collect();
        hub.receive(batch).await?;
        newest.into_iter().for_each(|(address, id)| self.recent.note(address, id));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock::now_ms());
        Ok(())
    }
}
