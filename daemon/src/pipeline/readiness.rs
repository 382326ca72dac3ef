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
use gatepost_chunk::Unit;
use rusqlite::Connection;
use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

use super::Pipeline;
use crate::{
    channels::{self, Adapter, DeliveryMode, account::Accounts, receiver::Hearing},
    clock::rfc3339,
    router::drops::{self, DroppedEvents},
    store::{Room, StoreError},
};

/// How long an answer counts; and for whoever wants to know it anew.
const FRESH: Duration = Duration::from_mins(1);
const ANEW: Duration = Duration::from_secs(10);
/// The longest look for what was sent last.
const LONGEST_LOOK: Duration = Duration::from_millis(200);
const MB: u64 = 1_000_000;
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
    /// Whether it would send now. How it hears, `hearing` says.
    pub ready: bool,
    /// As whom it is logged in, or why it is not ready.
    pub said: String,
    /// Until when its platform has asked to be left alone; it is not ready then. RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// The most that it takes, in words: `4,096 characters, files of 50 MB`.
    pub limits: String,
    /// Whether it reads what people write.
    pub receives: bool,
    /// Whether it hears them in this moment, or why not; left out where it does not receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hearing: Option<Hearing>,
    /// When something was sent last, as far as a short look tells; for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sent_at: Option<String>,
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
        fresh: Duration,
    ) -> Vec<Ready> {
        // Held meanwhile: whoever asks at the same time wants the same answers.
        let mut known = self.0.lock().await;
        let asked = accounts.iter().filter(|(channel, account, _)| counts(channel, account)).map(
            |(channel, account, adapter)| {
                let key = (channel.to_owned(), account.to_owned());
                let known = known.get(&key).filter(|known| known.at.elapsed() < fresh);
                let own = Arc::downgrade(adapter);
                let fresh = known.filter(|known| known.adapter.ptr_eq(&own)).cloned();
                let paused = paused(channel, account);
                let receives = accounts.receives(channel, account);
                async move {
                    let mode = adapter.capabilities().mode;
                    let (channel, account) = key.clone();
                    let blank = Ready {
                        channel: channel.clone(),
                        account,
                        mode,
                        ready: false,
                        said: String::new(),
                        paused_until: None,
                        limits: limits(adapter.as_ref()),
                        receives,
                        hearing: None,
                        last_sent_at: None,
                        dropped: Vec::new(),
                    };
                    if let Some(Paused { said, until }) = paused {
                        return (Ready { said, paused_until: Some(until), ..blank }, None);
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
                    let ready = Ready { ready, said, ..blank };
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
        self.ready_within(agent, FRESH).await
    }

    /// The same, with what a platform said within the last ten seconds at most.
    ///
    /// # Errors
    /// The database.
    pub async fn ready_anew(&self, agent: Option<&str>) -> Result<Vec<Ready>, StoreError> {
        self.ready_within(agent, ANEW).await
    }

    async fn ready_within(&self, agent: Option<&str>, fresh: Duration) -> Result<Vec<Ready>, StoreError> {
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
        let mut ready = shared.readiness.of(&shared.accounts, counts, paused, fresh).await;
        for one in &mut ready {
            one.hearing = self.hearing(&one.channel, &one.account);
        }
        if agent.is_some() {
            return Ok(ready);
        }
        let read = shared.outbox.store().read(move |db| -> Result<_, StoreError> {
            let sent = last_sent(db, ready.len())?;
            for one in &mut ready {
                let key = (one.channel.clone(), one.account.clone());
                one.last_sent_at = sent.get(&key).copied().map(rfc3339);
                one.dropped = drops::of_account(db, &one.channel, &one.account)?;
            }
            Ok(ready)
        });
        read.await
    }

    /// How an account hears now. While the disk has no room nothing is received, whatever the platform says.
    fn hearing(&self, channel: &str, account: &str) -> Option<Hearing> {
        let (_, adapter) = self.0.accounts.pick(channel, Some(account)).ok()?;
        Some(heard_with(self.0.outbox.store().space().look(), adapter.hearing()?))
    }
}

fn heard_with(room: Room, hearing: Hearing) -> Hearing {
    match room.accepts() {
        true => hearing,
        false => Hearing { ready: false, standing: format!("nothing is received: {room}") },
    }
}

/// When each account sent something last: of the newest messages, as far as a short look goes.
fn last_sent(db: &Connection, accounts: usize) -> Result<BTreeMap<(String, String), i64>, StoreError> {
    let (mut sent, began) = (BTreeMap::new(), Instant::now());
    let mut rows = db.prepare_cached(
        "SELECT channel, account, ended_at, state = 'sent' FROM messages INDEXED BY messages_ended
         WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 20000",
    )?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        if sent.len() >= accounts || began.elapsed() > LONGEST_LOOK {
            break;
        }
        if row.get::<_, bool>(3)? {
            sent.entry((row.get(0)?, row.get(1)?)).or_insert(row.get(2)?);
        }
    }
    Ok(sent)
}

/// The most that an account takes, in words.
fn limits(adapter: &dyn Adapter) -> String {
    let flavour = adapter.flavour();
    let unit = match flavour.unit {
        Unit::Bytes => "bytes",
        Unit::CodePoints | Unit::Graphemes | Unit::Utf16 => "characters",
    };
    let text = match flavour.limit {
        Some(limit) => format!("{} {unit}", thousands(limit as u64)),
        None => "text of any length".to_owned(),
    };
    match adapter.capabilities().files {
        Some(rules) if rules.max_size == u64::MAX => format!("{text}, files of any size"),
        Some(rules) if rules.max_size >= MB => {
            format!("{text}, files of {} MB", thousands(rules.max_size / MB))
        }
        Some(_) => format!("{text}, files"),
        None => format!("{text}, no files"),
    }
}

/// A number with commas.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_the_disk_is_full_nobody_hears_whatever_an_account_says() {
        let hearing = Hearing { ready: true, standing: "receives".into() };
        assert_eq!(heard_with(Room::Plenty, hearing.clone()), hearing);
        let deaf = heard_with(Room::Short, hearing);
        assert!(!deaf.ready && deaf.standing.contains("disk is full"), "{deaf:?}");
    }

    #[test]
    fn a_number_has_a_comma_before_each_three_digits() {
        for (number, written) in [(0, "0"), (999, "999"), (1_000, "1,000"), (26_214_400, "26,214,400")] {
            assert_eq!(thousands(number), written);
        }
    }
}
