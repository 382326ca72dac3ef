//! Attempts to sign in that failed: so many a minute from one network, and from all of them.
//!
//! Nobody guesses 128 bits; this keeps a guesser from having the hub look and write all day. Whoever is locked out so waits a minute, and
//! a token in a header works meanwhile.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Failures within [`SPAN`] from one network; the next attempt is refused.
const MAX_FAILURES: usize = 10;
/// Within this.
const SPAN: Duration = Duration::from_secs(60);
/// Networks that are told apart; whoever comes from another one meanwhile is counted with all such.
const MAX_NETWORKS: usize = 256;

/// The failures of the last minute.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Option<IpAddr>, Vec<Instant>>>);

impl Attempts {
    /// How long somebody who comes from there has to wait; nothing if they may try now.
    pub fn must_wait(&self, from: IpAddr) -> Option<Duration> {
        self.must_wait_at(from, Instant::now())
    }

    /// Counts an attempt that failed.
    pub fn failed(&self, from: IpAddr) {
        self.failed_at(from, Instant::now());
    }

    fn must_wait_at(&self, from: IpAddr, now: Instant) -> Option<Duration> {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut failures, now);
        let own = failures.get(&key(&failures, from))?;
        // The oldest of those that count.
        let oldest = own.len().checked_sub(MAX_FAILURES).and_then(|at| own.get(at))?;
        Some((*oldest + SPAN).saturating_duration_since(now))
    }

    fn failed_at(&self, from: IpAddr, now: Instant) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut failures, now);
        let key = key(&failures, from);
        let own = failures.entry(key).or_default();
        own.push(now);
        if own.len() > MAX_FAILURES {
            own.remove(0);
        }
    }
}

fn forget(failures: &mut HashMap<Option<IpAddr>, Vec<Instant>>, now: Instant) {
    failures.retain(|_, own| {
        own.retain(|failed| now.saturating_duration_since(*failed) < SPAN);
        !own.is_empty()
    });
}

/// Under which failures from there are counted: its network, an IPv4 address or an IPv6 /64.
fn key(failures: &HashMap<Option<IpAddr>, Vec<Instant>>, from: IpAddr) -> Option<IpAddr> {
    let network = match from.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    };
    (failures.contains_key(&Some(network)) || failures.len() < MAX_NETWORKS).then_some(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn after_ten_failures_within_a_minute_one_waits_and_nobody_else_does() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for second in 0..10 {
            assert_eq!(attempts.must_wait_at(from(1), now + Duration::from_secs(second)), None);
            attempts.failed_at(from(1), now + Duration::from_secs(second));
        }
        let then = now + Duration::from_secs(10);
        assert_eq!(attempts.must_wait_at(from(1), then), Some(Duration::from_secs(50)));
        assert_eq!(attempts.must_wait_at(from(2), then), None);
        assert_eq!(attempts.must_wait_at(from(1), now + SPAN), None);
    }

    #[test]
    fn what_is_kept_is_bounded_by_networks_and_by_failures() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for number in 0..2_000 {
            attempts.failed_at(from(number), now);
            attempts.failed_at(from(1), now);
        }
        let kept = attempts.0.lock().unwrap();
        assert!(kept.len() <= MAX_NETWORKS + 1 && kept.values().all(|own| own.len() <= MAX_FAILURES));
        drop(kept);
        assert!(attempts.must_wait_at(from(9_999), now).is_some(), "from one of too many networks");
    }
}
