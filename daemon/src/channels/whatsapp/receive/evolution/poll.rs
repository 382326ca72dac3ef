//! The loop: ask for what is kept since the last message, write it down with the time up to which all is read, and ask again.
//!
//! The API gives the newest first, so all pages back to that time are read before the oldest is written down; the time moves with each
//! batch. A moment before it is asked for again, since what is kept at one time may have come in any order: the hub knows it again by
//! its key, and `seen` spares it the files.

use std::{
    future::pending,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    asking::PAGE,
    event, files,
    people::Me,
    record::{self, Draft},
};
use crate::{
    channels::{
        Failure,
        hub_handle::{HubHandle, Unavailable},
        kit::{
            polling::{self, Polling},
            rest::unwritten,
            told::Told,
        },
        received::{Batch, Dropped, Event, Position, unreadable},
        receiver::Hearing,
        whatsapp::{instance::Instance, target::PERSON},
    },
    clock,
};

/// The stream of which the position is.
const STREAM: &str = "messages";
/// When the account began, in seconds.
const BEGAN: &str = "began";
/// The most that are read at once, and so the most that are caught up with. A home's phone gets fewer in days.
const MOST: usize = 2000;
/// And of their texts, in bytes: they are in memory until the oldest is found. Of what is beyond it, long texts are left out and short
/// ones, in bytes, stay: else one person's long texts would keep away what others wrote before them.
const MOST_TEXT: usize = 8 * 1024 * 1024;
const SHORT: usize = 4096;
/// How far before the last message is asked again, in seconds.
const OVERLAP: i64 = 300;
/// Events and files after which what was read is written down.
const EVENTS: usize = 50;
const FILES: usize = 4;

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels::whatsapp) struct Tempo {
    pub(in crate::channels::whatsapp) asking: polling::Tempo,
    /// For all files of what is read at once: words wait for them.
    pub(in crate::channels::whatsapp) files: Duration,
}

impl Tempo {
    pub(in crate::channels::whatsapp) const USUAL: Self =
        Self { asking: polling::Tempo::usual(Duration::from_millis(500)), files: Duration::from_mins(3) };
}

/// What keeps an account receiving.
pub(in crate::channels::whatsapp) struct Listener {
    polling: Polling,
    files: Duration,
    me: Mutex<Me>,
}

impl Listener {
    pub(in crate::channels::whatsapp) fn new(account: &str, tempo: Tempo) -> Self {
        let polling = Polling::new("an Evolution API", account, tempo.asking);
        Self { polling, files: tempo.files, me: Mutex::default() }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels::whatsapp) fn hearing(&self) -> Hearing {
        let well = format!("receives, and after a stop what the instance has kept ({MOST} messages at most)");
        self.polling.hearing(well)
    }

    fn me(&self) -> MutexGuard<'_, Me> {
        self.me.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a notification: what it alone tells is on disk when this returns, for the rest it makes that be asked for.
    ///
    /// # Errors
    /// It is not written down.
    pub(in crate::channels::whatsapp) async fn take(
        &self,
        instance: &Instance,
        body: &Value,
        hub: &dyn HubHandle,
    ) -> Result<(), Unavailable> {
        if body["instance"] == instance.name() {
            // Its owner's name, which who asks for the instance is told as well.
            self.me().learn(&body["sender"]);
        }
        let told = event::read(body, instance.name(), &self.me());
        let batch = Batch { received: told.received, dropped: told.dropped, positions: Vec::new() };
        if batch != Batch::default() {
            hub.receive(batch).await?;
        }
        told.seen.into_iter().for_each(|seen| hub.seen(seen));
        if told.wakes {
            self.polling.wake();
        }
        Ok(())
    }

    /// Counts a notification that cannot be read, and asks at once for what it may have told: it would be no better if it came again.
    ///
    /// # Errors
    /// It is not counted.
    pub(in crate::channels::whatsapp) async fn take_unreadable(
        &self,
        hub: &dyn HubHandle,
    ) -> Result<(), Unavailable> {
        let dropped = vec![unreadable("notification")];
        hub.receive(Batch { dropped, ..Batch::default() }).await?;
        self.polling.wake();
        Ok(())
    }

    /// Receives for as long as anybody waits.
    pub(in crate::channels::whatsapp) async fn listen(&self, instance: &Instance, hub: &dyn HubHandle) {
        let seen = Told::default();
        let (place, files_until) = (None, Instant::now());
        let mut reading =
            Reading { listener: self, instance, hub, place, began: 0, unread: 0, seen, files_until };
        let mut failures = 0;
        loop {
            let answer = reading.catch_up().await.map(|()| false);
            self.polling.wait(hub, answer, &mut failures, pending()).await;
        }
    }
}

/// Since 1970.
fn seconds() -> i64 {
    clock::now_ms() / 1000
}

/// How it goes on.
struct Reading<'a> {
    listener: &'a Listener,
    instance: &'a Instance,
    hub: &'a dyn HubHandle,
    /// Up to when all is read, in seconds; nothing before the first question.
    place: Option<i64>,
    /// What was there before belongs to nobody's conversation with the hub.
    began: i64,
    /// Records that could not be read when all was asked for last: they have neither a key nor a time by which they would be known
    /// again.
    unread: usize,
    seen: Told,
    /// When files are no longer waited for.
    files_until: Instant,
}

/// A batch that is being filled, and up to when it is read.
#[derive(Default)]
struct Filling {
    batch: Batch,
    keys: Vec<String>,
    newest: Option<i64>,
    files: usize,
}

impl Reading<'_> {
    /// Reads and writes down all that is kept since the last time.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        self.learn_owner().await;
        let place = match self.place {
            Some(place) => place,
            None => self.begin().await?,
        };
        let (records, unread) = self.since(place.saturating_sub(OVERLAP).max(self.began)).await?;
        self.files_until = Instant::now() + self.listener.files;
        let mut filling = Filling::default();
        let news = unread.saturating_sub(std::mem::replace(&mut self.unread, unread));
        filling.batch.dropped.extend(std::iter::repeat_n(unreadable("message"), news.min(EVENTS)));
        for (came, read) in records.into_iter().rev() {
            match read {
                Ok(drafts) => {
                    for draft in drafts {
                        self.add(&mut filling, draft).await?;
                    }
                }
                // Within the overlap it was counted before.
                Err(dropped) if came.is_some_and(|came| came > place) => filling.batch.dropped.push(dropped),
                Err(_) => {}
            }
            filling.newest = filling.newest.max(came.map(|came| came.min(seconds())));
            let events = filling.batch.received.len() + filling.batch.dropped.len();
            if events >= EVENTS || filling.files >= FILES {
                self.write(std::mem::take(&mut filling)).await?;
            }
        }
        self.write(filling).await
    }

    /// Where the account was, or now.
    async fn begin(&mut self) -> Result<i64, Failure> {
        let stored = async |stream: &str| -> Result<Option<i64>, Failure> {
            let stored = self.hub.position(stream).await.map_err(unwritten)?;
            Ok(stored.and_then(|stored| stored.parse().ok()))
        };
        let now = seconds();
        let (place, began) = (stored(STREAM).await?, stored(BEGAN).await?);
        if place.is_none() {
            let position = |stream: &str| Position { stream: stream.into(), value: now.to_string() };
            let batch = Batch { positions: vec![position(STREAM), position(BEGAN)], ..Batch::default() };
            self.hub.receive(batch).await.map_err(unwritten)?;
        }
        self.began = if place.is_none() { now } else { began.unwrap_or(0) };
        let place = place.unwrap_or(now);
        self.place = Some(place);
        Ok(place)
    }

    /// What is kept since this time, the newest first, with the time at which each came, where that is known; and how many could not be
    /// read.
    async fn since(&self, since: i64) -> Result<(Vec<Read>, usize), Failure> {
        let (mut all, mut unread, mut text, mut hands_over) = (Vec::new(), 0, 0, false);
        for page in 1..=MOST / PAGE {
            let records = self.instance.kept(page, &mut hands_over).await?;
            let count = records.len();
            for record in records {
                let came = record::came(&record, seconds());
                if came.is_some_and(|came| came < since) {
                    return Ok((all, unread));
                }
                // An edit of before, perhaps: what stands behind it may be newer.
                if record::seconds(&record).is_some_and(|at| at < since) {
                    continue;
                }
                if record.is_null() {
                    unread += 1;
                    continue;
                }
                let mut me = self.listener.me();
                me.learn_from(&record);
                let mut read = record::read(&record, &me);
                let long: usize = read.iter().flatten().map(Draft::text).sum();
                if long > SHORT && text + long > MOST_TEXT {
                    read = Err(unreadable("message"));
                } else {
                    text += long;
                }
                match read {
                    Err(_) if came.is_none() => unread += 1,
                    read => all.push((came, read)),
                }
            }
            if count == 0 {
                return Ok((all, unread));
            }
        }
        tracing::warn!("an Evolution API has kept more messages than are caught up with: {MOST}");
        Ok((all, unread + 1))
    }

    async fn add(&mut self, filling: &mut Filling, mut draft: Draft) -> Result<(), Failure> {
        if self.seen.has(&draft.received.key) || filling.keys.contains(&draft.received.key) {
            return Ok(());
        }
        let address = draft.received.conversation.address.clone();
        // A name that hides the number is only the one under which they wrote.
        if draft.received.conversation.direct && draft.jid.ends_with(PERSON) {
            self.instance.learn(&address, &draft.jid);
        }
        if let Some(bare) = &draft.refers {
            let own = self.hub.is_own(&address, bare, &|_| false).await.map_err(unwritten)?;
            if own {
                draft.refers_to_own();
            }
        }
        let id =
            draft.received.message_id.as_deref().and_then(|id| id.rsplit('/').next()).unwrap_or_default();
        if let (Some(sent), Event::Message(words)) = (&draft.file, &mut draft.received.event) {
            filling.files += 1;
            match files::keep(self.instance, self.hub, (&draft.jid, id), sent, self.files_until).await {
                Ok(kept) => words.files.push(kept),
                Err(why) => words.missing.push(why),
            }
        }
        filling.keys.push(draft.received.key.clone());
        filling.batch.received.push(draft.received);
        Ok(())
    }

    /// Writes a batch down, with the time up to which it is read.
    async fn write(&mut self, filling: Filling) -> Result<(), Failure> {
        let Filling { mut batch, keys, newest, .. } = filling;
        let place = newest.filter(|newest| self.place.is_none_or(|place| *newest > place));
        if place.is_none() && batch == Batch::default() {
            return Ok(());
        }
        batch
            .positions
            .extend(place.map(|place| Position { stream: STREAM.into(), value: place.to_string() }));
        self.hub.receive(batch).await.map_err(unwritten)?;
        keys.into_iter().for_each(|key| self.seen.note(key));
        self.place = place.or(self.place);
        Ok(())
    }

    /// Asks whose the phone is: by that a mention of it is known, and by nothing else that matters. So where nobody says, it goes on.
    async fn learn_owner(&self) {
        if !self.listener.me().is_known()
            && let Some(owner) = self.instance.owner().await
        {
            self.listener.me().learn(&owner);
        }
    }
}

/// When a message came, where that is known, and what it says.
type Read = (Option<i64>, Result<Vec<Draft>, Dropped>);
