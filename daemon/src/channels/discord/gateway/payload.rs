//! What is said over the Gateway: events as JSON (<https://docs.discord.com/developers/events/gateway-events>).

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::{channels::discord::presence::Presence, settings::secret::Secret};

/// <https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-opcodes>.
pub(super) mod op {
    pub(in super::super) const DISPATCH: u64 = 0;
    pub(in super::super) const HEARTBEAT: u64 = 1;
    pub(in super::super) const IDENTIFY: u64 = 2;
    pub(in super::super) const PRESENCE: u64 = 3;
    pub(in super::super) const RESUME: u64 = 6;
    pub(in super::super) const RECONNECT: u64 = 7;
    pub(in super::super) const INVALID_SESSION: u64 = 9;
    pub(in super::super) const HELLO: u64 = 10;
    pub(in super::super) const HEARTBEAT_ACK: u64 = 11;
}

/// The longest event that is read whole, in bytes. Whatever tells of people's doing is far shorter. The first one, which names the bot's
/// servers, may be longer, and those that tell of a whole server: two and a half thousand servers at most for one connection
/// (<https://docs.discord.com/developers/events/gateway#sharding>).
pub(super) const MAX_WHOLE: usize = 1024 * 1024;

/// Something that Discord says.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) op: u64,
    #[serde(default)]
    pub(super) d: Value,
    /// Its number, of a dispatch.
    #[serde(default)]
    pub(super) s: Option<u64>,
    /// Its name, of a dispatch.
    #[serde(default)]
    pub(super) t: Option<String>,
}

impl Event {
    /// Reads one. Of one whose data cannot be read, half a surrogate pair or too deep, the rest is read: it is told again until its
    /// number is past. So it is with one that is long, but for what the first one says of the session.
    pub(super) fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Outline<D> {
            op: u64,
            s: Option<u64>,
            t: Option<String>,
            d: D,
        }
        #[derive(Serialize, Deserialize)]
        struct Ready {
            session_id: String,
            resume_gateway_url: String,
            user: Bot,
        }
        #[derive(Serialize, Deserialize)]
        struct Bot {
            id: String,
        }
        if text.len() <= MAX_WHOLE
            && let Ok(event) = serde_json::from_str(text)
        {
            return Some(event);
        }
        let Outline { op, s, t, d: IgnoredAny } = serde_json::from_str(text).ok()?;
        let mut d = Value::Null;
        if t.as_deref() == Some("READY")
            && let Ok(Outline { d: ready, .. }) = serde_json::from_str::<Outline<Ready>>(text)
        {
            d = json!(ready);
        }
        (op == op::DISPATCH).then_some(Self { op, d, s, t })
    }
}

/// A session that can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Session {
    pub(in super::super) id: String,
    /// Where.
    pub(in super::super) url: String,
    /// The number of the last dispatch.
    pub(in super::super) seq: u64,
}

/// Changes the bot's status.
pub(super) fn show(presence: &Presence) -> Value {
    json!({"op": op::PRESENCE, "d": presence.body()})
}

/// What is heard beside what concerns the bot itself (<https://docs.discord.com/developers/events/gateway#list-of-intents>): none of
/// `GUILDS`, which tells of whole servers at once, more than is read.
pub(in super::super) mod intent {
    const GUILD_MESSAGES: u64 = 1 << 9;
    const GUILD_MESSAGE_REACTIONS: u64 = 1 << 10;
    const DIRECT_MESSAGES: u64 = 1 << 12;
    const DIRECT_MESSAGE_REACTIONS: u64 = 1 << 13;
    const GUILD_MESSAGE_POLLS: u64 = 1 << 24;
    const DIRECT_MESSAGE_POLLS: u64 = 1 << 25;

    /// For who only sends.
    pub(in super::super::super) const NONE: u64 = 0;
    /// What people write, react with and vote. Without the next, an event has its words only in a conversation with the bot and
    /// where the bot is mentioned.
    pub(in super::super::super) const PEOPLE: u64 = GUILD_MESSAGES
        | GUILD_MESSAGE_REACTIONS
        | DIRECT_MESSAGES
        | DIRECT_MESSAGE_REACTIONS
        | GUILD_MESSAGE_POLLS
        | DIRECT_MESSAGE_POLLS;
    /// All words. It takes a switch in the developer portal.
    pub(in super::super::super) const MESSAGE_CONTENT: u64 = 1 << 15;
}

/// Begins a session, in which this is heard. Without intents nothing is but what concerns the bot itself
/// (<https://docs.discord.com/developers/events/gateway#gateway-intents>).
pub(super) fn identify(token: &Secret, presence: Option<&Presence>, intents: u64) -> Value {
    let properties = json!({"os": std::env::consts::OS, "browser": "gatepost", "device": "gatepost"});
    let mut body = json!({"token": token.expose(), "properties": properties, "intents": intents});
    if let Some(presence) = presence {
        body["presence"] = presence.body();
    }
    json!({"op": op::IDENTIFY, "d": body})
}

/// Goes on with one.
pub(super) fn resume(token: &Secret, session: &Session) -> Value {
    let body = json!({"token": token.expose(), "session_id": session.id, "seq": session.seq});
    json!({"op": op::RESUME, "d": body})
}

/// Says that somebody is still there, and how far they have heard.
pub(super) fn heartbeat(seq: Option<u64>) -> Value {
    json!({"op": op::HEARTBEAT, "d": seq})
}

/// What Discord means by closing a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// The session may go on.
    Resumable,
    /// Another one may begin.
    Over,
    /// The token is none. A new one may be put in its place.
    Token,
    /// Nothing will change before somebody does something about it: this.
    Final(&'static str),
}

/// <https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes>.
pub(super) fn closed(code: u16) -> Closed {
    match code {
        // A session that is over, or of which Discord knows another number.
        4003 | 4007 | 4009 => Closed::Over,
        4004 => Closed::Token,
        4010 => Closed::Final("Discord calls the shard invalid, of which there is none"),
        4011 => Closed::Final(
            "the bot is in so many servers that Discord wants it in shards, which this hub does not make",
        ),
        4012 => Closed::Final("Discord no longer speaks this version of its Gateway: update the hub"),
        4013 => Closed::Final("Discord refuses what the bot wants to hear of (intents)"),
        4014 => Closed::Final(
            "Discord does not let the bot read all messages (intents): in the developer portal, switch Message Content Intent on under \
             Bot, or set the account's message_content to false; then restart the hub",
        ),
        _ => Closed::Resumable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::discord::presence::{MAX_TEXT, Status};

    #[test]
    fn of_a_long_event_only_what_is_used_is_read() {
        let long = |name: &str, data: &str| {
            let filling = "x".repeat(MAX_WHOLE);
            Event::read(&format!(r#"{{"op":0,"s":7,"t":"{name}","d":{{{data}"guilds":["{filling}"]}}}}"#))
                .unwrap()
        };
        let ready = r#""session_id":"s1","resume_gateway_url":"wss://a.test","user":{"id":"5","bot":true},"#;
        let event = long("READY", ready);
        assert_eq!((event.s, event.t.as_deref()), (Some(7), Some("READY")));
        assert_eq!(
            event.d,
            json!({"session_id": "s1", "resume_gateway_url": "wss://a.test", "user": {"id": "5"}})
        );
        for event in [long("GUILD_CREATE", ready), long("GUILD_CREATE", ""), long("READY", "")] {
            assert_eq!((event.s, event.d), (Some(7), Value::Null));
        }
    }

    #[test]
    fn a_status_is_what_discord_calls_it_and_its_text_a_custom_one() {
        let presence = |status, text: Option<&str>| show(&Presence { status, text: text.map(str::to_owned) });
        assert_eq!(
            presence(Status::Dnd, Some("In the garden")),
            json!({"op": 3, "d": {
                "since": null, "afk": false, "status": "dnd",
                "activities": [{"name": "Custom Status", "type": 4, "state": "In the garden"}],
            }})
        );
        let idle = presence(Status::Idle, None);
        assert_eq!((&idle["d"]["status"], &idle["d"]["activities"]), (&json!("idle"), &json!([])));
        assert!(idle["d"]["since"].as_i64().unwrap() > 1_700_000_000_000);
        assert_eq!(presence(Status::Invisible, None)["d"]["status"], "invisible");
    }

    #[test]
    fn the_largest_that_is_sent_is_within_what_discord_takes() {
        // "Must not exceed 4096 bytes" (<https://docs.discord.com/developers/events/gateway#sending-events>).
        let widest = Presence { status: Status::Online, text: Some("\u{1F9D9}".repeat(MAX_TEXT)) };
        let token = Secret::from("t".repeat(200).as_str());
        let all = intent::PEOPLE | intent::MESSAGE_CONTENT;
        assert!(identify(&token, Some(&widest), all).to_string().len() <= 4096);
        assert!(identify(&token, None, intent::NONE)["d"].get("presence").is_none());
    }

    #[test]
    fn what_never_changes_by_itself_is_told_from_what_does() {
        for code in [1000, 1006, 4000, 4001, 4002, 4005, 4008, 4999] {
            assert_eq!(closed(code), Closed::Resumable, "{code}");
        }
        assert_eq!([closed(4007), closed(4009), closed(4004)], [Closed::Over, Closed::Over, Closed::Token]);
        assert!((4010..=4014).all(|code| matches!(closed(code), Closed::Final(_))));
    }
}
