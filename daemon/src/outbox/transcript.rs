//! What an agent has said, as far as it arrived: the mirror of its sessions.
//!
//! It is read from the messages themselves, so it cannot differ from what was sent, and shows what a person has in front
//! of them: the confirmed parts, also of a message that failed half-way. What the agent remembers is the agent's, and
//! nothing here touches it.

use rusqlite::params;
use serde::Serialize;

use super::{
    Outbox, queries,
    row::{MessageRow, PartRow},
};
use crate::{
    clock::Time,
    message::state::{PartState, State},
    store::StoreError,
};

/// A message, as far as it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct TranscriptEntry {
    /// The number of its end, the same as that of the event; ask for those after the last one read.
    pub seq: i64,
    /// When it came to its end (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// The message.
    pub id: String,
    /// The session that it was said in: that of the conversation that it went to.
    pub session: Option<String>,
    /// Where it went.
    pub to: String,
    /// How it ended.
    pub state: State,
    /// What arrived of it, part after part, as it is seen there.
    pub parts: Vec<String>,
}

impl Outbox {
    /// What `agent` has said, in `session` or in any, after the end numbered `after`, oldest first, at most `limit`.
    pub async fn said(
        &self,
        agent: &str,
        session: Option<String>,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TranscriptEntry>, StoreError> {
        let agent = agent.to_owned();
        self.store
            .read(move |db| {
                let mut rows = db.prepare_cached(queries::SAID)?;
                let rows = rows.query_map(params![agent, after, session, limit], |row| {
                    Ok((MessageRow::read(row)?, row.get("ended_seq")?))
                })?;
                let rows: Vec<(MessageRow, i64)> = rows.collect::<Result<_, _>>()?;
                rows.into_iter().map(|(message, seq)| said(message, seq, |of| PartRow::all(db, of))).collect()
            })
            .await
    }
}

fn said(
    message: MessageRow,
    seq: i64,
    parts: impl Fn(i64) -> Result<Vec<PartRow>, StoreError>,
) -> Result<TranscriptEntry, StoreError> {
    let arrived = parts(message.seq)?.into_iter().filter(|part| part.state == PartState::Confirmed);
    Ok(TranscriptEntry {
        seq,
        at: Time(message.ended_at.unwrap_or_default()),
        to: message.target().to_string(),
        state: message.state,
        parts: arrived.map(|part| part.shown).collect(),
        session: message.session.or_else(|| message.origin.and_then(|origin| origin.session)),
        id: message.id,
    })
}
