//! Agents that do not ask for their turns are brought them: a program is run, a service is called, or a model is asked.
//!
//! Whoever is woken here takes its turns as a polling program does, by a lease, and ends them by the same reply: what is leased, what
//! is given out again and what was sent already is one mechanism for all. A target that is away loses no turn: what nobody has begun
//! is put back without an attempt spent, and the next call waits, longer each time.
//!
//! - [`stop`]: how that ends;
//! - [`runner`]: the turns of one agent, some at once;
//! - [`at_work`]: one turn, from its lease to its end;
//! - [`backoff`]: when a target that failed is called again;
//! - [`command`], [`url`], [`openai`]: the three ways;
//! - [`words`]: what was said, as text.

mod at_work;
mod backoff;
pub mod command;
pub mod openai;
mod runner;
mod stop;
pub mod url;
mod words;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use self::{command::Command, openai::Model, stop::Stop, url::Service};
use crate::{message::call::MAX_TEXT, pipeline::current::Current};

/// How long the turns under way may take to be given back when the hub stops.
pub(crate) const LEAVE: Duration = Duration::from_secs(2);

/// The longest reply, in bytes: as long as the text of a turn may be.
pub(super) const MAX_REPLY: usize = 2 * MAX_TEXT;

/// How an agent is brought its turns.
pub struct Waker {
    /// The agent.
    pub agent: String,
    /// The way.
    pub way: Way,
    /// How long a turn may take.
    pub timeout: Duration,
    /// Turns at once.
    pub at_once: usize,
    /// What it was built from: by this one that has not changed is known.
    pub fingerprint: String,
}

/// The three ways.
pub enum Way {
    /// A program is run.
    Command(Command),
    /// A service is called.
    Url(Service),
    /// A model is asked.
    OpenAi(Model),
}

/// What becomes of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// It ends with this reply: the members of `POST /v1/reply` but for those that prove whose turn it is.
    Reply(Value),
    /// The program has it, and ends it itself.
    TakenOver,
    /// It was begun, and not ended.
    Failed(String),
    /// Nobody has begun it.
    Away(String),
}

/// All agents that are brought their turns. Clones share them.
#[derive(Clone)]
pub struct Wakers(Arc<Shared>);

struct Shared {
    current: Current,
    /// Nothing, once the hub stops.
    running: Mutex<Option<Vec<Running>>>,
}

struct Running {
    name: String,
    fingerprint: String,
    stop: watch::Sender<Stop>,
    task: JoinHandle<()>,
}

impl Wakers {
    /// None yet, of this hub.
    pub fn of(current: &Current) -> Self {
        Self(Arc::new(Shared { current: current.clone(), running: Mutex::new(Some(Vec::new())) }))
    }

    /// Brings agents their turns as these say from here on. One that is gone or different takes no more, and what it has begun goes on
    /// to its end; one that is the same goes on.
    pub fn follow(&self, mut wakers: BTreeMap<String, Waker>) {
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = running.as_mut() else { return };
        running.retain(|one| !one.task.is_finished());
        for one in running.iter().filter(|one| *one.stop.borrow() == Stop::No) {
            match wakers.get(&one.name) {
                Some(waker) if waker.fingerprint == one.fingerprint => _ = wakers.remove(&one.name),
                _ => _ = one.stop.send_replace(Stop::Later),
            }
        }
        for (name, waker) in wakers {
            let (stop, stopped) = watch::channel(Stop::No);
            let fingerprint = waker.fingerprint.clone();
            let task = tokio::spawn(runner::run(self.0.current.clone(), Arc::new(waker), stopped));
            running.push(Running { name, fingerprint, stop, task });
        }
    }

    /// Brings nobody anything more, and gives back what is under way: the next start takes it up.
    pub async fn leave(&self) {
        let running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let running = running.unwrap_or_default();
        for one in &running {
            one.stop.send_replace(Stop::Now);
        }
        let (mut tasks, aborts): (Vec<_>, Vec<_>) =
            running.into_iter().map(|one| (one.task.abort_handle(), one.task)).map(|(a, t)| (t, a)).unzip();
        if timeout(LEAVE, futures_util::future::join_all(&mut tasks)).await.is_err() {
            tracing::warn!(
                "some turns were not given back in time; they are given out again when their lease has run out"
            );
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}
