//! How fast requests leave: token buckets per conversation, account and platform, filled at the rates of
//! [`limits`](crate::channels::limits), and what platforms have said themselves ([`discovered_limits`]).
//!
//! A bucket that is full again is forgotten: a conversation in which nothing happens costs nothing. A new process begins with one
//! token a bucket, as if it had just sent all the others: a burst, a crash, a restart and a bigger burst were one and the
//! same story elsewhere.

mod discovered_limits;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    channels::{
        limits::{Allowance, Limits, Scope},
        registry,
    },
    outbox::row::Lane,
    rate_limit::bucket::{Bucket, Rate},
};
use discovered_limits::DiscoveredLimits;

/// All buckets. Clones share them.
#[derive(Clone)]
pub struct RateLimiter(Arc<Shared>);

struct Shared {
    limits: fn(&str) -> &'static Limits,
    started: Instant,
    buckets: Mutex<Buckets>,
}

#[derive(Default)]
struct Buckets {
    /// Those that are not full. The number tells apart several rates of one scope.
    buckets: HashMap<(Lane, usize), Bucket>,
    /// At how many of them the full ones are looked for next.
    sweep_at: usize,
    discovered: DiscoveredLimits,
}

/// Below this many buckets, nobody looks for full ones.
const FEW: usize = 64;

/// What a part waits for while its message keeps its lane: longer than any step of the table, shorter than a restart is
/// worth a row. For what takes longer the message is put back.
pub(crate) const BRIEF: Duration = Duration::from_secs(10);

impl Default for RateLimiter {
    fn default() -> Self {
        Self::with(registry::limits)
    }
}

impl RateLimiter {
    /// Buckets with limits of one's own.
    pub fn with(limits: fn(&str) -> &'static Limits) -> Self {
        let buckets = Mutex::new(Buckets { sweep_at: FEW, ..Buckets::default() });
        Self(Arc::new(Shared { limits, started: Instant::now(), buckets }))
    }

    /// Takes a token from every bucket that a request in `lane` draws on, or from none and says how long to wait.
    pub fn take(&self, lane: &Lane) -> Result<(), Duration> {
        self.take_at(lane, Instant::now())
    }

    fn take_at(&self, lane: &Lane, now: Instant) -> Result<(), Duration> {
        let wanted: Vec<_> = (self.0.limits)(&lane.channel)
            .rates(&lane.address)
            .flat_map(|(scope, rates)| rates.iter().map(move |rate| (scope, rate)))
            .enumerate()
            .map(|(number, (scope, rate))| ((owner(lane, scope), number), *rate))
            .collect();
        let mut buckets = self.0.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = |buckets: &Buckets, key: &(Lane, usize), rate: Rate| {
            let fresh = || Bucket::with_one(rate, self.0.started);
            buckets.buckets.get(key).copied().unwrap_or_else(fresh)
        };
        let wait = wanted
            .iter()
            .map(|(key, rate)| bucket(&buckets, key, *rate).wait(*rate, now))
            .max()
            .unwrap_or_default()
            .max(buckets.discovered.wait(lane, now));
        if !wait.is_zero() {
            return Err(wait);
        }
        buckets.discovered.spend(lane);
        for (key, rate) in wanted {
            let mut bucket = bucket(&buckets, &key, rate);
            bucket.spend(rate, now);
            buckets.buckets.insert(key, bucket);
        }
        if buckets.buckets.len() >= buckets.sweep_at {
            buckets.buckets.retain(|_, bucket| !bucket.is_full(now));
            buckets.sweep_at = FEW.max(2 * buckets.buckets.len());
        }
        Ok(())
    }

    /// The same, once the tokens are there; says how long that will take where it is more than [`BRIEF`].
    pub async fn wait(&self, lane: &Lane) -> Result<(), Duration> {
        loop {
            match self.take(lane) {
                Err(wait) if wait <= BRIEF => tokio::time::sleep(wait).await,
                other => return other,
            }
        }
    }

    /// Keeps to what a platform said in an answer to a request in `lane`.
    pub fn learn(&self, lane: &Lane, said: &Allowance) {
        let mut buckets = self.0.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.discovered.learn(lane, said, Instant::now());
    }

    /// Forgets what platforms said to an account: its name stands for somebody else now.
    pub fn forget(&self, channel: &str, account: &str) {
        let mut buckets = self.0.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.discovered.forget(channel, account);
    }

    #[cfg(test)]
    fn kept(&self) -> usize {
        self.0.buckets.lock().unwrap_or_else(PoisonError::into_inner).buckets.len()
    }
}

/// Whose bucket or pause it is: a lane with its narrower names left out.
pub(crate) fn owner(lane: &Lane, scope: Scope) -> Lane {
    let kept = |name: &String, keep: bool| if keep { name.clone() } else { String::new() };
    Lane {
        channel: lane.channel.clone(),
        account: kept(&lane.account, scope != Scope::Platform),
        address: kept(&lane.address, scope == Scope::Chat),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn strict(_: &str) -> &'static Limits {
        const STRICT: Limits = Limits {
            chat: &[Rate { burst: 3, every: SECOND }],
            group: &[Rate { burst: 1, every: Duration::from_secs(4) }],
            is_group: |address| address.starts_with('-'),
            account: &[Rate { burst: 4, every: Duration::from_millis(500) }],
            platform: &[Rate { burst: 5, every: Duration::from_millis(100) }],
        };
        &STRICT
    }

    fn lane(account: &str, address: &str) -> Lane {
        Lane { channel: "strict".into(), account: account.into(), address: address.into() }
    }

    /// Buckets, and a moment at which they have been filling for a minute.
    fn full() -> (RateLimiter, Instant) {
        let limiter = RateLimiter::with(strict);
        let now = limiter.0.started + 60 * SECOND;
        (limiter, now)
    }

    #[test]
    fn a_chat_takes_its_burst_and_then_one_each_step() {
        let ((limiter, mut now), chat) = (full(), lane("home", "ann"));
        for _ in 0..3 {
            assert_eq!(limiter.take_at(&chat, now), Ok(()));
        }
        for _ in 0..5 {
            assert_eq!(limiter.take_at(&chat, now), Err(SECOND));
            now += SECOND;
            assert_eq!(limiter.take_at(&chat, now), Ok(()));
        }
    }

    #[test]
    fn who_must_wait_for_one_bucket_takes_from_no_other() {
        let (limiter, now) = full();
        assert_eq!(limiter.take_at(&lane("home", "-1"), now), Ok(()));
        for _ in 0..10 {
            assert_eq!(limiter.take_at(&lane("home", "-1"), now), Err(4 * SECOND));
        }
        for _ in 0..3 {
            assert_eq!(
                limiter.take_at(&lane("home", "ann"), now),
                Ok(()),
                "the account's four are not spent"
            );
        }
    }

    #[test]
    fn an_account_is_limited_over_its_chats_and_a_platform_over_its_accounts() {
        let (limiter, now) = full();
        for name in ["a", "b", "c", "d"] {
            assert_eq!(limiter.take_at(&lane("home", name), now), Ok(()));
        }
        assert_eq!(limiter.take_at(&lane("home", "e"), now), Err(Duration::from_millis(500)));
        assert_eq!(limiter.take_at(&lane("work", "a"), now), Ok(()), "another account");
        let fixture = limiter.take_at(&lane("work", "b"), now);
        assert_eq!(fixture, Err(Duration::from_millis(100)), "the house's five");
    }

    #[test]
    fn a_new_process_does_not_begin_with_a_burst() {
        let (limiter, chat) = (RateLimiter::with(strict), lane("home", "ann"));
        let now = limiter.0.started;
        assert_eq!(limiter.take_at(&chat, now), Ok(()));
        assert_eq!(limiter.take_at(&chat, now), Err(SECOND));
        for _ in 0..3 {
            assert_eq!(limiter.take_at(&chat, now + 60 * SECOND), Ok(()), "and has all of it later");
        }
    }

    #[tokio::test]
    async fn who_waits_gets_a_token_when_there_is_one_and_not_before() {
        let (limiter, lane) = (RateLimiter::with(strict), lane("home", "-1"));
        let since = Instant::now();
        let full_soon = Bucket::with_one(Rate { burst: 2, every: SECOND / 4 }, since);
        limiter.0.buckets.lock().unwrap().buckets.insert((owner(&lane, Scope::Chat), 1), full_soon);
        assert_eq!(limiter.wait(&lane).await, Ok(()));
        assert!(since.elapsed() >= SECOND / 4);
    }

    #[tokio::test]
    async fn what_a_platform_says_goes_before_the_table_and_a_long_wait_is_said_and_not_waited() {
        let ((limiter, now), lane) = (full(), lane("home", "ann"));
        limiter.learn(&lane, &Allowance { left: 1, ..Allowance::none(Scope::Chat, 60 * SECOND) });
        assert_eq!(limiter.take_at(&lane, now), Ok(()));
        assert!(
            limiter.take_at(&lane, now).is_err(),
            "two of the table's three are left, and none of the platform's"
        );
        let Err(wait) = limiter.wait(&lane).await else { panic!("it waited") };
        assert!(wait > BRIEF, "{wait:?}");
        limiter.learn(&lane, &Allowance { left: 5, ..Allowance::none(Scope::Chat, SECOND) });
        assert_eq!(limiter.take_at(&lane, now), Ok(()));
    }

    #[test]
    fn what_was_said_to_an_account_is_forgotten_with_it_and_nothing_else() {
        let (limiter, now) = full();
        let (one, other) = (lane("home", "ann"), lane("work", "ann"));
        for lane in [&one, &other] {
            limiter.learn(lane, &Allowance::none(Scope::Account, 60 * SECOND));
        }
        limiter.forget("strict", "home");
        assert_eq!(limiter.take_at(&one, now), Ok(()));
        assert!(limiter.take_at(&other, now).is_err());
    }

    #[test]
    fn a_chat_in_which_nothing_happens_costs_nothing_and_one_in_which_something_does_under_a_kilobyte() {
        let (limiter, now) = full();
        for number in 0..10_000 {
            let (lane, now) = (lane("home", &format!("person-{number}")), now + SECOND * number);
            assert_eq!(limiter.take_at(&lane, now), Ok(()));
            assert!(limiter.kept() <= FEW, "{} are kept after {number} chats", limiter.kept());
        }
        // What a bucket takes with the longest address that there is, which is ASCII on all channels with limits of a chat; a chat
        // has two at most.
        let names = crate::message::target::MAX_ADDRESS + "googlechat".len() + 40;
        let bucket = size_of::<((Lane, usize), Instant)>() + 1 + names;
        assert!(2 * bucket <= 1_024, "{bucket}");
        // The channels of this hub that have no limits keep nothing at all.
        let limiter = RateLimiter::default();
        for number in 0..1_000 {
            let lane = Lane { channel: "matrix".into(), account: "home".into(), address: number.to_string() };
            assert_eq!(limiter.take(&lane), Ok(()));
        }
        assert_eq!(limiter.kept(), 0);
    }
}
