//! Who goes next: one message at a time to one conversation, in order, when it is due.
//!
//! The head of a lane blocks its lane until it is final, also while it waits for its next attempt: what was written
//! second must not arrive first. Nothing here polls: the loop sleeps until something changes or the next time that
//! matters, whichever comes first.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::broadcast::error::TryRecvError;

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
const RECOVER: Duration = Duration::from_secs(1);

type Busy = Arc<Mutex<HashSet<Lane>>>;

impl Pipeline {
    /// Sends what is due and expires what is over, for ever.
    pub async fn dispatch(self) {
        let busy = Busy::default();
        let mut changes = self.0.outbox.changes();
        loop {
            // What is read next shows everything that these were about.
            while !matches!(changes.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {}
            let next = match self.round(&busy).await {
                Ok(next) => next.map(|at| Duration::from_millis(u64::try_from(at - now_ms()).unwrap_or(0))),
                Err(error) => {
                    tracing::error!(%error, "cannot look after the queue");
                    Some(RECOVER)
                }
            };
            // Any change wakes up, missed ones too; so does the time that matters next.
            match next {
                None => drop(changes.recv().await),
                Some(wait) => drop(tokio::time::timeout(wait, changes.recv()).await),
            }
        }
    }

    /// Starts everything that is due; says when something else will be.
    async fn round(&self, busy: &Busy) -> Result<Option<i64>, TransitionError> {
        let expiry = self.0.approvals.expire().await?;
        let now = now_ms();
        let mut next = expiry;
        let mut sooner = |at: i64| next = Some(next.map_or(at, |next: i64| next.min(at)));
        for head in self.0.outbox.heads().await? {
            if head.deadline <= now && head.state == State::Ready {
                self.give_up(&head).await?;
                sooner(now);
            } else if head.due_at > now {
                sooner(head.due_at.min(head.deadline));
            } else if claim(busy, &head.lane()) {
                let (pipeline, busy) = (self.clone(), Arc::clone(busy));
                tokio::spawn(async move {
                    let done = match head.state {
                        // Nobody has its lane: writing down what became of it failed the last time.
                        State::Sending => pipeline.take_up(&head).await,
                        _ => pipeline.send(head.seq).await,
                    };
                    if let Err(error) = done {
                        tracing::error!(message = head.id, %error, "cannot write down what became of a message");
                        tokio::time::sleep(RECOVER).await;
                    }
                    free(&busy, &head.lane());
                    pipeline.0.outbox.changed(head.seq);
                });
            }
        }
        Ok(next)
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

/// Whether the lane was free; it is taken now.
fn claim(busy: &Busy, lane: &Lane) -> bool {
    busy.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(lane.clone())
}

fn free(busy: &Busy, lane: &Lane) {
    busy.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(lane);
}
