//! What `/sync` and `/messages` answer, cut into rooms and events
//! (<https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3sync>).

use super::{
    event::{RoomEvent, dropped},
    receipts,
};
use crate::channels::{
    kit::slices::{at, elements_at, members, text_at},
    matrix::target::canonical,
    received::{DropReason, Dropped, Seen},
};

/// An answer of `/sync`.
#[derive(Debug, Default)]
pub(super) struct SyncAnswer {
    /// Where to go on.
    pub(super) next_batch: String,
    pub(super) rooms: Vec<RoomAnswer>,
    pub(super) invitations: Vec<Invitation>,
    /// Rooms that could not be read.
    pub(super) dropped: Vec<Dropped>,
}

/// What is new in a room.
#[derive(Debug, Default)]
pub(super) struct RoomAnswer {
    pub(super) id: String,
    /// Whether the account is out of it since.
    pub(super) left: bool,
    /// Whether there was more than the timeline has.
    pub(super) limited: bool,
    /// Where that begins, backwards.
    pub(super) prev_batch: Option<String>,
    pub(super) joined_members: Option<u64>,
    pub(super) invited_members: Option<u64>,
    pub(super) state: Vec<RoomEvent>,
    /// Oldest first.
    pub(super) timeline: Vec<Result<RoomEvent, Dropped>>,
    /// What people have read.
    pub(super) seen: Vec<Seen>,
}

/// Somebody asks the account into a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invitation {
    pub(super) room: String,
    pub(super) inviter: String,
    pub(super) event: Option<String>,
    pub(super) at: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) name: Option<String>,
}

/// A page of a room's past.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Newest first.
    pub(super) events: Vec<Result<RoomEvent, Dropped>>,
    /// Who wrote them.
    pub(super) state: Vec<RoomEvent>,
    /// Where the next one begins; nothing where it is over.
    pub(super) end: Option<String>,
}

impl SyncAnswer {
    /// Reads one for this user; nothing if it is none.
    pub(super) fn read(json: &str, me: &str) -> Option<Self> {
        let next_batch = text_at(json, &["next_batch"]).filter(|token| !token.is_empty())?;
        let mut answer = Self { next_batch, ..Self::default() };
        let section = |name: &str| at(json, &["rooms", name]).and_then(members).unwrap_or_default();
        for (name, left) in [("join", false), ("leave", true)] {
            for (id, room) in section(name) {
                match is_room(&id).then(|| RoomAnswer::read(id, room, left, me)).flatten() {
                    Some(room) => answer.rooms.push(room),
                    None => answer.dropped.push(dropped(DropReason::Unreadable, "room")),
                }
            }
        }
        for (id, room) in section("invite") {
            match is_room(&id).then(|| Invitation::read(id, room, me)).flatten() {
                Some(invitation) => answer.invitations.push(invitation),
                None => answer.dropped.push(dropped(DropReason::Unreadable, "invitation")),
            }
        }
        Some(answer)
    }
}

fn is_room(id: &str) -> bool {
    id.starts_with('!') && canonical(id).is_ok()
}

impl RoomAnswer {
    fn read(id: String, json: &str, left: bool, me: &str) -> Option<Self> {
        members(json)?;
        let number = |name| serde_json::from_str(at(json, &["summary", name])?).ok();
        Some(Self {
            seen: receipts::seen(&id, json, me),
            id,
            left,
            limited: at(json, &["timeline", "limited"]) == Some("true"),
            prev_batch: text_at(json, &["timeline", "prev_batch"]),
            joined_members: number("m.joined_member_count"),
            invited_members: number("m.invited_member_count"),
            state: state(json, &["state", "events"]),
            timeline: elements_at(json, &["timeline", "events"]).into_iter().map(RoomEvent::parse).collect(),
        })
    }
}

impl Invitation {
    /// #get_matrixclientv3sync, `invite_state`: the member event of who is invited, and some of the room's state.
    ///
    /// The inviting server writes all of that but the invitation itself, which Synapse puts last without looking at the rest
    /// (MSC4311). So the account's own membership has to be there once: of two, one may be forged in another's name. The same of what
    /// cannot be read.
    fn read(room: String, json: &str, me: &str) -> Option<Self> {
        let events = elements_at(json, &["invite_state", "events"]);
        let state: Vec<RoomEvent> =
            events.into_iter().map(|event| RoomEvent::parse(event).ok()).collect::<Option<_>>()?;
        let is_mine =
            |event: &&RoomEvent| event.kind == "m.room.member" && event.state_key.as_deref() == Some(me);
        let mut own = state.iter().filter(is_mine);
        let (Some(mine), None) = (own.next(), own.next()) else { return None };
        if mine.content["membership"] != "invite" {
            return None;
        }
        let named = state.iter().find(|event| event.kind == "m.room.name");
        let inviter = state.iter().find(|event| {
            event.kind == "m.room.member" && event.state_key.as_deref() == Some(mine.sender.as_str())
        });
        let text = |event: Option<&RoomEvent>, name: &str| event?.content[name].as_str().map(str::to_owned);
        Some(Self {
            room,
            inviter: mine.sender.clone(),
            event: Some(mine.id.clone()).filter(|id| !id.is_empty()),
            at: mine.at,
            title: text(named, "name"),
            name: text(inviter, "displayname"),
        })
    }
}

impl Page {
    /// Reads one; nothing if it is none
    /// (<https://spec.matrix.org/v1.18/client-server-api/#get_matrixclientv3roomsroomidmessages>).
    pub(super) fn read(json: &str) -> Option<Self> {
        members(json)?;
        Some(Self {
            events: elements_at(json, &["chunk"]).into_iter().map(RoomEvent::parse).collect(),
            state: state(json, &["state"]),
            end: text_at(json, &["end"]),
        })
    }
}

/// The events of a state that can be read. It is what the account knows and no words of anybody's, so the others are not counted.
fn state(json: &str, path: &[&str]) -> Vec<RoomEvent> {
    elements_at(json, path).into_iter().filter_map(|event| RoomEvent::parse(event).ok()).collect()
}
