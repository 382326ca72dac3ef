//! What is read each time: the rows behind the last one, which are written down with the number of the last, and what became of others.
//!
//! Messages writes a row down before it says to which conversation it belongs. So the last rows are asked for again ([`Recent`]): the hub
//! knows them again by their keys, and `told` spares it the files.
//!
//! A row's number means something in one database. Where the newest stays below the place, messages were taken out, or the Mac has another
//! database: the account begins anew there ([`End`]).

use super::{
    begin::{CHANGES, ROWS, SETTLED, position},
    end::End,
    recent::{Recent, Round},
    source::{Mark, Row, Since, Source},
    tempo::{FileTime, Tempo},
};
use crate::{
    channels::{
        Failure,
        hub_handle::HubHandle,
        kit::{rest::unwritten, told::Told},
        received::{Batch, Event, not_used},
    },
    clock,
};

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
/// Where nothing is received, the time up to which changes are known is written down so seldom: it is worth no write a minute.
const CHANGES_KEPT: i64 = 12 * HOUR;
pub(super) const HOUR: i64 = 60 * 60 * 1000;

/// How it goes on.
pub(super) struct Reading<'a> {
    pub(super) tempo: Tempo,
    pub(super) source: &'a dyn Source,
    pub(super) hub: &'a dyn HubHandle,
    /// The last row that is on disk as read; nothing before the first question.
    pub(super) place: Option<i64>,
    /// The last row that was handed over.
    pub(super) end: Mark,
    pub(super) recent: Recent,
    /// What there is left of a way through the rows: more than are read at once, or the program failed over them.
    pub(super) round: Option<Round>,
    pub(super) database: End,
    /// What was written before belongs to nobody's conversation with the hub, in milliseconds.
    pub(super) began: i64,
    /// Up to when changes are known, and what of it is on disk, in milliseconds.
    pub(super) changes: i64,
    pub(super) changes_kept: i64,
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

impl<'a> Reading<'a> {
    pub(super) fn new(tempo: Tempo, source: &'a dyn Source, hub: &'a dyn HubHandle) -> Self {
        Self {
            tempo,
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
            time: FileTime::of(&tempo),
        }
    }

    /// Reads and writes down what came since the last time; whether there is more.
    pub(super) async fn catch_up(&mut self) -> Result<bool, Failure> {
        if self.place.is_none() {
            self.begin().await?;
        }
        self.begin_no_later_than_now().await?;
        self.time = FileTime::of(&self.tempo);
        let mut round = self.round.take().unwrap_or_else(|| self.recent.round(self.tempo.late));
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
