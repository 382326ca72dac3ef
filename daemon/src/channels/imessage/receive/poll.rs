//! The loop: ask for the rows behind the last one, write them down with the number of the last, and ask again.
//!
//! Messages writes a row down before it says to which conversation it belongs. So the last rows are asked for again ([`Recent`]): the hub
//! knows them again by their keys, and `told` spares it the files.
//!
//! A row's number means something in one database. Where the newest stays below the place, messages were taken out, or the Mac has another
//! database: the account begins anew there ([`End`]).

use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{
    end::{Anew, End},
    recent::{Recent, Round},
    source::{Mark, Row, Since, Source},
    tempo::{FileTime, Tempo},
};
use crate::{
    channels::{
        Failure,
        hub_handle::HubHandle,
        kit::{
            pause::pause,
            rest::{Rest, unwritten},
            standing::Standing,
            told::Told,
        },
        received::{Batch, Event, Position, not_used},
        receiver::Hearing,
    },
    clock,
};

/// The number of the last row that was read.
const ROWS: &str = "rows";
/// The number of the row behind which rows are asked for again after a stop.
const SETTLED: &str = "settled";
/// The number of the last row that was there before the account: nothing goes back behind it.
const FIRST: &str = "first";
/// When the account began, and up to when changes are known, in milliseconds since 1970.
const BEGAN: &str = "began";
const CHANGES: &str = "changes";
/// How many rows before the last are asked for again where nobody wrote down which.
const BACK: i64 = 5;
/// Pages after which changes are looked at, however many rows are left.
const PAGES: usize = 50;
/// Events and files after which what was read is written down.
const EVENTS: usize = 50;
const FILES: usize = 4;
/// Changes are looked for so long before the last time, in milliseconds: whoever edits tells when, and by a clock of their own. What was
/// seen is told by the Mac.
const EDITED_BACK: i64 = 24 * HOUR;
const SEEN_BACK: i64 = 10 * 60 * 1000;
/// How long before its beginning a message may have been written that came after it, which its row's number says: clocks differ, by half a
/// day where a time zone is wrong. A Mac that begins to keep its messages in iCloud gets years of them as new rows.
const BEGAN_BACK: i64 = 24 * HOUR;
/// The beginning is the time of the latest message that was there before the account, for the hub's clock may be ahead; but no earlier than
/// so long ago. Of a Mac that was not used before, iCloud would bring all that it missed.
const LATEST_BACK: i64 = 7 * 24 * HOUR;
/// Where nothing is received, the time up to which changes are known is written down so seldom: it is worth no write a minute.
const CHANGES_KEPT: i64 = 12 * HOUR;
const HOUR: i64 = 60 * 60 * 1000;

/// What keeps an account receiving.
pub(in crate::channels::imessage) struct Listener {
    standing: Standing,
    tempo: Tempo,
    /// A program said that something came.
    came: Notify,
}

impl Listener {
    pub(in crate::channels::imessage) fn new(platform: &'static str, account: &str, tempo: Tempo) -> Self {
        Self { standing: Standing::new(platform, account), tempo, came: Notify::new() }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels::imessage) fn hearing(&self) -> Hearing {
        self.standing.hearing("receives, and after a stop what Messages has kept on the Mac")
    }

    /// Something came.
    pub(in crate::channels::imessage) fn wake(&self) {
        self.came.notify_one();
    }

    /// Receives for as long as anybody waits.
    pub(super) async fn listen(&self, source: &dyn Source, hub: &dyn HubHandle) {
        let mut reading = Reading {
            listener: self,
            source,
            hub,
            place: None,
            end: Mark::default(),
            recent: Recent::default(),
            round: None,
            database: End::default(),
            began: 0,
            changes: 0,
            changes_kept: 0,
            told: Told::default(),
            time: FileTime::of(&self.tempo),
        };
        let mut failures = 0;
        loop {
            match reading.catch_up().await {
                Ok(more) => {
                    failures = 0;
                    self.standing.receives();
                    if !more && self.waits(source).await {
                        sleep(self.tempo.settling).await;
                    }
                }
                Err(failure) => self.rest(&mut failures, failure).await,
            }
        }
    }

    /// Waits until it is time to ask; whether that is because something came.
    async fn waits(&self, source: &dyn Source) -> bool {
        let came = async {
            tokio::select! {
                () = self.came.notified() => {}
                () = source.came() => {}
            }
        };
        timeout(self.tempo.each, came).await.is_ok()
    }

    /// Says what is the matter, and waits.
    async fn rest(&self, failures: &mut u32, failure: Failure) {
        let Tempo { first, longest, refused, .. } = self.tempo;
        let wait = pause(first, longest, *failures);
        let Rest { kind, why, wait } = Rest::after(failure, wait, wait, refused);
        self.standing.away(kind, why);
        *failures = failures.saturating_add(1);
        sleep(wait).await;
    }
}

/// How it goes on.
struct Reading<'a> {
    listener: &'a Listener,
    source: &'a dyn Source,
    hub: &'a dyn HubHandle,
    /// The last row that is on disk as read; nothing before the first question.
    place: Option<i64>,
    /// The last row that was handed over.
    end: Mark,
    recent: Recent,
    /// What there is left of a way through the rows: more than are read at once, or the program failed over them.
    round: Option<Round>,
    database: End,
    /// What was written before belongs to nobody's conversation with the hub, in milliseconds.
    began: i64,
    /// Up to when changes are known, and what of it is on disk, in milliseconds.
    changes: i64,
    changes_kept: i64,
    told: Told,
    time: FileTime,
}

/// A batch that is being filled, and up to where it is read.
#[derive(Default)]
struct Filling {
    batch: Batch,
    keys: Vec<String>,
    row: i64,
    files: usize,
}

impl Filling {
    fn is_full(&self) -> bool {
        self.batch.received.len() + self.batch.dropped.len() >= EVENTS || self.files >= FILES
    }
}

impl Reading<'_> {
    /// Reads and writes down what came since the last time; whether there is more.
    async fn catch_up(&mut self) -> Result<bool, Failure> {
        if self.place.is_none() {
            self.begin().await?;
        }
        self.begin_no_later_than_now().await?;
        self.time = FileTime::of(&self.listener.tempo);
        let mut round = self.round.take().unwrap_or_else(|| self.recent.round(self.listener.tempo.late));
        let (mut more, mut empty) = (true, true);
        for _ in 0..PAGES {
            self.round = Some(round);
            let page = self.source.behind(round.at).await?;
            empty &= page.rows.is_empty();
            let read = page.rows.iter().map(|row| row.mark).fold(self.end, Mark::max);
            let new = page.rows.iter().filter(|row| row.mark > self.end).count();
            let mut filling = Filling::default();
            for row in page.rows {
                self.add(&mut filling, row).await?;
                if filling.is_full() {
                    self.write(std::mem::take(&mut filling)).await?;
                }
            }
            self.write(filling).await?;
            // No further than the rows that came, whatever is said to be next: a row that comes later has the number behind them.
            self.end = read;
            self.recent.reach(read, new);
            // One that hands over the same again would do so for ever.
            more = page.more && page.next > round.at;
            round.at = round.at.max(page.next);
            if !more {
                self.recent.settle(round.last);
                break;
            }
        }
        let goes_on = more && !empty;
        self.round = goes_on.then_some(round);
        match empty {
            true => self.look_for_the_end().await?,
            false => self.database.is_well(),
        }
        self.look_at_changes().await?;
        Ok(goes_on)
    }

    /// Where the account was, or now.
    async fn begin(&mut self) -> Result<(), Failure> {
        let stored = async |stream: &str| -> Result<Option<i64>, Failure> {
            let stored = self.hub.position(stream).await.map_err(unwritten)?;
            Ok(stored.and_then(|stored| stored.parse().ok()))
        };
        let (now, row) = (clock::now_ms(), stored(ROWS).await?);
        let (began, changes) = (stored(BEGAN).await?, stored(CHANGES).await?);
        if let Some(row) = row {
            let first = stored(FIRST).await?.unwrap_or(0).max(0);
            let settled = stored(SETTLED).await?.unwrap_or(row.saturating_sub(BACK));
            self.begin_at(row, settled.max(first).min(row));
            self.began = began.unwrap_or(0);
            // A clock that was ahead then is none to go by.
            (self.changes, self.changes_kept) = (changes.unwrap_or(now).min(now), changes.unwrap_or(0));
            return Ok(());
        }
        let row = self.source.newest().await?;
        let latest = self.source.latest(now).await?;
        let began = latest.map_or(now, |at| at.clamp(now - LATEST_BACK, now));
        let mut positions = anew(row, began);
        positions.push(position(CHANGES, now));
        self.hub.receive(Batch { positions, ..Batch::default() }).await.map_err(unwritten)?;
        self.begin_at(row, row);
        (self.began, self.changes, self.changes_kept) = (began, now, now);
        Ok(())
    }

    /// A beginning that lies in the future is by a clock that was ahead, and until then all words would be of before it.
    async fn begin_no_later_than_now(&mut self) -> Result<(), Failure> {
        let now = clock::now_ms();
        if self.began > now {
            let positions = vec![position(BEGAN, now)];
            self.hub.receive(Batch { positions, ..Batch::default() }).await.map_err(unwritten)?;
            self.began = now;
        }
        Ok(())
    }

    fn begin_at(&mut self, row: i64, settled: i64) {
        (self.place, self.end, self.round) = (Some(row), Mark::behind(row), None);
        self.recent = Recent::new(Mark::behind(settled), self.end);
    }

    /// Nothing is behind the place: there may be less than there was.
    async fn look_for_the_end(&mut self) -> Result<(), Failure> {
        let newest = self.source.newest().await?;
        let Some(place) = self.place.filter(|place| newest < *place) else {
            self.database.is_well();
            return Ok(());
        };
        let (now, apart) = (clock::now_ms(), self.listener.tempo.each);
        let Some(Anew { row, began }) = self.database.is_below(newest, place, now, apart) else {
            return Ok(());
        };
        tracing::warn!(place, row, "Messages has another database: it is read behind its newest message");
        let positions = anew(row, began);
        self.hub.receive(Batch { positions, ..Batch::default() }).await.map_err(unwritten)?;
        self.begin_at(row, row);
        self.began = began;
        self.database.is_well();
        Ok(())
    }

    async fn look_at_changes(&mut self) -> Result<(), Failure> {
        let now = clock::now_ms();
        let since = Since { edited: self.changes - EDITED_BACK, seen: self.changes - SEEN_BACK };
        let rows = self.source.changed(since).await?;
        let mut filling = Filling::default();
        for mut row in rows {
            // The message itself was told when it came, or is of before the beginning.
            row.received.retain(|received| !matches!(received.event, Event::Message(_)));
            (row.files, row.dropped) = (Vec::new(), None);
            // It says nothing of the rows before it.
            row.mark = Mark::default();
            self.add(&mut filling, row).await?;
            if filling.is_full() {
                self.write(std::mem::take(&mut filling)).await?;
            }
        }
        self.changes = now;
        self.write(filling).await
    }

    async fn add(&mut self, filling: &mut Filling, row: Row) -> Result<(), Failure> {
        filling.row = filling.row.max(row.mark.row);
        // What was passed before was counted then, and what may still get a conversation is once it is asked for a last time.
        let is_new = row.mark > self.end;
        let counts = match self.round.filter(|_| row.is_nowhere) {
            Some(round) => row.mark > self.recent.settled() && row.mark <= round.last,
            None => is_new,
        };
        filling.batch.dropped.extend(row.dropped.filter(|_| counts));
        for seen in row.seen {
            let key = format!("{}:{}", if seen.read { "read" } else { "came" }, seen.ids.join(","));
            if !self.told.has(&key) {
                self.told.note(key);
                self.hub.seen(seen);
            }
        }
        let mut files = row.files;
        for mut received in row.received {
            if self.told.has(&received.key) || filling.keys.contains(&received.key) {
                continue;
            }
            if received.said_at.is_some_and(|at| at < self.began - BEGAN_BACK) {
                filling.batch.dropped.extend(is_new.then(|| not_used("of before the account")));
                continue;
            }
            let place = match received.event {
                Event::Message(_) if !files.is_empty() => self.hub.place_for_files(&received).await,
                _ => None,
            };
            if let Event::Message(words) = &mut received.event {
                for sent in files.drain(..) {
                    filling.files += 1;
                    match self.time.fetch((self.source, self.hub), place.as_ref(), &sent).await {
                        Ok(kept) => words.files.push(kept),
                        Err(why) => words.missing.push(why),
                    }
                }
            }
            filling.keys.push(received.key.clone());
            filling.batch.received.push(received);
        }
        Ok(())
    }

    /// Writes a batch down, with the number of its last row.
    async fn write(&mut self, filling: Filling) -> Result<(), Failure> {
        let Filling { mut batch, keys, row, .. } = filling;
        let place = Some(row).filter(|row| self.place.is_none_or(|place| *row > place));
        let is_empty = place.is_none() && batch == Batch::default();
        if is_empty && self.changes - self.changes_kept < CHANGES_KEPT {
            return Ok(());
        }
        if let Some(row) = place {
            let settled = self.recent.settled().row.min(row);
            batch.positions.extend([position(ROWS, row), position(SETTLED, settled)]);
        }
        batch.positions.push(position(CHANGES, self.changes));
        self.hub.receive(batch).await.map_err(unwritten)?;
        keys.into_iter().for_each(|key| self.told.note(key));
        self.place = place.or(self.place);
        self.changes_kept = self.changes;
        Ok(())
    }
}

/// An account that begins behind this row.
fn anew(row: i64, began: i64) -> Vec<Position> {
    vec![position(ROWS, row), position(SETTLED, row), position(FIRST, row), position(BEGAN, began)]
}

fn position(stream: &str, value: i64) -> Position {
    Position { stream: stream.into(), value: value.to_string() }
}
