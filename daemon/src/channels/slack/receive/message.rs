//! Reads messages: what somebody wrote, changed, took back, handed on or answered.
//!
//! <https://docs.slack.dev/reference/events/message>.

use serde_json::Value;

use super::{
    draft::{Draft, Link, NOBODY, Ts, channel, id, not_used, thread, unreadable, writer},
    mrkdwn,
    shared::{self, Shared},
};
use crate::channels::{
    received::{
        self, Author, AuthorKind, Conversation, Dropped, Event, MAX_FILES, MORE_FILES, Received, ReplyTo,
        Words,
    },
    slack::client::Me,
};

/// Kinds of messages that are somebody's words (<https://docs.slack.dev/reference/events/message#subtypes>).
const WORDS: [&str; 4] = ["file_share", "thread_broadcast", "me_message", "bot_message"];

/// An event of the type `message`.
///
/// # Errors
/// It is nobody's words, or changes none.
pub(super) fn read(event: &Value, me: &Me) -> Result<Draft, Dropped> {
    let channel = channel(&event["channel"]).ok_or_else(|| unreadable("message"))?;
    match event["subtype"].as_str() {
        Some("message_changed") => changed(channel, event, me),
        Some("message_deleted") => {
            let ts = Ts::of(&event["deleted_ts"]);
            deleted(channel, ts, &event["previous_message"], &event["event_ts"], me)
        }
        _ => written(channel, event, me),
    }
}

/// An event of the type `app_mention`: the same message, which comes as a `message` too where the account hears those.
///
/// # Errors
/// As those of [`read`].
pub(super) fn mention(event: &Value, me: &Me) -> Result<Draft, Dropped> {
    let channel = channel(&event["channel"]).ok_or_else(|| unreadable("app_mention"))?;
    let mut draft = written(channel, event, me)?;
    // Of one that hands on somebody else's, Slack may mean their mention.
    if !hands_on(event) {
        draft.received.mentions_me = draft.received.author.kind != AuthorKind::Myself;
    }
    Ok(draft)
}

/// A new message of a conversation, also one that was asked for after a gap.
///
/// # Errors
/// It is nobody's words.
pub(super) fn written(channel: String, message: &Value, me: &Me) -> Result<Draft, Dropped> {
    if let Some(kind) = message["subtype"].as_str().filter(|kind| !WORDS.contains(kind)) {
        return Err(not_used(&format!("message of subtype {kind}")));
    }
    let read = Ts::of(&message["ts"]).zip(speaker(message, me));
    let Some((ts, author)) = read else { return Err(unreadable("message")) };
    let (words, links) = words(message, me);
    if words.text.is_empty() && links.is_empty() && words.missing.is_empty() {
        return Err(not_used("message without content"));
    }
    Ok(draft(channel, (ts, message), author, format!("{ts}"), Event::Message(words), links, me))
}

/// Whose words a message has. Slack says who changed them last, wherever it hands the message over: what an app with somebody's token or
/// an administrator puts there is not the writer's (<https://docs.slack.dev/reference/events/message>, `edited`).
fn speaker(message: &Value, me: &Me) -> Option<Author> {
    let author = writer(message, me)?;
    let edited = &message["edited"];
    let is_theirs = !edited.is_object() || id(&edited["user"]).as_ref() == Some(&author.id);
    Some(Author { unverified: author.unverified || !is_theirs, ..author })
}

/// Changed words (<https://docs.slack.dev/reference/events/message/message_changed>). Its files came with the message.
fn changed(channel: String, event: &Value, me: &Me) -> Result<Draft, Dropped> {
    let (message, before) = (&event["message"], &event["previous_message"]);
    // What has answers leaves a stone where it was.
    if message["subtype"] == "tombstone" {
        return deleted(channel, Ts::of(&message["ts"]), before, &event["event_ts"], me);
    }
    if let Some(kind) = message["subtype"].as_str().filter(|kind| !WORDS.contains(kind)) {
        return Err(not_used(&format!("message_changed of subtype {kind}")));
    }
    // Slack has found out what a link shows, counted an answer, or guessed a language.
    let is_same = before["text"].is_string() && before["text"] == message["text"];
    if is_same {
        return Err(not_used("message_changed without an edit"));
    }
    edited(channel, message, me)
}

/// When a message was changed last.
pub(super) fn edited_at(message: &Value) -> Option<Ts> {
    Ts::of(&message["edited"]["ts"])
}

/// The words that a message has since it was changed, by the same key however they are told.
///
/// # Errors
/// It was not changed, or cannot be read.
pub(super) fn edited(channel: String, message: &Value, me: &Me) -> Result<Draft, Dropped> {
    let Some(edited) = edited_at(message) else {
        return Err(not_used("message_changed without an edit"));
    };
    let read = Ts::of(&message["ts"]).zip(speaker(message, me));
    let Some((ts, author)) = read else { return Err(unreadable("message_changed")) };
    let (words, _) = words(message, me);
    let event = Event::Edit(Words { missing: vec![], ..words });
    let mut draft = draft(channel, (ts, message), author, format!("{ts}:{edited}"), event, vec![], me);
    draft.received.said_at = edited.at();
    Ok(draft)
}

/// <https://docs.slack.dev/reference/events/message/message_deleted>. Slack says who wrote it, and not who took it back.
fn deleted(channel: String, ts: Option<Ts>, before: &Value, when: &Value, me: &Me) -> Result<Draft, Dropped> {
    let ts = ts.ok_or_else(|| unreadable("message_deleted"))?;
    let author = writer(before, me).unwrap_or_else(|| Author { id: NOBODY.into(), ..Author::default() });
    let author = Author { unverified: true, ..author };
    let received = Received {
        key: format!("{channel}:{ts}"),
        conversation: Conversation { thread: thread(before).map(|ts| ts.to_string()), ..Default::default() },
        author,
        message_id: Some(ts.to_string()),
        said_at: Ts::of(when).and_then(Ts::at),
        mentions_me: false,
        event: Event::Delete,
    };
    Ok(Draft { channel, links: vec![], received })
}

fn draft(
    channel: String,
    (ts, message): (Ts, &Value),
    author: Author,
    key: String,
    event: Event,
    links: Vec<Link>,
    me: &Me,
) -> Draft {
    let answers_me = event.words().and_then(|words| words.reply_to.as_ref()).is_some_and(|reply| reply.mine);
    let calls_me = calls(message, &me.user);
    let received = Received {
        key: format!("{channel}:{key}"),
        conversation: Conversation { thread: thread(message).map(|ts| ts.to_string()), ..Default::default() },
        mentions_me: author.kind != AuthorKind::Myself && (calls_me || answers_me),
        author,
        message_id: Some(ts.to_string()),
        said_at: ts.at(),
        event,
    };
    Draft { channel, links, received }
}

/// Whether a message calls somebody in its author's own text and blocks. What an attachment shows of another message is another's.
fn calls(message: &Value, user: &str) -> bool {
    let text = message["text"].as_str().unwrap_or_default();
    mrkdwn::people(text).any(|person| person == user) || has_call(&message["blocks"], user)
}

/// <https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#user-element-type>.
fn has_call(block: &Value, user: &str) -> bool {
    match block {
        Value::Array(blocks) => blocks.iter().any(|block| has_call(block, user)),
        Value::Object(_) if block["type"] == "user" => block["user_id"] == user,
        Value::Object(_) => has_call(&block["elements"], user),
        _ => false,
    }
}

/// Whether somebody else's message stands in it: one that is shared, or that a link shows.
fn hands_on(message: &Value) -> bool {
    let mut shown = message["attachments"].as_array().into_iter().flatten();
    shown.any(|one| one["is_share"] == true || one["is_msg_unfurl"] == true)
}

/// Text and files. A message in a thread answers the one that the thread began with.
fn words(message: &Value, me: &Me) -> (Words, Vec<Link>) {
    let mut text = message["text"].as_str().unwrap_or_default().to_owned();
    let Shared { texts, mut missing } = shared::read(message);
    let forwarded = !texts.is_empty() || !missing.is_empty();
    for theirs in texts {
        text = if text.is_empty() { theirs } else { format!("{text}\n\n{theirs}") };
    }
    let reply_to = thread(message).map(|root| {
        let author = id(&message["parent_user_id"]);
        ReplyTo { id: root.to_string(), mine: author.as_deref() == Some(&me.user), author, text: None }
    });
    let mut links = Vec::new();
    for file in message["files"].as_array().into_iter().flatten() {
        match link(file) {
            Ok(link) if links.len() < MAX_FILES => links.push(link),
            Ok(link) => missing.push(received::missing(&link.name, MORE_FILES)),
            Err(why) => missing.push(why),
        }
    }
    (Words { text, missing, forwarded, reply_to, ..Words::default() }, links)
}

/// <https://docs.slack.dev/reference/objects/file-object>.
///
/// # Errors
/// Slack does not have it: in a line for whoever reads the message.
fn link(file: &Value) -> Result<Link, String> {
    let text = |name: &str| file[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let name = text("name").or_else(|| text("title")).unwrap_or_else(|| "file".into());
    match file["mode"].as_str() {
        Some("tombstone") => return Err(format!("{name}: it was deleted")),
        Some("hidden_by_limit") => return Err(format!("{name}: the workspace shows it no more")),
        Some("external") => return Err(format!("{name}: it is not kept at Slack")),
        _ => {}
    }
    let url = text("url_private_download").or_else(|| text("url_private"));
    let id = id(&file["id"]).ok_or_else(|| format!("{name}: Slack does not say which file it is"))?;
    Ok(Link { id, name, kind: text("mimetype"), size: file["size"].as_u64(), url })
}
