//! Whose address it is: by its spelling, by what the platform said before, or by asking it now.
//!
//! What a platform said is kept on disk with its time. It counts for a day; in the second half of that the platform is asked anew,
//! and the old answer stands if it does not reply. An answer that is older still says where a message belongs, so that its order
//! is kept, and no more: nothing is allowed by it, and a person is asked where a `hold` entry may be meant.
//!
//! A caller waits for a platform for [`ASKING`] at most. One that does not answer is left alone for a while, by all that would
//! ask it; what it does not know it is not asked for again at once. The question comes before the row is written: a caller that is
//! gone by then has no id.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use rusqlite::{OptionalExtension as _, params};

use crate::{
    channels::{
        Adapter,
        identity::{Again, Identity, Spelling, Unidentified},
    },
    store::{Store, StoreError, now_ms},
};

/// How long a platform has for one question.
const ASKING: Duration = Duration::from_secs(3);
/// How long an answer counts, in milliseconds.
const COUNTS: i64 = 24 * 3_600_000;
/// After this the platform is asked anew.
const RENEWED: i64 = COUNTS / 2;
/// How long an answer is kept for the order of messages, in milliseconds.
const KEPT: i64 = 30 * COUNTS;
/// How long a platform is left alone that did not answer, unless it says how long itself, and at most then.
const AWAY: Duration = Duration::from_secs(10);
const AWAY_AT_MOST: Duration = Duration::from_secs(60);
/// How long it is not asked for an address again that it does not know.
const NOT_KNOWN: Duration = Duration::from_secs(60);
/// How many refusals are remembered.
const MAX_REFUSED: usize = 4_096;
/// Questions to different addresses at once, for all accounts together.
const AT_ONCE: usize = 32;

/// What is known of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Whose it is.
    Known(Identity),
    /// Nobody can say now.
    Unknown {
        /// Why.
        why: String,
        /// Whose it was when the platform last said so.
        last: Option<Identity>,
        /// What the platform's answer is worth, if nothing can be sent there while nobody knows.
        needed: Option<Again>,
    },
}

/// An account, and the adapter that it is.
#[derive(Clone, Copy)]
pub(crate) struct Account<'a> {
    pub(crate) channel: &'a str,
    pub(crate) account: &'a str,
    pub(crate) adapter: &'a dyn Adapter,
}

/// What the platforms said. One for each pipeline.
pub struct Identities {
    store: Store,
    refused: Mutex<Refused>,
    /// Who asks waits for others that ask for the same address, and uses their answer.
    asking: [tokio::sync::Mutex<()>; AT_ONCE],
}

#[derive(Default)]
struct Refused {
    /// By channel and account: platforms that did not answer, why, and until when they are left alone.
    away: HashMap<(String, String), (Instant, String)>,
    /// Addresses that a platform does not know.
    not_known: HashMap<[String; 3], (Instant, String)>,
}

impl Identities {
    /// Those that this database has.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            refused: Mutex::default(),
            asking: std::array::from_fn(|_| tokio::sync::Mutex::default()),
        }
    }

    /// Forgets which questions these accounts, by channel and name, did not answer: they were opened anew.
    pub(crate) fn forget(&self, accounts: &[(String, String)]) {
        let mut refused = lock(&self.refused);
        let of = |account: &(String, String)| accounts.contains(account);
        refused.away.retain(|account, _| !of(account));
        refused.not_known.retain(|[channel, account, _], _| !of(&(channel.clone(), account.clone())));
    }

    /// Whose address this is, in the spelling that its adapter gave it; its platform is asked if need be.
    pub(crate) async fn of(&self, at: Account<'_>, address: &str) -> Result<Found, StoreError> {
        let needed = match at.adapter.identity(address) {
            Spelling::Known(identity) => return Ok(Found::Known(identity)),
            spelling => spelling == Spelling::LookUp,
        };
        if let Some(known) = self.still_counts(at, address, RENEWED)? {
            return Ok(Found::Known(known));
        }
        let _asks = self.asking[slot(at, address)].lock().await;
        if let Some(known) = self.still_counts(at, address, RENEWED)? {
            return Ok(Found::Known(known));
        }
        match self.ask(at, address).await {
            Ok(identity) => {
                // It is the answer, also where it cannot be kept.
                if let Err(error) = self.keep(at, address, &identity).await {
                    tracing::warn!(%error, "cannot keep whose address that is");
                }
                Ok(Found::Known(identity))
            }
            Err(Unidentified { why, again }) => self.last(at, address, why, needed.then_some(again)),
        }
    }

    /// The same without a question.
    pub(crate) fn remembered(&self, at: Account<'_>, address: &str) -> Result<Found, StoreError> {
        let needed = match at.adapter.identity(address) {
            Spelling::Known(identity) => return Ok(Found::Known(identity)),
            spelling => spelling == Spelling::LookUp,
        };
        self.last(at, address, "the platform was not asked".into(), needed.then_some(Again::Away(None)))
    }

    /// Those of these addresses whose spelling does not tell whose they are.
    pub(crate) async fn of_entries(
        &self,
        at: Account<'_>,
        addresses: impl Iterator<Item = &str>,
    ) -> Result<Vec<(String, Found)>, StoreError> {
        let unclear = addresses.filter(|address| !matches!(at.adapter.identity(address), Spelling::Known(_)));
        let asked = unclear.map(async |address| Ok((address.to_owned(), self.of(at, address).await?)));
        join_all(asked).await.into_iter().collect()
    }

    /// An answer that is not older than this.
    fn still_counts(&self, at: Account<'_>, address: &str, age: i64) -> Result<Option<Identity>, StoreError> {
        let found = self.read(at, address)?;
        Ok(found.filter(|(_, asked)| (0..age).contains(&(now_ms() - asked))).map(|(identity, _)| identity))
    }

    /// What stands while the platform gives no answer.
    fn last(
        &self,
        at: Account<'_>,
        address: &str,
        why: String,
        needed: Option<Again>,
    ) -> Result<Found, StoreError> {
        // A platform that does not know a name any more, or knows several of it, has answered.
        if needed != Some(Again::NotKnown)
            && let Some(known) = self.still_counts(at, address, COUNTS)?
        {
            return Ok(Found::Known(known));
        }
        let last = self.read(at, address)?.map(|(identity, _)| identity);
        Ok(Found::Unknown { why, last, needed })
    }

    async fn ask(&self, at: Account<'_>, address: &str) -> Result<Identity, Unidentified> {
        let account = (at.channel.to_owned(), at.account.to_owned());
        let key = [at.channel, at.account, address].map(str::to_owned);
        let now = Instant::now();
        {
            let mut refused = lock(&self.refused);
            refused.away.retain(|_, (until, _)| *until > now);
            refused.not_known.retain(|_, (until, _)| *until > now);
            if let Some((_, why)) = refused.not_known.get(&key) {
                return Err(Unidentified::not_known(why.clone()));
            }
            if let Some((_, why)) = refused.away.get(&account) {
                return Err(Unidentified { why: why.clone(), again: Again::Away(None) });
            }
        }
        let asked = tokio::time::timeout(ASKING, at.adapter.identify(address)).await;
        let answer = asked.unwrap_or_else(|_| {
            let why = format!("no answer within {} s", ASKING.as_secs());
            Err(Unidentified { why, again: Again::Away(None) })
        });
        if let Err(Unidentified { why, again }) = &answer {
            tracing::info!(
                channel = at.channel,
                account = at.account,
                why,
                "an address has no known identity"
            );
            let mut refused = lock(&self.refused);
            match again {
                Again::Away(after) => {
                    let until = now + after.unwrap_or(AWAY).min(AWAY_AT_MOST);
                    refused.away.insert(account, (until, why.clone()));
                }
                Again::NotKnown if refused.not_known.len() < MAX_REFUSED => {
                    refused.not_known.insert(key, (now + NOT_KNOWN, why.clone()));
                }
                Again::NotKnown => {}
            }
        }
        answer
    }

    fn read(&self, at: Account<'_>, address: &str) -> Result<Option<(Identity, i64)>, StoreError> {
        self.store.look(|db| {
            let sql =
                "SELECT identity, asked_at FROM identities WHERE channel = ? AND account = ? AND address = ?";
            let mut found = db.prepare_cached(sql)?;
            let read = |row: &rusqlite::Row<'_>| Ok((Identity::new(row.get::<_, String>(0)?), row.get(1)?));
            Ok(found.query_row([at.channel, at.account, address], read).optional()?)
        })
    }

    async fn keep(&self, at: Account<'_>, address: &str, identity: &Identity) -> Result<(), StoreError> {
        let [channel, account, address] = [at.channel, at.account, address].map(str::to_owned);
        let identity = identity.to_string();
        let kept = self.store.write(move |tx| {
            let now = now_ms();
            tx.execute("DELETE FROM identities WHERE asked_at < ?", [now - KEPT])?;
            tx.execute(
                "INSERT INTO identities (channel, account, address, identity, asked_at) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET identity = excluded.identity, asked_at = excluded.asked_at",
                params![channel, account, address, identity, now],
            )?;
            Ok::<_, StoreError>(())
        });
        kept.await
    }
}

fn slot(at: Account<'_>, address: &str) -> usize {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hash = DefaultHasher::new();
    (at.channel, at.account, address).hash(&mut hash);
    usize::try_from(hash.finish() % AT_ONCE as u64).expect("it is less than a few dozen")
}

fn lock(refused: &Mutex<Refused>) -> MutexGuard<'_, Refused> {
    refused.lock().unwrap_or_else(PoisonError::into_inner)
}
