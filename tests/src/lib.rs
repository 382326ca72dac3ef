//! What the whole-system tests stand on.
//!
//! - [`peers`]: servers and judges that we did not write;
//! - [`hub`]: hubs that they meet: one in this process, with a companion, and one that is a process of its own;
//! - [`mocks`]: platforms of our own, for those that have none to test against;
//! - [`adapter`]: a channel without a hub, and what it makes of a text;
//! - [`files`]: what tests of files that go along have in common;
//! - [`documents`]: Markdown that renderers fall over;
//! - [`torture`]: a platform that answers badly, and the books that are kept of it;
//! - [`main_job`]: the way of one message, as every broker and channel must let it go.
//!
//! The tests themselves are in `tests/tests`, a program for each room of the hub, a module for each thing that they are about.

pub mod adapter;
pub mod authenticator;
pub mod documents;
pub mod files;
pub mod hub;
pub mod main_job;
pub mod mocks;
pub mod peers;
pub mod release;
pub mod torture;
