//! What agents are told: every end other than `sent`, with its reason, `sent` where a person was asked before or where not
//! everybody was reached, and what somebody entered into a form.
//!
//! Elsewhere an agent believed that it had spoken when its message had long failed, or never heard that somebody had let
//! it. What goes out at once is said by the answer to its call. A notice is written in the
//! transaction of the end that it tells of.

use rusqlite::{Row, Transaction, params};
use serde_json::Value;

use super::{Outbox, row::MessageRow};
use crate::{
    clock::Time,
    message::{form::Entry, receipt::Receipt},
    store::{StoreError, now_ms},
};

/// One notice.
#[derive(Debug, Clone, PartialEq, serde::Serialize, utoipa::ToSchema)]
pub struct Notice {
    /// Its number; ask for those after the last one read.
    pub seq: i64,
    /// When (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// The message's receipt as it was then.
    #[schema(value_type = Receipt)]
    pub receipt: Value,
    /// What somebody entered into a form of the message, where that is what the notice is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
}

/// Tells a message's agent of its end.
pub(super) fn tell(tx: &Transaction<'_>, message: &MessageRow, receipt: &Receipt) -> Result<(), StoreError> {
    let receipt = serde_json::to_string(receipt).expect("a receipt is plain data");
    insert(tx, &message.agent, &message.id, &receipt, now_ms(), None).map(drop)
}

/// Writes a notice to an agent, under a number that none has had before; returns that. `entry`: what somebody entered into a form, and the
/// platform's own id of that.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    agent: &str,
    message: &str,
    notice: &str,
    at: i64,
    entry: Option<(&str, &str)>,
) -> Result<i64, StoreError> {
    let (entry, id) = entry.unzip();
    let mut insert = tx.prepare_cached(
        "INSERT INTO inbox (seq, agent, message, notice, at, entry, entry_id)
         VALUES ((SELECT n + 1 FROM totals WHERE channel = '' AND state = 'last_notice'), ?, ?, ?, ?, ?, ?)",
    )?;
    Ok(insert.insert(params![agent, message, notice, at, entry, id])?)
}

/// Whether a message stood before a person, so that the answer to its call was probably "held".
pub(super) fn has_waited_for_a_person(tx: &Transaction<'_>, seq: i64) -> Result<bool, StoreError> {
    Ok(tx.prepare_cached("SELECT 1 FROM approvals WHERE message = ?")?.exists([seq])?)
}

/// Whether a part of a message did not reach everybody whom it was for.
pub(super) fn missed_somebody(tx: &Transaction<'_>, seq: i64) -> Result<bool, StoreError> {
    let missed =
        "SELECT 1 FROM parts WHERE message = ? AND recipients ->> '$.reached' < recipients ->> '$.of'";
    Ok(tx.prepare_cached(missed)?.exists([seq])?)
}

impl Outbox {
    /// The number of the newest notice of `agent`; zero, where there is none.
    pub async fn newest_notice(&self, agent: &str) -> Result<i64, StoreError> {
        let agent = agent.to_owned();
        self.store
            .read(move |db| {
                let newest = "SELECT coalesce(max(seq), 0) FROM inbox WHERE agent = ?";
                Ok(db.prepare_cached(newest)?.query_row([agent], |row| row.get(0))?)
            })
            .await
    }

    /// The newest notices of `agent`, oldest first, at most `limit`.
    pub async fn newest_notices(&self, agent: &str, limit: u32) -> Result<Vec<Notice>, StoreError> {
        let agent = agent.to_owned();
        self.store
            .read(move |db| {
                let newest = "SELECT seq, at, notice, entry FROM (SELECT * FROM inbox WHERE agent = ? ORDER BY seq DESC LIMIT ?)
                     ORDER BY seq";
                let mut rows = db.prepare(newest)?;
                Ok(rows.query_map(params![agent, limit], notice)?.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// What `agent` is told, after the notice numbered `after`, oldest first, at most `limit`.
    pub async fn notices(&self, agent: &str, after: i64, limit: u32) -> Result<Vec<Notice>, StoreError> {
        let agent = agent.to_owned();
        self.store
            .read(move |db| {
                let mut rows = db.prepare(
                    "SELECT seq, at, notice, entry FROM inbox WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?",
                )?;
                Ok(rows.query_map(params![agent, after, limit], notice)?.collect::<Result<_, _>>()?)
            })
            .await
    }
}

fn notice(row: &Row<'_>) -> rusqlite::Result<Notice> {
    let receipt: String = row.get(2)?;
    let entry: Option<String> = row.get(3)?;
    Ok(Notice {
        seq: row.get(0)?,
        at: Time(row.get(1)?),
        receipt: serde_json::from_str(&receipt).unwrap_or(Value::Null),
        entry: entry.and_then(|entry| serde_json::from_str(&entry).ok()),
    })
}
