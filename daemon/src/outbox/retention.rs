//! How long ended messages are kept, and how they go.
//!
//! Every end keeps its payload and its reason until its retention is over or an operator purges it; nothing goes for being
//! in the way. What goes, goes in steps that are small enough for a message to pass between two of them, and each step
//! leaves a row in the audit that says how much it was.

use rusqlite::{Transaction, params};
use serde_json::json;

use super::{Outbox, queries};
use crate::{
    audit::{self, Entry, checkpoint::Signer},
    clock, files,
    message::state::State,
    store::{StoreError, now_ms},
    tasks::book,
};

/// Messages that go in one step.
pub const STEP: usize = 200;
/// Rows of the audit that go in one step.
const LINES: i64 = 1_000;
/// Pages that are given back to the file system in one step: at most a megabyte, in a database with pages of 4 KB.
const PAGES: i64 = 256;

/// Which ended messages are to go.
#[derive(Debug, Clone)]
pub struct Purge {
    /// Those that ended before this, in milliseconds since 1970.
    pub before: i64,
    /// Only those in this state.
    pub state: Option<State>,
    /// Only this one.
    pub id: Option<String>,
    /// Who wants it, for the audit.
    pub by: String,
}

impl Outbox {
    /// One step of a purge: how many messages went. Fewer than [`STEP`] means that no more are left.
    pub async fn purge(&self, purge: Purge) -> Result<usize, StoreError> {
        self.store.write(move |tx| step(tx, &purge)).await
    }

    /// One step of forgetting what people wrote before `before`; how many rows went.
    pub async fn forget_inbound(&self, before: i64) -> Result<usize, StoreError> {
        self.store.write(move |tx| received(tx, before)).await
    }

    /// One step of purging the audit's rows from before `before`; how many went. A signed checkpoint stands for them.
    pub async fn purge_audit(&self, before: i64, signer: Signer) -> Result<usize, StoreError> {
        self.store
            .write(move |tx| {
                // From the front only, and never the newest row, which numbers and links the next one.
                let sql =
                    "SELECT seq, at FROM audit WHERE seq < (SELECT max(seq) FROM audit) ORDER BY seq LIMIT ?";
                let mut rows = tx.prepare(sql)?;
                let mut rows = rows.query([LINES])?;
                let (mut last, mut purged) = (None, 0);
                while let Some(row) = rows.next()? {
                    if row.get::<_, i64>(1)? >= before {
                        break;
                    }
                    (last, purged) = (Some(row.get(0)?), purged + 1);
                }
                if let Some(last) = last {
                    signer.purge(tx, last)?;
                }
                Ok(purged)
            })
            .await
    }

    /// Whether there are free pages that are worth a step: of a purge now, or of one before a kill.
    pub async fn has_free_pages(&self) -> Result<bool, StoreError> {
        let free = "PRAGMA freelist_count";
        let free: i64 =
            self.store.read(move |db| Ok::<_, StoreError>(db.query_row(free, [], |row| row.get(0))?)).await?;
        Ok(free > PAGES)
    }

    /// One step of giving free pages back to the file system; whether there are more.
    pub async fn shrink(&self) -> Result<bool, StoreError> {
        self.store
            .write(|tx| {
                // It gives one page back for each row that is read.
                let mut vacuum = tx.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
                let mut pages = vacuum.raw_query();
                while pages.next()?.is_some() {}
                drop(pages);
                let free: i64 = tx.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
                let steps: i64 = tx.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))?;
                // A database from before there were steps reuses its free pages, and that is all.
                Ok(free > PAGES && steps == 2)
            })
            .await
    }
}

/// What people wrote and what it started, in steps: turns that have ended, then rows that nothing refers to.
fn received(tx: &Transaction<'_>, before: i64) -> Result<usize, StoreError> {
    let few = STEP as i64;
    let ended = "SELECT seq FROM turns WHERE ended_at < ? ORDER BY ended_at LIMIT ?";
    let ended: Vec<i64> =
        tx.prepare_cached(ended)?.query_map([before, few], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for turn in &ended {
        tx.prepare_cached("UPDATE contexts SET turn = NULL WHERE turn = ?")?.execute([turn])?;
        tx.prepare_cached("DELETE FROM turn_items WHERE turn = ?")?.execute([turn])?;
        tx.prepare_cached("DELETE FROM turns WHERE seq = ?")?.execute([turn])?;
    }
    let rows = "SELECT seq FROM inbound WHERE at < ?
         AND NOT EXISTS (SELECT 1 FROM contexts WHERE contexts.inbound = inbound.seq)
         AND NOT EXISTS (SELECT 1 FROM turn_items WHERE turn_items.inbound = inbound.seq AND turn IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM access_requests WHERE code = inbound.request AND decided IS NULL)
         ORDER BY seq LIMIT ?";
    let rows: Vec<i64> =
        tx.prepare_cached(rows)?.query_map([before, few], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for row in &rows {
        tx.prepare_cached("DELETE FROM turn_items WHERE inbound = ?")?.execute([row])?;
        tx.prepare_cached("DELETE FROM inbound_files WHERE inbound = ?")?.execute([row])?;
        tx.prepare_cached("DELETE FROM inbound WHERE seq = ?")?.execute([row])?;
    }
    // The runs of a day are counted by the tasks that are over, too.
    let tasks = book::forget(tx, before.min(now_ms() - 2 * 86_400_000), few)?;
    Ok(ended.len() + rows.len() + tasks + forgotten(tx, before)?)
}

/// What is kept of those who write, as long as nothing was granted to them. Keys of events are kept for 30 days at least: no platform
/// repeats for longer than 7 (Meta's webhooks, a week of BlueBubbles').
fn forgotten(tx: &Transaction<'_>, before: i64) -> Result<usize, StoreError> {
    const REPEATED_MS: i64 = 30 * 86_400_000;
    let few = STEP as i64;
    let keys = before.min(now_ms() - REPEATED_MS);
    let mut gone = 0;
    for (sql, before) in [
        ("DELETE FROM inbound_keys WHERE key IN (SELECT key FROM inbound_keys WHERE at < ? LIMIT ?)", keys),
        // Kept past its end for a while, so that a late answer is told "expired" and not "unknown".
        (
            "DELETE FROM contexts WHERE hash IN (SELECT hash FROM contexts WHERE expires_at < ? LIMIT ?)",
            before.min(now_ms() - 7 * 86_400_000),
        ),
        ("DELETE FROM users WHERE id IN (SELECT id FROM users WHERE last_at < ? LIMIT ?)", before),
        (
            "DELETE FROM access_requests WHERE seq IN (SELECT seq FROM access_requests
              WHERE at < ? AND decided IN ('allowed', 'expired') LIMIT ?)",
            before,
        ),
        // Nothing that was said in it is left either.
        (
            "DELETE FROM sessions WHERE (agent, channel, account, address, thread) IN
              (SELECT agent, channel, account, address, thread FROM sessions WHERE last_at < ? LIMIT ?)",
            before,
        ),
    ] {
        gone += tx.prepare_cached(sql)?.execute([before, few])?;
    }
    Ok(gone)
}

fn step(tx: &Transaction<'_>, purge: &Purge) -> Result<usize, StoreError> {
    let state = purge.state.map(State::word);
    let ended: Vec<(i64, String)> = tx
        .prepare_cached(queries::ENDED)?
        .query_map(params![purge.before, state, purge.id, STEP as i64], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (seq, id) in &ended {
        let performed = "DELETE FROM performed WHERE key IN (SELECT key FROM parts WHERE message = ?)";
        tx.prepare_cached(performed)?.execute([seq])?;
        tx.prepare_cached("DELETE FROM parts WHERE message = ?")?.execute([seq])?;
        tx.prepare_cached("DELETE FROM approvals WHERE message = ?")?.execute([seq])?;
        tx.prepare_cached("DELETE FROM inbox WHERE message = ?")?.execute([id])?;
        files::let_go(tx, *seq)?;
        tx.prepare_cached("DELETE FROM messages WHERE seq = ?")?.execute([seq])?;
    }
    if let (Some((_, first)), Some((_, last))) = (ended.first(), ended.last()) {
        let detail = json!({
            "messages": ended.len(), "first": first, "last": last, "state": purge.state,
            "ended_before": clock::rfc3339(purge.before), "ended_before_ms": purge.before,
        });
        let message = (ended.len() == 1).then_some(first.as_str());
        audit::append(tx, &Entry { actor: &purge.by, event: audit::Event::QueuePurged, message, detail })?;
    }
    Ok(ended.len())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        audit::verify::verify,
        message::state::Event,
        outbox::{
            Filter,
            accept::Accepted,
            new_message::NewMessage,
            transition::{self, Change, NewPart},
        },
        sessions::place::{OpenedBy, Place, find, note},
        store::Store,
    };

    async fn outbox(messages: usize) -> (tempfile::TempDir, Outbox) {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let signer = Signer::new(SigningKey::from_bytes(&[7; 32]));
        outbox.store.write(move |tx| signer.begin(tx)).await.unwrap();
        for n in 0..messages {
            let new = NewMessage::example("A text that takes some room. ".repeat(100));
            let Accepted::New(seq) = outbox.accept(new).await.unwrap() else { panic!() };
            let parts =
                [NewPart { key: n.to_string(), shown: "x".into(), request: "{}".into(), route: None }];
            let event = if n % 2 == 0 { Event::Refuse } else { Event::Allow };
            let changed = outbox.change(seq, move |tx| {
                transition::store_parts(tx, seq, &parts)?;
                transition::apply(tx, seq, &Change::hub(event, Some("for a test")))
            });
            changed.await.unwrap();
        }
        (directory, outbox)
    }

    fn purge(before: i64) -> Purge {
        Purge { before, state: None, id: None, by: "hub".into() }
    }

    async fn left(outbox: &Outbox) -> usize {
        outbox.list(Filter { limit: 10_000, ..Filter::default() }).await.unwrap().len()
    }

    #[tokio::test]
    async fn only_what_has_ended_goes_and_only_after_its_time_in_bounded_steps() {
        let (_directory, outbox) = outbox(500).await;
        assert_eq!(outbox.purge(purge(now_ms() - 60_000)).await.unwrap(), 0, "its retention is not over");
        assert_eq!(left(&outbox).await, 500);
        let later = now_ms() + 1;
        assert_eq!(outbox.purge(purge(later)).await.unwrap(), STEP);
        assert_eq!(outbox.purge(purge(later)).await.unwrap(), 50);
        assert_eq!(outbox.purge(purge(later)).await.unwrap(), 0);
        assert_eq!(left(&outbox).await, 250);
        assert_eq!(outbox.notices("a", 0, 1_000).await.unwrap().len(), 0);
        let rest = "SELECT (SELECT count(*) FROM parts), messages FROM depth";
        let rest: (i64, i64) = outbox
            .store
            .read(move |db| {
                Ok::<_, StoreError>(db.query_row(rest, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
            })
            .await
            .unwrap();
        assert_eq!(rest, (250, 250));
    }

    #[tokio::test]
    async fn free_pages_are_given_back_step_by_step() {
        let (_directory, outbox) = outbox(1_200).await;
        let pages = async || {
            let sql = "SELECT page_count FROM pragma_page_count";
            let read = outbox
                .store
                .read(move |db| Ok::<_, StoreError>(db.query_row(sql, [], |row| row.get::<_, i64>(0))?));
            read.await.unwrap()
        };
        while outbox.purge(purge(now_ms() + 1)).await.unwrap() > 0 {}
        let before = pages().await;
        let more = outbox.shrink().await.unwrap();
        let after = pages().await;
        // With them goes what SQLite notes of them: a page for every fifth of its bytes of others.
        let step = PAGES..=PAGES + 2;
        assert!(step.contains(&(before - after)) && more, "a step took {before} pages to {after}: {more}");
        while outbox.shrink().await.unwrap() {}
        assert!(!outbox.has_free_pages().await.unwrap());
    }

    #[tokio::test]
    async fn a_purged_audit_keeps_its_chain_and_its_numbers() {
        let (_directory, outbox) = outbox(10).await;
        let signer = Signer::new(SigningKey::from_bytes(&[7; 32]));
        assert_eq!(outbox.purge_audit(now_ms() - 60_000, signer.clone()).await.unwrap(), 0);
        assert_eq!(outbox.purge_audit(now_ms() + 1, signer.clone()).await.unwrap(), 20);
        assert_eq!(outbox.purge_audit(now_ms() + 1, signer).await.unwrap(), 0, "the newest row stays");
        assert!(outbox.purge(purge(now_ms() + 1)).await.unwrap() > 0);
        let hub = SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes();
        let report = outbox.store.read(move |db| verify(db, &hub, None)).await.unwrap();
        assert_eq!((report.purged_to, report.rows, report.last), (20, 2, 22));
        assert_eq!(report.faults, []);
        assert_eq!(outbox.store.read(crate::audit::first_broken).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_session_goes_once_nobody_has_spoken_in_it_for_as_long_as_messages_are_kept() {
        let (_directory, outbox) = outbox(0).await;
        let place = |address: &str| Place {
            channel: "local".into(),
            account: "home".into(),
            address: address.into(),
            thread: None,
        };
        let work = move |tx: &rusqlite::Transaction<'_>| {
            note(tx, "a", &place("ann"), "one", OpenedBy::Person, 1_000)?;
            note(tx, "a", &place("bob"), "two", OpenedBy::Agent, 1_000)?;
            note(tx, "a", &place("bob"), "two", OpenedBy::Agent, 3_000)?;
            let gone = received(tx, 2_000)?;
            Ok::<_, StoreError>((gone, find(tx, "a", &place("ann"))?, find(tx, "a", &place("bob"))?))
        };
        assert_eq!(outbox.store.write(work).await.unwrap(), (1, None, Some(("two".into(), 3_000))));
    }
}
