//! What happens to a call before its row is written, and to the row before anybody is asked: from the call to `ready`, `held` or
//! `failed`.
//!
//! - [`submit`]: the checks on admission, and the write that precedes the answer; [`broadcast`]: the same for several targets;
//! - [`agreed`]: the same for the text of a heartbeat, to which an operator has agreed beforehand;
//! - [`locate`]: where the messages are that a call names;
//! - [`plan`]: what a message becomes: target, parts. Pure;
//! - [`verdict`]: who it is to, and what policy says of that;
//! - [`hooks`]: the owner's programs, which may change or cancel a message;
//! - [`prepare`]: an accepted message is hooked, judged, rendered, and held or released;
//! - [`looks`]: how a held message looks where it goes;
//! - [`dry_run`], [`places`]: what would become of a call, and where it would go;
//! - [`recover`]: what a restart makes of what was only accepted.

pub mod agreed;
mod broadcast;
pub mod dry_run;
pub mod hooks;
mod locate;
pub mod looks;
pub mod places;
pub mod plan;
mod prepare;
pub mod recover;
pub mod submit;
mod verdict;
