//! One account's reading: from a position to the next, each time rows first.
//!
//! A position is used only after the hub has written down all that came before it. If anything breaks in between, the same position
//! is asked again, and the homeserver tells the same again: the hub knows it by its ids.

use std::time::{Duration, Instant};

use super::{
    Receiving,
    answer::{Invitation, RoomAnswer, SyncAnswer},
    event::{RoomEvent, dropped},
    gap::{self, Reader},
    known::{Fact, Known},
    questions::{LINES, Trouble},
    read::{Place, Read, before_joining, invited},
    rooms::{Rooms, names},
};
use crate::channels::{
    hub_handle::{HubHandle, NO_PLACE},
    kit::{
        in_time::{FileTime, TOGETHER},
        rounds::Rounds,
    },
    matrix::client::Client,
    received::{AuthorKind, Batch, DropReason, Dropped, Event, MAX_BATCH, MAX_POSITION_BYTES, Position},
};

/// The stream of which the position is.
pub(super) const STREAM: &str = "sync";
/// How many events are read together. What is dropped beside them counts too.
const PORTION: usize = MAX_BATCH / 2;
/// After so many failures between an answer and its end, what the homeserver cannot say is left out.
const PATIENCE: u32 = 5;
/// How often a room is tried to be entered.
const MAX_TRIES: u32 = 5;
/// How many rooms may wait to be entered.
const MAX_WAITING: usize = 64;
/// How often it is said that there are encrypted messages.
const SAY_AGAIN: Duration = Duration::from_hours(1);

/// The state of an account's reading.
pub(super) struct Session<'a> {
    pub(super) client: &'a Client,
    pub(super) hub: &'a dyn HubHandle,
    pub(super) receiving: &'a Receiving,
    pub(super) me: String,
    since: String,
    /// How many lines of a room are asked for at once.
    lines: usize,
    rooms: Rooms,
    known: Known,
    /// How often in a row something was not said that an answer needs.
    failures: u32,
    /// Rooms to be entered, and how often that was tried.
    to_enter: Vec<(String, u32)>,
    said_encrypted: Option<Instant>,
    /// What is left of the time for the files of one answer.
    files: FileTime,
    rounds: Rounds,
}

impl<'a> Session<'a> {
    /// Goes on where the account was; where it never read, or is to begin `anew`, from now on. How the rooms stand is asked each
    /// time, and nothing in that answer is anybody's words to the account.
    pub(super) async fn begin(
        client: &'a Client,
        hub: &'a dyn HubHandle,
        receiving: &'a Receiving,
        anew: bool,
    ) -> Result<Self, Trouble> {
        let me = receiving.own_id(client).await?;
        let stored = match anew {
            true => None,
            false => hub.position(STREAM).await.map_err(|_| Trouble::Hub)?,
        };
        let now = client.sync(None, 1, &me).await?;
        let since = match stored {
            Some(since) => since,
            None => {
                let position = position(&now.next_batch)?;
                let batch = Batch { positions: vec![position], ..Batch::default() };
                hub.receive(batch).await.map_err(|_| Trouble::Hub)?;
                now.next_batch.clone()
            }
        };
        let mut session = Self {
            client,
            hub,
            receiving,
            me,
            since,
            lines: LINES,
            rooms: Rooms::default(),
            known: Known::default(),
            failures: 0,
            to_enter: Vec::new(),
            said_encrypted: None,
            files: FileTime::usual(),
            rounds: Rounds::default(),
        };
        now.rooms.iter().filter(|room| !room.left).for_each(|room| session.rooms.learn(room));
        now.invitations.iter().for_each(|invitation| session.consider(invitation));
        session.enter_rooms().await;
        Ok(session)
    }

    /// Asks what is new, hands it over, and goes on behind it.
    pub(super) async fn step(&mut self) -> Result<(), Trouble> {
        self.rounds.next().await;
        let asked = Instant::now();
        let answer = match self.client.sync(Some(&self.since), self.lines, &self.me).await {
            // The lines that are left out then are fetched page by page.
            Err(Trouble::TooLong) if self.lines > 1 => {
                self.lines = 1;
                return Ok(());
            }
            // It would be as long the next time.
            Err(Trouble::TooLong) => return Err(Trouble::Anew(Trouble::TooLong.to_string())),
            answer => answer?,
        };
        if answer.next_batch == self.since && asked.elapsed() < self.receiving.tempo.first {
            // It was to wait for news. A server or a proxy that does not would be asked without end.
            tokio::time::sleep(self.receiving.tempo.first).await;
        }
        if let Err(trouble) = self.hand_over(answer).await {
            if matches!(trouble, Trouble::Broken(_) | Trouble::TooLong) {
                self.failures += 1;
            }
            return Err(trouble);
        }
        (self.failures, self.lines) = (0, LINES);
        self.enter_rooms().await;
        Ok(())
    }

    async fn hand_over(&mut self, answer: SyncAnswer) -> Result<(), Trouble> {
        let position = position(&answer.next_batch)?;
        self.files = FileTime::of(TOGETHER, self.receiving.tempo.strangers);
        let mut batch = Batch { dropped: answer.dropped, ..Batch::default() };
        let mut read = false;
        for mut room in answer.rooms {
            for seen in std::mem::take(&mut room.seen) {
                read = true;
                self.hub.seen(seen);
            }
            self.read_room(room, &mut batch).await?;
        }
        for invitation in &answer.invitations {
            batch.received.push(invited(invitation));
            self.flush(&mut batch).await?;
        }
        // That somebody read something is worth no write: told again, it is the same.
        let nothing_new = batch == Batch::default() && (read || answer.next_batch == self.since);
        if !nothing_new {
            batch.positions.push(position);
            self.hub.receive(batch).await.map_err(|_| Trouble::Hub)?;
        }
        self.since = answer.next_batch;
        answer.invitations.iter().for_each(|invitation| self.consider(invitation));
        Ok(())
    }

    async fn read_room(&mut self, mut room: RoomAnswer, batch: &mut Batch) -> Result<(), Trouble> {
        let there = self.rooms.knows(&room.id);
        self.rooms.learn(&room);
        let conversation = self.rooms.conversation(&room.id);
        let brings =
            |event: &Result<RoomEvent, Dropped>| matches!(event, Ok(event) if event.brings(&self.me, there));
        if room.limited && !room.timeline.iter().any(brings) {
            self.fill(&mut room, there, batch).await?;
        }
        batch.dropped.extend(before_joining(&mut room.timeline, &self.me, there));
        let names = names(room.state.iter().chain(room.timeline.iter().flatten()));
        for portion in room.timeline.chunks(PORTION) {
            self.look_up(&room.id, portion).await?;
            for event in portion {
                let place =
                    Place { me: &self.me, conversation: &conversation, names: &names, known: &self.known };
                let read = event.as_ref().map_err(Dropped::clone).and_then(|event| place.read(event));
                match read {
                    Ok(read) => batch.received.push(self.with_file(read).await.received),
                    Err(dropped) => batch.dropped.push(dropped),
                }
                self.flush(batch).await?;
            }
            self.say_encrypted(portion);
        }
        if room.left {
            self.rooms.forget(&room.id);
        }
        Ok(())
    }

    /// Puts before a timeline what it left out, back to the position.
    async fn fill(&self, room: &mut RoomAnswer, there: bool, batch: &mut Batch) -> Result<(), Trouble> {
        let Some(from) = room.prev_batch.clone() else { return Ok(()) };
        let reader = Reader { client: self.client, receiving: self.receiving, me: &self.me };
        let filled = gap::before(reader, &room.id, from, &self.since, there).await;
        let gap = match filled {
            Err(Trouble::Broken(_) | Trouble::TooLong) if self.failures >= PATIENCE => None,
            filled => filled?,
        };
        let Some(gap) = gap else {
            tracing::warn!(
                account = self.receiving.account,
                room = room.id,
                "messages were missed: the homeserver does not show what was written before the newest"
            );
            batch.dropped.push(dropped(DropReason::Unreadable, "limited"));
            return Ok(());
        };
        room.state.extend(gap.state);
        room.timeline.splice(..0, gap.events);
        Ok(())
    }

    /// Makes known what the events of a portion are about.
    async fn look_up(&mut self, room: &str, portion: &[Result<RoomEvent, Dropped>]) -> Result<(), Trouble> {
        for event in portion.iter().flatten().filter(|event| !event.id.is_empty()) {
            self.known.note(room, &event.id, Some(Fact::of(event)));
        }
        for about in portion.iter().flatten().filter_map(RoomEvent::about) {
            if self.known.has(room, about) {
                continue;
            }
            let fact = match self.client.fact(room, about).await {
                Err(Trouble::Broken(_)) if self.failures >= PATIENCE => None,
                fact => fact?,
            };
            self.known.note(room, about, fact);
        }
        Ok(())
    }

    /// The same with its file, or the reason why there is none. The account's own files it has already.
    async fn with_file(&mut self, mut read: Read) -> Read {
        let Some(file) = read.file.take().filter(|_| read.received.author.kind != AuthorKind::Myself) else {
            return read;
        };
        let (client, hub) = (self.client, self.hub);
        let kept = match hub.place_for_files(&read.received).await {
            Some(place) => self.files.fetch(&place, |until| client.keep(hub, &file, until)).await,
            None => Err(file.missing(NO_PLACE)),
        };
        if let Event::Message(words) = &mut read.received.event {
            match kept {
                Ok(kept) => words.files.push(kept),
                Err(why) => words.missing.push(why),
            }
        }
        read
    }

    /// Hands over what was read so far, if that is a batch. The position stays: it goes with the last.
    async fn flush(&self, batch: &mut Batch) -> Result<(), Trouble> {
        if batch.received.len() + batch.dropped.len() < PORTION {
            return Ok(());
        }
        self.hub.receive(std::mem::take(batch)).await.map_err(|_| Trouble::Hub)
    }

    /// Lets a room wait to be entered, if it may be.
    fn consider(&mut self, invitation: &Invitation) {
        let waits = self.to_enter.iter().any(|(room, _)| *room == invitation.room);
        if self.receiving.joins_with(&invitation.inviter) && !waits && self.to_enter.len() < MAX_WAITING {
            self.to_enter.push((invitation.room.clone(), 0));
        }
    }

    async fn enter_rooms(&mut self) {
        for (room, tries) in std::mem::take(&mut self.to_enter) {
            let Err(why) = self.client.enter(&room).await else { continue };
            if tries + 1 < MAX_TRIES {
                self.to_enter.push((room, tries + 1));
            } else {
                let account = &self.receiving.account;
                tracing::warn!(account, room, why, "an invitation cannot be accepted");
            }
        }
    }

    fn say_encrypted(&mut self, events: &[Result<RoomEvent, Dropped>]) {
        let encrypted = events.iter().flatten().any(|event| event.kind == "m.room.encrypted");
        if encrypted && self.said_encrypted.is_none_or(|said| said.elapsed() >= SAY_AGAIN) {
            self.said_encrypted = Some(Instant::now());
            let account = &self.receiving.account;
            tracing::warn!(
                account,
                "messages are not read: they are encrypted, which this hub cannot read yet"
            );
        }
    }
}

fn position(token: &str) -> Result<Position, Trouble> {
    match token.len() <= MAX_POSITION_BYTES {
        true => Ok(Position { stream: STREAM.to_owned(), value: token.to_owned() }),
        false => Err(Trouble::Broken("the homeserver's position is longer than what can be kept".into())),
    }
}
