//! One update, as what somebody did (<https://core.telegram.org/bots/api#update>). Reading asks nobody and changes nothing.

use serde_json::Value;

use super::{
    message::{self, Kind},
    polls::Polls,
    read::{MOST, Me, Update, author, conversation, number, time},
};
use crate::channels::received::{Conversation, DropReason, Event, Received};

/// What is asked for, each time, because Telegram remembers what was asked last. What only reaches administrators comes where the bot
/// is one. `chat_member` is not asked for: joins come as messages too, to every member.
pub(super) const ALLOWED: [&str; 8] = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "poll_answer",
    "my_chat_member",
    "message_reaction",
];

/// Reads one update.
pub(super) fn read(update: &Value, me: &Me, polls: &Polls) -> Update {
    let mut read = Update { id: number(&update["update_id"]), ..Update::default() };
    let Some(members) = update.as_object() else {
        read.drop(DropReason::Unreadable, "update");
        return read;
    };
    let Some((kind, body)) = members.iter().find(|(name, _)| *name != "update_id") else {
        read.drop(DropReason::Unreadable, "update");
        return read;
    };
    let understood = match kind.as_str() {
        "message" | "channel_post" => message::read(body, Kind::New, me, &mut read),
        "edited_message" | "edited_channel_post" => message::read(body, Kind::Edited, me, &mut read),
        "callback_query" => press(body, me, &mut read),
        "poll_answer" => vote(body, me, polls, &mut read),
        "my_chat_member" => member(body, me, &mut read),
        "message_reaction" => reaction(body, me, &mut read),
        _ => {
            read.drop(DropReason::NotUsed, kind);
            Some(())
        }
    };
    if understood.is_none() {
        read.drop(DropReason::Unreadable, kind);
    }
    read
}

/// <https://core.telegram.org/bots/api#callbackquery>
fn press(query: &Value, me: &Me, read: &mut Update) -> Option<()> {
    let id = query["id"].as_str()?;
    // Whatever it is of, the person's program waits.
    read.pressed = Some(id.to_owned());
    let message = &query["message"];
    let Some(data) = query["data"].as_str().filter(|_| message.is_object()) else {
        read.drop(DropReason::NotUsed, "callback_query of a game or an inline message");
        return Some(());
    };
    let mut conversation = conversation(&message["chat"])?;
    conversation.thread = message::topic(message, &conversation, me);
    let received = Received {
        key: format!("press:{id}"),
        conversation,
        author: author(&query["from"], &Value::Null, me)?,
        message_id: Some(number(&message["message_id"])?.to_string()),
        said_at: None,
        mentions_me: true,
        event: Event::Press { data: data.to_owned() },
    };
    read.push(received, Vec::new(), None);
    Some(())
}

/// <https://core.telegram.org/bots/api#pollanswer>: it names neither chat nor message.
fn vote(answer: &Value, me: &Me, polls: &Polls, read: &mut Update) -> Option<()> {
    let id = answer["poll_id"].as_str()?;
    let author = author(&answer["user"], &answer["voter_chat"], me)?;
    let Some(poll) = polls.of(id) else {
        read.drop(DropReason::NotUsed, "poll_answer to a poll of long ago");
        return Some(());
    };
    let chosen = answer["option_ids"].as_array()?.iter().filter_map(number).map(|option| option.to_string());
    let direct = !poll.chat.starts_with('-');
    let received = Received {
        key: format!("vote:{id}:{}:{}", author.id, read.id.unwrap_or_default()),
        conversation: Conversation { address: poll.chat, thread: poll.thread, direct, title: None },
        author,
        message_id: Some(poll.message),
        said_at: None,
        mentions_me: true,
        event: Event::Vote { options: chosen.collect() },
    };
    read.push(received, Vec::new(), Some(poll.part));
    Some(())
}

/// <https://core.telegram.org/bots/api#chatmemberupdated>: the bot itself came or went; of a person, they unblocked or blocked it.
fn member(change: &Value, me: &Me, read: &mut Update) -> Option<()> {
    let is_in = |member: &Value| match member["status"].as_str()? {
        "creator" | "administrator" | "member" => Some(true),
        "restricted" => Some(member["is_member"] == true),
        _ => Some(false),
    };
    let event = match (is_in(&change["old_chat_member"])?, is_in(&change["new_chat_member"])?) {
        (false, true) => Event::Join,
        (true, false) => Event::Leave,
        _ => {
            read.drop(DropReason::NotUsed, "my_chat_member with other rights");
            return Some(());
        }
    };
    let conversation = conversation(&change["chat"])?;
    let date = number(&change["date"]).unwrap_or_default();
    let received = Received {
        key: format!("member:{}:{date}:{}", conversation.address, read.id.unwrap_or_default()),
        conversation,
        author: author(&change["from"], &Value::Null, me)?,
        message_id: None,
        said_at: time(&change["date"]),
        mentions_me: false,
        event,
    };
    read.push(received, Vec::new(), None);
    Some(())
}

/// <https://core.telegram.org/bots/api#messagereactionupdated>: all of somebody's reactions before and after; the topic is not told.
fn reaction(change: &Value, me: &Me, read: &mut Update) -> Option<()> {
    let conversation = conversation(&change["chat"])?;
    let author = author(&change["user"], &change["actor_chat"], me)?;
    let message = number(&change["message_id"])?.to_string();
    let of = |name: &str| -> Option<Vec<String>> {
        Some(change[name].as_array()?.iter().take(MOST).filter_map(emoji).collect())
    };
    let (old, new) = (of("old_reaction")?, of("new_reaction")?);
    let (date, id) = (number(&change["date"]).unwrap_or_default(), read.id.unwrap_or_default());
    let gone = old.iter().filter(|emoji| !new.contains(emoji)).map(|emoji| (emoji, true));
    let come = new.iter().filter(|emoji| !old.contains(emoji)).map(|emoji| (emoji, false));
    for (emoji, removed) in gone.chain(come) {
        let sign = if removed { '-' } else { '+' };
        let key =
            format!("reaction:{}:{message}:{}:{date}:{id}:{sign}{emoji}", conversation.address, author.id);
        let received = Received {
            key,
            conversation: conversation.clone(),
            author: author.clone(),
            message_id: Some(message.clone()),
            said_at: time(&change["date"]),
            mentions_me: false,
            event: Event::Reaction { emoji: emoji.clone(), removed },
        };
        read.push(received, Vec::new(), None);
    }
    Some(())
}

/// <https://core.telegram.org/bots/api#reactiontype>
fn emoji(reaction: &Value) -> Option<String> {
    let short = |name: &str| reaction[name].as_str().map(|text| text.chars().take(64).collect());
    match reaction["type"].as_str()? {
        "emoji" => short("emoji"),
        "custom_emoji" => short("custom_emoji_id"),
        "paid" => Some("⭐".into()),
        _ => None,
    }
}
