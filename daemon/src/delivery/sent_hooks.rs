//! `message_sent` hooks: told of every message that was sent, has failed, or may have arrived.
//!
//! The database keeps the last row that they were told of: a hub that was away goes on there. Each is told in order and at
//! least once; the message's id and state say what it has heard already. One that fails is written down, and not told again:
//! it must not keep the others from hearing.

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::{
    audit::{self, Entry, Event},
    hooks::{self, Hook},
    message::state::State,
    outbox::row::MessageRow,
    pipeline::{Pipeline, RECOVER, current::Current},
    store::StoreError,
};

/// Rows of the audit that are looked at together.
const MAX_ROWS_AT_ONCE: i64 = 256;

/// An end that hooks are to hear of.
struct End {
    seq: i64,
    id: String,
    state: State,
}

/// What is left to tell.
enum Left {
    /// There may be more.
    More,
    /// Nothing, until something changes.
    Nothing,
    /// Nothing ever: there are no hooks to tell.
    Nobody,
}

impl Current {
    /// Tells the hooks of what ended, as it ends. Goes on until it is aborted, or there are none.
    pub async fn tell_hooks(self) {
        let mut changes = self.pipeline().outbox().changes();
        loop {
            let left = self.pipeline().tell_what_ended().await;
            match left {
                Ok(Left::More) => continue,
                Ok(Left::Nothing) => {}
                Ok(Left::Nobody) => return,
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "cannot tell hooks what ended");
                    tokio::time::sleep(RECOVER).await;
                    continue;
                }
            }
            // Missed changes make no difference: what ended is read anew.
            let _ = changes.recv().await;
            while changes.try_recv().is_ok() {}
        }
    }
}

impl Pipeline {
    /// Looks at the next rows of the audit.
    async fn tell_what_ended(&self) -> Result<Left, StoreError> {
        let store = self.0.outbox.store();
        let hooks = &self.0.hooks.0;
        if hooks.sent.is_empty() {
            // Hooks that are configured later are not told of earlier messages.
            store.write(|tx| remember(tx, None)).await?;
            return Ok(Left::Nobody);
        }
        let last_row: Option<i64> = store
            .read(|db| Ok::<_, StoreError>(db.query_row("SELECT hooks_told FROM hub", [], |row| row.get(0))?))
            .await?;
        let Some(last_row) = last_row else {
            store
                .write(|tx| {
                    let newest = audit::newest(tx)?;
                    remember(tx, Some(newest))
                })
                .await?;
            return Ok(Left::More);
        };
        let (ends, read_to) = store.read(move |db| ends(db, last_row)).await?;
        for end in ends {
            if let Some(facts) = self.end_of(&end).await? {
                for hook in &hooks.sent {
                    self.tell_one(hook, &end, &facts).await?;
                }
            }
            store.write(move |tx| remember(tx, Some(end.seq))).await?;
        }
        if let Some(read_to) = read_to {
            store.write(move |tx| remember(tx, Some(read_to))).await?;
        }
        Ok(if read_to.is_some() { Left::More } else { Left::Nothing })
    }

    async fn tell_one(&self, hook: &Hook, end: &End, facts: &Value) -> Result<(), StoreError> {
        let _one = self.0.hooks.0.at_once.acquire().await.expect("the semaphore is never closed");
        let Err(error) = hook.tell((hooks::MESSAGE_ID, &end.id), facts).await else { return Ok(()) };
        tracing::warn!(message = end.id, hook = hook.name, %error, "a hook did not hear how a message ended");
        let detail = json!({"hook": hook.name, "state": end.state, "error": error.to_string()});
        let id = end.id.clone();
        let write = self.0.outbox.store().write(move |tx| {
            audit::append(tx, &Entry { actor: "hub", event: Event::HookFailed, message: Some(&id), detail })
        });
        write.await
    }

    /// What a hook is told; nothing if the message is gone by now.
    async fn end_of(&self, end: &End) -> Result<Option<Value>, StoreError> {
        let Some(message) = self.0.outbox.find(&end.id).await? else { return Ok(None) };
        let receipt = self.0.outbox.receipt(message.seq).await?;
        Ok(Some(facts(&message, end.state, &json!(receipt))))
    }
}

fn facts(message: &MessageRow, state: State, receipt: &Value) -> Value {
    let mut facts = hooks::about(message, &message.text);
    facts["hook"] = "message_sent".into();
    facts["ok"] = (state == State::Sent).into();
    facts["state"] = json!(state);
    for member in ["code", "error", "sent", "parts"] {
        facts[member] = receipt[member].clone();
    }
    facts
}

fn remember(tx: &Connection, seq: Option<i64>) -> Result<(), StoreError> {
    tx.execute("UPDATE hub SET hooks_told = ?1 WHERE hooks_told IS NOT ?1", [seq])?;
    Ok(())
}

/// The ends among the next rows after `last_row`, and up to which row that was; none if there are no rows.
fn ends(db: &Connection, last_row: i64) -> Result<(Vec<End>, Option<i64>), StoreError> {
    let mut rows =
        db.prepare_cached("SELECT seq, event, message FROM audit WHERE seq > ? ORDER BY seq LIMIT ?")?;
    let mut rows = rows.query(params![last_row, MAX_ROWS_AT_ONCE])?;
    let (mut ends, mut read_to) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let (seq, event, id): (i64, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        read_to = Some(seq);
        let state = Event::from_word(&event).and_then(Event::state);
        if let (Some(id), Some(state @ (State::Sent | State::Failed | State::Unknown))) = (id, state) {
            ends.push(End { seq, id, state });
        }
    }
    // A restored database is behind what its hooks were told; what comes next is new to them.
    if read_to.is_none() {
        let newest = audit::newest(db)?;
        read_to = (0 < newest && newest < last_row).then_some(newest);
    }
    Ok((ends, read_to))
}
