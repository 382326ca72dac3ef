//! Verifies a decision that a passkey signed and lets it take effect, in one transaction, as those of devices are.
//!
//! The number that makes it good once was given out by the hub, for this request and for two minutes, and was used up before: whoever
//! brings the same signature again brings nothing.

use gatepost_link::{
    Digest, RequestId,
    decision::{PublicKey, Verdict},
};
use rusqlite::Transaction;
use serde_json::json;

use super::{
    super::{
        Approvals,
        passkeys::{
            self,
            assertion::{Assertion, Site},
            statement::{NONCE, Statement},
        },
        quorum::{self, Who},
    },
    DecisionError,
    effect::{Asked, Given},
};
use crate::{
    audit::{self, Entry},
    message::state::State,
    policy::Deciders,
    random::to_hex,
    store::{StoreError, now_ms},
};

/// A decision as a page hands it in.
#[derive(Debug, Clone)]
pub struct Signed {
    /// The request that it names.
    pub request: RequestId,
    /// The document that was shown.
    pub document: Digest,
    /// What was decided.
    pub verdict: Verdict,
    /// The number that the hub gave out for it, which was good.
    pub nonce: [u8; NONCE],
    /// The id of the passkey's credential.
    pub credential: Vec<u8>,
    /// What the passkey signed.
    pub assertion: Assertion,
}

/// What a decision that counts has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// How many have approved it.
    pub approvals: u32,
    /// How many must.
    pub quorum: u32,
    /// Where its message is; of several, the first that waited.
    pub state: State,
}

impl Approvals {
    /// Takes a decision that a passkey signed at one of these sites.
    ///
    /// # Errors
    /// It does not count, and has changed nothing but the audit.
    pub async fn decide_by_passkey(
        &self,
        signed: Signed,
        sites: Vec<Site>,
    ) -> Result<Counted, DecisionError> {
        let (hub, who) = (self.hub, self.who);
        let (request, id) = (signed.request, passkeys::id(&signed.credential));
        let taken = self.outbox.store().write(move |tx| consume(tx, hub, who, &signed, &sites)).await;
        match taken {
            Ok((messages, counted)) => {
                messages.into_iter().for_each(|seq| self.outbox.changed(seq));
                Ok(counted)
            }
            // It came too late, which is nobody's fault.
            Err(DecisionError::Over(state)) => Err(DecisionError::Over(state)),
            Err(error) => {
                let why = error.to_string();
                let detail = json!({"passkey": to_hex(&id), "request": request.to_string(), "why": why});
                let rejected = move |tx: &Transaction<'_>| {
                    let event = audit::Event::DecisionRejected;
                    audit::append(tx, &Entry { actor: "hub", event, message: None, detail })
                };
                self.outbox.store().write::<_, StoreError, _>(rejected).await?;
                Err(error)
            }
        }
    }

    /// Whether a passkey could decide on this request now.
    ///
    /// # Errors
    /// There is none, or it is over; no passkey may decide here.
    pub fn may_be_decided_by_passkey(&self, request: RequestId) -> Result<(), DecisionError> {
        let who = self.who;
        self.outbox.store().look(|db| {
            let mut state = db.prepare_cached(
                "SELECT state, approvals.deadline, decided_by FROM approvals JOIN messages ON seq = message WHERE request = ?
                 ORDER BY state <> 'held', seq",
            )?;
            let mut rows = state.query([request.0])?;
            let row = rows.next()?.ok_or(DecisionError::Request)?;
            let (state, deadline): (State, i64) = (row.get(0)?, row.get(1)?);
            let by = Deciders::from_word(&row.get::<_, String>(2)?).unwrap_or(Deciders::Both);
            if !by.take(true) {
                return Err(DecisionError::Kind(by));
            }
            match (who.web, state == State::Held && deadline > now_ms()) {
                (false, _) => Err(DecisionError::Web),
                (true, false) => Err(DecisionError::Over(state)),
                (true, true) => Ok(()),
            }
        })
    }
}

fn consume(
    tx: &Transaction<'_>,
    hub: PublicKey,
    who: Who,
    signed: &Signed,
    sites: &[Site],
) -> Result<(Vec<i64>, Counted), DecisionError> {
    let Signed { request, verdict, nonce, ref credential, ref assertion, .. } = *signed;
    if !who.web {
        return Err(DecisionError::Web);
    }
    let passkey = passkeys::find(tx, passkeys::id(credential))?.ok_or(DecisionError::Passkey)?;
    let all = Asked::all(tx, request, passkey.id)?;
    Asked::take(&all, true)?;
    let document = Asked::document(&all).filter(|document| *document == signed.document);
    let document = document.ok_or(DecisionError::Document)?;
    let statement = Statement { hub, passkey: passkey.id, request, document, verdict, nonce };
    let rp_id = &passkey.key.rp_id;
    let is_own = |origin: &str| sites.iter().any(|site| site.origin == origin && site.rp_id == *rp_id);
    let counter = assertion.verify(&passkey.key, &statement.challenge(), is_own)?;
    passkey.is_used(tx, counter)??;
    let votes = quorum::votes(tx, request, passkey.id, who)?;
    let now = now_ms();
    let open: Vec<&Asked> = all.iter().filter(|asked| asked.waits(now)).collect();
    let Some(first) = open.first() else { return Err(DecisionError::Over(all[0].state)) };
    let (first, quorum) = (first.message, first.quorum);
    let facts = json!({
        "request": request.to_string(), "document": document.to_string(),
        "passkey": to_hex(&passkey.id), "counter": counter, "nonce": to_hex(&nonce),
        "client_data": to_hex(&assertion.client_data),
        "authenticator_data": to_hex(&assertion.authenticator_data),
        "signature": to_hex(&assertion.signature),
    });
    let given = Given {
        request,
        verdict,
        key: passkey.id,
        by: format!("web:{}", passkey.name),
        counter: counter.into(),
        session: nonce.to_vec(),
        signature: assertion.to_bytes(),
        facts,
    };
    given.take_effect(tx, &open, &votes, now)?;
    let state = tx.query_row("SELECT state FROM messages WHERE seq = ?", [first], |row| row.get(0))?;
    let approvals = votes.others() + u32::from(verdict == Verdict::Approve);
    let messages = all.iter().map(|asked| asked.message).collect();
    Ok((messages, Counted { approvals, quorum, state }))
}

#[cfg(test)]
mod tests;
