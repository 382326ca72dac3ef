//! Whether the platforms would take something now, asked before anybody has written it: by a runner before it lets an agent
//! have its turn, by a person who looks.
//!
//! However often the hub is asked, a platform is asked once a minute at most, and not waited for longer than a person would.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

use super::Pipeline;
use crate::channels::{self, Adapter, DeliveryMode, account::Accounts};

/// How long an answer counts.
const FRESH: Duration = Duration::from_mins(1);
/// The longest that a platform may take.
const LONGEST: Duration = Duration::from_secs(10);

/// One account, and whether its platform would take something now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Ready {
    /// The channel.
    pub channel: String,
    /// The account on it.
    pub account: String,
    /// Which way its messages go: to the platform itself, by a program in between, or by either.
    pub mode: DeliveryMode,
    /// Whether it is ready.
    pub ready: bool,
    /// As whom it is logged in, or why it is not ready.
    pub said: String,
}

/// What the platforms said last, and when.
#[derive(Debug, Default)]
pub struct Readiness(Mutex<BTreeMap<(String, String), Known>>);

/// What a platform said, and when; of one adapter: an account that was opened anew is asked anew.
#[derive(Debug, Clone)]
struct Known {
    at: Instant,
    adapter: Weak<dyn Adapter>,
    ready: Ready,
}

impl Readiness {
    /// Of these accounts, in their order.
    async fn of(&self, accounts: &Accounts, counts: impl Fn(&str, &str) -> bool) -> Vec<Ready> {
        // Held meanwhile: whoever asks at the same time wants the same answers.
        let mut known = self.0.lock().await;
        let asked = accounts.iter().filter(|(channel, account, _)| counts(channel, account)).map(
            |(channel, account, adapter)| {
                let key = (channel.to_owned(), account.to_owned());
                let known = known.get(&key).filter(|known| known.at.elapsed() < FRESH);
                let own = Arc::downgrade(adapter);
                let fresh = known.filter(|known| known.adapter.ptr_eq(&own)).cloned();
                async move {
                    if let Some(fresh) = fresh {
                        return (key, fresh);
                    }
                    let mode = adapter.capabilities().mode;
                    let asked = tokio::time::timeout(LONGEST, channels::ready(adapter.as_ref()));
                    let (ready, said) = match asked.await {
                        Ok(Ok(said)) => (true, said),
                        Ok(Err(why)) => (false, why.to_string()),
                        Err(_) => {
                            let why = format!("it did not answer within {} s", LONGEST.as_secs());
                            (false, mode.not_ready(channel, &why))
                        }
                    };
                    let (channel, account) = key.clone();
                    let ready = Ready { channel, account, mode, ready, said };
                    (key, Known { at: Instant::now(), adapter: own, ready })
                }
            },
        );
        let found = join_all(asked).await;
        let told = found.iter().map(|(_, known)| known.ready.clone()).collect();
        known.retain(|_, known| known.adapter.strong_count() > 0);
        known.extend(found);
        told
    }
}

impl Pipeline {
    /// Whether the accounts that an agent may write from are ready; all of them, for nobody in particular.
    pub async fn ready(&self, agent: Option<&str>) -> Vec<Ready> {
        let house = &self.0;
        let rules = agent.map(|agent| house.agents.get(agent));
        let counts = |channel: &str, account: &str| match rules {
            None => true,
            Some(None) => false,
            Some(Some(rules)) => {
                let bound = rules.accounts.get(channel);
                rules.rights.reach(channel) && bound.is_none_or(|bound| bound == account)
            }
        };
        house.readiness.of(&house.accounts, counts).await
    }
}
