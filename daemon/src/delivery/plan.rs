//! What a message becomes: its target, and its parts. Pure, so that a dry run is the real thing.

use super::AgentRules;
use crate::{
    channels::{
        Adapter, FileForm, FileRules, Letter,
        account::{Accounts, NoAccount},
    },
    message::{
        attachment::Attachment,
        call::Call,
        deed::Extras,
        new_part_key,
        refusal::{Code, Refusal},
        target::{Destination, Target},
    },
    outbox::{row::MessageRow, transition::NewPart},
    policy::{self, Origin},
    render::{self, Document, Flavour, Part},
};

/// A call's target, resolved against the open accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Where it goes.
    pub target: Target,
    /// The account it goes from.
    pub account: String,
}

/// Finds the target and account that a call means.
pub fn resolve(
    call: &Call,
    origin: Option<&Origin>,
    rules: &AgentRules,
    accounts: &Accounts,
) -> Result<Resolved, Refusal> {
    let (channel, address, asked_thread) = match (&call.destination, origin) {
        (Destination::Current, None) => {
            let hint = "give the context that came with the message you answer, or name a target";
            return Err(Refusal::input("\"current\" needs a context, and this call has none", hint)
                .because("no_context"));
        }
        (Destination::Current, Some(origin)) => {
            agree("channel", Some(&origin.place.channel), call.channel.as_ref())?;
            (origin.place.channel.clone(), origin.place.address.clone(), None)
        }
        (Destination::Address { channel, address, thread }, origin) => {
            let named = agree("channel", channel.as_ref(), call.channel.as_ref())?;
            let inferred = || origin.map(|origin| origin.place.channel.clone());
            let channel = named.cloned().or_else(inferred).ok_or_else(|| {
                Refusal::input("the call names no channel", "write \"channel:address\"").because("no_channel")
            })?;
            (channel, address.clone(), thread.as_ref())
        }
    };
    let current = call.destination == Destination::Current;
    let inherited = origin.filter(|_| current);
    let account = call
        .account
        .as_deref()
        .or(inherited.map(|origin| origin.account.as_str()))
        .or(rules.accounts.get(&channel).map(String::as_str));
    let (account, adapter) = accounts.pick(&channel, account).map_err(no_account)?;
    let address = adapter
        .resolve(&address)
        .map_err(|error| Refusal::input(error.to_string(), error.hint).because("bad_address"))?;

    let can = adapter.capabilities();
    let asked_thread = agree("threadId", asked_thread, call.thread.as_ref())?;
    let thread = match asked_thread {
        Some(_) if !can.threads => return Err(lacks(&channel, "threads", "leave threadId out")),
        Some(thread) => Some(thread.clone()),
        // Inherited, and dropped where the channel has none.
        None => inherited.and_then(|origin| origin.place.thread.clone()).filter(|_| can.threads),
    };
    if call.reply_to.is_some() && !can.replies {
        return Err(lacks(&channel, "replies", "leave replyToId out, and say in the text what you answer"));
    }
    if call.silent && !can.silent {
        return Err(lacks(&channel, "silent messages", "leave silent out"));
    }
    if !call.attachments.is_empty() && can.files.is_none() {
        return Err(lacks(&channel, "files", "put what matters into the text, or send a link to it"));
    }
    Ok(Resolved { target: Target { channel, address, thread }, account: account.to_owned() })
}

/// What a message's parts are made from.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// Whose it is.
    pub agent: &'a str,
    /// Where it goes.
    pub target: &'a Target,
    /// From which account.
    pub account: &'a str,
    /// What it answers.
    pub reply_to: Option<&'a str>,
    /// Without a notification.
    pub silent: bool,
    /// Where its turn came from.
    pub origin: Option<&'a Origin>,
    /// Markdown.
    pub text: &'a str,
    /// Files that go along, in their order.
    pub attachments: &'a [Attachment],
}

impl<'a> Content<'a> {
    /// Of a message in the queue, to this target.
    pub fn of(message: &'a MessageRow, target: &'a Target) -> Self {
        Self {
            agent: &message.agent,
            target,
            account: &message.account,
            reply_to: message.reply_to.as_deref(),
            silent: message.silent,
            origin: message.origin.as_ref(),
            text: &message.text,
            attachments: &message.attachments,
        }
    }
}

/// What one platform request holds.
struct Piece<'a> {
    part: Part,
    files: &'a [Attachment],
}

/// Renders and splits a message into the platform requests that it becomes, under fresh keys: first the text, then the
/// files.
pub fn parts(
    adapter: &dyn Adapter,
    rules: &AgentRules,
    content: &Content<'_>,
) -> Result<Vec<NewPart>, Refusal> {
    let mut document = render::parse(content.text);
    if document.is_blank() && content.attachments.is_empty() {
        return Err(Refusal::input("the message shows nothing", "write some visible text").because("blank"));
    }
    let headline = headline(&document, content.attachments);
    let prefix = (rules.decorate && policy::crosses(content.origin, content.account, content.target))
        .then(|| decoration(content.agent, content.origin));
    // Whose it is stands before the first that is read.
    let captions_begin = document.is_blank();
    if let Some(prefix) = prefix.as_ref().filter(|_| !captions_begin) {
        document.decorate(prefix);
    }
    let flavour = adapter.flavour();
    let mut pieces: Vec<Piece<'_>> =
        rendered(&document, &flavour)?.into_iter().map(|part| Piece { part, files: &[] }).collect();
    if !content.attachments.is_empty() {
        let prefix = prefix.filter(|_| captions_begin);
        add_files(adapter, &flavour, content.attachments, prefix.as_deref(), &mut pieces)?;
    }
    let of = pieces.len();
    Ok(pieces
        .iter()
        .enumerate()
        .map(|(index, Piece { part, files })| {
            let wire = adapter.compose(&Letter {
                address: &content.target.address,
                thread: content.target.thread.as_deref(),
                reply_to: content.reply_to.filter(|_| index == 0),
                silent: content.silent,
                headline: &headline,
                part,
                files,
                extras: Extras::NONE,
                index,
                of,
            });
            let described = files.iter().map(Attachment::described);
            let shown = Some(part.shown.clone()).filter(|text| !text.is_empty());
            let shown: Vec<String> = shown.into_iter().chain(described).collect();
            NewPart { key: new_part_key(), shown: shown.join("\n"), wire: wire.to_string() }
        })
        .collect())
}

/// Behind the text, in the form that the channel has for them. `prefix` stands before the first caption, or for it.
fn add_files<'a>(
    adapter: &dyn Adapter,
    flavour: &Flavour,
    files: &'a [Attachment],
    prefix: Option<&str>,
    pieces: &mut Vec<Piece<'a>>,
) -> Result<(), Refusal> {
    let channel = adapter.capabilities().channel;
    let rules = fits(adapter, files.iter().map(|file| file.size))?
        .ok_or_else(|| lacks(channel, "files", "put what matters into the text, or send a link to it"))?;
    let captions = files.iter().enumerate().map(|(index, file)| {
        let mut caption = render::parse(file.caption.as_deref().unwrap_or_default());
        if rules.form == FileForm::Together && !caption.is_blank() {
            caption.decorate(&format!("{}: ", file.name));
        }
        if let Some(prefix) = prefix.filter(|_| index == 0) {
            caption.decorate(prefix);
        }
        rendered(&caption, flavour)
    });
    match rules.form {
        FileForm::Together => {
            let mut whole = pieces.pop().map_or_else(empty, |piece| piece.part);
            for part in captions.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                append(&mut whole, part);
            }
            pieces.push(Piece { part: whole, files });
        }
        FileForm::Captioned => {
            for (file, caption) in files.iter().zip(captions) {
                let mut caption = caption?;
                let part = match caption.len() {
                    1 => caption.remove(0),
                    // Too long to stand with it here: it goes before it.
                    _ => {
                        pieces.extend(caption.into_iter().map(|part| Piece { part, files: &[] }));
                        empty()
                    }
                };
                pieces.push(Piece { part, files: std::slice::from_ref(file) });
            }
        }
    }
    Ok(())
}

/// What an account takes of files, if files of these sizes fit into it; none where it takes no files.
pub(super) fn fits(
    adapter: &dyn Adapter,
    sizes: impl Iterator<Item = u64>,
) -> Result<Option<FileRules>, Refusal> {
    let can = adapter.capabilities();
    let Some(rules) = can.files else { return Ok(None) };
    let mut left = rules.max_together;
    for size in sizes {
        if size > rules.max_size || size > left {
            let most = rules.max_size.min(left);
            let error = format!("{} takes no file of {size} bytes here, but {most} at most", can.channel);
            let hint = "send less, several messages, or a link to it";
            return Err(Refusal::new(Code::TooLarge, error, hint).because("files"));
        }
        left -= size;
    }
    Ok(Some(rules))
}

fn rendered(document: &Document, flavour: &Flavour) -> Result<Vec<Part>, Refusal> {
    render::render(document, flavour)
        .map_err(|error| Refusal::new(Code::ExecutionFailed, error.to_string(), "shorten the message"))
}

/// The message's first line, or its first file's.
fn headline(document: &Document, files: &[Attachment]) -> String {
    match document.headline(60) {
        line if line.is_empty() => files.first().map_or_else(String::new, |file| file.name.clone()),
        line => line,
    }
}

fn empty() -> Part {
    Part { text: String::new(), html: None, styles: vec![], units: 0, shown: String::new() }
}

/// Puts a paragraph behind a part of a channel that does not split.
fn append(whole: &mut Part, more: Part) {
    if whole.text.is_empty() {
        *whole = more;
        return;
    }
    whole.text = format!("{}\n\n{}", whole.text, more.text);
    whole.shown = format!("{}\n\n{}", whole.shown, more.shown);
    if let (Some(html), Some(more)) = (&mut whole.html, more.html) {
        html.push('\n');
        html.push_str(&more);
    }
    whole.units += more.units;
}

fn decoration(agent: &str, origin: Option<&Origin>) -> String {
    match origin {
        Some(origin) => format!("[{agent}, from {}] ", origin.place.channel),
        None => format!("[{agent}] "),
    }
}

/// The one value that two places give, if they do not contradict each other.
fn agree<'a>(
    what: &str,
    one: Option<&'a String>,
    other: Option<&'a String>,
) -> Result<Option<&'a String>, Refusal> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => {
            let error = format!("the call names two values for {what}, {one:?} and {other:?}");
            Err(Refusal::input(error, "name it once").because("contradictory"))
        }
        _ => Ok(one.or(other)),
    }
}

fn lacks(channel: &str, what: &str, hint: &str) -> Refusal {
    Refusal::input(format!("{channel} has no {what}"), hint).because("not_supported")
}

fn no_account(error: NoAccount) -> Refusal {
    let hint = match &error {
        NoAccount::Channel(_) => "ask the operator to configure an account on it, or use another channel",
        NoAccount::Account { .. } | NoAccount::Several { .. } => "give accountId one of these names",
    };
    Refusal::new(Code::ExecutionFailed, error.to_string(), hint)
}
