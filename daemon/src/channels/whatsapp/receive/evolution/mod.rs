//! What an Evolution API keeps of a phone's session.
//!
//! Its notifications stop silently (<https://github.com/EvolutionAPI/evolution-api/issues/665>) and are not repeated. So what it keeps
//! is the truth, and is asked for: at the start, each minute, and at once when a notification comes. What it no longer keeps, or never
//! did, only a notification tells: who came to a group, and that a message of long ago was taken back.
//!
//! - `record`: a message as it is kept; `content`: what one says; `people`: who is who, and which of them is the account;
//! - `event`: a notification; `poll`: the loop, `asking`: its questions; `files`: files; `signs`: what people see meanwhile.

mod asking;
mod content;
mod event;
mod files;
mod people;
mod poll;
mod record;
mod signs;

use serde_json::Value;

pub(in crate::channels::whatsapp) use self::{
    poll::{Listener, Tempo},
    signs::TYPING,
};
use crate::channels::received::{Dropped, Received};

/// What bytes tell, for tests with any of them: what an account whose instance has this name and whose number is this would hand over,
/// without its files. They are an answer with messages, or a notification.
pub fn read(body: &[u8], instance: &str, number: &str) -> (Vec<Received>, Vec<Dropped>) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut me = people::Me::default();
    me.learn(&Value::String(format!("{number}@s.whatsapp.net")));
    let (mut received, mut dropped) = (Vec::new(), Vec::new());
    for one in body.pointer("/messages/records").and_then(Value::as_array).into_iter().flatten() {
        me.learn_from(one);
        match record::read(one, &me) {
            Ok(drafts) => received.extend(drafts.into_iter().map(|draft| draft.received)),
            Err(not) => dropped.push(not),
        }
    }
    let told = event::read(&body, instance, &me);
    received.extend(told.received);
    dropped.extend(told.dropped);
    (received, dropped)
}
