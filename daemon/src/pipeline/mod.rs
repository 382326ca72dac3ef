//! What a call and a message go through, with one configuration: the queue, the accounts, the agents' rules. [`admission`]
//! and [`delivery`] are the stages; they share this and know each other one way only: admission may call delivery.
//!
//! - [`current`]: the pipeline with the configuration that holds now;
//! - [`gate_attempts`]: on which events hooks failed; [`strangers_files`]: how many files of strangers are fetched at once;
//! - [`identities`]: whose address it is;
//! - [`permission`]: whether an accepted message may still go;
//! - [`rate_limiter`]: how fast requests leave;
//! - [`receipts`]: what a caller is told of a message;
//! - [`readiness`]: whether the platforms would take something now;
//! - [`remedy`]: what would have let a held message go;
//! - [`address_book`]: names for targets.
//!
//! [`admission`]: crate::admission
//! [`delivery`]: crate::delivery

pub mod address_book;
pub mod current;
pub mod gate_attempts;
pub mod identities;
mod named_routes;
pub mod permission;
pub mod rate_limiter;
pub mod readiness;
pub mod receipts;
pub mod remedy;
pub mod strangers_files;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use crate::{
    approval::Approvals,
    channels::{Capabilities, account::Accounts},
    files::{Files, Sources},
    heartbeat::Heartbeats,
    homeassistant,
    hooks::Hooks,
    message::{
        refusal::{Code, Refusal},
        target::{HUB, Target},
    },
    notify::Notify,
    outbox::Outbox,
    policy::{Pattern, Rights, rate::Rates},
    router::Routing,
    turns::wake::Wake,
};
use address_book::AddressBook;
use gate_attempts::GateAttempts;
use identities::Identities;
use rate_limiter::RateLimiter;
use readiness::Readiness;
use strangers_files::StrangersFiles;

/// Everything that the stages share, with one configuration: see [`current`]. Clones share it.
#[derive(Clone)]
pub struct Pipeline(pub(crate) Arc<Shared>);

/// What a pipeline is built from.
#[derive(Clone)]
pub struct Shared {
    /// The queue.
    pub outbox: Outbox,
    /// What waits for a person.
    pub approvals: Approvals,
    /// The open accounts.
    pub accounts: Accounts,
    /// The agents' rights.
    pub agents: BTreeMap<String, AgentRules>,
    /// The longest time to live of a message, and the default.
    pub ttl: Duration,
    /// How long contexts are valid.
    pub context_ttl: Duration,
    /// The owner's programs.
    pub hooks: Hooks,
    /// How fast requests leave.
    pub limiter: RateLimiter,
    /// How many messages each agent has left.
    pub rates: Arc<Rates>,
    /// Names for targets.
    pub book: AddressBook,
    /// Files that go along.
    pub files: Files,
    /// What the platforms said of themselves.
    pub readiness: Arc<Readiness>,
    /// What the platforms said of addresses.
    pub identities: Arc<Identities>,
    /// Whose words wake which agent.
    pub routing: Arc<Routing>,
    /// Tells those who wait for a turn.
    pub wake: Wake,
    /// Which agents are woken from time to time.
    pub heartbeats: Heartbeats,
    /// What the hub itself may write.
    pub itself: Arc<AgentRules>,
    /// Who is told that something waits for a person.
    pub notify: Option<Arc<Notify>>,
    /// What Home Assistant is told, and where.
    pub home_assistant: Option<Arc<homeassistant::Settings>>,
    /// Tells whoever puts requests for access on cards.
    pub asking: Wake,
    /// On which received events hooks have failed.
    pub attempts: Arc<GateAttempts>,
    /// Places in which files of people who are not known are fetched.
    pub strangers_files: Arc<StrangersFiles>,
}

/// After a failure of the database, before trying again.
pub(crate) const RECOVER: Duration = Duration::from_secs(1);

/// What the configuration says of one agent.
#[derive(Debug, Clone, Default)]
pub struct AgentRules {
    /// Where it may write.
    pub rights: Rights,
    /// Whether its crossing messages say whose they are.
    pub decorate: bool,
    /// Its account on each channel.
    pub accounts: BTreeMap<String, String>,
    /// Where its files may come from.
    pub sources: Sources,
    /// How many messages it may hand in within a minute; 0 for as many as come.
    pub per_minute: u32,
    /// What of its turns is sent.
    pub options: SendOptions,
}

impl AgentRules {
    /// Those of the hub itself, which also writes to these targets. What it does on its own channel is in no conversation: a person
    /// approves all of it.
    pub fn of_hub(targets: Vec<Pattern>) -> Self {
        let own = Pattern::Channel(HUB.to_owned());
        let allow = targets.into_iter().chain([own]).collect::<Vec<_>>().into();
        Self { rights: Rights { allow, ..Rights::default() }, ..Self::default() }
    }
}

/// What of an agent's turns is sent on the automatic path.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    /// Message blocks, and nothing beside them.
    pub blocks_only: bool,
    /// Words by which it says nothing.
    pub quiet: Vec<String>,
}

impl Pipeline {
    /// A pipeline over these parts.
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// The same with another configuration. What was learnt and what is counted goes on in both.
    #[must_use]
    pub fn reconfigured(&self, change: impl FnOnce(&mut Shared)) -> Self {
        let mut shared = (*self.0).clone();
        change(&mut shared);
        Self::new(shared)
    }

    /// Forgets what these accounts, by channel and name, would not say: they were opened anew. What a platform said of its limits is
    /// forgotten only where an account stands for somebody else than `before`.
    pub fn forget(&self, accounts: &[(String, String)], before: &Self) {
        self.0.identities.forget(accounts);
        let who = |of: &Self, channel: &str, account: &str| of.0.accounts.fingerprint(channel, account);
        for (channel, account) in accounts {
            if who(self, channel, account) != who(before, channel, account) {
                self.0.limiter.forget(channel, account);
            }
        }
    }

    /// The queue.
    pub fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    /// What waits for a person.
    pub fn approvals(&self) -> &Approvals {
        &self.0.approvals
    }

    /// Files that go along.
    pub fn files(&self) -> &Files {
        &self.0.files
    }

    /// The open accounts.
    pub fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    /// How long contexts are valid.
    pub fn context_ttl(&self) -> Duration {
        self.0.context_ttl
    }

    /// What of an agent's turns is sent.
    pub fn options(&self, agent: &str) -> SendOptions {
        self.0.agents.get(agent).map(|rules| rules.options.clone()).unwrap_or_default()
    }

    /// What stands in for a poll on a channel that has none of its own.
    pub fn polls_stand_in(&self, channel: &str) -> Option<&'static str> {
        self.0.accounts.on(channel).find_map(|adapter| adapter.capabilities().polls?.stand_in)
    }

    /// What the first account of a channel does.
    pub(crate) fn can(&self, channel: &str) -> Option<&'static Capabilities> {
        Some(self.0.accounts.on(channel).next()?.capabilities())
    }

    /// The name in the address book of where something is, if it has one there.
    pub fn name_of(&self, place: &Target) -> Option<&str> {
        self.0.book.name_of(place)
    }

    /// The agents that the configuration has sections for.
    pub fn configured(&self) -> impl Iterator<Item = (&str, &Rights)> {
        self.0.agents.iter().map(|(name, rules)| (name.as_str(), &rules.rights))
    }

    /// What the configuration says of an agent. Of one that has no section it says nothing: nothing is allowed then, as to
    /// one whose list is empty.
    pub(crate) fn rules(&self, agent: &str) -> &AgentRules {
        static NOTHING: LazyLock<AgentRules> = LazyLock::new(AgentRules::default);
        match agent {
            HUB => &self.0.itself,
            agent => self.0.agents.get(agent).unwrap_or(&NOTHING),
        }
    }

    /// What an agent may do, if the configuration has a section for it.
    pub fn rights(&self, agent: &str) -> Option<&Rights> {
        self.0.agents.get(agent).map(|rules| &rules.rights)
    }

    /// The account that an agent writes from on a channel, where it names none.
    pub fn bound(&self, agent: &str, channel: &str) -> Option<&str> {
        self.0.agents.get(agent)?.accounts.get(channel).map(String::as_str)
    }

    /// Whether the configuration has a section for this agent.
    pub fn knows(&self, agent: &str) -> bool {
        self.0.agents.contains_key(agent)
    }
}

/// The database failed; nothing that it holds is lost.
pub(crate) fn unavailable(error: impl std::fmt::Display) -> Refusal {
    tracing::error!(%error, "the database failed");
    Refusal::new(
        Code::ExecutionFailed,
        "the hub cannot use its database",
        "nothing was sent; try again later",
    )
}
