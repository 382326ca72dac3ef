//! Messages and parts as they lie in the database.

use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::de::DeserializeOwned;

use crate::{
    message::{
        attachment::Attachment,
        fingerprint::Fingerprint,
        operation::Operation,
        recipients::Recipients,
        state::{PartState, State},
        target::Target,
    },
    policy::{Origin, Touched},
    store::StoreError,
};

macro_rules! columns {
    () => {
        "SELECT seq, id, agent, state, action, channel, account, address, thread, reply_to, silent, origin, text, \
         accepted_at, deadline, due_at, attempts, code, reason, ended_at, hooked_at, written, ended_seq, \
         best_effort, resend, attachments, deed, known_as, touched, written_as, unidentified, history, account_is \
         FROM messages "
    };
}

pub(super) const BY_ID: &str = concat!(columns!(), "WHERE id = ?");
pub(super) const BY_SEQ: &str = concat!(columns!(), "WHERE seq = ?");
pub(super) const BY_KEY: &str = concat!(columns!(), "WHERE agent = ? AND idempotency_key = ?");
/// The condition of the index `messages_live`. SQLite uses that index only where it stands word for word.
macro_rules! live {
    () => {
        "state IN ('accepted', 'held', 'ready', 'sending')"
    };
}

pub(super) const LIVE: &str = concat!("SELECT seq FROM messages WHERE ", live!(), " ORDER BY seq");
pub(super) const LIVE_IN_STATE: &str = concat!(columns!(), "WHERE ", live!(), " AND state = ? ORDER BY seq");
/// The condition of the index `messages_lanes`, likewise.
macro_rules! released {
    () => {
        "state IN ('ready', 'sending')"
    };
}

/// From the index alone, in its order. With min(), SQLite takes the other columns from the row that has it
/// (<https://www.sqlite.org/lang_select.html#bareagg>).
pub(super) const HEADS: &str = concat!(
    "SELECT channel, account, address, seq, accepted_at, due_at, deadline, min(released) \
     FROM messages INDEXED BY messages_lanes WHERE ",
    released!(),
    " GROUP BY channel, account, address"
);
pub(super) const HEAD_OF: &str = concat!(
    "SELECT channel, account, address, seq, accepted_at, due_at, deadline \
     FROM messages INDEXED BY messages_lanes WHERE ",
    released!(),
    " AND channel = ? AND account = ? AND address = ? ORDER BY released LIMIT 1"
);
pub(super) const LANE_OF: &str = "SELECT channel, account, address, state FROM messages WHERE seq = ?";
/// Put back for an account that stands for somebody else now.
pub(super) const OTHERS: &str = concat!(
    "SELECT seq FROM messages WHERE ",
    released!(),
    " AND channel = ? AND account = ? AND state = 'ready' AND due_at > ? AND account_is <> ?"
);
pub(super) const QUEUED: &str = concat!(
    "SELECT count(*) FROM messages WHERE ",
    live!(),
    " AND state IN ('accepted', 'ready', 'sending')"
);
pub(crate) const DEPTHS: &str = concat!(
    "SELECT channel, state, count(*) FROM messages WHERE ",
    live!(),
    " GROUP BY state, channel ORDER BY channel, state"
);
/// Rows are numbered in the order of acceptance, so the lowest number is the oldest.
pub(crate) const OLDEST: &str = concat!(
    "SELECT accepted_at FROM messages WHERE seq = (SELECT min(seq) FROM messages WHERE ",
    live!(),
    " AND state = ?)"
);
pub(super) const SHIFT: &str = concat!(
    "UPDATE messages SET accepted_at = accepted_at + ?1, deadline = deadline + ?1, due_at = due_at + ?1 WHERE ",
    live!(),
    " AND accepted_at >= ?2"
);
/// A retried message has no end any more, so the end alone says that it is over.
pub(super) const ENDED: &str = "SELECT seq, id FROM messages WHERE ended_at IS NOT NULL AND ended_at < ?1 \
     AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR id = ?3) ORDER BY ended_at, seq LIMIT ?4";
pub(super) const SAID: &str = concat!(
    columns!(),
    "WHERE agent = ?1 AND ended_seq > ?2 AND (?3 IS NULL OR origin ->> '$.session' = ?3) \
     AND EXISTS (SELECT 1 FROM parts WHERE parts.message = messages.seq AND parts.state = 'confirmed') \
     ORDER BY ended_seq LIMIT ?4"
);
/// From the newest back.
pub(super) const NEWEST: &str = concat!(columns!(), "ORDER BY seq DESC LIMIT ?");
pub(super) const ALL: &str = concat!(columns!(), "WHERE ?2 IS NULL OR state = ?2 ORDER BY seq DESC LIMIT ?3");
pub(super) const OF_AGENT: &str =
    concat!(columns!(), "WHERE agent = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY seq DESC LIMIT ?3");

/// A message. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Its place in the order of acceptance.
    pub seq: i64,
    /// Its id, for callers.
    pub id: String,
    /// Whose it is.
    pub agent: String,
    /// Where it is on its way.
    pub state: State,
    /// What was asked for, by its word.
    pub action: String,
    /// What is done.
    pub operation: Operation,
    /// The channel it goes to.
    pub channel: String,
    /// The account it goes from.
    pub account: String,
    /// Who that account was when the message was accepted; nothing in a row of before that was written down.
    pub account_is: Option<Fingerprint>,
    /// The address it goes to: the identity of whoever it is, as far as that is known.
    pub address: String,
    /// The address as it was written, where that is another.
    pub written_as: Option<String>,
    /// Why nobody knows whose address it is.
    pub unidentified: Option<String>,
    /// The name in the address book under which that was meant.
    pub known_as: Option<String>,
    /// The thread it goes to.
    pub thread: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// Without a notification.
    pub silent: bool,
    /// The conversation its turn came from.
    pub origin: Option<Origin>,
    /// What is sent: what the agent wrote, or what the hooks made of it.
    pub text: String,
    /// When it was accepted.
    pub accepted_at: i64,
    /// After this it is not sent any more.
    pub deadline: i64,
    /// Before this it is not sent again.
    pub due_at: i64,
    /// Attempts that failed.
    pub attempts: u32,
    /// For an end other than `sent`, or a hold that nobody is asked about yet: the kind of error.
    pub code: Option<String>,
    /// Why it is where it is.
    pub reason: Option<String>,
    /// When it came to its end.
    pub ended_at: Option<i64>,
    /// When the hooks were through with it.
    pub hooked_at: Option<i64>,
    /// What the agent wrote, where the hooks made something else of it.
    pub written: Option<String>,
    /// Whether it is dropped where it would have to wait.
    pub best_effort: bool,
    /// Whether a part goes again, and may arrive twice, when nobody knows if it arrived.
    pub resend: bool,
    /// Files that go along, in their order.
    pub attachments: Vec<Attachment>,
    /// The messages that it names, and where they are.
    pub touched: Vec<Touched>,
    /// What an operator has said or done about parts of which nobody knew whether they arrived.
    pub history: Vec<String>,
}

impl MessageRow {
    /// Why it is where it is, as a receipt has it: its reason if nothing is wrong with it, else its error.
    pub fn why(&self) -> (Option<String>, Option<String>) {
        match self.state.is_ok() {
            true => (self.reason.clone(), None),
            false => (None, self.reason.clone()),
        }
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            id: row.get(1)?,
            agent: row.get(2)?,
            state: row.get(3)?,
            action: row.get(4)?,
            channel: row.get(5)?,
            account: row.get(6)?,
            address: row.get(7)?,
            thread: row.get(8)?,
            reply_to: row.get(9)?,
            silent: row.get(10)?,
            origin: origin(row)?,
            text: row.get(12)?,
            accepted_at: row.get(13)?,
            deadline: row.get(14)?,
            due_at: row.get(15)?,
            attempts: row.get(16)?,
            code: row.get(17)?,
            reason: row.get(18)?,
            ended_at: row.get(19)?,
            hooked_at: row.get(20)?,
            written: row.get(21)?,
            best_effort: row.get(23)?,
            resend: row.get(24)?,
            attachments: attachments(row)?,
            operation: operation(row)?,
            known_as: row.get(27)?,
            touched: list(row, 28)?,
            written_as: row.get(29)?,
            unidentified: row.get(30)?,
            history: list(row, 31)?,
            account_is: row.get::<_, Option<_>>(32)?.map(Fingerprint),
        })
    }

    /// The message in this row.
    pub(crate) fn get(db: &Connection, seq: i64) -> Result<Self, StoreError> {
        Ok(db.prepare_cached(BY_SEQ)?.query_row([seq], Self::read)?)
    }

    /// Where it goes.
    pub fn target(&self) -> Target {
        Target { channel: self.channel.clone(), address: self.address.clone(), thread: self.thread.clone() }
    }

    /// The lane that it travels in: one message at a time to one conversation, in order.
    pub fn lane(&self) -> Lane {
        Lane { channel: self.channel.clone(), account: self.account.clone(), address: self.address.clone() }
    }
}

/// An origin that cannot be read is an error and not "no origin": policy must not judge by a lost fact.
fn origin(row: &Row<'_>) -> rusqlite::Result<Option<Origin>> {
    let text: Option<String> = row.get(11)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(11, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// Files that cannot be read are an error and not "none": a message without its files is another message.
fn attachments(row: &Row<'_>) -> rusqlite::Result<Vec<Attachment>> {
    let Some(text) = row.get_ref(25)?.as_str_or_null()? else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(25, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// An operation that cannot be read is an error and not "a plain text".
fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let Some(text) = row.get_ref(26)?.as_str_or_null()? else { return Ok(Operation::default()) };
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(26, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// Those that cannot be read are an error and not "everybody".
fn recipients(row: &Row<'_>) -> rusqlite::Result<Option<Recipients>> {
    let Some(text) = row.get_ref(10)?.as_str_or_null()? else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(10, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// A list that cannot be read is an error and not an empty one: policy must not judge by a lost fact.
fn list<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<T>> {
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// All messages to one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The channel.
    pub channel: String,
    /// The account.
    pub account: String,
    /// The address.
    pub address: String,
}

/// The first message of a lane: what decides when it goes. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its lane.
    pub lane: Lane,
    /// Its place in the order of acceptance.
    pub seq: i64,
    /// When it was accepted.
    pub accepted_at: i64,
    /// Before this it is not sent again.
    pub due_at: i64,
    /// After this it is not sent any more.
    pub deadline: i64,
}

impl Lane {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { channel: row.get(0)?, account: row.get(1)?, address: row.get(2)? })
    }
}

impl Head {
    pub(super) fn of(db: &Connection, lane: &Lane) -> Result<Option<Self>, StoreError> {
        let mut head = db.prepare_cached(HEAD_OF)?;
        Ok(head.query_row([&lane.channel, &lane.account, &lane.address], Self::read).optional()?)
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            lane: Lane::read(row)?,
            seq: row.get(3)?,
            accepted_at: row.get(4)?,
            due_at: row.get(5)?,
            deadline: row.get(6)?,
        })
    }
}

/// One platform request that a message becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartRow {
    /// Counted from zero.
    pub index: u32,
    /// Its name for good, the same at every attempt.
    pub key: String,
    /// Where it is on its way.
    pub state: PartState,
    /// Its visible text, as a person is shown it.
    pub shown: String,
    /// The platform request, canonical JSON.
    pub request: String,
    /// When its request first left.
    pub first_sent_at: Option<i64>,
    /// The platform's id of it.
    pub platform_id: Option<String>,
    /// Why it did not arrive.
    pub error: Option<String>,
    /// What the platform had as its latest before the request left, for whoever looks for it later.
    pub position: Option<String>,
    /// How often the platform was asked in vain whether it arrived.
    pub questions: u32,
    /// Whom it reached, where it went to several people.
    pub recipients: Option<Recipients>,
}

impl PartRow {
    /// A message's parts, in order.
    pub(crate) fn all(db: &Connection, message: i64) -> Result<Vec<Self>, StoreError> {
        let mut rows = db.prepare_cached(
            "SELECT idx, key, state, shown, wire, first_sent_at, platform_id, error, position, questions, recipients
             FROM parts WHERE message = ? ORDER BY idx",
        )?;
        let rows = rows.query_map([message], |row| {
            Ok(Self {
                index: row.get(0)?,
                key: row.get(1)?,
                state: row.get(2)?,
                shown: row.get(3)?,
                request: row.get(4)?,
                first_sent_at: row.get(5)?,
                platform_id: row.get(6)?,
                error: row.get(7)?,
                position: row.get(8)?,
                questions: row.get(9)?,
                recipients: recipients(row)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// What has ended stays for a month, so a full scan costs more every day.
    #[tokio::test]
    async fn what_is_asked_all_the_time_is_answered_from_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        for sql in [
            BY_ID,
            BY_SEQ,
            BY_KEY,
            super::super::accept::OTHER_CALL,
            ENDED,
            LIVE,
            LIVE_IN_STATE,
            HEADS,
            HEAD_OF,
            LANE_OF,
            OTHERS,
            QUEUED,
            DEPTHS,
            OLDEST,
            OF_AGENT,
            SAID,
            super::super::located::SENT,
            super::super::located::HEARD,
            super::super::edits::FIRST,
            super::super::edits::NEWEST,
            super::super::edits::QUOTE,
            super::super::pauses::OF_LANE,
            crate::approval::WAITING,
            crate::approval::cards::LATER,
            crate::approval::cards::HAD,
        ] {
            let plan: Vec<String> = store
                .read(move |db| {
                    let mut rows = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                    let count = rows.parameter_count();
                    let rows =
                        rows.query_map(rusqlite::params_from_iter(vec![""; count]), |row| row.get(3))?;
                    Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
                })
                .await
                .unwrap();
            let scans = |line: &&String| {
                line.starts_with("SCAN") && !line.contains("USING") && !line.contains("SCAN (subquery")
            };
            assert_eq!(plan.iter().find(scans), None, "{sql}\n{plan:#?}");
        }
    }
}
