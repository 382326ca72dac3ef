//! What a part or an operation becomes: a message to create, to change, or to delete.
//!
//! The stored request names the space once. Messages and threads that an agent names are looked for in that space only:
//! of a name such as `spaces/A/messages/B` nothing but `B` is taken, so that what was allowed for one space cannot reach
//! into another.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{cards, is_id};
use crate::{
    channels::{OperationRequest, OutgoingPart, sender::members},
    message::operation::Operation,
};

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Request {
    /// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create>
    Create {
        /// `spaces/ID`.
        space: String,
        /// The message, in whose thread it goes; the thread is asked for then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<String>,
        /// Whether what is wanted of the answer is the thread and not the message.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        opens: bool,
        /// Whether the answered message is quoted: its name and time are asked for then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quotes: bool,
        /// Whether nobody is notified.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        silent: bool,
        /// The message.
        message: Map<String, Value>,
    },
    /// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/patch>
    Update {
        /// `spaces/ID/messages/ID`.
        name: String,
        /// What takes the place of what was there.
        message: Map<String, Value>,
    },
    /// <https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/delete>
    Delete {
        /// `spaces/ID/messages/ID`.
        name: String,
    },
}

/// The request of a part.
pub(super) fn compose(outgoing: &OutgoingPart<'_>) -> Request {
    let mut message = json!({});
    if !outgoing.part.text.is_empty() {
        message["text"] = json!(outgoing.part.text);
    }
    let cards = cards::of(outgoing.extras.card.as_ref(), &outgoing.extras.buttons);
    if !cards.is_empty() {
        message["cardsV2"] = json!(cards);
        message["fallbackText"] = json!(outgoing.headline);
    }
    let mut request = create(outgoing.address, outgoing.thread, outgoing.reply_to, message);
    // Every part is in its thread, and the first is under it.
    if let Request::Create { answers: Some(_), quotes, .. } = &mut request {
        *quotes = outgoing.index == 0 && outgoing.thread.is_none();
    }
    silenced(request, outgoing.silent)
}

fn silenced(mut request: Request, is_silent: bool) -> Request {
    if let Request::Create { silent, .. } = &mut request {
        *silent = is_silent;
    }
    request
}

/// The request of what is no new text; none for what there is not.
pub(super) fn compose_operation(op: &OperationRequest<'_>, webhook: bool) -> Option<Request> {
    match op.operation {
        Operation::Thread { name, message } => {
            // Its own marks, which a name is not to have.
            let name: String =
                name.chars().filter(|c| !matches!(c, '*' | '_' | '~' | '`' | '<' | '>')).collect();
            let mut text = format!("*{}*", name.trim());
            if let Some(part) = op.part {
                text = format!("{text}\n{}", part.text);
            }
            if webhook && message.is_some() {
                return None;
            }
            let mut request = create(op.address, None, message.as_deref(), json!({ "text": text }));
            if let Request::Create { opens, .. } = &mut request {
                *opens = true;
            }
            Some(silenced(request, op.silent && !webhook))
        }
        Operation::Poll(poll) if !webhook => {
            let message = json!({ "cardsV2": [cards::poll(poll)], "fallbackText": poll.question });
            Some(silenced(create(op.address, op.thread, op.reply_to, message), op.silent))
        }
        Operation::Edit { message } if !webhook => Some(Request::Update {
            name: within(op.address, "messages", message),
            message: members(json!({ "text": op.part?.text })),
        }),
        Operation::Delete { message } if !webhook => {
            Some(Request::Delete { name: within(op.address, "messages", message) })
        }
        _ => None,
    }
}

fn create(space: &str, thread: Option<&str>, reply_to: Option<&str>, mut message: Value) -> Request {
    let mut answers = None;
    match (thread, reply_to) {
        (Some(thread), _) if thread.contains("/threads/") => {
            message["thread"] = json!({ "name": within(space, "threads", thread) });
        }
        (Some(message), _) if message.contains("/messages/") => {
            answers = Some(within(space, "messages", message));
        }
        // A name that the app gives a thread itself; a new one opens it.
        (Some(key), _) => message["thread"] = json!({ "threadKey": key }),
        (None, Some(message)) => answers = Some(within(space, "messages", message)),
        (None, None) => {}
    }
    let (space, message) = (space.to_owned(), members(message));
    Request::Create { space, answers, opens: false, quotes: false, silent: false, message }
}

/// The name in this space of what is called so; of what can be no name, one that there is not.
pub(super) fn within(space: &str, kind: &str, name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or_default();
    format!("{space}/{kind}/{}", if is_id(last) && last.contains(|c| c != '.') { last } else { "-" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::{googlechat::scenarios::outgoing, testing::sample::part},
        message::operation::{Button, Extras, Poll, Press},
    };

    fn compose(outgoing: &OutgoingPart<'_>) -> Value {
        json!(super::compose(outgoing))
    }

    fn compose_operation(op: &OperationRequest<'_>, webhook: bool) -> Option<Value> {
        super::compose_operation(op, webhook).map(|request| json!(request))
    }

    #[test]
    fn a_letter_becomes_this_message() {
        let part = part("*Hello*");
        let request = json!({ "do": "create", "space": "spaces/AAAA", "message": { "text": "*Hello*" } });
        assert_eq!(compose(&outgoing(&part)), request);
    }

    #[test]
    fn threads_have_names_or_keys_and_an_answer_goes_where_its_message_is() {
        let part = part("Hello");
        let request = |thread, reply_to| compose(&OutgoingPart { thread, reply_to, ..outgoing(&part) });
        let thread = |thread| request(Some(thread), None)["message"]["thread"].clone();
        assert_eq!(thread("spaces/AAAA/threads/T"), json!({ "name": "spaces/AAAA/threads/T" }));
        assert_eq!(thread("tea"), json!({ "threadKey": "tea" }));
        assert_eq!(request(None, Some("spaces/AAAA/messages/M.N"))["answers"], "spaces/AAAA/messages/M.N");
        assert_eq!(request(Some("spaces/AAAA/messages/M"), None)["answers"], "spaces/AAAA/messages/M");
        assert_eq!(request(Some("tea"), Some("M"))["answers"], Value::Null);
    }

    fn acted(operation: &Operation, webhook: bool) -> Option<Value> {
        let part = part("New");
        let act_of = OperationRequest {
            address: "spaces/AAAA",
            thread: None,
            reply_to: None,
            silent: false,
            operation,
            part: Some(&part),
        };
        compose_operation(&act_of, webhook)
    }

    #[test]
    fn no_act_reaches_into_another_space() {
        for (message, name) in [
            ("spaces/AAAA/messages/M", "spaces/AAAA/messages/M"),
            ("spaces/BBBB/messages/M", "spaces/AAAA/messages/M"),
            ("M", "spaces/AAAA/messages/M"),
            ("../../BBBB/messages/M", "spaces/AAAA/messages/M"),
            ("..", "spaces/AAAA/messages/-"),
            ("M?x=1", "spaces/AAAA/messages/-"),
            ("", "spaces/AAAA/messages/-"),
        ] {
            let request = acted(&Operation::Delete { message: message.into() }, false).unwrap();
            assert_eq!(request, json!({ "do": "delete", "name": name }));
            Request::deserialize(&request).unwrap();
        }
        let part = part("Hello");
        let request = compose(&OutgoingPart { thread: Some("spaces/BBBB/threads/T"), ..outgoing(&part) });
        assert_eq!(request["message"]["thread"]["name"], "spaces/AAAA/threads/T");
    }

    #[test]
    fn acts_of_an_app_are_requests_and_a_webhook_has_but_one_of_them() {
        let poll = Operation::Poll(Poll {
            question: "Tea & <cake>?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: false,
            seconds: None,
            anonymous: None,
        });
        let edit = Operation::Edit { message: "M".into() };
        let thread = |message: Option<&str>| Operation::Thread {
            name: "*Plans*".into(),
            message: message.map(Into::into),
        };
        assert_eq!(
            acted(&edit, false).unwrap(),
            json!({ "do": "update", "name": "spaces/AAAA/messages/M", "message": { "text": "New" } })
        );
        let request = acted(&poll, false).unwrap();
        let widgets = &request["message"]["cardsV2"][0]["card"]["sections"][0]["widgets"];
        assert_eq!(widgets[0]["textParagraph"]["text"], "Tea &amp; &lt;cake&gt;?");
        assert_eq!(
            widgets[2]["buttonList"]["buttons"][0]["onClick"]["action"]["parameters"][0]["value"],
            "1"
        );
        assert_eq!(
            acted(&thread(None), true).unwrap(),
            json!({ "do": "create", "space": "spaces/AAAA", "opens": true, "message": { "text": "*Plans*\nNew" } })
        );
        assert_eq!(acted(&thread(Some("M")), false).unwrap()["answers"], "spaces/AAAA/messages/M");
        for lacking in [poll, edit, Operation::Delete { message: "M".into() }, thread(Some("M"))] {
            assert_eq!(acted(&lacking, true), None, "{lacking:?}");
        }
        for lacking in [
            Operation::React { message: "M".into(), emoji: "👍".into(), remove: false },
            Operation::Pin { message: "M".into() },
            Operation::Kick { user: "users/1".into(), reason: None },
        ] {
            assert_eq!(acted(&lacking, false), None, "{lacking:?}");
        }
    }

    #[test]
    fn buttons_are_a_card_and_a_notification_reads_the_headline() {
        let part = part("Tea?");
        let extras = Extras {
            buttons: vec![vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }]],
            ..Extras::default()
        };
        let request = compose(&OutgoingPart { extras: &extras, ..outgoing(&part) });
        assert_eq!(request["message"]["cardsV2"][0]["cardId"], "buttons");
        assert_eq!(request["message"]["fallbackText"], "Hello");
    }
}
