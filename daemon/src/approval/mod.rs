//! What waits for a person, and from whom a decision is accepted.
//!
//! Messages of one call to several targets that differ in nothing else are held on one card, as far as it has room: one request,
//! one document that lists them all, one decision. Each keeps a row of its own beside it, and goes its own way from then on. One that is
//! cancelled before the decision is not sent, although the card lists it; the rest is decided as it was shown.
//!
//! A held message's approval document ([`document`]) is written in the transaction that holds it; its bytes are what a
//! companion shows, hashes and signs, and they never change. A decision ([`decide`]) is verified and consumed in one
//! transaction with the check that its device may still decide: it counts once, the first one wins, and no decision
//! means no send. Afterwards [`prove`] shows that this is what happened.
//!
//! [`device`] says who may decide, and [`registry`] what becomes of them; [`presence`] who of them is here, and [`reach`] who
//! can be asked now; [`quorum`] counts where one is not enough, and [`cards`] keeps an agent from asking too often.

pub mod availability;
pub mod cards;
pub mod decide;
pub mod device;
pub mod document;
pub mod presence;
pub mod prove;
pub mod quorum;
pub mod registry;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, time::Duration};

use gatepost_link::{Digest, RequestId, decision::PublicKey, document::MAX_TARGETS};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::json;

use crate::{
    clock,
    message::{
        refusal::Code,
        state::{Event, State},
    },
    outbox::{
        Outbox,
        row::{MessageRow, PartRow},
        transition::{self, Change, NewPart, TransitionError},
    },
    store::{StoreError, now_ms},
};
use device::Device;
use document::DocumentRefused;
use presence::Presence;
use quorum::Standing;

/// All that people are asked now, oldest first. A request is open exactly as long as its message is held.
pub(crate) const WAITING: &str = "SELECT request, message, document, deadline, quorum FROM approvals
     WHERE decided_at IS NULL AND card_at IS NOT NULL ORDER BY message";

/// A handle on what waits. Clones share it.
#[derive(Clone)]
pub struct Approvals {
    outbox: Outbox,
    hub: PublicKey,
    software: bool,
    terms: Terms,
    presence: Presence,
}

/// On which terms people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long a message waits for them.
    pub ttl: Duration,
    /// How many devices must approve it.
    pub quorum: u32,
    /// How many cards of one agent they see in an hour; 0 for as many as come.
    pub cards_per_hour: u32,
}

impl Default for Terms {
    /// Ten minutes, one is enough, and a card in three minutes.
    fn default() -> Self {
        Self { ttl: Duration::from_mins(10), quorum: 1, cards_per_hour: cards::USUAL }
    }
}

impl Terms {
    /// Until when a message waits that people are asked about from `since` on. Milliseconds since 1970.
    fn deadline(self, since: i64, message: i64) -> i64 {
        since.saturating_add(i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX)).min(message)
    }
}

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub request: RequestId,
    /// The message.
    pub message: i64,
    /// The approval document's bytes.
    pub document: Vec<u8>,
    /// When it expires, in milliseconds since 1970.
    pub deadline: i64,
    /// Who has approved it, while more must.
    pub voted: Vec<PublicKey>,
}

/// Why a message could not be held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// No document can be written for it.
    #[error(transparent)]
    Document(#[from] DocumentRefused),
    /// Its row.
    #[error(transparent)]
    Transition(#[from] TransitionError),
}

impl From<StoreError> for HoldError {
    fn from(error: StoreError) -> Self {
        Self::Transition(error.into())
    }
}

impl Approvals {
    /// The approvals of the hub with this key. `software`: whether a program's decision counts.
    pub fn new(outbox: Outbox, hub: PublicKey, software: bool) -> Self {
        Self { outbox, hub, software, terms: Terms::default(), presence: Presence::default() }
    }

    /// The same on these terms.
    pub fn on(self, terms: Terms) -> Self {
        Self { terms, ..self }
    }

    /// On which terms people are asked.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// Which companions are here.
    pub fn presence(&self) -> &Presence {
        &self.presence
    }

    /// The queue that they are about.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Whether a program's decision counts.
    pub fn takes_programs(&self) -> bool {
        self.software
    }

    /// The devices whose decisions count.
    pub async fn devices(&self) -> Result<Vec<Device>, StoreError> {
        device::accepted(self.outbox.store(), self.software).await
    }

    /// All that waits, oldest first.
    pub async fn waiting(&self) -> Result<Vec<Waiting>, StoreError> {
        self.outbox
            .store()
            .read(|db| {
                let mut rows = db.prepare_cached(WAITING)?;
                let mut rows = rows.query([])?;
                let (mut waiting, mut seen) = (vec![], HashSet::new());
                while let Some(row) = rows.next()? {
                    let (request, quorum): (_, u32) = (RequestId(row.get(0)?), row.get(4)?);
                    // Of several messages on one card, the first.
                    if !seen.insert(request) {
                        continue;
                    }
                    let voted = if quorum > 1 { quorum::voted(db, request)? } else { vec![] };
                    let (message, document, deadline) = (row.get(1)?, row.get(2)?, row.get(3)?);
                    waiting.push(Waiting { request, message, document, deadline, voted });
                }
                Ok(waiting)
            })
            .await
    }

    /// How a message stands with those who decide; nothing, if it was never held.
    pub async fn standing(&self, message: i64) -> Result<Option<Standing>, StoreError> {
        self.outbox.store().look(|db| quorum::standing(db, message))
    }

    /// The state of the message that a request is about; of several, that of one that was not cancelled.
    pub async fn state_of(&self, request: RequestId) -> Result<Option<State>, StoreError> {
        self.outbox
            .store()
            .read(move |db| {
                Ok(db
                    .query_row(
                        "SELECT state FROM messages JOIN approvals ON message = seq WHERE request = ?
                         ORDER BY state = 'cancelled', seq LIMIT 1",
                        [request.0],
                        |row| row.get(0),
                    )
                    .optional()?)
            })
            .await
    }

    /// Ends every hold whose deadline has passed, and puts the cards that have waited for their hour; says when there is
    /// something to do again.
    pub async fn look_after(&self) -> Result<Option<i64>, TransitionError> {
        let expires = self.expire().await?;
        Ok(expires.into_iter().chain(self.put_cards().await?).min())
    }

    async fn put_cards(&self) -> Result<Option<i64>, TransitionError> {
        let (terms, now) = (self.terms, now_ms());
        let due = self.outbox.store().read(move |db| cards::due(db, terms, now)).await?;
        if due.now.is_empty() {
            return Ok(due.next);
        }
        let messages: Vec<i64> = due.now.iter().map(|later| later.message).collect();
        let put = self.outbox.store().write(move |tx| {
            due.now
                .iter()
                .try_for_each(|later| cards::put(tx, later, terms, now))
                .map_err(TransitionError::from)
        });
        put.await?;
        // What was put expires in its turn: the change makes whoever waits look again.
        messages.into_iter().for_each(|message| self.outbox.changed(message));
        Ok(due.next)
    }

    /// Ends every hold whose deadline has passed; says when the next one will.
    async fn expire(&self) -> Result<Option<i64>, TransitionError> {
        let now = now_ms();
        let deadlines: Vec<(i64, i64)> = self
            .outbox
            .store()
            .read(|db| {
                let mut rows =
                    db.prepare_cached("SELECT message, deadline FROM approvals WHERE decided_at IS NULL")?;
                let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            })
            .await?;
        let (due, later): (Vec<_>, Vec<_>) =
            deadlines.into_iter().partition(|(_, deadline)| *deadline <= now);
        for (seq, _) in due {
            let approvals = self.clone();
            let expired = self.outbox.change(seq, move |tx| approvals.end(tx, seq)).await;
            match expired {
                // Somebody decided between the look and the write.
                Err(TransitionError::Illegal(_)) => {}
                other => other?,
            }
        }
        Ok(later.into_iter().map(|(_, deadline)| deadline).min())
    }

    /// Ends a hold whose deadline has passed; its reason says whether anybody could be asked at the end.
    fn end(&self, tx: &Transaction<'_>, seq: i64) -> Result<(), TransitionError> {
        let sql =
            "SELECT card_at IS NOT NULL, id FROM approvals JOIN messages ON seq = message WHERE message = ?";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (carded, id): (bool, String) = tx.prepare_cached(sql)?.query_row([seq], read)?;
        let problem = self.asked_about(tx, &id)?.and_then(|asked| asked.problem);
        let why = match (carded, problem) {
            (true, Some(problem)) => format!("nobody decided in time: {problem}"),
            (true, None) => "nobody decided in time".into(),
            (false, _) => "nobody was asked in time, because its agent had asked too often".into(),
        };
        let change = Change::hub(Event::Expire, Some(&why)).code(Code::Expired);
        transition::apply(tx, seq, &change)?;
        Ok(())
    }

    /// Whether a message's stored parts are the ones that were approved. A message that was never held has none.
    pub async fn release(&self, seq: i64) -> Result<Released, StoreError> {
        self.outbox.store().look(|db| release(db, &MessageRow::get(db, seq)?))
    }
}

/// Whether people were asked about a message. If it is ready then, they have approved it.
pub(crate) fn was_held(db: &Connection, seq: i64) -> Result<bool, StoreError> {
    Ok(db.prepare_cached("SELECT 1 FROM approvals WHERE message = ?")?.exists([seq])?)
}

/// Whether a message's stored parts are the ones that were approved. A message that was never held has none.
pub(crate) fn release(db: &Connection, message: &MessageRow) -> Result<Released, StoreError> {
    let approved: Option<(Vec<u8>, Option<String>)> = db
        .prepare_cached("SELECT document, verdict FROM approvals WHERE message = ?")?
        .query_row([message.seq], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let parts = PartRow::all(db, message.seq)?;
    let released = approved.is_none_or(|(document, verdict)| {
        verdict.as_deref() == Some("approve") && document::covers(&document, message, &parts)
    });
    Ok(if released { Released::Parts(parts) } else { Released::Changed })
}

/// A message that is to be held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding<'a> {
    /// The message.
    pub(crate) message: &'a MessageRow,
    /// What it will become.
    pub(crate) parts: &'a [NewPart],
    /// Why a person is asked.
    pub(crate) reason: &'a str,
}

/// Holds messages, those that are alike on one card, as far as that has room; what became of each, in their order. For which no
/// document can be written, nothing has changed.
pub(crate) fn hold(
    tx: &Transaction<'_>,
    all: &[Holding<'_>],
    terms: Terms,
) -> Result<Vec<Result<MessageRow, DocumentRefused>>, TransitionError> {
    let mut cards: Vec<Vec<usize>> = vec![];
    for (index, holding) in all.iter().enumerate() {
        let open =
            cards.iter_mut().find(|card| card.len() < MAX_TARGETS && document::alike(&all[card[0]], holding));
        match open {
            Some(card) => card.push(index),
            None => cards.push(vec![index]),
        }
    }
    cards.reverse();
    let mut held: Vec<Option<Result<MessageRow, DocumentRefused>>> = all.iter().map(|_| None).collect();
    while let Some(mut card) = cards.pop() {
        let on_it: Vec<Holding<'_>> = card.iter().map(|index| all[*index]).collect();
        match hold_on_one_card(tx, &on_it, terms) {
            Ok(rows) => card.into_iter().zip(rows).for_each(|(index, row)| held[index] = Some(Ok(row))),
            // What does not fit on one goes on two.
            Err(HoldError::Document(_)) if card.len() > 1 => {
                cards.push(card.split_off(card.len() / 2));
                cards.push(card);
            }
            Err(HoldError::Document(refused)) => held[card[0]] = Some(Err(refused)),
            Err(HoldError::Transition(error)) => return Err(error),
        }
    }
    Ok(held.into_iter().flatten().collect())
}

fn hold_on_one_card(
    tx: &Transaction<'_>,
    all: &[Holding<'_>],
    terms: Terms,
) -> Result<Vec<MessageRow>, HoldError> {
    let request = RequestId(crate::random::bytes());
    let head = Digest(crate::audit::head(tx)?);
    let document = document::write(request, head, all)?;
    let now = now_ms();
    let first = all[0].message;
    let asked = cards::room(tx, &first.agent, terms, now)?;
    // Counted from when it was due: since it was accepted, or since an operator let it begin anew. Who is not asked yet has
    // no less time then.
    let deadline = |message: &MessageRow| match asked {
        true => terms.deadline(message.due_at, message.deadline),
        false => message.deadline,
    };
    let deadline = all.iter().map(|holding| deadline(holding.message)).min().unwrap_or(now);
    let mut rows = Vec::with_capacity(all.len());
    for Holding { message, parts, reason } in all {
        tx.execute(
            "INSERT INTO approvals (request, message, document, deadline, quorum, card_at, why)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                request.0,
                message.seq,
                document,
                deadline,
                terms.quorum,
                asked.then_some(now),
                (!asked).then_some(reason)
            ],
        )
        .map_err(StoreError::from)?;
        transition::store_parts(tx, message.seq, parts)?;
        // So that a document cannot be exchanged before anybody has signed it.
        let mut facts = json!({
            "request": request.to_string(), "document": Digest::of(&document).to_string(),
            "deadline": clock::rfc3339(deadline),
        });
        if terms.quorum > 1 {
            facts["quorum"] = terms.quorum.into();
        }
        if message.seq != first.seq {
            facts["on_card_of"] = first.id.as_str().into();
        }
        let later;
        let change = match asked {
            true => Change::hub(Event::Hold, Some(reason)),
            false => {
                later = cards::later(reason, &message.agent, terms.cards_per_hour);
                Change::hub(Event::Hold, Some(&later)).code(Code::RateLimited)
            }
        };
        rows.push(transition::apply_to(tx, (*message).clone(), &change.facts(facts))?);
    }
    Ok(rows)
}

/// What may be sent of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// These parts, exactly as approved, or of a message that needed no approval.
    Parts(Vec<PartRow>),
    /// Nothing: the stored requests are not the ones that were approved.
    Changed,
}
