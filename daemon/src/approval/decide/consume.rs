//! Verifies a device's decision and lets it take effect, in one transaction: a signature is never used for anything but what it was
//! verified for, and a counter never goes back.

use gatepost_link::{
    decision::{Decision, PublicKey, Statement, Verdict},
    session::SessionHash,
};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde_json::json;

use super::{
    super::{
        firmware::is_outdated,
        quorum::{self, Votes, Who},
    },
    DecisionError, Outcome,
    effect::{Asked, Given},
};
use crate::{random::to_hex, store::now_ms};

/// Consumes a decision: the messages that it is about, and what became of it.
pub(super) fn consume(
    tx: &Transaction<'_>,
    hub: PublicKey,
    who: Who,
    device: PublicKey,
    session: SessionHash,
    decision: Decision,
) -> Result<(Vec<i64>, Outcome), DecisionError> {
    let device = Decider::find(tx, device, who.software)?;
    device.may_give(decision.verdict)?;
    let all = Asked::all(tx, decision.request, device.key.0)?;
    Asked::take(&all, false)?;
    let given = verified(hub, &device, session, &decision, &all)?;
    let votes = quorum::votes(tx, decision.request, device.key.0, who)?;
    let messages = all.iter().map(|asked| asked.message).collect();
    if is_repeated(&given, &device, &all, &votes) {
        // Its first `Consumed` was lost on the way.
        return Ok((messages, Outcome::Consumed));
    }
    if given.counter <= device.counter {
        return Err(DecisionError::Counter);
    }
    let now = now_ms();
    let open: Vec<&Asked> = all.iter().filter(|asked| asked.waits(now)).collect();
    if open.is_empty() {
        return Ok((messages, Outcome::Over(all[0].state)));
    }
    tx.execute(
        "UPDATE devices SET counter = ?1, decided_at = ?2, seen_at = ?2 WHERE key = ?3",
        params![given.counter, now, device.key.0],
    )?;
    given.take_effect(tx, &open, &votes, now)?;
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

/// A decision whose signature fits the document that was on the card.
fn verified(
    hub: PublicKey,
    device: &Decider,
    session: SessionHash,
    decision: &Decision,
    all: &[Asked],
) -> Result<Given, DecisionError> {
    let &Decision { request, verdict, counter, ref signature } = decision;
    let document = Asked::document(all).ok_or(DecisionError::Signature)?;
    let statement = Statement { hub, device: device.key, request, document, verdict, counter, session };
    if !statement.verify(signature) {
        return Err(DecisionError::Signature);
    }
    let counter = i64::try_from(counter).map_err(|_| DecisionError::Counter)?;
    let mut facts = json!({
        "request": request.to_string(), "document": document.to_string(),
        "device": to_hex(&device.key.0), "counter": counter,
        "session": to_hex(&session.0), "signature": to_hex(&signature.0),
    });
    if device.software {
        facts["software"] = true.into();
    }
    Ok(Given {
        request,
        verdict,
        key: device.key.0,
        by: format!("companion:{}", device.name),
        counter,
        session: session.0.to_vec(),
        signature: signature.0.to_vec(),
        facts,
    })
}

/// Whether it is the last decision of this device again.
fn is_repeated(given: &Given, device: &Decider, all: &[Asked], votes: &Votes) -> bool {
    let counter = Some(given.counter);
    given.counter == device.counter
        && (votes.own == counter || all.iter().any(|asked| asked.decided == counter))
}
