//! What a platform told is written down, and wakes whom it is to wake, in one transaction with the position behind it.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    Queueing, Route, Routing, UnknownSenders,
    gates::{Gates, Said, Sender, Unwired},
    rules::judge,
    situation::{Situation, Verdict, Why},
};
use crate::{
    audit::{self, Entry, Event as AuditEvent},
    channels::received::{AuthorKind, Batch, Conversation, Event, MAX_POSITION_BYTES, Received},
    people::{
        requests::{self, Ask, Asked, What},
        users,
    },
    policy::Scope,
    sessions::place::{self, OpenedBy, Place},
    store::StoreError,
    turns::{
        Cause,
        open::{Opened, Opening, keep, open},
        stored::Columns,
    },
};

/// What is older than this when it comes wakes nobody, in milliseconds: a hub that was off for a month answers nothing of that.
pub const MAX_AGE_MS: i64 = 24 * 3_600_000;
/// The same words of the same author within this are a repetition on a platform that names no ids, in milliseconds.
pub const REPEATED_MS: i64 = 30_000;
/// A session is active so long after somebody spoke in it, in milliseconds.
pub const ACTIVE_MS: i64 = 24 * 3_600_000;
/// The most rows of a stranger in an hour.
const MAX_OF_STRANGER: u32 = 5;
/// The most rows of anybody else in a minute.
const MAX_OF_PERSON: u32 = 30;

/// The account that received something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiving {
    /// The channel.
    pub channel: String,
    /// The account.
    pub account: String,
    /// Whether the platform has threads.
    pub threads: bool,
    /// What becomes of strangers if a route does not say.
    pub unknown: UnknownSenders,
    /// How far whoever hands it over vouches for all of it; nothing if each author is judged.
    pub vouched: Option<Scope>,
}

/// What became of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether a turn waits that did not before, or one has grown.
    pub woken: bool,
    /// Rows that were written.
    pub rows: Vec<i64>,
    /// Events that were received before.
    pub repeated: usize,
    /// What a person is to be asked, by its code.
    pub asked: Vec<String>,
    /// What went no further, by why and kind.
    pub dropped: Vec<(Why, String)>,
}

/// Why nothing of a batch is written.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// Since the hooks were asked, an agent has come that they were not asked about.
    #[error("the hooks are to be asked about another agent")]
    NotAsked,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for NotWritten {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Writes a batch down; `said` is what hooks said of each event in it, in their order.
///
/// # Errors
/// Nothing of the batch is written.
pub fn accept(
    tx: &Transaction<'_>,
    at: &Receiving,
    batch: Batch,
    said: &[Said],
    routing: &Routing,
    now: i64,
) -> Result<Outcome, NotWritten> {
    let mut outcome = Outcome::default();
    for dropped in batch.dropped {
        outcome.dropped.push((dropped.reason.into(), clipped(&dropped.what)));
    }
    for (index, received) in batch.received.into_iter().enumerate() {
        let said = said.get(index).unwrap_or(Said::NOTHING);
        match received.bounded() {
            Ok(received) => one(tx, at, received, said, routing, now, &mut outcome)?,
            Err(dropped) => outcome.dropped.push((dropped.reason.into(), dropped.what)),
        }
    }
    for (why, what) in &outcome.dropped {
        tx.prepare_cached(
            "INSERT INTO drops (channel, account, reason, what, count, last_at) VALUES (?, ?, ?, ?, 1, ?)
             ON CONFLICT DO UPDATE SET count = count + 1, last_at = excluded.last_at",
        )?
        .execute(params![at.channel, at.account, why.word(), what, now])?;
    }
    for position in batch.positions {
        if position.value.len() > MAX_POSITION_BYTES {
            tracing::error!(at.channel, at.account, position.stream, "a position is too long to be kept");
            continue;
        }
        tx.prepare_cached(
            "INSERT INTO positions (channel, account, stream, value, at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at",
        )?
        .execute(params![at.channel, at.account, position.stream, position.value, now])?;
    }
    Ok(outcome)
}

/// A platform's own term for a kind of event, short.
fn clipped(what: &str) -> String {
    what.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// What is known of an event before any agent is looked at.
struct Known<'a> {
    at: &'a Receiving,
    place: Place,
    user: String,
    scope: Scope,
    /// What hooks said of it.
    said: &'a Said,
    calls: bool,
    late: bool,
    /// The agent whose message it answers to, and the session that this was said in.
    answers: Option<Answered>,
}

/// A message of the hub's that something answers to.
struct Answered {
    agent: String,
    session: Option<String>,
}

fn one(
    tx: &Transaction<'_>,
    at: &Receiving,
    mut received: Received,
    said: &Said,
    routing: &Routing,
    now: i64,
    outcome: &mut Outcome,
) -> Result<(), NotWritten> {
    let what = received.event.word().to_owned();
    if is_repeated(tx, at, &received, now)? {
        outcome.repeated += 1;
        return Ok(());
    }
    let not_a_person = match received.author.kind {
        AuthorKind::Person => None,
        AuthorKind::Program => Some(Why::Program),
        AuthorKind::Myself => Some(Why::OwnWords),
    };
    if let Some(why) = not_a_person {
        outcome.dropped.push((why, what));
        return Ok(());
    }
    if said.given_up {
        outcome.dropped.push((Why::GateFailed, what));
        return Ok(());
    }
    let known = know(tx, at, &mut received, said, routing, now)?;
    let wirings = wirings(tx, routing, &known.place)?;
    if wirings.iter().any(|route| !said.covers(&route.agent)) {
        return Err(NotWritten::NotAsked);
    }
    if wirings.is_empty() {
        return Ok(unwired(tx, routing, &known, &received, now, outcome)?);
    }
    if known.scope != Scope::Blocked && writes_too_much(tx, &known, &received, now)? {
        outcome.dropped.push((Why::TooMany, what));
        return Ok(());
    }
    let mut row = None;
    let mut kept = false;
    let mut why = None;
    for route in &wirings {
        match for_agent(tx, &routing.gates, route, &known, &received, &mut row, now, outcome)? {
            None => kept = true,
            Some(dropped) => why = Some(dropped),
        }
    }
    // It is counted once, and only if no agent has it.
    if let Some(why) = why.filter(|_| !kept) {
        outcome.dropped.push((why, what));
    }
    Ok(())
}

/// By what an event is known when it comes again: what its platform names it, or its words.
pub(crate) fn key_of(at: &Receiving, received: &Received) -> [u8; 32] {
    let mut hash = Sha256::new();
    // The same message may be reacted to, and edited, again and again: what has no name of its own is known by all that it says.
    let what = match received.key.is_empty() {
        true => format!("{:?} {:?}", received.message_id, received.event),
        false => String::new(),
    };
    let kind = received.event.word();
    let rest: [&str; 3] = match received.key.is_empty() {
        false => [&received.key, "", ""],
        true => [&received.conversation.address, &received.author.id, &what],
    };
    for part in [at.channel.as_str(), &at.account, kind].iter().chain(&rest) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Whether the same event was received before.
pub(crate) fn was_received(
    db: &Connection,
    key: &[u8; 32],
    received: &Received,
    now: i64,
) -> Result<bool, StoreError> {
    let mut look = db.prepare_cached("SELECT at FROM inbound_keys WHERE key = ?")?;
    let before: Option<i64> = look.query_row([key], |row| row.get(0)).optional()?;
    let named = !received.key.is_empty();
    Ok(before.is_some_and(|before| named || now - before < REPEATED_MS))
}

/// The same; from now on it was.
fn is_repeated(
    tx: &Transaction<'_>,
    at: &Receiving,
    received: &Received,
    now: i64,
) -> Result<bool, StoreError> {
    let key = key_of(at, received);
    let is_repeated = was_received(tx, &key, received, now)?;
    if !is_repeated {
        tx.prepare_cached("INSERT OR REPLACE INTO inbound_keys (key, at) VALUES (?, ?)")?
            .execute(params![key, now])?;
    }
    Ok(is_repeated)
}

/// Where an event came, by the adapter's own word on threads.
pub(crate) fn place_of(at: &Receiving, received: &Received) -> Place {
    Place {
        channel: at.channel.clone(),
        account: at.account.clone(),
        address: received.conversation.address.clone(),
        thread: received.conversation.thread.clone().filter(|_| at.threads),
    }
}

/// Who the author of an event is, as far as whoever hands it over leaves that open.
pub(crate) fn sender_of(
    db: &Connection,
    at: &Receiving,
    received: &Received,
    said: Option<&str>,
    routing: &Routing,
) -> Result<Sender, StoreError> {
    let people = &routing.people;
    let sender = routing.gates.sender.resolve(db, people, &at.channel, &received.author, said)?;
    Ok(Sender { scope: at.vouched.unwrap_or(sender.scope), ..sender })
}

fn know<'a>(
    tx: &Transaction<'_>,
    at: &'a Receiving,
    received: &mut Received,
    said: &'a Said,
    routing: &Routing,
    now: i64,
) -> Result<Known<'a>, StoreError> {
    if !at.threads {
        received.conversation.thread = None;
    }
    let place = place_of(at, received);
    let Sender { user, mut scope } = sender_of(tx, at, received, said.user.as_deref(), routing)?;
    // Not every platform tells who took it back: it counts as whoever wrote it.
    if at.vouched.is_none() && received.author.unverified && matches!(received.event, Event::Delete) {
        scope = scope_of_message(tx, &place, received.message_id.as_deref())?;
    }
    let mut answers = None;
    let about = received.message_id.clone();
    if let Event::Message(words) = &mut received.event {
        if let Some(reply) = &mut words.reply_to {
            answers = sent_by(tx, &place, &reply.id)?;
            reply.mine |= answers.is_some();
        }
    } else if let Some(about) = about {
        answers = sent_by(tx, &place, &about)?;
    }
    let is_answer = match &received.event {
        Event::Press { .. } | Event::Entry(_) | Event::Vote { .. } => true,
        Event::Message(words) | Event::Webhook(words) => {
            received.mentions_me
                || received.conversation.direct
                || words.reply_to.as_ref().is_some_and(|reply| reply.mine)
        }
        _ => false,
    };
    let late = received.said_at.is_some_and(|said_at| said_at < now - MAX_AGE_MS);
    Ok(Known { at, place, user, scope, said, calls: is_answer, late, answers })
}

/// How far the author of a message that was received is trusted.
fn scope_of_message(
    tx: &Transaction<'_>,
    place: &Place,
    platform_id: Option<&str>,
) -> Result<Scope, StoreError> {
    let mut look = tx.prepare_cached(
        "SELECT scope FROM inbound WHERE platform_id = ? AND channel = ? AND account = ? AND peer = ?
         ORDER BY seq DESC LIMIT 1",
    )?;
    let found = look.query_row(params![platform_id, place.channel, place.account, place.address], |row| {
        row.get::<_, Option<Scope>>(0)
    });
    Ok(found.optional()?.flatten().unwrap_or(Scope::Unknown))
}

/// The agent that sent a message of the hub's, if it is one, and in which session. That of another thread is no session of this one.
fn sent_by(tx: &Transaction<'_>, place: &Place, platform_id: &str) -> Result<Option<Answered>, StoreError> {
    let mut look = tx.prepare_cached(
        "SELECT messages.agent, iif(messages.thread IS NULL OR messages.thread = ?5, messages.session, NULL) FROM parts JOIN messages ON messages.seq = parts.message
         WHERE parts.platform_id = ?1 AND messages.channel = ?2 AND messages.account = ?3 AND messages.address = ?4
         ORDER BY messages.seq DESC LIMIT 1",
    )?;
    Ok(look
        .query_row(params![platform_id, place.channel, place.account, place.address, place.thread], |row| {
            Ok(Answered { agent: row.get(0)?, session: row.get(1)? })
        })
        .optional()?)
}

/// The wirings of a conversation: by the configuration, or by a person.
pub(crate) fn wirings(db: &Connection, routing: &Routing, place: &Place) -> Result<Vec<Route>, StoreError> {
    let routes = routing.wirings(&place.channel, &place.account, &place.address);
    let mut routes: Vec<Route> = routes.into_iter().cloned().collect();
    let granted: Option<String> = db
        .prepare_cached("SELECT agent FROM conversations WHERE channel = ? AND account = ? AND address = ?")?
        .query_row([&place.channel, &place.account, &place.address], |row| row.get(0))
        .optional()?
        .flatten();
    if let Some(agent) = granted
        && routes.iter().all(|route| route.agent != agent)
    {
        routes.push(Route::granted(&agent, &format!("{}:{}", place.channel, place.address)));
    }
    Ok(routes)
}

/// Nobody is in the conversation. Chatter leaves no trace; what calls the account is a question for a person.
fn unwired(
    tx: &Transaction<'_>,
    routing: &Routing,
    known: &Known<'_>,
    received: &Received,
    now: i64,
    outcome: &mut Outcome,
) -> Result<(), StoreError> {
    let what = received.event.word().to_owned();
    let direct = received.conversation.direct;
    let unwired = Unwired {
        is_message: matches!(received.event, Event::Message(_)),
        calls: known.calls,
        direct,
        late: known.late,
        scope: known.scope,
        unknown: known.at.unknown,
    };
    let agent = routing.default_agent.as_deref();
    let (true, Some(agent)) = (routing.gates.request.escalates(&unwired), agent) else {
        outcome.dropped.push((Why::NotWired, what));
        return Ok(());
    };
    if known.said.silent || known.said.barred.contains(agent) || known.said.quiet.contains(agent) {
        outcome.dropped.push((Why::Gate, what));
        return Ok(());
    }
    let place = &known.place;
    let subject = format!("{}/{}:{}", place.channel, place.account, place.address);
    let title = if direct { received.author.name.as_deref() } else { received.conversation.title.as_deref() };
    let asked = requests::ask(
        tx,
        &Ask {
            what: What::Conversation,
            subject: &subject,
            channel: &place.channel,
            account: &place.account,
            address: &place.address,
            agent,
            name: title,
        },
        now,
    )?;
    match wait(tx, known, received, &mut None, asked, now, outcome)? {
        None => Ok(()),
        Some(why) => {
            outcome.dropped.push((why, what));
            Ok(())
        }
    }
}

/// Lets a message wait with a request; why it does not.
fn wait(
    tx: &Transaction<'_>,
    known: &Known<'_>,
    received: &Received,
    row: &mut Option<i64>,
    asked: Asked,
    now: i64,
    outcome: &mut Outcome,
) -> Result<Option<Why>, StoreError> {
    let (code, is_new) = match asked {
        Asked::New(code) => (code, true),
        Asked::Open(code) => (code, false),
        Asked::Refused | Asked::TooMany => return Ok(Some(Why::NotAsked)),
    };
    let waiting: u32 = tx
        .prepare_cached("SELECT count(*) FROM inbound WHERE request = ?")?
        .query_row([&code], |row| row.get(0))?;
    if waiting >= requests::MAX_WAITING {
        return Ok(Some(Why::TooMany));
    }
    let row = match *row {
        Some(row) => row,
        None => *row.insert(write(tx, known, received, now, outcome)?),
    };
    tx.execute("UPDATE inbound SET request = ? WHERE seq = ?", params![code, row])?;
    if is_new {
        let detail = json!({"code": code, "user": known.user, "target": known.place.address,
            "channel": known.place.channel});
        let event = AuditEvent::AccessRequested;
        audit::append(tx, &Entry { actor: "hub", event, message: None, detail })?;
        outcome.asked.push(code);
    }
    Ok(None)
}

/// Whether somebody writes more than an agent is to read.
fn writes_too_much(
    tx: &Transaction<'_>,
    known: &Known<'_>,
    received: &Received,
    now: i64,
) -> Result<bool, StoreError> {
    let (most, within) = match known.scope {
        Scope::Owner => return Ok(false),
        Scope::Known => (MAX_OF_PERSON, 60_000),
        _ => (MAX_OF_STRANGER, 3_600_000),
    };
    let count: u32 = tx
        .prepare_cached(
            "SELECT count(*) FROM inbound WHERE channel = ? AND account = ? AND sender = ? AND at > ?",
        )?
        .query_row(params![known.at.channel, known.at.account, received.author.id, now - within], |row| {
            row.get(0)
        })?;
    Ok(count >= most)
}

/// One agent's part: nothing if it has the event now, or why not.
#[expect(clippy::too_many_arguments, reason = "one step of the transaction, with all that it needs")]
fn for_agent(
    tx: &Transaction<'_>,
    gates: &Gates,
    route: &Route,
    known: &Known<'_>,
    received: &Received,
    row: &mut Option<i64>,
    now: i64,
    outcome: &mut Outcome,
) -> Result<Option<Why>, StoreError> {
    let place = &known.place;
    let spoke = place::find(tx, &route.agent, place)?;
    let text = match &received.event {
        Event::Message(words) | Event::Webhook(words) => Some(words.text.as_str()),
        _ => None,
    };
    // What was pressed or entered is for the agent that asked.
    let calls =
        known.calls && known.answers.as_ref().is_none_or(|of| text.is_some() || of.agent == route.agent);
    let situation = Situation {
        text,
        calls,
        scope: known.scope,
        active: spoke.as_ref().is_some_and(|(_, last)| now - last < ACTIVE_MS),
        late: known.late,
        unknown: known.at.unknown,
        barred: known.said.barred.contains(&route.agent),
        quiet: known.said.quiet.contains(&route.agent),
    };
    let verdict = match judge(gates, route, &situation) {
        // What is done to a message that the agent has read, or that it wrote, it reads with its next turn.
        Verdict::Drop(Why::NotEngaged) if text.is_none() && concerns(tx, route, known, received)? => {
            Verdict::Accumulate
        }
        Verdict::Drop(why) => return Ok(Some(why)),
        verdict => verdict,
    };
    if verdict == Verdict::Ask {
        let asked = requests::ask(
            tx,
            &Ask {
                what: What::Person,
                subject: &known.user,
                channel: &place.channel,
                account: &place.account,
                address: &place.address,
                agent: &route.agent,
                name: received.author.name.as_deref(),
            },
            now,
        )?;
        return wait(tx, known, received, row, asked, now, outcome);
    }
    let row = match *row {
        Some(row) => row,
        None => *row.insert(write(tx, known, received, now, outcome)?),
    };
    // An answer belongs to the session of what it answers, also where that opens a thread of its own.
    let answered =
        known.answers.as_ref().filter(|of| of.agent == route.agent).and_then(|of| of.session.clone());
    let session = match spoke.map(|(session, _)| session).or(answered) {
        Some(session) => session,
        None => route.session_of(&place.channel, &place.account, &place.address, place.thread.as_deref()),
    };
    if verdict == Verdict::Accumulate {
        keep(tx, &route.agent, &session, row)?;
        return Ok(None);
    }
    engage(tx, route, known, &session, row, text.is_some(), now, outcome)
}

/// Whether an event is about a message that the agent was told of, or sent.
fn concerns(
    tx: &Transaction<'_>,
    route: &Route,
    known: &Known<'_>,
    received: &Received,
) -> Result<bool, StoreError> {
    if known.answers.as_ref().is_some_and(|answered| answered.agent == route.agent) {
        return Ok(true);
    }
    let Some(id) = &received.message_id else { return Ok(false) };
    let place = &known.place;
    let mut look = tx.prepare_cached(
        "SELECT 1 FROM inbound WHERE platform_id = ? AND channel = ? AND account = ? AND peer = ?
         AND EXISTS (SELECT 1 FROM turn_items WHERE turn_items.inbound = inbound.seq AND agent = ?)",
    )?;
    Ok(look.exists([id, &place.channel, &place.account, &place.address, &route.agent])?)
}

#[expect(clippy::too_many_arguments, reason = "one step of the transaction, with all that it needs")]
fn engage(
    tx: &Transaction<'_>,
    route: &Route,
    known: &Known<'_>,
    session: &str,
    row: i64,
    is_text: bool,
    now: i64,
    outcome: &mut Outcome,
) -> Result<Option<Why>, StoreError> {
    let place = &known.place;
    let thread = place.thread.as_deref().unwrap_or_default();
    let gather = format!("{}\u{1f}{thread}\u{1f}{}", known.user, place.address);
    let opening = Opening {
        agent: &route.agent,
        session,
        gather: (is_text && route.queue == Queueing::Collect).then_some(gather.as_str()),
        cause: Cause::Message,
        scope: known.scope,
        place: Some(place),
        inbound: row,
    };
    match open(tx, &opening, now)? {
        Opened::Full => return Ok(Some(Why::TurnsFull)),
        Opened::Before => {}
        Opened::Waits => outcome.woken = true,
    }
    place::note(tx, &route.agent, place, session, OpenedBy::Person, now)?;
    Ok(None)
}

/// Writes the row of an event, with its author, its conversation and its files.
fn write(
    tx: &Transaction<'_>,
    known: &Known<'_>,
    received: &Received,
    now: i64,
    outcome: &mut Outcome,
) -> Result<i64, StoreError> {
    let Place { channel, account, address, thread } = &known.place;
    let Columns { kind, text, platform_id, facts } = Columns::of(received, known.late);
    let json = serde_json::to_string(&facts).unwrap_or_default();
    tx.prepare_cached(
        "INSERT INTO inbound (channel, account, peer, thread, sender, platform_id, text, at, kind, facts, scope, said_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        channel,
        account,
        address,
        thread,
        received.author.id,
        platform_id,
        text,
        now,
        kind,
        json,
        known.scope,
        received.said_at
    ])?;
    let row = tx.last_insert_rowid();
    for file in &facts.files {
        tx.prepare_cached("INSERT OR IGNORE INTO inbound_files (inbound, digest) VALUES (?, ?)")?
            .execute(params![row, file.sha256.0])?;
    }
    users::seen(tx, &known.user, received.author.name.as_deref(), now)?;
    tx.prepare_cached(
        "INSERT INTO conversations (channel, account, address, direct, title, first_at, last_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
         ON CONFLICT DO UPDATE SET title = coalesce(excluded.title, title), last_at = excluded.last_at",
    )?
    .execute(params![
        channel,
        account,
        address,
        received.conversation.direct,
        received.conversation.title,
        now
    ])?;
    outcome.rows.push(row);
    Ok(row)
}

/// A row that waited with a request goes its way, now that a person let it in. Whether it woke an agent.
fn go_on(
    tx: &Transaction<'_>,
    row: i64,
    at: &Receiving,
    received: &mut Received,
    routing: &Routing,
    now: i64,
) -> Result<bool, StoreError> {
    // The hooks let it through when it came.
    let known = know(tx, at, received, Said::NOTHING, routing, now)?;
    tx.execute("UPDATE inbound SET request = NULL, scope = ? WHERE seq = ?", params![known.scope, row])?;
    let mut outcome = Outcome::default();
    for route in wirings(tx, routing, &known.place)? {
        for_agent(tx, &routing.gates, &route, &known, received, &mut Some(row), now, &mut outcome)?;
    }
    Ok(outcome.woken)
}

/// What waited with a request goes its way, or goes. Whether it woke an agent.
///
/// # Errors
/// The database.
pub fn release(
    tx: &Transaction<'_>,
    request: &requests::Request,
    at: &Receiving,
    routing: &Routing,
    now: i64,
) -> Result<bool, StoreError> {
    let mut rows = tx.prepare_cached(
        "SELECT seq, sender, peer, thread, kind, text, platform_id, facts FROM inbound WHERE request = ? ORDER BY seq",
    )?;
    let rows: Vec<(i64, Option<Received>)> = rows
        .query_map([&request.code], |row| {
            let facts: Option<String> = row.get(7)?;
            let columns = Columns {
                kind: row.get(4)?,
                text: row.get(5)?,
                platform_id: row.get(6)?,
                facts: facts.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default(),
            };
            let author = row.get::<_, Option<String>>(1)?.unwrap_or_default();
            let conversation =
                Conversation { address: row.get(2)?, thread: row.get(3)?, ..Conversation::default() };
            Ok((row.get(0)?, columns.event(author, conversation)))
        })?
        .collect::<Result<_, _>>()?;
    let mut woken = false;
    for (row, received) in rows {
        match received.filter(|_| request.decided.as_deref() == Some("allowed")) {
            Some(mut received) => woken |= go_on(tx, row, at, &mut received, routing, now)?,
            None => {
                tx.execute("DELETE FROM inbound_files WHERE inbound = ?", [row])?;
                tx.execute("DELETE FROM inbound WHERE seq = ?", [row])?;
            }
        }
    }
    Ok(woken)
}
