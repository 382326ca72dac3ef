//! The platform requests that a message becomes. Pure, so that a dry run is the real thing.
//!
//! First the text, then the files; what goes with the text stands under its last part, where a reader comes to it last.
//! Anything but a new text is one request.

use std::borrow::Cow;

use super::{
    content::{Content, Piece, never},
    files, mentions, operations,
    renderings::Renderings,
    shown, speech,
};
use crate::{
    channels::{
        Adapter, OutgoingPart, Source,
        envelope::{Envelope, Substitute},
        sender::Composed,
    },
    message::{
        attachment::Attachment,
        new_part_key,
        operation::{Extras, Operation},
        refusal::Refusal,
        target::{AGENT, PERSON, Target},
    },
    outbox::transition::NewPart,
    pipeline::AgentRules,
    policy::{self, Origin, Touched},
};

/// Renders and splits a message into the platform requests that it becomes, under fresh keys.
pub fn parts(
    adapter: &dyn Adapter,
    rules: &AgentRules,
    content: &Content<'_>,
    renderings: &Renderings,
) -> Result<Vec<NewPart>, Refusal> {
    let prefix =
        whose(rules, content.agent, content.from.origin, content.account, content.target, content.touched);
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
    // An agent is told by the hub itself who wrote, and a person's card names who asks.
    let is_to_say = rules.decorate && ![AGENT, PERSON].contains(&target.channel.as_str());
    (is_to_say && policy::crosses(origin, account, target, touched)).then(|| decoration(agent, origin))
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
    mentions::check(adapter, &rendering.document)?;
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
        let text = text.into_iter().chain(mentions::shown(part));
        let mut shown: Vec<String> = text.chain(described).chain(shown::extras(extras)).collect();
        if outgoing.reply_to.is_some() {
            shown.extend(shown::locations(content));
        }
        // The way is that of the request that goes first.
        let request = Envelope { request, fallback: substitute.into() }.to_text();
        Ok(NewPart { key: new_part_key(), shown: shown.join("\n"), request, route })
    };
    pieces.iter().enumerate().map(part).collect()
}

fn decoration(agent: &str, origin: Option<&Origin>) -> String {
    match origin {
        Some(origin) => format!("[{agent}, from {}] ", origin.place.channel),
        None => format!("[{agent}] "),
    }
}
