//! Connections of which nobody knows yet whose they are.
//!
//! There is a bound on them, and a new one is never refused: the oldest has to go for it, of the address that has the most.
//! Whoever opens connections and says nothing on them drives out their own, while somebody with something to say needs a place
//! for some milliseconds only. On loopback all have one address, so the age alone decides there.
//!
//! Two kinds stay. One is idle after a request with a valid token: an agent keeps its connection, and a request that it sends on
//! one that is being closed is lost to it. Only a few of each caller, and half of all places, are kept so. The other has said
//! something, and the hub is finding out who it is; it does so soon, so that new connections can wait outside until then
//! ([`Pending::room`]).

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Idle connections of one caller that stay.
const KEPT_OF_ONE: usize = 4;

/// The connections that wait. Clones share them.
#[derive(Debug, Clone)]
pub struct Pending(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    waiting: Mutex<Waiting>,
    /// A place was left, or can be given up again.
    changed: Notify,
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
    keep: Keep,
}

/// Whether it has to go when there is no room.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Keep {
    /// It has not said whose it is, or not truly: it has to.
    Nobodys,
    /// It is idle, and its last request was this caller's.
    Idle(String),
    /// The hub is finding out whose it is.
    Asked,
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
        Self(Arc::new(Shared { most: most.max(1), waiting: Mutex::default(), changed: Notify::new() }))
    }

    /// Waits until there is a place, or somebody who can give one up. For one who waits at a time.
    pub async fn room(&self) {
        while self.waiting().is_full(self.0.most) {
            self.0.changed.notified().await;
        }
    }

    /// Takes a place for a connection from this address, and whether another had to go for it. `leave` is notified when this
    /// one has to go.
    pub fn enter(&self, peer: IpAddr, leave: &Arc<Notify>) -> (Ticket, bool) {
        self.place(peer, leave, Keep::Nobodys)
    }

    /// The same for a connection on which a request of `caller` was answered.
    pub fn enter_idle(&self, peer: IpAddr, leave: &Arc<Notify>, caller: &str) -> (Ticket, bool) {
        self.place(peer, leave, Keep::Idle(caller.to_owned()))
    }

    fn place(&self, peer: IpAddr, leave: &Arc<Notify>, keep: Keep) -> (Ticket, bool) {
        let mut waiting = self.waiting();
        let crowded = waiting.places.len() >= self.0.most;
        if crowded {
            waiting.give_way();
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.places.push(Place {
            number,
            network: network(peer),
            leave: Arc::clone(leave),
            keep: keep.clone(),
        });
        if let Keep::Idle(_) = keep {
            waiting.keep_at_most(KEPT_OF_ONE, |other| *other == keep);
            waiting.keep_at_most(self.0.most / 2, |other| matches!(other, Keep::Idle(_)));
        }
        (Ticket { pending: self.clone(), number }, crowded)
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
    /// Whether there are so many, of whom nobody can be told to go. Half of them at least are being looked up then.
    fn is_full(&self, most: usize) -> bool {
        self.places.len() >= most && self.places.iter().all(|place| place.keep != Keep::Nobodys)
    }

    /// Tells the oldest connection of the network with the most that it must go, of those that are nobody's.
    fn give_way(&mut self) {
        let nobodys = || self.places.iter().enumerate().filter(|(_, place)| place.keep == Keep::Nobodys);
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        nobodys().for_each(|(_, place)| *counts.entry(place.network).or_default() += 1);
        let most = counts.values().copied().max();
        let oldest = nobodys().find(|(_, place)| counts.get(&place.network).copied() == most);
        if let Some((at, _)) = oldest {
            self.places.remove(at).leave.notify_one();
        }
    }

    /// Lets the oldest of these be anybody's if there are more than `most`.
    fn keep_at_most(&mut self, most: usize, these: impl Fn(&Keep) -> bool) {
        let mut kept: Vec<&mut Place> = self.places.iter_mut().filter(|place| these(&place.keep)).collect();
        let over = kept.len().saturating_sub(most);
        kept.iter_mut().take(over).for_each(|place| place.keep = Keep::Nobodys);
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
            waiting.places[at].keep = if asked { Keep::Asked } else { Keep::Nobodys };
            drop(waiting);
            self.pending.0.changed.notify_one();
        }
    }

    fn give_up(&self) -> bool {
        let mut waiting = self.pending.waiting();
        // They are in the order of their numbers.
        let at = waiting.places.binary_search_by_key(&self.number, |place| place.number);
        let gone = at.map(|at| waiting.places.remove(at)).is_ok();
        drop(waiting);
        self.pending.0.changed.notify_one();
        gone
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
    fn who_is_being_looked_up_stays_and_newcomers_wait() {
        let pending = Pending::new(3);
        let has_room = || pending.room().now_or_never().is_some();
        let mut places: Vec<_> = (0..3).map(|_| enter(&pending, "127.0.0.1")).collect();
        places[0].0.is_asked(true);
        places.push(enter(&pending, "127.0.0.1"));
        assert_eq!(places.iter().map(must_go).collect::<Vec<_>>(), [false, true, false, false]);
        for at in [2, 3] {
            assert!(has_room());
            places[at].0.is_asked(true);
        }
        assert!(!has_room());
        places[2].0.is_asked(false);
        assert!(has_room());
        places[2].0.is_asked(true);
        assert!(!has_room() && !places.iter().any(must_go));
        assert!(places.remove(0).0.leave() && has_room());
    }

    #[test]
    fn an_idle_connection_of_an_agent_outlives_a_flood_and_an_agents_own_flood_keeps_nobody_out() {
        let pending = Pending::new(10);
        let idle = |caller: &str| {
            let leave = Arc::default();
            (pending.enter_idle(address("127.0.0.1"), &leave, caller).0, leave)
        };
        let agent = idle("agent");
        let flood: Vec<_> = (0..1_000).map(|_| enter(&pending, "127.0.0.1")).collect();
        assert!(!must_go(&agent) && flood.iter().filter(|place| must_go(place)).count() == 991);
        // Of what one caller leaves open, the newest few are kept; of what all leave open, half of the places.
        let hostile: Vec<_> = (0..1_000).map(|_| idle("hostile")).collect();
        assert!(!must_go(&agent) && hostile.iter().filter(|place| must_go(place)).count() >= 991);
        let others: Vec<_> = (0..100).map(|n| idle(&format!("a{n}"))).collect();
        let newcomers: Vec<_> = (0..5).map(|_| enter(&pending, "127.0.0.1")).collect();
        assert!(newcomers.iter().all(|place| !must_go(place)), "they have room to say who they are");
        assert_eq!(others.iter().filter(|place| !must_go(place)).count(), 5);
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
