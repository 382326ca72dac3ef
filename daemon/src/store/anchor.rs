//! What the clock of the next process needs to know, in the database.

use rusqlite::{Connection, OptionalExtension as _};

use super::StoreError;
use crate::clock::{Clock, Facts, Stored};

/// Goes on from what an earlier process wrote down.
pub(super) fn resume(db: &Connection) -> Result<Clock, StoreError> {
    let sql = "SELECT boot, clock_offset, clock_last FROM hub";
    let mut stored = db.query_row(sql, [], |row| {
        Ok(Stored { boot_id: row.get(0)?, offset: row.get(1)?, last: row.get(2)? })
    })?;
    // Every change is a row there, so that is a last time as well.
    let changed: Option<i64> =
        db.query_row("SELECT at FROM audit ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).optional()?;
    stored.last = stored.last.max(changed);
    let clock = Clock::resume(&stored, &Facts::now());
    clock.install();
    if !clock.is_settled() {
        tracing::warn!(
            "nobody vouches for the clock yet: what was waiting goes on waiting for at most two minutes"
        );
    }
    Ok(clock)
}

/// Writes down how the clock stands. Not before it is settled: what is not known is not to be gone on from.
pub(super) fn save(db: &Connection, clock: &Clock) -> rusqlite::Result<()> {
    if clock.is_settled() {
        let facts = Facts::now();
        db.execute(
            "UPDATE hub SET boot = ?, clock_offset = ?, clock_last = ?",
            (facts.boot_id, clock.offset(), clock.at(facts.boot)),
        )?;
    }
    Ok(())
}
