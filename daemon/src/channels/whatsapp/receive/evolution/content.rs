//! What a message says, in WhatsApp's own terms (`Message` in `WAProto.proto` of <https://github.com/WhiskeySockets/Baileys>).

use serde_json::Value;

use super::super::lines;

/// Wrappers that may stand in each other.
const MAX_WRAPPERS: usize = 4;
/// What wraps another message, and says no more than how it is shown.
const WRAPPERS: [&str; 6] = [
    "ephemeralMessage",
    "viewOnceMessage",
    "viewOnceMessageV2",
    "viewOnceMessageV2Extension",
    "documentWithCaptionMessage",
    "editedMessage",
];
/// What stands beside the content of a message.
const BESIDE: [&str; 5] =
    ["messageContextInfo", "senderKeyDistributionMessage", "base64", "mediaUrl", "speechToText"];
/// Contacts and choices of a message that are told.
const MAX_LISTED: usize = 20;

/// A file that a message brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) voice: bool,
    /// What it is for people: `image`.
    pub(super) what: &'static str,
}

/// The message within its wrappers.
pub(super) fn unwrapped(mut message: &Value) -> &Value {
    for _ in 0..MAX_WRAPPERS {
        let inner =
            WRAPPERS.iter().map(|wrapper| &message[*wrapper]["message"]).find(|inner| inner.is_object());
        match inner {
            Some(inner) => message = inner,
            None => break,
        }
    }
    message
}

/// What kind of content a message has, in WhatsApp's term.
pub(super) fn kind(message: &Value) -> &str {
    let mut members = message.as_object().into_iter().flatten();
    let kind = members.find(|(name, value)| !value.is_null() && !BESIDE.contains(&name.as_str()));
    kind.map_or("message without content", |(name, _)| name.as_str())
}

/// What stands beside the words: whom they mention, what they answer, whether they are handed on.
pub(super) fn context<'a>(record: &'a Value, message: &'a Value) -> &'a Value {
    let inner = &message[kind(message)]["contextInfo"];
    if inner.is_object() { inner } else { &record["contextInfo"] }
}

/// The text and the file of a message; nothing if it has neither.
pub(super) fn said(message: &Value) -> Option<(String, Option<Sent>)> {
    const FILES: [(&str, &str); 6] = [
        ("imageMessage", "image"),
        ("videoMessage", "video"),
        ("ptvMessage", "video"),
        ("audioMessage", "audio"),
        ("documentMessage", "document"),
        ("stickerMessage", "sticker"),
    ];
    if let Some((member, what)) = FILES.into_iter().find(|(member, _)| message[*member].is_object()) {
        let object = &message[member];
        return Some((word(&object["caption"]).to_owned(), Some(sent(object, what))));
    }
    let text = match kind(message) {
        "conversation" => word(&message["conversation"]).to_owned(),
        "extendedTextMessage" => word(&message["extendedTextMessage"]["text"]).to_owned(),
        kind @ ("locationMessage" | "liveLocationMessage") => location(&message[kind]),
        "contactMessage" => contact(&message["contactMessage"]),
        "contactsArrayMessage" => {
            let list = message["contactsArrayMessage"]["contacts"].as_array().into_iter().flatten();
            let contacts: Vec<String> = list.take(MAX_LISTED).map(contact).collect();
            lines(contacts.iter().map(String::as_str))
        }
        kind if kind.starts_with("pollCreationMessage") => poll(&message[kind]),
        "buttonsResponseMessage" | "templateButtonReplyMessage" | "listResponseMessage" => {
            let object = &message[kind(message)];
            let words = [&object["selectedDisplayText"], &object["title"]];
            words.into_iter().map(word).find(|word| !word.is_empty())?.to_owned()
        }
        _ => return None,
    };
    (!text.is_empty()).then_some((text, None))
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A number as it comes: 64 bits may be two halves, or a text.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Object(halves) => {
            let low = halves.get("low")?.as_i64()? & 0xffff_ffff;
            Some(
                halves
                    .get("high")
                    .and_then(Value::as_i64)
                    .unwrap_or(0)
                    .checked_mul(1 << 32)?
                    .checked_add(low)?,
            )
        }
        other => other.as_i64(),
    }
}

fn sent(object: &Value, what: &'static str) -> Sent {
    let clip = |name: &str, most: usize| -> Option<String> {
        let word = object[name].as_str().filter(|word| !word.is_empty());
        word.map(|word| word.chars().take(most).collect())
    };
    Sent {
        name: clip("fileName", 200),
        kind: clip("mimetype", 100).map(|kind| kind.split(';').next().unwrap_or(&kind).trim().to_owned()),
        size: integer(&object["fileLength"]).and_then(|size| u64::try_from(size).ok()),
        voice: object["ptt"] == true,
        what,
    }
}

fn location(object: &Value) -> String {
    let degree = |name: &str| object[name].as_f64();
    let Some((latitude, longitude)) = degree("degreesLatitude").zip(degree("degreesLongitude")) else {
        return String::new();
    };
    let place = format!("location: {latitude}, {longitude}");
    lines([place.as_str(), word(&object["name"]), word(&object["address"]), word(&object["caption"])])
}

/// A contact's name, and the numbers in its card (vCard, RFC 6350: `TEL;…:NUMBER`).
fn contact(object: &Value) -> String {
    let card = word(&object["vcard"]).lines().filter(|line| line.starts_with("TEL") || line.contains(".TEL"));
    let numbers = card.filter_map(|line| line.rsplit_once(':')).map(|(_, number)| number.trim());
    let words: Vec<&str> =
        std::iter::once(word(&object["displayName"])).chain(numbers.take(MAX_LISTED)).collect();
    format!("contact: {}", words.join(", "))
}

fn poll(object: &Value) -> String {
    let options = object["options"].as_array().into_iter().flatten().take(MAX_LISTED);
    let options: Vec<String> = options.map(|option| format!("- {}", word(&option["optionName"]))).collect();
    let question = format!("poll: {}", word(&object["name"]));
    lines([question.as_str()].into_iter().chain(options.iter().map(String::as_str)))
}
