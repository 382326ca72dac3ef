//! The agents' rules, built from the configuration.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use super::HubError;
use crate::{
    channels::account::Accounts,
    config::Config,
    message::target::Destination,
    pipeline::{AgentRules, SendOptions},
    policy::{Allowlist, Pattern},
};

/// An entry of a list that names what is no address on its channel.
#[derive(Debug, thiserror::Error)]
#[error("{at}{key}: {entry:?}: {problem}")]
pub struct UnusableEntry {
    /// The file and the line, as far as they are known.
    pub(super) at: String,
    /// The list.
    pub(super) key: String,
    /// The entry.
    entry: String,
    /// What is wrong with it.
    problem: String,
}

/// What the configuration says of each agent, with its lists as these accounts spell addresses.
pub(super) fn agents(config: &Config, accounts: &Accounts) -> Result<BTreeMap<String, AgentRules>, HubError> {
    let mut agents = BTreeMap::new();
    for (name, agent, checked) in config.checked_agents() {
        for (channel, account) in &agent.accounts {
            accounts
                .pick(channel, Some(account))
                .map_err(|error| HubError::Account(name.to_owned(), error))?;
        }
        let mut rights = checked.rights.clone();
        let lists = [
            ("allow", &mut rights.allow),
            ("hold", &mut rights.hold),
            ("by_companion", &mut rights.by_companion),
            ("by_web", &mut rights.by_web),
        ];
        for (list, entries) in lists {
            *entries = spelt(mem::take(entries), accounts).map_err(|(entry, problem)| {
                let key = format!("agents.{name}.{list}");
                let at = config.place_of(&key, &entry).to_owned();
                HubError::Allowlist(Box::new(UnusableEntry { at, key, entry, problem }))
            })?;
        }
        for list in [&mut rights.hold, &mut rights.by_companion, &mut rights.by_web] {
            *list = held(mem::take(list), accounts);
        }
        let options = SendOptions { blocks_only: agent.blocks_only, quiet: config.reply.quiet.clone() };
        let rules = AgentRules {
            rights,
            decorate: agent.decorate,
            accounts: agent.accounts.clone(),
            sources: checked.sources.clone(),
            per_minute: agent.per_minute,
            options,
        };
        agents.insert(name.to_owned(), rules);
    }
    Ok(agents)
}

/// What the hub itself may write: to the targets at which a person is told that something waits.
pub(super) fn itself(config: &Config, accounts: &Accounts) -> Result<Arc<AgentRules>, HubError> {
    let unusable = |problem: String| HubError::Route("person.notify".into(), problem);
    let mut targets = Vec::new();
    for target in config.checked().notify.iter().flat_map(|notify| &notify.targets) {
        let Destination::Address { channel: Some(channel), address, .. } = target else { continue };
        accounts.pick(channel, None).map_err(|error| unusable(error.to_string()))?;
        let address = canonical(accounts, channel, address)
            .map_err(|problem| unusable(format!("\"{target}\": {problem}")))?;
        targets.push(Pattern::Address(channel.clone(), address));
    }
    Ok(Arc::new(AgentRules::of_hub(targets)))
}

/// A list with each address as the identity that its spelling tells, or as its channel spells it, by an account that takes it.
///
/// # Errors
/// An entry that is none there, and why.
pub(crate) fn spelt(list: Allowlist, accounts: &Accounts) -> Result<Allowlist, (String, String)> {
    list.respelt(|channel, address| {
        canonical(accounts, channel, address).map_err(|problem| (format!("{channel}:{address}"), problem))
    })
}

/// Whether the agents, and the hub as one, can be what the configuration says, with these accounts.
///
/// # Errors
/// One of them cannot.
pub fn check_agents(config: &Config, accounts: &Accounts) -> Result<(), HubError> {
    agents(config, accounts)?;
    itself(config, accounts).map(drop)
}

/// Names of the address book whose addresses no account of their channels takes: a call that uses one is refused.
pub fn unusable_names(config: &Config, accounts: &Accounts) -> Vec<String> {
    let mut found = vec![];
    for (name, meant) in &config.checked().book {
        let Destination::Address { channel: Some(channel), address, person, .. } = meant else { continue };
        if let Some(Err(error)) = accounts.canonical(channel, address, *person) {
            let key = format!("book.{name}");
            let at = config.book.get(name).map_or("", |target| config.place_of(&key, target));
            found.push(format!("{at}{key}: {error}"));
        }
    }
    found
}

/// A `hold` list with the entries that hold the same ones: who holds `ada+shop@example.org` means whoever reads `ada@example.org`.
pub(crate) fn held(list: Allowlist, accounts: &Accounts) -> Allowlist {
    let also = |pattern: &Pattern| -> Vec<Pattern> {
        let Pattern::Address(channel, address) = pattern else { return Vec::new() };
        // Whichever account it goes from.
        let held: BTreeSet<String> =
            accounts.on(channel).flat_map(|adapter| adapter.held_with(address)).collect();
        held.into_iter().map(|address| Pattern::Address(channel.clone(), address)).collect()
    };
    list.with(also)
}

/// An allowlist entry's address in the spelling under which targets are compared, if any account of its channel takes it. A
/// channel that is not open has none, and sends nothing either.
fn canonical(accounts: &Accounts, channel: &str, address: &str) -> Result<String, String> {
    if accounts.on(channel).next().is_none() {
        return Ok(address.to_owned());
    }
    match Destination::parse(address, &[]) {
        Ok(Destination::Address { address, thread: None, person, .. }) => {
            let found = accounts.canonical(channel, &address, person);
            let spelt = found.unwrap_or(Ok(address)).map_err(|error| error.to_string())?;
            match accounts.on(channel).any(|adapter| adapter.is_name(&spelt)) {
                true => Err("a name can be given to another, and the entry with it: write the id".into()),
                false => Ok(spelt),
            }
        }
        Ok(Destination::Address { thread: Some(_), .. }) => {
            Err("an entry names a whole conversation, without a thread".into())
        }
        Ok(Destination::Current) | Err(_) => Err("it is not a target".into()),
    }
}
