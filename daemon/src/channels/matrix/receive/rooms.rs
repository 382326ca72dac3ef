//! What is known of the rooms that the account is in: what they are called, and how many are in them.

use std::collections::HashMap;

use super::{answer::RoomAnswer, event::RoomEvent};
use crate::channels::received::Conversation;

/// How many rooms are remembered. Of others nothing is known but their id.
const MAX_ROOMS: usize = 4096;

#[derive(Debug, Default)]
struct Room {
    name: Option<String>,
    alias: Option<String>,
    joined: Option<u64>,
    invited: Option<u64>,
}

/// The rooms that the account is in.
#[derive(Debug, Default)]
pub(super) struct Rooms(HashMap<String, Room>);

impl Rooms {
    /// Takes in what an answer says of a room.
    pub(super) fn learn(&mut self, told: &RoomAnswer) {
        if self.0.len() >= MAX_ROOMS && !self.0.contains_key(&told.id) {
            return;
        }
        let room = self.0.entry(told.id.clone()).or_default();
        // #get_matrixclientv3sync, RoomSummary: what did not change is left out.
        room.joined = told.joined_members.or(room.joined);
        room.invited = told.invited_members.or(room.invited);
        for event in told.state.iter().chain(told.timeline.iter().flatten()) {
            room.learn(event);
        }
    }

    /// Forgets one that the account has left.
    pub(super) fn forget(&mut self, room: &str) {
        self.0.remove(room);
    }

    /// Whether the account is in it, as far as is known.
    pub(super) fn knows(&self, room: &str) -> bool {
        self.0.contains_key(room)
    }

    /// The room as a conversation. It is direct while there is nobody in it, or asked into it, but the account and one other: that
    /// is the homeserver's word, where the mark of a direct chat is the inviter's.
    pub(super) fn conversation(&self, id: &str) -> Conversation {
        let room = self.0.get(id);
        let members = room.and_then(|room| Some(room.joined? + room.invited.unwrap_or(0)));
        Conversation {
            address: id.to_owned(),
            thread: None,
            direct: members == Some(2),
            title: room.and_then(|room| room.name.clone().or_else(|| room.alias.clone())),
        }
    }
}

impl Room {
    fn learn(&mut self, event: &RoomEvent) {
        if event.state_key.as_deref() != Some("") {
            return;
        }
        let text =
            |name: &str| event.content[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        match event.kind.as_str() {
            "m.room.name" => self.name = text("name"),
            "m.room.canonical_alias" => self.alias = text("alias"),
            _ => {}
        }
    }
}

/// What the members are called who are told of in these events.
pub(super) fn names<'a>(events: impl Iterator<Item = &'a RoomEvent>) -> HashMap<String, String> {
    let members = events.filter(|event| event.kind == "m.room.member");
    let named = members.filter_map(|event| {
        let name = event.content["displayname"].as_str()?;
        Some((event.state_key.clone()?, name.to_owned()))
    });
    named.collect()
}
