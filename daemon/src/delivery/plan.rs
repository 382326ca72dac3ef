//! What a message becomes: its target, and its parts. Pure, so that a dry run is the real thing.

use super::AgentRules;
use crate::{
    channels::{
        Adapter, Letter,
        account::{Accounts, NoAccount},
    },
    message::{
        call::Call,
        new_part_key,
        refusal::{Code, Refusal},
        target::{Destination, Target},
    },
    outbox::{row::MessageRow, transition::NewPart},
    policy::{self, Origin},
    render,
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
        }
    }
}

/// Renders and splits a message into the platform requests that it becomes, under fresh keys.
pub fn parts(
    adapter: &dyn Adapter,
    rules: &AgentRules,
    content: &Content<'_>,
) -> Result<Vec<NewPart>, Refusal> {
    let mut document = render::parse(content.text);
    if document.is_blank() {
        return Err(Refusal::input("the message shows nothing", "write some visible text").because("blank"));
    }
    let headline = document.headline(60);
    if rules.decorate && policy::crosses(content.origin, content.account, content.target) {
        document.decorate(&decoration(content.agent, content.origin));
    }
    let parts = render::render(&document, &adapter.flavour())
        .map_err(|error| Refusal::new(Code::ExecutionFailed, error.to_string(), "shorten the message"))?;
    let of = parts.len();
    Ok(parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let wire = adapter.compose(&Letter {
                address: &content.target.address,
                thread: content.target.thread.as_deref(),
                reply_to: content.reply_to.filter(|_| index == 0),
                silent: content.silent,
                headline: &headline,
                part,
                index,
                of,
            });
            NewPart { key: new_part_key(), shown: part.shown.clone(), wire: wire.to_string() }
        })
        .collect())
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
