//! How many cards an agent may put before people in an hour.
//!
//! Elsewhere nineteen prompts came within thirty-five minutes, and by the end nobody read them. Over its share an agent's
//! message is held like any other, and nobody is asked: the oldest of these gets its card as soon as an hour has room for
//! it. The message itself says so meanwhile, to its agent and in the queue, and its time to be decided on begins with its
//! card. No card is dropped, and none overtakes another of its agent.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use rusqlite::{Connection, Transaction, params};
use serde_json::json;

use super::{Terms, mute};
use crate::{
    audit::{self, Entry, Event},
    clock,
    random::to_hex,
    store::StoreError,
};

/// Cards that an agent may put before people in an hour if the configuration does not say: one in three minutes.
pub const USUAL: u32 = 20;
/// The window, in milliseconds.
const HOUR: i64 = 3_600_000;

// In this order, so that nobody looks through all that an agent ever sent.
const WAITS: &str = "SELECT 1 FROM approvals INDEXED BY approvals_later CROSS JOIN messages ON seq = message
    WHERE decided_at IS NULL AND card_at IS NULL AND agent = ? LIMIT 1";
pub(crate) const HAD: &str =
    "SELECT card_at, request FROM approvals INDEXED BY approvals_cards CROSS JOIN messages ON seq = message
    WHERE card_at > ? AND agent = ? ORDER BY card_at";
pub(crate) const LATER: &str = "SELECT request, message, agent, messages.deadline, accepted_at
    FROM approvals INDEXED BY approvals_later CROSS JOIN messages ON seq = message
    WHERE decided_at IS NULL AND card_at IS NULL ORDER BY message";

/// Why nobody is asked yet, as a sentence behind the reason of the hold.
pub(super) fn later(why: &str, agent: &str, cards: u32) -> String {
    format!("{why}; nobody is asked yet, since {agent} has had its {cards} cards of the hour")
}

/// Whether a new hold of `agent` gets its card at once.
pub(super) fn room(tx: &Transaction<'_>, agent: &str, terms: Terms, now: i64) -> Result<bool, StoreError> {
    if mute::until(tx, agent, now)?.is_some() {
        return Ok(false);
    }
    if terms.cards_per_hour == 0 {
        return Ok(true);
    }
    let waits = tx.prepare_cached(WAITS)?.exists([agent])?;
    Ok(!waits && had(tx, agent, now)?.len() < terms.cards_per_hour as usize)
}

/// When the agent's cards of the last hour were put, oldest first.
fn had(db: &Connection, agent: &str, now: i64) -> Result<Vec<i64>, StoreError> {
    let mut rows = db.prepare_cached(HAD)?;
    let rows =
        rows.query_map(params![now.saturating_sub(HOUR), agent], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (mut had, mut seen) = (vec![], HashSet::<[u8; 16]>::new());
    for row in rows {
        let (at, request) = row?;
        // A card may be about several messages.
        if seen.insert(request) {
            had.push(at);
        }
    }
    Ok(had)
}

/// What waits for its card, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Later {
    request: [u8; 16],
    pub(super) message: i64,
    agent: String,
    deadline: i64,
    accepted_at: i64,
}

/// What an hour has room for, and when it has room for more.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// These get their cards now.
    pub(super) now: Vec<Later>,
    /// When the next one can; nothing, if none waits.
    pub(super) next: Option<i64>,
}

/// Looks who of those that wait can have a card.
pub(super) fn due(db: &Connection, terms: Terms, now: i64) -> Result<Due, StoreError> {
    let mut rows = db.prepare_cached(LATER)?;
    let rows = rows.query_map([], |row| {
        Ok(Later {
            request: row.get(0)?,
            message: row.get(1)?,
            agent: row.get(2)?,
            deadline: row.get(3)?,
            accepted_at: row.get(4)?,
        })
    })?;
    let (mut due, mut room) = (Due::default(), BTreeMap::<String, usize>::new());
    let (mut seen, muted) = (HashSet::new(), mute::all(db, now)?);
    for later in rows {
        let later = later?;
        // The others on its card come with the first of them.
        if !seen.insert(later.request) {
            continue;
        }
        if let Some(until) = muted.get(&later.agent) {
            due.next = due.next.into_iter().chain([*until]).min();
            continue;
        }
        if terms.cards_per_hour == 0 {
            due.now.push(later);
            continue;
        }
        let left = match room.get_mut(&later.agent) {
            Some(left) => left,
            None => {
                let had = had(db, &later.agent, now)?;
                let next = had.first().map(|first| first.saturating_add(HOUR));
                due.next = due.next.into_iter().chain(next).min();
                let left = (terms.cards_per_hour as usize).saturating_sub(had.len());
                room.entry(later.agent.clone()).or_insert(left)
            }
        };
        if *left > 0 {
            *left -= 1;
            due.now.push(later);
        }
    }
    Ok(due)
}

/// How many cards of each agent people were asked about within the last hour.
pub(super) fn of_the_hour(db: &Connection, now: i64) -> Result<Vec<(String, u32)>, StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT agent, count(DISTINCT request) FROM approvals INDEXED BY approvals_cards CROSS JOIN messages ON seq = message
         WHERE card_at > ? GROUP BY agent",
    )?;
    let rows = rows.query_map([now.saturating_sub(HOUR)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When each request that waits for its card is expected to get it, if nothing else comes: when its agent has served its mute, and an
/// hour has room. Of at most `most` rows, the oldest.
pub(super) fn expected(
    db: &Connection,
    terms: Terms,
    now: i64,
    most: usize,
) -> Result<HashMap<[u8; 16], i64>, StoreError> {
    let mut rows = db.prepare_cached(LATER)?;
    let rows =
        rows.query_map([], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, String>(2)?)))?.take(most);
    let muted = mute::all(db, now)?;
    let (mut expected, mut hours) = (HashMap::new(), BTreeMap::<String, VecDeque<i64>>::new());
    for row in rows {
        let (request, agent) = row?;
        if expected.contains_key(&request) {
            continue;
        }
        let from = muted.get(&agent).copied().unwrap_or(now);
        let at = match terms.cards_per_hour as usize {
            0 => from,
            cards => {
                let hour = match hours.get_mut(&agent) {
                    Some(hour) => hour,
                    None => {
                        let had = VecDeque::from(had(db, &agent, now)?);
                        hours.entry(agent.clone()).or_insert(had)
                    }
                };
                let mut at = from;
                while hour.len() >= cards {
                    at = at.max(hour.pop_front().unwrap_or(from).saturating_add(HOUR));
                }
                hour.push_back(at);
                at
            }
        };
        expected.insert(request, at);
    }
    Ok(expected)
}

/// Puts a card before people: from now on they are asked, for as long as any message waits.
pub(super) fn put(tx: &Transaction<'_>, later: &Later, terms: Terms, now: i64) -> Result<(), StoreError> {
    let deadline = terms.deadline(now, later.deadline);
    let waiting =
        "SELECT message FROM approvals WHERE request = ?1 AND card_at IS NULL AND decided_at IS NULL";
    let mut asked = tx.prepare(&format!(
        "UPDATE messages SET code = NULL, reason = (SELECT why FROM approvals WHERE message = seq)
         WHERE seq IN ({waiting}) RETURNING id, reason"
    ))?;
    let asked: Vec<(String, Option<String>)> = asked
        .query_map(params![later.request], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    tx.execute(
        "UPDATE approvals SET card_at = ?, deadline = ?, why = NULL
         WHERE request = ? AND card_at IS NULL AND decided_at IS NULL",
        params![now, deadline, later.request],
    )?;
    // None if it came to its end between the look and the write. Each has a row, since the row says its reason.
    let waited = now.saturating_sub(later.accepted_at).max(0);
    for (id, reason) in &asked {
        let detail = json!({
            "request": to_hex(&later.request), "waited_ms": waited, "deadline": clock::rfc3339(deadline),
            "code": null, "reason": reason,
        });
        audit::append(tx, &Entry { actor: "hub", event: Event::DecisionAsked, message: Some(id), detail })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatepost_link::decision::Verdict::{Approve, Deny};

    use crate::{
        approval::{
            Terms,
            testing::{Fixture, HUB},
        },
        message::state::State,
        store::now_ms,
    };

    const BLOBS: [(u8, &str); 1] = [(9, "shelf")];
    const AN_HOUR_LATER: &str = "UPDATE approvals SET card_at = card_at - 3600000";

    fn two_an_hour() -> Terms {
        Terms { cards_per_hour: 2, ..Terms::default() }
    }

    /// The messages that people are asked about.
    async fn asked(fixture: &Fixture) -> Vec<i64> {
        fixture.approvals.waiting().await.unwrap().into_iter().map(|waiting| waiting.message).collect()
    }

    async fn held(fixture: &mut Fixture, messages: i64) {
        for n in 1..=messages {
            assert_eq!(fixture.hold(&format!("text {n}")).await, n);
        }
    }

    #[tokio::test]
    async fn what_is_over_the_hours_cards_is_held_says_so_and_is_asked_about_in_its_turn() {
        let mut fixture = Fixture::with(&BLOBS, two_an_hour()).await;
        held(&mut fixture, 5).await;
        assert_eq!(asked(&fixture).await, [1, 2]);
        let third = fixture.outbox.receipt(3).await.unwrap();
        assert_eq!((third.ok, third.state, third.code.as_deref()), (true, State::Held, Some("rate_limited")));
        let why = "it crosses; nobody is asked yet, since a has had its 2 cards of the hour";
        assert_eq!(third.reason.as_deref(), Some(why));
        assert!(third.hint.as_ref().is_some_and(|hint| hint.contains("waits for its turn")), "{third:?}");
        let first = fixture.outbox.receipt(1).await.unwrap();
        assert_eq!((first.code, first.reason.as_deref()), (None, Some("it crosses")));

        // Deciding makes no room, time does.
        fixture.decide_as(9, 1, Approve, 1).await.unwrap();
        let next = fixture.approvals.look_after().await.unwrap().unwrap();
        assert!((1..=600_000).contains(&(next - now_ms())), "the second one expires before the hour is over");
        assert_eq!(asked(&fixture).await, [2]);
        fixture.decide_as(9, 2, Deny, 2).await.unwrap();
        let next = fixture.approvals.look_after().await.unwrap().unwrap();
        assert!((3_500_000..=3_600_000).contains(&(next - now_ms())), "{next}");
        fixture.tamper(AN_HOUR_LATER).await;
        fixture.approvals.look_after().await.unwrap();
        assert_eq!(asked(&fixture).await, [3, 4]);
        let third = fixture.outbox.receipt(3).await.unwrap();
        assert_eq!((third.code, third.reason.as_deref()), (None, Some("it crosses")));
        let waiting = fixture.approvals.waiting().await.unwrap().remove(0);
        assert!(
            (590_000..=600_000).contains(&(waiting.deadline - now_ms())),
            "its time begins with its card"
        );
        fixture.decide_as(9, 3, Approve, 3).await.unwrap();
        assert_eq!(fixture.state(3).await, State::Ready);
        let counted = "SELECT put, deferred FROM cards WHERE agent = 'a'";
        let counted: (i64, i64) = fixture
            .write(move |tx| Ok(tx.query_row(counted, [], |row| Ok((row.get(0)?, row.get(1)?)))?))
            .await;
        assert_eq!(counted, (4, 3));
        assert_eq!(fixture.audit("decision.asked").await.len(), 2);
        let proof =
            fixture.outbox.store().read(|db| crate::approval::prove::prove(db, HUB, 0)).await.unwrap();
        assert_eq!(proof.faults, []);
    }

    #[tokio::test]
    async fn nobody_overtakes_another_of_its_agent_and_other_agents_have_hours_of_their_own() {
        let mut fixture = Fixture::with(&BLOBS, two_an_hour()).await;
        held(&mut fixture, 3).await;
        fixture.tamper(AN_HOUR_LATER).await;
        // There is room again, but the third has waited longer.
        fixture.hold("text 4").await;
        assert_eq!(asked(&fixture).await, [1, 2]);
        fixture.tamper("UPDATE messages SET agent = 'b' WHERE seq = 4").await;
        fixture.hold("text 5").await;
        fixture.approvals.look_after().await.unwrap();
        assert_eq!(asked(&fixture).await, [1, 2, 3, 4, 5]);
    }

    #[tokio::test]
    async fn what_nobody_was_asked_about_in_time_expires_and_says_why() {
        let mut fixture = Fixture::with(&BLOBS, two_an_hour()).await;
        held(&mut fixture, 3).await;
        fixture.tamper("UPDATE approvals SET deadline = 1").await;
        fixture.approvals.look_after().await.unwrap();
        for (seq, why) in [(1, "nobody decided in time"), (3, "nobody was asked in time")] {
            let receipt = fixture.outbox.receipt(seq).await.unwrap();
            assert_eq!((receipt.state, receipt.code.as_deref()), (State::Expired, Some("expired")));
            assert!(receipt.error.is_some_and(|error| error.contains(why)), "{why}");
        }
    }

    #[tokio::test]
    async fn nought_is_no_limit_and_lets_out_what_an_earlier_one_kept() {
        let mut fixture = Fixture::with(&BLOBS, two_an_hour()).await;
        held(&mut fixture, 4).await;
        let mut fixture = fixture.restarted(Terms { cards_per_hour: 0, ..Terms::default() }).await;
        fixture.approvals.look_after().await.unwrap();
        assert_eq!(asked(&fixture).await, [1, 2, 3, 4]);
        for n in 5..30 {
            fixture.hold(&format!("text {n}")).await;
        }
        assert_eq!(asked(&fixture).await.len(), 29);
    }

    #[tokio::test]
    async fn each_is_expected_when_an_hour_has_room_for_it() {
        let mut fixture = Fixture::with(&BLOBS, two_an_hour()).await;
        held(&mut fixture, 7).await;
        let now = now_ms();
        let read = move |db: &rusqlite::Connection| super::expected(db, two_an_hour(), now, 1_000);
        let mut at: Vec<i64> =
            fixture.outbox.store().read(read).await.unwrap().values().map(|at| (at - now) / 60_000).collect();
        at.sort_unstable();
        // A little less than whole hours, since the first two cards were put before `now`.
        assert_eq!(at, [59, 59, 119, 119, 179]);
    }
}
