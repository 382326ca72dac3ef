//! What a letter or an act becomes: a method of the Web API, and its arguments as they are sent.
//!
//! The stored request has everything but the token, the part's key, and what only the moment of sending knows: the
//! conversation behind a person's id, and the id of a file that is uploaded then.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{blocks, emoji};
use crate::{
    channels::{Act, Failure, Letter, refused},
    message::deed::{Deed, Extras, Presence},
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
pub(super) struct Wire {
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

impl Wire {
    /// Reads a stored request.
    pub(super) fn read(wire: &Value) -> Result<Self, Failure> {
        Self::deserialize(wire)
            .map_err(|why| Failure::Permanent(format!("the stored request cannot be sent: {why}")))
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
pub(super) fn compose(letter: &Letter<'_>) -> Value {
    let thread = letter.thread.or(letter.reply_to);
    if let Some(file) = letter.files.first() {
        let mut body = json!({ "channel_id": letter.address });
        // Slack takes either, and shows the comment alone where it gets both.
        match blocks::of(letter.part, letter.extras) {
            Some(blocks) => body["blocks"] = blocks,
            None if letter.part.text.is_empty() => {}
            None => body["initial_comment"] = json!(letter.part.text),
        }
        if let Some(thread) = thread {
            body["thread_ts"] = json!(thread);
        }
        return json!({ "method": SHARE, "body": body, "file": { "source": file.reference(), "name": file.name } });
    }
    let blocks = blocks::of(letter.part, letter.extras);
    let text = if letter.part.text.is_empty() { escaped(letter.headline) } else { notified(letter.part) };
    post(letter.address, thread, &text, blocks)
}

/// The request of what is no new text; none for what a bot cannot do.
pub(super) fn act(act: &Act<'_>) -> Option<Value> {
    let channel = act.address;
    let thread = act.thread.or(act.reply_to);
    Some(match act.deed {
        Deed::React { message, .. }
        | Deed::Pin { message }
        | Deed::Unpin { message }
        | Deed::Edit { message }
            if is_file(message) =>
        {
            return Some(refused(
                "that is a file's id, for Slack did not say which message it became: a file can only be deleted by it; for all else, open the message in Slack and copy its link's last part",
            ));
        }
        Deed::Poll(poll) => post(channel, thread, &escaped(&poll.question), Some(blocks::poll(poll))),
        Deed::Thread { name, message } => {
            let name = format!("*{}*", escaped(name));
            let Some(part) = act.part else { return Some(post(channel, message.as_deref(), &name, None)) };
            let whole = Part { text: format!("{name}\n{}", part.text), ..part.clone() };
            let text = format!("{name}\n{}", notified(part));
            post(channel, message.as_deref(), &text, blocks::of(&whole, Extras::NONE))
        }
        Deed::React { message, emoji, remove } => {
            let method = if *remove { "reactions.remove" } else { "reactions.add" };
            request(method, json!({ "channel": channel, "timestamp": message, "name": emoji::name(emoji) }))
        }
        // Unlike those of a new message, its defaults look for names and links. The blocks that showed the text before
        // would stay in front of the new one.
        Deed::Edit { message } => request(
            "chat.update",
            json!({
                "channel": channel,
                "ts": message,
                "text": notified(act.part?),
                "blocks": blocks::of(act.part?, Extras::NONE).unwrap_or_else(|| json!([])),
                "parse": "none",
                "link_names": false,
            }),
        ),
        // What the receipt names where Slack did not say which message a file became.
        Deed::Delete { message } if is_file(message) => request(DELETE_FILE, json!({ "file": message })),
        Deed::Delete { message } => request(DELETE, json!({ "channel": channel, "ts": message })),
        Deed::Pin { message } => request("pins.add", json!({ "channel": channel, "timestamp": message })),
        Deed::Unpin { message } => {
            request("pins.remove", json!({ "channel": channel, "timestamp": message }))
        }
        // A status' text takes a person's token (users.profile.set), and "do not disturb" does too.
        Deed::Presence { text: Some(_), .. } | Deed::Presence { status: Presence::Busy, .. } => return None,
        Deed::Presence { status, .. } => {
            let presence = if *status == Presence::Online { "auto" } else { "away" };
            request("users.setPresence", json!({ "presence": presence }))
        }
        Deed::Send(_) | Deed::Timeout { .. } | Deed::Kick { .. } | Deed::Ban { .. } => return None,
    })
}

/// What a notification reads, where blocks show the text; else the text itself.
fn notified(part: &Part) -> String {
    part.preview.as_deref().map_or_else(|| part.text.clone(), escaped)
}

fn post(channel: &str, thread: Option<&str>, text: &str, blocks: Option<Value>) -> Value {
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

fn request(method: &str, body: Value) -> Value {
    json!({ "method": method, "body": body })
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
            sample::{file, part},
            slack::dialogue::letter,
        },
        message::deed::{Button, Extras, Poll, Press},
    };

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
        assert_eq!(compose(&letter(&part)), json!({ "method": POST, "body": post_of("*Hello*") }));
    }

    #[test]
    fn a_notification_reads_no_spoiler() {
        let document = crate::render::parse("**It** was ||the butler & co||.");
        let parts = crate::render::render(&document, &crate::channels::formats::SLACK.flavour).unwrap();
        let message = compose(&letter(&parts[0]))["body"].clone();
        assert_eq!(message["text"], "It was (spoiler).");
        assert_eq!(message["blocks"][0]["text"]["text"], "*It* was (spoiler) the butler &amp; co.");
        for deed in
            [Deed::Edit { message: "1.1".into() }, Deed::Thread { name: "Whodunit".into(), message: None }]
        {
            let message =
                act(&crate::channels::sample::act("C1", &deed, Some(&parts[0]))).unwrap()["body"].clone();
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
            assert_eq!(compose(&Letter { thread, reply_to, ..letter(&part) })["body"]["thread_ts"], ts);
        }
    }

    #[test]
    fn a_file_is_a_request_of_its_own_with_its_caption() {
        let (with, without, files) = (part("*June*"), part(""), [file("a b.txt", "text/plain", b"hello")]);
        let wire = compose(&Letter { files: &files, thread: Some("1.1"), ..letter(&with) });
        assert_eq!(
            wire,
            json!({
                "method": SHARE,
                "body": { "channel_id": "C012AB3CD", "initial_comment": "*June*", "thread_ts": "1.1" },
                "file": { "source": files[0].reference(), "name": "a b.txt" },
            })
        );
        let wire = compose(&Letter { files: &files, ..letter(&without) });
        assert_eq!(wire["body"], json!({ "channel_id": "C012AB3CD" }));
        let pressed = Button { text: "Yes".into(), press: Press::Data("y".into()) };
        let extras = Extras { buttons: vec![vec![pressed]], ..Extras::default() };
        let wire = compose(&Letter { files: &files, extras: &extras, ..letter(&with) });
        assert_eq!(wire["body"]["blocks"][0]["text"]["text"], "*June*");
        assert_eq!(
            (&wire["body"]["blocks"][1]["type"], &wire["body"]["initial_comment"]),
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
        let wire = compose(&Letter { extras: &extras, ..letter(&part) });
        assert_eq!(
            (&wire["body"]["text"], &wire["body"]["blocks"][0]["text"]["text"]),
            (&json!("Tea?"), &json!("Tea?"))
        );
        assert_eq!(wire["body"]["blocks"][1]["type"], "actions");
    }

    fn acted(deed: &Deed) -> Option<Value> {
        let part = part("New");
        act(&Act {
            address: "C012AB3CD",
            thread: None,
            reply_to: None,
            silent: false,
            deed,
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
        for (deed, method, body) in [
            (
                Deed::React { message: message(), emoji: "👍".into(), remove: false },
                "reactions.add",
                on(json!({ "timestamp": "1.1", "name": "+1" })),
            ),
            (
                Deed::React { message: message(), emoji: ":tada:".into(), remove: true },
                "reactions.remove",
                on(json!({ "timestamp": "1.1", "name": "tada" })),
            ),
            (
                Deed::Edit { message: message() },
                "chat.update",
                on(json!({ "ts": "1.1", "text": "New", "blocks": [], "parse": "none", "link_names": false })),
            ),
            (Deed::Delete { message: message() }, "chat.delete", on(json!({ "ts": "1.1" }))),
            (Deed::Delete { message: "F012AB3CD".into() }, "files.delete", json!({ "file": "F012AB3CD" })),
            (Deed::Pin { message: message() }, "pins.add", on(json!({ "timestamp": "1.1" }))),
            (Deed::Unpin { message: message() }, "pins.remove", on(json!({ "timestamp": "1.1" }))),
            (
                Deed::Presence { status: Presence::Away, text: None },
                "users.setPresence",
                json!({ "presence": "away" }),
            ),
            (
                Deed::Presence { status: Presence::Online, text: None },
                "users.setPresence",
                json!({ "presence": "auto" }),
            ),
            (Deed::Thread { name: "A <b>".into(), message: None }, POST, post_of("*A &lt;b&gt;*\nNew")),
        ] {
            assert_eq!(acted(&deed), Some(json!({ "method": method, "body": body })), "{deed:?}");
        }
        let thread = acted(&Deed::Thread { name: "A".into(), message: Some(message()) }).unwrap();
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
        let wire = acted(&Deed::Poll(poll)).unwrap();
        assert_eq!(wire["body"]["text"], "Tea &amp; cake?");
        assert_eq!(wire["body"]["blocks"][0]["text"]["text"], "Tea & cake?");
        let values: Vec<&Value> = wire["body"]["blocks"][1]["elements"]
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
        for deed in [
            Deed::Presence { status: Presence::Busy, text: None },
            Deed::Presence { status: Presence::Online, text: Some("here".into()) },
            Deed::Timeout { user: user(), seconds: 60, reason: None },
            Deed::Kick { user: user(), reason: None },
            Deed::Ban { user: user(), reason: None },
            Deed::default(),
        ] {
            assert_eq!(acted(&deed), None, "{deed:?}");
        }
    }
}
