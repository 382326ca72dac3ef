//! Platforms of our own, for those that have none to test against.
//!
//! Each speaks HTTP on loopback and is as strict as its platform's documentation, which it names beside each rule: what the
//! documentation forbids is refused, and an unknown field fails the test. What a test wants refused for once, it says
//! beforehand ([`MockServer::next`]); any documented error can be had that way.

pub mod bluebubbles;
pub(crate) mod endpoint;
pub mod evolution;
pub mod googlechat;
pub mod imsg;
mod mock_server;
pub mod pubsub;
pub mod signal;
pub mod teams;
pub mod webhook;
pub mod whatsapp;
mod wire;

pub use mock_server::{Answer, MockServer, Request};
pub use wire::Wire;

use serde_json::Value;

/// Whether an object has all of `must` and beside them only what is in `may`; else what is wrong.
fn members(object: &Value, must: &[&str], may: &[&str]) -> Result<(), String> {
    let Some(object) = object.as_object() else { return Err(format!("{object} is no object")) };
    for name in must {
        if !object.contains_key(*name) {
            return Err(format!("{name} is missing"));
        }
    }
    match object.keys().find(|name| !must.contains(&name.as_str()) && !may.contains(&name.as_str())) {
        Some(name) => Err(format!("{name} is unknown")),
        None => Ok(()),
    }
}

/// A text of at most so many characters, and not empty.
fn text<'a>(object: &'a Value, name: &str, most: usize) -> Result<&'a str, String> {
    let text = object[name].as_str().ok_or(format!("{name} is no text"))?;
    match text.chars().count() {
        0 => Err(format!("{name} is empty")),
        long if long > most => Err(format!("{name} has {long} characters, at most {most} are taken")),
        _ => Ok(text),
    }
}
