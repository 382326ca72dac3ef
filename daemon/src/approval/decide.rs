//! Verifying a decision and consuming it, in one transaction.

use gatepost_link::{
    Digest,
    decision::{Decision, PublicKey, Statement, Verdict},
    session::SessionHash,
};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde_json::json;

use super::{
    Approvals,
    device::is_outdated,
    quorum::{self, VOTE, Vote},
};
use crate::{
    audit::{self, Entry},
    message::{
        refusal::Code,
        state::{Actor, Event, State},
    },
    outbox::transition::{self, Change, TransitionError},
    store::{StoreError, now_ms},
};

/// What became of a decision that is genuine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has taken effect, now or when it came the first time; or it counts, and others must approve as well.
    Consumed,
    /// The request was over before it came.
    Over(State),
}

/// Why a decision does not count.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// No such request was ever made.
    #[error("no such request")]
    Request,
    /// The device is not registered, or not any more, or it is a program where none may decide.
    #[error("this device may not decide")]
    Device,
    /// The device speaks an older version of the link: its firmware may approve what nobody has read.
    #[error(
        "this companion's firmware is too old: update it (firmware/README.md); its approvals are not taken"
    )]
    Firmware,
    /// The signature is not this device's over this document in this session.
    #[error("the signature does not fit")]
    Signature,
    /// The counter is not above that of the last decision.
    #[error("the counter went back: a replayed decision or a cloned device")]
    Counter,
    /// The message's row.
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

impl From<StoreError> for DecisionError {
    fn from(error: StoreError) -> Self {
        Self::Transition(error.into())
    }
}

impl From<rusqlite::Error> for DecisionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Transition(error.into())
    }
}

impl Approvals {
    /// Takes a decision that `device` gave in `session`.
    ///
    /// A decision that does not count changes nothing but the audit.
    pub async fn decide(
        &self,
        device: PublicKey,
        session: SessionHash,
        decision: Decision,
    ) -> Result<Outcome, DecisionError> {
        let (hub, software) = (self.hub, self.software);
        let taken =
            self.outbox.store().write(move |tx| consume(tx, hub, software, device, session, decision)).await;
        match taken {
            Ok((messages, outcome)) => {
                messages.into_iter().for_each(|seq| self.outbox.changed(seq));
                Ok(outcome)
            }
            Err(error) => {
                // What only a second device with the same keys, or an old copy of its memory, can have sent.
                let event = match error {
                    DecisionError::Counter => audit::Event::DeviceCloned,
                    _ => audit::Event::DecisionRejected,
                };
                self.report(event, device, &decision, error.to_string()).await?;
                Err(error)
            }
        }
    }

    async fn report(
        &self,
        event: audit::Event,
        device: PublicKey,
        decision: &Decision,
        why: String,
    ) -> Result<(), StoreError> {
        let detail = json!({
            "device": crate::random::to_hex(&device.0), "request": decision.request.to_string(),
            "counter": decision.counter, "why": why,
        });
        self.outbox
            .store()
            .write(move |tx| audit::append(tx, &Entry { actor: "hub", event, message: None, detail }))
            .await
    }
}

/// What a decision is about, a message a row, and the counter with which this device decided it.
const ASKED: &str =
    "SELECT message, id, document, approvals.deadline, quorum, state, CASE device WHEN ?2 THEN counter END
     FROM approvals JOIN messages ON seq = message WHERE request = ?1 ORDER BY message";

struct Asked {
    message: i64,
    id: String,
    document: Vec<u8>,
    deadline: i64,
    quorum: u32,
    state: State,
    decided: Option<i64>,
}

impl Asked {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            message: row.get(0)?,
            id: row.get(1)?,
            document: row.get(2)?,
            deadline: row.get(3)?,
            quorum: row.get(4)?,
            state: row.get(5)?,
            decided: row.get(6)?,
        })
    }
}

fn consume(
    tx: &Transaction<'_>,
    hub: PublicKey,
    software_allowed: bool,
    device: PublicKey,
    session: SessionHash,
    decision: Decision,
) -> Result<(Vec<i64>, Outcome), DecisionError> {
    let (name, software, counter, version): (String, bool, i64, u8) = tx
        .query_row(
            "SELECT name, software, counter, version FROM devices WHERE key = ? AND revoked_at IS NULL",
            [device.0],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .optional()?
        .ok_or(DecisionError::Device)?;
    if software && !software_allowed {
        return Err(DecisionError::Device);
    }
    // To deny is always safe.
    if is_outdated(version) && decision.verdict == Verdict::Approve {
        return Err(DecisionError::Firmware);
    }
    let all: Vec<Asked> = tx
        .prepare(ASKED)?
        .query_map(params![decision.request.0, device.0], Asked::read)?
        .collect::<Result<_, _>>()?;
    let asked = all.first().ok_or(DecisionError::Request)?;
    let messages: Vec<i64> = all.iter().map(|asked| asked.message).collect();

    let statement = Statement {
        hub,
        device,
        request: decision.request,
        document: Digest::of(&asked.document),
        verdict: decision.verdict,
        counter: decision.counter,
        session,
    };
    // All of them were on this card.
    let same = all.iter().all(|other| other.document == asked.document);
    if !same || !statement.verify(&decision.signature) {
        return Err(DecisionError::Signature);
    }
    let given = i64::try_from(decision.counter).map_err(|_| DecisionError::Counter)?;
    let votes = quorum::votes(tx, decision.request, device, software_allowed)?;
    if given == counter && (all.iter().any(|asked| asked.decided == Some(given)) || votes.own == Some(given))
    {
        // The same decision again: its first `Consumed` was lost on the way.
        return Ok((messages, Outcome::Consumed));
    }
    if given <= counter {
        return Err(DecisionError::Counter);
    }
    let now = now_ms();
    let waits = |asked: &&Asked| asked.state == State::Held && asked.deadline > now;
    let open: Vec<&Asked> = all.iter().filter(waits).collect();
    let Some(asked) = open.first() else {
        return Ok((messages, Outcome::Over(asked.state)));
    };

    tx.execute(
        "UPDATE devices SET counter = ?1, decided_at = ?2, seen_at = ?2 WHERE key = ?3",
        params![given, now_ms(), device.0],
    )?;
    let by = format!("companion:{name}");
    // Into the chain, so that the signature itself cannot be exchanged later.
    let mut facts = json!({
        "request": decision.request.to_string(), "document": statement.document.to_string(),
        "device": crate::random::to_hex(&device.0), "counter": given,
        "session": crate::random::to_hex(&session.0), "signature": crate::random::to_hex(&decision.signature.0),
    });
    if software {
        facts["software"] = true.into();
    }
    let approved = votes.others + 1;
    if decision.verdict == Verdict::Approve && asked.quorum > 1 {
        (facts["votes"], facts["of"]) = (approved.into(), asked.quorum.into());
    }
    if decision.verdict == Verdict::Approve && approved < asked.quorum {
        // A device counts once, however often it approves.
        if votes.own.is_none() {
            let (session, signature) = (session.0, decision.signature.0);
            let vote = Vote { request: decision.request, device, counter: given, session, signature };
            quorum::store(tx, &vote)?;
            let detail = json!({"event": VOTE, "facts": facts});
            let message = Some(asked.id.as_str());
            audit::append(tx, &Entry { actor: &by, event: audit::Event::DecisionCounted, message, detail })?;
        }
        return Ok((messages, Outcome::Consumed));
    }
    let verdict = match decision.verdict {
        Verdict::Approve => "approve",
        Verdict::Deny => "deny",
    };
    let (event, code, reason) = match decision.verdict {
        Verdict::Approve => (Event::Approve, None, None),
        Verdict::Deny => (Event::Deny, Some(Code::Denied), Some("a person refused it")),
    };
    let change = Change { event, actor: Actor::Approver, by: &by, code, reason, facts: Some(facts) };
    for asked in open {
        tx.execute(
            "UPDATE approvals SET decided_at = ?, verdict = ?, device = ?, counter = ?, session = ?, signature = ?
             WHERE message = ?",
            params![now, verdict, device.0, given, session.0, decision.signature.0, asked.message],
        )?;
        transition::apply(tx, asked.message, &change)?;
    }
    Ok((messages, Outcome::Consumed))
}

#[cfg(test)]
mod tests {
    use gatepost_link::decision::Verdict::{Approve, Deny};

    use super::{super::Terms, super::testing::Fixture, *};

    #[tokio::test]
    async fn firmware_that_is_too_old_may_deny_and_not_approve() {
        let mut fixture = Fixture::with(&[(7, "hall")], Terms::default()).await;
        let (first, second) = (fixture.hold("first").await, fixture.hold("second").await);
        fixture.tamper("UPDATE devices SET version = 3").await;
        let refused = fixture.decide_as(7, first, Approve, 1).await;
        assert!(matches!(refused, Err(DecisionError::Firmware)), "{refused:?}");
        assert_eq!(fixture.state(first).await, State::Held);
        let told = fixture.audit("decision.rejected").await;
        assert!(told.len() == 1 && told[0].1["why"].as_str().unwrap().contains("too old"), "{told:?}");
        fixture.decide_as(7, second, Deny, 2).await.unwrap();
        assert_eq!(fixture.state(second).await, State::Denied);
        fixture.tamper("UPDATE devices SET version = 4").await;
        fixture.decide_as(7, first, Approve, 3).await.unwrap();
        assert_eq!(fixture.state(first).await, State::Ready);
    }
}
