//! One message's parts, in order, each marked before its request leaves.
//!
//! What the platform confirmed is never sent again. A part whose answer was lost is sent again only under a key that
//! the platform deduplicates, while that key is valid, or where whoever asked prefers two to none; otherwise nobody knows,
//! and the agent is told so.

use std::{sync::Arc, time::Duration};

use rusqlite::Transaction;
use serde_json::json;

use super::{
    attempt::{Again, Failed, prefers_two, resendable, time_to_resend},
    ending::{Ending, Tried, end},
    pause::Heard,
    voice_fallback::{Arrived, Planned},
};
use crate::{
    approval::{self, Released},
    channels::{
        Adapter, EditForm, Failure, RateHints,
        limits::{Allowance, Scope},
    },
    message::{
        refusal::Code,
        state::{Event, PartState, State},
    },
    outbox::{
        row::{Lane, MessageRow, PartRow},
        transition::{self, Change, TransitionError},
    },
    pipeline::{Pipeline, RECOVER, current::Current, rate_limiter::BRIEF},
    store::now_ms,
};

/// The state of a message when its turn has come.
pub(super) enum Turned {
    /// It is taken, and its request may leave.
    Begun(Begun),
    /// It was taken, and has ended.
    Ended,
    /// Its time is over.
    Over(MessageRow),
    /// It is in flight, and no attempt is running: storing the outcome failed.
    Left(MessageRow),
    /// Its turn has not come after all.
    NotNow,
}

/// A message that is taken.
pub(super) struct Begun {
    pub message: MessageRow,
    parts: Vec<PartRow>,
    /// The part that is marked already.
    marked: Option<u32>,
}

impl Current {
    /// Takes a ready message, and marks its first request: what must be written down before that leaves is one transaction.
    /// The pipeline is the one that it was judged by, which also sends it: a configuration that holds by then, and none
    /// that held when the transaction was still waiting.
    pub(super) async fn take(&self, seq: i64, lane: &Lane) -> Result<(Pipeline, Turned), TransitionError> {
        let (current, lane) = (self.clone(), lane.clone());
        let taken = move |tx: &Transaction<'_>| {
            let pipeline = current.pipeline();
            let account = pipeline.0.accounts.pick(&lane.channel, Some(&lane.account));
            let away = account.err().map(|error| error.to_string());
            let turned = take(tx, seq, away, &pipeline)?;
            Ok((pipeline, turned))
        };
        self.pipeline().0.outbox.change(seq, taken).await
    }
}

impl Pipeline {
    /// Sends a message that is taken as far as it goes now. Its first request's place in the rate limit is taken already.
    pub(super) async fn send(&self, begun: Begun) -> Result<(), TransitionError> {
        let Begun { message, parts, marked } = begun;
        let seq = message.seq;
        let adapter = match self.0.accounts.pick(&message.channel, Some(&message.account)) {
            Ok((_, adapter)) => adapter.as_ref(),
            Err(error) => return self.fail(seq, Code::ExecutionFailed, error.to_string()).await,
        };
        let left: Vec<_> = parts.iter().filter(|part| part.state != PartState::Confirmed).collect();
        for (number, part) in left.iter().enumerate() {
            if number > 0 && !self.may_follow(&message, part).await? {
                return Ok(());
            }
            if marked != Some(part.index) {
                // An outcome could not be stored now; the message keeps its lane meanwhile.
                while !self.may_send() && message.deadline > now_ms() {
                    tokio::time::sleep(RECOVER).await;
                }
                if message.deadline <= now_ms() {
                    let reason = "its time was over before all of it was sent".to_owned();
                    return self.fail(seq, Code::Expired, reason).await;
                }
            }
            let place = Place { marked: marked == Some(part.index), last: number + 1 == left.len() };
            if !self.send_part(&message, part, place, adapter).await? {
                return Ok(());
            }
        }
        if left.is_empty() {
            self.0.outbox.record(seq, move |tx| confirm(tx, seq)).await?;
        }
        self.0.outbox.arrived(&message.channel);
        tracing::info!(message = message.id, to = %message.target(), parts = parts.len(), "sent");
        Ok(())
    }

    /// Waits for a further part's place in the rate limit; whether it has one, or the message was put back.
    async fn may_follow(&self, message: &MessageRow, part: &PartRow) -> Result<bool, TransitionError> {
        let (seq, index, lane) = (message.seq, part.index, message.lane());
        let left = Duration::from_millis(u64::try_from(message.deadline - now_ms()).unwrap_or(0));
        let waited = tokio::time::timeout(left, self.0.limiter.wait(&lane)).await;
        let until = match waited {
            Ok(Err(long)) => now_ms().saturating_add(i64::try_from(long.as_millis()).unwrap_or(i64::MAX)),
            // Whether its time is over is asked next.
            Ok(Ok(())) | Err(_) => match self.paused_until(&self.0.outbox.pauses().await?, &lane) {
                None => return Ok(true),
                Some(until) => until,
            },
        };
        let end = Ending::paused(until, part.state, message.best_effort);
        self.0.outbox.change(seq, move |tx| end.write(tx, seq, index)).await?;
        Ok(false)
    }

    /// Sends a part; whether the next one may follow.
    async fn send_part(
        &self,
        message: &MessageRow,
        part: &PartRow,
        place: Place,
        adapter: &dyn Adapter,
    ) -> Result<bool, TransitionError> {
        let (seq, index, lane) = (message.seq, part.index, message.lane());
        let planned = self.read(message, part, adapter)?;
        let open = part.state == PartState::Unknown;
        let resend = prefers_two(message, &planned);
        if open && !resend && !resendable(&planned, part, now_ms()) {
            let why = part.error.clone().unwrap_or_else(|| "its answer was lost".into());
            let end = Ending::Nobody { why };
            self.0.outbox.change(seq, move |tx| end.write(tx, seq, index)).await?;
            return Ok(false);
        }
        if !place.marked {
            self.0.outbox.change(seq, move |tx| transition::part_in_flight(tx, seq, index)).await?;
        }
        let first_sent_at = part.first_sent_at.unwrap_or_else(now_ms);
        let again = open.then_some(Again { resend });
        let mut hints = RateHints::default();
        let delivered = self.attempt(seq, part, &planned, again, &mut hints).await?;
        let mut allowances = hints.into_allowances();
        let failure = delivered.as_ref().err().map(Failed::failure);
        if let Some(Failure::Wait { after, .. }) = failure {
            allowances.push(Allowance::none(Scope::Chat, *after));
        }
        let why = failure.map(|failure| match failure {
            Failure::Wait { why, .. } => why.clone(),
            failure => failure.to_string(),
        });
        let account_is = self.0.accounts.fingerprint(&lane.channel, &lane.account);
        let heard = Arc::new(Heard { lane, account_is, allowances, why });
        heard.learn(&self.0.limiter);
        match delivered {
            Ok(arrived) => {
                self.confirm_part(seq, index, arrived, place.last, heard).await?;
                Ok(true)
            }
            Err(failed) => {
                tracing::warn!(message = message.id, part = index, failure = %failed.failure(), "a part did not go through");
                let tried = Tried {
                    // An earlier attempt's request may have arrived, whatever became of this one.
                    open,
                    left: time_to_resend(&planned, first_sent_at, now_ms()),
                    attempts: message.attempts,
                    questions: part.questions,
                    resend,
                    best_effort: message.best_effort,
                };
                self.end_part(seq, index, failed, &tried, heard).await?;
                Ok(false)
            }
        }
    }

    /// Writes down that a part arrived, and with the last one all of its message.
    async fn confirm_part(
        &self,
        seq: i64,
        index: u32,
        arrived: Arrived,
        last: bool,
        heard: Arc<Heard>,
    ) -> Result<(), TransitionError> {
        let (Arrived { id, note, recipients, row }, written) = (arrived, Arc::clone(&heard));
        let confirmed = move |tx: &Transaction<'_>| {
            let began = written.obey(tx, BRIEF)?;
            let written_now = row.as_ref().map(|row| row.write(tx)).transpose()?;
            let id = written_now.as_ref().or(id.as_ref());
            transition::settle_part(
                tx,
                seq,
                index,
                PartState::Confirmed,
                id.map(String::as_str),
                note.as_deref(),
            )?;
            if let Some(recipients) = &recipients {
                transition::part_reached(tx, seq, index, recipients)?;
            }
            if last {
                confirm(tx, seq)?;
            }
            Ok::<_, TransitionError>(began)
        };
        heard.tell(&self.0.outbox.record(seq, confirmed).await?);
        Ok(())
    }

    /// Writes down what a failed attempt means for its part and its message.
    async fn end_part(
        &self,
        seq: i64,
        index: u32,
        failed: Failed,
        tried: &Tried,
        heard: Arc<Heard>,
    ) -> Result<(), TransitionError> {
        let (asked, written) = (matches!(failed, Failed::Asking(_)), Arc::clone(&heard));
        let end = match failed {
            Failed::Sending(failure) => Ending::of(failure, tried),
            Failed::Asking(failure) => Ending::of_a_question(failure, tried),
        };
        let ended = move |tx: &Transaction<'_>| {
            let began = written.obey(tx, Duration::ZERO)?;
            if asked {
                transition::part_asked(tx, seq, index)?;
            }
            end.write(tx, seq, index)?;
            Ok::<_, TransitionError>(began)
        };
        heard.tell(&self.0.outbox.record(seq, ended).await?);
        Ok(())
    }

    /// A part's request; if its platform wants that, for the newest revision of what it is done to. Its lane keeps the order, so
    /// no newer one is on its way.
    fn read<'a>(
        &self,
        message: &MessageRow,
        part: &PartRow,
        adapter: &'a dyn Adapter,
    ) -> Result<Planned<'a>, TransitionError> {
        let mut planned = Planned::read(adapter, &part.request);
        if adapter.capabilities().edits == EditForm::Revision
            && let Some(newest) = self.0.outbox.newest_revision(message)?
        {
            planned.revise(&newest);
        }
        Ok(planned)
    }

    /// Ends a message whose time is over before it could be sent, or sent again.
    pub(super) async fn out_of_time(&self, head: &MessageRow) -> Result<(), TransitionError> {
        let paused = self.0.outbox.wait_of(head)?;
        let reason = match (paused, &head.reason) {
            (Some(wait), _) => format!("its time was over before it could be sent: {}", wait.sentence()),
            (None, Some(last)) => format!("its time was over; the last attempt said: {last}"),
            (None, None) => "its time was over before it could be sent".to_owned(),
        };
        self.fail(head.seq, Code::Expired, reason).await
    }

    async fn fail(&self, seq: i64, code: Code, reason: String) -> Result<(), TransitionError> {
        self.0.outbox.change(seq, move |tx| end(tx, seq, code, &reason)).await
    }
}

/// Where a part stands among those that are sent now.
#[derive(Clone, Copy)]
struct Place {
    /// It was marked when its message was taken.
    marked: bool,
    /// With it, all of the message is there.
    last: bool,
}

fn take(
    tx: &Transaction<'_>,
    seq: i64,
    away: Option<String>,
    pipeline: &Pipeline,
) -> Result<Turned, TransitionError> {
    let (message, now) = (MessageRow::get(tx, seq)?, now_ms());
    match message.state {
        State::Ready if message.deadline <= now => return Ok(Turned::Over(message)),
        State::Ready if message.due_at <= now => {}
        State::Sending => return Ok(Turned::Left(message)),
        _ => return Ok(Turned::NotNow),
    }
    if let Some(why) = pipeline.forbidden_now(tx, &message, approval::was_held(tx, seq)?)? {
        end(tx, seq, why.code(), &why.to_string())?;
        return Ok(Turned::Ended);
    }
    let message = transition::apply_to(tx, message, &Change::hub(Event::Take, None))?;
    let why = match (away, approval::release(tx, &message)?) {
        (None, Released::Parts(parts)) => {
            let next = parts.iter().find(|part| part.state != PartState::Confirmed);
            // A part that may have arrived already is looked for again before it is sent.
            let marked = next.filter(|part| part.state == PartState::Planned).map(|part| part.index);
            if let Some(index) = marked {
                transition::part_in_flight(tx, seq, index)?;
            }
            return Ok(Turned::Begun(Begun { message, parts, marked }));
        }
        (None, Released::Changed) => {
            "the stored message is not the one that was approved; it was not sent".to_owned()
        }
        (Some(why), _) => why,
    };
    end(tx, seq, Code::ExecutionFailed, &why)?;
    Ok(Turned::Ended)
}

/// All of a message is there.
fn confirm(tx: &Transaction<'_>, seq: i64) -> Result<(), TransitionError> {
    let ids = transition::platform_ids(tx, seq)?;
    let change = Change::hub(Event::Confirm, None).facts(json!({"platform_ids": ids}));
    transition::apply(tx, seq, &change).map(drop)
}
