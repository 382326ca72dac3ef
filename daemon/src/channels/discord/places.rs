//! What Discord told of channels, people and servers: remembered, within bounds.
//!
//! What is remembered never changes in a channel's life, but for its name, which is only shown; how large a file a server takes has the time at which it was told.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// How many channels are remembered at most; then it begins anew.
const MOST: usize = 2048;

/// What kinds of channels there are that matter here
/// (<https://docs.discord.com/developers/resources/channel#channel-object-channel-types>).
pub(super) mod kind {
    pub(in super::super) const TEXT: u64 = 0;
    pub(in super::super) const DM: u64 = 1;
    pub(in super::super) const ANNOUNCEMENT: u64 = 5;
    pub(in super::super) const ANNOUNCEMENT_THREAD: u64 = 10;
    pub(in super::super) const PUBLIC_THREAD: u64 = 11;
    pub(in super::super) const FORUM: u64 = 15;
    pub(in super::super) const MEDIA: u64 = 16;
}

/// What Discord says of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) kind: u64,
    /// The server that it belongs to.
    pub(super) guild: Option<String>,
    /// The channel that it is a thread of.
    pub(super) parent: Option<String>,
    /// With whom it is a conversation.
    pub(super) person: Option<String>,
    /// What it was called when it was asked about.
    pub(super) name: Option<String>,
}

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) channels: Mutex<HashMap<String, Place>>,
    /// Each person's channel.
    pub(super) people: Mutex<HashMap<String, String>>,
    /// The bot's own role in each server, where it has one.
    pub(super) own_roles: Mutex<HashMap<String, Option<String>>>,
    /// How large a file each server takes, and when it said so.
    pub(super) largest: Mutex<HashMap<String, (u64, Instant)>>,
}

impl Places {
    /// The server of an address, if it was looked up before.
    pub(super) fn known_guild(&self, to: &str) -> Option<String> {
        lock(&self.channels).get(to)?.guild.clone()
    }
}

#[cfg(test)]
impl Places {
    /// As if this had been asked before.
    pub(super) fn learn(&self, channel: &str, place: Place) {
        remember(&self.channels, channel.to_owned(), place);
    }
}

pub(super) fn remember<T>(known: &Mutex<HashMap<String, T>>, what: String, value: T) {
    let mut known = lock(known);
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(what, value);
}

pub(super) fn lock<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
