//! What a message says: its text, or in words what has none, and its file.
//!
//! The members are those of Meta's references, a page for each type
//! (<https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages>).

use serde_json::Value;

use super::{super::lines, files::Sent};
use crate::channels::received::{ReplyTo, Words};

/// Contacts of a message, numbers and addresses of each, and things of an order that are told.
const MAX_CONTACTS: usize = 20;
const MAX_WAYS: usize = 5;
const MAX_THINGS: usize = 50;

/// What a message says, but for its file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) words: Words,
    pub(super) file: Option<Sent>,
}

/// Reads the words of a message of this type, in an account with this number; nothing if it has none.
pub(super) fn read(message: &Value, kind: &str, own: Option<&str>) -> Option<Said> {
    let object = &message[kind];
    let (text, file) = match kind {
        "text" => (word(&object["body"]), None),
        "image" | "video" | "audio" | "document" | "sticker" => {
            (word(&object["caption"]), Some(Sent::read(kind, object)?))
        }
        "location" => (location(object), None),
        "contacts" => (contacts(object), None),
        "order" => (order(object), None),
        _ => return None,
    };
    if text.is_empty() && file.is_none() {
        return None;
    }
    let context = &message["context"];
    let forwarded = context["forwarded"] == true || context["frequently_forwarded"] == true;
    let words = Words { text, forwarded, reply_to: reply_to(context, own), ..Words::default() };
    Some(Said { words, file })
}

/// The message that is answered. Its words Meta does not tell.
fn reply_to(context: &Value, own: Option<&str>) -> Option<ReplyTo> {
    let id = context["id"].as_str().filter(|id| !id.is_empty())?.to_owned();
    let author = context["from"].as_str().and_then(super::super::number);
    let mine = author.is_some() && author.as_deref() == own;
    Some(ReplyTo { id, mine, author: author.map(|number| format!("+{number}")), text: None })
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// The words behind a title, with commas between them.
fn line(title: &str, words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { String::new() } else { format!("{title}: {}", words.join(", ")) }
}

fn location(object: &Value) -> String {
    let place = line("location", &[word(&object["latitude"]), word(&object["longitude"])]);
    if place.is_empty() {
        return place;
    }
    lines([place.as_str(), &word(&object["name"]), &word(&object["address"]), &word(&object["url"])])
}

fn contacts(list: &Value) -> String {
    let contacts = list.as_array().into_iter().flatten().take(MAX_CONTACTS).map(|contact| {
        let ways = |list: &str, member: &str| -> Vec<String> {
            let list = contact[list].as_array().into_iter().flatten().take(MAX_WAYS);
            list.map(|way| word(&way[member])).collect()
        };
        let words = [
            vec![word(&contact["name"]["formatted_name"])],
            ways("phones", "phone"),
            ways("emails", "email"),
        ];
        line("contact", &words.concat())
    });
    lines(contacts.collect::<Vec<_>>().iter().map(String::as_str))
}

fn order(object: &Value) -> String {
    let things = object["product_items"].as_array().into_iter().flatten().take(MAX_THINGS).map(|thing| {
        let price = format!("{} {}", word(&thing["item_price"]), word(&thing["currency"]));
        line(
            &format!("ordered: {} x", word(&thing["quantity"])),
            &[word(&thing["product_retailer_id"]), price],
        )
    });
    let things: Vec<String> = things.collect();
    let text = word(&object["text"]);
    lines([text.as_str()].into_iter().chain(things.iter().map(String::as_str)))
}
