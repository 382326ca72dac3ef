//! What platforms have said of their limits, as far as it goes beyond the table: so many more requests until then.
//!
//! Kept only as long as it holds, so a conversation in which nothing happens costs nothing here either. It lives with the
//! process: what closes a way for longer is written down by whoever learns it, and the rest the platform says again in its
//! next answer.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{FEW, owner};
use crate::{
    channels::limits::{Allowance, Scope},
    outbox::row::Lane,
};

/// Quotas of one owner that are kept, those that hold longest.
const QUOTAS: usize = 4;

/// All that was learnt and still holds.
#[derive(Default)]
pub(super) struct DiscoveredLimits {
    quotas: HashMap<Lane, Vec<Quota>>,
    /// At how many owners those are looked for whose time is over.
    sweep_at: usize,
}

struct Quota {
    name: String,
    left: u32,
    until: Instant,
}

impl DiscoveredLimits {
    /// Takes note. What is said last of a quota is what holds.
    pub(super) fn learn(&mut self, lane: &Lane, said: &Allowance, now: Instant) {
        let quotas = self.quotas.entry(owner(lane, said.scope)).or_default();
        quotas.retain(|quota| quota.until > now && quota.name != said.quota);
        quotas.push(Quota { name: said.quota.clone(), left: said.left, until: now + said.lasts });
        if quotas.len() > QUOTAS {
            quotas.sort_by_key(|quota| std::cmp::Reverse(quota.until));
            quotas.truncate(QUOTAS);
        }
        if self.quotas.len() >= self.sweep_at.max(FEW) {
            self.quotas.retain(|_, quotas| quotas.iter().any(|quota| quota.until > now));
            self.sweep_at = 2 * self.quotas.len();
        }
    }

    /// How long a request in `lane` must wait.
    pub(super) fn wait(&self, lane: &Lane, now: Instant) -> Duration {
        let spent = self.of(lane).filter(|quota| quota.left == 0);
        spent.map(|quota| quota.until.saturating_duration_since(now)).max().unwrap_or_default()
    }

    /// Forgets all that was said to an account.
    pub(super) fn forget(&mut self, channel: &str, account: &str) {
        self.quotas.retain(|of, _| of.channel != channel || of.account != account);
    }

    /// Counts a request that leaves.
    pub(super) fn spend(&mut self, lane: &Lane) {
        if self.quotas.is_empty() {
            return;
        }
        for scope in SCOPES {
            for quota in self.quotas.get_mut(&owner(lane, scope)).into_iter().flatten() {
                quota.left = quota.left.saturating_sub(1);
            }
        }
    }

    fn of(&self, lane: &Lane) -> impl Iterator<Item = &Quota> {
        let scopes = SCOPES.into_iter().filter(|_| !self.quotas.is_empty());
        scopes.filter_map(|scope| self.quotas.get(&owner(lane, scope))).flatten()
    }

    #[cfg(test)]
    fn kept(&self) -> usize {
        self.quotas.len()
    }
}

const SCOPES: [Scope; 3] = [Scope::Chat, Scope::Account, Scope::Platform];

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn lane(account: &str, address: &str) -> Lane {
        Lane { channel: "c".into(), account: account.into(), address: address.into() }
    }

    fn says(scope: Scope, quota: &str, left: u32, seconds: u64) -> Allowance {
        Allowance { scope, quota: quota.into(), left, lasts: Duration::from_secs(seconds) }
    }

    #[test]
    fn so_many_leave_as_the_platform_takes_and_more_when_its_time_is_over() {
        let (mut discovered, now, ann) = (DiscoveredLimits::default(), Instant::now(), lane("home", "ann"));
        discovered.learn(&ann, &says(Scope::Chat, "", 2, 5), now);
        for _ in 0..2 {
            assert_eq!(discovered.wait(&ann, now), Duration::ZERO);
            discovered.spend(&ann);
        }
        assert_eq!(discovered.wait(&ann, now + SECOND), 4 * SECOND);
        assert_eq!(discovered.wait(&lane("home", "bob"), now), Duration::ZERO, "another conversation");
        assert_eq!(discovered.wait(&ann, now + 5 * SECOND), Duration::ZERO);
        discovered.learn(&ann, &says(Scope::Chat, "", 1, 5), now);
        assert_eq!(discovered.wait(&ann, now), Duration::ZERO, "what is said last holds");
    }

    #[test]
    fn a_quota_is_of_its_scope_and_several_hold_together() {
        let (mut discovered, now) = (DiscoveredLimits::default(), Instant::now());
        let lanes = [lane("home", "ann"), lane("home", "bob"), lane("work", "ann")];
        let waits =
            |discovered: &DiscoveredLimits| lanes.each_ref().map(|lane| discovered.wait(lane, now).as_secs());
        discovered.learn(&lanes[0], &says(Scope::Chat, "route", 0, 2), now);
        assert_eq!(waits(&discovered), [2, 0, 0]);
        discovered.learn(&lanes[0], &says(Scope::Account, "burst", 0, 7), now);
        assert_eq!(waits(&discovered), [7, 7, 0]);
        discovered.learn(&lanes[0], &says(Scope::Account, "day", 9, 3_600), now);
        assert_eq!(waits(&discovered), [7, 7, 0], "one quota says nothing of another");
        discovered.learn(&lanes[0], &says(Scope::Platform, "", 0, 1), now);
        assert_eq!(waits(&discovered), [7, 7, 1]);
    }

    #[test]
    fn whatever_is_said_takes_a_bounded_room_and_an_idle_conversation_none() {
        let (mut discovered, mut now) = (DiscoveredLimits::default(), Instant::now());
        for n in 0..10_000 {
            discovered.learn(&lane("home", &n.to_string()), &says(Scope::Chat, &n.to_string(), 1, 1), now);
            now += SECOND;
            assert!(discovered.kept() <= FEW, "{} after {n}", discovered.kept());
        }
        for n in 0..100 {
            discovered.learn(&lane("home", "ann"), &says(Scope::Chat, &n.to_string(), 1, 10 + n), now);
        }
        assert_eq!(discovered.of(&lane("home", "ann")).count(), QUOTAS);
    }
}
