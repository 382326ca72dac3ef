//! One message becomes a row, with what the audit says of it; or it turns out to be one that was taken before.

use rusqlite::{Transaction, params};
use serde::Serialize;
use serde_json::{Value, json};

use super::{AcceptError, Accepted, before};
use crate::{
    audit::{self, Entry},
    files,
    message::{
        attachment::Attachment,
        state::{State, next},
    },
    outbox::{
        bounds::Bounds,
        digest,
        new_message::{NewMessage, SaidIn},
        recent::Mark,
        row::MessageRow,
        transition::{self, Change, NewPart},
    },
    sessions::place::{self, OpenedBy},
    store::{StoreError, now_ms},
};

/// Writes a message down, unless it was taken before. `released`: the change by which it goes at once, and its parts.
pub(super) fn insert(
    tx: &Transaction<'_>,
    new: NewMessage,
    released: Option<(&Change<'_>, &[NewPart])>,
    bounds: Bounds,
    mark: &Mark,
) -> Result<Accepted<MessageRow>, AcceptError> {
    let now = now_ms();
    if let Some(taken) = taken_before(tx, &new, mark, now)? {
        return Ok(taken);
    }
    let columns = Columns::of(&new);
    bounds.check(tx, new.text.len() + columns.operation.as_ref().map_or(0, String::len))??;
    let state = match released {
        Some((change, _)) => next(State::Accepted, change.event, change.actor)?,
        None => State::Accepted,
    };
    // Its place in its lane is the number of the audit's row in which it is released, the one after that it was accepted.
    let place = released.map(|_| audit::next_number(tx)).transpose()?.map(|number| number + 1);
    let session = session(tx, &new, now)?;
    let seq = store_row(tx, &new, &columns, state, place, session.as_deref(), now)?;
    files::refer(tx, seq, &new.attachments)?;
    record(tx, seq, &new, state, released)?;
    mark.note(seq, now);
    Ok(Accepted::New(row_of(new, seq, state, session, now)))
}

/// The session that a message is said in. One of the agent's is opened where it has none at the destination.
fn session(tx: &Transaction<'_>, new: &NewMessage, now: i64) -> Result<Option<String>, StoreError> {
    Ok(match &new.said_in {
        SaidIn::None => None,
        SaidIn::Turn(session) => session.clone(),
        SaidIn::Destination { place, opened } => {
            Some(place::note(tx, &new.agent, place, opened, OpenedBy::Agent, now)?)
        }
    })
}

/// The message that this one repeats: by its caller's key, or, without a key, by its words a moment ago.
fn taken_before(
    tx: &Transaction<'_>,
    new: &NewMessage,
    mark: &Mark,
    now: i64,
) -> Result<Option<Accepted<MessageRow>>, AcceptError> {
    if let Some(key) = &new.idempotency_key
        && let Some(seq) = before(tx, &new.agent, key, new.fingerprint)?
    {
        return Ok(Some(Accepted::Before(seq)));
    }
    mark.recall(tx, now)?;
    // Whoever names a call says itself which are the same.
    match new.idempotency_key {
        None => Ok(mark.same(tx, now)?.map(Accepted::Same)),
        Some(_) => Ok(None),
    }
}

/// What is stored as JSON; nothing, if there is none of it.
struct Columns {
    origin: Option<String>,
    attachments: Option<String>,
    operation: Option<String>,
    touched: Option<String>,
}

impl Columns {
    fn of(new: &NewMessage) -> Self {
        fn json(value: &impl Serialize) -> String {
            serde_json::to_string(value).expect("what a message has is plain data with text for keys")
        }
        Self {
            origin: new.provenance().written(),
            attachments: (!new.attachments.is_empty()).then(|| json(&new.attachments)),
            operation: (!new.operation.is_plain()).then(|| json(&new.operation)),
            touched: (!new.touched.is_empty()).then(|| json(&new.touched)),
        }
    }
}

fn store_row(
    tx: &Transaction<'_>,
    new: &NewMessage,
    columns: &Columns,
    state: State,
    place: Option<i64>,
    session: Option<&str>,
    now: i64,
) -> Result<i64, StoreError> {
    tx.prepare_cached(
        "INSERT INTO messages (seq, id, agent, state, action, channel, account, address, thread, reply_to, silent,
            origin, text, idempotency_key, fingerprint, accepted_at, deadline, due_at, best_effort, resend, released,
            attachments, deed, known_as, touched, written_as, unidentified, account_is, session)
         VALUES ((SELECT n + 1 FROM totals WHERE channel = '' AND state = 'last_message'),
            ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        new.id.0,
        new.agent,
        state,
        new.action,
        new.target.channel,
        new.account,
        new.target.address,
        new.target.thread,
        new.reply_to,
        new.silent,
        columns.origin,
        new.text,
        new.idempotency_key,
        new.fingerprint,
        now,
        new.deadline,
        now,
        new.best_effort,
        new.resend,
        place,
        columns.attachments,
        columns.operation,
        new.known_as,
        columns.touched,
        new.written_as,
        new.unidentified,
        new.account_is.map(|account| account.0),
        session,
    ])?;
    Ok(tx.last_insert_rowid())
}

/// Says in the audit that it was accepted, and that it was released if it was; its parts are stored with that.
fn record(
    tx: &Transaction<'_>,
    seq: i64,
    new: &NewMessage,
    state: State,
    released: Option<(&Change<'_>, &[NewPart])>,
) -> Result<(), AcceptError> {
    let (actor, message) = (format!("agent:{}", new.agent), Some(new.id.0.as_str()));
    let event = audit::Event::Message(State::Accepted);
    let accepted = Entry { actor: &actor, event, message, detail: accepted_detail(tx, seq, new)? };
    match released {
        None => audit::append(tx, &accepted)?,
        Some((change, parts)) => {
            transition::store_parts(tx, seq, parts)?;
            let mut detail = change.detail();
            detail["parts"] = digest::parts(tx, seq)?.into();
            let event = audit::Event::Message(state);
            audit::append_all(tx, &[accepted, Entry { actor: change.by, event, message, detail }])?;
        }
    }
    Ok(())
}

fn accepted_detail(tx: &Transaction<'_>, seq: i64, new: &NewMessage) -> Result<Value, StoreError> {
    let mut detail = json!({
        "to": new.target.to_string(), "account": new.account, "origin": new.origin, "content": digest::content(tx, seq)?,
    });
    if let Some(written_as) = &new.written_as {
        detail["written_as"] = json!(written_as);
    }
    if !new.attachments.is_empty() {
        // A caption is part of what is said, which goes with the message.
        let facts = |file: &Attachment| json!({"sha256": file.sha256.to_string(), "name": file.name, "kind": file.kind, "size": file.size});
        detail["files"] = new.attachments.iter().map(facts).collect();
    }
    if !new.touched.is_empty() {
        detail["touched"] = json!(new.touched);
    }
    Ok(detail)
}

/// The row as it reads back.
fn row_of(new: NewMessage, seq: i64, state: State, session: Option<String>, now: i64) -> MessageRow {
    MessageRow {
        seq,
        id: new.id.0,
        agent: new.agent,
        state,
        action: new.action.to_owned(),
        operation: new.operation,
        channel: new.target.channel,
        account: new.account,
        account_is: new.account_is,
        address: new.target.address,
        written_as: new.written_as,
        unidentified: new.unidentified,
        known_as: new.known_as,
        thread: new.target.thread,
        reply_to: new.reply_to,
        silent: new.silent,
        origin: new.origin,
        least_trusted: new.least_trusted,
        session,
        text: new.text,
        accepted_at: now,
        deadline: new.deadline,
        due_at: now,
        attempts: 0,
        code: None,
        reason: None,
        ended_at: None,
        hooked_at: None,
        written: None,
        best_effort: new.best_effort,
        resend: new.resend,
        attachments: new.attachments,
        touched: new.touched,
        history: vec![],
    }
}
