//! What is done to a room beside writing in it: as an event, by the room's state, or to its members.
//!
//! Reactions, polls and edits are events like any other and leave under the same key. All else is stored by its name, and
//! harmless when it is done twice.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Event, QUIET, Request, relation};
use crate::{
    channels::{OperationRequest, Refused},
    message::operation::{Operation, Poll, Presence},
    render::Part,
};

/// The longest content of an edit that has its text twice, in bytes: an event has 65,536 at most, the server's own part of it
/// among them (Matrix specification, client-server API, "Size limits").
const MOST_TWICE: usize = 56_000;
/// How much of a longer one programs get that know no replacements, in characters.
const BEGINNING: usize = 200;

/// What is no event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Act {
    /// An event loses its content.
    Redact { room: String, event: String },
    /// The account's own reaction is taken back.
    Unreact { room: String, event: String, emoji: String },
    /// An event is pinned.
    Pin { room: String, event: String },
    /// An event is no longer pinned.
    Unpin { room: String, event: String },
    /// A member is put out.
    Kick { room: String, user: String, reason: Option<String> },
    /// A member is put out and kept out.
    Ban { room: String, user: String, reason: Option<String> },
    /// The account's own status.
    Presence { status: String, text: Option<String> },
}

/// The request of an operation; none if Matrix has no such thing.
pub(super) fn compose(op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    let event = |kind: &str, content: Value| Some(Ok(Event::new(op.address, kind, content).into()));
    match op.operation {
        Operation::React { message, emoji, remove: false } => event("m.reaction", reaction(message, emoji)),
        Operation::Edit { message } => event("m.room.message", replacement(op.part?, message)),
        Operation::Thread { name, message } => {
            event("m.room.message", thread_start(op, name, message.as_deref()))
        }
        Operation::Poll(_) if op.silent => {
            Some(Err(Refused::because("a poll on Matrix always notifies: leave silent out")))
        }
        Operation::Poll(asked) => {
            let mut content = poll(asked);
            if let Some(relation) = relation(op.thread, op.reply_to) {
                content["m.relates_to"] = relation;
            }
            event("org.matrix.msc3381.poll.start", content)
        }
        operation => Some(Ok(Request::Act(act(op.address.to_owned(), operation.clone())?))),
    }
}

/// What is no event; nothing if it is one, or Matrix has no such thing.
fn act(room: String, operation: Operation) -> Option<Act> {
    Some(match operation {
        Operation::React { message, emoji, remove: true } => Act::Unreact { room, event: message, emoji },
        Operation::Delete { message } => Act::Redact { room, event: message },
        Operation::Pin { message } => Act::Pin { room, event: message },
        Operation::Unpin { message } => Act::Unpin { room, event: message },
        Operation::Kick { user, reason } => Act::Kick { room, user, reason },
        Operation::Ban { user, reason } => Act::Ban { room, user, reason },
        Operation::Presence { status, text } => {
            // #presence has these three.
            let status = match status {
                Presence::Online => "online",
                Presence::Away | Presence::Busy => "unavailable",
                Presence::Offline => "offline",
            };
            Act::Presence { status: status.into(), text }
        }
        Operation::React { remove: false, .. }
        | Operation::Edit { .. }
        | Operation::Thread { .. }
        | Operation::Poll(_)
        | Operation::Send(_)
        | Operation::Timeout { .. } => return None,
    })
}

/// <https://spec.matrix.org/v1.18/client-server-api/#event-annotations-and-reactions>
fn reaction(message: &str, emoji: &str) -> Value {
    json!({"m.relates_to": {"rel_type": "m.annotation", "event_id": message, "key": emoji}})
}

/// #event-replacements: the text for programs that know none is marked with a star.
fn replacement(part: &Part, message: &str) -> Value {
    let new = text(part);
    let mut content = new.clone();
    for body in ["body", "formatted_body"] {
        if let Some(old) = new[body].as_str() {
            content[body] = format!("* {old}").into();
        }
    }
    // Twice the text is more than an event may have: programs that know no replacements get its beginning.
    if content.to_string().len() + new.to_string().len() > MOST_TWICE {
        let body = new["body"].as_str().unwrap_or_default().chars().take(BEGINNING);
        content = json!({
            "msgtype": new["msgtype"], "body": format!("* {}…", body.collect::<String>()), "m.mentions": new["m.mentions"],
        });
    }
    content["m.new_content"] = new;
    content["m.relates_to"] = json!({"rel_type": "m.replace", "event_id": message});
    content
}

/// #threading: any message may be a thread's root.
fn thread_start(op: &OperationRequest<'_>, name: &str, message: Option<&str>) -> Value {
    let mut content = match op.part {
        Some(part) => text(part),
        None => json!({"msgtype": "m.text", "body": name, "m.mentions": {}}),
    };
    if op.silent {
        content["msgtype"] = json!(QUIET);
    }
    // A thread has no name there: it stands above the text, as who approves it reads it.
    if op.part.is_some() {
        content["body"] = format!("{name}\n\n{}", content["body"].as_str().unwrap_or_default()).into();
        if let Some(html) = content["formatted_body"].as_str() {
            content["formatted_body"] = format!("<p>{}</p>{html}", escaped(name)).into();
        }
    }
    if let Some(relation) = relation(message, None) {
        content["m.relates_to"] = relation;
    }
    content
}

fn text(part: &Part) -> Value {
    let mut content =
        json!({"msgtype": "m.text", "body": super::body(part), "m.mentions": super::mentions(part)});
    if let Some(html) = &part.html {
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(html);
    }
    content
}

/// MSC3381 (<https://github.com/matrix-org/matrix-spec-proposals/blob/main/proposals/3381-polls.md>) by the names that clients
/// use: the stable ones need extensible events, which no stable room version has.
fn poll(poll: &Poll) -> Value {
    let options = poll.options.iter().enumerate();
    let answers: Vec<Value> = options
        .clone()
        .map(|(n, option)| json!({"id": format!("{n}"), "org.matrix.msc1767.text": option}))
        .collect();
    let listed: String = options.map(|(n, option)| format!("\n{}. {option}", n + 1)).collect();
    json!({
        "org.matrix.msc3381.poll.start": {
            "question": {"org.matrix.msc1767.text": poll.question},
            "kind": "org.matrix.msc3381.poll.disclosed",
            "max_selections": if poll.multiple { answers.len() } else { 1 },
            "answers": answers,
        },
        "org.matrix.msc1767.text": format!("{}{listed}", poll.question),
        "m.mentions": {},
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compose(op: &OperationRequest<'_>) -> Option<Value> {
        super::compose(op).map(crate::channels::testing::sample::json_of)
    }

    fn op<'a>(operation: &'a Operation, part: Option<&'a Part>) -> OperationRequest<'a> {
        OperationRequest {
            address: "!r:hub.test",
            thread: None,
            reply_to: None,
            silent: false,
            operation,
            part,
        }
    }

    #[test]
    fn a_reaction_an_edit_and_a_poll_are_events() {
        let react = Operation::React { message: "$e".into(), emoji: "👍".into(), remove: false };
        assert_eq!(
            compose(&op(&react, None)).unwrap(),
            json!({"room": "!r:hub.test", "type": "m.reaction", "content": {
                "m.relates_to": {"rel_type": "m.annotation", "event_id": "$e", "key": "👍"}}})
        );
        let part = Part { text: "New".into(), html: Some("<b>New</b>".into()), ..Part::default() };
        let edit = compose(&op(&Operation::Edit { message: "$e".into() }, Some(&part))).unwrap();
        assert_eq!(edit["content"]["body"], "* New");
        assert_eq!(edit["content"]["m.new_content"]["formatted_body"], "<b>New</b>");
        assert_eq!(edit["content"]["m.relates_to"], json!({"rel_type": "m.replace", "event_id": "$e"}));
        let html = "<b>ä</b> ".repeat(4_000);
        let part = Part { text: "ä ".repeat(4_000), html: Some(html.clone()), ..Part::default() };
        let edit = compose(&op(&Operation::Edit { message: "$e".into() }, Some(&part))).unwrap();
        assert!(edit.to_string().len() < 60_000, "{}", edit.to_string().len());
        assert_eq!(edit["content"]["m.new_content"]["formatted_body"], html);
        assert!(edit["content"]["body"].as_str().unwrap().starts_with("* ä ä"), "{edit}");
        let poll = Operation::Poll(Poll {
            question: "Tea?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: true,
            seconds: None,
            anonymous: None,
        });
        let poll = compose(&op(&poll, None)).unwrap();
        assert_eq!(poll["content"]["org.matrix.msc3381.poll.start"]["max_selections"], 2);
        assert_eq!(poll["content"]["org.matrix.msc1767.text"], "Tea?\n1. Yes\n2. No");
    }

    #[test]
    fn what_is_no_event_reads_back_as_it_was_and_a_timeout_is_nothing() {
        let kick = Operation::Kick { user: "@x:hub.test".into(), reason: None };
        let request = compose(&op(&kick, None)).unwrap();
        assert_eq!(request["do"], "kick");
        assert!(matches!(Act::deserialize(&request).unwrap(), Act::Kick { .. }));
        assert!(
            compose(&op(&Operation::Timeout { user: "x".into(), seconds: 60, reason: None }, None)).is_none()
        );
    }

    #[test]
    fn a_thread_begins_with_its_name_or_at_a_message() {
        let root = compose(&op(&Operation::Thread { name: "Plans".into(), message: None }, None)).unwrap();
        assert_eq!(root["content"]["body"], "Plans");
        let part = Part { text: "Hi".into(), html: None, ..Part::default() };
        let at = Operation::Thread { name: "Plans".into(), message: Some("$e".into()) };
        let at = compose(&op(&at, Some(&part))).unwrap();
        assert_eq!(at["content"]["m.relates_to"]["event_id"], "$e");
        assert_eq!(at["content"]["body"], "Plans\n\nHi");
        assert_eq!(at["content"]["msgtype"], "m.text");
    }

    #[test]
    fn a_silent_thread_is_a_notice_and_a_silent_poll_is_refused() {
        let part = Part { text: "Hi".into(), html: None, ..Part::default() };
        let thread = Operation::Thread { name: "Plans".into(), message: None };
        for part in [None, Some(&part)] {
            let request = compose(&OperationRequest { silent: true, ..op(&thread, part) }).unwrap();
            assert_eq!(request["content"]["msgtype"], "m.notice");
        }
        let options = vec!["Yes".into(), "No".into()];
        let poll = Operation::Poll(Poll {
            question: "Tea?".into(),
            options,
            multiple: false,
            seconds: None,
            anonymous: None,
        });
        let request = compose(&OperationRequest { silent: true, ..op(&poll, None) }).unwrap();
        assert!(request["refused"].as_str().unwrap().contains("leave silent out"), "{request}");
    }
}
