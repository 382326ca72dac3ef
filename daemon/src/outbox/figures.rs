//! The last 24 hours in numbers, from the rows of messages and approvals: what became of them, how often people were asked, and how fast
//! they went.
//!
//! Read by the times at which messages ended and cards were put, so that it costs what happened within the day and not what is stored.
//! Bounded all the same: of a day with more ends than [`MOST`], the latest are counted.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    Outbox,
    queries::{ENDED_SINCE, LIVE_COUNTS},
};
use crate::{
    message::state::State,
    store::{StoreError, now_ms},
};

/// A step, in milliseconds, and how many there are.
pub const STEP_MS: i64 = 300_000;
const STEPS: usize = 288;
/// Messages that are counted.
const MOST: i64 = 500_000;
/// Cards that are counted.
const MOST_CARDS: i64 = 50_000;

/// Figures of a day. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// When the first step begins, since 1970.
    pub from: i64,
    /// The steps, oldest first.
    pub buckets: Vec<Bucket>,
    /// What became of all of them, by the state in which they ended.
    pub totals: Totals,
    /// How often people were asked.
    pub asked: u64,
    /// How many of these were not decided in time.
    pub unanswered: u64,
    /// How long half of the answers took at most.
    pub answer_ms: Option<i64>,
    /// Messages that wait for a person now.
    pub held: u64,
    /// Messages that are on their way now.
    pub queued: u64,
    /// How long the oldest of these has been.
    pub oldest_ms: Option<i64>,
    /// From accepted to sent, without what was held: half of them took this at most, and 19 of 20 that.
    pub delivery: Speed,
}

/// What became of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Sent.
    pub sent: u64,
    /// Denied.
    pub denied: u64,
    /// Not decided in time.
    pub expired: u64,
    /// Failed.
    pub failed: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Taken back.
    pub cancelled: u64,
}

/// What ended within a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    /// Sent.
    pub sent: u64,
    /// Denied.
    pub denied: u64,
    /// Failed.
    pub failed: u64,
    /// How fast what was sent went.
    pub speed: Speed,
}

/// How long messages took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Speed {
    /// Half of them took this at most.
    pub p50: Option<i64>,
    /// 19 of 20 took this at most.
    pub p95: Option<i64>,
}

impl Speed {
    fn of(times: &mut [i64]) -> Self {
        times.sort_unstable();
        let at = |share: usize| times.get((times.len() * share).div_ceil(100).saturating_sub(1)).copied();
        Self { p50: at(50), p95: at(95) }
    }
}

impl Outbox {
    /// The last 24 hours in numbers.
    ///
    /// # Errors
    /// The database.
    pub async fn figures(&self) -> Result<Figures, StoreError> {
        self.store.read(|db| figures(db, now_ms())).await
    }
}

fn figures(db: &Connection, now: i64) -> Result<Figures, StoreError> {
    let end = (now / STEP_MS + 1) * STEP_MS;
    let from = end - STEP_MS * STEPS as i64;
    let mut figures = Figures { from, buckets: vec![Bucket::default(); STEPS], ..Figures::default() };
    ended(db, &mut figures)?;
    asked(db, &mut figures)?;
    live(db, &mut figures, now)?;
    Ok(figures)
}

/// Counts what ended, and how long it took.
fn ended(db: &Connection, figures: &mut Figures) -> Result<(), StoreError> {
    let (mut all, mut steps) = (Vec::new(), vec![Vec::new(); STEPS]);
    let mut rows = db.prepare_cached(ENDED_SINCE)?;
    let mut rows = rows.query(params![figures.from, MOST])?;
    while let Some(row) = rows.next()? {
        let (ended_at, state): (i64, State) = (row.get(0)?, row.get(1)?);
        let step = usize::try_from((ended_at - figures.from) / STEP_MS).unwrap_or(0).min(STEPS - 1);
        let (bucket, totals) = (&mut figures.buckets[step], &mut figures.totals);
        match state {
            State::Sent => {
                (bucket.sent, totals.sent) = (bucket.sent + 1, totals.sent + 1);
                // How long a person took is another figure.
                if !row.get::<_, bool>(3)? {
                    let took = (ended_at - row.get::<_, i64>(2)?).max(0);
                    all.push(took);
                    steps[step].push(took);
                }
            }
            State::Denied => (bucket.denied, totals.denied) = (bucket.denied + 1, totals.denied + 1),
            State::Failed => (bucket.failed, totals.failed) = (bucket.failed + 1, totals.failed + 1),
            State::Expired => totals.expired += 1,
            State::Unknown => totals.unknown += 1,
            State::Cancelled => totals.cancelled += 1,
            State::Accepted | State::Held | State::Ready | State::Sending => {}
        }
    }
    figures.delivery = Speed::of(&mut all);
    for (bucket, times) in figures.buckets.iter_mut().zip(&mut steps) {
        bucket.speed = Speed::of(times);
    }
    Ok(())
}

/// Counts the cards that people were asked about.
fn asked(db: &Connection, figures: &mut Figures) -> Result<(), StoreError> {
    let mut rows = db.prepare_cached(
        "SELECT card_at, decided_at, verdict, state FROM approvals INDEXED BY approvals_cards CROSS JOIN messages
         ON seq = message WHERE card_at >= ?1 AND NOT EXISTS (
            SELECT 1 FROM approvals AS first WHERE first.request = approvals.request AND first.message < approvals.message
         ) ORDER BY card_at DESC LIMIT ?2",
    )?;
    let mut rows = rows.query(params![figures.from, MOST_CARDS])?;
    let mut answers = Vec::new();
    while let Some(row) = rows.next()? {
        figures.asked += 1;
        let (card_at, decided_at): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        match (row.get::<_, Option<String>>(2)?, decided_at) {
            (Some(_), Some(decided_at)) => answers.push((decided_at - card_at).max(0)),
            _ if row.get::<_, State>(3)? == State::Expired => figures.unanswered += 1,
            _ => {}
        }
    }
    figures.answer_ms = Speed::of(&mut answers).p50;
    Ok(())
}

/// Counts what is under way now.
fn live(db: &Connection, figures: &mut Figures, now: i64) -> Result<(), StoreError> {
    let mut rows = db.prepare_cached(LIVE_COUNTS)?;
    let mut rows = rows.query([])?;
    let mut oldest: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let (state, count, first): (State, u32, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match state {
            State::Held => figures.held += u64::from(count),
            _ => {
                figures.queued += u64::from(count);
                oldest = oldest.into_iter().chain([first]).min();
            }
        }
    }
    if let Some(seq) = oldest {
        let sql = "SELECT accepted_at FROM messages WHERE seq = ?";
        let at: Option<i64> = db.prepare_cached(sql)?.query_row([seq], |row| row.get(0)).optional()?;
        figures.oldest_ms = at.map(|at| (now - at).max(0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{outbox::new_message::NewMessage, store::Store};

    struct Fixture {
        _directory: tempfile::TempDir,
        outbox: Outbox,
    }

    impl Fixture {
        /// So many messages.
        async fn with(count: usize) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let outbox = Outbox::new(Store::open(directory.path()).unwrap());
            for n in 0..count {
                outbox.accept(NewMessage::example(format!("text {n}"))).await.unwrap();
            }
            Self { _directory: directory, outbox }
        }

        async fn run(&self, sql: String) {
            let run = self.outbox.store().write(move |tx| Ok::<_, StoreError>(tx.execute_batch(&sql)?));
            run.await.unwrap();
        }

        async fn at(&self, now: i64) -> Figures {
            self.outbox.store().read(move |db| figures(db, now)).await.unwrap()
        }
    }

    #[test]
    fn half_and_nineteen_of_twenty_are_what_they_say() {
        let speed = |times: &[i64]| Speed::of(&mut times.to_vec());
        assert_eq!(speed(&[]), Speed::default());
        assert_eq!(speed(&[7]), Speed { p50: Some(7), p95: Some(7) });
        let hundred: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(speed(&hundred), Speed { p50: Some(50), p95: Some(95) });
    }

    #[tokio::test]
    async fn what_ended_within_a_day_is_counted_in_its_step_and_what_was_held_is_none_of_the_speed() {
        let fixture = Fixture::with(7).await;
        // A day that ends in the middle of a step.
        let now = 1_000_000 * STEP_MS + 60_000;
        let end = |seq: u32, state: &str, ago: i64| {
            let ended = now - ago;
            format!(
                "UPDATE messages SET state = '{state}', ended_at = {ended}, accepted_at = {} WHERE seq = {seq};",
                ended - 100 * i64::from(seq)
            )
        };
        let day = 86_400_000;
        let sql = [
            end(1, "sent", 1_000),
            end(2, "sent", 2_000),
            end(3, "sent", 3_000),
            end(4, "failed", STEP_MS * 3),
            end(5, "sent", day + STEP_MS),
            format!("UPDATE messages SET accepted_at = {} WHERE seq IN (6, 7);", now - 5_000),
            format!(
                "INSERT INTO approvals (request, message, document, deadline, decided_at, verdict, card_at)
                 VALUES (x'01', 3, x'', 0, {}, 'approve', {});",
                now - 3_000,
                now - 23_000
            ),
        ];
        fixture.run(sql.concat()).await;
        let figures = fixture.at(now).await;
        assert_eq!((figures.buckets.len(), figures.from), (288, now - 60_000 + STEP_MS - day));
        assert_eq!(figures.totals, Totals { sent: 3, failed: 1, ..Totals::default() });
        assert_eq!((figures.buckets[287].sent, figures.buckets[284].failed), (3, 1));
        assert_eq!(figures.delivery, Speed { p50: Some(100), p95: Some(200) });
        assert_eq!(figures.buckets[287].speed, figures.delivery);
        assert_eq!((figures.asked, figures.unanswered, figures.answer_ms), (1, 0, Some(20_000)));
        assert_eq!((figures.held, figures.queued, figures.oldest_ms), (0, 2, Some(5_000)));
    }

    /// Its time is printed: `cargo test figures -- --nocapture`.
    #[tokio::test]
    async fn a_day_of_a_hundred_thousand_messages_is_read_in_bounded_time() {
        let fixture = Fixture::with(1).await;
        let now = now_ms();
        fixture
            .run(format!(
                "INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint,
                    accepted_at, deadline, due_at, ended_at)
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                 SELECT 'x' || i, 'a', 'sent', 'send', 'local', 'home', 'ann', 0, 'a text of some length', x'00',
                    {now} - i * 800 - i % 90, {now}, {now}, {now} - i * 800 FROM n"
            ))
            .await;
        let began = Instant::now();
        let figures = fixture.at(now).await;
        let took = began.elapsed();
        println!("figures of 100,000 messages: {} ms", took.as_millis());
        assert_eq!(figures.totals.sent, 100_000);
        assert_eq!(figures.delivery, Speed { p50: Some(44), p95: Some(85) });
        // Generous, for a slow machine with much else to do.
        assert!(took.as_secs() < 10, "{took:?}");
    }
}
