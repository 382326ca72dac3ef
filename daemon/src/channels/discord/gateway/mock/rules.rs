//! What may be said to the Gateway, as <https://docs.discord.com/developers/events/gateway-events#send-events> has it.

use serde_json::{Value, json};

/// What an account hears: nothing, people, and all that they write.
const INTENTS: [u64; 3] = [0, 50_345_472, 50_378_240];

/// The code with which Discord closes a connection over which this is said, if it may not be.
///
/// Who `receives` acknowledges what it has written down, which may be less than what it was told.
pub(super) fn wrong(event: &Value, begun: bool, token: &str, seq: u64, receives: bool) -> Option<u16> {
    let (op, d) = (event["op"].as_u64().unwrap_or(99), event["d"].clone());
    let only = |value: &Value, names: &[&str]| {
        value.as_object().is_some_and(|object| object.keys().all(|name| names.contains(&name.as_str())))
    };
    match op {
        _ if !only(event, &["op", "d"]) => Some(4002),
        // Whoever has heard nothing yet says null.
        1 if receives => d.as_u64().is_some_and(|heard| heard > seq).then_some(4007),
        1 => (d != json!(seq) && !d.is_null()).then_some(4007),
        2 | 6 if begun => Some(4005),
        2 | 6 if d["token"] != token => Some(4004),
        2 => {
            let about = &d["properties"];
            let is_one = only(&d, &["token", "properties", "intents", "presence"])
                && ["os", "browser", "device"].iter().all(|name| about[name].is_string())
                && only(about, &["os", "browser", "device"])
                && INTENTS.iter().any(|intents| d["intents"] == *intents)
                && d.get("presence").is_none_or(is_presence);
            (!is_one).then_some(4002)
        }
        6 => (!only(&d, &["token", "session_id", "seq"]) || !d["seq"].is_u64()).then_some(4002),
        _ if !begun => Some(4003),
        3 => (!is_presence(&d)).then_some(4002),
        _ => Some(4001),
    }
}

/// <https://docs.discord.com/developers/events/gateway-events#update-presence-gateway-presence-update-structure>; of activities
/// a bot may set `name`, `state`, `type` and `url` alone.
fn is_presence(d: &Value) -> bool {
    let is_activity = |activity: &Value| {
        let Some(members) = activity.as_object() else { return false };
        members.keys().all(|name| ["name", "state", "type", "url"].contains(&name.as_str()))
            && activity["name"].as_str().is_some_and(|name| (1..=128).contains(&name.chars().count()))
            && activity["type"].as_u64().is_some_and(|kind| kind <= 5)
            && activity["state"].as_str().is_none_or(|state| state.chars().count() <= 128)
    };
    let known = ["since", "activities", "status", "afk"];
    d.as_object().is_some_and(|members| {
        members.len() == 4 && members.keys().all(|name| known.contains(&name.as_str()))
    }) && (d["since"].is_null() || d["since"].is_u64())
        && d["activities"].as_array().is_some_and(|list| list.iter().all(is_activity))
        && ["online", "dnd", "idle", "invisible", "offline"].iter().any(|status| d["status"] == *status)
        && d["afk"].is_boolean()
}
