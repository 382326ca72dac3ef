//! A row as the server hands it over (`MessageSerializer.convert`, `api/serializers/MessageSerializer.ts` at 59202c1), as what somebody
//! did. Reading asks nobody and changes nothing.
//!
//! A message that was edited keeps its row and its GUID, takes the new words, and has a time of the edit; one that was taken back has no
//! words any more. Both may have become so before the row was read first, so such a row tells two things: the message, which may be
//! known, and what became of it; of one that is new the hub leaves out the edit. Only who wrote a message can change it (<https://support.apple.com/guide/messages/icht504cf0b3/mac>).

use serde_json::Value;

use super::{
    super::{
        place,
        source::{Mark, Row, Sent},
        tapback,
    },
    facts::Facts,
};
use crate::channels::received::{
    Author, AuthorKind, Conversation, Dropped, Event, Received, ReplyTo, Seen, Words, not_used, unreadable,
};

/// What stands in a text for a file.
const PLACE_OF_FILE: char = '\u{fffc}';

/// Reads a row.
pub(super) fn read(row: &Value, facts: &Facts) -> Row {
    let mark = Mark::behind(row["originalROWID"].as_i64().unwrap_or(0));
    match said(row, facts) {
        Ok((received, files)) => {
            let seen = if row["isFromMe"] == true { seen(row) } else { Vec::new() };
            Row { mark, received, files, seen, ..Row::default() }.bounded()
        }
        Err(dropped) => {
            let is_nowhere = row["chats"].as_array().is_none_or(Vec::is_empty);
            Row { mark, dropped: Some(dropped), is_nowhere, ..Row::default() }
        }
    }
}

type Said = (Vec<Received>, Vec<Sent>);

fn said(row: &Value, facts: &Facts) -> Result<Said, Dropped> {
    let guid = row["guid"].as_str().filter(|guid| !guid.is_empty()).ok_or_else(|| unreadable("message"))?;
    let (conversation, own) = conversation(row)?;
    let author = author(row, own, facts)?;
    let at = row["dateCreated"].as_i64();
    let about = |key: String, author: &Author, message: Option<&str>, event: Event| Received {
        key,
        conversation: conversation.clone(),
        author: author.clone(),
        message_id: message.map(str::to_owned),
        said_at: at,
        mentions_me: false,
        event,
    };
    match row["itemType"].as_i64().unwrap_or(0) {
        0 => {}
        kind @ (1 | 3) => {
            let (event, author) = group_action(row, kind, author, facts)?;
            return Ok((vec![about(guid.to_owned(), &author, None, event)], Vec::new()));
        }
        // A name, a place, and what else Messages writes between the words.
        kind => return Err(not_used(&format!("item type {kind}"))),
    }
    if let Some(kind) = reaction_type(row) {
        let text = row["text"].as_str().unwrap_or_default();
        let (emoji, removed) = tapback::read(&kind, text).ok_or_else(|| not_used("associated message"))?;
        let target =
            row["associatedMessageGuid"].as_str().map(tapback::target).filter(|target| !target.is_empty());
        let target = target.ok_or_else(|| unreadable("reaction"))?;
        let event = Event::Reaction { emoji, removed };
        return Ok((vec![about(guid.to_owned(), &author, Some(target), event)], Vec::new()));
    }
    let (words, files) = words(row);
    let [edited, retracted] =
        ["dateEdited", "dateRetracted"].map(|name| row[name].as_i64().filter(|at| *at > 0));
    let is_empty = words.text.is_empty() && files.is_empty();
    // Messages itself leaves `dateRetracted` alone (`pollers/MessagePoller.ts` at 1514975).
    if retracted.is_some() || (is_empty && edited.is_some()) {
        let mut deleted = about(format!("delete:{guid}"), &author, Some(guid), Event::Delete);
        deleted.said_at = retracted.or(edited);
        return Ok((vec![deleted], Vec::new()));
    }
    if is_empty {
        return Err(not_used(row["balloonBundleId"].as_str().unwrap_or("message without words")));
    }
    let mut events = vec![about(guid.to_owned(), &author, Some(guid), Event::Message(words.clone()))];
    if let Some(edited) = edited {
        let edit = about(format!("edit:{guid}:{edited}"), &author, Some(guid), Event::Edit(words));
        events.push(Received { said_at: Some(edited), ..edit });
    }
    // Of its own files the account needs none.
    let files = if author.kind == AuthorKind::Myself { Vec::new() } else { files };
    Ok((events, files))
}

/// Where it is, and the account's handle there.
fn conversation(row: &Value) -> Result<(Conversation, Option<&str>), Dropped> {
    let chats = row["chats"].as_array().map_or(&[][..], Vec::as_slice);
    // One that is in several is of a conversation that has several names.
    let read = chats.iter().find_map(|chat| {
        let found = place::conversation(chat["guid"].as_str()?, chat["displayName"].as_str())?;
        Some((found, chat["lastAddressedHandle"].as_str()))
    });
    read.ok_or_else(|| unreadable("conversation"))
}

/// Who did it. Who writes to themselves is both: Messages keeps a row of what was sent, and one of what came.
fn author(row: &Value, own: Option<&str>, facts: &Facts) -> Result<Author, Dropped> {
    let myself = || place::myself(own.or_else(|| facts.own()));
    if row["isFromMe"] == true {
        return Ok(myself());
    }
    let handle = &row["handle"];
    let address = handle["address"].as_str().ok_or_else(|| unreadable("handle"))?;
    let author = place::author(address, handle["service"].as_str()).ok_or_else(|| unreadable("handle"))?;
    let is_own = own.and_then(place::handle).is_some_and(|own| own == author.id) || facts.is_own(&author.id);
    Ok(if is_own { myself() } else { author })
}

/// Who came to a group, or left it. Where it was somebody else's doing, `otherHandle` is the number of whom it was done to
/// (`pollers/MessagePoller.ts` at 1514975, `handleGroupChanges`).
fn group_action(row: &Value, kind: i64, author: Author, facts: &Facts) -> Result<(Event, Author), Dropped> {
    let action = row["groupActionType"].as_i64().unwrap_or(0);
    let event = match (kind, action) {
        (1, 0) => Event::Join,
        (1, 1) => Event::Leave,
        (3, 0) => return Ok((Event::Leave, author)),
        _ => return Err(not_used(&format!("group action {action}"))),
    };
    let whom = match row["otherHandle"].as_i64().filter(|other| *other > 0) {
        // The account itself was taken in, or put out.
        None => author,
        Some(other) => {
            let address = facts.person(other).ok_or_else(|| unreadable("participant"))?;
            place::author(address, None).ok_or_else(|| unreadable("participant"))?
        }
    };
    Ok((event, whom))
}

/// What kind of reaction it is: a name, or the number where the server has none.
fn reaction_type(row: &Value) -> Option<String> {
    match &row["associatedMessageType"] {
        Value::String(kind) if !kind.is_empty() && kind != "0" => Some(kind.clone()),
        Value::Number(kind) if kind.as_i64() != Some(0) => Some(kind.to_string()),
        _ => None,
    }
}

fn words(row: &Value) -> (Words, Vec<Sent>) {
    let line = |name: &str| {
        let text = row[name].as_str().unwrap_or_default();
        text.replace(PLACE_OF_FILE, "").trim().to_owned()
    };
    let (subject, text) = (line("subject"), line("text"));
    let text = match (subject.is_empty(), text.is_empty()) {
        (true, _) => text,
        (false, true) => subject,
        (false, false) => format!("{subject}\n{text}"),
    };
    let attachments = row["attachments"].as_array().map_or(&[][..], Vec::as_slice).iter();
    // What is hidden is a part of something that Messages draws, such as the picture of a link.
    let shown = attachments.filter(|one| one["hideAttachment"] != true);
    let files: Vec<Sent> = shown.filter_map(|one| sent(one, row["isAudioMessage"] == true)).collect();
    let origin = row["threadOriginatorGuid"].as_str().filter(|guid| !guid.is_empty());
    let reply_to = origin.map(|guid| ReplyTo { id: guid.to_owned(), ..ReplyTo::default() });
    (Words { text, reply_to, ..Words::default() }, files)
}

/// `AttachmentSerializer.convert` (`api/serializers/AttachmentSerializer.ts` at 1f49479).
fn sent(attachment: &Value, voice: bool) -> Option<Sent> {
    let text = |name: &str| attachment[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let size = attachment["totalBytes"].as_u64();
    Some(Sent { at: text("guid")?, name: text("transferName"), kind: text("mimeType"), size, voice })
}

/// Whether a message of the account's own came, and was read.
fn seen(row: &Value) -> Vec<Seen> {
    let Some(guid) = row["guid"].as_str() else { return Vec::new() };
    let told = |name: &str, read: bool| {
        let at = row[name].as_i64().filter(|at| *at > 0)?;
        Some(Seen { by: Vec::new(), ids: vec![guid.to_owned()], and_before: false, read, at: Some(at) })
    };
    [told("dateDelivered", false), told("dateRead", true)].into_iter().flatten().collect()
}
