//! Counting over time: the one mechanism behind every bound on how often something may happen. Whoever bounds something keeps its
//! numbers, and says what happens beyond them.
//!
//! - [`bucket`]: so many at once, and then one in each step of time. Requests to platforms
//!   ([`pipeline::rate_limiter`](crate::pipeline::rate_limiter)), messages of an agent ([`policy::rate`](crate::policy::rate)),
//!   packets of a login (the broker's connections);
//! - [`log`]: so many within any span, exactly. What leaves over Discord's Gateway, which ends a session for one too many;
//! - [`window`]: so many in each minute, and how many there were beyond. Lines about refusals, in the audit and in the log.
//!
//! What must outlive the process is a row and not here: pauses that platforms ask for ([`outbox::pauses`](crate::outbox::pauses)),
//! cards in an hour ([`approval::cards`](crate::approval::cards)).

pub mod bucket;
pub mod log;
pub mod window;
