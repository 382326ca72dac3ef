//! What a letter or an act becomes: a message to create, to change, or to delete.
//!
//! The stored request names the space once. Messages and threads that an agent names are looked for in that space only:
//! of a name such as `spaces/A/messages/B` nothing but `B` is taken, so that what was allowed for one space cannot reach
//! into another.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{cards, is_id};
use crate::{
    channels::{Act, Failure, Letter},
    message::deed::Deed,
};

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Wire {
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

impl Wire {
    /// Reads a stored request.
    pub(super) fn read(wire: &Value) -> Result<Self, Failure> {
        Self::deserialize(wire)
            .map_err(|why| Failure::Permanent(format!("the stored request cannot be sent: {why}")))
    }
}

/// The request of a part.
pub(super) fn compose(letter: &Letter<'_>) -> Value {
    let mut message = json!({});
    if !letter.part.text.is_empty() {
        message["text"] = json!(letter.part.text);
    }
    let cards = cards::of(letter.extras.card.as_ref(), &letter.extras.buttons);
    if !cards.is_empty() {
        message["cardsV2"] = json!(cards);
        message["fallbackText"] = json!(letter.headline);
    }
    let mut wire = create(letter.address, letter.thread, letter.reply_to, message);
    // Every part is in its thread, and the first is under it.
    if letter.index == 0 && letter.thread.is_none() && wire["answers"].is_string() {
        wire["quotes"] = json!(true);
    }
    silenced(wire, letter.silent)
}

fn silenced(mut wire: Value, silent: bool) -> Value {
    if silent {
        wire["silent"] = json!(true);
    }
    wire
}

/// The request of what is no new text; none for what there is not.
pub(super) fn act(act: &Act<'_>, webhook: bool) -> Option<Value> {
    match act.deed {
        Deed::Thread { name, message } => {
            // Its own marks, which a name is not to have.
            let name: String =
                name.chars().filter(|c| !matches!(c, '*' | '_' | '~' | '`' | '<' | '>')).collect();
            let mut text = format!("*{}*", name.trim());
            if let Some(part) = act.part {
                text = format!("{text}\n{}", part.text);
            }
            if webhook && message.is_some() {
                return None;
            }
            let mut wire = create(act.address, None, message.as_deref(), json!({ "text": text }));
            wire["opens"] = json!(true);
            Some(silenced(wire, act.silent && !webhook))
        }
        Deed::Poll(poll) if !webhook => {
            let message = json!({ "cardsV2": [cards::poll(poll)], "fallbackText": poll.question });
            Some(silenced(create(act.address, act.thread, act.reply_to, message), act.silent))
        }
        Deed::Edit { message } if !webhook => Some(json!({
            "do": "update",
            "name": within(act.address, "messages", message),
            "message": { "text": act.part?.text },
        })),
        Deed::Delete { message } if !webhook => {
            Some(json!({ "do": "delete", "name": within(act.address, "messages", message) }))
        }
        _ => None,
    }
}

fn create(space: &str, thread: Option<&str>, reply_to: Option<&str>, mut message: Value) -> Value {
    let mut wire = json!({ "do": "create", "space": space });
    match (thread, reply_to) {
        (Some(thread), _) if thread.contains("/threads/") => {
            message["thread"] = json!({ "name": within(space, "threads", thread) });
        }
        (Some(message), _) if message.contains("/messages/") => {
            wire["answers"] = json!(within(space, "messages", message));
        }
        // A name that the app gives a thread itself; a new one opens it.
        (Some(key), _) => message["thread"] = json!({ "threadKey": key }),
        (None, Some(message)) => wire["answers"] = json!(within(space, "messages", message)),
        (None, None) => {}
    }
    wire["message"] = message;
    wire
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
        channels::{googlechat::dialogue::letter, sample::part},
        message::deed::{Button, Extras, Poll, Press},
    };

    #[test]
    fn a_letter_becomes_this_message() {
        let part = part("*Hello*");
        let wire = json!({ "do": "create", "space": "spaces/AAAA", "message": { "text": "*Hello*" } });
        assert_eq!(compose(&letter(&part)), wire);
    }

    #[test]
    fn threads_have_names_or_keys_and_an_answer_goes_where_its_message_is() {
        let part = part("Hello");
        let wire = |thread, reply_to| compose(&Letter { thread, reply_to, ..letter(&part) });
        let thread = |thread| wire(Some(thread), None)["message"]["thread"].clone();
        assert_eq!(thread("spaces/AAAA/threads/T"), json!({ "name": "spaces/AAAA/threads/T" }));
        assert_eq!(thread("tea"), json!({ "threadKey": "tea" }));
        assert_eq!(wire(None, Some("spaces/AAAA/messages/M.N"))["answers"], "spaces/AAAA/messages/M.N");
        assert_eq!(wire(Some("spaces/AAAA/messages/M"), None)["answers"], "spaces/AAAA/messages/M");
        assert_eq!(wire(Some("tea"), Some("M"))["answers"], Value::Null);
    }

    fn acted(deed: &Deed, webhook: bool) -> Option<Value> {
        let part = part("New");
        let act_of = Act {
            address: "spaces/AAAA",
            thread: None,
            reply_to: None,
            silent: false,
            deed,
            part: Some(&part),
        };
        act(&act_of, webhook)
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
            let wire = acted(&Deed::Delete { message: message.into() }, false).unwrap();
            assert_eq!(wire, json!({ "do": "delete", "name": name }));
            Wire::read(&wire).unwrap();
        }
        let part = part("Hello");
        let wire = compose(&Letter { thread: Some("spaces/BBBB/threads/T"), ..letter(&part) });
        assert_eq!(wire["message"]["thread"]["name"], "spaces/AAAA/threads/T");
    }

    #[test]
    fn acts_of_an_app_are_requests_and_a_webhook_has_but_one_of_them() {
        let poll = Deed::Poll(Poll {
            question: "Tea & <cake>?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: false,
            seconds: None,
            anonymous: None,
        });
        let edit = Deed::Edit { message: "M".into() };
        let thread =
            |message: Option<&str>| Deed::Thread { name: "*Plans*".into(), message: message.map(Into::into) };
        assert_eq!(
            acted(&edit, false).unwrap(),
            json!({ "do": "update", "name": "spaces/AAAA/messages/M", "message": { "text": "New" } })
        );
        let wire = acted(&poll, false).unwrap();
        let widgets = &wire["message"]["cardsV2"][0]["card"]["sections"][0]["widgets"];
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
        for lacking in [poll, edit, Deed::Delete { message: "M".into() }, thread(Some("M"))] {
            assert_eq!(acted(&lacking, true), None, "{lacking:?}");
        }
        for lacking in [
            Deed::React { message: "M".into(), emoji: "👍".into(), remove: false },
            Deed::Pin { message: "M".into() },
            Deed::Kick { user: "users/1".into(), reason: None },
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
        let wire = compose(&Letter { extras: &extras, ..letter(&part) });
        assert_eq!(wire["message"]["cardsV2"][0]["cardId"], "buttons");
        assert_eq!(wire["message"]["fallbackText"], "Hello");
    }
}
