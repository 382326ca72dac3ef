//! Connections of which nobody knows yet whose they are.
//!
//! There is a bound on them, and a new one is never refused: the oldest has to go for it, of the address that has the most.
//! Whoever opens connections and says nothing on them drives out their own, while somebody with something to say needs a place
//! for some milliseconds only. On loopback all have one address, so the age alone decides there. Whoever has said something
//! goes last while the hub finds out who they are: on a busy hub that takes longer than a flood of new connections.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The connections that wait. Clones share them.
#[derive(Debug, Clone)]
pub struct Pending(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// The oldest first.
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    number: u64,
    network: IpAddr,
    leave: Arc<Notify>,
    /// Whether the hub is finding out whose it is.
    asked: bool,
}

/// A connection's place. It is given up when this is dropped.
#[derive(Debug)]
pub struct Ticket {
    pending: Pending,
    number: u64,
}

impl Pending {
    /// Room for so many.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most: most.max(1), waiting: Mutex::default() }))
    }

    /// Takes a place for a connection from this address, and whether another had to go for it. `leave` is notified when this
    /// one has to go.
    pub fn enter(&self, peer: IpAddr, leave: &Arc<Notify>) -> (Ticket, bool) {
        let mut waiting = self.waiting();
        let gone = (waiting.places.len() >= self.0.most).then(|| waiting.give_way());
        let number = waiting.next;
        waiting.next += 1;
        waiting.places.push(Place { number, network: network(peer), leave: Arc::clone(leave), asked: false });
        (Ticket { pending: self.clone(), number }, gone.is_some())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waiting().places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Tells the oldest connection of the network with the most that it must go.
    fn give_way(&mut self) {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        self.places.iter().for_each(|place| *counts.entry(place.network).or_default() += 1);
        let most = counts.values().copied().max().unwrap_or_default();
        let oldest = |asked| {
            self.places.iter().position(|place| counts[&place.network] == most && (asked || !place.asked))
        };
        if let Some(at) = oldest(false).or_else(|| oldest(true)) {
            self.places.remove(at).leave.notify_one();
        }
    }
}

impl Ticket {
    /// Gives the place up, for it is known whose the connection is; false if it had to go already.
    pub fn leave(self) -> bool {
        self.give_up()
    }

    /// Somebody has said who they are, and that is looked up (`true`), or was nobody (`false`).
    pub fn is_asked(&self, asked: bool) {
        let mut waiting = self.pending.waiting();
        if let Ok(at) = waiting.places.binary_search_by_key(&self.number, |place| place.number) {
            waiting.places[at].asked = asked;
        }
    }

    fn give_up(&self) -> bool {
        let mut waiting = self.pending.waiting();
        // They are in the order of their numbers.
        let at = waiting.places.binary_search_by_key(&self.number, |place| place.number);
        at.map(|at| waiting.places.remove(at)).is_ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Whose connections are counted together: one address, or the network that one subscriber gets (IPv6).
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// A connection with a place, and how it is told to go.
    fn enter(pending: &Pending, address: &str) -> (Ticket, Arc<Notify>) {
        let leave = Arc::default();
        (pending.enter(address.parse().unwrap(), &leave).0, leave)
    }

    fn must_go((_, leave): &(Ticket, Arc<Notify>)) -> bool {
        leave.notified().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_makes_room_and_a_newcomer_is_never_refused() {
        let pending = Pending::new(3);
        let mut places: Vec<_> = (0..5).map(|_| enter(&pending, "127.0.0.1")).collect();
        let gone: Vec<bool> = places.iter().map(must_go).collect();
        assert_eq!((gone, pending.len()), (vec![true, true, false, false, false], 3));
        assert!(places.pop().unwrap().0.leave() && !places.remove(0).0.leave(), "one of them had to go");
        drop(places);
        assert!(pending.is_empty());
        assert!(!pending.enter(address("127.0.0.1"), &Arc::default()).1, "nobody had to go");
    }

    #[test]
    fn who_is_being_looked_up_goes_last() {
        let pending = Pending::new(3);
        let places: Vec<_> = (0..3).map(|_| enter(&pending, "127.0.0.1")).collect();
        places[0].0.is_asked(true);
        let newer = enter(&pending, "127.0.0.1");
        assert_eq!(places.iter().map(must_go).collect::<Vec<_>>(), [false, true, false]);
        for place in [&places[2], &newer] {
            place.0.is_asked(true);
        }
        let _newest = enter(&pending, "127.0.0.1");
        assert!(must_go(&places[0]), "the bound holds for them too");
        places[2].0.is_asked(false);
        let _one_more = enter(&pending, "127.0.0.1");
        assert!(must_go(&places[2]));
    }

    #[test]
    fn who_has_the_most_drives_out_their_own() {
        let pending = Pending::new(4);
        let quiet = enter(&pending, "192.168.1.2");
        let flood: Vec<_> = (1..100).map(|n| enter(&pending, &format!("2001:db8::{n:x}"))).collect();
        assert!(!must_go(&quiet), "it was the oldest of all");
        assert_eq!(flood.iter().filter(|place| must_go(place)).count(), 96);
        assert_eq!(network(address("::ffff:10.0.0.1")), address("10.0.0.1"));
    }
}
