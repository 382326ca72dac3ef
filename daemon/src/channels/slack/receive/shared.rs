//! What stands in a message of others' messages that it hands on: their words, or a line that says what else they are.
//!
//! Whatever it is, it is somebody else's. So each of them is told in some way: one that left no trace would make the words beside it,
//! "do as she says", the sender's alone.

use serde_json::Value;

use crate::channels::received::{MAX_FILES, missing};

/// Messages that one hands on, as far as they are looked at.
const MAX_SHARED: usize = 4;
/// Elements of blocks whose text is looked at, and how deep they may lie: a section of a list of a quotation.
const MAX_ELEMENTS: usize = 500;
const MAX_DEPTH: usize = 6;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) texts: Vec<String>,
    /// What of it is not here, a line each.
    pub(super) missing: Vec<String>,
}

/// Reads all that a message hands on: its attachments with `is_share`, which Slack makes of a shared message
/// (<https://docs.slack.dev/messaging/formatting-message-text#attachments> has the members of others).
pub(super) fn read(message: &Value) -> Shared {
    let mut shared = Shared::default();
    let all = message["attachments"].as_array().into_iter().flatten().filter(|one| one["is_share"] == true);
    let mut left = 0_usize;
    for (n, one) in all.enumerate() {
        match n < MAX_SHARED {
            true => shared.add(one),
            false => left += 1,
        }
    }
    if left > 0 {
        shared.missing.push(missing("shared messages", &format!("{left} more are not read")));
    }
    shared
}

impl Shared {
    fn add(&mut self, one: &Value) {
        let (texts, missing_before) = (self.texts.len(), self.missing.len());
        let own = one["text"].as_str().map(str::to_owned).filter(|text| !text.trim().is_empty());
        self.texts.extend(own.or_else(|| in_blocks(one)));
        for file in one["files"].as_array().into_iter().flatten().take(MAX_FILES) {
            let name = ["name", "title"].iter().find_map(|member| file[*member].as_str());
            let why = "it is in a message that was shared: ask for the file itself";
            self.missing.push(missing(name.filter(|name| !name.is_empty()).unwrap_or("file"), why));
        }
        if (self.texts.len(), self.missing.len()) == (texts, missing_before) {
            self.missing.push(missing("shared message", "it has no words that can be read"));
        }
    }
}

/// The text of the blocks of a shared message, which has none beside them
/// (<https://docs.slack.dev/reference/block-kit/blocks/rich-text-block>): its elements' texts, blocks on lines of their own.
fn in_blocks(one: &Value) -> Option<String> {
    let of_messages = one["message_blocks"].as_array().into_iter().flatten();
    let blocks = of_messages.map(|of_message| &of_message["message"]["blocks"]).chain([&one["blocks"]]);
    let (mut text, mut left) = (String::new(), MAX_ELEMENTS);
    for block in blocks.filter_map(Value::as_array).flatten() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        gather(block, &mut text, &mut left, MAX_DEPTH);
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn gather(element: &Value, text: &mut String, left: &mut usize, depth: usize) {
    if *left == 0 || depth == 0 {
        return;
    }
    *left -= 1;
    // A text object, or the text itself. Only in the text of messages is it escaped.
    let object = &element["text"];
    match (object.as_str(), element["url"].as_str(), element["user_id"].as_str()) {
        (Some(own), ..) => text.push_str(&escaped(own)),
        (None, Some(url), _) => text.push_str(&escaped(url)),
        (None, None, Some(user)) => text.push_str(&escaped(&format!("@{user}"))),
        (None, None, None) => match object["text"].as_str() {
            Some(own) if object["type"] == "mrkdwn" => text.push_str(own),
            Some(own) => text.push_str(&escaped(own)),
            None => {}
        },
    }
    for inner in element["elements"].as_array().into_iter().flatten() {
        gather(inner, text, left, depth - 1);
    }
}

/// <https://docs.slack.dev/messaging/formatting-message-text#escaping>.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
