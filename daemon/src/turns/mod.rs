//! Turns: what an agent is woken for, once for each thing that wakes it, whatever crashes.
//!
//! What one author writes in one thread is gathered for a moment; what comes behind a turn waits for the next. An agent program
//! takes a turn by a lease, and ends it by its reply; a lease that runs out gives the turn to the next taker, with what was sent
//! already. One turn of a session is leased at a time.
//!
//! - [`open`]: a turn begins, or grows;
//! - [`lease`]: it is taken, kept, handed back and ended;
//! - [`expiry`]: what is taken back from who does not end it;
//! - [`trust`]: how far its words are trusted now;
//! - [`stored`]: how what was received stands in its row;
//! - [`items`]: what its taker is told;
//! - [`listing`]: what a person is told;
//! - [`wake`]: whoever waits for one hears that there is one.

pub mod expiry;
pub mod items;
pub mod lease;
pub mod listing;
pub mod open;
pub mod stored;
#[cfg(test)]
mod tests;
pub mod trust;
pub mod wake;

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A turn begins so long after the last line of its author, in milliseconds: people write in several lines.
pub const GATHER_MS: i64 = 1_000;
/// A turn begins at the latest so long after the first line, in milliseconds.
pub const GATHER_MOST_MS: i64 = 10_000;
/// How long a lease lasts if its taker says nothing and the configuration does not say, in milliseconds.
pub const LEASE_MS: i64 = 5 * 60_000;
/// How long a turn waits for a taker, in milliseconds.
pub const WAIT_MS: i64 = 24 * 3_600_000;
/// Before a turn is given out again: the second time at once, the third after a minute, in milliseconds. After as many leases as
/// there are pauses, and one more, it has failed.
pub const PAUSES_MS: [i64; 3] = [0, 60_000, 300_000];
/// The most items of a turn that wake its agent; the next begins another turn.
pub const MAX_ITEMS: u32 = 50;
/// The most items beside them that the agent is told; older ones are left out, and counted.
pub const MAX_LOOSE: u32 = 50;
/// The most items that a taker is shown at once: the newest of a turn that grew beyond that while an agent was at it.
pub const MAX_SHOWN: u32 = MAX_ITEMS * 2 + MAX_LOOSE;
/// The most turns of a session that wait. Whoever writes, a quarter of them is left for what owners do, and a half for words: presses and
/// votes are turns of their own, and anybody makes many of them in a second.
pub const MAX_WAITING_OF_SESSION: u32 = 20;
/// The most turns of an agent that wait, in the same shares.
pub const MAX_WAITING_OF_AGENT: u32 = 200;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $item:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$doc])* $item,)*
        }

        impl $name {
            /// The word by which it is stored and told.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$item => $word,)*
                }
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$item),)*
                    _ => Err(FromSqlError::InvalidType),
                }
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.word().into())
            }
        }
    };
}

words! {
    /// Where a turn is.
    TurnState {
        /// Nobody has taken it.
        Waiting = "waiting",
        /// An agent program is at it.
        Leased = "leased",
        /// It has ended.
        Done = "done",
        /// Nobody ended it.
        Failed = "failed",
    }
}

words! {
    /// What woke the agent.
    Cause {
        /// Somebody wrote.
        Message = "message",
        /// A task of its own was due.
        Task = "task",
        /// Its heartbeat.
        Heartbeat = "heartbeat",
        /// Another agent wrote.
        Agent = "agent",
        /// The hub itself.
        System = "system",
    }
}
