//! The task that reads: in the order in which events come, a batch at a time, each acknowledged once its batch is on disk.
//! Gaps are filled beside it, so that only what is new in the same conversation waits for that.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{PoisonError, atomic::Ordering},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

use super::{
    Listener,
    backlog::{self, Filled, Missed},
    draft::{Draft, Ts},
    envelope::Content,
    files,
    held::{Brought, Held},
    known::{Known, Spot},
    mrkdwn,
};
use crate::{
    channels::{
        hub_handle::HubHandle,
        received::{AuthorKind, Batch, Dropped, Event, MAX_BATCH, Received},
        slack::{
            client::{Client, Me},
            target::is_direct,
        },
    },
    clock,
};

/// Events that are written down together at most.
const TOGETHER: usize = 50;
/// Keys that are remembered: what comes again brings its files again, which then need not be fetched.
const RECENT: usize = 256;
/// People whose names are looked up for one text.
const MAX_NAMES: usize = 8;

/// How far Slack's clock may be ahead of the hub's, in milliseconds.
const SKEW: i64 = 3_600_000;

/// What a connection hands over.
#[derive(Debug)]
pub(super) enum Told {
    /// Something happened, and how it is acknowledged.
    Event(Content, Option<Ack>),
    /// A connection is open, after there was none.
    Gap,
}

/// How an envelope is acknowledged: by its id, over the connection over which it came.
#[derive(Debug)]
pub(super) struct Ack {
    pub(super) id: String,
    pub(super) to: mpsc::Sender<String>,
}

/// The task.
pub(super) struct Reception<'a> {
    listener: &'a Listener,
    client: &'a Client,
    hub: &'a dyn HubHandle,
    me: &'a Me,
    known: Known,
    /// What is written down next, and what is acknowledged then.
    batch: Batch,
    acks: Vec<Ack>,
    recent: VecDeque<String>,
    held: Held,
    /// When all conversations are to be asked, and when they were. Until then those are in which something waits.
    due: Option<Instant>,
    asked: Option<Instant>,
    /// What cannot be read of this gap.
    missed: Option<String>,
}

impl<'a> Reception<'a> {
    pub(super) fn new(
        listener: &'a Listener,
        client: &'a Client,
        hub: &'a dyn HubHandle,
        me: &'a Me,
        known: Known,
    ) -> Self {
        Self {
            listener,
            client,
            hub,
            me,
            known,
            batch: Batch::default(),
            acks: Vec::new(),
            recent: VecDeque::new(),
            held: Held::default(),
            due: None,
            asked: None,
            missed: None,
        }
    }

    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<Told>) {
        let (mut some, mut asking) = (Vec::new(), None::<BoxFuture<'a, Filled>>);
        loop {
            if asking.is_none() {
                asking = self.next_question();
            }
            let due = self.due.filter(|_| asking.is_none());
            let overdue = self.held.ends(self.listener.tempo.patience);
            let answer = async {
                match &mut asking {
                    Some(asking) => asking.await,
                    None => pending().await,
                }
            };
            tokio::select! {
                count = waiting.recv_many(&mut some, TOGETHER) => {
                    if count == 0 {
                        return;
                    }
                    for told in some.drain(..) {
                        self.take(told).await;
                    }
                    self.write().await;
                }
                filled = answer => {
                    asking = None;
                    self.fill(filled).await;
                }
                () = async { sleep_until(due.unwrap_or_else(Instant::now)).await }, if due.is_some() => {
                    self.ask_all();
                }
                () = async { sleep_until(overdue.unwrap_or_else(Instant::now)).await }, if overdue.is_some() => {
                    while let Some(brought) = self.held.overdue(self.listener.tempo.patience) {
                        self.tell(brought).await;
                    }
                    self.write().await;
                }
            }
        }
    }

    /// Reads one event into the batch.
    async fn take(&mut self, told: Told) {
        // What there was no room for came before this.
        self.mind_what_was_left();
        match told {
            Told::Event(Content::Read(Ok(drafts)), ack) => {
                drafts.iter().for_each(|draft| self.begins(draft));
                self.come(Brought { since: Instant::now(), drafts, ack }).await;
            }
            Told::Event(Content::Read(Err(dropped)), ack) => {
                self.add(Err(dropped)).await;
                self.acks.extend(ack);
            }
            Told::Event(Content::Limited, ack) => {
                self.acks.extend(ack);
                tracing::warn!(
                    account = self.listener.account,
                    "more happens at Slack than it tells one app of: some of it is left out"
                );
                self.ask_soon();
            }
            Told::Gap => self.ask_soon(),
        }
    }

    /// A conversation with one person that is new to the hub: what they wrote first may have been lost, and comes again after this.
    /// Elsewhere nothing is asked for, which may be from before the account was let in.
    fn begins(&mut self, draft: &Draft) {
        let Some((channel, None, ts)) = draft.said() else { return };
        let now = clock::now_ms();
        let is_fresh = ts.at().is_some_and(|at| (now - backlog::EARLIER_MS..now + SKEW).contains(&at));
        if is_direct(channel) && is_fresh && draft.received.author.kind != AuthorKind::Myself {
            self.known.begins(Spot { channel: channel.to_owned(), thread: None }, ts);
        }
    }

    /// Reads what somebody did into the batch, or lets it wait.
    async fn come(&mut self, brought: Brought) {
        if !self.held.concerns(&brought, &self.known) {
            return self.tell(brought).await;
        }
        if let Err(left) = self.held.push(brought) {
            // It is not acknowledged. What is asked for now may be without it.
            left.spots().for_each(|spot| self.known.is_behind_again(&spot));
        }
    }

    async fn tell(&mut self, brought: Brought) {
        for draft in brought.drafts {
            self.add(Ok(draft)).await;
        }
        // Last: a batch that was full before is written with what it was read from alone.
        self.acks.extend(brought.ack);
    }

    /// Something may have been said everywhere that was not heard. All conversations are asked, but not all the time.
    fn ask_soon(&mut self) {
        self.listener.overflowed.store(false, Ordering::Relaxed);
        self.missed = None;
        self.known.all_are_behind();
        let earliest = self.asked.map(|asked| asked + self.listener.tempo.between);
        match earliest.filter(|earliest| *earliest > Instant::now()) {
            Some(earliest) => self.due = self.due.or(Some(earliest)),
            None => self.ask_all(),
        }
    }

    fn ask_all(&mut self) {
        (self.due, self.asked) = (None, Some(Instant::now()));
    }

    fn mind_what_was_left(&mut self) {
        if self.listener.overflowed.load(Ordering::Relaxed) {
            self.ask_soon();
        }
    }

    fn next_question(&self) -> Option<BoxFuture<'a, Filled>> {
        let awaited = self.held.spots().find_map(|spot| self.known.behind(&spot));
        let next = awaited.or_else(|| self.known.next_behind().filter(|_| self.due.is_none()))?;
        Some(backlog::fill(self.client, self.me, self.listener.tempo, next).boxed())
    }

    /// Writes down what was said in a gap.
    async fn fill(&mut self, Filled { spot, gap, read, missed }: Filled) {
        // What goes no further was counted when it came, if it did.
        for draft in read.into_iter().flatten() {
            self.add(Ok(draft)).await;
        }
        self.known.is_filled(&spot, gap);
        let why = match missed {
            None => None,
            Some(Missed::More) => Some("more was said there than is read".to_owned()),
            Some(Missed::Away(why)) => Some(why),
            Some(Missed::Refused(why)) => {
                // Until something is heard there again.
                self.known.forget(&spot);
                Some(why)
            }
        };
        if let Some(why) = why {
            let (account, channel) = (&self.listener.account, &spot.channel);
            tracing::warn!(account, channel, why, "not all that was said meanwhile is read");
            self.missed = Some(format!("not all that was said meanwhile in {channel} is read: {why}"));
        }
        for brought in self.held.take() {
            self.come(brought).await;
        }
        self.write().await;
        if self.known.next_behind().is_none() {
            let missed = self.missed.take();
            *self.listener.missed.lock().unwrap_or_else(PoisonError::into_inner) = missed;
        }
    }

    /// Adds what was read to the batch, as far as there is more to say of it.
    async fn add(&mut self, read: Result<Draft, Dropped>) {
        if self.batch.received.len() + self.batch.dropped.len() >= MAX_BATCH {
            self.write().await;
        }
        match read {
            Ok(draft) => {
                // A time that is not yet would be a place behind all that is said until then.
                let is_past = |ts: Ts| ts.at().is_some_and(|at| at < clock::now_ms() + SKEW);
                if let Some((channel, thread, ts)) = draft.said().filter(|(.., ts)| is_past(*ts)) {
                    self.known.said(channel, thread, ts);
                }
                let received = self.settle(draft).await;
                self.batch.received.push(received);
            }
            Err(dropped) => self.batch.dropped.push(dropped),
        }
    }

    /// Makes a draft what the hub is told. What is nobody's words goes no further, so nothing is asked for it.
    async fn settle(&mut self, mut draft: Draft) -> Received {
        let key = format!("{} {}", draft.received.event.word(), draft.received.key);
        let comes_again = self.recent.contains(&key);
        if comes_again || draft.received.author.kind != AuthorKind::Person {
            return draft.placed(None, None);
        }
        let (directory, client) = (&self.listener.directory, self.client);
        let place = directory.place(client, &draft.channel).await;
        let author = &mut draft.received.author;
        if author.name.is_none() && !author.unverified {
            author.name = directory.name(client, &author.id).await;
        }
        if let Some(words) = draft.received.event.words() {
            let mut names = Vec::new();
            for person in mrkdwn::people(&words.text).take(MAX_NAMES) {
                names.push((person.to_owned(), directory.name(client, person).await));
            }
            mrkdwn::plain_words(&mut draft.received.event, |person| {
                names.iter().find(|(id, _)| id == person)?.1.clone()
            });
        }
        let links = std::mem::take(&mut draft.links);
        if let Event::Message(words) = &mut draft.received.event {
            files::fetch_all(client, self.hub, links, words).await;
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(key);
        let title = place.title.filter(|_| !is_direct(&draft.channel));
        draft.placed(place.person, title)
    }

    /// Writes the batch down, however long that takes, and acknowledges it.
    async fn write(&mut self) {
        if self.known.have_moved() || self.batch != Batch::default() {
            let mut batch = std::mem::take(&mut self.batch);
            batch.positions = vec![self.known.position()];
            let (account, mut failures) = (&self.listener.account, 0);
            while let Err(error) = self.hub.receive(batch.clone()).await {
                if failures == 0 {
                    tracing::warn!(account, "what came from Slack cannot be written down; it waits");
                }
                self.listener.standing.away("unwritten", format!("nothing can be written down: {error}"));
                sleep(self.listener.tempo.pause(failures)).await;
                failures += 1;
            }
            if failures > 0 {
                tracing::info!(account, "what came from Slack is written down again");
                self.listener.standing.receives();
            }
            self.known.is_written();
        }
        for Ack { id, to } in self.acks.drain(..) {
            // Over a connection that is gone nothing is acknowledged: the event comes again, and its key is known.
            let _ = to.try_send(id);
        }
        self.mind_what_was_left();
    }
}
