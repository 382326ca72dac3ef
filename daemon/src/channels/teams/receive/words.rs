//! What a message says: its text with the names of who is called, the message that it quotes, and its files.

use serde_json::Value;

use super::{
    activity::{Me, id},
    files::{self, Sent},
    html::{self, FORWARD, Page, REPLY},
};
use crate::channels::received::{ReplyTo, Words};

/// Entities of a message that are looked at.
const MOST: usize = 100;
/// The kind of the attachment that stands for a message that is handed on
/// (<https://learn.microsoft.com/graph/api/resources/chatmessageattachment>).
const FORWARDED: &str = "forwardedMessageReference";

/// Words as they were read: the files are still at Microsoft.
pub(super) struct Said {
    pub(super) words: Words,
    pub(super) files: Vec<Sent>,
    /// Whether the bot is called.
    pub(super) mentions_me: bool,
}

/// Somebody who is called (<https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/channel-and-group-conversations#work-with-mentions>).
struct Call<'a> {
    /// As it stands in the text: `<at>Ann</at>`.
    shown: &'a str,
    name: &'a str,
    /// The name in it.
    within: &'a str,
    is_me: bool,
}

/// Reads a message.
pub(super) fn read(activity: &Value, me: Me<'_>) -> Said {
    let calls: Vec<Call<'_>> = entities(activity, "mention").filter_map(|entity| call(entity, me)).collect();
    let text = activity["text"].as_str().unwrap_or_default();
    let is_my_name =
        |name: &str| calls.iter().any(|call| call.is_me && (call.name == name || call.within == name));
    // Beside its text Teams hands over the message as HTML.
    let attachments = || activity["attachments"].as_array().into_iter().flatten();
    let mut pages = attachments()
        .filter(|attachment| attachment["contentType"] == "text/html")
        .filter_map(|attachment| attachment["content"].as_str());
    let is_marked = |text: &str| text.contains(REPLY) || text.contains(FORWARD);
    let is_markup = activity["textFormat"] == "xml" || is_marked(text);
    let markup = match is_markup {
        true => Some(text),
        // A text without the markup has what is not the author's and their own words in one.
        false => pages.find(|page| is_marked(page) || text.trim().is_empty()),
    };
    let Page { text, quote, forwarded, calls_me } = match markup {
        Some(markup) => html::read(markup, is_my_name),
        None => {
            let calls_me = calls.iter().any(|call| call.is_me && text.contains(call.shown));
            Page { text: plain(text, &calls), calls_me, ..Page::default() }
        }
    };
    let others_words =
        quote.is_some() || forwarded.is_some() || entities(activity, "quotedReply").next().is_some();
    let is_forward = attachments().any(|attachment| attachment["contentType"] == FORWARDED);
    let (text, forwarded) = (with_forwarded(text, forwarded.as_deref()), is_forward || forwarded.is_some());
    let quoted = quote.map(|quote| ReplyTo {
        mine: quote.author.as_deref().is_some_and(|author| me.is(author)),
        id: quote.id,
        author: quote.author,
        text: Some(quote.text),
    });
    let reply_to = quoted_reply(activity, me).or(quoted).filter(|reply| !reply.id.is_empty());
    let (files, missing) = files::sent(attachments());
    // Who is called in a quotation was called by its author.
    let mentions_me = calls.iter().any(|call| call.is_me) && (calls_me || !others_words);
    Said { words: Words { text, missing, forwarded, reply_to, ..Words::default() }, files, mentions_me }
}

/// A text, and apart from it, as quoted, the words that are handed on with it.
fn with_forwarded(text: String, forwarded: Option<&str>) -> String {
    match forwarded.filter(|theirs| !theirs.is_empty()) {
        Some(theirs) if text.is_empty() => theirs.to_owned(),
        Some(theirs) => {
            let quoted = theirs.lines().map(|line| format!("\n> {line}")).collect::<String>();
            format!("{text}\n{quoted}")
        }
        None => text,
    }
}

fn entities<'a>(activity: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    let all = activity["entities"].as_array().into_iter().flatten().take(MOST);
    all.filter(move |entity| entity["type"] == kind)
}

fn call<'a>(entity: &'a Value, me: Me<'_>) -> Option<Call<'a>> {
    let mentioned = &entity["mentioned"];
    let shown = entity["text"].as_str().unwrap_or_default();
    let within =
        shown.split_once('>').and_then(|(_, rest)| rest.split_once('<')).map_or(shown, |(name, _)| name);
    let name = mentioned["name"].as_str().filter(|name| !name.is_empty()).unwrap_or(within);
    Some(Call { shown, name, within, is_me: me.is(mentioned["id"].as_str()?) })
}

/// A text with the names of who is called, but for the bot's, and without the marks of what it quotes.
fn plain(text: &str, calls: &[Call<'_>]) -> String {
    let (mut named, mut rest) = (String::with_capacity(text.len()), text);
    for call in calls.iter().filter(|call| !call.shown.is_empty()) {
        let Some((before, after)) = rest.split_once(call.shown) else { continue };
        named.push_str(before);
        if !call.is_me {
            named.push('@');
            named.push_str(call.name);
        }
        rest = after;
    }
    named.push_str(rest);
    let mut bare = String::with_capacity(named.len());
    let mut rest = named.as_str();
    while let Some((before, mark)) = rest.split_once("<quoted ") {
        bare.push_str(before);
        rest = mark.split_once('>').map_or("", |(_, after)| after);
    }
    bare.push_str(rest);
    html::plain(&bare.replace("<at>", "@").replace("</at>", "")).trim().to_owned()
}

/// The message that is quoted, as newer clients say it: an entity (`QuotedReplyData` of
/// <https://github.com/microsoft/teams.ts/blob/main/packages/api/src/models/entity/quoted-reply-entity.ts>).
fn quoted_reply(activity: &Value, me: Me<'_>) -> Option<ReplyTo> {
    let quote = entities(activity, "quotedReply").next()?.get("quotedReply")?;
    if quote["validatedMessageReference"] == false {
        return None;
    }
    let text = |name: &str| quote[name].as_str().filter(|text| !text.is_empty());
    let author = text("senderId");
    let words = text("preview").filter(|_| quote["isReplyDeleted"] != true);
    Some(ReplyTo {
        id: id(&quote["messageId"])?,
        mine: author.is_some_and(|author| me.is(author)),
        author: author.map(str::to_owned),
        text: words.map(str::to_owned),
    })
}
