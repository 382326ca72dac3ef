//! Holding messages: the cards that people are asked by, each with a request and a document of its own.

use gatepost_link::{Digest, RequestId, document::MAX_TARGETS};
use rusqlite::{Transaction, params};
use serde_json::json;

use super::{
    Terms, cards,
    document::{self, DocumentRefused, Holding},
    heard, mute,
};
use crate::{
    clock,
    message::{refusal::Code, state::Event},
    outbox::{
        row::MessageRow,
        transition::{self, Change, TransitionError},
    },
    policy::Deciders,
    store::{StoreError, now_ms},
};

/// Why a message could not be held.
#[derive(Debug, thiserror::Error)]
enum HoldError {
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
    let (row, head) = crate::audit::tip(tx)?;
    // In a list each would be of its own.
    let heard = match all {
        [one] => heard::of(tx, one.message).map_err(TransitionError::from)?,
        _ => None,
    };
    let document = document::write(request, Digest(head), all, heard.as_deref())?;
    let now = now_ms();
    let first = all[0].message;
    let asked = cards::room(tx, &first.agent, terms, now)?;
    let muted = mute::until(tx, &first.agent, now)?;
    // Counted from when it was due: since it was accepted, or since an operator let it begin anew. Who is not asked yet has
    // no less time then.
    let deadline = |message: &MessageRow| match asked {
        true => terms.deadline(message.due_at, message.deadline),
        false => message.deadline,
    };
    let deadline = all.iter().map(|holding| deadline(holding.message)).min().unwrap_or(now);
    let mut rows = Vec::with_capacity(all.len());
    for Holding { message, parts, reason, by } in all {
        let quorum = by.quorum(terms.quorum);
        tx.execute(
            "INSERT INTO approvals (request, message, document, deadline, quorum, card_at, why, held_because, audit_row, decided_by)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                request.0,
                message.seq,
                document,
                deadline,
                quorum,
                asked.then_some(now),
                (!asked).then_some(reason),
                reason,
                row,
                by.word()
            ],
        )
        .map_err(StoreError::from)?;
        transition::store_parts(tx, message.seq, parts)?;
        // So that a document cannot be exchanged before anybody has signed it.
        let mut facts = json!({
            "request": request.to_string(), "document": Digest::of(&document).to_string(),
            "deadline": clock::rfc3339(deadline),
        });
        if quorum > 1 {
            facts["quorum"] = quorum.into();
        }
        if *by != Deciders::Any {
            facts["decided_by"] = by.word().into();
        }
        if message.seq != first.seq {
            facts["on_card_of"] = first.id.as_str().into();
        }
        let later;
        let change = match asked {
            true => Change::hub(Event::Hold, Some(reason)),
            false => {
                later = match muted {
                    Some(until) => mute::later(reason, &message.agent, until),
                    None => cards::later(reason, &message.agent, terms.cards_per_hour),
                };
                Change::hub(Event::Hold, Some(&later)).code(Code::RateLimited)
            }
        };
        rows.push(transition::apply_to(tx, (*message).clone(), &change.facts(facts))?);
    }
    Ok(rows)
}
