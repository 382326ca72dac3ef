//! An event as what somebody did. Reading asks nobody and changes nothing.
//!
//! The members are those of signal-cli's records
//! (<https://github.com/AsamK/signal-cli/tree/master/src/main/java/org/asamk/signal/json>): `JsonReceiveMessageHandler` has the account, the
//! envelope and what went wrong with it, `JsonMessageEnvelope` who sent it and one kind of content, `JsonDataMessage` the content that
//! people see.

use serde_json::Value;

use super::{
    files::Sent,
    names::Names,
    words::{self, Said},
};
use crate::channels::{
    received::{Author, AuthorKind, Conversation, DropReason, Dropped, Event, Received, Seen},
    signal::target::{canonical, person},
};

/// Who the account is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Its number.
    pub number: String,
    /// Its own id (ACI), once signal-cli has said it.
    pub uuid: Option<String>,
}

impl Me {
    /// Whether that is the account.
    pub(super) fn is(&self, id: &str) -> bool {
        self.number == id || self.uuid.as_deref() == Some(id)
    }
}

/// What an event says, but for its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) received: Received,
    /// Its files, which are still at signal-cli.
    pub(super) files: Vec<Sent>,
    /// The id that an edited message has from now on.
    pub(super) revision: Option<String>,
}

/// A message that is referred to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Referred {
    /// Its id, as the account names it.
    pub(super) id: String,
    /// Whether the account wrote it.
    pub(super) mine: bool,
    /// Who did.
    pub(super) author: String,
}

/// Kinds of content that are nobody's words to the account: what it did on another device, calls, stories, and what applications tell one
/// another.
const BESIDE: [&str; 5] = ["syncMessage", "callMessage", "storyMessage", "receiptMessage", "typingMessage"];
/// Contents of a message that change nothing that anybody wrote.
const ARRANGED: [&str; 4] = ["pinMessage", "unpinMessage", "pollTerminate", "groupCallUpdate"];

/// What somebody has seen of the account's messages to them; nothing if the event says something else
/// (<https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/json/JsonReceiptMessage.java>). That they looked at a
/// picture that is shown once is not told.
pub(super) fn seen(event: &Value, me: &Me) -> Option<Seen> {
    let (envelope, receipt) = (&event["envelope"], &event["envelope"]["receiptMessage"]);
    let read = receipt["isRead"] == true;
    if !(read || receipt["isDelivery"] == true) || event["account"].as_str().is_some_and(|to| !me.is(to)) {
        return None;
    }
    let (id, number) = somebody(&envelope["sourceUuid"], &envelope["sourceNumber"])?;
    let ids = receipt["timestamps"].as_array()?.iter().filter_map(time).map(|id| id.to_string()).collect();
    let at = time(&envelope["serverReceivedTimestamp"]).or_else(|| time(&receipt["when"]));
    Some(Seen { by: [Some(id), number].into_iter().flatten().collect(), ids, and_before: false, read, at })
}

/// Reads one event.
///
/// # Errors
/// It is nobody's words to the account, or cannot be read.
pub(super) fn read(event: &Value, me: &Me, names: &Names) -> Result<Draft, Dropped> {
    if event["account"].as_str().is_some_and(|account| !me.is(account)) {
        return Err(not_used("another account"));
    }
    if event["exception"].is_object() {
        // What could not be decrypted; its class alone, for its words may name people.
        return Err(unreadable(event["exception"]["type"].as_str().unwrap_or("exception")));
    }
    let envelope = &event["envelope"];
    if !envelope.is_object() {
        return Err(unreadable("envelope"));
    }
    if envelope["dataMessage"].is_object() {
        return Content::of(envelope, &envelope["dataMessage"], me, names)
            .ok_or_else(|| unreadable("dataMessage"))?
            .read();
    }
    let edit = &envelope["editMessage"];
    if edit.is_object() {
        let content = Content::of(envelope, &edit["dataMessage"], me, names);
        return content
            .and_then(|content| content.edit(edit))
            .unwrap_or_else(|| Err(unreadable("editMessage")));
    }
    let known = BESIDE.into_iter().find(|kind| !envelope[*kind].is_null());
    Err(known.map_or_else(|| not_used(unknown_kind(envelope)), not_used))
}

/// The kind of an envelope with a content that is new to the hub, in signal-cli's own term.
fn unknown_kind(envelope: &Value) -> &str {
    let mut members = envelope.as_object().into_iter().flatten();
    members.find(|(_, value)| value.is_object()).map_or("envelope without content", |(name, _)| name.as_str())
}

/// Why an event goes no further, with its kind as a short word.
fn dropped(reason: DropReason, what: &str) -> Dropped {
    Dropped { reason, what: what.chars().take(40).collect() }
}

pub(super) fn unreadable(what: &str) -> Dropped {
    dropped(DropReason::Unreadable, what)
}

pub(super) fn not_used(what: &str) -> Dropped {
    dropped(DropReason::NotUsed, what)
}

/// A time of Signal's, in milliseconds; 0 stands for none.
pub(super) fn time(value: &Value) -> Option<i64> {
    value.as_i64().filter(|time| (1..10_000_000_000_000_000).contains(time))
}

/// Somebody's id, and their number where both are told.
pub(super) fn somebody(uuid: &Value, number: &Value) -> Option<(String, Option<String>)> {
    let uuid = uuid.as_str().and_then(person);
    let number = number.as_str().and_then(person).filter(|number| number.starts_with('+'));
    match uuid {
        Some(uuid) => Some((uuid, number)),
        None => number.map(|number| (number, None)),
    }
}

/// A message: its time, with its author before it unless the account wrote it.
pub(super) fn referred(uuid: &Value, number: &Value, at: &Value, me: &Me) -> Option<Referred> {
    let (author, number) = somebody(uuid, number)?;
    let at = time(at)?;
    let mine = me.is(&author) || number.is_some_and(|number| me.is(&number));
    let id = if mine { at.to_string() } else { format!("{author}/{at}") };
    Some(Referred { id, mine, author })
}

/// The group of a content, as an address.
pub(super) fn group(data: &Value) -> Option<&str> {
    data["groupInfo"]["groupId"].as_str()
}

/// What somebody said or did, and where.
struct Content<'a> {
    data: &'a Value,
    me: &'a Me,
    names: &'a Names,
    author: Author,
    conversation: Conversation,
    /// The time that, with its author, names it.
    sent: i64,
    /// When Signal had it: the sender's clock may be set to anything.
    said_at: i64,
}

impl<'a> Content<'a> {
    /// Nothing if it lacks what each has.
    fn of(envelope: &Value, data: &'a Value, me: &'a Me, names: &'a Names) -> Option<Self> {
        let (id, number) = somebody(&envelope["sourceUuid"], &envelope["sourceNumber"])?;
        let sent = time(&data["timestamp"]).or_else(|| time(&envelope["timestamp"]))?;
        let is_me = me.is(&id) || number.as_deref().is_some_and(|number| me.is(number));
        let name = envelope["sourceName"].as_str().map(str::trim).filter(|name| !name.is_empty());
        let conversation = match group(data) {
            Some(group) => {
                let address = canonical(&format!("group:{group}")).ok()?;
                let title = names.group(group).map(str::to_owned);
                Conversation { address, title, direct: false, thread: None }
            }
            None => Conversation { address: id.clone(), direct: true, ..Conversation::default() },
        };
        let author = Author {
            id,
            same_as: number.into_iter().collect(),
            name: name.map(str::to_owned),
            kind: if is_me { AuthorKind::Myself } else { AuthorKind::Person },
            unverified: false,
        };
        let said_at = time(&envelope["serverReceivedTimestamp"]).unwrap_or(sent);
        Some(Self { data, me, names, author, conversation, sent, said_at })
    }

    fn read(self) -> Result<Draft, Dropped> {
        let data = self.data;
        let of = |what: &Value, at: &str| {
            referred(&what["targetAuthorUuid"], &what["targetAuthorNumber"], &what[at], self.me)
        };
        if data["reaction"].is_object() {
            let reaction = &data["reaction"];
            let (target, emoji) = of(reaction, "targetSentTimestamp")
                .zip(reaction["emoji"].as_str())
                .ok_or_else(|| unreadable("reaction"))?;
            let event = Event::Reaction { emoji: emoji.to_owned(), removed: reaction["isRemove"] == true };
            return Ok(self.about(target.id, event));
        }
        if data["remoteDelete"].is_object() {
            let at = time(&data["remoteDelete"]["timestamp"]).ok_or_else(|| unreadable("remoteDelete"))?;
            let id = format!("{}/{at}", self.author.id);
            return Ok(self.about(id, Event::Delete));
        }
        // Somebody who may do so has removed what another one wrote in a group.
        if data["adminDelete"].is_object() {
            let target = of(&data["adminDelete"], "targetSentTimestamp");
            let target = target.ok_or_else(|| unreadable("adminDelete"))?;
            return Ok(self.about(target.id, Event::Delete));
        }
        if data["pollVote"].is_object() {
            return self.vote();
        }
        if let Some(arranged) = ARRANGED.into_iter().find(|kind| data[*kind].is_object()) {
            return Err(not_used(arranged));
        }
        let Some(said) = self.words() else {
            return Err(not_used(self.told_by()));
        };
        let id = format!("{}/{}", self.author.id, self.sent);
        Ok(self.said(id, said, Event::Message))
    }

    /// <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/json/JsonPollVote.java>. Its options count from
    /// zero; people count from one.
    fn vote(self) -> Result<Draft, Dropped> {
        let vote = &self.data["pollVote"];
        let poll =
            referred(&vote["authorUuid"], &vote["authorNumber"], &vote["targetSentTimestamp"], self.me);
        let poll = poll.ok_or_else(|| unreadable("pollVote"))?;
        if !poll.mine {
            return Err(not_used("pollVote in another's poll"));
        }
        let options =
            vote["optionIndexes"].as_array().into_iter().flatten().filter_map(Value::as_u64).take(100);
        let options = options.map(|option| option.saturating_add(1).to_string()).collect();
        let mut draft = self.about(poll.id, Event::Vote { options });
        draft.received.mentions_me = true;
        Ok(draft)
    }

    /// The new words of a message. Its files came with it.
    fn edit(self, edit: &Value) -> Option<Result<Draft, Dropped>> {
        let target = time(&edit["targetSentTimestamp"])?;
        let Some(said) = self.words() else { return Some(Err(not_used("editMessage without words"))) };
        let [id, revision] = [target, self.sent].map(|at| format!("{}/{at}", self.author.id));
        let mut draft = self.said(id, said, Event::Edit);
        draft.received.key = format!("{}:{target}", draft.received.key);
        draft.files.clear();
        draft.revision = Some(revision);
        Some(Ok(draft))
    }

    fn words(&self) -> Option<Said> {
        words::read(self.data, self.me, self.names)
    }

    fn said(
        self,
        id: String,
        said: Said,
        event: impl FnOnce(crate::channels::received::Words) -> Event,
    ) -> Draft {
        let mentions_me = said.mentions_me && self.author.kind != AuthorKind::Myself;
        let mut draft = self.about(id, event(said.words));
        draft.received.mentions_me = mentions_me;
        draft.files = said.files;
        draft
    }

    /// Something that was done, with the message that it is or is about. Its author and its time name it; the conversation stands beside
    /// them because one time may serve for a message to several.
    fn about(self, id: String, event: Event) -> Draft {
        let key = format!("{}:{}:{}:{}", event.word(), self.conversation.address, self.author.id, self.sent);
        let received = Received {
            key,
            conversation: self.conversation,
            author: self.author,
            message_id: Some(id),
            said_at: Some(self.said_at),
            mentions_me: false,
            event,
        };
        Draft { received, files: Vec::new(), revision: None }
    }

    /// By what a message without words tells something. Who came to a group or left it, signal-cli does not say: only that it changed.
    fn told_by(&self) -> &str {
        match self.data {
            data if data["groupInfo"]["type"] == "UPDATE" => "group update",
            data if data["isExpirationUpdate"] == true => "expiration update",
            _ => "dataMessage without words",
        }
    }
}
