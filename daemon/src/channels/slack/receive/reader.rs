//! Reads what an envelope brings by what stands in it alone. Whatever comes is read or left, with the reason.
//!
//! <https://docs.slack.dev/reference/events>.

use serde_json::Value;

use super::{
    draft::{Draft, Ts, channel, not_used, somebody, unreadable},
    message, mrkdwn, press,
};
use crate::channels::{
    received::{Author, AuthorKind, Batch, Conversation, Dropped, Event, Received},
    slack::{client::Me, emoji},
};

/// Reads an envelope of this type, for the account that is `me`.
///
/// # Errors
/// It is nothing that an agent is told of.
pub(super) fn read(kind: &str, payload: &Value, me: &Me) -> Result<Vec<Draft>, Dropped> {
    // An app that is installed in several workspaces hears of all of them over the same connections.
    if !concerns(payload, me) {
        return Err(not_used(&format!("{kind} of another workspace")));
    }
    if kind == "interactive" {
        return press::read(payload, me);
    }
    let event = &payload["event"];
    let one = |draft: Result<Draft, Dropped>| draft.map(|draft| vec![draft]);
    match event["type"].as_str() {
        Some("message") => one(message::read(event, me)),
        Some("app_mention") => one(message::mention(event, me)),
        Some(name @ "reaction_added") => one(reacted(event, name, me, false)),
        Some(name @ "reaction_removed") => one(reacted(event, name, me, true)),
        Some(name @ "member_joined_channel") => one(moved(event, name, me, Event::Join)),
        Some(name @ "member_left_channel") => one(moved(event, name, me, Event::Leave)),
        Some(other) => Err(not_used(other)),
        None => Err(unreadable("event")),
    }
}

/// Reads a payload as an account would that asks nobody anything. Any type and any payload will do.
pub fn read_alone(kind: &str, payload: &Value) -> Batch {
    let me = Me { user: "U0HUB0001".into(), bot: Some("B0HUB0001".into()), team: "T0HOUSE01".into() };
    let mut batch = Batch::default();
    match read(kind, payload, &me) {
        Ok(drafts) => {
            for mut draft in drafts {
                mrkdwn::plain_words(&mut draft.received.event, |_| None);
                match draft.placed(None, None).bounded() {
                    Ok(received) => batch.received.push(received),
                    Err(dropped) => batch.dropped.push(dropped),
                }
            }
        }
        Err(dropped) => batch.dropped.push(dropped),
    }
    batch
}

/// Whether a payload is for this account's installation; one that does not say is
/// (<https://docs.slack.dev/apis/events-api/#authorizations>).
fn concerns(payload: &Value, me: &Me) -> bool {
    let teams = [&payload["team_id"], &payload["team"]["id"]];
    let installed = payload["authorizations"].as_array().into_iter().flatten();
    let mut named =
        teams.into_iter().chain(installed.map(|one| &one["team_id"])).filter_map(Value::as_str).peekable();
    named.peek().is_none() || named.any(|team| team == me.team)
}

/// An event about a message of which all stands in it but who wrote it.
fn about(channel: String, author: Author, key: String, message: Option<String>, event: Event) -> Draft {
    let received = Received {
        key,
        conversation: Conversation::default(),
        author,
        message_id: message,
        said_at: None,
        mentions_me: false,
        event,
    };
    Draft { channel, links: vec![], received }
}

/// <https://docs.slack.dev/reference/events/reaction_added>. The thread of the message is not told.
fn reacted(event: &Value, name: &str, me: &Me, removed: bool) -> Result<Draft, Dropped> {
    let item = &event["item"];
    if item["type"].as_str().is_some_and(|kind| kind != "message") {
        return Err(not_used(&format!("{name} of what is no message")));
    }
    let draft = || {
        let (channel, ts) = (channel(&item["channel"])?, Ts::of(&item["ts"])?);
        let (author, when) = (somebody(&event["user"], me)?, Ts::of(&event["event_ts"])?);
        let reaction = event["reaction"].as_str().filter(|name| !name.is_empty())?;
        let reaction: String = reaction.chars().take(100).collect();
        let key = format!("{channel}:{ts}:{}:{reaction}:{when}:{removed}", author.id);
        let event = Event::Reaction { emoji: emoji::sign(&reaction), removed };
        let draft = about(channel, author, key, Some(ts.to_string()), event);
        Some(Draft { received: Received { said_at: when.at(), ..draft.received }, ..draft })
    };
    draft().ok_or_else(|| unreadable(name))
}

/// <https://docs.slack.dev/reference/events/member_joined_channel>. Who takes the account into a conversation does that, and not
/// the account.
fn moved(event: &Value, name: &str, me: &Me, what: Event) -> Result<Draft, Dropped> {
    let draft = || {
        let (channel, member) = (channel(&event["channel"])?, somebody(&event["user"], me)?);
        let when = Ts::of(&event["event_ts"]);
        let key = when.map_or_else(String::new, |when| format!("{channel}:{}:{when}", member.id));
        let inviter = somebody(&event["inviter"], me).filter(|_| member.kind == AuthorKind::Myself);
        let draft = about(channel, inviter.unwrap_or(member), key, None, what);
        let said_at = when.and_then(Ts::at);
        Some(Draft { received: Received { said_at, ..draft.received }, ..draft })
    };
    draft().ok_or_else(|| unreadable(name))
}
