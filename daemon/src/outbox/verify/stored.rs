//! A message as it lies in the database, also in one of an older program that lacks columns.

use rusqlite::{Connection, Row};

use crate::store::StoreError;

pub(super) struct Stored {
    pub seq: i64,
    pub id: String,
    pub state: String,
    /// Its code and its reason.
    pub why: [Option<String>; 2],
    pub has_ended: bool,
    /// All columns are there that this program hashes.
    pub is_of_now: bool,
    history: Option<String>,
}

impl Stored {
    pub(super) fn sql(db: &Connection) -> Result<String, StoreError> {
        let history = match db.column_exists(None, "messages", "history")? {
            true => "history",
            false => "NULL",
        };
        let is_of_now = db.column_exists(None, "messages", "account_is")?;
        Ok(format!(
            "SELECT seq, id, state, code, reason, ended_at IS NOT NULL, {is_of_now}, {history} FROM messages ORDER BY seq"
        ))
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            id: row.get(1)?,
            state: row.get(2)?,
            why: [row.get(3)?, row.get(4)?],
            has_ended: row.get(5)?,
            is_of_now: row.get(6)?,
            history: row.get(7)?,
        })
    }

    /// Whether its history has these lines, in this order. `alone`: and no others, which an older program wrote down without
    /// a word in the audit.
    pub(super) fn has_history(&self, lines: &[String], alone: bool) -> bool {
        let stored = self.history.as_deref().unwrap_or("[]");
        let Ok(stored) = serde_json::from_str::<Vec<String>>(stored) else { return false };
        let mut rest = stored.iter();
        lines.iter().all(|line| rest.any(|stored| stored == line)) && (!alone || stored.len() == lines.len())
    }
}
