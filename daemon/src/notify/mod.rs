//! Telling the person, where they are, that something waits for them: a message from the hub itself to the targets of
//! `[person] notify`, through the gate like any other.
//!
//! It is a link and a count, never a decision: whoever runs the server that it goes through could press a button in it, and nobody but an
//! approver decides. It is rare, for who is told too often reads nothing: what comes within [`GAP_MS`] is told together.
//!
//! - [`plan`]: what is to be told now, and when to look again;
//! - [`words`]: what it says;
//! - [`book`]: what was told, so that nothing is told twice after a start;
//! - [`runner`]: whoever waits for that.

mod book;
mod plan;
pub mod runner;
mod words;

use serde::Deserialize;

use crate::{heartbeat::schedule::Hours, message::target::Destination};

/// Between two notifications, in milliseconds.
const GAP_MS: i64 = 120_000;

/// After one that reached nobody, in milliseconds.
const RETRY_MS: i64 = 600_000;

/// How much a notification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    /// How many wait.
    #[default]
    Count,
    /// And which agent wants to write where.
    Who,
    /// And how the text begins.
    Text,
}

/// Who is told, and what.
#[derive(Debug, Clone)]
pub struct Notify {
    /// Where: addresses, each on its channel.
    pub targets: Vec<Destination>,
    /// How much it says.
    pub show: Show,
    /// The address of the hub's page, without a slash at its end.
    pub page: String,
    /// When it may be told.
    pub hours: Hours,
}

/// Something that people are asked. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Waiting {
    /// The request.
    request: [u8; 16],
    /// Since when.
    asked_at: i64,
    /// Until when.
    deadline: i64,
    /// Who wants to send it.
    agent: String,
    /// Where to.
    target: String,
    /// Its text; nothing unless a notification shows it.
    text: String,
}

impl Waiting {
    /// When it is told again: a quarter of the time is left.
    const fn again_at(&self) -> i64 {
        self.deadline - (self.deadline - self.asked_at) / 4
    }
}
