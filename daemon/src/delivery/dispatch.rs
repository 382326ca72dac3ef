//! Who goes next: one message at a time to one conversation, in order, when it is due.
//!
//! A message joins its lane when it is released; the head blocks its lane until it is final, also while it waits for its
//! next attempt: what was written second must not arrive first. Nothing here polls: the loop sleeps until something
//! changes or the next time that matters, whichever comes first.
//!
//! What the loop read may be old by the time it acts, so whoever takes a lane looks again before touching its head.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::{broadcast::error::TryRecvError, oneshot},
    task::JoinSet,
};

use super::Pipeline;
use crate::{
    message::{
        refusal::Code,
        state::{Event, State},
    },
    outbox::{
        row::{Lane, MessageRow},
        transition::{self, Change, TransitionError},
    },
    store::now_ms,
};

/// After a failure of the database, before trying again.
pub(super) const RECOVER: Duration = Duration::from_secs(1);

/// While the disk has no room for an outcome, or the clock is not settled, before looking again. Milliseconds.
const PAUSED: i64 = 1_000;

#[derive(Clone, Default)]
struct Lanes(Arc<Mutex<HashSet<Lane>>>);

/// A lane that is taken; free again when this goes, however it goes.
struct Claim {
    lanes: Lanes,
    lane: Lane,
}

impl Lanes {
    fn claim(&self, lane: Lane) -> Option<Claim> {
        let free = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(lane.clone());
        free.then(|| Claim { lanes: self.clone(), lane })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.lanes.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&self.lane);
    }
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
            let next = match self.round(&lanes, &mut sending).await {
                Ok(next) => next.map(|at| Duration::from_millis(u64::try_from(at - now_ms()).unwrap_or(0))),
                Err(error) => {
                    tracing::error!(%error, "cannot look after the queue");
                    Some(RECOVER)
                }
            };
            tokio::select! {
                // Any change wakes up, missed ones too.
                _ = changes.recv() => {}
                () = tokio::time::sleep(next.unwrap_or(Duration::MAX)) => {}
                _ = &mut stop => break,
            }
        }
        sending.join_all().await;
    }

    /// Starts everything that is due; says when something else will be.
    async fn round(&self, lanes: &Lanes, sending: &mut JoinSet<()>) -> Result<Option<i64>, TransitionError> {
        if !self.may_send() {
            return Ok(Some(now_ms().saturating_add(PAUSED)));
        }
        let unsettled = self.0.outbox.store().unsettled_since();
        let mut next = match unsettled {
            None => self.0.approvals.expire().await?,
            Some(_) => Some(now_ms().saturating_add(PAUSED)),
        };
        let now = now_ms();
        for head in self.0.outbox.heads().await? {
            // Whether its time is over, or has come, nobody knows before the clock is settled.
            if unsettled.is_some_and(|since| head.accepted_at < since) {
                continue;
            }
            let due = head.due_at.min(head.deadline);
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
            } else if let Some(claim) = lanes.claim(head.lane()) {
                let pipeline = self.clone();
                sending.spawn(async move {
                    if let Err(error) = pipeline.advance(head.seq).await {
                        tracing::error!(message = head.id, %error, "cannot write down what became of a message");
                        tokio::time::sleep(RECOVER).await;
                    }
                    drop(claim);
                    pipeline.0.outbox.changed(head.seq);
                });
            }
        }
        Ok(next)
    }

    /// Takes a lane's head as far as it goes now.
    async fn advance(&self, seq: i64) -> Result<(), TransitionError> {
        let (head, now) = (self.0.outbox.get(seq).await?, now_ms());
        let done = match head.state {
            State::Ready if head.deadline <= now => self.give_up(&head).await,
            State::Ready if head.due_at <= now => self.send(seq).await,
            // Nobody has its lane: writing down what became of it failed the last time.
            State::Sending => self.take_up(&head).await,
            _ => Ok(()),
        };
        match done {
            // Somebody was faster, with a cancellation for one.
            Err(TransitionError::Illegal(_)) => Ok(()),
            done => done,
        }
    }

    /// Whether what becomes of a request could be written down.
    pub(super) fn may_send(&self) -> bool {
        self.0.outbox.store().space().look().sends()
    }

    async fn give_up(&self, head: &MessageRow) -> Result<(), TransitionError> {
        let seq = head.seq;
        let reason = match &head.reason {
            Some(last) => format!("its time was over; the last attempt said: {last}"),
            None => "its time was over before it could be sent".to_owned(),
        };
        self.0
            .outbox
            .change(seq, move |tx| {
                let change = Change::hub(Event::Fail, Some(&reason)).code(Code::Expired);
                transition::apply(tx, seq, &change)
            })
            .await?;
        Ok(())
    }
}
