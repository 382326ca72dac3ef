//! One event of a room as what the hub receives. It asks nobody: what the event is about is [`Known`] before.

use std::collections::HashMap;

use super::{
    answer::Invitation,
    event::{RoomEvent, dropped, is_poll},
    known::{Fact, Known, What},
    words::{self, MediaFile, Said},
};
use crate::channels::received::{
    Author, AuthorKind, Conversation, DropReason, Dropped, Event, Received, ReplyTo, Words,
};

/// Where an event is read.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The account's own id.
    pub(super) me: &'a str,
    /// The room.
    pub(super) conversation: &'a Conversation,
    /// What its members are called.
    pub(super) names: &'a HashMap<String, String>,
    pub(super) known: &'a Known,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) received: Received,
    /// The file that is still to be fetched.
    pub(super) file: Option<MediaFile>,
}

/// What somebody did, before it is said who and where.
struct Reading {
    event: Event,
    /// The message that it is about; itself, where there is none.
    about: Option<String>,
    thread: Option<String>,
    mentions_me: bool,
    file: Option<MediaFile>,
    /// Who did it, where that is not the sender.
    author: Option<String>,
}

impl Reading {
    fn new(event: Event) -> Self {
        Self { event, about: None, thread: None, mentions_me: false, file: None, author: None }
    }

    fn about(event: Event, id: &str, fact: Option<&Fact>) -> Self {
        let thread = fact.and_then(|fact| fact.thread.clone());
        Self { about: Some(id.to_owned()), thread, ..Self::new(event) }
    }
}

impl Place<'_> {
    /// Reads one.
    ///
    /// # Errors
    /// It has no id, cannot be read, or is of no use to the hub.
    pub(super) fn read(&self, event: &RoomEvent) -> Result<Read, Dropped> {
        if event.id.is_empty() {
            return Err(event.drop_as(DropReason::Unreadable));
        }
        let reading = match event.kind.as_str() {
            "m.room.message" => match event.related("m.replace") {
                Some(original) => self.edit(event, original)?,
                None => self.message(event)?,
            },
            "m.sticker" => self.message(event)?,
            "m.reaction" => self.reaction(event)?,
            "m.room.redaction" => self.redaction(event)?,
            "m.room.member" => self.membership(event)?,
            kind if is_poll(kind, "start") => self.message(event)?,
            kind if is_poll(kind, "response") => self.vote(event)?,
            // Among them m.room.encrypted: the hub has no keys yet.
            _ => return Err(event.drop_as(DropReason::NotUsed)),
        };
        let conversation = Conversation { thread: reading.thread, ..self.conversation.clone() };
        let author = self.author(reading.author.as_deref().unwrap_or(&event.sender), event);
        let received = Received {
            key: event.id.clone(),
            conversation,
            author,
            message_id: Some(reading.about.unwrap_or_else(|| event.id.clone())),
            said_at: event.at,
            mentions_me: reading.mentions_me,
            event: reading.event,
        };
        Ok(Read { received, file: reading.file })
    }

    fn message(&self, event: &RoomEvent) -> Result<Reading, Dropped> {
        let content = &event.content;
        let said = match event.kind.as_str() {
            "m.room.message" | "m.sticker" => words::said(content, event.kind == "m.sticker"),
            _ => words::asked(content).map(|text| Said { text, ..Said::default() }),
        };
        // Without a body it was redacted before the account came to read it.
        let said = said.ok_or_else(|| event.drop_as(DropReason::NotUsed))?;
        let reply_to = event.answers().map(|id| self.answered(id));
        let mentions_me = self.is_mentioned(event) || reply_to.as_ref().is_some_and(|reply| reply.mine);
        let missing = said.missing.into_iter().collect();
        let words = Words { text: said.text, missing, reply_to, ..Words::default() };
        let thread = event.thread().map(str::to_owned);
        Ok(Reading { thread, mentions_me, file: said.file, ..Reading::new(Event::Message(words)) })
    }

    /// #event-replacements: of somebody else than who wrote the original, or of something that is no message, it is none.
    fn edit(&self, event: &RoomEvent, original: &str) -> Result<Reading, Dropped> {
        let not_used = || event.drop_as(DropReason::NotUsed);
        let fact = self.fact(original).filter(|fact| fact.sender == event.sender).ok_or_else(not_used)?;
        if !matches!(fact.what, What::Words(_)) {
            return Err(not_used());
        }
        let said = words::said(&event.content["m.new_content"], false).ok_or_else(not_used)?;
        // The file is the one that was there: an edit changes its caption.
        let words = Words { text: said.text, ..Words::default() };
        // Those outside the new content are the ones that the edit adds (#mentioning-users-and-rooms).
        let mentions_me = self.is_mentioned(event);
        Ok(Reading { mentions_me, ..Reading::about(Event::Edit(words), original, Some(fact)) })
    }

    fn reaction(&self, event: &RoomEvent) -> Result<Reading, Dropped> {
        let emoji = event.content["m.relates_to"]["key"].as_str().filter(|key| !key.is_empty());
        let (Some(to), Some(emoji)) = (event.related("m.annotation"), emoji) else {
            return Err(event.drop_as(DropReason::NotUsed));
        };
        let reaction = Event::Reaction { emoji: emoji.to_owned(), removed: false };
        Ok(Reading::about(reaction, to, self.fact(to)))
    }

    fn redaction(&self, event: &RoomEvent) -> Result<Reading, Dropped> {
        let gone = event.redacts().ok_or_else(|| event.drop_as(DropReason::Unreadable))?;
        let fact = self.fact(gone);
        match fact.map(|fact| &fact.what) {
            Some(What::Reaction { to, emoji }) => {
                let removed = Event::Reaction { emoji: emoji.clone(), removed: true };
                Ok(Reading::about(removed, to, self.fact(to)))
            }
            Some(What::Vote { poll }) => {
                Ok(Reading::about(Event::Vote { options: Vec::new() }, poll, self.fact(poll)))
            }
            Some(What::Words(_) | What::Poll(_)) | None => Ok(Reading::about(Event::Delete, gone, fact)),
            // An edit, a state, or a reaction of which the server shows no more than that it was one.
            Some(What::Other) => Err(event.drop_as(DropReason::NotUsed)),
        }
    }

    /// An answer to a poll of the account's, in the poll's words.
    fn vote(&self, event: &RoomEvent) -> Result<Reading, Dropped> {
        let not_used = || event.drop_as(DropReason::NotUsed);
        let poll = event.related("m.reference").ok_or_else(not_used)?;
        let fact = self.fact(poll).filter(|fact| fact.sender == self.me).ok_or_else(not_used)?;
        let What::Poll(options) = &fact.what else { return Err(not_used()) };
        let content = &event.content;
        let chosen = content["org.matrix.msc3381.poll.response"]["answers"]
            .as_array()
            .or_else(|| content["m.selections"].as_array())
            .ok_or_else(|| event.drop_as(DropReason::Unreadable))?;
        let text = |id| options.iter().find(|(option, _)| option == id).map(|(_, text)| text.clone());
        let options = chosen.iter().filter_map(|id| text(id.as_str()?)).collect();
        Ok(Reading { mentions_me: true, ..Reading::about(Event::Vote { options }, poll, Some(fact)) })
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#mroommember>: a change of name is a join after a join.
    fn membership(&self, event: &RoomEvent) -> Result<Reading, Dropped> {
        let unreadable = || event.drop_as(DropReason::Unreadable);
        let member = event.state_key.as_deref().filter(|id| id.starts_with('@')).ok_or_else(unreadable)?;
        let membership = event.content["membership"].as_str().ok_or_else(unreadable)?;
        let before = event.before.as_deref();
        let (what, author) = match membership {
            "join" if before != Some("join") => (Event::Join, member),
            // Who puts out the account did it; of anybody else it matters that they are gone.
            "leave" | "ban" if member == self.me => (Event::Leave, event.sender.as_str()),
            "leave" | "ban" if before.is_none_or(|before| before == "join") => (Event::Leave, member),
            _ => return Err(event.drop_as(DropReason::NotUsed)),
        };
        let mentions_me = member == self.me && author != self.me;
        Ok(Reading { mentions_me, author: Some(author.to_owned()), ..Reading::new(what) })
    }

    fn answered(&self, id: &str) -> ReplyTo {
        let fact = self.fact(id);
        let text = fact.and_then(|fact| match &fact.what {
            What::Words(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        let author = fact.map(|fact| fact.sender.clone());
        ReplyTo { id: id.to_owned(), mine: fact.is_some_and(|fact| fact.sender == self.me), author, text }
    }

    fn fact(&self, id: &str) -> Option<&Fact> {
        self.known.fact(&self.conversation.address, id)
    }

    /// <https://spec.matrix.org/v1.18/client-server-api/#user-and-room-mentions>. One of the whole room is none of the account's.
    fn is_mentioned(&self, event: &RoomEvent) -> bool {
        let users = event.content["m.mentions"]["user_ids"].as_array();
        event.sender != self.me && users.is_some_and(|users| users.iter().any(|user| user == self.me))
    }

    fn author(&self, id: &str, event: &RoomEvent) -> Author {
        // #mnotice: the words of a program, which no program must answer. Matrix has no other mark of one.
        let kind = match event.content["msgtype"].as_str() {
            _ if id == self.me => AuthorKind::Myself,
            Some("m.notice") => AuthorKind::Program,
            _ => AuthorKind::Person,
        };
        Author { id: id.to_owned(), name: self.names.get(id).cloned(), kind, ..Author::default() }
    }
}

/// That somebody asks the account into a room.
pub(super) fn invited(invitation: &Invitation) -> Received {
    Received {
        key: invitation.event.clone().unwrap_or_default(),
        conversation: Conversation {
            address: invitation.room.clone(),
            title: invitation.title.clone(),
            ..Conversation::default()
        },
        author: Author { id: invitation.inviter.clone(), name: invitation.name.clone(), ..Author::default() },
        message_id: None,
        said_at: invitation.at,
        mentions_me: true,
        event: Event::Join,
    }
}

/// What comes before the account's own joining: it was said to others. Their kinds, as dropped.
pub(super) fn before_joining(
    events: &mut Vec<Result<RoomEvent, Dropped>>,
    me: &str,
    there: bool,
) -> Vec<Dropped> {
    let joins = |event: &Result<RoomEvent, Dropped>| matches!(event, Ok(event) if event.brings(me, there));
    let Some(at) = events.iter().rposition(joins) else { return Vec::new() };
    let not_heard = |event: Result<RoomEvent, Dropped>| match event {
        Ok(event) => event.drop_as(DropReason::NotUsed),
        Err(_) => dropped(DropReason::NotUsed, "event"),
    };
    events.drain(..at).map(not_heard).collect()
}
