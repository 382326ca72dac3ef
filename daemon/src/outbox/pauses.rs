//! When platforms take something again: what they said, kept until then.
//!
//! A `retry_after` of 6,775 s was cut to a minute elsewhere, and forgotten at a restart. Here it is a row, written in the
//! transaction that puts the message back, and whatever else goes the same way waits with it.

use std::time::Duration;

use rusqlite::{Connection, Transaction, params};

use super::row::Lane;
use crate::store::{StoreError, now_ms};

/// What is paused, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    lane: Lane,
    until: i64,
}

/// All pauses that are not over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pauses(Vec<Row>);

impl Pauses {
    /// Those that a database holds.
    pub(super) fn read(db: &Connection) -> Result<Self, StoreError> {
        let mut rows =
            db.prepare_cached("SELECT channel, account, address, until FROM pauses WHERE until > ?")?;
        let rows = rows.query_map([now_ms()], |row| {
            let lane = Lane { channel: row.get(0)?, account: row.get(1)?, address: row.get(2)? };
            Ok(Row { lane, until: row.get(3)? })
        })?;
        Ok(Self(rows.collect::<Result<_, _>>()?))
    }

    /// Until when nothing is to be sent in `lane`, in milliseconds since 1970; `None` where nothing is in its way.
    pub fn until(&self, lane: &Lane) -> Option<i64> {
        let covers = |row: &&Row| {
            let paused = &row.lane;
            paused.channel == lane.channel
                && (paused.account.is_empty() || paused.account == lane.account)
                && (paused.address.is_empty() || paused.address == lane.address)
        };
        self.0.iter().filter(covers).map(|row| row.until).max()
    }
}

/// Writes down that nothing is to be sent in `lane` for a while, unless it is paused for longer already. An empty address
/// stands for all of an account's, an empty account for all of a channel's. Pauses that are over go.
pub fn pause(tx: &Transaction<'_>, lane: &Lane, lasts: Duration) -> Result<(), StoreError> {
    let now = now_ms();
    let until = now.saturating_add(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX));
    tx.prepare_cached("DELETE FROM pauses WHERE until <= ?")?.execute([now])?;
    tx.prepare_cached(
        "INSERT INTO pauses (channel, account, address, at, until) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET at = excluded.at, until = max(until, excluded.until)",
    )?
    .execute(params![lane.channel, lane.account, lane.address, now, until])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{outbox::Outbox, store::Store};

    fn lane(channel: &str, account: &str, address: &str) -> Lane {
        Lane { channel: channel.into(), account: account.into(), address: address.into() }
    }

    async fn write(store: &Store, lane: &Lane, seconds: u64) {
        let lane = lane.clone();
        store.write(move |tx| pause(tx, &lane, Duration::from_secs(seconds))).await.unwrap();
    }

    #[tokio::test]
    async fn a_pause_holds_exactly_its_scope_and_survives_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        for (paused, held) in [
            (lane("c", "home", "ann"), [true, false, false, false]),
            (lane("c", "home", ""), [true, true, false, false]),
            (lane("c", "", ""), [true, true, true, false]),
        ] {
            let store = Store::open(directory.path()).unwrap();
            write(&store, &paused, 6_775).await;
            // A shorter one takes nothing back.
            write(&store, &paused, 1).await;
            store.close();
            drop(store);
            let store = Store::open(directory.path()).unwrap();
            let pauses = Outbox::new(store.clone()).pauses().await.unwrap();
            let lanes = [
                lane("c", "home", "ann"),
                lane("c", "home", "bob"),
                lane("c", "work", "ann"),
                lane("d", "home", "ann"),
            ];
            assert_eq!(lanes.map(|lane| pauses.until(&lane).is_some()), held, "{paused:?}");
            let left = pauses.until(&lane("c", "home", "ann")).unwrap() - now_ms();
            assert!((6_700_000..=6_775_000).contains(&left), "{left}");
            store.write(|tx| Ok::<_, StoreError>(tx.execute("DELETE FROM pauses", [])?)).await.unwrap();
            store.close();
        }
    }

    #[tokio::test]
    async fn a_pause_that_is_over_holds_nothing_and_goes() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        write(&store, &lane("c", "", ""), 0).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(Outbox::new(store.clone()).pauses().await.unwrap(), Pauses::default());
        write(&store, &lane("c", "home", "ann"), 5).await;
        let count = |db: &Connection| {
            Ok::<i64, StoreError>(db.query_row("SELECT count(*) FROM pauses", [], |row| row.get(0))?)
        };
        assert_eq!(store.read(count).await.unwrap(), 1);
    }
}
