//! Writing the approval document, and checking stored parts against it.
//!
//! One that lists several targets is about messages that differ in nothing that is shown but their target ([`alike`]). What is
//! to be said of an address itself, that it was written otherwise or that nobody knows whose it is, has no place in a list: such
//! a message has a document of its own.

use gatepost_link::{
    Digest, RequestId,
    document::{
        self, Also, Document, MAX_ATTACHMENTS, MAX_DOCUMENT, MAX_OPTIONS, MAX_PARTS, MAX_TEXT, Part, Target,
    },
};

use crate::{
    message::attachment::Attachment,
    outbox::{
        row::{MessageRow, PartRow},
        transition::NewPart,
    },
    policy::Deciders,
};

/// A message that is to be held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding<'a> {
    /// The message.
    pub(crate) message: &'a MessageRow,
    /// What it will become.
    pub(crate) parts: &'a [NewPart],
    /// Why a person is asked.
    pub(crate) reason: &'a str,
    /// Who decides.
    pub(crate) by: Deciders,
}

/// Why no companion could show a message. Said at once: a hold that nobody can end is a slow way to say no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentRefused {
    /// More text than a person should be asked to read on a companion.
    #[error(
        "the text has {0} bytes, and a companion shows at most {MAX_TEXT} for approval: shorten it, or send it as several messages"
    )]
    Text(usize),
    /// More parts than a document lists.
    #[error(
        "the message becomes {0} parts, and a companion shows at most {MAX_PARTS} for approval: shorten it, or send it as several messages"
    )]
    Parts(usize),
    /// More files than a document lists.
    #[error(
        "the message has {0} files, and a companion lists at most {MAX_ATTACHMENTS} for approval: send it as several messages"
    )]
    Files(usize),
    /// The rest (addresses, ids) is too long.
    #[error(
        "the message with all its addresses is too long for a companion to show ({MAX_DOCUMENT} bytes at most)"
    )]
    Document,
}

/// Whether a companion could show these parts and list these files.
pub(crate) fn check(parts: &[NewPart], files: &[Attachment]) -> Result<(), DocumentRefused> {
    if files.len() > MAX_ATTACHMENTS {
        return Err(DocumentRefused::Files(files.len()));
    }
    let text: usize = parts.iter().map(|part| part.shown.len()).sum();
    if text > MAX_TEXT {
        return Err(DocumentRefused::Text(text));
    }
    if parts.len() > MAX_PARTS {
        return Err(DocumentRefused::Parts(parts.len()));
    }
    Ok(())
}

/// The document's bytes for messages that are [`alike`] and the parts that they will become: one, or several to as many targets.
/// `heard`: what is to be said of the conversation.
pub(super) fn write(
    request: RequestId,
    audit_head: Digest,
    messages: &[Holding<'_>],
    heard: Option<&str>,
) -> Result<Vec<u8>, DocumentRefused> {
    let [Holding { message, parts, .. }, others @ ..] = messages else {
        return Err(DocumentRefused::Document);
    };
    check(parts, &message.attachments)?;
    let shown = parts.iter().map(|part| Part {
        text: &part.shown,
        wire: Digest::of(part.request.as_bytes()),
        wire_alt: None,
    });
    let origin = message.origin.as_ref().map(|origin| origin.place.to_string());
    let whose: Vec<String> = whose(message).into_iter().chain(heard.map(str::to_owned)).collect();
    let document = Document {
        request,
        audit_head,
        agent: &message.agent,
        origin: origin.as_deref(),
        action: &message.action,
        channel: &message.channel,
        account: &message.account,
        address: &message.address,
        known_as: message.known_as.as_deref(),
        thread: message.thread.as_deref(),
        reply_to: message.reply_to.as_deref(),
        options: options(message, parts, &whose),
        parts: shown.collect(),
        attachments: message.attachments.iter().map(listed).collect(),
        also: heapless::Vec::new(),
    };
    let mut document = document;
    for Holding { message, parts, .. } in others {
        let wires = document::requests(parts.iter().map(|part| Digest::of(part.request.as_bytes())));
        let wires = wires.ok_or(DocumentRefused::Parts(parts.len()))?;
        let also = Also { target: target(message), wires };
        document.also.push(also).map_err(|_| DocumentRefused::Document)?;
    }
    let mut buffer = [0; MAX_DOCUMENT];
    document.encode(&mut buffer).map(<[u8]>::to_vec).map_err(|_| DocumentRefused::Document)
}

/// Whether one document can be about both messages: who reads it of the one has read it of the other, but for the target.
pub(super) fn alike(one: &Holding<'_>, other: &Holding<'_>) -> bool {
    let (a, b) = (one.message, other.message);
    let place = |message: &MessageRow| message.origin.as_ref().map(|origin| origin.place.to_string());
    let nothing_of_the_address = |message| whose(message).is_empty();
    one.by == other.by
        && nothing_of_the_address(a)
        && nothing_of_the_address(b)
        && (&a.agent, &a.action, &a.reply_to, a.silent) == (&b.agent, &b.action, &b.reply_to, b.silent)
        && place(a) == place(b)
        && a.attachments == b.attachments
        && options(a, one.parts, &[]) == options(b, other.parts, &[])
        && one.parts.iter().map(|part| &part.shown).eq(other.parts.iter().map(|part| &part.shown))
}

fn target(message: &MessageRow) -> Target<'_> {
    Target {
        channel: &message.channel,
        account: &message.account,
        address: &message.address,
        known_as: message.known_as.as_deref(),
        thread: message.thread.as_deref(),
    }
}

/// Which of the document's targets a message goes to; the name in the address book is the owner's word for it.
pub(super) fn listed_as(document: &Document<'_>, message: &MessageRow) -> Option<usize> {
    let own = target(message);
    document.targets().position(|listed| Target { known_as: own.known_as, ..listed } == own)
}

/// Whether these are the requests that the document has for the target at this place.
pub(super) fn has_requests(document: &Document<'_>, index: usize, parts: &[PartRow]) -> bool {
    let mut wires = parts.iter().map(|part| Digest::of(part.request.as_bytes()));
    match index.checked_sub(1) {
        None => document.parts.iter().map(|part| part.wire).eq(wires),
        Some(further) => {
            document.also.get(further).is_some_and(|also| document::requests(&mut wires) == Some(also.wires))
        }
    }
}

/// What is to be said of the address: how it was written, and that nobody knows whose it is.
pub(super) fn whose(message: &MessageRow) -> Vec<String> {
    let written = message.written_as.as_ref().map(|written| format!("written as {written}"));
    let unknown = message.unidentified.as_ref().map(|why| {
        let why: String = why.chars().take(MAX_REASON_CHARS).collect();
        format!("nobody knows whose address this is: {why}")
    });
    written.into_iter().chain(unknown).collect()
}

/// Characters of a platform's words on why it cannot say whose address it is.
const MAX_REASON_CHARS: usize = 160;

/// Words for how it arrives: without a notification, by which ways; and what is to be said of the address.
fn options<'a>(
    message: &MessageRow,
    parts: &[NewPart],
    whose: &'a [String],
) -> heapless::Vec<&'a str, MAX_OPTIONS> {
    let silent = message.silent.then_some("silent");
    let mut options: heapless::Vec<_, MAX_OPTIONS> =
        silent.into_iter().chain(whose.iter().map(String::as_str)).collect();
    for route in parts.iter().filter_map(|part| part.route) {
        if !options.contains(&route) {
            // An account has two ways at most.
            let _ = options.push(route);
        }
    }
    options
}

/// A file as the document lists it. Its caption stands in a part's text.
pub(super) fn listed(file: &Attachment) -> document::Attachment<'_> {
    document::Attachment { name: &file.name, kind: &file.kind, size: file.size, digest: file.sha256 }
}

/// Whether the stored message is the one that the document describes: where it goes by letter, its requests by hash, its
/// texts and files by letter.
pub(super) fn covers(document: &[u8], message: &MessageRow, parts: &[PartRow]) -> bool {
    let Ok(document) = Document::decode(document) else { return false };
    listed_as(&document, message).is_some_and(|index| has_requests(&document, index, parts))
        && document.attachments.iter().cloned().eq(message.attachments.iter().map(listed))
        && document.parts.len() == parts.len()
        && document.parts.iter().zip(parts).all(|(approved, stored)| approved.text == stored.shown)
}
