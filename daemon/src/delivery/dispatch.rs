//! Which message goes next: one at a time to each conversation, in order, when it is due.
//!
//! A message joins its lane when it is released; the head blocks its lane until it is final, also while it waits for its
//! next attempt: what was written second must not arrive first. Nothing here polls: the loop sleeps until something
//! changes or the next time that matters, whichever comes first. What changed is looked at by itself, and so is a lane that
//! somebody has done with; all of the queue only when a time has come, or when more changed than anybody remembers. When
//! a message goes is said by its own time, by what its platform asked for ([`crate::outbox::pauses`]) and by the rates
//! that are kept to ([`crate::pipeline::rate_limiter`]).
//!
//! What the loop read may be old by the time it acts, so whoever takes a lane looks again before touching its head.

use std::time::{Duration, Instant};

use tokio::{
    sync::{broadcast::error::TryRecvError, mpsc, oneshot},
    task::JoinSet,
};
use tracing::Instrument as _;

use super::{
    lanes::{Claim, Lanes},
    send::Turned,
};
use crate::{
    outbox::{
        pauses::Pauses,
        row::{Head, Lane, MessageRow},
        transition::TransitionError,
    },
    pipeline::{Pipeline, RECOVER, current::Current},
    store::now_ms,
};

/// While the disk has no room for an outcome, or the clock is not settled, before looking again. Milliseconds.
const PAUSED_RETRY_MS: i64 = 1_000;

/// After a look at all lanes, before the next one: as long as the look took, and at most this. A queue of a hundred
/// thousand messages takes a while to look through, and must not be all that the hub does.
const MAX_REST: Duration = Duration::from_millis(100);

/// Messages of one lane that go one after the other before its account's other lanes have their turn.
const RUN: usize = 32;

/// Who is at work.
struct AtWork {
    lanes: Lanes,
    sending: JoinSet<()>,
    /// Takes lanes that somebody has done with.
    free: mpsc::UnboundedSender<Lane>,
}

/// A look at the heads of lanes.
struct Scan {
    pipeline: Pipeline,
    now: i64,
    unsettled: Option<i64>,
    lanes: Lanes,
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
    /// Unknown before the clock is settled.
    Unsettled,
}

impl Turn {
    fn of(head: &Head, paused_until: Option<i64>, unsettled: Option<i64>, now: i64) -> Self {
        if unsettled.is_some_and(|since| head.accepted_at < since) {
            return Self::Unsettled;
        }
        let due = head.due_at.max(paused_until.unwrap_or(0)).min(head.deadline);
        if due > now { Self::At(due) } else { Self::Now }
    }
}

impl Scan {
    fn see(&mut self, pauses: &Pauses, head: Head) {
        let paused_until = self.pipeline.paused_until(pauses, &head.lane);
        let at = match Turn::of(&head, paused_until, self.unsettled, self.now) {
            Turn::Unsettled => return,
            Turn::At(due) => due,
            Turn::Now => {
                // Whoever has the lane says when it is free.
                let Some(claim) = self.lanes.claim(&head.lane) else { return };
                // What is over needs no token, and ends also while its platform keeps them back for days.
                let is_over = head.deadline <= self.now;
                match if is_over { Ok(()) } else { self.pipeline.0.limiter.take(&head.lane) } {
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

impl Current {
    /// Sends what is due, looks after what waits for a person, until `stop`; then lets what is on its way come to its end.
    pub async fn dispatch(self, mut stop: oneshot::Receiver<()>) {
        let (free, mut done) = mpsc::unbounded_channel();
        let mut at_work = AtWork { lanes: Lanes::default(), sending: JoinSet::new(), free };
        let mut changes = self.pipeline().outbox().changes();
        let mut replaced = self.replacements();
        // All of the queue is to be looked at; else what has changed, and who is done.
        let (mut all, mut changed, mut freed) = (true, vec![], vec![]);
        let mut next = None;
        loop {
            loop {
                match changes.try_recv() {
                    Ok(seq) => changed.push(seq),
                    Err(TryRecvError::Lagged(_)) => all = true,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            freed.extend(std::iter::from_fn(|| done.try_recv().ok()));
            all |= at_work.lanes.has_forgotten();
            while at_work.sending.try_join_next().is_some() {}
            let began = Instant::now();
            let (changed_now, freed_now) = (std::mem::take(&mut changed), std::mem::take(&mut freed));
            let found = match all {
                true => self.round(&mut at_work).await,
                false => self.scan_changed(&mut at_work, next, &changed_now, freed_now).await,
            };
            let rest = if all { began.elapsed().min(MAX_REST) } else { Duration::ZERO };
            all = found.is_err();
            next = found.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot look after the queue");
                Some(now_ms().saturating_add(milliseconds(RECOVER)))
            });
            let sleep = next.map(|at| Duration::from_millis(u64::try_from(at - now_ms()).unwrap_or(0)));
            tokio::select! {
                change = changes.recv(), if !all => match change {
                    Ok(seq) => changed.push(seq),
                    // Whatever was missed.
                    Err(_) => all = true,
                },
                Some(lane) = done.recv(), if !all => freed.push(lane),
                () = tokio::time::sleep(sleep.unwrap_or(Duration::MAX)) => all = true,
                // It may let go what another one kept: a card for which the hour had no room.
                Ok(()) = replaced.changed() => all = true,
                _ = &mut stop => break,
            }
            if !rest.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(rest) => {}
                    _ = &mut stop => break,
                }
            }
        }
        at_work.lanes.rest();
        at_work.sending.join_all().await;
    }

    /// Starts what can go of what has changed; says when something else will, or `next`, if that is sooner.
    async fn scan_changed(
        &self,
        at_work: &mut AtWork,
        next: Option<i64>,
        changed: &[i64],
        freed: Vec<Lane>,
    ) -> Result<Option<i64>, TransitionError> {
        let pipeline = self.pipeline();
        if !pipeline.may_send() {
            return Ok(Some(now_ms().saturating_add(PAUSED_RETRY_MS)));
        }
        let unsettled = pipeline.0.outbox.store().unsettled_since();
        let mut look = pipeline.scan(at_work, unsettled, next);
        let cares = |look: &Scan, lane: &Lane| !look.lanes.is_taken(lane);
        let held = pipeline.0.outbox.heads_of(&mut look, changed, freed, cares, Scan::see)?;
        self.begin(at_work, &mut look);
        let mut next = look.next;
        if held && unsettled.is_none() {
            next = next.into_iter().chain(pipeline.0.approvals.look_after().await?).min();
        }
        Ok(next)
    }

    /// Starts everything that is due; says when something else will be.
    async fn round(&self, at_work: &mut AtWork) -> Result<Option<i64>, TransitionError> {
        let pipeline = self.pipeline();
        if !pipeline.may_send() {
            return Ok(Some(now_ms().saturating_add(PAUSED_RETRY_MS)));
        }
        let unsettled = pipeline.0.outbox.store().unsettled_since();
        let next = match unsettled {
            None => pipeline.0.approvals.look_after().await?,
            Some(_) => Some(now_ms().saturating_add(PAUSED_RETRY_MS)),
        };
        let look = pipeline.scan(at_work, unsettled, next);
        let mut look = pipeline.0.outbox.heads(look, Scan::see).await?;
        self.begin(at_work, &mut look);
        Ok(look.next)
    }

    fn begin(&self, at_work: &mut AtWork, look: &mut Scan) {
        for (claim, seq) in look.begin.drain(..) {
            at_work.sending.spawn(self.clone().work(claim, seq, at_work.free.clone()));
        }
    }

    /// Works in a lane, from its head on, as long as something in it can go now; then in those that wait for its place.
    async fn work(self, mut claim: Claim, first: i64, free: mpsc::UnboundedSender<Lane>) {
        let mut head = Some(first);
        loop {
            for _ in 0..RUN {
                let Some(seq) = head else { break };
                if let Err(error) = self.advance(seq, claim.lane()).await {
                    tracing::error!(message = seq, %error, "cannot write down what became of a message");
                    tokio::time::sleep(RECOVER).await;
                }
                // The dispatcher meets an error as well, and says so.
                head = self.pipeline().next_in(&claim).unwrap_or_default();
            }
            let (lane, next) = claim.pass_on();
            // Something may have come to it at the last moment. Who is told may have stopped.
            let _ = free.send(lane);
            let Some(next) = next else { return };
            claim = next;
            head = self.pipeline().next_in(&claim).unwrap_or_default();
        }
    }

    /// Takes a lane's head as far as it goes now.
    async fn advance(&self, seq: i64, lane: &Lane) -> Result<(), TransitionError> {
        let advance = async {
            let of =
                |message: &MessageRow| tracing::info_span!("message", id = message.id, agent = message.agent);
            let (pipeline, turned) = self.take(seq, lane).await?;
            match turned {
                Turned::Begun(begun) => {
                    let span = of(&begun.message);
                    pipeline.send(begun).instrument(span).await
                }
                Turned::Over(head) => pipeline.out_of_time(&head).instrument(of(&head)).await,
                Turned::Left(head) => pipeline.take_up(&head).instrument(of(&head)).await,
                Turned::Ended | Turned::NotNow => Ok(()),
            }
        };
        match advance.await {
            // Somebody was faster, with a cancellation for one.
            Err(TransitionError::Illegal(_)) => Ok(()),
            done => done,
        }
    }
}

impl Pipeline {
    fn scan(&self, at_work: &AtWork, unsettled: Option<i64>, next: Option<i64>) -> Scan {
        let (pipeline, lanes) = (self.clone(), at_work.lanes.clone());
        Scan { pipeline, now: now_ms(), unsettled, lanes, begin: vec![], next }
    }

    /// The lane's head, if it can go now.
    fn next_in(&self, claim: &Claim) -> Result<Option<i64>, TransitionError> {
        if claim.is_to_rest() || !self.may_send() {
            return Ok(None);
        }
        let (unsettled, lane) = (self.0.outbox.store().unsettled_since(), claim.lane());
        let Some((head, pauses)) = self.0.outbox.head(lane)? else { return Ok(None) };
        let paused_until = self.paused_until(&pauses, lane);
        let now = now_ms();
        let goes = Turn::of(&head, paused_until, unsettled, now) == Turn::Now;
        Ok((goes && (head.deadline <= now || self.0.limiter.take(lane).is_ok())).then_some(head.seq))
    }

    /// Whether what becomes of a request could be written down.
    pub(super) fn may_send(&self) -> bool {
        self.0.outbox.store().space().look().sends()
    }
}
