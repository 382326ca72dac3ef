//! What a restored backup holds is not sent.
//!
//! Between the copy and its return the hub went on: what the copy takes for waiting may long have arrived, and a person
//! who was asked then is not asked now. So every message that has not come to its end becomes `unknown`, its agent is
//! told, and only an operator releases it, one by one.

use rusqlite::{OptionalExtension as _, Transaction, params};
use serde_json::json;

use super::{
    Outbox, outcome,
    queries::LIVE,
    row::MessageRow,
    transition::{self, Change, TransitionError},
};
use crate::{
    audit::{self, Entry},
    message::{
        refusal::Code,
        state::{Actor, Event, IllegalTransition, PartState},
    },
    random::to_hex,
    store::{StoreError, now_ms},
};

const WHY: &str = "the hub's database was restored from a backup, and since then it may have been sent";

impl Outbox {
    /// If the database is a restored copy, ends everything that is under way in it; says how many messages those were.
    pub async fn settle_restored(&self) -> Result<u64, TransitionError> {
        let settled = self
            .store
            .write(|tx| {
                let restored: bool = tx.query_row("SELECT restored FROM hub", [], |row| row.get(0))?;
                if !restored {
                    return Ok(None);
                }
                let live: Vec<i64> =
                    tx.prepare(LIVE)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
                for &seq in &live {
                    for part in transition::parts(tx, seq)? {
                        if part.state != PartState::Confirmed {
                            transition::settle_part(
                                tx,
                                seq,
                                part.index,
                                PartState::Unknown,
                                None,
                                Some(WHY),
                            )?;
                        }
                    }
                    let change = Change::hub(Event::Restore, Some(WHY)).code(Code::UnknownOutcome);
                    transition::apply(tx, seq, &change)?;
                }
                let epoch: i64 =
                    tx.query_row("UPDATE hub SET restored = 0 RETURNING epoch", [], |row| row.get(0))?;
                let detail = json!({"epoch": epoch, "messages": live.len()});
                audit::append(
                    tx,
                    &Entry { actor: "hub", event: audit::Event::HubRestored, message: None, detail },
                )?;
                Ok::<_, TransitionError>(Some(live.len() as u64))
            })
            .await?;
        if let Some(messages) = settled {
            tracing::warn!(
                messages,
                "the database was restored from a backup; nothing of it is sent by itself"
            );
        }
        Ok(settled.unwrap_or(0))
    }

    /// Whether a message was ever let out to its lane.
    pub async fn was_released(&self, seq: i64) -> Result<bool, StoreError> {
        self.store.read(move |db| transition::is_released(db, seq)).await
    }
}

/// Takes a message that a restored backup made `unknown`, and that was never let out, back to `accepted`.
///
/// Its parts and its request for approval go: they are made anew, under other names, so that a decision on the old
/// request, which may have been given after the backup was made, decides nothing.
pub fn readmit(tx: &Transaction<'_>, seq: i64, by: &str) -> Result<(), TransitionError> {
    let (event, actor) = (Event::Readmit, Actor::Operator);
    if transition::is_released(tx, seq)? {
        let state = MessageRow::get(tx, seq)?.state;
        return Err(IllegalTransition { state, event, actor }.into());
    }
    let sql = "DELETE FROM approvals WHERE message = ? RETURNING request";
    let request: Option<[u8; 16]> = tx.query_row(sql, params![seq], |row| row.get(0)).optional()?;
    tx.execute("DELETE FROM parts WHERE message = ?", params![seq])?;
    let line = "begun anew by the operator after a backup was restored; it may have arrived before";
    outcome::note(tx, seq, line)?;
    let mut facts = json!({"history": [line]});
    if let Some(request) = request {
        facts["withdrawn"] = to_hex(&request).into();
    }
    transition::apply(tx, seq, &Change { event, actor, by, code: None, reason: None, facts: Some(facts) })?;
    transition::postpone(tx, seq, now_ms(), false)
}

#[cfg(test)]
mod tests {
    use crate::{
        message::{state::Event, state::State},
        outbox::{
            Filter, Outbox,
            new_message::NewMessage,
            transition::{self, Change, NewPart},
        },
        store::{Store, restore},
    };

    #[tokio::test]
    async fn everything_under_way_in_a_restored_backup_is_unknown_and_its_agent_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let outbox = Outbox::new(store.clone());
        for (text, events) in [
            ("accepted", &[][..]),
            ("ready", &[Event::Allow]),
            ("sending", &[Event::Allow, Event::Take]),
            ("sent", &[Event::Allow, Event::Take, Event::Confirm]),
            ("failed", &[Event::Refuse]),
        ] {
            let accepted = outbox.accept(NewMessage::example(text)).await.unwrap();
            let crate::outbox::accept::Accepted::New(seq) = accepted else { panic!("{accepted:?}") };
            let parts = [NewPart { key: text.into(), shown: text.into(), request: "{}".into(), route: None }];
            outbox.change(seq, move |tx| transition::store_parts(tx, seq, &parts)).await.unwrap();
            for &event in events {
                let change =
                    outbox.change(seq, move |tx| transition::apply(tx, seq, &Change::hub(event, None)));
                change.await.unwrap();
            }
        }
        assert_eq!(outbox.settle_restored().await.unwrap(), 0, "it is no copy");
        let backup = store.back_up(1).await.unwrap();
        store.close();
        drop((store, outbox));
        restore::as_it_is(directory.path(), &backup).unwrap();

        let store = Store::open(directory.path()).unwrap();
        let outbox = Outbox::new(store.clone());
        assert_eq!(outbox.settle_restored().await.unwrap(), 3);
        assert_eq!(outbox.settle_restored().await.unwrap(), 0);
        let rows = outbox.list(Filter { limit: 10, ..Filter::default() }).await.unwrap();
        let states: Vec<(&str, State)> =
            rows.iter().rev().map(|row| (row.text.as_str(), row.state)).collect();
        let unknown = State::Unknown;
        let expected = [("accepted", unknown), ("ready", unknown), ("sending", unknown)];
        assert_eq!(states[..3], expected);
        assert_eq!(states[3..], [("sent", State::Sent), ("failed", State::Failed)]);
        let heads = outbox.heads(0, |heads, _, _| *heads += 1).await.unwrap();
        assert_eq!(heads, 0, "nothing of it is sent");
        assert_eq!(outbox.notices("a", 0, 10).await.unwrap().len(), 4, "three now, and the one that failed");
        let whole = store.read(crate::audit::first_broken).await.unwrap();
        assert_eq!(whole, None);
    }
}
