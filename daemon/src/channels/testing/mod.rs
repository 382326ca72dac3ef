//! What tests of channels stand on: a suite for all of them, what an adapter is handed, and a platform that follows a script.
//!
//! - [`contract`]: what every channel keeps, whichever platform is behind it;
//! - `answers`: any answer to every decoder;
//! - `sample`: parts, operations and files;
//! - `http`: a platform over HTTP;
//! - `hub`: a hub that remembers what an account received;
//! - `skeleton`: a channel that was only begun. `cargo xtask new-channel` copies it, and the suite is tried on it.
//!
//! A platform that one channel alone has, such as a mail server, is played in that channel's own folder.

mod answers;
pub(crate) mod contract;
pub(super) mod http;
pub(crate) mod hub;
pub(super) mod sample;
pub(super) mod skeleton;
