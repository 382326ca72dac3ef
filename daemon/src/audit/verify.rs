//! Reading the whole audit, and naming what does not fit.
//!
//! Whoever changes one row is named the row; whoever computes the rest of the chain anew is named the first signed
//! checkpoint that it no longer meets. What this cannot see is an end that is cut off before the first checkpoint after
//! it, and a whole directory that was exchanged for an older one. The messages beside the audit tell of such an end where it
//! was about them: [`crate::outbox::verify`], [`crate::approval::prove`].

use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;

pub use super::fault::Fault;
use super::{
    Event,
    beginning::Beginning,
    checkpoint::Checkpoint,
    line::{LINES, Line},
};
use crate::{message::state::State, store::StoreError};

/// Faults that are listed; a chain that was computed anew has one in every row.
const MAX_LISTED: usize = 50;
/// Whether there is such a row.
const HAS_EVENT: &str = "SELECT 1 FROM audit WHERE event = ? LIMIT 1";
/// After so many rows whoever watches is told.
const TOLD: u64 = 512;
/// How far from its place a row is looked for, in rows.
const NEAR: i64 = 256;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Rows that are there.
    pub rows: u64,
    /// Rows up to this one were purged; 0 if none.
    pub purged_to: i64,
    /// The last row.
    pub last: i64,
    /// The last row that a good signature covers; 0 if there is none.
    pub signed_to: i64,
    /// Good checkpoints.
    pub checkpoints: u64,
    /// What does not fit, at most 50.
    pub faults: Vec<Fault>,
}

/// Reads the audit of the hub with this key. `kept`: the checkpoint from beside the database.
pub fn verify(db: &Connection, hub: &[u8; 32], kept: Option<Checkpoint>) -> Result<Report, StoreError> {
    verify_watched(db, hub, kept, &mut |_| Ok(()))
}

/// The same; `watch` is told how many rows were read, every few hundred, and may end it.
///
/// # Errors
/// The database, or what `watch` says.
pub fn verify_watched(
    db: &Connection,
    hub: &[u8; 32],
    kept: Option<Checkpoint>,
    watch: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<Report, StoreError> {
    let (good, forged): (Vec<_>, Vec<_>) =
        Checkpoint::all(db)?.into_iter().chain(kept).partition(|checkpoint| checkpoint.is_signed_by(hub));
    let mut faults: Vec<Fault> =
        forged.iter().map(|checkpoint| Fault::Forged { row: checkpoint.seq }).collect();
    let root = good.iter().filter(|checkpoint| checkpoint.purged).max_by_key(|checkpoint| checkpoint.seq);
    let (purged_to, start) = root.map_or((0, [0; 32]), |root| (root.seq, root.hash));
    let (rows, last) = walk(db, purged_to, start, &mut faults, watch)?;

    let mut signed_to = purged_to;
    let (mut cut, mut rewritten) = (None, None);
    let mut signed: Vec<&Checkpoint> = good.iter().filter(|checkpoint| checkpoint.seq > purged_to).collect();
    signed.sort_by_key(|checkpoint| checkpoint.seq);
    for checkpoint in signed {
        let row = checkpoint.seq;
        if row > last {
            cut = Some(Fault::CutOff { last, signed: row });
            continue;
        }
        let sql = "SELECT hash FROM audit WHERE seq = ?";
        let hash: Option<[u8; 32]> = db.query_row(sql, [row], |row| row.get(0)).optional()?;
        if hash == Some(checkpoint.hash) {
            signed_to = row;
        } else if hash.is_some() && rewritten.is_none() {
            rewritten = Some(Fault::Rewritten { after: signed_to, row });
        }
    }
    faults.extend(rewritten.into_iter().chain(cut));
    if rows == 0 && purged_to > 0 && cut.is_none() {
        faults.push(Fault::Emptied { purged: purged_to });
    }
    if Beginning::of(db)?.map_or(Ok(false), |beginning| beginning.is_missing(db, &good, purged_to))? {
        faults.push(Fault::Unbegun);
    } else if good.is_empty() && db.prepare(HAS_EVENT)?.exists([Event::Message(State::Accepted)])? {
        faults.push(Fault::Unsigned);
    }
    faults.truncate(MAX_LISTED);
    Ok(Report { rows, purged_to, last, signed_to, checkpoints: good.len() as u64, faults })
}

/// Follows the chain; how many rows there are, and the last one's number.
fn walk(
    db: &Connection,
    after: i64,
    start: [u8; 32],
    faults: &mut Vec<Fault>,
    watch: &mut dyn FnMut(u64) -> Result<(), StoreError>,
) -> Result<(u64, i64), StoreError> {
    let mut lines = db.prepare(&format!("{LINES} WHERE seq > ? ORDER BY seq"))?;
    let mut near = db.prepare(&format!("{LINES} WHERE seq BETWEEN ? AND ? ORDER BY seq"))?;
    let (mut rows, mut last) = (0, after);
    // Unknown after a gap: what stood there decided it.
    let mut previous = Some(start);
    for line in lines.query_map([after], Line::read)? {
        let line = line?;
        let mut fault = |fault| {
            if faults.len() < MAX_LISTED {
                faults.push(fault);
            }
        };
        if line.seq > last + 1 {
            fault(Fault::Removed { first: last + 1, last: line.seq - 1 });
            previous = None;
        }
        let mut hash = line.hash;
        if let Some(previous) = previous
            && line.at(&previous, line.seq) != line.hash
        {
            let around = near.query_map([line.seq - NEAR, line.seq + NEAR], Line::read)?;
            let mut belongs = None;
            for other in around {
                let other = other?;
                let there = other.at(&previous, line.seq);
                if other.seq != line.seq && (there == other.hash || there == line.hash) {
                    belongs = Some((other.seq, there));
                    break;
                }
            }
            match belongs {
                Some((row, there)) => {
                    fault(Fault::Reordered { row, belongs: line.seq });
                    hash = there;
                }
                None => fault(Fault::Changed { row: line.seq }),
            }
        }
        previous = Some(hash);
        (rows, last) = (rows + 1, line.seq);
        if rows % TOLD == 0 {
            watch(rows)?;
        }
    }
    Ok((rows, last))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;
    use serde_json::json;

    use super::*;
    use crate::{
        audit::{Entry, append, checkpoint::Signer},
        store::Store,
    };

    const KEY: [u8; 32] = [7; 32];

    fn hub() -> [u8; 32] {
        SigningKey::from_bytes(&KEY).verifying_key().to_bytes()
    }

    struct Fixture {
        directory: tempfile::TempDir,
        store: Store,
        signer: Signer,
    }

    impl Fixture {
        /// Twenty rows, a checkpoint at the tenth and at the last.
        async fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path()).unwrap();
            let fixture = Self { directory, store, signer: Signer::new(SigningKey::from_bytes(&KEY)) };
            fixture.add(10).await;
            fixture.checkpoint().await;
            fixture.add(10).await;
            fixture.checkpoint().await;
            fixture
        }

        async fn add(&self, rows: u32) {
            let added = self.store.write(move |tx| {
                for n in 0..rows {
                    let event = Event::Message(if n % 2 == 0 { State::Accepted } else { State::Sent });
                    append(tx, &Entry { actor: "hub", event, message: Some("m"), detail: json!({"n": n}) })?;
                }
                Ok::<_, StoreError>(())
            });
            added.await.unwrap();
        }

        async fn checkpoint(&self) -> Option<Checkpoint> {
            let signer = self.signer.clone();
            let made = self.store.write(move |tx| signer.checkpoint(tx)).await.unwrap();
            if let Some(made) = made {
                made.keep(self.directory.path()).unwrap();
            }
            made
        }

        async fn purge(&self, seq: i64) {
            let signer = self.signer.clone();
            self.store.write(move |tx| signer.purge(tx, seq).map(drop)).await.unwrap();
        }

        async fn tamper(&self, sql: &'static str) {
            self.store.write(move |tx| Ok::<_, StoreError>(tx.execute_batch(sql)?)).await.unwrap();
        }

        /// Computes the chain anew from this row on, as somebody would who has no key.
        async fn link_anew(&self, from: i64) {
            let linked = self.store.write(move |tx| {
                let lines = tx
                    .prepare(&format!("{LINES} ORDER BY seq"))?
                    .query_map([], Line::read)?
                    .collect::<Result<Vec<_>, _>>()?;
                let mut previous = [0; 32];
                for line in lines {
                    if line.seq >= from {
                        let hash = line.at(&previous, line.seq);
                        tx.execute("UPDATE audit SET hash = ? WHERE seq = ?", (hash, line.seq))?;
                        previous = hash;
                    } else {
                        previous = line.hash;
                    }
                }
                Ok::<_, StoreError>(())
            });
            linked.await.unwrap();
        }

        async fn report(&self) -> Report {
            let kept = Checkpoint::kept(self.directory.path());
            self.store.read(move |db| verify(db, &hub(), kept)).await.unwrap()
        }

        async fn faults(&self) -> Vec<Fault> {
            self.report().await.faults
        }
    }

    #[tokio::test]
    async fn an_untouched_audit_is_whole_and_signed_to_its_end() {
        let fixture = Fixture::new().await;
        assert!(fixture.checkpoint().await.is_none(), "nothing has happened since");
        let report = fixture.report().await;
        assert_eq!((report.rows, report.last, report.signed_to), (20, 20, 20));
        assert_eq!(report.faults, []);
        fixture.add(3).await;
        let report = fixture.report().await;
        assert_eq!((report.last, report.signed_to, report.faults.len()), (23, 20, 0));
    }

    #[tokio::test]
    async fn a_removed_row_is_named() {
        let fixture = Fixture::new().await;
        fixture.tamper("DELETE FROM audit WHERE seq = 5").await;
        assert_eq!(fixture.faults().await, [Fault::Removed { first: 5, last: 5 }]);
        fixture.tamper("DELETE FROM audit WHERE seq < 3").await;
        let faults = fixture.faults().await;
        assert_eq!(faults[..], [Fault::Removed { first: 1, last: 2 }, Fault::Removed { first: 5, last: 5 }]);
    }

    #[tokio::test]
    async fn a_changed_row_is_named_whatever_was_changed_in_it() {
        for sql in [
            "UPDATE audit SET actor = 'agent:mallory' WHERE seq = 7",
            "UPDATE audit SET at = at + 1 WHERE seq = 7",
            "UPDATE audit SET event = 'message.denied' WHERE seq = 7",
            "UPDATE audit SET event = 'message.unheard_of' WHERE seq = 7",
            "UPDATE audit SET message = NULL WHERE seq = 7",
            "UPDATE audit SET detail = '{}' WHERE seq = 7",
        ] {
            let fixture = Fixture::new().await;
            fixture.tamper(sql).await;
            assert_eq!(fixture.faults().await, [Fault::Changed { row: 7 }], "{sql}");
        }
    }

    #[tokio::test]
    async fn reordered_rows_are_named_with_their_places() {
        let fixture = Fixture::new().await;
        fixture
            .tamper("UPDATE audit SET seq = 99 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 9; UPDATE audit SET seq = 9 WHERE seq = 99")
            .await;
        let expected = [Fault::Reordered { row: 9, belongs: 4 }, Fault::Reordered { row: 4, belongs: 9 }];
        assert_eq!(fixture.faults().await, expected);
    }

    #[tokio::test]
    async fn an_end_that_was_cut_off_is_missed_also_with_its_checkpoints() {
        let fixture = Fixture::new().await;
        fixture.tamper("DELETE FROM audit WHERE seq > 15").await;
        assert_eq!(fixture.faults().await, [Fault::CutOff { last: 15, signed: 20 }]);
        fixture.tamper("DELETE FROM checkpoints WHERE seq > 15").await;
        assert_eq!(fixture.faults().await, [Fault::CutOff { last: 15, signed: 20 }], "by the file beside it");
        fixture.tamper("DELETE FROM audit; DELETE FROM checkpoints").await;
        assert_eq!(fixture.faults().await, [Fault::CutOff { last: 0, signed: 20 }]);
    }

    #[tokio::test]
    async fn a_chain_that_was_computed_anew_does_not_meet_what_was_signed() {
        let fixture = Fixture::new().await;
        fixture.tamper("UPDATE audit SET actor = 'agent:mallory' WHERE seq = 15").await;
        fixture.link_anew(15).await;
        assert_eq!(fixture.faults().await, [Fault::Rewritten { after: 10, row: 20 }]);
    }

    #[tokio::test]
    async fn purged_rows_are_no_fault_and_rows_beside_them_still_are() {
        let fixture = Fixture::new().await;
        fixture.purge(12).await;
        let report = fixture.report().await;
        assert_eq!((report.rows, report.purged_to, report.signed_to), (8, 12, 20));
        assert_eq!(report.faults, []);
        fixture.tamper("DELETE FROM audit WHERE seq IN (13, 14)").await;
        assert_eq!(fixture.faults().await, [Fault::Removed { first: 13, last: 14 }]);
    }

    #[tokio::test]
    async fn nobody_without_the_key_can_say_that_rows_were_purged() {
        let fixture = Fixture::new().await;
        // The honest checkpoint at row 10, passed off as one that purged what is before it.
        fixture
            .tamper("DELETE FROM audit WHERE seq <= 10; UPDATE checkpoints SET purged = 1 WHERE seq = 10")
            .await;
        let expected = [Fault::Forged { row: 10 }, Fault::Removed { first: 1, last: 10 }];
        assert_eq!(fixture.faults().await, expected);
    }

    #[tokio::test]
    async fn a_beginning_that_was_taken_out_is_missed() {
        for (sql, fault) in [
            ("DELETE FROM checkpoints WHERE seq = 1", Fault::Unbegun),
            ("UPDATE checkpoints SET at = at + 1 WHERE seq = 1", Fault::Unbegun),
            ("UPDATE hub SET hashed_after = 12", Fault::Unbegun),
            ("UPDATE hub SET audit_began = 2", Fault::Unbegun),
            ("UPDATE hub SET audit_began = NULL", Fault::Unbegun),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path()).unwrap();
            let fixture = Fixture { directory, store, signer: Signer::new(SigningKey::from_bytes(&KEY)) };
            let signer = fixture.signer.clone();
            let began = fixture.store.write(move |tx| signer.begin(tx)).await.unwrap();
            assert_eq!(began.map(|began| began.seq), Some(1));
            let signer = fixture.signer.clone();
            assert_eq!(fixture.store.write(move |tx| signer.begin(tx)).await.unwrap(), None, "once");
            let detail = json!({"content": "0"});
            let accepted =
                Entry { actor: "hub", event: Event::Message(State::Accepted), message: Some("m"), detail };
            fixture.store.write(move |tx| append(tx, &accepted)).await.unwrap();
            assert_eq!(fixture.faults().await, []);
            fixture.tamper(sql).await;
            let faults = fixture.faults().await;
            assert!(faults.contains(&fault), "{sql}: {faults:?}");
            // With every row and checkpoint of that time purged, what is left is whole.
            if sql.contains("DELETE") {
                fixture.add(3).await;
                fixture.purge(2).await;
                assert_eq!(fixture.faults().await, []);
            }
        }
    }

    #[tokio::test]
    async fn an_audit_without_any_checkpoint_or_any_row_after_a_purge_is_missed() {
        let fixture = Fixture::new().await;
        fixture.tamper("DELETE FROM checkpoints").await;
        let unkept = fixture.store.read(|db| verify(db, &hub(), None)).await.unwrap();
        assert_eq!(unkept.faults, [Fault::Unsigned]);
        let fixture = Fixture::new().await;
        fixture.purge(12).await;
        fixture.tamper("DELETE FROM audit; DELETE FROM checkpoints WHERE NOT purged").await;
        let unkept = fixture.store.read(|db| verify(db, &hub(), None)).await.unwrap();
        assert_eq!(unkept.faults, [Fault::Emptied { purged: 12 }]);
    }

    #[test]
    fn faults_are_said_in_sentences() {
        let text = Fault::CutOff { last: 15, signed: 20 }.to_string();
        assert_eq!(text, "the end is cut off: rows 16 to 20 were signed and are missing");
        assert_eq!(Fault::Removed { first: 5, last: 5 }.to_string(), "row 5 was removed");
    }
}
