//! Verifies a decision and lets it take effect, in one transaction: a signature is never used for anything but what it was
//! verified for, and a counter never goes back.

use gatepost_link::{
    Digest,
    decision::{Decision, PublicKey, Statement, Verdict},
    session::SessionHash,
};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde_json::{Value, json};

use super::{
    super::{
        firmware::is_outdated,
        quorum::{self, VOTE, Vote, Votes},
    },
    DecisionError, Outcome,
};
use crate::{
    audit::{self, Entry},
    message::{
        refusal::Code,
        state::{Actor, Event, State},
    },
    outbox::transition::{self, Change},
    random::to_hex,
    store::now_ms,
};

/// Consumes a decision: the messages that it is about, and what became of it.
pub(super) fn consume(
    tx: &Transaction<'_>,
    hub: PublicKey,
    software_allowed: bool,
    device: PublicKey,
    session: SessionHash,
    decision: Decision,
) -> Result<(Vec<i64>, Outcome), DecisionError> {
    let device = Decider::find(tx, device, software_allowed)?;
    device.may_give(decision.verdict)?;
    let all = Asked::all(tx, &decision, device.key)?;
    let signed = Signed::verify(hub, &device, session, &decision, &all)?;
    let votes = quorum::votes(tx, decision.request, device.key, software_allowed)?;
    let messages = all.iter().map(|asked| asked.message).collect();
    if signed.is_repeated(&all, &votes) {
        // Its first `Consumed` was lost on the way.
        return Ok((messages, Outcome::Consumed));
    }
    if signed.counter <= device.counter {
        return Err(DecisionError::Counter);
    }
    let now = now_ms();
    let open: Vec<&Asked> = all.iter().filter(|asked| asked.waits(now)).collect();
    let Some(first) = open.first() else {
        return Ok((messages, Outcome::Over(all[0].state)));
    };

    signed.advance_counter(tx)?;
    let approved = votes.others + 1;
    let facts = signed.facts(approved, first.quorum);
    if decision.verdict == Verdict::Deny || approved >= first.quorum {
        signed.settle(tx, &open, &facts, now)?;
    } else if votes.own.is_none() {
        // A device counts once, however often it approves.
        signed.count(tx, first, &facts)?;
    }
    Ok((messages, Outcome::Consumed))
}

/// The device that decides.
struct Decider {
    key: PublicKey,
    name: String,
    software: bool,
    /// Of the last decision that was consumed.
    counter: i64,
    version: u8,
}

impl Decider {
    fn find(tx: &Transaction<'_>, key: PublicKey, software_allowed: bool) -> Result<Self, DecisionError> {
        let read = |row: &Row<'_>| {
            let (name, software) = (row.get(0)?, row.get(1)?);
            Ok(Self { key, name, software, counter: row.get(2)?, version: row.get(3)? })
        };
        let sql = "SELECT name, software, counter, version FROM devices WHERE key = ? AND revoked_at IS NULL";
        let found = tx.query_row(sql, [key.0], read).optional()?;
        found.filter(|device| software_allowed || !device.software).ok_or(DecisionError::Device)
    }

    /// Old firmware may deny, which is always safe.
    fn may_give(&self, verdict: Verdict) -> Result<(), DecisionError> {
        match is_outdated(self.version) && verdict == Verdict::Approve {
            true => Err(DecisionError::Firmware),
            false => Ok(()),
        }
    }
}

/// A message that a decision is about, and the counter with which this device decided it.
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
    /// All messages of the card, one at least.
    fn all(tx: &Transaction<'_>, decision: &Decision, device: PublicKey) -> Result<Vec<Self>, DecisionError> {
        let mut rows = tx.prepare(
            "SELECT message, id, document, approvals.deadline, quorum, state, CASE device WHEN ?2 THEN counter END
             FROM approvals JOIN messages ON seq = message WHERE request = ?1 ORDER BY message",
        )?;
        let all: Vec<Self> =
            rows.query_map(params![decision.request.0, device.0], Self::read)?.collect::<Result<_, _>>()?;
        if all.is_empty() { Err(DecisionError::Request) } else { Ok(all) }
    }

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

    fn waits(&self, now: i64) -> bool {
        self.state == State::Held && self.deadline > now
    }
}

/// A decision whose signature fits the documents that were on the card.
struct Signed<'a> {
    device: &'a Decider,
    decision: &'a Decision,
    session: SessionHash,
    document: Digest,
    /// As it is stored.
    counter: i64,
}

impl<'a> Signed<'a> {
    fn verify(
        hub: PublicKey,
        device: &'a Decider,
        session: SessionHash,
        decision: &'a Decision,
        all: &[Asked],
    ) -> Result<Self, DecisionError> {
        let document = &all[0].document;
        let statement = Statement {
            hub,
            device: device.key,
            request: decision.request,
            document: Digest::of(document),
            verdict: decision.verdict,
            counter: decision.counter,
            session,
        };
        // All of them were on this card.
        let same = all.iter().all(|other| other.document == *document);
        if !same || !statement.verify(&decision.signature) {
            return Err(DecisionError::Signature);
        }
        let counter = i64::try_from(decision.counter).map_err(|_| DecisionError::Counter)?;
        Ok(Self { device, decision, session, document: statement.document, counter })
    }

    /// Whether it is the last decision of this device again.
    fn is_repeated(&self, all: &[Asked], votes: &Votes) -> bool {
        let given = Some(self.counter);
        self.counter == self.device.counter
            && (votes.own == given || all.iter().any(|asked| asked.decided == given))
    }

    fn advance_counter(&self, tx: &Transaction<'_>) -> Result<(), DecisionError> {
        tx.execute(
            "UPDATE devices SET counter = ?1, decided_at = ?2, seen_at = ?2 WHERE key = ?3",
            params![self.counter, now_ms(), self.device.key.0],
        )?;
        Ok(())
    }

    /// What goes into the audit's chain, so that the signature itself cannot be exchanged later.
    fn facts(&self, approved: u32, quorum: u32) -> Value {
        let mut facts = json!({
            "request": self.decision.request.to_string(), "document": self.document.to_string(),
            "device": to_hex(&self.device.key.0), "counter": self.counter,
            "session": to_hex(&self.session.0), "signature": to_hex(&self.decision.signature.0),
        });
        if self.device.software {
            facts["software"] = true.into();
        }
        if self.decision.verdict == Verdict::Approve && quorum > 1 {
            (facts["votes"], facts["of"]) = (approved.into(), quorum.into());
        }
        facts
    }

    /// Counts an approval that is not the last.
    fn count(&self, tx: &Transaction<'_>, asked: &Asked, facts: &Value) -> Result<(), DecisionError> {
        let vote = Vote {
            request: self.decision.request,
            device: self.device.key,
            counter: self.counter,
            session: self.session.0,
            signature: self.decision.signature.0,
        };
        quorum::store(tx, &vote)?;
        let detail = json!({"event": VOTE, "facts": facts});
        let (event, message) = (audit::Event::DecisionCounted, Some(asked.id.as_str()));
        audit::append(tx, &Entry { actor: &self.by(), event, message, detail })?;
        Ok(())
    }

    /// Releases or refuses the messages that wait.
    fn settle(
        &self,
        tx: &Transaction<'_>,
        open: &[&Asked],
        facts: &Value,
        now: i64,
    ) -> Result<(), DecisionError> {
        let (verdict, event, code, reason) = match self.decision.verdict {
            Verdict::Approve => ("approve", Event::Approve, None, None),
            Verdict::Deny => ("deny", Event::Deny, Some(Code::Denied), Some("a person refused it")),
        };
        let by = self.by();
        let change =
            Change { event, actor: Actor::Approver, by: &by, code, reason, facts: Some(facts.clone()) };
        let (device, session, signature) = (self.device.key.0, self.session.0, self.decision.signature.0);
        for asked in open {
            tx.execute(
                "UPDATE approvals SET decided_at = ?, verdict = ?, device = ?, counter = ?, session = ?, signature = ?
                 WHERE message = ?",
                params![now, verdict, device, self.counter, session, signature, asked.message],
            )?;
            transition::apply(tx, asked.message, &change)?;
        }
        Ok(())
    }

    /// Who did it, as the audit calls it.
    fn by(&self) -> String {
        format!("companion:{}", self.device.name)
    }
}
