//! Where a call would go: what an agent is told of the targets that it has.

use std::collections::BTreeSet;

use serde_json::Value;

use super::plan;
use crate::{
    channels::registry,
    message::{
        call::Call,
        refusal::Refusal,
        target::{Destination, Target},
    },
    pipeline::Pipeline,
    policy::Origin,
};

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
    /// Where a call would go, and, where it names neither an account nor its turn's conversation, where it would go from each
    /// other account that its agent may use there. Nothing, where it would be refused.
    pub async fn places(&self, agent: &str, call: &Value, origin: Option<&Origin>) -> Vec<Place> {
        let (Ok(call), Some(rules)) = (Call::parse(call, &registry::TARGETS), self.0.agents.get(agent))
        else {
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
}
