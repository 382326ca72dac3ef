//! The pipeline: from a call to a receipt.
//!
//! - [`current`]: the pipeline with the configuration that holds now;
//! - [`submit`]: the checks on admission, and the write that precedes the answer;
//! - `broadcast`: the same for a call with several targets;
//! - [`locate`]: where the messages are that a call names;
//! - [`plan`]: what a message becomes: target, parts. Pure;
//! - [`identities`]: whose address it is, and [`judge`]: what policy says of that;
//! - [`hooks`]: the owner's programs, which may change or cancel a message;
//! - [`prepare`]: an accepted message is hooked, judged, rendered, and held or released;
//! - [`dispatch`]: who goes next: one message at a time to one conversation, in order, when it is due;
//! - [`lanes`]: which conversations are being worked in, and [`limiter`]: how fast requests leave; `obey`: what platforms say of that;
//! - [`send`]: one message's parts, each marked before its request leaves; `attempt`: one of them; [`spoken`]: the words of a recording that is refused;
//! - [`ending`]: what a failed attempt means;
//! - [`listening`]: accounts that hear from their platforms;
//! - [`recover`]: what a restart makes of the rows that it finds;
//! - [`operate`]: what people do to messages in the queue.

mod attempt;
mod broadcast;
pub mod callbacks;
pub mod current;
pub mod dispatch;
pub mod dry_run;
mod ending;
pub mod hooks;
pub mod identities;
mod lanes;
pub mod listening;
mod locate;
pub mod operate;
mod pause;
pub mod plan;
pub mod prepare;
pub mod rate_limiter;
pub mod readiness;
pub mod recover;
pub mod send;
pub mod submit;
#[cfg(test)]
mod tests;
mod verdict;
mod voice_fallback;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use hooks::Hooks;
use identities::Identities;
use serde_json::Value;

use crate::{
    approval::Approvals,
    channels::{Capabilities, account::Accounts, registry},
    files::{Files, Sources},
    message::{
        call::Call,
        refusal::Refusal,
        target::{Destination, Target},
    },
    outbox::Outbox,
    policy::{Origin, Rights, rate::Rates},
};
use plan::AddressBook;
use rate_limiter::RateLimiter;
use readiness::Readiness;

/// Everything that the stages share, with one configuration: see [`current`]. Clones share it.
#[derive(Clone)]
pub struct Pipeline(Arc<Shared>);

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
}

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

/// What of an agent's turns is sent on the automatic path.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    /// Message blocks, and nothing beside them.
    pub blocks_only: bool,
    /// Words by which it says nothing.
    pub quiet: Vec<String>,
}

/// Where a call would go.
#[derive(Debug, Clone)]
pub struct Place {
    /// The account it would go from.
    pub account: String,
    /// Where it would go.
    pub target: Target,
    /// Whether the call leaves no choice of thread: it names one, or means where its turn came from.
    pub within_thread: bool,
    /// Whether there are threads there.
    pub threads: bool,
    /// Whether a message there can answer another one.
    pub replies: bool,
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

    /// Where a call would go, and, where it names neither an account nor its turn's conversation, where it would go from each
    /// other account that its agent may use there. Nothing, where it would be refused.
    pub async fn places(&self, agent: &str, call: &Value, origin: Option<&Origin>) -> Vec<Place> {
        let (Ok(call), Some(rules)) = (Call::parse(call, &registry::NAMES), self.0.agents.get(agent)) else {
            return vec![];
        };
        let place = async |call: &Call| {
            let resolved = plan::resolve(call, origin, rules, &self.0.accounts, &self.0.book);
            let resolved = self.identified(resolved.ok()?, &call.operation).await;
            let plan::Resolved { account, target, .. } = resolved.ok()?;
            let (_, adapter) = self.0.accounts.pick(&target.channel, Some(&account)).ok()?;
            let can = adapter.capabilities();
            let within_thread = target.thread.is_some() || call.destination == Destination::Current;
            Some(Place { account, target, within_thread, threads: can.threads, replies: can.replies })
        };
        let mut places: Vec<Place> = place(&call).await.into_iter().collect();
        if call.account.is_none() && call.destination != Destination::Current {
            let mut names: BTreeSet<&str> = self.0.accounts.iter().map(|(_, account, _)| account).collect();
            if let Some(first) = places.first() {
                names.remove(first.account.as_str());
            }
            for name in names {
                places.extend(place(&Call { account: Some(name.to_owned()), ..call.clone() }).await);
            }
        }
        places
    }

    /// The calls of a broadcast: each name of the address book once, and no conversation twice.
    ///
    /// # Errors
    /// Two of its targets are the same conversation.
    pub fn distinct(&self, calls: Vec<Call>) -> Result<Vec<Call>, Refusal> {
        self.0.book.distinct(calls)
    }

    /// What stands in for a poll on a channel that has none of its own.
    pub fn polls_stand_in(&self, channel: &str) -> Option<&'static str> {
        self.0.accounts.on(channel).find_map(|adapter| adapter.capabilities().polls?.stand_in)
    }

    /// What the first account of a channel does.
    fn can(&self, channel: &str) -> Option<&'static Capabilities> {
        Some(self.0.accounts.on(channel).next()?.capabilities())
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
