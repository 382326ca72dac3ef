//! What a part or an operation becomes: an activity in a conversation, or what a workflow posts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    bounds::{MAX_PICTURE, PICTURES, too_long},
    cards, consent, target,
};
use crate::{
    channels::{OperationRequest, OutgoingPart, Refused, sender::members},
    message::{attachment::Attachment, operation::Operation},
    render::{Mention, Part},
};

/// A request. Its conversation is the target's, its thread in Teams' own spelling.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Request {
    /// <https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#send-to-conversation>
    Send {
        /// Where.
        conversation: String,
        /// The activity that is answered: `#reply-to-activity`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<String>,
        /// The message.
        activity: Map<String, Value>,
    },
    /// The same, with a card that offers a file.
    Offer {
        /// Where.
        conversation: String,
        /// The activity that is answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<String>,
        /// What the file is called.
        name: String,
        /// Its bytes.
        size: u64,
        /// The file, by its reference.
        file: String,
        /// What the card says.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        says: String,
    },
    /// `#update-activity`
    Update {
        /// Where.
        conversation: String,
        /// Which.
        id: String,
        /// What takes its place.
        activity: Map<String, Value>,
    },
    /// `#delete-activity`
    Delete {
        /// Where.
        conversation: String,
        /// Which.
        id: String,
    },
    /// <https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook>
    Post {
        /// The message.
        message: Map<String, Value>,
    },
}

impl Request {
    /// What is too long in it for Teams.
    pub(super) fn unfit(&self) -> Option<String> {
        match self {
            Self::Send { activity, .. } | Self::Update { activity, .. } => too_long(activity),
            Self::Post { message } => too_long(message),
            Self::Offer { .. } | Self::Delete { .. } => None,
        }
    }

    /// Whether it offers a file in this conversation.
    pub(super) fn is_offered_in(&self, there: &str) -> bool {
        matches!(self, Self::Offer { conversation, .. } if conversation == there)
    }
}

/// The request of a part.
pub(super) fn compose(outgoing: &OutgoingPart<'_>, webhook: bool) -> Result<Request, Refused> {
    let text = &outgoing.part.text;
    let called = called(outgoing.part)?;
    let carded = || json!([cards::attachment(&cards::with(text, outgoing.extras, &called))]);
    if webhook {
        let message = members(json!({ "type": "message", "attachments": carded() }));
        return Ok(Request::Post { message });
    }
    let mut activity = match outgoing.extras.is_empty() {
        true => message(text, &called),
        // What a notification reads, for a card has no words of its own.
        false => json!({ "type": "message", "summary": outgoing.headline, "attachments": carded() }),
    };
    if let Some(file) = outgoing.files.first() {
        if !PICTURES.contains(&file.kind.as_str()) || file.size > MAX_PICTURE {
            return offer(outgoing, file);
        }
        let picture = json!({ "contentType": file.kind, "contentUrl": file.reference(), "name": file.name });
        match activity["attachments"].as_array_mut() {
            Some(attachments) => attachments.insert(0, picture),
            None => activity["attachments"] = json!([picture]),
        }
    }
    if let Some(message) = outgoing.reply_to {
        quote(&mut activity, message);
    }
    Ok(send(&conversation(outgoing.address, outgoing.thread), outgoing.reply_to, activity))
}

/// Has Teams show a message above the one that answers it: an entity that names it, and where it stands in the text
/// (<https://microsoft.github.io/teams-sdk/blog/quoted-and-threaded-replies>; `addQuote` of microsoft-teams 2.1).
fn quote(activity: &mut Value, message: &str) {
    // Such are the ids of messages; what is another is answered without being shown.
    if message.is_empty() || !message.bytes().all(|b| b.is_ascii_digit()) {
        return;
    }
    let text = activity["text"].as_str().unwrap_or_default();
    activity["text"] = json!(format!("<quoted messageId=\"{message}\"/> {text}").trim_end());
    let entity = json!({ "type": "quotedReply", "quotedReply": { "messageId": message } });
    match activity["entities"].as_array_mut() {
        Some(entities) => entities.push(entity),
        None => activity["entities"] = json!([entity]),
    }
}

/// Whom a text calls: an entity for each name in it
/// (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/channel-and-group-conversations#work-with-mentions>).
fn called(part: &Part) -> Result<Vec<Value>, Refused> {
    let mut called: Vec<&Mention> = Vec::new();
    for one in &part.called {
        match called.iter().find(|other| other.name == one.name) {
            None => called.push(one),
            Some(other) if other.id == one.id => {}
            // Teams knows by the name alone whom it is to call.
            Some(_) => {
                return Err(Refused(format!(
                    "two people are called {} in one message: give one another name in [name](mention:ID)",
                    one.name
                )));
            }
        }
    }
    let entity = |Mention { id, name, .. }: &Mention| json!({ "type": "mention", "text": format!("<at>{name}</at>"), "mentioned": { "id": id, "name": name } });
    Ok(called.into_iter().map(entity).collect())
}

/// A file that stands in no message: its reader is asked to accept it, which Teams has for one person alone.
fn offer(outgoing: &OutgoingPart<'_>, file: &Attachment) -> Result<Request, Refused> {
    if !target::is_personal(outgoing.address) {
        return Err(Refused(format!(
            "in a channel or group on Teams a bot can show pictures alone (PNG, JPEG, GIF of {MAX_PICTURE} bytes at most), and {} is {} of {} bytes: send a link to it, or send it to the person's own conversation with the bot",
            file.name, file.kind, file.size
        )));
    }
    if let Some(why) = consent::unfit(&file.name, file.size) {
        return Err(Refused(why));
    }
    if !outgoing.part.mentions.is_empty() {
        return Err(Refused::because(
            "a file that has to be accepted notifies nobody: mention them in the message's text",
        ));
    }
    if !outgoing.extras.is_empty() {
        return Err(Refused::because(
            "what stands under a message needs a text there: a file that has to be accepted has none",
        ));
    }
    Ok(Request::Offer {
        conversation: conversation(outgoing.address, outgoing.thread),
        answers: outgoing.reply_to.map(str::to_owned),
        name: file.name.clone(),
        size: file.size,
        file: file.reference(),
        says: outgoing.part.shown.clone(),
    })
}

/// The request of what is no new text; none for what there is not.
pub(super) fn compose_operation(op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
    let there = conversation(op.address, op.thread);
    let called = match op.part.map_or(Ok(Vec::new()), called) {
        Ok(called) => called,
        Err(refused) => return Some(Err(refused)),
    };
    Some(Ok(match op.operation {
        Operation::Poll(poll) => {
            let card = cards::attachment(&cards::poll(poll));
            let activity = json!({ "type": "message", "summary": poll.question, "attachments": [card] });
            send(&there, op.reply_to, activity)
        }
        // A message is a thread as soon as somebody answers it.
        Operation::Thread { name, message: root } => {
            let mut text = format!("**{}**", escaped(name));
            if let Some(part) = op.part {
                text = format!("{text}\n\n{}", part.text);
            }
            send(&conversation(op.address, root.as_deref()), None, message(&text, &called))
        }
        Operation::Edit { message: id } => {
            let activity = members(message(&op.part?.text, &called));
            Request::Update { conversation: there, id: id.clone(), activity }
        }
        Operation::Delete { message: id } => Request::Delete { conversation: there, id: id.clone() },
        _ => return None,
    }))
}

fn message(text: &str, called: &[Value]) -> Value {
    let mut activity = json!({ "type": "message" });
    if !text.is_empty() {
        activity["text"] = json!(text);
        activity["textFormat"] = json!("markdown");
    }
    if !called.is_empty() {
        activity["entities"] = json!(called);
    }
    activity
}

fn send(conversation: &str, answers: Option<&str>, mut activity: Value) -> Request {
    if let Some(answers) = answers {
        activity["replyToId"] = json!(answers);
    }
    let (conversation, answers) = (conversation.to_owned(), answers.map(str::to_owned));
    Request::Send { conversation, answers, activity: members(activity) }
}

/// A conversation, or a thread in it: `19:…@thread.tacv2;messageid=1700000000000`.
pub(super) fn conversation(address: &str, thread: Option<&str>) -> String {
    thread.map_or_else(|| address.to_owned(), |thread| format!("{address};messageid={thread}"))
}

/// Words in which no sign means anything in Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '*' | '_' | '`' | '~' | '[' | ']' | '(' | ')' | '#' | '!' | '|' | '>' => {
                escaped.extend(['\\', c])
            }
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        channels::{
            teams::scenarios::outgoing,
            testing::sample::{file, part},
        },
        message::operation::{Button, Extras, Poll, Press},
    };

    fn compose(outgoing: &OutgoingPart<'_>, webhook: bool) -> Value {
        crate::channels::testing::sample::json_of(super::compose(outgoing, webhook))
    }

    fn compose_operation(op: &OperationRequest<'_>) -> Option<Value> {
        super::compose_operation(op).map(crate::channels::testing::sample::json_of)
    }

    #[test]
    fn a_letter_becomes_this_activity() {
        let part = part("**Hello**");
        let activity = json!({ "type": "message", "text": "**Hello**", "textFormat": "markdown" });
        let request = json!({ "do": "send", "conversation": "19:abc@thread.tacv2", "activity": activity });
        assert_eq!(compose(&outgoing(&part), false), request);
        let request =
            compose(&OutgoingPart { thread: Some("17"), reply_to: Some("18"), ..outgoing(&part) }, false);
        assert_eq!(request["conversation"], "19:abc@thread.tacv2;messageid=17");
        assert_eq!((&request["answers"], &request["activity"]["replyToId"]), (&json!("18"), &json!("18")));
        assert_eq!(request["activity"]["text"], "<quoted messageId=\"18\"/> **Hello**");
        let quoted = json!([{ "type": "quotedReply", "quotedReply": { "messageId": "18" } }]);
        assert_eq!(request["activity"]["entities"], quoted);
        let odd = compose(&OutgoingPart { reply_to: Some("1\"/><at>x"), ..outgoing(&part) }, false);
        assert_eq!(
            (&odd["activity"]["text"], &odd["activity"]["entities"]),
            (&json!("**Hello**"), &Value::Null)
        );
    }

    #[test]
    fn a_workflow_gets_a_card_with_the_text() {
        let part = part("**Hello**");
        assert_eq!(
            compose(&outgoing(&part), true),
            json!({ "do": "post", "message": { "type": "message", "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "content": {
                    "type": "AdaptiveCard", "version": "1.4",
                    "body": [{ "type": "TextBlock", "text": "**Hello**", "wrap": true }],
                },
            }] } })
        );
    }

    #[test]
    fn with_buttons_the_text_stands_in_the_card_and_nowhere_else() {
        let part = part("Tea?");
        let extras = Extras {
            buttons: vec![vec![Button { text: "Yes".into(), press: Press::Data("y".into()) }]],
            ..Extras::default()
        };
        let request = compose(&OutgoingPart { extras: &extras, ..outgoing(&part) }, false);
        assert_eq!(
            (&request["activity"]["text"], &request["activity"]["summary"]),
            (&Value::Null, &json!("Hello"))
        );
        let body = &request["activity"]["attachments"][0]["content"]["body"];
        assert_eq!((&body[0]["text"], &body[1]["type"]), (&json!("Tea?"), &json!("ActionSet")));
    }

    #[test]
    fn a_picture_stands_by_its_hash_beside_its_caption() {
        let (part, files) = (part("June"), [file("a.png", "image/png", b"hello")]);
        let request = compose(&OutgoingPart { files: &files, ..outgoing(&part) }, false);
        assert_eq!(
            request["activity"],
            json!({
                "type": "message", "text": "June", "textFormat": "markdown",
                "attachments": [{ "contentType": "image/png", "contentUrl": files[0].reference(), "name": "a.png" }],
            })
        );
        let pressed = Button { text: "Yes".into(), press: Press::Data("y".into()) };
        let extras = Extras { buttons: vec![vec![pressed]], ..Extras::default() };
        let request = compose(&OutgoingPart { files: &files, extras: &extras, ..outgoing(&part) }, false);
        let attachments = &request["activity"]["attachments"];
        assert_eq!(attachments[0]["contentUrl"], files[0].reference());
        assert_eq!(attachments[1]["content"]["body"][0]["text"], "June");
    }

    fn acted(operation: &Operation, thread: Option<&str>) -> Option<Value> {
        let part = part("New");
        let address = "19:abc@thread.tacv2";
        compose_operation(&OperationRequest {
            address,
            thread,
            reply_to: None,
            silent: false,
            operation,
            part: Some(&part),
        })
    }

    #[test]
    fn every_act_has_its_request_and_what_a_bot_cannot_do_has_none() {
        let activity = json!({ "type": "message", "text": "New", "textFormat": "markdown" });
        assert_eq!(
            acted(&Operation::Edit { message: "18".into() }, Some("17")).unwrap(),
            json!({ "do": "update", "conversation": "19:abc@thread.tacv2;messageid=17", "id": "18", "activity": activity })
        );
        assert_eq!(
            acted(&Operation::Delete { message: "18".into() }, None).unwrap(),
            json!({ "do": "delete", "conversation": "19:abc@thread.tacv2", "id": "18" })
        );
        let thread = |message: Option<&str>| {
            acted(&Operation::Thread { name: "A *b*".into(), message: message.map(Into::into) }, None)
                .unwrap()
        };
        assert_eq!(thread(None)["activity"]["text"], "**A \\*b\\***\n\nNew");
        assert_eq!(thread(Some("17"))["conversation"], "19:abc@thread.tacv2;messageid=17");
        let poll = Poll {
            question: "Tea?".into(),
            options: vec!["Yes".into(), "No".into()],
            multiple: true,
            seconds: None,
            anonymous: None,
        };
        let request = acted(&Operation::Poll(poll), None).unwrap();
        let choices = &request["activity"]["attachments"][0]["content"]["body"][1];
        assert_eq!(
            (&choices["isMultiSelect"], &choices["choices"][1]["title"]),
            (&json!(true), &json!("No"))
        );
        for lacking in [
            Operation::React { message: "18".into(), emoji: "👍".into(), remove: false },
            Operation::Pin { message: "18".into() },
            Operation::Kick { user: "29:1".into(), reason: None },
            Operation::default(),
        ] {
            assert_eq!(acted(&lacking, None), None, "{lacking:?}");
        }
    }
}
