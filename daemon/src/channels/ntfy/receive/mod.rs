//! What is published to topics, as one long stream of lines (<https://docs.ntfy.sh/subscribe/api/>).
//!
//! The server keeps messages for some hours and tells them again from a time on, so that time is written down with the rows. It is
//! always a time, and never a message's id: of what was scheduled, or stored late, the server tells who goes on behind an id nothing.
//! A minute comes twice for that; each message has an id by which the hub knows it.
//!
//! Nobody says who published: whoever may write to the topic. So no author is ever vouched for.
//!
//! - `lines`: the stream as lines, within bounds;
//! - [`event`]: a line as what the hub receives, read without asking anybody;
//! - `files`: files, from the account's own server alone;
//! - `listen`: the loop over all of it.

pub mod event;
mod files;
mod lines;
mod listen;
#[cfg(test)]
mod tests;

pub(super) use self::listen::{Listener, MOST_TOPICS, Tempo};
