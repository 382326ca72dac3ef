//! Whether the messages that are stored are those of the audit.
//!
//! The chain ([`crate::audit::verify`]) says that no row was changed; this holds what lies beside it against the rows: every
//! message has the row of its acceptance, its content and its requests have the hashes that the rows have, and its state, its
//! reason and its history are those of its rows. How it ended and what became of its parts has the hash of its last row: until
//! then its times, its attempts and how far its parts have come change without one, and nobody can say that they were altered.
//!
//! A message whose row is gone is no fault where the audit's own retention took it: that goes from
//! the front, so whatever was accepted after a message that has its row has its own as well.
//!
//! Rows from before there were hashes have none. How far those go is fixed when an older database is brought up to date, and
//! stands in a row of the chain ([`crate::audit::beginning`]): from there on, a row without its hash is a fault.

mod fault;
mod recorded;
mod stored;

use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use serde_json::Value;

pub use self::fault::Fault;
use self::{
    recorded::{Recorded, said},
    stored::Stored,
};
use super::digest;
use crate::{
    audit::beginning::Beginning,
    message::state::{PartState, State},
    store::StoreError,
};

/// Faults that are listed.
const LISTED: usize = 50;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Messages that are stored.
    pub messages: u64,
    /// Those of them of whose content the audit has no hash: they are from before it had any, or the row was purged.
    pub unhashed: u64,
    /// What does not fit, at most 50.
    #[serde(skip)]
    pub faults: Vec<Fault>,
}

/// Holds every stored message against the audit. `purged_to`: up to which row that was purged, as a good checkpoint says.
///
/// Reads several tables: if a hub is writing, `db` must be in a transaction, else a message that moves on meanwhile is a fault.
pub fn verify(db: &Connection, purged_to: i64) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let hashed_after = Beginning::of(db)?.map_or(i64::MAX, |beginning| beginning.hashed_after);
    let mut said = said(db, hashed_after, &mut report)?;
    let mut messages = db.prepare(&Stored::sql(db)?)?;
    let mut messages = messages.query([])?;
    let mut unaccepted: Option<(u64, String)> = None;
    let mut some_accepted = purged_to == 0;
    while let Some(row) = messages.next()? {
        let stored = Stored::read(row)?;
        let said = said.remove(&stored.id).unwrap_or_default();
        report.messages += 1;
        some_accepted |= said.accepted;
        if !said.accepted && (some_accepted || is_after_the_purge(db, stored.seq)?) {
            let (messages, _) = unaccepted.get_or_insert_with(|| (0, stored.id.clone()));
            *messages += 1;
        }
        report.compare(db, &stored, &said)?;
    }
    if let Some((messages, first)) = unaccepted {
        report.faults.insert(0, Fault::Unaccepted { messages, first });
    }
    Ok(report)
}

impl Report {
    /// Holds one message against what the audit says of it.
    fn compare(&mut self, db: &Connection, stored: &Stored, said: &Recorded) -> Result<(), StoreError> {
        let (seq, message) = (stored.seq, || stored.id.clone());
        let (mut is_of_now, before) = (false, self.faults.len());
        match &said.content {
            Some((row, hash)) => {
                is_of_now = stored.is_of_now && *hash == digest::content(db, seq)?;
                if !is_of_now && *hash != digest::older_content(db, seq)? {
                    self.fault(Fault::Content { message: message(), row: *row });
                }
            }
            None => self.unhashed += 1,
        }
        if let Some((row, hash)) = &said.parts
            && *hash != digest::parts(db, seq)?
        {
            self.fault(Fault::Parts { message: message(), row: *row });
        }
        let Some((row, state)) = said.state else { return Ok(()) };
        if state.word() != stored.state {
            let (stored, recorded) = (stored.state.clone(), state.word().to_owned());
            self.fault(Fault::State { message: message(), stored, row, recorded });
        }
        if let Some((row, why)) = &said.why
            && *why != stored.why
        {
            self.fault(Fault::Why { message: message(), row: *row });
        }
        if !stored.has_history(&said.history, is_of_now) {
            self.fault(Fault::History { message: message(), row: said.history_row });
        }
        if state == State::Sent && !was_delivered(db, seq, said)? {
            self.fault(Fault::Delivery { message: message(), row });
        }
        if stored.has_ended != state.is_final() {
            self.fault(Fault::Outcome { message: message(), row });
        } else if let Some((row, hash)) = &said.outcome
            && self.faults.len() == before
            && *hash != digest::outcome(db, seq)?
        {
            self.fault(Fault::Outcome { message: message(), row: *row });
        }
        Ok(())
    }

    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < LISTED {
            self.faults.push(fault);
        }
    }
}

/// Whether the parts of a message that was sent are as its row says: each is confirmed, by these ids.
fn was_delivered(db: &Connection, seq: i64, said: &Recorded) -> Result<bool, StoreError> {
    let mut parts =
        db.prepare_cached("SELECT state, platform_id FROM parts WHERE message = ? ORDER BY idx")?;
    let parts = parts.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let parts: Vec<(String, Option<String>)> = parts.collect::<Result<_, _>>()?;
    let ids: Value = parts.iter().map(|(_, id)| id.clone()).collect();
    Ok(parts.iter().all(|(state, _)| state == PartState::Confirmed.word())
        && said.platform_ids.as_ref().is_none_or(|(_, said)| *said == ids))
}

/// Whether a message was accepted after the oldest row that is left, and so cannot have lost its own to a purge.
fn is_after_the_purge(db: &Connection, seq: i64) -> Result<bool, StoreError> {
    let sql = "SELECT accepted_at > (SELECT at FROM audit ORDER BY seq LIMIT 1) FROM messages WHERE seq = ?";
    let after: Option<Option<bool>> = db.query_row(sql, [seq], |row| row.get(0)).optional()?;
    // A purge leaves the newest row: where there is none at all, somebody else was there.
    Ok(after.flatten().unwrap_or(true))
}

#[cfg(test)]
mod tests;
