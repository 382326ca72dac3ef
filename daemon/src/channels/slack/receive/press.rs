//! Reads presses on buttons and choices of lists
//! (<https://docs.slack.dev/reference/interaction-payloads/block_actions-payload>).

use serde_json::Value;

use super::draft::{Draft, Ts, channel, not_used, somebody, unreadable};
use crate::channels::{
    received::{Author, Conversation, Dropped, Event, Received},
    slack::client::Me,
};

/// Elements of one payload; Slack sends one.
const MAX_ACTIONS: usize = 8;

/// Choices of a list (<https://docs.slack.dev/reference/block-kit/block-elements/multi-select-menu-element>).
const MAX_CHOSEN: usize = 100;

/// Reads one.
///
/// # Errors
/// It is no press on a message.
pub(super) fn read(payload: &Value, me: &Me) -> Result<Vec<Draft>, Dropped> {
    let kind = payload["type"].as_str().unwrap_or_default();
    if kind != "block_actions" {
        return Err(if kind.is_empty() { unreadable("interactive") } else { not_used(kind) });
    }
    let container = &payload["container"];
    if container["type"].as_str().is_some_and(|kind| kind != "message") {
        return Err(not_used("block_actions outside of a message"));
    }
    let place = [&container["channel_id"], &payload["channel"]["id"]].into_iter().find_map(channel);
    let message = [&container["message_ts"], &payload["message"]["ts"]].into_iter().find_map(Ts::of);
    let user = &payload["user"];
    let read = place.zip(message).zip(somebody(&user["id"], me));
    let Some(((channel, message), author)) = read else { return Err(unreadable("block_actions")) };
    let name = [&user["name"], &user["username"]].into_iter().find_map(Value::as_str).map(str::to_owned);
    let author = Author { name, ..author };
    let thread = [&container["thread_ts"], &payload["message"]["thread_ts"]].into_iter().find_map(Ts::of);
    let thread = thread.filter(|thread| *thread != message).map(|thread| thread.to_string());
    let mut drafts = Vec::new();
    for action in payload["actions"].as_array().into_iter().flatten().take(MAX_ACTIONS) {
        let Some(data) = data(action) else { continue };
        let when = Ts::of(&action["action_ts"]);
        let key = match (when, payload["trigger_id"].as_str()) {
            (Some(when), _) => format!("{channel}:{message}:{}:{when}:{data}", author.id),
            (None, Some(trigger)) => format!("{trigger}:{data}"),
            (None, None) => String::new(),
        };
        let received = Received {
            key,
            conversation: Conversation { thread: thread.clone(), ..Conversation::default() },
            author: author.clone(),
            message_id: Some(message.to_string()),
            said_at: when.and_then(Ts::at),
            mentions_me: true,
            event: Event::Press { data },
        };
        drafts.push(Draft { channel: channel.clone(), links: vec![], received });
    }
    // A button that opens an address says nothing.
    if drafts.is_empty() { Err(not_used("block_actions without data")) } else { Ok(drafts) }
}

/// What a press says: a button its data, a list its name and what was chosen.
fn data(action: &Value) -> Option<String> {
    if let Some(value) = action["value"].as_str() {
        return Some(value.to_owned());
    }
    let name: String = action["action_id"].as_str()?.chars().take(255).collect();
    let several = action["selected_options"].as_array().into_iter().flatten();
    let options = several.chain([&action["selected_option"]]).map(|option| &option["value"]);
    let others =
        ["selected_date", "selected_time", "selected_user", "selected_channel", "selected_conversation"];
    let others = others.into_iter().map(|member| &action[member]);
    let chosen: Vec<&str> = options.chain(others).filter_map(Value::as_str).take(MAX_CHOSEN).collect();
    (!chosen.is_empty()).then(|| format!("{name}={}", chosen.join(",")))
}
