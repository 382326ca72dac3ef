//! What a message's parts are made from, and what is made of it for one channel.

use serde_json::Value;

use crate::{
    channels::{Adapter, Quoted, Refused},
    message::{
        attachment::Attachment,
        operation::Operation,
        refusal::{Code, Refusal},
        target::Target,
    },
    outbox::row::MessageRow,
    policy::{Provenance, Touched},
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
    /// Where it comes from.
    pub from: Provenance<'a>,
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
            from: message.provenance(),
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
