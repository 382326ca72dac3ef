//! Tasks: what an agent wants to be woken for later, once or again and again, each time once, whatever crashes.
//!
//! A task that is bound to a conversation is due there, and is trusted as far as the turn that scheduled it: a stranger's words put off
//! until later are a stranger's words still. One that is bound to none is in no conversation, and only an owner's turn, or an agent
//! that nobody's words woke, may schedule it. What was due while the hub was off is due once, late.
//!
//! - [`schedule`]: when a task is due, read from what was written;
//! - [`book`]: which tasks there are;
//! - [`due`]: one that is due becomes a turn;
//! - [`runner`]: whoever waits for that.

pub mod book;
pub mod due;
pub mod runner;
pub mod schedule;
#[cfg(test)]
mod tests;

/// The most tasks of an agent that are still to be due.
pub const MAX_TASKS: u32 = 50;
/// The most tasks that an agent schedules in 24 hours: a loop that schedules and cancels fills no disk.
pub const MAX_SCHEDULED_A_DAY: u32 = 200;
/// How often all tasks of an agent are due on one day (UTC), together. What is more is due late, on the next day.
pub const MAX_RUNS_A_DAY: u32 = 200;
/// The longest prompt, in bytes.
pub const MAX_PROMPT_BYTES: usize = 4_000;
/// A task that is due so long after its time is late, in milliseconds.
pub const LATE_MS: i64 = 60_000;
/// Before the next look after an agent that has too much to do, in milliseconds.
const FULL_MS: i64 = 60_000;
/// Before the next look after an agent that the configuration does not have, in milliseconds.
const NOBODY_MS: i64 = 3_600_000;
/// A day, in milliseconds.
const DAY_MS: i64 = 86_400_000;
