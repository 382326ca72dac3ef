//! What a message becomes: its target, and its parts.
//!
//! - here: which target and account a call means;
//! - [`capability_check`]: whether the platform can do what is asked;
//! - [`content`]: what its parts are made from, and [`parts`]: the platform requests that it becomes: [`files`] behind the text, or [`operations`] that are no text;
//! - [`mentions`]: whom a text calls;
//! - [`speech`]: what is to be spoken, as recordings whose words are one message each;
//! - [`shown`]: what an approver reads beside the text.

mod capability_check;
mod content;
mod files;
mod mentions;
mod operations;
mod parts;
mod renderings;
mod shown;
mod speech;

pub use capability_check::actions;
pub use content::Content;
pub(super) use files::fits;
pub(super) use mentions::check_call as check_mentions;
pub use parts::parts;
pub(super) use parts::whose;
pub use renderings::{Renderings, decorated};
pub(super) use speech::apart;

use crate::{
    channels::{
        Adapter, TargetError,
        account::{Accounts, NoAccount},
    },
    message::{
        action::Action,
        attachment::Attachment,
        call::Call,
        operation::Operation,
        refusal::{Code, NO_ACCOUNT, Refusal},
        target::{Destination, Target},
    },
    pipeline::{AgentRules, address_book::AddressBook},
    policy::{self, Entries, Origin, Subject, Touched},
    spelling::nearest,
};

/// A call's target, resolved against the open accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Where it goes.
    pub target: Target,
    /// The account it goes from.
    pub account: String,
    /// The name in the address book by which it was meant.
    pub known_as: Option<String>,
    /// The address as it was written, where its identity is another.
    pub written_as: Option<String>,
    /// Why nobody knows whose address it is.
    pub unidentified: Option<String>,
}

impl Resolved {
    /// What a call becomes there, with these files; `touched` are the messages there that it names.
    pub(super) fn content<'a>(
        &'a self,
        agent: &'a str,
        call: &'a Call,
        from: policy::Provenance<'a>,
        attachments: &'a [Attachment],
        touched: &'a [Touched],
    ) -> Content<'a> {
        Content {
            id: None,
            agent,
            target: &self.target,
            written_as: self.written_as.as_deref(),
            unidentified: self.unidentified.as_deref(),
            account: &self.account,
            reply_to: call.reply_to.as_deref(),
            quoted: None,
            silent: call.silent,
            from,
            operation: &call.operation,
            text: &call.text,
            attachments,
            made_by: None,
            touched,
        }
    }
}

/// Finds the target and account that a call means, its address as its channel spells it. What an agent may not write to anyway is
/// refused before anything is said of the accounts that there are.
pub fn resolve(
    call: &Call,
    origin: Option<&Origin>,
    rules: &AgentRules,
    accounts: &Accounts,
    book: &AddressBook,
) -> Result<Resolved, Refusal> {
    let is_address = |channel: &str, name: &str| canonical(accounts, channel, name, false).is_some();
    let (destination, known_as) = match book.meant(call, is_address) {
        Some((destination, name)) => (destination, Some(name)),
        None => (call.destination.clone(), None),
    };
    let (channel, address, asked_thread) =
        place_of(call, &destination, origin, |address| no_channel(call, address, rules, accounts, book))?;
    let is_person = matches!(destination, Destination::Address { person: true, .. });
    // To whom a channel is closed, nothing is said of what there is on it.
    let closed =
        (!rules.rights.reach(&channel)).then(|| policy::not_allowed(&rules.rights, &channel, &address));
    let inherited = origin.filter(|_| destination == Destination::Current);
    let bound = rules.accounts.get(&channel).map(String::as_str);
    let account = match account_of(call, &channel, origin, inherited, bound) {
        Ok(account) => account,
        Err(refusal) => return Err(closed.unwrap_or(refusal)),
    };
    let (account, adapter) = accounts.pick(&channel, account).map_err(|error| {
        let address = canonical(accounts, &channel, &address, is_person).unwrap_or_else(|| address.clone());
        let target = Target { channel: channel.clone(), address, thread: None };
        match rules.rights.permits(&Subject::known("", &target), &Entries::new()) {
            true => no_account(error),
            false => policy::not_allowed(&rules.rights, &channel, &target.address),
        }
    })?;
    let address = match call.operation {
        // It is done to the account itself.
        Operation::Presence { .. } => address,
        _ => adapter.spell(&address, is_person).map_err(|error| {
            closed.unwrap_or_else(|| bad_address(&error, adapter.capabilities().address_hint))
        })?,
    };

    let can = adapter.capabilities();
    let asked_thread = agree("threadId", asked_thread, call.thread.as_ref())?;
    let thread = match asked_thread {
        Some(thread) => Some(thread.clone()),
        // Inherited, and dropped where the channel has none.
        None => inherited.and_then(|origin| origin.place.thread.clone()).filter(|_| can.threads),
    };
    Ok(Resolved {
        target: Target { channel, address, thread },
        account: account.to_owned(),
        known_as: known_as.map(str::to_owned),
        written_as: None,
        unidentified: None,
    })
}

/// The channel, the address and the thread that a destination names.
fn place_of<'a>(
    call: &Call,
    destination: &'a Destination,
    origin: Option<&Origin>,
    no_channel: impl Fn(&str) -> Refusal,
) -> Result<(String, String, Option<&'a String>), Refusal> {
    match (destination, origin) {
        (Destination::Current, None) => {
            let hint = "give the context that came with the message you answer, or name a target";
            Err(Refusal::input("\"current\" needs a context, and this call has none", hint)
                .because("no_context"))
        }
        (Destination::Current, Some(origin)) => {
            agree("channel", Some(&origin.place.channel), call.channel.as_ref())?;
            Ok((origin.place.channel.clone(), origin.place.address.clone(), None))
        }
        (Destination::Address { channel, address, thread, .. }, origin) => {
            let named = agree("channel", channel.as_ref(), call.channel.as_ref())?;
            let inferred = || origin.map(|origin| origin.place.channel.clone());
            let channel = named.cloned().or_else(inferred).ok_or_else(|| no_channel(address))?;
            Ok((channel, address.clone(), thread.as_ref()))
        }
    }
}

/// The name of the account that a call goes from; nothing if nobody says. `inherited`: the turn whose conversation it goes on with.
///
/// # Errors
/// It names one that is not its agent's.
fn account_of<'a>(
    call: &'a Call,
    channel: &str,
    origin: Option<&'a Origin>,
    inherited: Option<&'a Origin>,
    bound: Option<&'a str>,
) -> Result<Option<&'a str>, Refusal> {
    let inherited = inherited.map(|origin| origin.account.as_str());
    if let (Some(named), Some(bound)) = (call.account.as_deref(), bound)
        && named != bound
        && inherited != Some(named)
    {
        let error = format!("this agent writes on {channel} from the account {bound:?} only, not {named:?}");
        return Err(Refusal::new(Code::Forbidden, error, "leave accountId out").because("not_its_account"));
    }
    // On the channel of its turn, an agent goes on by the account that was written to.
    let of_turn =
        origin.filter(|origin| origin.place.channel == channel).map(|origin| origin.account.as_str());
    Ok(call.account.as_deref().or(inherited).or(bound).or(of_turn))
}

/// Whether the platform can do what a call asks for where it goes. Only for who may write there.
pub(super) fn check(adapter: &dyn Adapter, call: &Call, resolved: &Resolved) -> Result<(), Refusal> {
    let can = adapter.capabilities();
    if resolved.target.thread.is_some() && !can.threads {
        return Err(capability_check::without(&resolved.target.channel, "threads", "leave threadId out"));
    }
    capability_check::check(can, call)
}

/// The canonical spelling of an address, if it is one to any account of that channel.
fn canonical(accounts: &Accounts, channel: &str, address: &str, person: bool) -> Option<String> {
    accounts.canonical(channel, address, person)?.ok()
}

/// An address without a channel, with what it may have meant: a name of the address book that is near, or the same on a
/// channel that the agent may write to.
fn no_channel(
    call: &Call,
    address: &str,
    rules: &AgentRules,
    accounts: &Accounts,
    book: &AddressBook,
) -> Refusal {
    let mut whole: Vec<String> = Vec::new();
    if let Operation::Presence { .. } = call.operation {
        let has = |adapter: &dyn Adapter| adapter.capabilities().does(Action::SetPresence);
        let there =
            accounts.iter().find(|(channel, _, adapter)| rules.rights.reach(channel) && has(&***adapter));
        let hint = match there {
            Some((channel, ..)) => format!("say whose status it is: \"channel\": {channel:?}"),
            None => "no channel that you write to has a status: say it in a message".into(),
        };
        return Refusal::input("the call names no channel", hint).because("no_channel");
    }
    for (channel, _, adapter) in accounts.iter() {
        let there = format!("{channel}:{address}");
        let may_be = rules.rights.reach(channel) && adapter.resolve(address).is_ok();
        if may_be && address.len() <= MOST_SHOWN && whole.len() < MOST_MEANT && !whole.contains(&there) {
            whole.push(there);
        }
    }
    let hint = match nearest(address, book.names()) {
        Some(name) => format!("did you mean {name:?}?"),
        None if whole.is_empty() => "write \"channel:address\", or a name from the address book".into(),
        None => format!("write it with its channel: {}", whole.join(" or ")),
    };
    Refusal::input("the call names no channel", hint).because("no_channel")
}

/// The longest address that a hint repeats, in bytes, and the most channels that it names.
const MOST_SHOWN: usize = 80;
const MOST_MEANT: usize = 4;

/// An address that its channel has not. The adapter's hint is what one looks like, or a sentence about this one.
fn bad_address(error: &TargetError, looks_like: &str) -> Refusal {
    let bare = error.address.trim_start_matches(['#', '@']);
    // What people call a place looks like this, and ids hardly do.
    let a_name = bare.starts_with(|c: char| c.is_alphabetic()) && !bare.contains([':', '@', '/']);
    let mut hint = match error.hint == looks_like {
        true => format!("give {looks_like}"),
        false => error.hint.to_owned(),
    };
    if a_name {
        hint.push_str("; what it is called is not looked up");
    }
    Refusal::input(error.to_string(), hint).because("bad_address")
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

fn no_account(error: NoAccount) -> Refusal {
    let hint = match &error {
        NoAccount::Channel(_) => "ask the operator to configure an account on it, or use another channel",
        NoAccount::Account { .. } | NoAccount::Several { .. } => "give accountId one of these names",
    };
    Refusal::new(Code::ExecutionFailed, error.to_string(), hint).because(NO_ACCOUNT)
}
