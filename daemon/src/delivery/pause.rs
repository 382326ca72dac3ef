//! The hub keeps to the limits that a platform states, and logs a long pause.
//!
//! A platform that takes nothing for a while is left alone by all that goes the same way, also over a restart: that is a row
//! ([`crate::outbox::pauses`]). It holds whom the account stood for when the platform said it. The rate limiter keeps the rest, and
//! what is briefer than a restart.

use std::time::Duration;

use rusqlite::Transaction;

use crate::{
    channels::{fingerprint::Fingerprint, limits::Allowance},
    clock,
    outbox::{
        pauses::{self, Pauses, Said},
        row::Lane,
    },
    pipeline::{
        Pipeline,
        rate_limiter::{RateLimiter, owner},
    },
    store::{StoreError, now_ms},
};

/// A pause that lasts longer is told to whoever reads the log. Below that, platforms only smooth what leaves.
const WORTH_TELLING: Duration = Duration::from_mins(1);

/// How long the rate limiter keeps by itself that nothing is taken: until the row is there that says so, and no longer, for the
/// account may stand for somebody else by then.
const UNTIL_WRITTEN: Duration = Duration::from_mins(1);

/// The limits stated in the answers to one part.
pub(super) struct Heard {
    /// The lane that the part was sent in.
    pub lane: Lane,
    /// By whom.
    pub account_is: Option<Fingerprint>,
    /// The limits.
    pub allowances: Vec<Allowance>,
    /// Why the part did not go through, if it did not.
    pub why: Option<String>,
}

/// A pause that has begun.
pub(super) struct Began {
    of: Lane,
    lasts: Duration,
}

impl Heard {
    /// Keeps to it from now on, as long as the process lives.
    pub(super) fn learn(&self, limiter: &RateLimiter) {
        for allowance in &self.allowances {
            let lasts =
                if allowance.left == 0 { allowance.lasts.min(UNTIL_WRITTEN) } else { allowance.lasts };
            limiter.learn(&self.lane, &Allowance { lasts, ..allowance.clone() });
        }
    }

    /// Stores the pauses that must outlive the process. A brief limit beside a success is the rate limiter's matter, and drops nothing.
    pub(super) fn obey(&self, tx: &Transaction<'_>, longer_than: Duration) -> Result<Vec<Began>, StoreError> {
        let none =
            self.allowances.iter().filter(|allowance| allowance.left == 0 && allowance.lasts > longer_than);
        let mut none: Vec<_> = none.map(|none| (owner(&self.lane, none.scope), none.lasts)).collect();
        // The widest first: what it covers is no news.
        none.sort_by_key(|(of, _)| (!of.account.is_empty(), !of.address.is_empty()));
        let (at, mut began) = (now_ms(), vec![]);
        for (of, lasts) in none {
            let pause = Said { account_is: self.account_is, at, lasts, why: self.why.as_deref() };
            if pauses::pause(tx, &of, &pause)? > WORTH_TELLING {
                began.push(Began { of, lasts });
            }
        }
        Ok(began)
    }

    /// Tells whoever reads the log.
    pub(super) fn tell(&self, began: &[Began]) {
        for Began { of: Lane { channel, account, address }, lasts } in began {
            let lasts = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
            let until = clock::to_the_second(now_ms().saturating_add(lasts));
            let why = self.why.as_deref().unwrap_or_default();
            tracing::warn!(channel, account, address, until, why, "the platform asked to wait");
        }
    }
}

impl Pipeline {
    /// Until when nothing is to be sent in `lane`, in milliseconds since 1970; `None` where nothing is in its way.
    pub(super) fn paused_until(&self, pauses: &Pauses, lane: &Lane) -> Option<i64> {
        // Of a hundred thousand lanes, few are paused at any time.
        if pauses.is_empty() {
            return None;
        }
        let who = self.0.accounts.fingerprint(&lane.channel, &lane.account);
        pauses.of(lane, who).map(|pause| pause.until)
    }

    /// Ends the wait of messages whose account stands for somebody else than it did when they were accepted.
    ///
    /// # Errors
    /// The database.
    pub async fn wake_others(&self) -> Result<(), StoreError> {
        let of = |(channel, account, _): (&str, &str, _)| {
            Some((channel.to_owned(), account.to_owned(), self.0.accounts.fingerprint(channel, account)?))
        };
        self.0.outbox.wake_others(self.0.accounts.iter().filter_map(of).collect()).await
    }
}
