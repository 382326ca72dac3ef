//! When people got what was sent to them, and when they read it, where a platform tells.
//!
//! A platform tells of each message twice, and that is news to nobody who waits: it is collected, and written down together.
//!
//! Whoever can write to an account can say that they saw something, as often as they like and under as many names. So what is collected has
//! to be about a message that went there, and a dozen strangers take no places from who was written to.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::{Outbox, own};
use crate::{
    channels::received::Seen,
    clock::writable,
    store::{StoreError, now_ms},
};

/// What came is written down after so long, with all that came meanwhile.
const COLLECTED: Duration = Duration::from_secs(30);
/// The most that is collected, of all and of one person; what comes beyond is left out.
const MOST: usize = 1000;
const MOST_OF_ONE: usize = 100;
/// Messages that one word of a platform's may be about, and addresses that a person may have.
const MOST_IDS: usize = 200;
/// Parts that are read because one behind them is.
const MOST_BEFORE: i64 = 200;
const MOST_ADDRESSES: usize = 4;

const PART: &str = "SELECT parts.message, parts.idx FROM parts JOIN messages ON messages.seq = parts.message
    WHERE parts.platform_id = ? AND messages.channel = ? AND messages.account = ? AND messages.address = coalesce(?, messages.address)";
/// The newest parts of a conversation up to one that was read which are not known to be: of ids that are numbers.
const BEFORE: &str = "SELECT parts.message, parts.idx FROM parts JOIN messages ON messages.seq = parts.message
    WHERE messages.channel = ? AND messages.account = ? AND messages.address = ? AND parts.platform_id NOT GLOB '*[^0-9]*'
        AND parts.platform_id <> '' AND CAST(parts.platform_id AS INTEGER) <= ? AND NOT EXISTS
            (SELECT 1 FROM seen WHERE seen.message = parts.message AND seen.idx = parts.idx AND seen.read_at IS NOT NULL)
    ORDER BY parts.message DESC, parts.idx DESC LIMIT ?";
/// The first that a platform tells counts. Whatever was read has come.
const NOTE: &str =
    "INSERT INTO seen (message, idx, delivered_at, read_at) VALUES (?1, ?2, ?3, iif(?4, ?3, NULL))
    ON CONFLICT DO UPDATE SET delivered_at = min(delivered_at, excluded.delivered_at),
        read_at = coalesce(min(read_at, excluded.read_at), read_at, excluded.read_at)";

/// What was told and is not written down yet.
#[derive(Default)]
pub(super) struct Sights(Mutex<Vec<Sight>>);

struct Sight {
    channel: String,
    account: String,
    seen: Seen,
}

impl Outbox {
    /// Takes what a platform tells an account of what people have seen.
    pub fn seen(&self, (channel, account): (&str, &str), mut seen: Seen) {
        seen.ids.truncate(MOST_IDS);
        seen.by.truncate(MOST_ADDRESSES);
        seen.at = Some(seen.at.map_or_else(now_ms, writable).min(now_ms()));
        if !self.store.look(|db| concerns(db, (channel, account), &seen)).unwrap_or(true) {
            return;
        }
        let mut sights = self.sights.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Everybody in a group has the group among their addresses.
        let is_of_the_same = |sight: &&Sight| {
            (sight.channel.as_str(), sight.account.as_str()) == (channel, account)
                && !seen.by.is_empty()
                && sight.seen.by == seen.by
        };
        let says_no_more = |sight: &Sight| {
            let before = &sight.seen;
            (before.read, before.and_before) == (seen.read, seen.and_before)
                && before.at <= seen.at
                && seen.ids.iter().all(|id| before.ids.contains(id))
        };
        let of_the_same = || sights.iter().filter(is_of_the_same);
        if sights.len() >= MOST || of_the_same().count() >= MOST_OF_ONE || of_the_same().any(says_no_more) {
            return;
        }
        sights.push(Sight { channel: channel.to_owned(), account: account.to_owned(), seen });
        if sights.len() == 1 {
            let outbox = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(COLLECTED).await;
                outbox.write_seen().await;
            });
        }
    }

    /// Writes down what was told so far. Whatever cannot be written is left out.
    pub async fn write_seen(&self) {
        let sights = std::mem::take(&mut *self.sights.0.lock().unwrap_or_else(PoisonError::into_inner));
        if sights.is_empty() {
            return;
        }
        let written = self.store.write(move |tx| {
            sights.iter().try_for_each(|sight| note(tx, sight))?;
            Ok::<_, StoreError>(())
        });
        if let Err(error) = written.await {
            tracing::warn!(%error, "when people got and read messages cannot be written down");
        }
    }
}

/// Whether it may be about something that the account sent there: by an id, by what came before it, or because something is under way whose
/// id the platform has not told yet. Where nobody says who saw it, the platform itself says what became of the message.
fn concerns(db: &Connection, (channel, account): (&str, &str), seen: &Seen) -> Result<bool, StoreError> {
    if seen.by.is_empty() {
        return Ok(true);
    }
    for address in &seen.by {
        for id in &seen.ids {
            if own::is_sent(db, (channel, account), address, id)? {
                return Ok(true);
            }
        }
        if let Some(up_to) = up_to(seen)
            && db.prepare_cached(BEFORE)?.exists(params![channel, account, address, up_to, 1])?
        {
            return Ok(true);
        }
        if !own::open_requests(db, (channel, account), address, now_ms())?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn note(tx: &Transaction<'_>, Sight { channel, account, seen }: &Sight) -> Result<(), StoreError> {
    let (mut find, mut note) = (tx.prepare_cached(PART)?, tx.prepare_cached(NOTE)?);
    let mut addresses: Vec<Option<&String>> = seen.by.iter().map(Some).collect();
    if addresses.is_empty() {
        addresses.push(None);
    }
    for id in &seen.ids {
        for address in &addresses {
            let of = params![id, channel, account, address];
            let part: Option<(i64, u32)> =
                find.query_row(of, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            if let Some((message, index)) = part {
                note.execute(params![message, index, seen.at, seen.read])?;
            }
        }
    }
    if let Some(up_to) = up_to(seen) {
        let mut before = tx.prepare_cached(BEFORE)?;
        for address in &seen.by {
            let of = params![channel, account, address, up_to, MOST_BEFORE];
            let parts = before.query_map(of, |row| Ok((row.get(0)?, row.get(1)?)))?;
            for (message, index) in parts.collect::<Result<Vec<(i64, u32)>, _>>()? {
                note.execute(params![message, index, seen.at, seen.read])?;
            }
        }
    }
    Ok(())
}

/// The number up to which all were read, where that is said.
fn up_to(seen: &Seen) -> Option<i64> {
    let numbers = seen.ids.iter().filter_map(|id| id.parse::<i64>().ok());
    numbers.max().filter(|_| seen.and_before && seen.read)
}

/// When a part came, and when it was read.
pub(super) type Times = (Option<i64>, Option<i64>);

/// What is known of the parts of a message, by their index.
pub(super) fn of(db: &Connection, message: i64) -> Result<HashMap<u32, Times>, StoreError> {
    let mut look = db.prepare_cached("SELECT idx, delivered_at, read_at FROM seen WHERE message = ?")?;
    let found = look.query_map([message], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(found.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        outbox::{
            accept::Accepted,
            new_message::NewMessage,
            transition::{self, NewPart},
        },
        store::Store,
    };

    async fn sent(outbox: &Outbox) -> (i64, String) {
        sent_as(outbox, "k", "5").await
    }

    async fn sent_as(outbox: &Outbox, key: &str, id: &'static str) -> (i64, String) {
        let Accepted::New(seq) = outbox.accept(NewMessage::example("Hello")).await.unwrap() else { panic!() };
        let part = NewPart { key: key.into(), shown: "x".into(), request: "{}".into(), route: None };
        outbox.change(seq, move |tx| transition::store_parts(tx, seq, &[part])).await.unwrap();
        let written = outbox.store().write(move |tx| {
            tx.execute(
                "UPDATE parts SET state = 'confirmed', platform_id = ? WHERE message = ?",
                params![id, seq],
            )?;
            Ok::<_, StoreError>(())
        });
        written.await.unwrap();
        (seq, outbox.get(seq).await.unwrap().address)
    }

    fn seen(by: &str, id: &str, read: bool, at: i64) -> Seen {
        Seen {
            by: vec!["another".into(), by.into()],
            ids: vec![id.into()],
            and_before: false,
            read,
            at: Some(at),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_read_a_message_has_read_those_before_it_in_the_same_place() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let mut all = Vec::new();
        for (n, id) in ["998", "999", "1000", "1001", "accepted:9"].into_iter().enumerate() {
            let (seq, address) = sent_as(&outbox, &format!("k{n}"), id).await;
            all.push((seq, address));
        }
        let message = outbox.get(all[0].0).await.unwrap();
        let at = (message.channel.as_str(), message.account.as_str());
        let read = async || {
            let mut read = Vec::new();
            for (seq, _) in &all {
                read.push(outbox.receipt(*seq).await.unwrap().parts.remove(0).read_at.is_some());
            }
            read
        };
        let up_to = |by: &str, id: &str| Seen { and_before: true, ..seen(by, id, true, 2_000) };
        outbox.seen(at, up_to("elsewhere", "1000"));
        outbox.seen((at.0, "another account"), up_to(&all[0].1, "1000"));
        outbox.seen(at, Seen { by: vec![], ..up_to("", "7000") });
        outbox.seen(at, up_to(&all[0].1, "x1000"));
        outbox.write_seen().await;
        assert_eq!(read().await, [false; 5], "of nobody's");
        outbox.seen(at, up_to(&all[0].1, "1000"));
        outbox.write_seen().await;
        assert_eq!(read().await, [true, true, true, false, false]);
        let early = outbox.receipt(all[0].0).await.unwrap().parts.remove(0).read_at;
        outbox.seen(at, Seen { at: Some(9_000), ..up_to(&all[0].1, "1001") });
        outbox.write_seen().await;
        assert_eq!(read().await, [true, true, true, true, false]);
        let still = outbox.receipt(all[0].0).await.unwrap().parts.remove(0).read_at;
        assert_eq!(still, early, "the first time counts");
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_and_was_read_is_on_the_receipt_within_a_minute_and_the_first_time_counts() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let (seq, address) = sent(&outbox).await;
        let message = outbox.get(seq).await.unwrap();
        let at = (message.channel.as_str(), message.account.as_str());
        outbox.seen(at, seen(&address, "5", false, 2_000));
        let part = async || outbox.receipt(seq).await.unwrap().parts.remove(0);
        assert_eq!(part().await.delivered_at, None, "it is not worth a write of its own");
        tokio::time::sleep(COLLECTED).await;
        let mut came = part().await;
        // The thread that writes knows nothing of the test's clock.
        for _ in 0..1000 {
            if came.delivered_at.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
            tokio::task::yield_now().await;
            came = part().await;
        }
        assert_eq!((came.delivered_at.as_deref(), came.read_at), (Some("1970-01-01T00:00:02.000Z"), None));
        for (read, at_ms) in [(true, 4_000), (true, 9_000), (false, 3_000)] {
            outbox.seen(at, seen(&address, "5", read, at_ms));
        }
        outbox.write_seen().await;
        let read = part().await;
        assert_eq!(read.read_at.as_deref(), Some("1970-01-01T00:00:04.000Z"));
        assert_eq!(read.delivered_at.as_deref(), Some("1970-01-01T00:00:02.000Z"));
    }

    #[tokio::test]
    async fn whoever_says_much_of_what_they_saw_leaves_room_for_others() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let (seq, address) = sent(&outbox).await;
        let message = outbox.get(seq).await.unwrap();
        let at = (message.channel.as_str(), message.account.as_str());
        let of = |by: &str, id: &str| Seen { by: vec![by.into()], ..seen(by, id, true, 2_000) };
        for n in 0..MOST {
            outbox.seen(at, of("stranger", &n.to_string()));
        }
        outbox.seen(at, of(&address, "5"));
        outbox.write_seen().await;
        assert!(outbox.receipt(seq).await.unwrap().parts.remove(0).read_at.is_some());
    }

    #[tokio::test]
    async fn a_dozen_strangers_and_whoever_is_in_the_same_group_leave_room_for_others() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let (seq, address) = sent(&outbox).await;
        let message = outbox.get(seq).await.unwrap();
        let at = (message.channel.as_str(), message.account.as_str());
        for n in 0..2 * MOST {
            let stranger = format!("stranger-{}", n % 50);
            outbox.seen(at, Seen { by: vec![stranger], ..seen("", &n.to_string(), true, 2_000) });
            let member = vec![address.clone(), "member".into()];
            outbox.seen(at, Seen { by: member, ..seen("", "5", false, 2_000) });
        }
        outbox.seen(at, Seen { by: vec![address, "ann".into()], ..seen("", "5", true, 2_000) });
        assert_eq!(outbox.sights.0.lock().unwrap().len(), 2);
        outbox.write_seen().await;
        assert!(outbox.receipt(seq).await.unwrap().parts.remove(0).read_at.is_some());
    }

    #[tokio::test]
    async fn what_is_seen_before_the_platform_has_told_its_id_counts() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let (seq, address) = sent(&outbox).await;
        let message = outbox.get(seq).await.unwrap();
        let at = (message.channel.as_str(), message.account.as_str());
        let part = async |state: &'static str, id: Option<&'static str>| {
            let written = outbox.store().write(move |tx| {
                tx.execute("UPDATE messages SET state = 'sending' WHERE seq = ?", [seq])?;
                let of = params![state, id, seq];
                tx.execute("UPDATE parts SET state = ?, platform_id = ? WHERE message = ?", of)?;
                Ok::<_, StoreError>(())
            });
            written.await.unwrap();
        };
        part("in_flight", None).await;
        outbox.seen(at, seen(&address, "77", true, 2_000));
        part("confirmed", Some("77")).await;
        outbox.write_seen().await;
        assert!(outbox.receipt(seq).await.unwrap().parts.remove(0).read_at.is_some());
    }

    #[tokio::test]
    async fn what_somebody_else_says_they_saw_is_nothing_and_what_was_read_has_come() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(Store::open(directory.path()).unwrap());
        let (seq, address) = sent(&outbox).await;
        let message = outbox.get(seq).await.unwrap();
        let (channel, account) = (message.channel.as_str(), message.account.as_str());
        outbox.seen((channel, account), seen("stranger", "5", true, 1));
        outbox.seen((channel, account), seen(&address, "6", true, 1));
        outbox.seen((channel, "other"), seen(&address, "5", true, 1));
        outbox.write_seen().await;
        assert_eq!(outbox.receipt(seq).await.unwrap().parts[0].read_at, None);
        // No clock of a platform's is ahead of the hub's; and this one knows to whom it went.
        outbox.seen((channel, account), Seen { by: vec![], ..seen(&address, "5", true, i64::MAX) });
        outbox.write_seen().await;
        let part = outbox.receipt(seq).await.unwrap().parts.remove(0);
        assert!(part.read_at.is_some_and(|at| at.starts_with("20")) && part.delivered_at.is_some());
    }
}
