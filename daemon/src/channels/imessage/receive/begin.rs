//! Where an account begins to read, and where it goes on after a stop.

use super::{
    end::Anew,
    poll::{HOUR, Reading},
    recent::Recent,
    source::Mark,
};
use crate::{
    channels::{
        Failure,
        kit::rest::unwritten,
        received::{Batch, Position},
    },
    clock,
};

/// The number of the last row that was read.
pub(super) const ROWS: &str = "rows";
/// The number of the row behind which rows are asked for again after a stop.
pub(super) const SETTLED: &str = "settled";
/// The number of the last row that was there before the account: nothing goes back behind it.
const FIRST: &str = "first";
/// When the account began, and up to when changes are known, in milliseconds since 1970.
const BEGAN: &str = "began";
pub(super) const CHANGES: &str = "changes";
/// How many rows before the last are asked for again where nobody wrote down which.
const BACK: i64 = 5;
/// The beginning is the time of the latest message that was there before the account, for the hub's clock may be ahead; but no earlier than
/// so long ago. Of a Mac that was not used before, iCloud would bring all that it missed.
const LATEST_BACK: i64 = 7 * 24 * HOUR;

impl Reading<'_> {
    /// Where the account was, or now.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
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
    pub(super) async fn begin_no_later_than_now(&mut self) -> Result<(), Failure> {
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
    pub(super) async fn look_for_the_end(&mut self) -> Result<(), Failure> {
        let newest = self.source.newest().await?;
        let Some(place) = self.place.filter(|place| newest < *place) else {
            self.database.is_well();
            return Ok(());
        };
        let (now, apart) = (clock::now_ms(), self.tempo.asking.each);
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
}

/// An account that begins behind this row.
fn anew(row: i64, began: i64) -> Vec<Position> {
    vec![position(ROWS, row), position(SETTLED, row), position(FIRST, row), position(BEGAN, began)]
}

pub(super) fn position(stream: &str, value: i64) -> Position {
    Position { stream: stream.into(), value: value.to_string() }
}
