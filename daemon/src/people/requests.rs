//! Requests for access: somebody unknown writes, or writes where no agent is, and a person is asked whether they are let in.
//!
//! One is open per subject. No answer is no, and may be asked again on another day; a refusal is remembered. What was written
//! meanwhile waits with the request, and goes its way if a person lets it in.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{user_id, users};
use crate::{
    audit::{self, Entry, Event},
    clock::Time,
    policy::Scope,
    random,
    store::StoreError,
};

/// How long a request waits for a person, in milliseconds.
pub const LIFETIME_MS: i64 = 24 * 3_600_000;
/// The most that are asked in a day. More are dropped: a stranger must not wear a person down by names.
pub const MAX_PER_DAY: u32 = 20;
/// The most messages that wait with one request.
pub const MAX_WAITING: u32 = 20;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AccessSubject)]
pub enum What {
    /// That somebody may write to agents.
    Person,
    /// That an agent is in a conversation.
    Conversation,
}

impl What {
    /// The word by which it is stored and told.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Conversation => "conversation",
        }
    }
}

/// What is to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// For whom, or for where.
    pub what: What,
    /// The user's id, or the conversation's target.
    pub subject: &'a str,
    /// The channel.
    pub channel: &'a str,
    /// The hub's account there.
    pub account: &'a str,
    /// The conversation.
    pub address: &'a str,
    /// The agent that they wrote to, or that would be there.
    pub agent: &'a str,
    /// What they call themselves, or what it is called.
    pub name: Option<&'a str>,
}

/// What became of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A person is to be asked.
    New(String),
    /// A person was asked already.
    Open(String),
    /// A person said no before.
    Refused,
    /// Enough was asked for a day, or nobody answered today.
    TooMany,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = AccessRequest)]
pub struct Request {
    /// By which it is answered.
    pub code: String,
    /// What is asked for.
    pub what: What,
    /// The user's id, or the conversation's target.
    pub subject: String,
    /// The channel.
    pub channel: String,
    /// The hub's account there.
    pub account: String,
    /// The conversation.
    pub address: String,
    /// The agent.
    pub agent: String,
    /// What they call themselves, or what it is called.
    pub name: Option<String>,
    /// When it was asked (RFC 3339).
    #[schema(value_type = String)]
    pub at: Time,
    /// Until when it may be answered (RFC 3339).
    #[schema(value_type = String)]
    pub expires_at: Time,
    /// `allowed`, `refused` or `expired`; nothing while it is open.
    pub decided: Option<String>,
    /// The message on whose card a person is asked.
    pub message: Option<String>,
}

const COLUMNS: &str =
    "code, what, subject, channel, account, address, agent, name, at, expires_at, decided, message";

impl Request {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let what: String = row.get(1)?;
        Ok(Self {
            code: row.get(0)?,
            what: if what == What::Person.word() { What::Person } else { What::Conversation },
            subject: row.get(2)?,
            channel: row.get(3)?,
            account: row.get(4)?,
            address: row.get(5)?,
            agent: row.get(6)?,
            name: row.get(7)?,
            at: Time(row.get(8)?),
            expires_at: Time(row.get(9)?),
            decided: row.get(10)?,
            message: row.get(11)?,
        })
    }
}

/// Asks, unless that was asked or refused before.
///
/// # Errors
/// The database.
pub fn ask(tx: &Transaction<'_>, ask: &Ask<'_>, now: i64) -> Result<Asked, StoreError> {
    expire(tx, now)?;
    let latest: Option<(String, Option<String>, i64)> = tx
        .prepare_cached(
            "SELECT code, decided, at FROM access_requests WHERE what = ? AND subject = ?
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([ask.what.word(), ask.subject], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let today = now - LIFETIME_MS;
    match latest {
        Some((code, None, _)) => return Ok(Asked::Open(code)),
        Some((_, Some(decided), _)) if decided == "refused" => return Ok(Asked::Refused),
        Some((_, Some(decided), at)) if decided == "expired" && at > today - LIFETIME_MS => {
            return Ok(Asked::TooMany);
        }
        _ => {}
    }
    let asked: u32 =
        tx.query_row("SELECT count(*) FROM access_requests WHERE at > ?", [today], |row| row.get(0))?;
    if asked >= MAX_PER_DAY {
        return Ok(Asked::TooMany);
    }
    let code = random::hex::<4>();
    tx.execute(
        "INSERT INTO access_requests (code, what, subject, channel, account, address, agent, name, at, expires_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            code,
            ask.what.word(),
            ask.subject,
            ask.channel,
            ask.account,
            ask.address,
            ask.agent,
            ask.name,
            now,
            now + LIFETIME_MS
        ],
    )?;
    Ok(Asked::New(code))
}

/// What nobody answered in time is over.
///
/// # Errors
/// The database.
pub fn expire(tx: &Transaction<'_>, now: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE access_requests SET decided = 'expired', decided_at = ?1 WHERE decided IS NULL AND expires_at <= ?1",
    )?
    .execute([now])?;
    Ok(())
}

fn answer(
    tx: &Transaction<'_>,
    code: &str,
    allow: bool,
    by: &str,
    now: i64,
) -> Result<Option<Request>, StoreError> {
    expire(tx, now)?;
    let sql = format!("SELECT {COLUMNS} FROM access_requests WHERE code = ? AND decided IS NULL");
    let open = tx.prepare_cached(&sql)?.query_row([code], Request::read).optional()?;
    let Some(mut request) = open else { return Ok(None) };
    let decided = if allow { "allowed" } else { "refused" };
    tx.execute(
        "UPDATE access_requests SET decided = ?, decided_at = ?, by = ? WHERE code = ?",
        params![decided, now, by, code],
    )?;
    request.decided = Some(decided.into());
    Ok(Some(request))
}

/// Answers an open request about somebody of whom it was said elsewhere how far they are trusted: nothing is granted by it. Nothing if there
/// is none with this code.
///
/// # Errors
/// The database.
pub fn settle(
    tx: &Transaction<'_>,
    code: &str,
    allow: bool,
    by: &str,
    now: i64,
) -> Result<Option<Request>, StoreError> {
    let request = answer(tx, code, allow, by, now)?;
    request.iter().try_for_each(|request| tell(tx, request, by))?;
    Ok(request)
}

/// Answers an open request, and lets in whom it is about if they are; nothing if there is none with this code. What they wrote meanwhile
/// goes its way by [`crate::router::accept::release`].
///
/// # Errors
/// The database.
pub fn decide(
    tx: &Transaction<'_>,
    code: &str,
    allow: bool,
    by: &str,
    now: i64,
) -> Result<Option<Request>, StoreError> {
    let Some(request) = answer(tx, code, allow, by, now)? else { return Ok(None) };
    if allow {
        let_in(tx, &request, by, now)?;
    }
    tell(tx, &request, by)?;
    Ok(Some(request))
}

fn tell(tx: &Transaction<'_>, request: &Request, by: &str) -> Result<(), StoreError> {
    let detail = json!({"code": request.code, "what": request.what, "subject": request.subject,
        "agent": request.agent, "decided": request.decided});
    audit::append(tx, &Entry { actor: by, event: Event::AccessDecided, message: None, detail })
}

fn let_in(tx: &Transaction<'_>, request: &Request, by: &str, now: i64) -> Result<(), StoreError> {
    if request.what == What::Person {
        return users::grant(tx, &request.subject, Scope::Known, by, now);
    }
    let place = [&request.channel, &request.account, &request.address];
    tx.execute(
        "UPDATE conversations SET agent = ? WHERE channel = ? AND account = ? AND address = ?",
        [&request.agent, place[0], place[1], place[2]],
    )?;
    // Whoever is alone with the account in a conversation is let in with it.
    let mut strangers = tx.prepare(
        "SELECT DISTINCT sender FROM inbound JOIN conversations USING (channel, account)
         WHERE request = ? AND peer = address AND direct",
    )?;
    let strangers = strangers.query_map([&request.code], |row| row.get::<_, String>(0))?;
    for sender in strangers.collect::<Result<Vec<_>, _>>()? {
        let user = user_id(&request.channel, &sender);
        if users::granted(tx, &user)?.is_none() {
            users::grant(tx, &user, Scope::Known, by, now)?;
        }
    }
    Ok(())
}

/// Writes down on which message's card a person is asked.
///
/// # Errors
/// The database.
pub fn shown_by(tx: &Transaction<'_>, code: &str, message: &str) -> Result<(), StoreError> {
    tx.execute("UPDATE access_requests SET message = ? WHERE code = ?", [message, code])?;
    Ok(())
}

/// The request with this code.
///
/// # Errors
/// The database.
pub fn get(db: &Connection, code: &str) -> Result<Option<Request>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM access_requests WHERE code = ?");
    Ok(db.prepare_cached(&sql)?.query_row([code], Request::read).optional()?)
}

/// The newest requests; only the open ones if `open`.
///
/// # Errors
/// The database.
pub fn list(db: &Connection, open: bool, now: i64, limit: u32) -> Result<Vec<Request>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM access_requests WHERE NOT ?1 OR (decided IS NULL AND expires_at > ?2)
         ORDER BY seq DESC LIMIT ?3"
    );
    let mut rows = db.prepare_cached(&sql)?;
    let rows = rows.query_map(params![open, now, limit], Request::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
