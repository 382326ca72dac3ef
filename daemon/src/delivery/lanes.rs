//! Which lanes are taken: one message at a time to one conversation.
//!
//! A lane is in here only while somebody works in it; one that waits, or has nothing to send, is a row in the database or
//! nothing at all. No account takes up more than [`AT_ONCE`] of them, so that a platform that answers nobody holds a
//! bounded number of connections and tasks, and no other platform's.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::outbox::row::Lane;

/// Lanes of one account that are worked in at once, at most.
pub(super) const AT_ONCE: usize = 128;

/// All lanes that are taken. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Lanes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    taken: Mutex<Taken>,
    resting: AtomicBool,
}

#[derive(Default)]
struct Taken {
    lanes: HashSet<Lane>,
    /// By channel and account.
    accounts: HashMap<(String, String), usize>,
}

/// A lane that is taken; free again when this goes, however it goes.
pub(super) struct Claim {
    lanes: Lanes,
    lane: Lane,
}

impl Lanes {
    /// Takes a lane, unless somebody has it or its account has enough.
    pub(super) fn claim(&self, lane: &Lane) -> Option<Claim> {
        let mut taken = self.taken();
        if taken.lanes.contains(lane) {
            return None;
        }
        let working = taken.accounts.entry((lane.channel.clone(), lane.account.clone())).or_default();
        if *working >= AT_ONCE {
            return None;
        }
        *working += 1;
        taken.lanes.insert(lane.clone());
        Some(Claim { lanes: self.clone(), lane: lane.clone() })
    }

    /// Nobody begins another message from here on.
    pub(super) fn rest(&self) {
        self.0.resting.store(true, Ordering::Relaxed);
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
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
        if let Some(working) = taken.accounts.get_mut(&account) {
            *working -= 1;
            if *working == 0 {
                taken.accounts.remove(&account);
            }
        }
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
    fn a_lane_that_nobody_works_in_costs_nothing() {
        let lanes = Lanes::default();
        for n in 0..1_000 {
            drop(lanes.claim(&lane(&n.to_string(), n)).unwrap());
        }
        let taken = lanes.taken();
        assert!(taken.lanes.is_empty() && taken.accounts.is_empty());
    }
}
