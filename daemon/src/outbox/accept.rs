//! The write that precedes the answer.

mod insert;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use self::insert::insert;
use super::{
    Outbox,
    bounds::{Bounds, Full},
    new_message::NewMessage,
    queries,
    recent::Mark,
    row::MessageRow,
    transition::{Change, NewPart, TransitionError},
};
use crate::{
    message::{
        MessageId,
        state::{Event, IllegalTransition},
    },
    store::StoreError,
};

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
    let mut found = db.prepare_cached(queries::BY_KEY)?;
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

#[cfg(test)]
mod tests;
