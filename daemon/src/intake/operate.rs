//! What people do to messages that are already in the queue: take them back, or send the rest of them again.

use rusqlite::Transaction;
use serde_json::json;

use crate::{
    message::{
        receipt::Receipt,
        refusal::{Code, Refusal},
        state::{Actor, Event, PartState, State},
    },
    outbox::{
        outcome::{self, MAX_REASON_CHARS, NotSettled, Outcome},
        restored,
        row::MessageRow,
        transition::{self, Change, TransitionError},
    },
    pipeline::{Pipeline, unavailable},
    store::now_ms,
};

impl Pipeline {
    /// Takes a message back.
    pub async fn cancel(&self, seq: i64, actor: Actor, by: &str) -> Result<Receipt, Refusal> {
        let by = by.to_owned();
        let cancelled = self
            .0
            .outbox
            .change(seq, move |tx| {
                let change = Change {
                    event: Event::Cancel,
                    actor,
                    by: &by,
                    code: Some(Code::Cancelled),
                    reason: Some("it was taken back"),
                    facts: None,
                };
                transition::apply(tx, seq, &change)
            })
            .await;
        self.answer(seq, cancelled).await
    }

    /// Sends what has not arrived of a failed message again: the same parts, from the first that is not confirmed. One
    /// whose outcome is unknown goes only if it `may_duplicate`; one that was never let out begins anew.
    pub async fn retry(&self, seq: i64, may_duplicate: bool, by: &str) -> Result<Receipt, Refusal> {
        let message = self.0.outbox.get(seq).await.map_err(unavailable)?;
        let event = match message.state {
            State::Unknown if !may_duplicate => {
                let hint = "ask whom it was for, and say with `gatepost queue settle` whether it arrived; or retry with mayDuplicate, if it may arrive twice";
                return Err(
                    Refusal::new(Code::Conflict, "the message may have arrived", hint).because("unknown")
                );
            }
            State::Unknown => Event::RetryMayDuplicate,
            _ => Event::Retry,
        };
        if message.state.is_final() && message.deadline <= now_ms() {
            let hint = "send it anew, as a new message";
            return Err(Refusal::new(Code::Conflict, "the message's time is over", hint).because("deadline"));
        }
        let released = self.0.outbox.was_released(seq).await.map_err(unavailable)?;
        if message.state == State::Unknown && !released {
            return self.readmit(&message, by).await;
        }
        let parts = self.0.outbox.parts(seq).await.map_err(unavailable)?;
        if message.state.is_final() && parts.is_empty() {
            let hint = "read its error, and send it anew";
            return Err(Refusal::new(Code::Conflict, "the message ended before it had parts", hint));
        }
        let by = by.to_owned();
        let retried = self
            .0
            .outbox
            .change(seq, move |tx| {
                let mut change =
                    Change { event, actor: Actor::Operator, by: &by, code: None, reason: None, facts: None };
                if event == Event::RetryMayDuplicate {
                    change = change.facts(json!({"history": outcome::sent_again(tx, seq)?}));
                }
                transition::apply(tx, seq, &change)?;
                plan_again(tx, seq)?;
                transition::postpone(tx, seq, now_ms(), false)
            })
            .await;
        self.answer(seq, retried).await
    }

    /// Lets the rest of a message go on that is unknown, since an operator says of its uncertain part whether it arrived.
    pub async fn settle(&self, seq: i64, outcome: Outcome) -> Result<Receipt, Refusal> {
        if outcome.reason.trim().is_empty() || outcome.reason.chars().count() > MAX_REASON_CHARS {
            let hint = format!("say how you know it, in {MAX_REASON_CHARS} characters at most");
            return Err(Refusal::input("\"reason\" is empty or too long", hint).because("reason"));
        }
        let settled = self.0.outbox.change(seq, move |tx| outcome::settle(tx, seq, &outcome)).await;
        match settled {
            Ok(Err(why)) => {
                let hint = match &why {
                    NotSettled::NeverLetOut => "retry it with mayDuplicate: it is judged anew",
                    NotSettled::Certain(_) => "look at its parts: an uncertain one is unknown",
                    NotSettled::Several(_) => "name one with \"part\", and settle one after the other",
                };
                Err(Refusal::new(Code::Conflict, why.to_string(), hint).because("not_settled"))
            }
            Ok(Ok(())) => self.answer(seq, Ok(())).await,
            Err(error) => self.answer(seq, Err::<(), _>(error)).await,
        }
    }

    /// Begins anew with a message of a restored backup that nobody had let out in it.
    async fn readmit(&self, message: &MessageRow, by: &str) -> Result<Receipt, Refusal> {
        let (seq, by) = (message.seq, by.to_owned());
        let readmitted = self.0.outbox.change(seq, move |tx| restored::readmit(tx, seq, &by)).await;
        if readmitted.is_ok() {
            self.begin_anew(message).await;
        }
        self.answer(seq, readmitted).await
    }

    async fn answer<T>(&self, seq: i64, done: Result<T, TransitionError>) -> Result<Receipt, Refusal> {
        match done {
            Ok(_) => self.receipt(seq).await.map_err(unavailable),
            Err(TransitionError::Illegal(error)) => {
                let hint = match error.state {
                    State::Sending => "it is leaving the house; ask for its receipt",
                    State::Ready | State::Accepted | State::Held => "it is on its way; ask for its receipt",
                    _ => "it has come to its end; ask for its receipt",
                };
                Err(Refusal::new(Code::Conflict, format!("the message is {}", error.state), hint))
            }
            Err(TransitionError::Store(error)) => Err(unavailable(error)),
        }
    }
}

/// Every part that is not confirmed is planned again, and keeps its key.
fn plan_again(tx: &Transaction<'_>, seq: i64) -> Result<(), TransitionError> {
    for part in transition::parts(tx, seq)?.iter().filter(|part| part.state != PartState::Confirmed) {
        transition::settle_part(tx, seq, part.index, PartState::Planned, None, None)?;
    }
    Ok(())
}
