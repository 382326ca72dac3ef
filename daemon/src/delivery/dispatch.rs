//! Who goes next: one message at a time to one conversation, in order, when it is due.
//!
//! A message joins its lane when it is released; the head blocks its lane until it is final, also while it waits for its
//! next attempt: what was written second must not arrive first. Nothing here polls: the loop sleeps until something
//! changes or the next time that matters, whichever comes first. When a message goes is said by its own time, by what its
//! platform asked for ([`crate::outbox::pauses`]) and by the rates that are kept to ([`super::pace`]).
//!
//! What the loop read may be old by the time it acts, so whoever takes a lane looks again before touching its head.

use std::time::{Duration, Instant};

use tokio::{
    sync::{broadcast::error::TryRecvError, oneshot},
    task::JoinSet,
};
use tracing::Instrument as _;

use super::{
    Pipeline,
    lanes::{Claim, Lanes},
    pace::Pace,
};
use crate::{
    message::state::State,
    outbox::{pauses::Pauses, row::Head, transition::TransitionError},
    store::now_ms,
};

/// After a failure of the database, before trying again.
pub(super) const RECOVER: Duration = Duration::from_secs(1);

/// While the disk has no room for an outcome, or the clock is not settled, before looking again. Milliseconds.
const PAUSED: i64 = 1_000;

/// After a look at all lanes, before the next one: as long as the look took, and at most this. A queue of a hundred
/// thousand messages takes a while to look through, and must not be all that the hub does.
const REST: Duration = Duration::from_millis(100);

/// Messages of one lane that go one after the other before its account's other lanes have their turn.
const RUN: usize = 32;

/// A look at the head of every lane.
struct Look {
    now: i64,
    unsettled: Option<i64>,
    lanes: Lanes,
    pace: Pace,
    /// Heads that go now.
    begin: Vec<(Claim, i64)>,
    /// When the next one does.
    next: Option<i64>,
}

/// When a lane's head goes.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// Now, or its time is over now.
    Now,
    /// Not before this, in milliseconds since 1970.
    At(i64),
    /// Nobody knows before the clock is settled.
    Unsettled,
}

impl Turn {
    fn of(head: &Head, pauses: &Pauses, unsettled: Option<i64>, now: i64) -> Self {
        if unsettled.is_some_and(|since| head.accepted_at < since) {
            return Self::Unsettled;
        }
        let due = head.due_at.max(pauses.until(&head.lane).unwrap_or(0)).min(head.deadline);
        if due > now { Self::At(due) } else { Self::Now }
    }
}

impl Look {
    fn see(&mut self, pauses: &Pauses, head: Head) {
        let at = match Turn::of(&head, pauses, self.unsettled, self.now) {
            Turn::Unsettled => return,
            Turn::At(due) => due,
            Turn::Now => {
                // Whoever has the lane says when it is free.
                let Some(claim) = self.lanes.claim(&head.lane) else { return };
                match self.pace.take(&head.lane) {
                    // What is over needs no token, but it does not come up often.
                    Ok(()) => return self.begin.push((claim, head.seq)),
                    Err(wait) => self.now.saturating_add(milliseconds(wait)).min(head.deadline),
                }
            }
        };
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

/// Rounded up: whoever comes a fraction too early comes twice.
fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

impl Pipeline {
    /// Sends what is due and expires what is over, until `stop`; then lets what is on its way come to its end.
    pub async fn dispatch(self, mut stop: oneshot::Receiver<()>) {
        let (lanes, mut sending) = (Lanes::default(), JoinSet::new());
        let mut changes = self.0.outbox.changes();
        loop {
            // What is read next shows everything that these were about.
            while !matches!(changes.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
            while sending.try_join_next().is_some() {}
            let began = Instant::now();
            let next = match self.round(&lanes, &mut sending).await {
                Ok(next) => next.map(|at| Duration::from_millis(u64::try_from(at - now_ms()).unwrap_or(0))),
                Err(error) => {
                    tracing::error!(%error, "cannot look after the queue");
                    Some(RECOVER)
                }
            };
            let rest = began.elapsed().min(REST);
            tokio::select! {
                // Any change wakes up, missed ones too.
                _ = changes.recv() => {}
                () = tokio::time::sleep(next.unwrap_or(Duration::MAX)) => {}
                _ = &mut stop => break,
            }
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                _ = &mut stop => break,
            }
        }
        lanes.rest();
        sending.join_all().await;
    }

    /// Starts everything that is due; says when something else will be.
    async fn round(&self, lanes: &Lanes, sending: &mut JoinSet<()>) -> Result<Option<i64>, TransitionError> {
        if !self.may_send() {
            return Ok(Some(now_ms().saturating_add(PAUSED)));
        }
        let unsettled = self.0.outbox.store().unsettled_since();
        let next = match unsettled {
            None => self.0.approvals.expire().await?,
            Some(_) => Some(now_ms().saturating_add(PAUSED)),
        };
        let (lanes, pace) = (lanes.clone(), self.0.pace.clone());
        let look = Look { now: now_ms(), unsettled, lanes, pace, begin: vec![], next };
        let look = self.0.outbox.heads(look, Look::see).await?;
        for (claim, seq) in look.begin {
            sending.spawn(self.clone().work(claim, seq));
        }
        Ok(look.next)
    }

    /// Works in a lane, from its head on, as long as something in it can go now.
    async fn work(self, claim: Claim, first: i64) {
        let mut head = Some(first);
        for _ in 0..RUN {
            let Some(seq) = head else { break };
            if let Err(error) = self.advance(seq).await {
                tracing::error!(message = seq, %error, "cannot write down what became of a message");
                tokio::time::sleep(RECOVER).await;
            }
            // The dispatcher meets an error as well, and says so.
            head = self.next_in(&claim).await.unwrap_or_default();
        }
        drop(claim);
        self.0.outbox.changed(first);
    }

    /// The lane's head, if it can go now.
    async fn next_in(&self, claim: &Claim) -> Result<Option<i64>, TransitionError> {
        if claim.is_to_rest() || !self.may_send() {
            return Ok(None);
        }
        let (unsettled, lane) = (self.0.outbox.store().unsettled_since(), claim.lane());
        let Some((head, pauses)) = self.0.outbox.head(lane).await? else { return Ok(None) };
        let goes = Turn::of(&head, &pauses, unsettled, now_ms()) == Turn::Now;
        Ok((goes && self.0.pace.take(lane).is_ok()).then_some(head.seq))
    }

    /// Takes a lane's head as far as it goes now.
    async fn advance(&self, seq: i64) -> Result<(), TransitionError> {
        let (head, now) = (self.0.outbox.get(seq).await?, now_ms());
        let span = tracing::info_span!("message", id = head.id, agent = head.agent);
        let advance = async {
            match head.state {
                State::Ready if head.deadline <= now => self.out_of_time(&head).await,
                State::Ready if head.due_at <= now => self.send(seq).await,
                // Nobody has its lane: writing down what became of it failed the last time.
                State::Sending => self.take_up(&head).await,
                _ => Ok(()),
            }
        };
        match advance.instrument(span).await {
            // Somebody was faster, with a cancellation for one.
            Err(TransitionError::Illegal(_)) => Ok(()),
            done => done,
        }
    }

    /// Whether what becomes of a request could be written down.
    pub(super) fn may_send(&self) -> bool {
        self.0.outbox.store().space().look().sends()
    }
}
