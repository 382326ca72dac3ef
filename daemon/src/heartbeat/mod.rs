//! Heartbeats: an agent is woken from time to time to look whether something needs doing, and may say what it found to one target
//! that the operator has chosen.
//!
//! A heartbeat runs while nobody watches, so each step can end it and none of them guesses. Elsewhere one cost $248 on an idle
//! session (openclaw#98556), ran although it was off (openclaw#64293), spoke into a group (openclaw#65847), and stood still for 64
//! hours because of a text of its own that could not be delivered (openclaw#79258).
//!
//! - [`schedule`]: when the next one is due, and when none is;
//! - [`beat`]: one look, by the facts of [`guards`], and the turn that it opens;
//! - [`runner`]: looks when the time has come;
//! - [`goal`], [`target`]: to whom its text goes, and whether that is possible now;
//! - [`words`]: what its text says once the tokens are off, and whether it is shown;
//! - [`deliver`]: how the text goes there;
//! - [`state`]: what the database remembers of each agent's heartbeat;
//! - [`list`]: the file of things to look after;
//! - [`listing`]: what an operator and an agent see of all this.
//!
//! The text that a heartbeat's turn returns goes to its target without a hold: an operator has named it. All else that the turn sends
//! leaves a turn that is in no conversation, and is judged as such.

pub mod beat;
pub mod deliver;
pub mod goal;
pub mod guards;
pub mod list;
pub mod listing;
pub mod runner;
pub mod schedule;
pub mod state;
pub mod target;
pub mod words;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use self::{goal::Goal, schedule::Hours, words::Visibility};
use crate::store::now_ms;

/// The session of an agent's heartbeats: theirs alone, so that nothing that a stranger wrote is read in one.
pub const SESSION: &str = "hub/heartbeat";
/// The most heartbeats of an agent in a day of its time zone.
pub const MAX_A_DAY: u32 = 48;
/// So many failures in a row stop the heartbeat.
pub const MAX_FAILURES: u32 = 3;

/// The longest sleep between two looks at the clock: a board that was suspended, or whose time was set, is not late by more.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// Between two looks if nobody has a heartbeat. A reload wakes at once.
const IDLE: Duration = Duration::from_hours(1);

/// One agent's heartbeat, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Between two of them.
    pub every: Duration,
    /// To whom its text goes.
    pub goal: Goal,
    /// The hub's account that it goes from.
    pub account: Option<String>,
    /// The hours in which there are any.
    pub hours: Hours,
    /// The file of things to look after.
    pub list: Option<PathBuf>,
    /// What the agent is told, instead of the hub's own words.
    pub prompt: Option<String>,
    /// What of its text is shown.
    pub visibility: Visibility,
}

/// What time it is. A port: a month passes in a test without a moment's sleep.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970.
    fn now(&self) -> i64;
}

/// The hub's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> i64 {
        now_ms()
    }
}

/// All heartbeats, and the clock that they go by. Clones share them.
#[derive(Clone)]
pub struct Heartbeats {
    plans: Arc<BTreeMap<String, Plan>>,
    clock: Arc<dyn Clock>,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self::new(BTreeMap::new(), Arc::new(System))
    }
}

impl fmt::Debug for Heartbeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plans.fmt(f)
    }
}

impl Heartbeats {
    /// Those that are on, by their agents.
    pub fn new(plans: BTreeMap<String, Plan>, clock: Arc<dyn Clock>) -> Self {
        Self { plans: Arc::new(plans), clock }
    }

    /// An agent's.
    pub fn of(&self, agent: &str) -> Option<&Plan> {
        self.plans.get(agent)
    }

    /// What time it is.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    pub(super) fn agents(&self) -> impl Iterator<Item = (&str, &Plan)> {
        self.plans.iter().map(|(agent, plan)| (agent.as_str(), plan))
    }
}
