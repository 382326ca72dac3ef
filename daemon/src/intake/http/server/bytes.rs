//! Bytes of bodies that are held at once, received or yet to be sent: bounded in all, and for each caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What all callers hold at once.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// What one caller holds.
const MAX_BYTES_OF_ONE: usize = 2 * 1024 * 1024;
/// What all hold together who have no token: the longest notification of a platform (3 MB), and some short ones.
const MAX_BYTES_OF_STRANGERS: usize = 3 * 1024 * 1024 + 128 * 1024;

/// All of them. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Bytes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    all: usize,
    one: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Of callers with a token.
    known: usize,
    /// By caller; those without a token are one, and have their own room.
    by: HashMap<Option<String>, usize>,
}

/// What one request and its answer hold, until it is dropped.
#[derive(Debug)]
pub(super) struct Account {
    bytes: Bytes,
    caller: Option<String>,
    held: Mutex<usize>,
}

impl Bytes {
    /// For bodies of at most so many bytes.
    pub(super) fn new(max_body: usize) -> Self {
        let one = MAX_BYTES_OF_ONE.max(max_body);
        Self(Arc::new(Shared { all: MAX_BYTES.max(one), one, held: Mutex::default() }))
    }

    /// An account for a request of this caller, if it has a token.
    pub(super) fn account(&self, caller: Option<String>) -> Account {
        Account { bytes: self.clone(), caller, held: Mutex::new(0) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// Holds so many more, if there is room for them.
    pub(super) fn receive(&self, more: usize) -> bool {
        self.hold(more, false)
    }

    /// The same for an answer, which is there already: somebody who holds nothing else is sent it whatever its length.
    pub(super) fn send(&self, length: usize) -> bool {
        self.hold(length, true)
    }

    fn hold(&self, more: usize, first_goes: bool) -> bool {
        let Shared { all, one, .. } = *self.bytes.0;
        let mut own = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = self.bytes.held();
        let of_caller = held.by.get(&self.caller).copied().unwrap_or_default();
        let fits = match self.caller {
            Some(_) => of_caller + more <= one && held.known + more <= all,
            None => of_caller + more <= MAX_BYTES_OF_STRANGERS,
        };
        let only_this = of_caller == *own;
        if !(fits || first_goes && only_this && self.caller.is_some()) {
            return false;
        }
        *own += more;
        *held.by.entry(self.caller.clone()).or_default() += more;
        if self.caller.is_some() {
            held.known += more;
        }
        true
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let own = *self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut held = self.bytes.held();
        if self.caller.is_some() {
            held.known -= own;
        }
        if let Some(of_caller) = held.by.get_mut(&self.caller) {
            *of_caller -= own;
            if *of_caller == 0 {
                held.by.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn one_caller_cannot_hold_the_bytes_of_another_and_gets_them_back() {
        let bytes = Bytes::new(256 * 1024);
        let of = |name: &str| bytes.account(Some(name.into()));
        let (first, second) = (of("a"), of("a"));
        assert!(first.receive(MIB) && second.receive(MIB) && !second.receive(1));
        assert!(of("b").receive(2 * MIB), "its own room");
        drop(first);
        assert!(second.receive(MIB));
        let _others: Vec<Account> =
            ["c", "d", "e"].map(of).into_iter().inspect(|it| assert!(it.receive(2 * MIB))).collect();
        assert!(!of("f").receive(1), "all together");
        let stranger = bytes.account(None);
        assert!(stranger.receive(MAX_BYTES_OF_STRANGERS), "who has no token has other room");
        assert!(!bytes.account(None).receive(1) && !bytes.account(None).send(1));
    }

    #[test]
    fn a_long_answer_goes_if_it_is_the_only_one() {
        let bytes = Bytes::new(256 * 1024);
        let of = |name: &str| bytes.account(Some(name.into()));
        let first = of("a");
        assert!(first.receive(1_000) && first.send(20 * MIB));
        assert!(!of("a").send(1) && of("b").send(20 * MIB));
        drop(first);
        assert!(of("a").send(20 * MIB));
        assert_eq!(bytes.held().by.len(), 0);
    }
}
