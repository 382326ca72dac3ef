//! The platform requests that a message becomes. Pure, so that a dry run is the real thing.
//!
//! First the text, then the files; what goes with the text stands under its last part, where a reader comes to it last.
//! Anything but a new text is one request.

use std::borrow::Cow;

use serde_json::Value;

use super::{Renderings, files, operations, shown, speech};
use crate::{
    channels::{
        Adapter, OutgoingPart, Quoted, Refused, Source,
        envelope::{Envelope, Substitute},
        sender::Composed,
    },
    message::{
        attachment::Attachment,
        new_part_key,
        operation::{Extras, Operation},
        refusal::{Code, Refusal},
        target::Target,
    },
    outbox::{row::MessageRow, transition::NewPart},
    pipeline::AgentRules,
    policy::{self, Origin, Touched},
    render::{self, Document, Flavour, Part},
};

/// What a message's parts are made from.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// The message's id; none in a dry run.
    pub id: Option<&'a str>,
    /// Whose it is.
    pub agent: &'a str,
    /// Where it goes.
    pub target: &'a Target,
    /// The address as it was written, where that is another.
    pub written_as: Option<&'a str>,
    /// Why nobody knows whose address it is.
    pub unidentified: Option<&'a str>,
    /// From which account.
    pub account: &'a str,
    /// What it answers.
    pub reply_to: Option<&'a str>,
    /// What is known of that.
    pub quoted: Option<Quoted<'a>>,
    /// Without a notification.
    pub silent: bool,
    /// Where its turn came from.
    pub origin: Option<&'a Origin>,
    /// What is done.
    pub operation: &'a Operation,
    /// Markdown.
    pub text: &'a str,
    /// Files that go along, in their order.
    pub attachments: &'a [Attachment],
    /// The request that made the message which is edited, where it is one of the account's own.
    pub made_by: Option<&'a Value>,
    /// The messages that it names, and where they are.
    pub touched: &'a [Touched],
}

impl<'a> Content<'a> {
    /// Of a message in the queue, to this target.
    pub fn of(message: &'a MessageRow, target: &'a Target) -> Self {
        Self {
            id: Some(&message.id),
            agent: &message.agent,
            target,
            written_as: message.written_as.as_deref(),
            unidentified: message.unidentified.as_deref(),
            account: &message.account,
            reply_to: message.reply_to.as_deref(),
            quoted: None,
            silent: message.silent,
            origin: message.origin.as_ref(),
            operation: &message.operation,
            text: &message.text,
            attachments: &message.attachments,
            made_by: None,
            touched: &message.touched,
        }
    }

    /// How long its texts are.
    pub(in crate::admission) fn bytes(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let files = self.attachments.iter().map(|file| of(&file.caption) + of(&file.spoken));
        self.text.len() + files.sum::<usize>()
    }

    /// The address that its requests name.
    pub(super) fn recipient(&self, adapter: &dyn Adapter) -> &'a str {
        // What nobody could identify goes nowhere but to the address that was judged.
        adapter.recipient(&self.target.address, self.written_as.filter(|_| self.unidentified.is_none()))
    }
}

/// What one platform request holds.
#[derive(Default)]
pub(super) struct Piece<'a> {
    pub(super) part: Part,
    pub(super) files: &'a [Attachment],
    /// What goes as text where the platform refuses the file, which says nothing else.
    pub(super) words: Option<Part>,
}

/// Renders and splits a message into the platform requests that it becomes, under fresh keys.
pub fn parts(
    adapter: &dyn Adapter,
    rules: &AgentRules,
    content: &Content<'_>,
    renderings: &Renderings,
) -> Result<Vec<NewPart>, Refusal> {
    let prefix =
        whose(rules, content.agent, content.origin, content.account, content.target, content.touched);
    let prefix = prefix.as_deref();
    match content.operation {
        Operation::Send(extras) => letters(adapter, content, extras, prefix, renderings),
        Operation::Poll(_) if !content.text.trim().is_empty() => {
            let mut parts = letters(adapter, content, Extras::NONE, prefix, renderings)?;
            // The text before it has the prefix, and the answer.
            parts.extend(operations::part(adapter, &Content { text: "", reply_to: None, ..*content }, None)?);
            Ok(parts)
        }
        _ => Ok(operations::part(adapter, content, prefix)?.into_iter().collect()),
    }
}

/// Whose a message is, where it crosses conversations and the agent's are to say so: it stands before the first that is read.
pub(in crate::admission) fn whose(
    rules: &AgentRules,
    agent: &str,
    origin: Option<&Origin>,
    account: &str,
    target: &Target,
    touched: &[Touched],
) -> Option<String> {
    (rules.decorate && policy::crosses(origin, account, target, touched)).then(|| decoration(agent, origin))
}

fn letters(
    adapter: &dyn Adapter,
    content: &Content<'_>,
    extras: &Extras,
    prefix: Option<&str>,
    renderings: &Renderings,
) -> Result<Vec<NewPart>, Refusal> {
    let flavour = adapter.flavour();
    let rendering = renderings.of(content.text, prefix, content.attachments, &flavour)?;
    if rendering.is_blank && content.attachments.is_empty() && extras.card.is_none() {
        return Err(Refusal::input("the message shows nothing", "write some visible text").because("blank"));
    }
    let captions_begin = rendering.is_blank && !content.attachments.is_empty();
    let mut pieces: Vec<Piece<'_>> =
        rendering.parts.iter().map(|part| Piece { part: part.clone(), ..Piece::default() }).collect();
    let texts = pieces.len();
    if !content.attachments.is_empty() {
        // What goes with the text stands under one file, not under several.
        let apart = texts == 0 && !extras.is_empty();
        let prefix = prefix.filter(|_| captions_begin);
        files::add(adapter, &flavour, content.attachments, prefix, apart, &mut pieces)?;
    }
    if pieces.is_empty() {
        pieces.push(Piece::default());
    }
    let text_is_spoken = texts > 0 && speech::repeats(content.text, content.attachments);
    let of = pieces.len();
    // Whoever reads the Markdown is told as well who writes.
    let markdown = match prefix.filter(|_| !captions_begin) {
        Some(prefix) => Cow::Owned(format!("{prefix}{}", content.text)),
        None => Cow::Borrowed(content.text),
    };
    // Where there is no text, they stand under the last file.
    let dressed = if texts == 0 { of - 1 } else { texts.min(of) - 1 };
    let part = |(index, Piece { part, files, words }): (usize, &Piece<'_>)| {
        let extras = if index == dressed { extras } else { Extras::NONE };
        let outgoing = OutgoingPart {
            address: content.recipient(adapter),
            thread: content.target.thread.as_deref(),
            reply_to: content.reply_to.filter(|_| index == 0 || adapter.capabilities().answers_are_threads),
            quoted: content.quoted,
            silent: content.silent,
            headline: &rendering.headline,
            source: Source { id: content.id, agent: content.agent, markdown: &markdown },
            part,
            files,
            extras,
            index,
            of,
        };
        let Composed { request, route } = adapter.plan(&outgoing).map_err(never)?;
        let is_recording = matches!(files, [file] if file.voice && file.spoken.is_some());
        let substitute = match words {
            _ if text_is_spoken && is_recording => Some(Substitute::TextBefore),
            None => None,
            Some(words) => {
                let words = adapter.plan(&OutgoingPart { part: words, files: &[], ..outgoing });
                words.ok().map(|words| Substitute::Request(words.request))
            }
        };
        let text = match adapter.capabilities().source {
            true => markdown.clone().into_owned(),
            false => part.shown.clone(),
        };
        let text = Some(text).filter(|text| !text.is_empty());
        let described = files.iter().map(Attachment::described);
        let mut shown: Vec<String> = text.into_iter().chain(described).chain(shown::extras(extras)).collect();
        if outgoing.reply_to.is_some() {
            shown.extend(shown::locations(content));
        }
        // The way is that of the request that goes first.
        let request = Envelope { request, fallback: substitute.into() }.to_text();
        Ok(NewPart { key: new_part_key(), shown: shown.join("\n"), request, route })
    };
    pieces.iter().enumerate().map(part).collect()
}

/// The adapter knows already that the platform would not take it.
pub(super) fn never(Refused(why): Refused) -> Refusal {
    Refusal::input(why, "change it as it says, or leave it out").because("not_supported")
}

/// A text as the channel has it.
pub(super) fn rendered(document: &Document, flavour: &Flavour) -> Result<Vec<Part>, Refusal> {
    render::render(document, flavour)
        .map_err(|error| Refusal::new(Code::ExecutionFailed, error.to_string(), "shorten the message"))
}

/// The message's first line, or its first file's.
pub(super) fn headline(document: &Document, files: &[Attachment]) -> String {
    match document.headline(60) {
        line if line.is_empty() => files.first().map_or_else(String::new, |file| file.name.clone()),
        line => line,
    }
}

fn decoration(agent: &str, origin: Option<&Origin>) -> String {
    match origin {
        Some(origin) => format!("[{agent}, from {}] ", origin.place.channel),
        None => format!("[{agent}] "),
    }
}
