//! Whether the platforms would take something now, asked before anybody has written it: by a runner before it lets an agent
//! have its turn, by a person who looks.
//!
//! However often the hub is asked, a platform is asked once a minute at most, and not waited for longer than a person would. One
//! that has asked for a pause is not asked at all: it takes nothing until then.

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
use crate::{
    channels::{self, Adapter, DeliveryMode, account::Accounts},
    clock::rfc3339,
    router::drops::{self, DroppedEvents},
    store::StoreError,
};

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
    /// Until when its platform has asked to be left alone; it is not ready then. RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// What it received and no agent was told of, the latest first; for the operator. Without any it is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedEvents>,
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

/// A platform has asked to be left alone.
struct Paused {
    said: String,
    until: String,
}

impl Readiness {
    /// Of these accounts, in their order. One that is `paused` is not asked.
    async fn of(
        &self,
        accounts: &Accounts,
        counts: impl Fn(&str, &str) -> bool,
        paused: impl Fn(&str, &str) -> Option<Paused>,
    ) -> Vec<Ready> {
        // Held meanwhile: whoever asks at the same time wants the same answers.
        let mut known = self.0.lock().await;
        let asked = accounts.iter().filter(|(channel, account, _)| counts(channel, account)).map(
            |(channel, account, adapter)| {
                let key = (channel.to_owned(), account.to_owned());
                let known = known.get(&key).filter(|known| known.at.elapsed() < FRESH);
                let own = Arc::downgrade(adapter);
                let fresh = known.filter(|known| known.adapter.ptr_eq(&own)).cloned();
                let paused = paused(channel, account);
                async move {
                    let mode = adapter.capabilities().mode;
                    let (channel, account) = key.clone();
                    if let Some(Paused { said, until }) = paused {
                        let paused_until = Some(until);
                        let dropped = Vec::new();
                        let ready =
                            Ready { channel, account, mode, ready: false, said, paused_until, dropped };
                        return (ready, None);
                    }
                    if let Some(fresh) = fresh {
                        return (fresh.ready.clone(), Some((key, fresh)));
                    }
                    let asked = tokio::time::timeout(LONGEST, channels::ready(adapter.as_ref()));
                    let (ready, said) = match asked.await {
                        Ok(Ok(said)) => (true, said),
                        Ok(Err(why)) => (false, why.to_string()),
                        Err(_) => {
                            let why = format!("it did not answer within {} s", LONGEST.as_secs());
                            (false, mode.not_ready(&channel, &why))
                        }
                    };
                    let dropped = Vec::new();
                    let ready = Ready { channel, account, mode, ready, said, paused_until: None, dropped };
                    (ready.clone(), Some((key, Known { at: Instant::now(), adapter: own, ready })))
                }
            },
        );
        let (told, found): (Vec<_>, Vec<_>) = join_all(asked).await.into_iter().unzip();
        known.retain(|_, known| known.adapter.strong_count() > 0);
        known.extend(found.into_iter().flatten());
        told
    }
}

impl Pipeline {
    /// Whether the accounts that an agent may write from are ready; all of them, for nobody in particular, who also reads what a
    /// platform said when it asked for a pause: it may be about another agent's message.
    ///
    /// # Errors
    /// The database.
    pub async fn ready(&self, agent: Option<&str>) -> Result<Vec<Ready>, StoreError> {
        let shared = &self.0;
        let pauses = shared.outbox.pauses().await?;
        let rules = agent.map(|agent| shared.agents.get(agent));
        let counts = |channel: &str, account: &str| match rules {
            None => true,
            Some(None) => false,
            Some(Some(rules)) => {
                let bound = rules.accounts.get(channel);
                rules.rights.reach(channel) && bound.is_none_or(|bound| bound == account)
            }
        };
        let paused = |channel: &str, account: &str| {
            let pause = pauses.of_account(channel, account, shared.accounts.fingerprint(channel, account))?;
            let said = if agent.is_some() { pause.sentence() } else { pause.in_its_words() };
            Some(Paused { said, until: rfc3339(pause.until) })
        };
        let mut ready = shared.readiness.of(&shared.accounts, counts, paused).await;
        if agent.is_some() {
            return Ok(ready);
        }
        let read = shared.outbox.store().read(move |db| -> Result<_, StoreError> {
            for one in &mut ready {
                one.dropped = drops::of_account(db, &one.channel, &one.account)?;
            }
            Ok(ready)
        });
        read.await
    }
}
