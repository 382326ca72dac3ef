//! One mail, as its bytes are: who wrote it, in which thread, what it says, and its files.
//!
//! It asks nobody and stops at nothing: what cannot be answered is [`Dropped`]. A conversation is with the author, whoever else the
//! mail went to, and by `From`: a `Reply-To` leads elsewhere, and nobody vouches for it.

use mail_parser::{HeaderValue, Message, MessageParser, MessagePart, MimeHeaders as _};
use sha2::{Digest as _, Sha256};

use super::{
    author::{Owner, author},
    words,
};
use crate::{
    channels::{
        PartKey,
        email::request::message_ids,
        received::{AuthorKind, Conversation, DropReason, Dropped, Event, MAX_FILES, Received, ReplyTo, Words},
    },
    message::target::MAX_ADDRESS,
    random::to_hex,
};

/// The longest name of a file that is handed on, in characters.
const MAX_NAME_CHARS: usize = 200;

/// A mail that was read.
pub(super) struct Mail<'a> {
    message: Message<'a>,
    /// What it is to the hub, without its files.
    pub(super) received: Received,
    /// The part of the account's that it may answer: the hub knows.
    pub(super) answers: Option<PartKey>,
}

/// A file of a mail.
pub(super) struct File<'a> {
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) bytes: &'a [u8],
}

impl<'a> Mail<'a> {
    /// Reads a mail, or the head of one, that came `at` this time by the server's clock.
    pub(super) fn read(bytes: &'a [u8], at: Option<i64>, owner: &Owner) -> Result<Self, Dropped> {
        let unreadable = |what: &str| Dropped { reason: DropReason::Unreadable, what: what.to_owned() };
        let message = MessageParser::default().parse(bytes).ok_or_else(|| unreadable("mail"))?;
        let author = author(&message, owner).ok_or_else(|| unreadable("mail without a sender"))?;
        let id = message.message_id().and_then(bracketed);
        let references = ids(message.references());
        let parent = ids(message.in_reply_to()).into_iter().next().or_else(|| references.last().cloned());
        let thread = references.into_iter().next().or_else(|| parent.clone()).or_else(|| id.clone());
        let answers = parent.as_deref().and_then(|parent| owner.part(parent));
        let words = Words {
            text: words::text(&message, parent.is_some()),
            reply_to: parent.map(|id| ReplyTo { id, mine: false, text: None }),
            ..Words::default()
        };
        let received = Received {
            key: key(&message, &author.id, author.kind, author.unverified),
            conversation: Conversation { address: author.id.clone(), thread, direct: true, title: None },
            author,
            message_id: id,
            said_at: at,
            mentions_me: is_addressed(&message, owner),
            event: Event::Message(words),
        };
        Ok(Self { message, received, answers })
    }

    /// Its files, as many as a message may have.
    pub(super) fn files(&self) -> impl Iterator<Item = File<'_>> {
        self.message.attachments().take(MAX_FILES).map(file)
    }

    /// How many files it has beyond those.
    pub(super) fn more_files(&self) -> usize {
        self.message.attachment_count().saturating_sub(MAX_FILES)
    }
}

fn file<'a>(part: &'a MessagePart<'_>) -> File<'a> {
    let kind = part.content_type().map(|kind| {
        let sub = kind.subtype().unwrap_or(if part.is_message() { "rfc822" } else { "octet-stream" });
        format!("{}/{sub}", kind.ctype()).to_ascii_lowercase()
    });
    let name = part.attachment_name().map(|name| name.chars().take(MAX_NAME_CHARS).collect());
    File { name, kind, bytes: part.contents() }
}

/// By what the same mail is known again. Who could write it is part of it: a stranger who repeats the Message-ID of somebody's mail,
/// or a list that sends a copy, does not stand in its way.
fn key(mail: &Message<'_>, author: &str, kind: AuthorKind, unverified: bool) -> String {
    let id = match mail.message_id() {
        Some(id) if !id.is_empty() => id.to_owned(),
        // Of a mail without one its head, which a part of it has too.
        _ => {
            let head = mail.raw_message();
            let end = mail.parts.first().map_or(0, |part| part.raw_body_offset() as usize);
            to_hex(&Sha256::digest(&head[..end.min(head.len())]))
        }
    };
    let trust = if unverified { "unverified" } else { "verified" };
    let by = match kind {
        AuthorKind::Person => "person",
        AuthorKind::Program => "program",
        AuthorKind::Myself => "myself",
    };
    format!("{} {by} {trust} {author}", id.chars().take(MAX_ADDRESS).collect::<String>())
}

/// Whether the account is among those that it is written to, and not only among those that get a copy.
fn is_addressed(mail: &Message<'_>, owner: &Owner) -> bool {
    mail.to().is_some_and(|to| to.iter().filter_map(|one| one.address()).any(|address| owner.is(address.trim())))
}

/// Message-IDs as the sender half spells them; those that it would refuse are left out.
fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    value.as_text_list().unwrap_or_default().iter().filter_map(|id| bracketed(id)).collect()
}

fn bracketed(id: &str) -> Option<String> {
    Some(format!("<{id}>")).filter(|id| is_message_id(id))
}

/// Whether a mail can be answered by this Message-ID, in angle brackets.
pub(super) fn is_message_id(id: &str) -> bool {
    id.len() <= MAX_ADDRESS && !id.contains(' ') && message_ids("", id).is_ok()
}
