//! What people write to the bot, by long polling (<https://core.telegram.org/bots/api#getupdates>).
//!
//! `getUpdates` acknowledges what was read before by its `offset`. So that is on disk, in the transaction of the rows, before it
//! is ever sent: a kill at any instruction repeats updates, which their keys tell, and loses none. Nothing that an update has in
//! it stops the account: what cannot be read is counted and passed by.
//!
//! - `read`: what an update becomes, and what all kinds of them have;
//! - `update`: one update, read without asking anybody; its parts are `message`, `words` and `entities`;
//! - `album`: pictures that were sent together become one message;
//! - `polls`: in which conversation a poll stands, which its answers do not tell;
//! - `place`: how far the account has read;
//! - `requests` and `files`: what is asked of Telegram;
//! - `listen`: the loop over all of it.

mod album;
mod entities;
mod files;
mod listen;
mod message;
mod place;
pub(super) mod polls;
mod read;
mod requests;
#[cfg(test)]
mod tests;
mod update;
mod words;

use serde_json::Value;

pub(super) use self::listen::{Listener, Tempo};
pub use self::read::Me;
use super::super::{
    kit::http::Answer,
    received::{Dropped, Received},
};

/// What a body of an answer to `getUpdates` tells, for tests with any bytes: what an account would hand over, without its files.
pub fn read(body: &[u8], me: &Me) -> (Vec<Received>, Vec<Dropped>) {
    let (mut received, mut dropped) = (Vec::new(), Vec::new());
    let Ok(answer) = Answer::decode(reqwest::StatusCode::OK, None, body) else { return (received, dropped) };
    let Ok(Value::Array(updates)) = super::answer::result(answer) else { return (received, dropped) };
    let polls = polls::Polls::default();
    let mut read: Vec<_> = updates.iter().map(|update| update::read(update, me, &polls)).collect();
    album::merge(&mut read);
    for mut update in read {
        received.extend(update.events.drain(..).map(|event| event.received));
        dropped.append(&mut update.dropped);
    }
    (received, dropped)
}
