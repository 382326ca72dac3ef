//! Cards as a person looks at them: what people are asked now, what waits for its turn, and what was decided a short while ago.
//!
//! One line for each card, also where it is about several messages: the line is of the first that was not cancelled. Bounded, for a
//! person reads it: the newest of what was decided, and of what waits no more than a page can show.

use std::collections::{HashMap, HashSet};

use gatepost_link::{RequestId, decision::PublicKey};
use rusqlite::{Connection, params};

use super::{
    Approvals, cards,
    quorum::voted,
    registry::{self, Registered},
};
use crate::{
    outbox::row::MessageRow,
    policy::Deciders,
    store::{StoreError, now_ms},
};

/// Cards of each list, at most.
const MOST: usize = 500;
/// Rows of what waits that are looked at: several may be of one card.
const MOST_ROWS: usize = 4_000;
/// Decided cards that are listed, and for how long, in milliseconds.
const MOST_DECIDED: usize = 50;
const DAY: i64 = 86_400_000;

const OPEN: &str = "SELECT request, card_at IS NOT NULL FROM approvals INDEXED BY approvals_open
    WHERE decided_at IS NULL ORDER BY message LIMIT ?";
const DECIDED: &str = "SELECT request FROM approvals INDEXED BY approvals_decided
    WHERE decided_at IS NOT NULL AND decided_at > ? ORDER BY decided_at DESC LIMIT ?";
const ROWS: &str = "SELECT message, approvals.deadline, decided_at, card_at, quorum, verdict, held_because, decided_by FROM approvals JOIN messages
    ON seq = message WHERE request = ? ORDER BY state = 'cancelled', message";
/// Who denied it; or else who approved it, in their order, those of one millisecond by their names.
const DECIDERS: &str = concat!(
    "SELECT ",
    super::who!(),
    " AS who FROM (
        SELECT device, min(at) AS at FROM (
            SELECT device, at FROM votes WHERE request = ?1 AND NOT ?2
            UNION ALL SELECT device, decided_at FROM approvals WHERE request = ?1 AND device IS NOT NULL
        ) GROUP BY device
    ) WHERE who IS NOT NULL ORDER BY at, who"
);

/// Decisions, the latest first, and approvals of what still waits; a decision about several messages counts once.
const DECISIONS: &str = "SELECT device, at, 1 FROM votes
    UNION ALL SELECT device, decided_at, verdict = 'approve' FROM (
        SELECT device, decided_at, verdict, request FROM approvals INDEXED BY approvals_decided
        WHERE decided_at IS NOT NULL ORDER BY decided_at DESC LIMIT ?1
    ) WHERE device IS NOT NULL GROUP BY request";

/// A card, in a list. Times are milliseconds since 1970.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its name.
    pub request: RequestId,
    /// The message; of several, the first that was not cancelled.
    pub message: MessageRow,
    /// How many messages it is about.
    pub targets: usize,
    /// Since when people are asked; before that, since when it waits.
    pub asked_at: i64,
    /// When it expires.
    pub deadline: i64,
    /// Of one that waits for its turn: when people will be asked, if nothing else comes.
    pub asks_at: Option<i64>,
    /// When it was decided, or came to another end.
    pub decided_at: Option<i64>,
    /// Who decided, or has approved it so far, as the audit names them.
    pub by: Vec<String>,
    /// How many must approve it.
    pub quorum: u32,
    /// Who decides.
    pub decided_by: Deciders,
    /// Why it was held, if that was written down.
    pub why: Option<String>,
}

/// What a person is shown of all cards.
#[derive(Debug, Default)]
pub struct Cards {
    /// People are asked now; by deadline.
    pub waiting: Vec<Card>,
    /// Nobody is asked yet; in their turn.
    pub later: Vec<Card>,
    /// What came to its end within a day, the last first.
    pub decided: Vec<Card>,
}

/// A card with what its approver is shown.
#[derive(Debug)]
pub struct Shown {
    /// The card.
    pub card: Card,
    /// The approval document's bytes.
    pub document: Vec<u8>,
    /// The row of the audit whose hash the document names; not of what was held by an older program.
    pub audit_row: Option<i64>,
    /// Who has approved it, while more must.
    pub voted: Vec<PublicKey>,
    /// The companions that may decide, and those that did.
    pub devices: Vec<Registered>,
}

impl Approvals {
    /// All cards, as a person looks at them.
    ///
    /// # Errors
    /// The database.
    pub async fn cards(&self) -> Result<Cards, StoreError> {
        let terms = self.terms;
        self.outbox
            .store()
            .read(move |db| {
                let now = now_ms();
                let expected = cards::expected(db, terms, now, MOST_ROWS)?;
                let mut all = Cards::default();
                for (request, asked) in open(db)? {
                    let list = if asked { &mut all.waiting } else { &mut all.later };
                    if list.len() == MOST {
                        continue;
                    }
                    let Some(card) = card(db, request)? else { continue };
                    let asks_at = (!asked).then(|| expected.get(&request.0).copied().unwrap_or(now));
                    list.push(Card { asks_at, ..card });
                }
                all.waiting.sort_by_key(|card| (card.deadline, card.message.seq));
                all.later.sort_by_key(|card| (card.asks_at, card.message.seq));
                all.decided = decided(db, now)?;
                Ok(all)
            })
            .await
    }

    /// One card, with what its approver is shown; nothing, if there is none of this name.
    ///
    /// # Errors
    /// The database.
    pub async fn shown(&self, request: RequestId) -> Result<Option<Shown>, StoreError> {
        let terms = self.terms;
        self.outbox
            .store()
            .read(move |db| {
                let Some(mut card) = card(db, request)? else { return Ok(None) };
                let sql = "SELECT document, audit_row, card_at IS NULL AND decided_at IS NULL FROM approvals WHERE message = ?";
                let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
                let (document, audit_row, later): (_, _, bool) =
                    db.prepare_cached(sql)?.query_row([card.message.seq], read)?;
                if later {
                    let now = now_ms();
                    let expected = cards::expected(db, terms, now, MOST_ROWS)?;
                    card.asks_at = Some(expected.get(&request.0).copied().unwrap_or(now));
                }
                let voted = voted(db, request)?;
                let devices = registry::all(db)?;
                Ok(Some(Shown { card, document, audit_row, voted, devices }))
            })
            .await
    }

    /// How many cards of each agent people were asked about within the last hour.
    ///
    /// # Errors
    /// The database.
    pub async fn cards_of_the_hour(&self) -> Result<Vec<(String, u32)>, StoreError> {
        self.outbox.store().read(|db| cards::of_the_hour(db, now_ms())).await
    }
}

/// What a companion has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decided {
    /// Whether the last of it was an approval; nothing, if that is not stored any more.
    pub last: Option<bool>,
    /// Within a day.
    pub approved: u32,
    /// Within a day.
    pub denied: u32,
}

impl Approvals {
    /// What each companion has decided, as far as a look at the latest decisions tells.
    ///
    /// # Errors
    /// The database.
    pub async fn decided(&self) -> Result<HashMap<PublicKey, Decided>, StoreError> {
        self.outbox.store().read(|db| decisions(db, now_ms())).await
    }
}

fn decisions(db: &Connection, now: i64) -> Result<HashMap<PublicKey, Decided>, StoreError> {
    let mut rows = db.prepare_cached(DECISIONS)?;
    let mut rows = rows.query([MOST_ROWS as i64])?;
    let mut all = HashMap::<PublicKey, Decided>::new();
    let mut last_at = HashMap::<PublicKey, i64>::new();
    while let Some(row) = rows.next()? {
        let (device, at, approved) = (PublicKey(row.get(0)?), row.get(1)?, row.get(2)?);
        let decided = all.entry(device).or_default();
        if last_at.get(&device).is_none_or(|last| *last < at) {
            last_at.insert(device, at);
            decided.last = Some(approved);
        }
        if at > now - DAY {
            match approved {
                true => decided.approved += 1,
                false => decided.denied += 1,
            }
        }
    }
    Ok(all)
}

/// The requests that wait, each once, and whether people are asked about it.
fn open(db: &Connection) -> Result<Vec<(RequestId, bool)>, StoreError> {
    let mut rows = db.prepare_cached(OPEN)?;
    let rows = rows.query_map([MOST_ROWS as i64], |row| Ok((RequestId(row.get(0)?), row.get(1)?)))?;
    let (mut open, mut seen) = (vec![], HashSet::new());
    for row in rows {
        let row: (RequestId, bool) = row?;
        if seen.insert(row.0) {
            open.push(row);
        }
    }
    Ok(open)
}

/// What came to its end within a day. A card of several messages is over when all of them are.
fn decided(db: &Connection, now: i64) -> Result<Vec<Card>, StoreError> {
    let mut rows = db.prepare_cached(DECIDED)?;
    let rows =
        rows.query_map(params![now - DAY, (MOST_DECIDED * 16) as i64], |row| Ok(RequestId(row.get(0)?)))?;
    let (mut decided, mut seen) = (vec![], HashSet::new());
    for request in rows {
        let request = request?;
        if decided.len() == MOST_DECIDED {
            break;
        }
        if !seen.insert(request) {
            continue;
        }
        decided.extend(card(db, request)?.filter(|card| card.decided_at.is_some()));
    }
    Ok(decided)
}

fn card(db: &Connection, request: RequestId) -> Result<Option<Card>, StoreError> {
    struct Row {
        message: i64,
        deadline: i64,
        decided_at: Option<i64>,
        card_at: Option<i64>,
        quorum: u32,
        verdict: Option<String>,
        why: Option<String>,
        decided_by: Deciders,
    }
    let mut rows = db.prepare_cached(ROWS)?;
    let rows = rows.query_map([request.0], |row| {
        Ok(Row {
            message: row.get(0)?,
            deadline: row.get(1)?,
            decided_at: row.get(2)?,
            card_at: row.get(3)?,
            quorum: row.get(4)?,
            verdict: row.get(5)?,
            why: row.get(6)?,
            decided_by: Deciders::from_word(row.get_ref(7)?.as_str()?).unwrap_or(Deciders::Both),
        })
    })?;
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let targets = rows.len();
    let Some(first) = rows.into_iter().next() else { return Ok(None) };
    let message = MessageRow::get(db, first.message)?;
    let is_denied = first.verdict.as_deref() == Some("deny");
    let mut by = db.prepare_cached(DECIDERS)?;
    let by = by.query_map(params![request.0, is_denied], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Some(Card {
        request,
        targets,
        asked_at: first.card_at.unwrap_or(message.accepted_at),
        deadline: first.deadline,
        asks_at: None,
        decided_at: first.decided_at,
        by,
        quorum: first.quorum,
        decided_by: first.decided_by,
        why: first.why,
        message,
    }))
}

#[cfg(test)]
mod tests {
    use gatepost_link::{
        Digest,
        decision::Verdict::{Approve, Deny},
        document::Document,
    };

    use super::*;
    use crate::{
        approval::{
            Terms,
            testing::{Fixture, public},
        },
        message::state::{Actor, Event, State},
    };

    const TWO: [(u8, &str); 2] = [(7, "hall"), (9, "shelf")];

    fn texts(cards: &[Card]) -> Vec<&str> {
        cards.iter().map(|card| card.message.text.as_str()).collect()
    }

    #[tokio::test]
    async fn what_waits_is_by_deadline_what_is_later_in_its_turn_and_what_is_decided_the_last_first() {
        let terms = Terms { cards_per_hour: 4, ..Terms::default() };
        let mut fixture = Fixture::with(&TWO, terms).await;
        for text in ["one", "two", "three", "four", "five", "six"] {
            fixture.hold(text).await;
        }
        fixture.tamper("UPDATE approvals SET deadline = deadline - 1000 WHERE message = 4").await;
        fixture.decide_as(9, 1, Approve, 1).await.unwrap();
        fixture.decide_as(7, 2, Deny, 1).await.unwrap();
        fixture.tamper("UPDATE approvals SET decided_at = decided_at - 5 WHERE message = 1").await;
        let Cards { waiting, later, decided } = fixture.approvals.cards().await.unwrap();
        assert_eq!((texts(&waiting), texts(&later)), (vec!["four", "three"], vec!["five", "six"]));
        assert_eq!(texts(&decided), ["two", "one"]);
        let by = |card: &Card| (card.message.state, card.by.clone());
        assert_eq!(by(&decided[0]), (State::Denied, vec!["companion:hall".to_owned()]));
        assert_eq!(by(&decided[1]), (State::Ready, vec!["companion:shelf".to_owned()]));
        let of = fixture.approvals.decided().await.unwrap();
        let (hall, shelf) = (of[&public(7)], of[&public(9)]);
        assert_eq!((hall.last, hall.approved, hall.denied), (Some(false), 0, 1));
        assert_eq!((shelf.last, shelf.approved, shelf.denied), (Some(true), 1, 0));
        assert!(waiting[0].asks_at.is_none() && waiting[0].by.is_empty() && waiting[0].decided_at.is_none());
        let wait = later[0].asks_at.unwrap() - now_ms();
        assert!((3_500_000..=3_600_000).contains(&wait), "{wait}");
        fixture.tamper("UPDATE approvals SET decided_at = decided_at - 86400000").await;
        assert!(fixture.approvals.cards().await.unwrap().decided.is_empty(), "a day later");
    }

    #[tokio::test]
    async fn a_card_about_several_messages_is_one_line_and_over_when_all_of_them_are() {
        let mut fixture = Fixture::with(&TWO, Terms::default()).await;
        let held = fixture.hold_together(&["ann", "bob", "team"], "tea?").await;
        fixture.end(held[0], Event::Cancel, Actor::Operator).await;
        let all = fixture.approvals.cards().await.unwrap();
        assert_eq!((all.waiting.len(), all.decided.len()), (1, 0));
        assert_eq!((all.waiting[0].targets, all.waiting[0].message.address.as_str()), (3, "bob"));
        for seq in &held[1..] {
            fixture.end(*seq, Event::Cancel, Actor::Operator).await;
        }
        let all = fixture.approvals.cards().await.unwrap();
        assert_eq!((all.waiting.len(), all.decided.len()), (0, 1));
        assert_eq!(all.decided[0].message.state, State::Cancelled);
    }

    #[tokio::test]
    async fn what_is_shown_is_the_document_as_it_was_signed_and_the_row_that_it_names() {
        let mut fixture = Fixture::with(&TWO, Terms { quorum: 2, ..Terms::default() }).await;
        fixture.hold("before").await;
        let seq = fixture.hold("text").await;
        fixture.decide_as(9, seq, Approve, 1).await.unwrap();
        let cards = fixture.approvals.cards().await.unwrap();
        let request = cards.waiting.iter().find(|card| card.message.seq == seq).unwrap().request;
        let shown = fixture.approvals.shown(request).await.unwrap().unwrap();
        assert_eq!((shown.card.quorum, shown.card.by.as_slice()), (2, &["companion:shelf".to_owned()][..]));
        assert_eq!((shown.card.why.as_deref(), shown.voted.len()), (Some("it crosses"), 1));
        let document = Document::decode(&shown.document).unwrap();
        assert_eq!(document.request, request);
        let row = shown.audit_row.unwrap();
        let hash = move |db: &Connection| {
            let sql = "SELECT hash FROM audit WHERE seq = ?";
            Ok::<_, StoreError>(db.query_row(sql, [row], |row| row.get::<_, [u8; 32]>(0))?)
        };
        let hash = fixture.outbox.store().read(hash).await.unwrap();
        assert_eq!(document.audit_head, Digest(hash));
        assert!(fixture.approvals.shown(RequestId([0; 16])).await.unwrap().is_none());
        fixture.decide_as(7, seq, Deny, 1).await.unwrap();
        let shown = fixture.approvals.shown(request).await.unwrap().unwrap();
        assert_eq!(shown.card.by, ["companion:hall"], "who denied it, and not who would have approved");
    }

    #[tokio::test]
    async fn it_is_read_by_indexes() {
        let fixture = Fixture::with(&TWO, Terms::default()).await;
        for sql in [OPEN, DECIDED, ROWS, DECIDERS] {
            let plan = move |db: &Connection| {
                let mut rows = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let given = vec![0; rows.parameter_count()];
                let rows =
                    rows.query_map(rusqlite::params_from_iter(given), |row| row.get::<_, String>(3))?;
                Ok::<_, StoreError>(rows.collect::<Result<Vec<_>, _>>()?)
            };
            let plan = fixture.outbox.store().read(plan).await.unwrap();
            let scans = |line: &&String| {
                line.starts_with("SCAN") && !line.contains("USING") && !line.contains("subquery")
            };
            assert_eq!(plan.iter().find(scans), None, "{sql}\n{plan:#?}");
        }
    }
}
