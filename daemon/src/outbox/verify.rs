//! Whether the messages that are stored are those of the audit.
//!
//! The chain ([`crate::audit::verify`]) says that no row was changed; this holds what lies beside it against the rows: every
//! message has the row of its acceptance, its content and its requests have the hashes that the rows have, and its state is
//! the one of its last row. A message whose row is gone is no fault where the audit's own retention took it: that goes from
//! the front, so whatever was accepted after a message that has its row has its own as well.
//!
//! Rows from before there were hashes have none. How far those go is fixed when an older database is brought up to date, and
//! stands in a row of the chain ([`crate::audit::beginning`]): from there on, a row without its hash is a fault.

use std::{collections::BTreeMap, fmt};

use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use serde_json::Value;

use super::digest;
use crate::{audit::beginning::Beginning, message::state::State, store::StoreError};

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

/// What does not fit. Rows are the audit's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// Messages are stored, and the audit does not know that they were accepted.
    Unaccepted {
        /// How many.
        messages: u64,
        /// The first of them.
        first: String,
    },
    /// What was accepted is not what is stored.
    Content {
        /// Of which message.
        message: String,
        /// The row that has its hash.
        row: i64,
    },
    /// The requests of a message, or their texts, are not those that it was released or ended with.
    Parts {
        /// Of which message.
        message: String,
        /// The row that has their hash.
        row: i64,
    },
    /// A message is stored in another state than it came to.
    State {
        /// Which.
        message: String,
        /// The state that is stored.
        stored: String,
        /// The last row.
        row: i64,
        /// The state that this row says.
        recorded: String,
    },
    /// A row should have a hash of its message, and has none.
    Unhashed {
        /// Which.
        row: i64,
        /// Of which message.
        message: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unaccepted { messages: 1, first } => {
                write!(f, "message {first} is stored, and the audit has no row of its acceptance")
            }
            Self::Unaccepted { messages, first } => write!(
                f,
                "{messages} messages are stored of whose acceptance the audit has no row, the first of them {first}"
            ),
            Self::Content { message, row } => {
                write!(
                    f,
                    "message {message}: its text, target or files are not what row {row} says was accepted"
                )
            }
            Self::Parts { message, row } => {
                write!(f, "message {message}: its requests or their texts are not those of row {row}")
            }
            Self::State { message, stored, row, recorded } => {
                write!(f, "message {message} is stored as {stored}, and by row {row} it is {recorded}")
            }
            Self::Unhashed { row, message } => {
                write!(
                    f,
                    "row {row} has no hash of message {message}, and every row of its kind there has one"
                )
            }
        }
    }
}

/// What the audit has last said of a message.
#[derive(Default)]
struct Said {
    accepted: bool,
    content: Option<(i64, String)>,
    parts: Option<(i64, String)>,
    state: Option<(i64, State)>,
}

/// Rows of messages that are stored: those of others went with them, and are many.
const ROWS: &str = "SELECT audit.seq, audit.event, audit.message, audit.detail FROM audit
    JOIN messages ON messages.id = audit.message WHERE audit.event LIKE 'message.%' ORDER BY audit.seq";

/// Holds every stored message against the audit. `purged_to`: up to which row that was purged, as a good checkpoint says.
pub fn verify(db: &Connection, purged_to: i64) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let hashed_after = Beginning::of(db)?.map_or(i64::MAX, |beginning| beginning.hashed_after);
    let mut said = said(db, hashed_after, &mut report)?;
    let mut messages = db.prepare("SELECT seq, id, state FROM messages ORDER BY seq")?;
    let mut messages = messages.query([])?;
    let mut unaccepted: Option<(u64, String)> = None;
    let mut some_accepted = purged_to == 0;
    while let Some(row) = messages.next()? {
        let (seq, id, stored): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let said = said.remove(&id).unwrap_or_default();
        report.messages += 1;
        some_accepted |= said.accepted;
        if !said.accepted && (some_accepted || is_after_the_purge(db, seq)?) {
            let (messages, _) = unaccepted.get_or_insert_with(|| (0, id.clone()));
            *messages += 1;
        }
        match said.content {
            Some((row, hash)) if hash != digest::content(db, seq)? => {
                report.fault(Fault::Content { message: id.clone(), row });
            }
            Some(_) => {}
            None => report.unhashed += 1,
        }
        if let Some((row, hash)) = said.parts
            && hash != digest::parts(db, seq)?
        {
            report.fault(Fault::Parts { message: id.clone(), row });
        }
        if let Some((row, state)) = said.state
            && state.word() != stored
        {
            report.fault(Fault::State { message: id, stored, row, recorded: state.word().to_owned() });
        }
    }
    if let Some((messages, first)) = unaccepted {
        report.faults.insert(0, Fault::Unaccepted { messages, first });
    }
    Ok(report)
}

impl Report {
    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < LISTED {
            self.faults.push(fault);
        }
    }
}

/// What the rows say of each message.
fn said(
    db: &Connection,
    hashed_after: i64,
    report: &mut Report,
) -> Result<BTreeMap<String, Said>, StoreError> {
    let mut all = BTreeMap::<String, Said>::new();
    let mut rows = db.prepare(ROWS)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, event, message): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // What is not JSON any more, the chain names.
        let detail: Value = serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default();
        let state = State::from_event(&event);
        let hash = |name: &str| Some((seq, detail[name].as_str()?.to_owned()));
        let (content, parts) = (hash("content"), hash("parts"));
        // Readmitted, it comes to this state a second time, and its parts are made anew.
        let first = state == Some(State::Accepted) && detail["event"].is_null();
        let due = match state {
            Some(State::Accepted) => !first || content.is_some(),
            Some(state) if state.is_final() => parts.is_some(),
            Some(_) => true,
            None => event != HOOKED || content.is_some(),
        };
        if !due && seq > hashed_after {
            report.fault(Fault::Unhashed { row: seq, message: message.clone() });
        }
        let said = all.entry(message).or_default();
        said.accepted |= first;
        said.content = content.or(said.content.take());
        said.parts = match state {
            Some(State::Accepted) => None,
            _ => parts.or(said.parts.take()),
        };
        said.state = state.map(|state| (seq, state)).or(said.state);
    }
    Ok(all)
}

/// The event of hooks that are through with a message.
pub(super) const HOOKED: &str = "message.hooked";

/// Whether a message was accepted after the oldest row that is left, and so cannot have lost its own to a purge.
fn is_after_the_purge(db: &Connection, seq: i64) -> Result<bool, StoreError> {
    let sql = "SELECT accepted_at > (SELECT at FROM audit ORDER BY seq LIMIT 1) FROM messages WHERE seq = ?";
    let after: Option<Option<bool>> = db.query_row(sql, [seq], |row| row.get(0)).optional()?;
    // A purge leaves the newest row: where there is none at all, somebody else was there.
    Ok(after.flatten().unwrap_or(true))
}

#[cfg(test)]
mod tests;
