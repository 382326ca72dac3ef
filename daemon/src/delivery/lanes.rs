//! Which lanes are taken: one message at a time to one conversation.
//!
//! A lane is in here only while somebody works in it; one that waits, or has nothing to send, is a row in the database or
//! nothing at all. No account takes up more than [`AT_ONCE`] of them, so that a platform that answers nobody holds a
//! bounded number of connections and tasks, and no other platform's. Lanes that find no place wait for one, in order; when
//! there are more than [`MAX_WAITING`] of them, the rest is found by another look at the queue.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::outbox::row::Lane;

/// Lanes of one account that are worked in at once, at most.
pub(crate) const AT_ONCE: usize = 128;

/// Lanes of one account that wait for a place, at most.
const MAX_WAITING: usize = 1024;

/// All lanes that are taken. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Lanes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    taken: Mutex<Taken>,
    resting: AtomicBool,
    /// Lanes without a place were forgotten, and now there are places.
    forgotten: AtomicBool,
}

#[derive(Default)]
struct Taken {
    lanes: HashSet<Lane>,
    /// By channel and account.
    accounts: HashMap<(String, String), Account>,
}

#[derive(Default)]
struct Account {
    working: usize,
    /// The lanes that wait for a place, in order, each once.
    waiting: VecDeque<Lane>,
    known: HashSet<Lane>,
    /// More than these would.
    more: bool,
}

/// A lane that is taken; free again when this goes, however it goes.
pub(super) struct Claim {
    lanes: Lanes,
    lane: Lane,
}

impl Lanes {
    /// Takes a lane, unless somebody has it or its account has enough; then it waits for a place.
    pub(super) fn claim(&self, lane: &Lane) -> Option<Claim> {
        let mut taken = self.taken();
        if taken.lanes.contains(lane) {
            return None;
        }
        let account = taken.accounts.entry((lane.channel.clone(), lane.account.clone())).or_default();
        if account.working >= AT_ONCE {
            if account.waiting.len() >= MAX_WAITING {
                account.more = true;
            } else if account.known.insert(lane.clone()) {
                account.waiting.push_back(lane.clone());
            }
            return None;
        }
        account.working += 1;
        taken.lanes.insert(lane.clone());
        Some(Claim { lanes: self.clone(), lane: lane.clone() })
    }

    /// Whether somebody has this lane.
    pub(super) fn is_taken(&self, lane: &Lane) -> bool {
        self.taken().lanes.contains(lane)
    }

    /// Takes the lane that has waited longest for a place in the account of `lane`.
    fn claim_waiting(&self, lane: &Lane) -> Option<Claim> {
        loop {
            let next = {
                let mut taken = self.taken();
                let account = taken.accounts.get_mut(&(lane.channel.clone(), lane.account.clone()))?;
                let Some(next) = account.waiting.pop_front() else {
                    if std::mem::take(&mut account.more) {
                        self.0.forgotten.store(true, Ordering::Relaxed);
                    }
                    taken.tidy(lane);
                    return None;
                };
                account.known.remove(&next);
                next
            };
            // Somebody may have it by now, who looks after it then.
            if let claim @ Some(_) = self.claim(&next) {
                return claim;
            }
            if !self.is_taken(&next) {
                return None;
            }
        }
    }

    /// Whether all lanes must be looked at, because some that waited for a place are known to nobody. Asked once.
    pub(super) fn has_forgotten(&self) -> bool {
        self.0.forgotten.swap(false, Ordering::Relaxed)
    }

    /// From here on no message is begun.
    pub(super) fn rest(&self) {
        self.0.resting.store(true, Ordering::Relaxed);
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// An account in which nothing happens costs nothing.
    fn tidy(&mut self, lane: &Lane) {
        let account = (lane.channel.clone(), lane.account.clone());
        if self.accounts.get(&account).is_some_and(|of| of.working == 0 && of.waiting.is_empty() && !of.more)
        {
            self.accounts.remove(&account);
        }
    }
}

impl Claim {
    /// Lets the lane go, and takes one that waits for the place.
    pub(super) fn pass_on(self) -> (Lane, Option<Self>) {
        let (lanes, lane) = (self.lanes.clone(), self.lane.clone());
        drop(self);
        let next = lanes.claim_waiting(&lane);
        (lane, next)
    }

    /// The lane.
    pub(super) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Whether nobody is to begin another message.
    pub(super) fn is_to_rest(&self) -> bool {
        self.lanes.0.resting.load(Ordering::Relaxed)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = self.lanes.taken();
        taken.lanes.remove(&self.lane);
        let account = (self.lane.channel.clone(), self.lane.account.clone());
        if let Some(account) = taken.accounts.get_mut(&account) {
            account.working -= 1;
        }
        taken.tidy(&self.lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(account: &str, address: usize) -> Lane {
        Lane { channel: "c".into(), account: account.into(), address: address.to_string() }
    }

    #[test]
    fn a_lane_is_taken_once_and_free_again_afterwards() {
        let lanes = Lanes::default();
        let claim = lanes.claim(&lane("a", 1)).unwrap();
        assert!(lanes.claim(&lane("a", 1)).is_none());
        assert!(lanes.claim(&lane("a", 2)).is_some());
        drop(claim);
        assert!(lanes.claim(&lane("a", 1)).is_some());
    }

    #[test]
    fn one_account_takes_up_only_so_many_lanes_and_no_others() {
        let lanes = Lanes::default();
        let mut claims: Vec<_> = (0..AT_ONCE).map(|n| lanes.claim(&lane("slow", n)).unwrap()).collect();
        assert!(lanes.claim(&lane("slow", AT_ONCE)).is_none());
        assert!(lanes.claim(&lane("quick", 0)).is_some());
        claims.pop();
        assert!(lanes.claim(&lane("slow", AT_ONCE)).is_some());
    }

    #[test]
    fn who_finds_no_place_gets_the_next_one_in_order_and_what_is_not_remembered_is_said() {
        let lanes = Lanes::default();
        let mut claims: Vec<_> = (0..AT_ONCE).map(|n| lanes.claim(&lane("a", n)).unwrap()).collect();
        for n in AT_ONCE..AT_ONCE + MAX_WAITING {
            assert!(lanes.claim(&lane("a", n)).is_none());
            assert!(lanes.claim(&lane("a", n)).is_none(), "twice, and it waits once");
        }
        assert!(lanes.claim(&lane("a", AT_ONCE + MAX_WAITING)).is_none());
        let mut last = claims.pop().unwrap();
        for n in AT_ONCE..AT_ONCE + MAX_WAITING {
            assert!(!lanes.has_forgotten());
            let (_, next) = last.pass_on();
            last = next.unwrap();
            assert_eq!(last.lane(), &lane("a", n));
        }
        assert!(last.pass_on().1.is_none());
        assert!(lanes.has_forgotten() && !lanes.has_forgotten());
    }

    #[test]
    fn a_lane_that_nobody_works_in_costs_nothing() {
        let lanes = Lanes::default();
        for n in 0..1_000 {
            drop(lanes.claim(&lane(&n.to_string(), n)).unwrap());
        }
        let taken = lanes.taken();
        assert!(taken.lanes.is_empty() && taken.accounts.is_empty());
    }
}
