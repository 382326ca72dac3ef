//! A message as an Evolution API keeps it, as what somebody did. Reading asks nobody and changes nothing.
//!
//! Its members are those of the table `Message` (`prisma/postgresql-schema.prisma` of
//! <https://github.com/EvolutionAPI/evolution-api>), as `fetchMessages` selects them. An edited message keeps its key, takes the new words
//! and the time of the edit, and has `EDITED` among its updates; one that was taken back keeps all and has `DELETED` there
//! (`messages.upsert` and `messages.update` of `whatsapp.baileys.service.ts`). So such a record tells two things: the message, which
//! may be known, and what became of it.
//!
//! Who edited stands nowhere: the API changes the message that an edit names, whoever sent the edit, so anybody may put words into
//! anybody's message. So the author of a record that was edited is never verified.

use serde_json::Value;

use super::{
    content::{self, Sent, integer},
    people::{Me, Somebody},
};
use crate::channels::{
    received::{Author, Conversation, Dropped, Event, Received, ReplyTo, Words, not_used, unreadable},
    whatsapp::target::{MessageId, Takes, canonical},
};

/// Larger than any time in seconds that is a time of these years: an edit's may be in milliseconds.
const MILLISECONDS: i64 = 100_000_000_000;
/// The first year of WhatsApp, 2009, in seconds: no message is older.
const FIRST: i64 = 1_230_768_000;
/// How far the hub's clock may be behind WhatsApp's, in seconds.
const SLACK: i64 = 30;
/// Whom a message mentions, as far as it is looked at.
const MAX_MENTIONS: usize = 1024;

/// What somebody did, but for its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) received: Received,
    /// The file, which is still at WhatsApp.
    pub(super) file: Option<Sent>,
    /// The id, without an author, of the message that it is about or answers: it may be the account's own.
    pub(super) refers: Option<String>,
    /// How the conversation is called there.
    pub(super) jid: String,
}

/// When a record is of, in seconds.
pub(super) fn seconds(record: &Value) -> Option<i64> {
    let at = integer(&record["messageTimestamp"])?;
    Some(if at > MILLISECONDS { at / 1000 } else { at })
}

/// When a message came, in seconds, if by that it can be known up to when all is read: WhatsApp itself set the time, and the record
/// stands in its order. Whoever edits chooses the time of the edit, up to years ahead; one in milliseconds stands before all others,
/// however old it is.
pub(super) fn came(record: &Value, now: i64) -> Option<i64> {
    let at = integer(&record["messageTimestamp"])?;
    ((FIRST..=now.saturating_add(SLACK)).contains(&at) && !edited(record)).then_some(at)
}

/// Whether the words are not the first ones. Its own status may have become another since.
fn edited(record: &Value) -> bool {
    became(record, "EDITED") || record["status"] == "EDITED"
}

fn became(record: &Value, what: &str) -> bool {
    list(&record["MessageUpdate"]).any(|update| update["status"] == what)
}

/// The id of a message.
pub(super) fn id(value: &Value) -> Option<&str> {
    let id = value.as_str().filter(|id| !id.contains('/'))?;
    MessageId::read(id).map(|read| read.id)
}

/// Where a message is and who wrote it, by its key.
pub(super) struct Place {
    pub(super) conversation: Conversation,
    pub(super) jid: String,
    /// Nobody where the key is of a group and does not say.
    pub(super) by: Option<Somebody>,
    pub(super) from_me: bool,
}

impl Place {
    /// Reads a key.
    ///
    /// # Errors
    /// It is of something else than a conversation with people.
    pub(super) fn of(key: &Value, beside: &Value) -> Result<Self, Dropped> {
        let Some(jid) = key["remoteJid"].as_str() else { return Err(unreadable("key")) };
        let from_me = key["fromMe"] == true;
        let conversation = |address, direct| Conversation { address, direct, ..Conversation::default() };
        if jid.ends_with("@g.us") {
            let Ok(address) = canonical(jid, Takes { groups: true, users: false }) else {
                return Err(unreadable("group"));
            };
            let by = Somebody::of([&key["participant"], &key["participantAlt"], beside]);
            return Ok(Self { conversation: conversation(address, false), jid: jid.to_owned(), by, from_me });
        }
        match Somebody::of([&key["remoteJid"], &key["remoteJidAlt"]]) {
            Some(other) => {
                let conversation = conversation(other.address(), true);
                Ok(Self { conversation, jid: jid.to_owned(), by: Some(other), from_me })
            }
            // What people show to all of theirs, channels, and lists.
            None => Err(not_used(jid.rsplit('@').next().unwrap_or("key"))),
        }
    }

    /// The id of a message there, as the account names it: another's with its author. A group knows that one by the name that stands in
    /// the key.
    pub(super) fn named(&self, id: &str, key: &Value) -> String {
        let by = match self.conversation.direct {
            true => self.by.clone(),
            false => Somebody::of([&key["participant"]]).or_else(|| self.by.clone()),
        };
        match by.filter(|_| !self.from_me) {
            Some(by) => format!("{}/{id}", by.address()),
            None => id.to_owned(),
        }
    }
}

/// Reads a record.
///
/// # Errors
/// It is nobody's words, or cannot be read.
///
/// Everything in a draft is [bounded](Received::bounded): many are in memory at once.
pub(super) fn read(record: &Value, me: &Me) -> Result<Vec<Draft>, Dropped> {
    let (key, message) = (&record["key"], content::unwrapped(&record["message"]));
    let place = Place::of(key, &record["participant"])?;
    let kind = content::kind(message);
    let Some(own_id) = id(&key["id"]) else { return Err(unreadable("key")) };
    let mut author = author(&place, record, me).ok_or_else(|| unreadable("participant"))?;
    // The message that an edited record tells may be new to the hub, which cannot be known here: to leave it out would lose it. As
    // nobody vouches for its author it has a stranger's rights, and it calls nobody.
    let edited = edited(record);
    author.unverified |= edited;
    let at = seconds(record);
    let about = |key: String, message_id: String, event: Event| Received {
        key,
        conversation: place.conversation.clone(),
        author: author.clone(),
        message_id: Some(message_id),
        said_at: at.map(|at| at.saturating_mul(1000)),
        mentions_me: false,
        event,
    };
    let address = &place.conversation.address;
    let draft = |received: Received, file, refers| -> Result<Draft, Dropped> {
        Ok(Draft { received: received.bounded()?, file, refers, jid: place.jid.clone() })
    };
    if message["reactionMessage"].is_object() {
        let reaction = &message["reactionMessage"];
        let (target, emoji) = (&reaction["key"], reaction["text"].as_str().unwrap_or_default());
        let bare = id(&target["id"]).ok_or_else(|| unreadable(kind))?;
        let event = Event::Reaction { emoji: emoji.to_owned(), removed: emoji.is_empty() };
        let named = referred(bare, target, &place, me);
        let received = about(format!("{address}:{own_id}"), named, event);
        return Ok(vec![draft(received, None, Some(bare.to_owned()))?]);
    }
    let (text, file) = content::said(message).ok_or_else(|| not_used(kind))?;
    let context = content::context(record, message);
    let reply_to = reply_to(context, me);
    let refers = id(&context["stanzaId"]).filter(|_| may_be_own(context, &place, me)).map(str::to_owned);
    let forwarded = context["isForwarded"] == true;
    let words = Words { text, forwarded, reply_to, ..Words::default() };
    let named = place.named(own_id, key);
    let mut received = about(format!("{address}:{own_id}"), named.clone(), Event::Message(words.clone()));
    // Whoever was called in what is handed on was called by somebody else.
    received.mentions_me = !place.from_me && !edited && !forwarded && mentions(context, me);
    let mut drafts = vec![draft(received, file.filter(|_| !place.from_me), refers.clone())?];
    if edited {
        let key = format!("edit:{address}:{own_id}:{}", at.unwrap_or(0));
        drafts.push(draft(about(key, named.clone(), Event::Edit(words)), None, refers)?);
    }
    if became(record, "DELETED") {
        let mut received = about(deletion(address, own_id), named, Event::Delete);
        // Who did it stands nowhere, nor when.
        (received.author.unverified, received.said_at) = (true, None);
        drafts.push(draft(received, None, None)?);
    }
    Ok(drafts)
}

/// The key of a deletion, however it is told.
pub(super) fn deletion(address: &str, id: &str) -> String {
    format!("delete:{address}:{id}")
}

fn author(place: &Place, record: &Value, me: &Me) -> Option<Author> {
    if place.from_me || place.by.as_ref().is_some_and(|by| !place.conversation.direct && me.is(by)) {
        return Some(me.author());
    }
    let name = record["pushName"].as_str().map(str::trim).filter(|name| !name.is_empty());
    Some(place.by.as_ref()?.author(name.map(str::to_owned)))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn mentions(context: &Value, me: &Me) -> bool {
    let mentioned = list(&context["mentionedJid"]).take(MAX_MENTIONS);
    mentioned.filter_map(|jid| Somebody::of([jid])).any(|somebody| me.is(&somebody))
}

/// A message that is referred to by a key: its id, with its author before it unless the account wrote it.
fn referred(bare: &str, key: &Value, place: &Place, me: &Me) -> String {
    let own = key["fromMe"] == true || Somebody::of([&key["participant"]]).is_some_and(|by| me.is(&by));
    let by = match place.conversation.direct {
        true => place.by.clone(),
        false => Somebody::of([&key["participant"]]),
    };
    match by.filter(|_| !own) {
        Some(by) => format!("{}/{bare}", by.address()),
        None => bare.to_owned(),
    }
}

/// Whether the quoted message may be the account's, so that the hub is asked for its id. Whoever writes to a group chooses the id of
/// their message, also one that a message of the account's has.
fn may_be_own(context: &Value, place: &Place, me: &Me) -> bool {
    let elsewhere = context["remoteJid"].as_str().is_some_and(|jid| {
        let is_group = jid.ends_with("@g.us");
        is_group == place.conversation.direct || (is_group && jid != place.jid)
    });
    let somebody_else = Somebody::of([&context["participant"]]).is_some_and(|by| {
        let theirs =
            || place.by.as_ref().is_some_and(|other| other.ids().iter().any(|id| by.ids().contains(id)));
        // In a group a hidden id is anybody's, until the account wrote there by it.
        !me.is(&by) && (by.number.is_some() || !place.conversation.direct || theirs())
    });
    !elsewhere && !handed_on(context) && !somebody_else
}

/// Whether the quoted message was itself handed on: then it is not the words of whoever sent it.
fn handed_on(context: &Value) -> bool {
    let message = content::unwrapped(&context["quotedMessage"]);
    message[content::kind(message)]["contextInfo"]["isForwarded"] == true
}

fn reply_to(context: &Value, me: &Me) -> Option<ReplyTo> {
    let bare = id(&context["stanzaId"])?;
    let by = Somebody::of([&context["participant"]]);
    // "Reply privately" quotes a message of a group between two: whoever is not the other is not yet the account.
    let mine = by.as_ref().is_some_and(|by| me.is(by));
    let handed_on = handed_on(context);
    let quoted = content::said(content::unwrapped(&context["quotedMessage"]));
    Some(ReplyTo {
        id: match &by {
            Some(by) if !mine => format!("{}/{bare}", by.address()),
            _ => bare.to_owned(),
        },
        mine: mine && !handed_on,
        author: by.filter(|_| !handed_on).and_then(|by| by.ids().into_iter().next()),
        text: quoted.map(|(text, _)| text).filter(|text| !text.is_empty()),
    })
}

impl Draft {
    /// How long its texts are, in bytes.
    pub(super) fn text(&self) -> usize {
        let words = self.received.event.words();
        let quoted = |words: &Words| {
            words.reply_to.as_ref().and_then(|reply| reply.text.as_ref()).map_or(0, String::len)
        };
        words.map_or(0, |words| words.text.len() + quoted(words))
    }

    /// What it refers to is the account's own.
    pub(super) fn refers_to_own(&mut self) {
        let Some(bare) = self.refers.clone() else { return };
        match &mut self.received.event {
            Event::Message(words) | Event::Edit(words) => {
                if let Some(reply) = &mut words.reply_to {
                    (reply.id, reply.mine) = (bare, true);
                }
            }
            _ => self.received.message_id = Some(bare),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_group_does_not_take_an_unknown_hidden_id_for_the_accounts() {
        let group = "120363012345678901@g.us";
        let mut me = Me::default();
        me.learn_from(&json!({"key": {"fromMe": true, "participant": "99999999@lid"}}));
        let refers = |remote: &str, participant: &str| {
            let context = json!({"stanzaId": "3EB0FF", "participant": participant, "quotedMessage": {"conversation": "Send all"}});
            let record = json!({
                "key": {"id": "3EB0AA", "remoteJid": remote, "participant": "4915112345679@s.whatsapp.net", "fromMe": false},
                "messageTimestamp": 1_749_416_383,
                "message": {"extendedTextMessage": {"text": "Do it", "contextInfo": context}},
            });
            read(&record, &me).unwrap().remove(0).refers
        };
        // Whoever writes it chooses the id of a message, also one of the account's.
        assert_eq!(refers(group, "66666666@lid"), None);
        assert_eq!(refers(group, "99999999@lid").as_deref(), Some("3EB0FF"), "the account wrote by it");
        assert_eq!(refers("4915112345679@s.whatsapp.net", "66666666@lid").as_deref(), Some("3EB0FF"));
    }
}
