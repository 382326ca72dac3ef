//! When platforms take something again: what they said, kept until then, and told to whoever waits.
//!
//! A `retry_after` of 6,775 s was cut to a minute elsewhere, and forgotten at a restart. Here it is a row, written in the
//! transaction that puts the message back, and whatever else goes the same way waits with it. A platform says it to somebody:
//! to the bot or at the server that an account stands for. So a row keeps who that was, and holds nobody else who is given
//! the account's name later; it stays all the same, for the name may be given back.

use std::time::Duration;

use rusqlite::{Connection, Params, Transaction, params};

use super::{
    Outbox,
    queries::OTHERS,
    row::{Lane, MessageRow},
};
use crate::{
    clock,
    message::fingerprint::Fingerprint,
    message::{receipt::Receipt, state::State},
    store::{StoreError, now_ms},
};

macro_rules! columns {
    () => {
        "SELECT channel, account, address, account_is, until, why FROM pauses "
    };
}

pub(super) const OF_LANE: &str =
    concat!(columns!(), "WHERE channel = ? AND account IN ('', ?) AND address IN ('', ?) AND until > ?");

/// Why a part was put back whose turn came during a pause.
pub const PUT_BACK: &str = "the platform asked for a pause";

/// A platform takes nothing in a lane, or in all of an account's or a channel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Where: without an address in all of an account's lanes, without an account in all of a channel's.
    pub lane: Lane,
    /// Whom the account stood for; without this it holds whoever it is.
    account_is: Option<Fingerprint>,
    /// Until when, in milliseconds since 1970.
    pub until: i64,
    /// The platform's words, which may be about a message: not for every agent.
    pub why: Option<String>,
}

/// All pauses that are not over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pauses(Vec<Pause>);

/// What a message waits for whose platform takes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    until: i64,
    deadline: i64,
    /// What became of the last attempt.
    last: Option<String>,
}

/// What a platform said of when it takes something again.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// To whom, where it is about an account.
    pub account_is: Option<Fingerprint>,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// How long it takes nothing.
    pub lasts: Duration,
    /// Its words.
    pub why: Option<&'a str>,
}

impl Pauses {
    /// Those that a database holds.
    pub(crate) fn read(db: &Connection) -> Result<Self, StoreError> {
        Self::query(db, concat!(columns!(), "WHERE until > ?"), [now_ms()])
    }

    /// Those that are in the way of `lane`: there may be as many others as there are conversations.
    fn read_for(db: &Connection, lane: &Lane) -> Result<Self, StoreError> {
        let Lane { channel, account, address } = lane;
        Self::query(db, OF_LANE, params![channel, account, address, now_ms()])
    }

    fn query(db: &Connection, sql: &str, parameters: impl Params) -> Result<Self, StoreError> {
        let mut rows = db.prepare_cached(sql)?;
        let rows = rows.query_map(parameters, |row| {
            let account_is: Vec<u8> = row.get(3)?;
            Ok(Pause {
                lane: Lane { channel: row.get(0)?, account: row.get(1)?, address: row.get(2)? },
                account_is: account_is.try_into().ok().map(Fingerprint),
                until: row.get(4)?,
                why: row.get(5)?,
            })
        })?;
        Ok(Self(rows.collect::<Result<_, _>>()?))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that hold, where `who` says whom an account stands for now, by channel and name.
    pub fn holding(&self, who: impl Fn(&str, &str) -> Option<Fingerprint>) -> impl Iterator<Item = &Pause> {
        self.0.iter().filter(move |pause| pause.is_for(who(&pause.lane.channel, &pause.lane.account)))
    }

    /// The longest that is in the way of `lane`, if its account stands for `who`; nobody in particular where that is not known.
    pub fn of(&self, lane: &Lane, who: Option<Fingerprint>) -> Option<&Pause> {
        let covers = |pause: &&Pause| {
            let paused = &pause.lane;
            paused.channel == lane.channel
                && (paused.account.is_empty() || paused.account == lane.account)
                && (paused.address.is_empty() || paused.address == lane.address)
                && pause.is_for(who)
        };
        self.0.iter().filter(covers).max_by_key(|pause| pause.until)
    }

    /// The longest that is in the way of all that an account sends.
    pub fn of_account(&self, channel: &str, account: &str, who: Option<Fingerprint>) -> Option<&Pause> {
        // No address is empty.
        self.of(&Lane { channel: channel.into(), account: account.into(), address: String::new() }, who)
    }

    /// What a message waits for that could go otherwise.
    pub fn wait_of(&self, message: &MessageRow) -> Option<Wait> {
        if message.state != State::Ready || self.is_empty() {
            return None;
        }
        let Pause { until, .. } = self.of(&message.lane(), message.account_is)?;
        let last = message.reason.clone().filter(|reason| reason != PUT_BACK);
        Some(Wait { until: *until, deadline: message.deadline, last })
    }
}

impl Pause {
    fn is_for(&self, who: Option<Fingerprint>) -> bool {
        self.account_is.is_none_or(|is| who.is_none_or(|who| who == is))
    }

    /// Until when, in a sentence.
    pub fn sentence(&self) -> String {
        sentence(self.until)
    }

    /// The same with the platform's words.
    pub fn in_its_words(&self) -> String {
        match &self.why {
            Some(why) => format!("{}: {why}", self.sentence()),
            None => self.sentence(),
        }
    }
}

impl Wait {
    /// Until when, as RFC 3339.
    pub fn until(&self) -> String {
        clock::rfc3339(self.until)
    }

    /// Until when, and what became of the last attempt.
    pub fn sentence(&self) -> String {
        self.ending_with("")
    }

    /// Why it waits, and whether it waits in vain.
    pub fn reason(&self) -> String {
        match self.expires() {
            true => self.ending_with(&format!(
                ", when this message's time is over: it expires at {}",
                clock::to_the_second(self.deadline)
            )),
            false => self.sentence(),
        }
    }

    fn ending_with(&self, end: &str) -> String {
        let last =
            self.last.as_ref().map_or_else(String::new, |last| format!("; the last attempt said: {last}"));
        format!("{}{end}{last}", sentence(self.until))
    }

    fn expires(&self) -> bool {
        self.until >= self.deadline
    }

    /// A receipt that says so.
    pub fn told(&self, receipt: Receipt) -> Receipt {
        let hint = match self.expires() {
            true => "it will not be sent; cancel it, and tell whoever it is for in another way if it matters",
            false => {
                "it goes by itself when the platform takes something again; do not send it a second time"
            }
        };
        Receipt {
            reason: Some(self.reason()),
            paused_until: Some(self.until()),
            hint: Some(hint.into()),
            ..receipt
        }
    }
}

fn sentence(until: i64) -> String {
    format!("the platform asked to wait until {}", clock::to_the_second(until))
}

/// What a message waits for, by the rows as they are now.
pub(super) fn wait_of(db: &Connection, message: &MessageRow) -> Result<Option<Wait>, StoreError> {
    match message.state {
        State::Ready => Ok(Pauses::read_for(db, &message.lane())?.wait_of(message)),
        _ => Ok(None),
    }
}

/// Writes down that nothing is to be sent in `lane` for a while, unless it is paused for longer already; says how much longer that
/// is than what was in its way before. An empty address stands for all of an account's, an empty account for all of a channel's. Pauses
/// that are over go.
pub fn pause(tx: &Transaction<'_>, lane: &Lane, said: &Said<'_>) -> Result<Duration, StoreError> {
    let now = said.at;
    let until = now.saturating_add(i64::try_from(said.lasts.as_millis()).unwrap_or(i64::MAX));
    // What all of a channel is told is told to no account.
    let who = said.account_is.filter(|_| !lane.account.is_empty());
    let who = who.map_or_else(Vec::new, |Fingerprint(who)| who.to_vec());
    tx.prepare_cached("DELETE FROM pauses WHERE until <= ?")?.execute([now])?;
    let before = Pauses::read_for(tx, lane)?.of(lane, said.account_is).map(|pause| pause.until);
    let longer = until.saturating_sub(before.unwrap_or(now));
    tx.prepare_cached(
        "INSERT INTO pauses (channel, account, address, account_is, at, until, why) VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET at = excluded.at, until = max(until, excluded.until),
            why = CASE WHEN excluded.until > until THEN excluded.why ELSE why END",
    )?
    .execute(params![lane.channel, lane.account, lane.address, who, now, until, said.why])?;
    Ok(Duration::from_millis(u64::try_from(longer).unwrap_or(0)))
}

impl Outbox {
    /// What a message waits for whose platform takes nothing.
    pub fn wait_of(&self, message: &MessageRow) -> Result<Option<Wait>, StoreError> {
        self.store.look(|db| wait_of(db, message))
    }

    /// Makes due what waits for an account, by channel and name, that stands for somebody else by now: it is not sent, so it
    /// must not keep its conversation from what is.
    pub async fn wake_others(&self, accounts: Vec<(String, String, Fingerprint)>) -> Result<(), StoreError> {
        let others = move |db: &Connection| {
            let (mut waiting, mut others) = (db.prepare_cached(OTHERS)?, vec![]);
            for (channel, account, Fingerprint(who)) in accounts {
                let found = waiting.query_map(params![channel, account, now_ms(), who], |row| row.get(0))?;
                others.extend(found.collect::<Result<Vec<i64>, _>>()?);
            }
            Ok::<_, StoreError>(others)
        };
        let others = self.store.read(others).await?;
        if others.is_empty() {
            return Ok(());
        }
        let wake = |tx: &Transaction<'_>, others: &[i64]| {
            let mut due =
                tx.prepare_cached("UPDATE messages SET due_at = ? WHERE seq = ? AND state = 'ready'")?;
            others.iter().try_for_each(|seq| due.execute(params![now_ms(), seq]).map(drop))?;
            Ok::<_, StoreError>(())
        };
        let woken = others.clone();
        self.store.write(move |tx| wake(tx, &woken)).await?;
        others.into_iter().for_each(|seq| self.changed(seq));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{outbox::Outbox, store::Store};

    fn lane(channel: &str, account: &str, address: &str) -> Lane {
        Lane { channel: channel.into(), account: account.into(), address: address.into() }
    }

    const HOME: Fingerprint = Fingerprint([1; 32]);
    const OTHER: Fingerprint = Fingerprint([2; 32]);

    async fn write_for(store: &Store, lane: &Lane, seconds: u64, account_is: Option<Fingerprint>) -> u64 {
        let lane = lane.clone();
        let lasts = Duration::from_secs(seconds);
        let longer = move |tx: &Transaction<'_>| {
            pause(tx, &lane, &Said { account_is, at: now_ms(), lasts, why: None })
        };
        store.write(longer).await.unwrap().as_secs_f64().round() as u64
    }

    async fn write(store: &Store, lane: &Lane, seconds: u64) -> u64 {
        write_for(store, lane, seconds, Some(HOME)).await
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
            assert_eq!(write(&store, &paused, 6_775).await, 6_775);
            // A narrower one is no news.
            let chat = lane("c", "home", "ann");
            assert_eq!(write(&store, &chat, 6_000).await, 0);
            // A shorter one takes nothing back.
            assert_eq!(write(&store, &paused, 1).await, 0);
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
            assert_eq!(lanes.map(|lane| pauses.of(&lane, Some(HOME)).is_some()), held, "{paused:?}");
            let left = pauses.of(&lane("c", "home", "ann"), Some(HOME)).unwrap().until - now_ms();
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

    #[tokio::test]
    async fn a_pause_is_for_whom_it_was_said_to_and_not_for_who_has_the_name_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let (account, chat) = (lane("c", "home", ""), lane("c", "home", "ann"));
        let until = async |lane: &Lane, who| {
            let pauses = Outbox::new(store.clone()).pauses().await.unwrap();
            pauses.of(lane, who).map_or(0, |pause| (pause.until - now_ms() + 500) / 1_000)
        };
        write(&store, &account, 600).await;
        write_for(&store, &account, 60, Some(OTHER)).await;
        assert_eq!((until(&chat, Some(HOME)).await, until(&chat, Some(OTHER)).await), (600, 60));
        assert_eq!(until(&chat, Some(Fingerprint([3; 32]))).await, 0);
        // A message from before accounts had a fingerprint waits with all.
        assert_eq!(until(&chat, None).await, 600);
        // What all of a channel is told holds everybody.
        write(&store, &lane("c", "", ""), 900).await;
        assert_eq!(until(&chat, Some(Fingerprint([3; 32]))).await, 900);
    }

    #[test]
    fn whoever_waits_is_told_until_when_and_that_it_is_in_vain() {
        let wait =
            |deadline, last: Option<&str>| Wait { until: 60_000, deadline, last: last.map(str::to_owned) };
        assert_eq!(wait(90_000, None).reason(), "the platform asked to wait until 1970-01-01T00:01:00Z");
        assert_eq!(
            wait(30_000, Some("429, slow down")).reason(),
            "the platform asked to wait until 1970-01-01T00:01:00Z, when this message's time is over: \
             it expires at 1970-01-01T00:00:30Z; the last attempt said: 429, slow down"
        );
    }
}
