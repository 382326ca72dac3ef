//! A notification as what people did. Reading asks nobody and changes nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::number,
    files::Sent,
    words::{self, Said},
};
use crate::{
    channels::{
        received::{Author, Conversation, Dropped, Event, Received, not_used, unreadable},
        whatsapp::target::is_user,
    },
    message::form::Entry,
};

/// The longest id of a message, in characters ("up to 128 characters": the reference of messages), and of a button's data, with room.
const MAX_ID: usize = 256;
/// Fields of a form that are told, and the longest value, in characters.
const MAX_FIELDS: usize = 50;
const MAX_VALUE: usize = 4000;

/// What somebody did, but for its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) received: Received,
    /// The file, which is still at Meta.
    pub(super) file: Option<Sent>,
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Reads what people did to the number of this id.
pub(super) fn read<'a>(
    body: &'a Value,
    number: &'a str,
) -> impl Iterator<Item = Result<Draft, Dropped>> + Send + 'a {
    let changes = list(&body["entry"]).flat_map(|entry| list(&entry["changes"]));
    changes.flat_map(move |change| {
        let value = &change["value"];
        list(&value["messages"]).map(move |one| match change["field"].as_str() {
            Some(field) if field != "messages" => Err(not_used(field)),
            _ if value["metadata"]["phone_number_id"] != number => Err(not_used("another number")),
            _ => message(one, value),
        })
    })
}

/// <https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/text>, and the pages beside it.
fn message(message: &Value, value: &Value) -> Result<Draft, Dropped> {
    let kind = message["type"].as_str().unwrap_or("message");
    let Some((author, key)) = author(message, value).zip(id(&message["id"])) else {
        return Err(match kind {
            // Nobody's words: somebody's number or id has changed.
            "system" => not_used(kind),
            _ => unreadable(kind),
        });
    };
    if message["group_id"].is_string() {
        return Err(not_used("group message"));
    }
    let own = value["metadata"]["display_phone_number"].as_str().and_then(number);
    let (event, about, file) = event(message, kind, own.as_deref(), &author)?;
    let pressed = matches!(event, Event::Press { .. } | Event::Entry(_));
    let received = Received {
        conversation: Conversation { address: address(&author), direct: true, ..Conversation::default() },
        author,
        message_id: if pressed { about } else { Some(about.unwrap_or_else(|| key.clone())) },
        key,
        said_at: seconds(&message["timestamp"]).map(|at| at.saturating_mul(1000)),
        mentions_me: pressed,
        event,
    };
    Ok(Draft { received, file })
}

/// What was done, to which message if it is about another one, and with which file.
fn event(
    message: &Value,
    kind: &str,
    own: Option<&str>,
    author: &Author,
) -> Result<(Event, Option<String>, Option<Sent>), Dropped> {
    let object = &message[kind];
    let broken = || unreadable(kind);
    let answered = || id(&message["context"]["id"]);
    Ok(match kind {
        // Without an emoji it is taken back.
        "reaction" => {
            let emoji = object["emoji"].as_str().unwrap_or_default().to_owned();
            let about = id(&object["message_id"]).ok_or_else(broken)?;
            (Event::Reaction { removed: emoji.is_empty(), emoji }, Some(about), None)
        }
        "button" => {
            let data = object["payload"].as_str().or(object["text"].as_str()).ok_or_else(broken)?;
            (Event::Press { data: data.to_owned() }, answered(), None)
        }
        "interactive" => {
            let kind = object["type"].as_str().unwrap_or_default();
            let reply = &object[kind];
            match kind {
                "button_reply" | "list_reply" => {
                    let data = reply["id"].as_str().ok_or_else(broken)?;
                    (Event::Press { data: data.to_owned() }, answered(), None)
                }
                "nfm_reply" => {
                    let entry = entry(reply, author, answered()).ok_or_else(|| unreadable(kind))?;
                    (Event::Entry(entry), answered(), None)
                }
                "" => return Err(broken()),
                other => return Err(not_used(other)),
            }
        }
        "edit" => {
            let (changed, about) =
                (&object["message"], id(&object["original_message_id"]).ok_or_else(broken)?);
            let inner = changed["type"].as_str().unwrap_or_default();
            let said = words::read(changed, inner, own).ok_or_else(|| not_used("edit without words"))?;
            // Its file came with it.
            (Event::Edit(said.words), Some(about), None)
        }
        "revoke" => (Event::Delete, Some(id(&object["original_message_id"]).ok_or_else(broken)?), None),
        "text" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "order" => {
            let Some(Said { words, file }) = words::read(message, kind, own) else {
                return Err(not_used(&format!("{kind} without words")));
            };
            (Event::Message(words), None, file)
        }
        // Among them `system`, and `unsupported`, which says neither what it was nor that it was a message.
        other => return Err(not_used(other)),
    })
}

/// Whoever wrote: by the id that Meta has for them towards this business, where it tells one, and else by their number
/// (<https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids>). Somebody who goes by a user
/// name may have no number there.
fn author(message: &Value, value: &Value) -> Option<Author> {
    let number = message["from"].as_str().and_then(number);
    let user = |value: &Value| value.as_str().filter(|id| is_user(id)).map(str::to_owned);
    let contact = list(&value["contacts"]).find(|contact| {
        let is_number = number.is_some() && contact["wa_id"].as_str().and_then(self::number) == number;
        is_number || (message["from_user_id"].is_string() && contact["user_id"] == message["from_user_id"])
    });
    let contact = contact.unwrap_or(&Value::Null);
    let id = user(&message["from_user_id"]).or_else(|| user(&contact["user_id"]));
    let parent = user(&message["from_parent_user_id"]).or_else(|| user(&contact["parent_user_id"]));
    let mut ids = id.into_iter().chain(number.map(|number| format!("+{number}"))).chain(parent);
    let id = ids.next()?;
    let name = [&contact["profile"]["name"], &contact["profile"]["username"]];
    let name = name.into_iter().filter_map(Value::as_str).map(str::trim).find(|name| !name.is_empty());
    Some(Author { id, same_as: ids.collect(), name: name.map(str::to_owned), ..Author::default() })
}

/// Where an answer goes: to the number as long as there is one, by which people are written to, and else to the id.
fn address(author: &Author) -> String {
    let ids = std::iter::once(&author.id).chain(&author.same_as);
    let number = ids.filter_map(|id| id.strip_prefix('+')).next();
    number.unwrap_or(&author.id).to_owned()
}

/// The id of a message.
fn id(value: &Value) -> Option<String> {
    let id = value.as_str()?;
    let is_one = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    is_one.then(|| id.to_owned())
}

fn seconds(value: &Value) -> Option<i64> {
    value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_i64())
}

/// What was entered into a form: its answers stand in a text of JSON
/// (<https://developers.facebook.com/docs/whatsapp/flows/reference/responsemsgwebhook>). The token is the sender's of the form.
fn entry(reply: &Value, author: &Author, message: Option<String>) -> Option<Entry> {
    let answers: Value = serde_json::from_str(reply["response_json"].as_str()?).ok()?;
    let answers = answers.as_object()?.iter().filter(|(name, _)| *name != "flow_token").take(MAX_FIELDS);
    let clip = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let values: BTreeMap<String, String> = answers
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (clip(name, MAX_ID), clip(&value, MAX_VALUE))
        })
        .collect();
    Some(Entry {
        form: clip(reply["name"].as_str().unwrap_or("form"), MAX_ID),
        by: author.id.clone(),
        name: author.name.clone().unwrap_or_default(),
        message,
        values,
    })
}
