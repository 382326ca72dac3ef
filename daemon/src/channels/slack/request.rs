//! What a part or an operation becomes: a method of the Web API, and its arguments as they are sent.
//!
//! The stored request has everything but the token, the part's key, and what only the moment of sending knows: the
//! conversation behind a person's id, and the id of a file that is uploaded then.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{blocks, emoji, target};
use crate::{
    channels::{OperationRequest, OutgoingPart, Refused, sender::members},
    message::operation::{Extras, Operation, Presence},
    render::Part,
};

/// <https://docs.slack.dev/reference/methods/chat.postMessage>
pub(super) const POST: &str = "chat.postMessage";
/// <https://docs.slack.dev/reference/methods/files.completeUploadExternal>
pub(super) const SHARE: &str = "files.completeUploadExternal";

/// <https://docs.slack.dev/reference/methods/chat.delete>
const DELETE: &str = "chat.delete";
/// <https://docs.slack.dev/reference/methods/files.delete>
const DELETE_FILE: &str = "files.delete";

/// Whether an id is a file's: a message's is a time.
pub(super) fn is_file(id: &str) -> bool {
    id.starts_with('F') && id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The method.
    pub(super) method: String,
    /// Its arguments.
    pub(super) body: Map<String, Value>,
    /// The file that is uploaded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<File>,
}

/// A file, until it has an id at Slack.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// `attachment:` and its hash.
    pub(super) source: String,
    /// What people see.
    pub(super) name: String,
}

impl Request {
    /// What Slack will not take of it, by what stands in it alone.
    pub(super) fn unfit(&self) -> Option<String> {
        target::unfit(&self.body)
    }

    /// Whether it removes a message or a file.
    pub(super) fn is_removal(&self) -> bool {
        [DELETE, DELETE_FILE].contains(&self.method.as_str())
    }

    /// An argument that is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.body.get(name)?.as_str()
    }
}

/// The request of a part.
pub(super) fn compose(outgoing: &OutgoingPart<'_>) -> Request {
    let thread = outgoing.thread.or(outgoing.reply_to);
    if let Some(file) = outgoing.files.first() {
        let mut body = json!({ "channel_id": outgoing.address });
        // Slack takes either, and shows the comment alone where it gets both.
        match blocks::of(outgoing.part, outgoing.extras) {
            Some(blocks) => body["blocks"] = blocks,
            None if outgoing.part.text.is_empty() => {}
            None => body["initial_comment"] = json!(outgoing.part.text),
        }
        if let Some(thread) = thread {
            body["thread_ts"] = json!(thread);
        }
        let file = File { source: file.reference(), name: file.name.clone() };
        return Request { file: Some(file), ..request(SHARE, body) };
    }
    let blocks = blocks::of(outgoing.part, outgoing.extras);
    let text =
        if outgoing.part.text.is_empty() { escaped(outgoing.headline) } else { notified(outgoing.part) };
    post(outgoing.address, thread, &text, blocks)
}

/// The request of what is no new text; none for what a bot cannot do.
pub(super) fn compose_operation(op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    let channel = op.address;
    let thread = op.thread.or(op.reply_to);
    Some(Ok(match op.operation {
        Operation::React { message, .. }
        | Operation::Pin { message }
        | Operation::Unpin { message }
        | Operation::Edit { message }
            if is_file(message) =>
        {
            return Some(Err(Refused::because(
                "that is a file's id, for Slack did not say which message it became: a file can only be deleted by it; for all else, open the message in Slack and copy its link's last part",
            )));
        }
        Operation::Poll(poll) => post(channel, thread, &escaped(&poll.question), Some(blocks::poll(poll))),
        Operation::Thread { name, message } => {
            let name = format!("*{}*", escaped(name));
            let Some(part) = op.part else { return Some(Ok(post(channel, message.as_deref(), &name, None))) };
            let whole = Part { text: format!("{name}\n{}", part.text), ..part.clone() };
            let text = format!("{name}\n{}", notified(part));
            post(channel, message.as_deref(), &text, blocks::of(&whole, Extras::NONE))
        }
        Operation::React { message, emoji, remove } => {
            let method = if *remove { "reactions.remove" } else { "reactions.add" };
            request(method, json!({ "channel": channel, "timestamp": message, "name": emoji::name(emoji) }))
        }
        // Unlike those of a new message, its defaults look for names and links. The blocks that showed the text before
        // would stay in front of the new one.
        Operation::Edit { message } => request(
            "chat.update",
            json!({
                "channel": channel,
                "ts": message,
                "text": notified(op.part?),
                "blocks": blocks::of(op.part?, Extras::NONE).unwrap_or_else(|| json!([])),
                "parse": "none",
                "link_names": false,
            }),
        ),
        // What the receipt names where Slack did not say which message a file became.
        Operation::Delete { message } if is_file(message) => request(DELETE_FILE, json!({ "file": message })),
        Operation::Delete { message } => request(DELETE, json!({ "channel": channel, "ts": message })),
        Operation::Pin { message } => {
            request("pins.add", json!({ "channel": channel, "timestamp": message }))
        }
        Operation::Unpin { message } => {
            request("pins.remove", json!({ "channel": channel, "timestamp": message }))
        }
        // A status' text takes a person's token (users.profile.set), and "do not disturb" does too.
        Operation::Presence { text: Some(_), .. } | Operation::Presence { status: Presence::Busy, .. } => {
            return None;
        }
        Operation::Presence { status, .. } => {
            let presence = if *status == Presence::Online { "auto" } else { "away" };
            request("users.setPresence", json!({ "presence": presence }))
        }
        Operation::Send(_) | Operation::Timeout { .. } | Operation::Kick { .. } | Operation::Ban { .. } => {
            return None;
        }
    }))
}

/// What a notification reads, where blocks show the text; else the text itself.
fn notified(part: &Part) -> String {
    part.preview.as_deref().map_or_else(|| part.text.clone(), escaped)
}

fn post(channel: &str, thread: Option<&str>, text: &str, blocks: Option<Value>) -> Request {
    let mut body = json!({
        "channel": channel,
        "text": text,
        "mrkdwn": true,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if let Some(thread) = thread {
        body["thread_ts"] = json!(thread);
    }
    if let Some(blocks) = blocks {
        body["blocks"] = blocks;
    }
    request(POST, body)
}

fn request(method: &str, body: Value) -> Request {
    Request { method: method.to_owned(), body: members(body), file: None }
}

/// Words in which no sign means anything in mrkdwn (<https://docs.slack.dev/messaging/formatting-message-text>); marks of
/// style are harmless.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::{
            slack::scenarios::outgoing,
            testing::sample::{file, part},
        },
        message::operation::{Button, Extras, Poll, Press},
    };

    fn compose(outgoing: &OutgoingPart<'_>) -> Value {
        json!(super::compose(outgoing))
    }

    fn compose_operation(op: &OperationRequest<'_>) -> Option<Value> {
        super::compose_operation(op).map(crate::channels::testing::sample::json_of)
    }

    fn post_of(text: &str) -> Value {
        json!({
            "channel": "C012AB3CD",
            "text": text,
            "mrkdwn": true,
            "parse": "none",
            "link_names": false,
            "unfurl_links": false,
            "unfurl_media": false,
        })
    }

    #[test]
    fn a_letter_becomes_this_message() {
        let part = part("*Hello*");
        assert_eq!(compose(&outgoing(&part)), json!({ "method": POST, "body": post_of("*Hello*") }));
    }

    #[test]
    fn a_notification_reads_no_spoiler() {
        let document = crate::render::parse("**It** was ||the butler & co||.");
        let parts =
            crate::render::render(&document, &crate::channels::slack::profile::FORMAT.flavour).unwrap();
        let message = compose(&outgoing(&parts[0]))["body"].clone();
        assert_eq!(message["text"], "It was (spoiler).");
        assert_eq!(message["blocks"][0]["text"]["text"], "*It* was (spoiler) the butler &amp; co.");
        for operation in [
            Operation::Edit { message: "1.1".into() },
            Operation::Thread { name: "Whodunit".into(), message: None },
        ] {
            let message =
                compose_operation(&crate::channels::testing::sample::op("C1", &operation, Some(&parts[0])))
                    .unwrap()["body"]
                    .clone();
            assert!(!message["text"].to_string().contains("butler"), "{message}");
            assert!(message["blocks"].to_string().contains("butler"), "{message}");
        }
    }

    #[test]
    fn a_thread_and_an_answer_are_both_the_thread_of_a_message() {
        let part = part("Hello");
        for (thread, reply_to, ts) in
            [(Some("1.1"), None, "1.1"), (None, Some("2.2"), "2.2"), (Some("1.1"), Some("2.2"), "1.1")]
        {
            assert_eq!(
                compose(&OutgoingPart { thread, reply_to, ..outgoing(&part) })["body"]["thread_ts"],
                ts
            );
        }
    }

    #[test]
    fn a_file_is_a_request_of_its_own_with_its_caption() {
        let (with, without, files) = (part("*June*"), part(""), [file("a b.txt", "text/plain", b"hello")]);
        let request = compose(&OutgoingPart { files: &files, thread: Some("1.1"), ..outgoing(&with) });
        assert_eq!(
            request,
            json!({
                "method": SHARE,
                "body": { "channel_id": "C012AB3CD", "initial_comment": "*June*", "thread_ts": "1.1" },
                "file": { "source": files[0].reference(), "name": "a b.txt" },
            })
        );
        let request = compose(&OutgoingPart { files: &files, ..outgoing(&without) });
        assert_eq!(request["body"], json!({ "channel_id": "C012AB3CD" }));
        let pressed = Button { text: "Yes".into(), press: Press::Data("y".into()) };
        let extras = Extras { buttons: vec![vec![pressed]], ..Extras::default() };
        let request = compose(&OutgoingPart { files: &files, extras: &extras, ..outgoing(&with) });
        assert_eq!(request["body"]["blocks"][0]["text"]["text"], "*June*");
        assert_eq!(
            (&request["body"]["blocks"][1]["type"], &request["body"]["initial_comment"]),
            (&json!("actions"), &Value::Null)
        );
    }

    #[test]
    fn buttons_stand_in_blocks_and_the_text_is_what_a_notification_reads() {
        let part = part("Tea?");
        let extras = Extras {
            buttons: vec![vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }]],
            ..Extras::default()
        };
        let request = compose(&OutgoingPart { extras: &extras, ..outgoing(&part) });
        assert_eq!(
            (&request["body"]["text"], &request["body"]["blocks"][0]["text"]["text"]),
            (&json!("Tea?"), &json!("Tea?"))
        );
        assert_eq!(request["body"]["blocks"][1]["type"], "actions");
    }

    fn acted(operation: &Operation) -> Option<Value> {
        let part = part("New");
        compose_operation(&OperationRequest {
            address: "C012AB3CD",
            thread: None,
            reply_to: None,
            silent: false,
            operation,
            part: Some(&part),
        })
    }

    #[test]
    fn every_act_has_its_method() {
        let message = || "1.1".to_owned();
        let on = |extra: Value| {
            let mut body = json!({ "channel": "C012AB3CD" });
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            body
        };
        for (operation, method, body) in [
            (
                Operation::React { message: message(), emoji: "👍".into(), remove: false },
                "reactions.add",
                on(json!({ "timestamp": "1.1", "name": "+1" })),
            ),
            (
                Operation::React { message: message(), emoji: ":tada:".into(), remove: true },
                "reactions.remove",
                on(json!({ "timestamp": "1.1", "name": "tada" })),
            ),
            (
                Operation::Edit { message: message() },
                "chat.update",
                on(json!({ "ts": "1.1", "text": "New", "blocks": [], "parse": "none", "link_names": false })),
            ),
            (Operation::Delete { message: message() }, "chat.delete", on(json!({ "ts": "1.1" }))),
            (
                Operation::Delete { message: "F012AB3CD".into() },
                "files.delete",
                json!({ "file": "F012AB3CD" }),
            ),
            (Operation::Pin { message: message() }, "pins.add", on(json!({ "timestamp": "1.1" }))),
            (Operation::Unpin { message: message() }, "pins.remove", on(json!({ "timestamp": "1.1" }))),
            (
                Operation::Presence { status: Presence::Away, text: None },
                "users.setPresence",
                json!({ "presence": "away" }),
            ),
            (
                Operation::Presence { status: Presence::Online, text: None },
                "users.setPresence",
                json!({ "presence": "auto" }),
            ),
            (Operation::Thread { name: "A <b>".into(), message: None }, POST, post_of("*A &lt;b&gt;*\nNew")),
        ] {
            assert_eq!(acted(&operation), Some(json!({ "method": method, "body": body })), "{operation:?}");
        }
        let thread = acted(&Operation::Thread { name: "A".into(), message: Some(message()) }).unwrap();
        assert_eq!(thread["body"]["thread_ts"], "1.1");
    }

    #[test]
    fn a_poll_is_a_question_with_a_button_for_each_answer() {
        let poll = Poll {
            question: "Tea & cake?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: false,
            seconds: None,
            anonymous: None,
        };
        let request = acted(&Operation::Poll(poll)).unwrap();
        assert_eq!(request["body"]["text"], "Tea &amp; cake?");
        assert_eq!(request["body"]["blocks"][0]["text"]["text"], "Tea & cake?");
        let values: Vec<&Value> = request["body"]["blocks"][1]["elements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|button| &button["value"])
            .collect();
        assert_eq!(values, ["poll:0", "poll:1"]);
    }

    #[test]
    fn what_a_bot_cannot_do_becomes_nothing() {
        let user = || "U012AB3CD".to_owned();
        for operation in [
            Operation::Presence { status: Presence::Busy, text: None },
            Operation::Presence { status: Presence::Online, text: Some("here".into()) },
            Operation::Timeout { user: user(), seconds: 60, reason: None },
            Operation::Kick { user: user(), reason: None },
            Operation::Ban { user: user(), reason: None },
            Operation::default(),
        ] {
            assert_eq!(acted(&operation), None, "{operation:?}");
        }
    }
}
