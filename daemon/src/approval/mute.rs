//! Agents about whose messages nobody is asked for a while, because a person wants to hear nothing of them.
//!
//! A muted agent's messages are held like any other and wait without a card, as those over the hour's cards do ([`super::cards`]): the
//! message says so to its agent and in the queue, and nobody's silence approves it. When the mute is over they get their cards in their
//! turn; one whose own deadline comes first expires. Cards that are open stay open: what a person was asked may still be answered.

use std::{collections::HashMap, time::Duration};

use gatepost_link::RequestId;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::json;

use super::Approvals;
use crate::{
    audit::{self, Entry, Event},
    clock,
    store::{Store, StoreError, now_ms},
};

/// For how long a companion mutes, which has no keys to say another time.
const BY_COMPANION: Duration = Duration::from_hours(1);
/// The longest mute. Who wants no more of an agent takes its token away.
pub const LONGEST: Duration = Duration::from_hours(24);

const UNTIL: &str = "SELECT until FROM mutes WHERE agent = ? AND until > ?";
/// A message that waits for its card: a change of it makes whoever puts cards look again.
const WAITING: &str =
    "SELECT message FROM approvals INDEXED BY approvals_later CROSS JOIN messages ON seq = message
    WHERE decided_at IS NULL AND card_at IS NULL AND agent = ? LIMIT 1";

/// Whose message was denied by this request.
const DENIED: &str = "SELECT agent FROM approvals JOIN messages ON seq = message WHERE request = ? AND state = 'denied' LIMIT 1";

/// Why nobody is asked yet, as a sentence behind the reason of the hold.
pub(super) fn later(why: &str, agent: &str, until: i64) -> String {
    format!("{why}; nobody is asked yet, since {agent} is muted until {}", clock::to_the_second(until))
}

/// Until when an agent is muted, in milliseconds since 1970; nothing if it is not.
pub(super) fn until(db: &Connection, agent: &str, now: i64) -> Result<Option<i64>, StoreError> {
    Ok(db.prepare_cached(UNTIL)?.query_row(params![agent, now], |row| row.get(0)).optional()?)
}

/// Every agent that is muted, and until when.
pub(super) fn all(db: &Connection, now: i64) -> Result<HashMap<String, i64>, StoreError> {
    let mut rows = db.prepare_cached("SELECT agent, until FROM mutes WHERE until > ?")?;
    let rows = rows.query_map([now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Approvals {
    /// Mutes the agent whose message was denied by this request, for an hour; its name, if that was so.
    ///
    /// # Errors
    /// The database.
    pub async fn mute_denied(&self, request: RequestId, by: &str) -> Result<Option<String>, StoreError> {
        let end = now_ms().saturating_add(i64::try_from(BY_COMPANION.as_millis()).unwrap_or(0));
        let denied = self.outbox.store().read(move |db| {
            let agent = db.prepare_cached(DENIED)?.query_row([request.0], |row| row.get(0)).optional()?;
            let Some(agent): Option<String> = agent else { return Ok::<_, StoreError>(None) };
            let is_longer = until(db, &agent, end)?.is_some();
            Ok(Some((agent, is_longer)))
        });
        let Some((agent, is_longer)) = denied.await? else { return Ok(None) };
        // Whoever muted it for longer meant that.
        if !is_longer {
            self.mute(&agent, BY_COMPANION, by).await?;
        }
        Ok(Some(agent))
    }

    /// Every agent that is muted, and until when, in milliseconds since 1970.
    ///
    /// # Errors
    /// The database.
    pub async fn muted(&self) -> Result<HashMap<String, i64>, StoreError> {
        self.outbox.store().read(|db| all(db, now_ms())).await
    }

    /// Mutes an agent for so long from now on, at most [`LONGEST`], or ends its mute where that is nothing; until when it is muted then.
    ///
    /// # Errors
    /// The database.
    pub async fn mute(&self, agent: &str, time: Duration, by: &str) -> Result<Option<i64>, StoreError> {
        let (until, waiting) = mute(self.outbox.store(), agent, time, by).await?;
        if let Some(message) = waiting {
            self.outbox.changed(message);
        }
        Ok(until)
    }
}

/// The same in a database that no hub is working on; and a message that waits for its card, if one does.
///
/// # Errors
/// The database.
pub async fn mute(
    store: &Store,
    agent: &str,
    time: Duration,
    by: &str,
) -> Result<(Option<i64>, Option<i64>), StoreError> {
    let (agent, by) = (agent.to_owned(), by.to_owned());
    store
        .write(move |tx| {
            let now = now_ms();
            let ms = i64::try_from(time.min(LONGEST).as_millis()).unwrap_or(0);
            let end = (ms > 0).then(|| now.saturating_add(ms));
            let was_muted = until(tx, &agent, now)?.is_some();
            tx.execute("DELETE FROM mutes WHERE agent = ? OR until <= ?", params![agent, now])?;
            let (event, detail) = match end {
                Some(end) => {
                    tx.execute("INSERT INTO mutes (agent, until) VALUES (?, ?)", params![agent, end])?;
                    (Event::AgentMuted, json!({"name": agent, "until": clock::rfc3339(end)}))
                }
                None => (Event::AgentUnmuted, json!({"name": agent})),
            };
            if end.is_some() || was_muted {
                audit::append(tx, &Entry { actor: &by, event, message: None, detail })?;
            }
            let waiting = tx.prepare_cached(WAITING)?.query_row([&agent], |row| row.get(0)).optional()?;
            Ok((end, waiting))
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gatepost_link::decision::Verdict::{Approve, Deny};

    use crate::{
        approval::{Terms, testing::Fixture},
        message::state::State,
        store::now_ms,
    };

    const AN_HOUR: Duration = Duration::from_hours(1);
    const SHELF: [(u8, &str); 1] = [(9, "shelf")];

    async fn asked(fixture: &Fixture) -> Vec<i64> {
        fixture.approvals.waiting().await.unwrap().into_iter().map(|waiting| waiting.message).collect()
    }

    #[tokio::test]
    async fn a_muted_agents_messages_wait_without_a_card_and_get_one_when_it_is_over() {
        let mut fixture = Fixture::with(&SHELF, Terms::default()).await;
        let open = fixture.hold("before").await;
        let until = fixture.approvals.mute("a", AN_HOUR, "operator:ann").await.unwrap().unwrap();
        let held = fixture.hold("text").await;
        assert_eq!(asked(&fixture).await, [open], "what was asked before stays asked");
        let receipt = fixture.outbox.receipt(held).await.unwrap();
        assert!(receipt.ok && receipt.state == State::Held, "{receipt:?}");
        let reason = receipt.reason.unwrap();
        assert!(reason.starts_with("it crosses; nobody is asked yet, since a is muted until 2"), "{reason}");
        let deadline = fixture.outbox.get(held).await.unwrap().deadline;
        let next = fixture.approvals.look_after().await.unwrap().unwrap();
        assert!(next <= until && deadline > until, "it is looked at again when the mute is over");
        assert_eq!(asked(&fixture).await, [open]);

        assert_eq!(fixture.approvals.mute("a", Duration::ZERO, "operator:ann").await.unwrap(), None);
        fixture.approvals.look_after().await.unwrap();
        assert_eq!(asked(&fixture).await, [open, held]);
        assert_eq!(fixture.outbox.receipt(held).await.unwrap().reason.as_deref(), Some("it crosses"));
        fixture.decide_as(9, held, Approve, 1).await.unwrap();
        assert_eq!(fixture.state(held).await, State::Ready);
        assert_eq!(fixture.audit("agent.muted").await.len(), 1);
        assert_eq!(fixture.audit("agent.unmuted").await[0].0, "operator:ann");
    }

    #[tokio::test]
    async fn a_mute_is_one_agents_is_bounded_and_ends_by_itself() {
        let mut fixture = Fixture::with(&SHELF, Terms::default()).await;
        let until = fixture.approvals.mute("b", AN_HOUR * 100, "operator").await.unwrap().unwrap();
        assert!((until - now_ms() - 86_400_000).abs() < 5_000, "{until}");
        let other = fixture.hold("of another").await;
        assert_eq!(asked(&fixture).await, [other]);
        fixture.tamper("UPDATE mutes SET until = 1").await;
        assert!(fixture.approvals.muted().await.unwrap().is_empty());
        fixture.approvals.mute("b", Duration::ZERO, "operator").await.unwrap();
        assert!(fixture.audit("agent.unmuted").await.is_empty(), "it was over already");
    }

    #[tokio::test]
    async fn a_companion_mutes_whose_message_was_denied_there_and_nobody_else() {
        let mut fixture = Fixture::with(&SHELF, Terms::default()).await;
        let (denied, open) = (fixture.hold("denied").await, fixture.hold("open").await);
        let request = |held: i64| {
            let waiting = fixture.approvals.waiting();
            async move {
                waiting.await.unwrap().into_iter().find(|waiting| waiting.message == held).unwrap().request
            }
        };
        let (of_denied, of_open) = (request(denied).await, request(open).await);
        let by = "companion:shelf";
        assert_eq!(fixture.approvals.mute_denied(of_denied, by).await.unwrap(), None, "it waits still");
        fixture.decide_as(9, denied, Deny, 1).await.unwrap();
        assert_eq!(fixture.approvals.mute_denied(of_open, by).await.unwrap(), None);
        assert_eq!(fixture.approvals.mute_denied(of_denied, by).await.unwrap().as_deref(), Some("a"));
        let until = fixture.approvals.muted().await.unwrap()["a"];
        assert!((until - now_ms() - 3_600_000).abs() < 5_000, "{until}");
        assert_eq!(fixture.audit("agent.muted").await[0].0, by);
        let longer = fixture.approvals.mute("a", AN_HOUR * 5, "operator").await.unwrap().unwrap();
        fixture.approvals.mute_denied(of_denied, by).await.unwrap();
        assert_eq!(fixture.approvals.muted().await.unwrap()["a"], longer, "it is not shortened");
    }

    #[tokio::test]
    async fn who_is_muted_until_its_message_is_too_late_is_told_so() {
        let mut fixture = Fixture::with(&SHELF, Terms::default()).await;
        fixture.approvals.mute("a", AN_HOUR, "operator").await.unwrap();
        let held = fixture.hold("text").await;
        fixture.tamper("UPDATE approvals SET deadline = 1").await;
        fixture.approvals.look_after().await.unwrap();
        let receipt = fixture.outbox.receipt(held).await.unwrap();
        assert_eq!(receipt.state, State::Expired);
        assert!(receipt.error.unwrap().contains("because its agent was muted"));
    }
}
