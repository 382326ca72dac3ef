use rusqlite::{StatementStatus, params};

use super::*;
use crate::store::Store;

struct Said {
    _directory: tempfile::TempDir,
    store: Store,
}

impl Said {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        Self { _directory: directory, store }
    }

    async fn hear(&self, session: &'static str, text: &'static str, at: i64) {
        let heard = self.store.write(move |tx| {
            tx.execute(
                "INSERT INTO inbound (channel, account, peer, sender, text, at, said_at) VALUES ('local', 'home', 'ann', 'ann', ?, ?, ?)",
                // Its platform's clock goes wrong, and tells no more than seconds.
                params![text, at, at / 1_000 * 1_000 + 60_000],
            )?;
            let row = tx.last_insert_rowid();
            tx.execute(
                "INSERT INTO turn_items (agent, inbound, session, engages) VALUES ('a', ?, ?, 1)",
                params![row, session],
            )?;
            Ok::<_, StoreError>(())
        });
        heard.await.unwrap();
    }

    /// A message of two parts; the second arrived if `whole`. `ended` is nothing of one that is on its way.
    async fn say(&self, session: Option<&'static str>, text: &'static str, ended: Option<i64>, whole: bool) {
        let said = self.store.write(move |tx| {
            tx.execute(
                "INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint, accepted_at,
                     deadline, due_at, best_effort, resend, ended_at, session)
                 VALUES (?1, 'a', 'sent', 'send', 'local', 'home', 'ann', 0, ?1, x'00', 1, 9, 1, 0, 0, ?2, ?3)",
                params![text, ended, session],
            )?;
            let seq = tx.last_insert_rowid();
            for (idx, state) in ["confirmed", if whole { "confirmed" } else { "failed" }].iter().enumerate() {
                tx.execute(
                    "INSERT INTO parts (message, idx, key, state, shown, wire) VALUES (?, ?, ?, ?, ?, '{}')",
                    params![seq, idx as i64, format!("{text}{idx}"), state, format!("{text} {idx}")],
                )?;
            }
            Ok::<_, StoreError>(())
        });
        said.await.unwrap();
    }

    async fn lines(&self, session: &'static str, limit: u32) -> Vec<String> {
        let lines = self.store.read(move |db| read(db, "a", session, limit)).await.unwrap();
        lines.into_iter().map(|line| format!("{}: {}", line.who, line.text)).collect()
    }
}

#[tokio::test]
async fn both_directions_stand_in_order_and_only_what_arrived() {
    let said = Said::new();
    said.say(Some("s"), "first", Some(10_100), true).await;
    said.hear("s", "an answer", 10_200).await;
    said.say(Some("s"), "half", Some(10_300), false).await;
    said.say(Some("s"), "on its way", None, true).await;
    said.say(Some("other"), "elsewhere", Some(10_350), true).await;
    said.say(None, "nowhere", Some(10_360), true).await;
    said.hear("other", "elsewhere too", 10_370).await;
    said.hear("s", "the last", 10_400).await;
    let all = ["a: first 0\nfirst 1", "ann: an answer", "a: half 0", "ann: the last"];
    assert_eq!(said.lines("s", 50).await, all);
    assert_eq!(said.lines("s", 2).await, all[2..], "the newest");
    assert_eq!(said.lines("s", 0).await, [""; 0]);
    assert_eq!(said.lines("none", 50).await, [""; 0]);
}

/// What has ended stays for a month: a look at one session must not go over all that any agent said and heard.
#[tokio::test]
async fn it_is_answered_from_indexes() {
    let said = Said::new();
    let plan = said
        .store
        .read(|db| {
            let mut rows = db.prepare(&format!("EXPLAIN QUERY PLAN {}", both()))?;
            let rows = rows.query_map(params!["a", "s", 50], |row| row.get::<_, String>(3))?;
            Ok::<_, StoreError>(rows.collect::<Result<Vec<_>, _>>()?)
        })
        .await
        .unwrap();
    for table in ["messages", "parts", "inbound", "turn_items", "contexts"] {
        let scan = format!("SCAN {table}");
        assert!(!plan.iter().any(|line| line.starts_with(&scan)), "{table}\n{plan:#?}");
        let search = format!("SEARCH {table}");
        assert!(plan.iter().any(|line| line.starts_with(&search)), "{table}\n{plan:#?}");
    }
    for index in ["messages_session", "turn_items_session", "contexts_session"] {
        assert!(plan.iter().any(|line| line.contains(index)), "{index}\n{plan:#?}");
    }
}

#[tokio::test]
async fn a_look_at_a_session_costs_the_same_in_a_large_database() {
    let said = Said::new();
    let filled = said.store.write(|tx| {
        tx.execute_batch(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
             INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint, accepted_at,
                 deadline, due_at, best_effort, resend, ended_at, session)
             SELECT 'm' || i, 'a', 'sent', 'send', 'local', 'home', 'ann', 0, 'x', x'00', i, 9, 1, 0, 0, i, 's' || (i % 10) FROM n;
             INSERT INTO parts (message, idx, key, state, shown, wire) SELECT seq, 0, id, 'confirmed', 'x', '{}' FROM messages;",
        )?;
        Ok::<_, StoreError>(())
    });
    filled.await.unwrap();
    let (lines, steps) = said
        .store
        .read(|db| {
            let mut look = db.prepare(&both())?;
            let lines = look.query_map(params!["a", "s1", 50], |_| Ok(()))?.count();
            Ok::<_, StoreError>((lines, look.get_status(StatementStatus::VmStep)))
        })
        .await
        .unwrap();
    // Of SQLite's own machine: some tens for each line that is shown, and not for each that is there.
    assert!(lines == 50 && steps < 20_000, "{lines} lines in {steps} steps");
}
