//! What a decision does that was verified: it ends the hold of its messages, or counts towards that. The same, whoever gave it.

use gatepost_link::{Digest, RequestId, decision::Verdict};
use rusqlite::{Row, Transaction, params};
use serde_json::Value;

use super::{
    super::{
        passkeys::statement::NONCE,
        quorum::{self, VOTE, Vote, Votes},
    },
    DecisionError,
};
use crate::{
    audit::{self, Entry},
    message::{
        refusal::Code,
        state::{Actor, Event, State},
    },
    outbox::transition::{self, Change},
    policy::Deciders,
};

/// A message that a decision is about, and the counter with which whoever decides has decided it.
pub(super) struct Asked {
    pub(super) message: i64,
    id: String,
    pub(super) document: Vec<u8>,
    deadline: i64,
    pub(super) quorum: u32,
    pub(super) by: Deciders,
    pub(super) state: State,
    pub(super) decided: Option<i64>,
}

impl Asked {
    /// All messages of the card, one at least. `by`: who decides.
    pub(super) fn all(
        tx: &Transaction<'_>,
        request: RequestId,
        by: [u8; 32],
    ) -> Result<Vec<Self>, DecisionError> {
        let mut rows = tx.prepare(
            "SELECT message, id, document, approvals.deadline, quorum, state, CASE device WHEN ?2 THEN counter END, decided_by
             FROM approvals JOIN messages ON seq = message WHERE request = ?1 ORDER BY message",
        )?;
        let all: Vec<Self> = rows.query_map(params![request.0, by], Self::read)?.collect::<Result<_, _>>()?;
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
            by: Deciders::from_word(row.get_ref(7)?.as_str()?).unwrap_or(Deciders::Both),
        })
    }

    /// Whether passkeys, or companions, decide on this card.
    pub(super) fn take(all: &[Self], web: bool) -> Result<(), DecisionError> {
        match all.iter().find(|asked| !asked.by.take(web)) {
            Some(asked) => Err(DecisionError::Kind(asked.by)),
            None => Ok(()),
        }
    }

    /// The hash of the document that all of them were on.
    pub(super) fn document(all: &[Self]) -> Option<Digest> {
        let first = &all.first()?.document;
        all.iter().all(|other| other.document == *first).then(|| Digest::of(first))
    }

    pub(super) fn waits(&self, now: i64) -> bool {
        self.state == State::Held && self.deadline > now
    }
}

/// A decision whose signature fits the document that was on the card.
pub(super) struct Given {
    pub(super) request: RequestId,
    pub(super) verdict: Verdict,
    /// Who gave it: a device's key, or what stands for a passkey.
    pub(super) key: [u8; 32],
    /// Who did it, as the audit calls it.
    pub(super) by: String,
    /// As it is stored.
    pub(super) counter: i64,
    /// What makes it good once: a session's hash, or a number that was given out.
    pub(super) session: Vec<u8>,
    pub(super) signature: Vec<u8>,
    /// What goes into the audit's chain, so that the signature itself cannot be exchanged later.
    pub(super) facts: Value,
}

impl Given {
    /// Lets it take effect on what waits.
    pub(super) fn take_effect(
        mut self,
        tx: &Transaction<'_>,
        open: &[&Asked],
        votes: &Votes,
        now: i64,
    ) -> Result<(), DecisionError> {
        let Some(first) = open.first() else { return Ok(()) };
        let approved = votes.others() + 1;
        if self.verdict == Verdict::Approve && first.quorum > 1 {
            (self.facts["votes"], self.facts["of"]) = (approved.into(), first.quorum.into());
        }
        let (of_companions, of_passkeys) = match self.is_of_passkey() {
            true => (votes.companions, votes.passkeys + 1),
            false => (votes.companions + 1, votes.passkeys),
        };
        let enough = approved >= first.quorum && first.by.have(of_companions > 0, of_passkeys > 0);
        if self.verdict == Verdict::Deny || enough {
            self.settle(tx, open, now)?;
        } else if votes.own.is_none() {
            // Whoever approves counts once, however often.
            self.count(tx, first)?;
        }
        Ok(())
    }

    fn is_of_passkey(&self) -> bool {
        self.session.len() == NONCE
    }

    /// Counts an approval that is not the last.
    fn count(self, tx: &Transaction<'_>, asked: &Asked) -> Result<(), DecisionError> {
        let vote = Vote {
            request: self.request,
            device: self.key,
            counter: self.counter,
            session: self.session,
            signature: self.signature,
        };
        quorum::store(tx, &vote)?;
        let detail = serde_json::json!({"event": VOTE, "facts": self.facts});
        let (event, message) = (audit::Event::DecisionCounted, Some(asked.id.as_str()));
        audit::append(tx, &Entry { actor: &self.by, event, message, detail })?;
        Ok(())
    }

    /// Releases or refuses the messages that wait.
    fn settle(self, tx: &Transaction<'_>, open: &[&Asked], now: i64) -> Result<(), DecisionError> {
        let (verdict, event, code, reason) = match self.verdict {
            Verdict::Approve => ("approve", Event::Approve, None, None),
            Verdict::Deny => ("deny", Event::Deny, Some(Code::Denied), Some("a person refused it")),
        };
        let facts = Some(self.facts);
        let change = Change { event, actor: Actor::Approver, by: &self.by, code, reason, facts };
        for asked in open {
            tx.execute(
                "UPDATE approvals SET decided_at = ?, verdict = ?, device = ?, counter = ?, session = ?, signature = ?
                 WHERE message = ?",
                params![now, verdict, self.key, self.counter, self.session, self.signature, asked.message],
            )?;
            transition::apply(tx, asked.message, &change)?;
        }
        Ok(())
    }
}
