//! Where the hashes of messages begin.
//!
//! Rows of an older program have none. So that nobody can pass a row whose hash they took out for an old one, the last row
//! without is written down when the tables are brought up to date, and the hub's first action afterwards is a row of the chain
//! that says so, with a signed checkpoint in the same transaction. Nothing is accepted before it: an audit in which something
//! was, and that lacks this row or its checkpoint, has lost its beginning.

use rusqlite::{Connection, OptionalExtension as _, Transaction};
use serde_json::{Value, json};

use super::{
    Entry, Event,
    checkpoint::{Checkpoint, Signer},
};
use crate::{message::state::State, store::StoreError};

/// What the database says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// The last row that was written by a program without hashes; 0 where none was.
    pub hashed_after: i64,
    /// The row that says so, once a hub has run.
    pub row: Option<i64>,
}

impl Beginning {
    /// Nothing, in a database of an older program.
    pub fn of(db: &Connection) -> Result<Option<Self>, StoreError> {
        if !db.column_exists(None, "hub", "hashed_after")? {
            return Ok(None);
        }
        let read = |row: &rusqlite::Row<'_>| Ok(Self { hashed_after: row.get(0)?, row: row.get(1)? });
        Ok(Some(db.query_row("SELECT hashed_after, audit_began FROM hub", [], read)?))
    }

    /// Whether an audit with these good checkpoints, purged up to that row, lacks its beginning.
    pub(super) fn is_missing(
        self,
        db: &Connection,
        good: &[Checkpoint],
        purged_to: i64,
    ) -> Result<bool, StoreError> {
        let Some(row) = self.row else {
            let sql = "SELECT 1 FROM audit WHERE seq > ? AND event = ?
                AND json_valid(detail) AND detail ->> '$.content' IS NOT NULL LIMIT 1";
            return Ok(db.prepare(sql)?.exists((self.hashed_after, Event::Message(State::Accepted)))?);
        };
        if row <= purged_to {
            return Ok(false);
        }
        let sql = "SELECT detail FROM audit WHERE seq = ? AND event = ?";
        let detail: Option<String> =
            db.query_row(sql, (row, Event::AuditBegan), |row| row.get(0)).optional()?;
        let detail: Value = detail.and_then(|detail| serde_json::from_str(&detail).ok()).unwrap_or_default();
        Ok(detail["hashed_after"].as_i64() != Some(self.hashed_after)
            || !good.iter().any(|checkpoint| checkpoint.seq == row))
    }
}

impl Signer {
    /// Begins the audit's hashes, with a checkpoint, before anything else is done; nothing where that was done before.
    pub fn begin(&self, tx: &Transaction<'_>) -> Result<Option<Checkpoint>, StoreError> {
        let beginning = Beginning::of(tx)?.filter(|beginning| beginning.row.is_none());
        let Some(beginning) = beginning else { return Ok(None) };
        let detail = json!({"hashed_after": beginning.hashed_after});
        super::append(tx, &Entry { actor: "hub", event: Event::AuditBegan, message: None, detail })?;
        let row = super::newest(tx)?;
        tx.execute("UPDATE hub SET audit_began = ?", [row])?;
        Ok(Some(self.sign(tx, row, false)?))
    }
}
