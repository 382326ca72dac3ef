//! The write that precedes the answer.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;

use super::{
    Outbox,
    bounds::{Bounds, Full},
    digest,
    recent::Mark,
    row::{self, MessageRow},
    transition::{self, Change, NewPart, TransitionError},
};
use crate::{
    audit::{self, Entry},
    files,
    message::{
        MessageId,
        attachment::Attachment,
        fingerprint::Fingerprint,
        operation::Operation,
        state::{Event, IllegalTransition, State, next},
        target::Target,
    },
    policy::{Origin, Touched},
    store::{StoreError, now_ms},
};

/// A message that passed the checks on admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Its id, if it is not the same as one before.
    pub id: MessageId,
    /// Whose it is.
    pub agent: String,
    /// What was asked for, by its word.
    pub action: &'static str,
    /// What is done.
    pub operation: Operation,
    /// Where it goes: its address is an identity, as far as that is known.
    pub target: Target,
    /// The address as it was written, where that is another.
    pub written_as: Option<String>,
    /// Why nobody knows whose address it is.
    pub unidentified: Option<String>,
    /// The account it goes from.
    pub account: String,
    /// Who that account is: it goes from no other that takes the name.
    pub account_is: Option<Fingerprint>,
    /// The name in the address book under which the target was meant.
    pub known_as: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// Without a notification.
    pub silent: bool,
    /// The conversation its turn came from.
    pub origin: Option<Origin>,
    /// What the agent wrote.
    pub text: String,
    /// Files that go along. Their callers keep them from being swept until this is on disk.
    pub attachments: Vec<Attachment>,
    /// Milliseconds since 1970.
    pub deadline: i64,
    /// The caller's own name for this call.
    pub idempotency_key: Option<String>,
    /// SHA-256 of the call; zeros without a name.
    pub fingerprint: [u8; 32],
    /// Whether it is dropped where it would have to wait.
    pub best_effort: bool,
    /// Whether a part goes again, and may arrive twice, when nobody knows if it arrived.
    pub resend: bool,
    /// The messages that it names, and where they are.
    pub touched: Vec<Touched>,
    /// Whether a person has to be asked about it, as policy said on admission.
    pub asks: bool,
}

#[cfg(test)]
impl NewMessage {
    /// One of `a`'s to `local:ann`, which has all the time there is.
    pub(crate) fn example(text: impl Into<String>) -> Self {
        Self {
            id: MessageId::new(),
            agent: "a".into(),
            action: "send",
            operation: Operation::default(),
            target: Target { channel: "local".into(), address: "ann".into(), thread: None },
            written_as: None,
            unidentified: None,
            account: "home".into(),
            account_is: None,
            known_as: None,
            reply_to: None,
            silent: false,
            origin: None,
            text: text.into(),
            attachments: vec![],
            deadline: i64::MAX,
            idempotency_key: None,
            fingerprint: [0; 32],
            best_effort: false,
            resend: false,
            touched: vec![],
            asks: false,
        }
    }
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The idempotency key belongs to another call.
    #[error("this idempotency key was used for another message, {0}")]
    KeyReused(String),
    /// There is no room for it.
    #[error(transparent)]
    Full(#[from] Full),
    /// What was to happen to it at once is not allowed.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for AcceptError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<TransitionError> for AcceptError {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::Illegal(error) => Self::Illegal(error),
            TransitionError::Store(error) => Self::Store(error),
        }
    }
}

/// A message in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted<T = i64> {
    /// It is new: its number, or what was made of it at once.
    New(T),
    /// The same call was taken before, under the same idempotency key.
    Before(i64),
    /// The same message was taken a moment ago.
    Same(i64),
}

impl<T> Accepted<T> {
    /// The same, with something else made of a new one.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Accepted<U> {
        match self {
            Self::New(new) => Accepted::New(make(new)),
            Self::Before(seq) => Accepted::Before(seq),
            Self::Same(seq) => Accepted::Same(seq),
        }
    }
}

impl Outbox {
    /// Writes a message down. When this returns, it is on disk.
    pub async fn accept(&self, new: NewMessage) -> Result<Accepted, AcceptError> {
        self.accept_and(new, |_, message| Ok(message.seq)).await
    }

    /// Writes a message down, and in the same transaction what becomes of it at once.
    pub async fn accept_and<T: Send + 'static>(
        &self,
        new: NewMessage,
        next: impl FnOnce(&Transaction<'_>, MessageRow) -> Result<T, TransitionError> + Send + 'static,
    ) -> Result<Accepted<T>, AcceptError> {
        let mark = self.recent.mark(&new);
        self.write(new.id.clone(), move |tx, bounds| {
            Ok(match insert(tx, new, None, bounds, &mark)? {
                Accepted::Before(seq) => (Accepted::Before(seq), None),
                Accepted::Same(seq) => (Accepted::Same(seq), None),
                Accepted::New(message) => {
                    let seq = message.seq;
                    (Accepted::New(next(tx, message)?), Some(seq))
                }
            })
        })
        .await
    }

    /// Writes a message down that may go, with its parts: accepted and released at once, and both in the audit.
    pub async fn accept_released(
        &self,
        new: NewMessage,
        parts: Vec<NewPart>,
    ) -> Result<Accepted<MessageRow>, AcceptError> {
        let mark = self.recent.mark(&new);
        self.write(new.id.clone(), move |tx, bounds| {
            let change = Change::hub(Event::Allow, None);
            Ok(match insert(tx, new, Some((&change, &parts)), bounds, &mark)? {
                Accepted::Before(seq) => (Accepted::Before(seq), None),
                Accepted::Same(seq) => (Accepted::Same(seq), None),
                Accepted::New(message) => {
                    let seq = message.seq;
                    (Accepted::New(message), Some(seq))
                }
            })
        })
        .await
    }

    /// Writes several messages down, and in the same transaction what becomes of the new ones at once: `next` makes something of each,
    /// in their order. What one is refused for keeps nothing from the others.
    pub async fn accept_all_and<T: Send + 'static>(
        &self,
        all: Vec<NewMessage>,
        next: impl FnOnce(&Transaction<'_>, Vec<MessageRow>) -> Result<Vec<T>, TransitionError> + Send + 'static,
    ) -> Result<Vec<Result<Accepted<T>, AcceptError>>, AcceptError> {
        let room = self.store.space().look();
        if !room.accepts() {
            return Err(Full::Disk(room).into());
        }
        let all: Vec<(Mark, NewMessage)> = all.into_iter().map(|new| (self.recent.mark(&new), new)).collect();
        let (bounds, changes) = (self.bounds, self.changes.clone());
        let work = move |tx: &Transaction<'_>| {
            let (mut answers, mut rows) = (Vec::with_capacity(all.len()), vec![]);
            for (mark, new) in all {
                answers.push(match insert(tx, new, None, bounds, &mark) {
                    Ok(Accepted::New(row)) => {
                        rows.push(row);
                        None
                    }
                    Ok(Accepted::Before(seq)) => Some(Ok(Accepted::Before(seq))),
                    Ok(Accepted::Same(seq)) => Some(Ok(Accepted::Same(seq))),
                    // Said before anything is written.
                    Err(refused @ (AcceptError::KeyReused(_) | AcceptError::Full(_))) => Some(Err(refused)),
                    Err(error) => return Err(error),
                });
            }
            let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
            let mut made = next(tx, rows)?.into_iter();
            let answers = answers
                .into_iter()
                .filter_map(|answer| answer.or_else(|| made.next().map(|made| Ok(Accepted::New(made)))));
            Ok((answers.collect::<Vec<_>>(), seqs))
        };
        let tell = move |(_, seqs): &(Vec<_>, Vec<i64>)| {
            // No watcher is no error.
            seqs.iter().for_each(|seq| drop(changes.send(*seq)));
        };
        let (answers, _) = self.store.write_then(work, tell).await?;
        Ok(answers)
    }

    async fn write<T: Send + 'static>(
        &self,
        id: MessageId,
        work: impl FnOnce(&Transaction<'_>, Bounds) -> Result<(Accepted<T>, Option<i64>), AcceptError>
        + Send
        + 'static,
    ) -> Result<Accepted<T>, AcceptError> {
        let room = self.store.space().look();
        if !room.accepts() {
            return Err(Full::Disk(room).into());
        }
        let bounds = self.bounds;
        // From here on, whatever is logged on its way names it, on the thread that writes too.
        let span = tracing::Span::current();
        span.record("id", tracing::field::display(&id));
        let changes = self.changes.clone();
        let (accepted, _) = self
            .store
            .write_then(
                move |tx| work(tx, bounds),
                move |(_, seq)| {
                    if let Some(seq) = seq {
                        span.in_scope(|| tracing::debug!(seq, "a message is on disk"));
                        // No watcher is no error.
                        let _ = changes.send(*seq);
                    }
                },
            )
            .await?;
        Ok(accepted)
    }

    /// The message that was taken from `agent` under this idempotency key, if any.
    pub async fn accepted_before(
        &self,
        agent: &str,
        key: &str,
        fingerprint: [u8; 32],
    ) -> Result<Option<i64>, AcceptError> {
        self.store.look(|db| before(db, agent, key, fingerprint))
    }
}

/// The message that was taken under this key, if it was the same call.
fn before(
    db: &Connection,
    agent: &str,
    key: &str,
    fingerprint: [u8; 32],
) -> Result<Option<i64>, AcceptError> {
    // A broadcast's targets have names of their own behind the caller's: the key is one for all of them.
    let named = key.split('\n').next().unwrap_or(key);
    let mut other = db.prepare_cached(OTHER_CALL)?;
    if let Some(id) = other.query_row(params![agent, named, fingerprint], |row| row.get(0)).optional()? {
        return Err(AcceptError::KeyReused(id));
    }
    let mut found = db.prepare_cached(row::BY_KEY)?;
    let Some(before) = found.query_row(params![agent, key], MessageRow::read).optional()? else {
        return Ok(None);
    };
    Ok(Some(before.seq))
}

/// A message that was taken from an agent under a key, by itself or at one of several targets, for another call. The name of a target stands
/// behind a line end, which no key has in it.
pub(super) const OTHER_CALL: &str =
    "SELECT id FROM messages WHERE agent = ?1 AND idempotency_key = ?2 AND fingerprint <> ?3
    UNION ALL SELECT id FROM messages WHERE agent = ?1 AND idempotency_key >= ?2 || char(10)
        AND idempotency_key < ?2 || char(11) AND fingerprint <> ?3 LIMIT 1";

fn insert(
    tx: &Transaction<'_>,
    new: NewMessage,
    released: Option<(&Change<'_>, &[NewPart])>,
    bounds: Bounds,
    mark: &Mark,
) -> Result<Accepted<MessageRow>, AcceptError> {
    if let Some(key) = &new.idempotency_key
        && let Some(seq) = before(tx, &new.agent, key, new.fingerprint)?
    {
        return Ok(Accepted::Before(seq));
    }
    let now = now_ms();
    mark.recall(tx, now)?;
    // Whoever names a call says itself which are the same.
    if new.idempotency_key.is_none()
        && let Some(seq) = mark.same(tx, now)?
    {
        return Ok(Accepted::Same(seq));
    }
    let origin =
        new.origin.as_ref().map(|origin| serde_json::to_string(origin).expect("an origin is plain data"));
    let attachments = (!new.attachments.is_empty())
        .then(|| serde_json::to_string(&new.attachments).expect("attachments are plain data"));
    let operation = (!new.operation.is_plain())
        .then(|| serde_json::to_string(&new.operation).expect("a deed is plain data with text for keys"));
    let touched = (!new.touched.is_empty())
        .then(|| serde_json::to_string(&new.touched).expect("messages and threads are plain data"));
    let said = new.text.len() + operation.as_ref().map_or(0, String::len);
    bounds.check(tx, said)??;
    let state = match released {
        Some((change, _)) => next(State::Accepted, change.event, change.actor)?,
        None => State::Accepted,
    };
    // Its place in its lane is the number of the audit's row in which it is released, the one after that it was accepted.
    let place = released.map(|_| audit::next_number(tx)).transpose()?.map(|number| number + 1);
    tx.prepare_cached(
        "INSERT INTO messages (id, agent, state, action, channel, account, address, thread, reply_to, silent,
            origin, text, idempotency_key, fingerprint, accepted_at, deadline, due_at, best_effort, resend, released,
            attachments, deed, known_as, touched, written_as, unidentified, account_is)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        origin,
        new.text,
        new.idempotency_key,
        new.fingerprint,
        now,
        new.deadline,
        now,
        new.best_effort,
        new.resend,
        place,
        attachments,
        operation,
        new.known_as,
        touched,
        new.written_as,
        new.unidentified,
        new.account_is.map(|account| account.0),
    ])?;
    let seq = tx.last_insert_rowid();
    let actor = format!("agent:{}", new.agent);
    let mut detail = json!({
        "to": new.target.to_string(), "account": new.account, "origin": new.origin, "content": digest::content(tx, seq)?,
    });
    if let Some(written_as) = &new.written_as {
        detail["written_as"] = json!(written_as);
    }
    if !new.attachments.is_empty() {
        files::refer(tx, seq, &new.attachments)?;
        // A caption is part of what is said, which goes with the message.
        let facts = |file: &Attachment| json!({"sha256": file.sha256.to_string(), "name": file.name, "kind": file.kind, "size": file.size});
        detail["files"] = new.attachments.iter().map(facts).collect();
    }
    if !new.touched.is_empty() {
        detail["touched"] = json!(new.touched);
    }
    let event = audit::Event::Message(State::Accepted);
    let accepted = Entry { actor: &actor, event, message: Some(&new.id.0), detail };
    match released {
        None => audit::append(tx, &accepted)?,
        Some((change, parts)) => {
            transition::store_parts(tx, seq, parts)?;
            let event = audit::Event::Message(state);
            let mut detail = change.detail();
            detail["parts"] = digest::parts(tx, seq)?.into();
            let released = Entry { actor: change.by, event, message: Some(&new.id.0), detail };
            audit::append_all(tx, &[accepted, released])?;
        }
    }
    let message = MessageRow {
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
    };
    mark.note(seq, now);
    Ok(Accepted::New(message))
}

#[cfg(test)]
mod tests;
