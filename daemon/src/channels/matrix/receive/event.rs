//! One event of a room, and what it says of others.

use serde_json::Value;

use crate::channels::received::{DropReason, Dropped};

/// The kinds of events by whose names a drop may be listed. Whoever sends an event chooses its kind, so any other name may be
/// words of theirs.
const NAMED: &[&str] = &[
    "m.reaction",
    "m.room.avatar",
    "m.room.canonical_alias",
    "m.room.create",
    "m.room.encrypted",
    "m.room.encryption",
    "m.room.guest_access",
    "m.room.history_visibility",
    "m.room.join_rules",
    "m.room.member",
    "m.room.message",
    "m.room.name",
    "m.room.pinned_events",
    "m.room.power_levels",
    "m.room.redaction",
    "m.room.server_acl",
    "m.room.tombstone",
    "m.room.topic",
    "m.sticker",
    "org.matrix.msc3381.poll.end",
    "org.matrix.msc3381.poll.response",
    "org.matrix.msc3381.poll.start",
];

/// An event as every room has them
/// (<https://spec.matrix.org/v1.18/client-server-api/#room-event-format>).
#[derive(Debug, Clone)]
pub(super) struct RoomEvent {
    /// Empty in the state that comes with an invitation.
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) sender: String,
    /// Milliseconds since 1970, by the clock of the sender's server.
    pub(super) at: Option<i64>,
    pub(super) content: Value,
    /// Of whom or what it is the state; none of an event that is no state.
    pub(super) state_key: Option<String>,
    /// The membership that a member had before.
    pub(super) before: Option<String>,
    redacts: Option<String>,
}

impl RoomEvent {
    /// Reads one.
    ///
    /// # Errors
    /// It is no JSON object with a kind and a sender.
    pub(super) fn parse(json: &str) -> Result<Self, Dropped> {
        let unreadable = || dropped(DropReason::Unreadable, "event");
        let mut event: Value = serde_json::from_str(json).map_err(|_| unreadable())?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let kind = text(&event["type"]).ok_or_else(unreadable)?;
        let sender = text(&event["sender"]).filter(|id| id.starts_with('@')).ok_or_else(unreadable)?;
        Ok(Self {
            id: text(&event["event_id"]).unwrap_or_default(),
            at: event["origin_server_ts"].as_i64().filter(|at| *at >= 0),
            content: event["content"].take(),
            state_key: text(&event["state_key"]),
            before: text(&event["unsigned"]["prev_content"]["membership"])
                .or_else(|| text(&event["prev_content"]["membership"])),
            // Beside the content until room version 11 (<https://spec.matrix.org/v1.18/rooms/v11/>).
            redacts: text(&event["redacts"]),
            kind,
            sender,
        })
    }

    /// That it goes no further, for this reason.
    pub(super) fn drop_as(&self, reason: DropReason) -> Dropped {
        let named = NAMED.iter().find(|kind| **kind == self.kind);
        dropped(reason, named.copied().unwrap_or("another kind"))
    }

    /// The event that it replaces, annotates or refers to, as its relation says
    /// (<https://spec.matrix.org/v1.18/client-server-api/#forming-relationships-between-events>).
    pub(super) fn related(&self, how: &str) -> Option<&str> {
        let relates = &self.content["m.relates_to"];
        relates["event_id"].as_str().filter(|_| relates["rel_type"] == how)
    }

    /// The root of its thread.
    pub(super) fn thread(&self) -> Option<&str> {
        self.related("m.thread")
    }

    /// The event that it answers. In a thread, clients name the event before it for programs that know no threads
    /// (<https://spec.matrix.org/v1.18/client-server-api/#fallback-for-unthreaded-clients>); nobody meant that as an answer.
    pub(super) fn answers(&self) -> Option<&str> {
        let relates = &self.content["m.relates_to"];
        let falls_back = relates["rel_type"] == "m.thread" && relates["is_falling_back"] == true;
        relates["m.in_reply_to"]["event_id"].as_str().filter(|_| !falls_back)
    }

    /// The event that it redacts.
    pub(super) fn redacts(&self) -> Option<&str> {
        self.content["redacts"]
            .as_str()
            .or(self.redacts.as_deref())
            .filter(|_| self.kind == "m.room.redaction")
    }

    /// The event without which it cannot be told: what it changes, takes back or answers.
    pub(super) fn about(&self) -> Option<&str> {
        match self.kind.as_str() {
            "m.room.redaction" => self.redacts(),
            "m.reaction" => self.related("m.annotation"),
            kind if is_poll(kind, "response") => self.related("m.reference"),
            "m.room.message" => self.related("m.replace").or_else(|| self.answers()),
            _ => self.answers(),
        }
    }

    /// Whether with it this user came into the room, who was `there` before as far as is known.
    pub(super) fn brings(&self, user: &str, there: bool) -> bool {
        let joins = self.kind == "m.room.member"
            && self.state_key.as_deref() == Some(user)
            && self.content["membership"] == "join";
        joins && self.before.as_deref().map_or(!there, |before| before != "join")
    }
}

/// Whether it is this kind of a poll's event, by the name that clients use or the stable one
/// (<https://github.com/matrix-org/matrix-spec-proposals/blob/main/proposals/3381-polls.md>).
pub(super) fn is_poll(kind: &str, what: &str) -> bool {
    ["org.matrix.msc3381.poll.", "m.poll."].iter().any(|prefix| kind.strip_prefix(prefix) == Some(what))
}

/// What is left out.
pub(super) fn dropped(reason: DropReason, what: &str) -> Dropped {
    Dropped { reason, what: what.to_owned() }
}
