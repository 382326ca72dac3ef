//! What is heard: activities as they are read, and what becomes of them at a hub.

mod readings;
mod taken;

use serde_json::{Value, json};

/// A message of Ann's in her own conversation with the bot, with these members in the place of its own.
fn message(more: Value) -> Value {
    let mut activity = json!({
        "type": "message", "id": "1700000000001", "timestamp": "2026-03-01T12:00:00.5Z", "channelId": "msteams",
        "serviceUrl": "https://smba.test/teams/", "textFormat": "plain", "text": "Is the oven on?",
        "from": {"id": "29:1ann", "name": "Ann Lee", "aadObjectId": "0DE69E5E-2da8-4cf2-821f-5e6585b2c65b"},
        "recipient": {"id": "28:app-1", "name": "Gatepost"},
        "conversation": {"id": "a:1abcdef", "conversationType": "personal", "tenantId": "t"},
        "channelData": {"tenant": {"id": "t"}},
    });
    for (name, value) in more.as_object().unwrap() {
        activity[name] = value.clone();
    }
    activity
}

/// The same in a channel, where the bot is called.
fn in_channel(more: Value) -> Value {
    let mut activity = message(json!({
        "conversation": {"id": "19:abc@thread.tacv2;messageid=1700000000000", "conversationType": "channel", "isGroup": true},
        "channelData": {"team": {"id": "19:t@thread.tacv2", "name": "House"}, "channel": {"id": "19:abc@thread.tacv2", "name": "Kitchen"}},
        "text": "<at>Gatepost</at> is the oven on?\n",
        "entities": [
            {"type": "clientInfo", "locale": "en-GB"},
            {"type": "mention", "text": "<at>Gatepost</at>", "mentioned": {"id": "28:app-1", "name": "Gatepost"}},
        ],
    }));
    for (name, value) in more.as_object().unwrap() {
        activity[name] = value.clone();
    }
    activity
}
