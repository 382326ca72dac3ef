//! Messages and parts as they lie in the database.

use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::de::DeserializeOwned;

use super::queries::{BY_SEQ, HEAD_OF};
use crate::{
    message::{
        attachment::Attachment,
        fingerprint::Fingerprint,
        operation::Operation,
        recipients::Recipients,
        state::{PartState, State},
        target::Target,
    },
    policy::{LeastTrusted, Origin, Provenance, Source, Touched},
    store::StoreError,
};

/// Characters of a message's first line that a listing shows.
const MAX_LINE_CHARS: usize = 200;

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
    /// The turn that it may be from, although its context does not say so.
    pub least_trusted: Option<LeastTrusted>,
    /// The session that it is said in; none if it says nothing to anybody.
    pub session: Option<String>,
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

    /// Where it comes from, to judge by.
    pub fn provenance(&self) -> Provenance<'_> {
        Provenance { origin: self.origin.as_ref(), least_trusted: self.least_trusted.as_ref() }
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let Source { origin, least_trusted } = source(row)?;
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
            origin,
            least_trusted,
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
            session: row.get(33)?,
        })
    }

    /// The message in this row.
    pub(crate) fn get(db: &Connection, seq: i64) -> Result<Self, StoreError> {
        Ok(db.prepare_cached(BY_SEQ)?.query_row([seq], Self::read)?)
    }

    /// Its first line that is not empty, at most 200 characters of it; empty, if its text is.
    pub fn line(&self) -> String {
        let line = self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        line.chars().take(MAX_LINE_CHARS).collect()
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

/// A source that cannot be read is an error and not "none": policy must not judge by a lost fact.
fn source(row: &Row<'_>) -> rusqlite::Result<Source> {
    let text: Option<String> = row.get(11)?;
    let Some(text) = text else { return Ok(Source::default()) };
    Source::read(&text).map_err(|error| {
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
