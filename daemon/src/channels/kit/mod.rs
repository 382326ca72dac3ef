//! What several channels share, and the rest of the hub does not know.
//!
//! A channel takes from here what its platform needs. Nothing here knows a channel, or which there are.
//!
//! - [`http`]: an account's way to a platform that speaks HTTP, and what an answer means;
//! - [`websocket`]: a connection over which a platform speaks of its own accord;
//! - `body`: a file as it comes; `base64`: one that stands in an answer of JSON; `in_time`: how long one may take;
//! - [`history`]: a text whose answer was lost is looked for in the conversation;
//! - [`removals`]: what a platform's second answer to a removal means;
//! - `standing`: whether an account receives, and since when not; `rest` and `pause`: how long one that does not waits; `polling`: one that
//!   asks its platform again and again; `rounds`: one whose platform answers at once;
//! - `leaving`: one that stops listening writes down first what it has read;
//! - `json`: what is taken out of an answer of any kind; `slices`: JSON cut into parts that are read alone; `told`: what was handed over already;
//! - `mailbox` and `phone`: addresses of e-mail and telephone numbers, in their one spelling;
//! - `names`: what people and places are called, and which one that is; `letters`: what there is to read in a name.

pub(super) mod base64;
pub(super) mod body;
pub mod history;
pub mod http;
pub(super) mod in_time;
pub(super) mod json;
pub(super) mod leaving;
mod letters;
pub(super) mod mailbox;
pub(super) mod names;
pub(super) mod pause;
pub(super) mod phone;
pub(super) mod polling;
pub mod removals;
pub(super) mod rest;
pub(super) mod rounds;
pub(super) mod slices;
pub(super) mod standing;
pub(super) mod told;
pub mod websocket;
