//! A notification (`webhook.controller.ts` in `src/api/integrations/event/webhook` of <https://github.com/EvolutionAPI/evolution-api>;
//! its events are in `src/api/types/wa.types.ts`). What is kept is asked for; what is kept nowhere is read here.

use serde_json::Value;

use super::{
    people::{Me, Somebody},
    record::{self, Place},
};
use crate::channels::{
    received::{Author, Conversation, Dropped, Event, MAX_BATCH, Received, Seen, not_used, unreadable},
    whatsapp::target::{Takes, canonical},
};

/// The longest time of a notification, in characters.
const MAX_TIME: usize = 40;

/// What a notification says.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What it alone tells.
    pub(super) received: Vec<Received>,
    pub(super) dropped: Vec<Dropped>,
    /// What people have seen of what was sent to them.
    pub(super) seen: Vec<Seen>,
    /// Something is kept that was not before.
    pub(super) wakes: bool,
}

/// Reads a notification of the instance with this name.
pub(super) fn read(body: &Value, instance: &str, me: &Me) -> Told {
    let mut told = Told::default();
    let Some(event) = body["event"].as_str() else { return told };
    if body["instance"] != instance {
        told.dropped.push(not_used("another instance"));
        return told;
    }
    // Either spelling was in use.
    match event.to_ascii_lowercase().replace(['_', '-'], ".").as_str() {
        "messages.upsert" | "messages.edited" | "messages.set" | "connection.update" => told.wakes = true,
        "messages.delete" => {
            told.wakes = true;
            match deleted(&body["data"], me) {
                Ok(received) => told.received.push(received),
                Err(dropped) => told.dropped.push(dropped),
            }
        }
        "messages.update" => told.seen = seen(&body["data"]),
        "group.participants.update" => match participants(body, me) {
            Ok(received) => told.received = received,
            Err(dropped) => told.dropped.push(dropped),
        },
        _ => told.dropped.push(not_used(event)),
    }
    told
}

/// That own messages came or were read (`messages.update` in `whatsapp.baileys.service.ts`). The phone's server names the message, and
/// whom it went to only the hub knows. One without such a status changes something else, which is kept.
fn seen(data: &Value) -> Vec<Seen> {
    let one = |update: &Value| {
        let read = match update["status"].as_str()? {
            "DELIVERY_ACK" => false,
            "READ" | "PLAYED" => true,
            _ => return None,
        };
        let id = record::id(&update["keyId"]).filter(|_| update["fromMe"] == true)?;
        Some(Seen { by: Vec::new(), ids: vec![id.to_owned()], and_before: false, read, at: None })
    };
    let several = data.as_array().into_iter().flatten();
    several.chain(data.is_object().then_some(data)).take(MAX_BATCH).filter_map(one).collect()
}

/// A message was taken back: its key, by itself (`MESSAGES_DELETE` in `messages.update`) or within the message.
fn deleted(data: &Value, me: &Me) -> Result<Received, Dropped> {
    let key = if data["key"].is_object() { &data["key"] } else { data };
    let place = Place::of(key, &Value::Null)?;
    let Some(id) = record::id(&key["id"]) else { return Err(unreadable("messages.delete")) };
    let named = place.named(id, key);
    // Of a group's message an administrator may be who took it back: it counts as whoever wrote it.
    let author = match (place.from_me, &place.by) {
        (true, _) => me.author(),
        (false, Some(by)) => Author { unverified: true, ..by.author(None) },
        (false, None) => return Err(unreadable("messages.delete")),
    };
    Ok(Received {
        key: record::deletion(&place.conversation.address, id),
        conversation: place.conversation,
        author,
        message_id: Some(named),
        said_at: None,
        mentions_me: false,
        event: Event::Delete,
    })
}

/// Who came to a group, or left it: `{id, participants, action}`, each of them a name or an object with several.
fn participants(body: &Value, me: &Me) -> Result<Vec<Received>, Dropped> {
    let data = &body["data"];
    let event = match data["action"].as_str() {
        Some("add") => Event::Join,
        Some("remove") => Event::Leave,
        _ => return Err(not_used("group-participants.update")),
    };
    let group = data["id"].as_str().and_then(|id| canonical(id, Takes { groups: true, users: false }).ok());
    let group = group.filter(|group| group.ends_with("@g.us"));
    let Some(address) = group else { return Err(unreadable("group-participants.update")) };
    let conversation = Conversation { address, ..Conversation::default() };
    // The notification has a time, and nothing else by which it could be known again.
    let time: String = body["date_time"].as_str().unwrap_or_default().chars().take(MAX_TIME).collect();
    let people = data["participants"].as_array().into_iter().flatten().take(MAX_BATCH).filter_map(|one| {
        let names = [one, &one["id"], &one["phoneNumber"], &one["lid"], &one["jid"]];
        Somebody::of(names)
    });
    Ok(people
        .map(|somebody| {
            let author = if me.is(&somebody) { me.author() } else { somebody.author(None) };
            let key = match time.is_empty() {
                true => String::new(),
                false => format!("{}:{}:{}:{time}", event.word(), conversation.address, somebody.address()),
            };
            Received {
                key,
                conversation: conversation.clone(),
                author,
                message_id: None,
                said_at: None,
                mentions_me: false,
                event: event.clone(),
            }
        })
        .collect())
}
