//! Which agents a received message wakes, in the order that is normative: the thread policy, the conversation, who is wired to it,
//! who wrote, and then for each agent by itself the access gate, the scope gate, and whether it engages.
//!
//! - [`gates`]: the four gates, and what the hub itself says at each;
//! - [`situation`]: what is judged, and what may come of it; [`rules`]: the judgement, pure;
//! - [`named`]: conversations by other addresses than those that routes have;
//! - [`positions`]: how far each account has read; [`drops`]: what went no further, listed;
//! - [`accept`]: a batch, in one transaction; [`repeats`]: what came before; [`arrival`]: what is known of an event; [`engage`]: one
//!   agent's part in it; [`waiting`]: what waits until a person has decided.

pub mod accept;
pub mod arrival;
pub mod drops;
pub mod engage;
pub mod gates;
pub mod named;
pub mod positions;
pub mod repeats;
pub mod rules;
pub mod situation;
#[cfg(test)]
mod tests;
pub mod waiting;

use std::collections::BTreeSet;

use regex::Regex;
use serde::Deserialize;

use crate::{
    people::People,
    policy::{Allowlist, Pattern},
    sessions::place::Place,
    turns::LEASE_MS,
};

/// How received messages find their agents, with one configuration.
#[derive(Debug, Clone)]
pub struct Routing {
    /// The wirings of the configuration.
    pub routes: Vec<Route>,
    /// The people of the configuration.
    pub people: People,
    /// The agent that a person wires a conversation to if no route names one.
    pub default_agent: Option<String>,
    /// The agents of the configuration.
    pub agents: BTreeSet<String>,
    /// How long a lease of a turn lasts if its taker says nothing, in milliseconds.
    pub lease_ms: i64,
    /// What decides at each gate.
    pub gates: gates::Gates,
    /// Who the conversations are that routes name by an address whose spelling does not tell.
    pub named: named::Named,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            routes: vec![],
            people: People::default(),
            default_agent: None,
            agents: BTreeSet::new(),
            lease_ms: LEASE_MS,
            gates: gates::Gates::default(),
            named: named::Named::default(),
        }
    }
}

/// A wiring: an agent in conversations.
#[derive(Debug, Clone)]
pub struct Route {
    /// Its name in the configuration.
    pub name: String,
    /// The conversations.
    pub from: Allowlist,
    /// The only account that it is for; any where nothing stands here.
    pub account: Option<String>,
    /// The agent.
    pub agent: String,
    /// What wakes it.
    pub engage: Engage,
    /// Whose words wake it.
    pub senders: Senders,
    /// What becomes of strangers; as the channel has it where nothing stands here.
    pub unknown: Option<UnknownSenders>,
    /// What becomes of messages that do not wake it.
    pub ignored: Ignored,
    /// Which of its sessions they belong to.
    pub session: SessionMode,
    /// Whether messages behind a turn are gathered.
    pub queue: Queueing,
    /// Whether a typing sign is shown while it answers.
    pub typing: bool,
    /// Whether messages are marked as read when it takes them.
    pub read_marks: bool,
}

/// What wakes an agent.
#[derive(Debug, Clone)]
pub enum Engage {
    /// Any text that matches; nothing stands for `.`, which is any text and none.
    Pattern(Option<Regex>),
    /// A mention by the platform's own means, or a direct message.
    Mention,
    /// The same, or any message while the agent's session there is active.
    MentionSticky,
}

/// Whose words wake an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Senders {
    /// Everybody's whom the access gate lets through.
    All,
    /// Those of people whom somebody vouched for.
    #[default]
    Known,
}

/// What becomes of a stranger's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownSenders {
    /// They are dropped.
    Strict,
    /// They wait, and a person is asked.
    RequestApproval,
    /// They go on.
    Public,
}

/// What becomes of a message that does not wake an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ignored {
    /// It is not kept.
    #[default]
    Drop,
    /// The agent reads it with the next one that wakes it.
    Accumulate,
}

/// Which session of an agent a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// One for each conversation.
    #[default]
    Shared,
    /// One for each thread.
    PerThread,
    /// One for all of the route's conversations.
    AgentShared,
}

/// What becomes of messages that come while the agent is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Queueing {
    /// They are gathered into the next turn.
    #[default]
    Collect,
    /// Each is a turn of its own.
    Followup,
}

impl Route {
    /// The wiring of a conversation that a person gave to an agent: it engages when it is meant, by people who are known.
    pub fn granted(agent: &str, conversation: &str) -> Self {
        Self {
            name: conversation.to_owned(),
            from: Allowlist::default(),
            account: None,
            agent: agent.to_owned(),
            engage: Engage::Mention,
            senders: Senders::Known,
            unknown: None,
            ignored: Ignored::Drop,
            session: SessionMode::Shared,
            queue: Queueing::Collect,
            typing: true,
            read_marks: true,
        }
    }

    /// How closely its entries name a conversation: an address before a channel, a channel before any.
    fn fits(&self, named: &named::Named, channel: &str, account: &str, address: &str) -> Option<u8> {
        if self.account.as_deref().is_some_and(|named| named != account) {
            return None;
        }
        let fit = |pattern: &Pattern| match pattern {
            Pattern::Address(on, of) => {
                (on == channel && (of == address || named.means(channel, account, of, address))).then_some(2)
            }
            Pattern::Channel(on) => (on == channel).then_some(1),
            Pattern::Any => Some(0),
        };
        self.from.iter().filter_map(fit).max()
    }

    /// The session for a conversation of an account, and a thread in it.
    pub fn session_of(&self, channel: &str, account: &str, address: &str, thread: Option<&str>) -> String {
        match (self.session, thread) {
            (SessionMode::AgentShared, _) => format!("route:{}", self.name),
            (SessionMode::PerThread, Some(thread)) => format!("{channel}/{account}:{address}#{thread}"),
            _ => format!("{channel}/{account}:{address}"),
        }
    }
}

impl Routing {
    /// Until when a lease lasts that is given, or prolonged, at `now`, in milliseconds since 1970.
    pub fn lease_until(&self, now: i64) -> i64 {
        now.saturating_add(self.lease_ms)
    }

    /// How much of a lease is gone when whoever works at its turn prolongs it, in milliseconds.
    pub fn renewal_ms(&self) -> i64 {
        self.lease_ms / 5
    }

    /// The wirings of a conversation: one of each agent, by the entry that names it most closely.
    pub fn wirings(&self, channel: &str, account: &str, address: &str) -> Vec<&Route> {
        let mut fitting: Vec<(u8, &Route)> = self
            .routes
            .iter()
            .filter_map(|route| Some((route.fits(&self.named, channel, account, address)?, route)))
            .collect();
        fitting.sort_by_key(|(fit, _)| std::cmp::Reverse(*fit));
        let mut agents = BTreeSet::new();
        fitting.retain(|(_, route)| agents.insert(route.agent.as_str()));
        fitting.into_iter().map(|(_, route)| route).collect()
    }

    /// The addresses on a channel that routes name for an account.
    pub fn addresses(&self, channel: &str, account: &str) -> BTreeSet<&str> {
        let its = |route: &&Route| route.account.as_deref().is_none_or(|named| named == account);
        let entries = self.routes.iter().filter(its).flat_map(|route| route.from.iter());
        entries
            .filter_map(|pattern| match pattern {
                Pattern::Address(on, address) if on == channel => Some(address.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The session that an agent has at a place where it has none yet: as its wiring there has it, else one for the conversation.
    pub fn session_at(&self, agent: &str, place: &Place) -> String {
        let Place { channel, account, address, thread } = place;
        let mut wirings = self.wirings(channel, account, address).into_iter();
        match wirings.find(|route| route.agent == agent) {
            Some(route) => route.session_of(channel, account, address, thread.as_deref()),
            None => place.session(),
        }
    }

    /// Whether the configuration has this agent.
    pub fn knows(&self, agent: &str) -> bool {
        self.agents.contains(agent) || self.default_agent.as_deref() == Some(agent)
    }

    /// Whether anything that is received has a use.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty() && self.default_agent.is_none()
    }
}
