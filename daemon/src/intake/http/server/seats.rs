//! Requests of known callers that are being handled or answered: bounded in all, and for each caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// All of them. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Seats(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    per_caller: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<String, usize>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Seats,
    caller: String,
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The caller has as many as one may have.
    Caller,
    /// All are taken.
    All,
}

impl Seats {
    /// So many, and so many for each.
    pub(super) fn new(most: usize, per_caller: usize) -> Self {
        Self(Arc::new(Shared { most, per_caller, taken: Mutex::default() }))
    }

    /// Takes one for this caller.
    pub(super) fn take(&self, caller: &str) -> Result<Seat, Full> {
        let mut taken = self.taken();
        if taken.by.get(caller).is_some_and(|own| *own >= self.0.per_caller) {
            return Err(Full::Caller);
        }
        if taken.all >= self.0.most {
            return Err(Full::All);
        }
        taken.all += 1;
        *taken.by.entry(caller.to_owned()).or_default() += 1;
        Ok(Seat { seats: self.clone(), caller: caller.to_owned() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Whose it is.
    pub(super) fn caller(&self) -> &str {
        &self.caller
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        taken.all -= 1;
        if let Some(own) = taken.by.get_mut(&self.caller) {
            *own -= 1;
            if *own == 0 {
                taken.by.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_cannot_take_the_seats_of_another() {
        let seats = Seats::new(5, 3);
        let mut own: Vec<Seat> = (0..3).map(|_| seats.take("agent:a").unwrap()).collect();
        assert_eq!(seats.take("agent:a").unwrap_err(), Full::Caller);
        let _others = [seats.take("agent:b").unwrap(), seats.take("agent:c").unwrap()];
        assert_eq!(seats.take("agent:d").unwrap_err(), Full::All);
        own.pop();
        assert!(seats.take("agent:d").is_ok());
        drop(own);
        assert_eq!(seats.taken().by.len(), 2, "nothing is kept of who has none");
    }
}
