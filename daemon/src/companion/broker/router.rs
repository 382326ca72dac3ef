//! Who is connected to the embedded broker, what they listen to, and what waits to be written to each.
//!
//! Nothing is kept for who is not there: no session, no retained message, no topic that nobody listens to. What waits for one
//! connection is bounded in number, and messages are bounded in size; a companion that does not read what it is sent is cut
//! off, since a gap ends its session anyway. The hub always reads, so who speaks to it waits until it has read (see
//! [`super::connection`]).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use gatepost_link::topic::Attempt;
use rumqttc::mqttbytes::v4::Packet;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};

use super::access::{Access, Asked, Filter};

/// What may wait for a companion: more than the hub says at once, some hundred kilobytes.
const QUEUE: usize = 96;
/// What may wait for the hub: the share of every other connection, and what the broker answers it.
const HUB_QUEUE: usize = 4_096;
/// How many messages of one connection may wait for the hub. Beyond it the connection is not read from.
pub(super) const SHARE: usize = 16;
/// Devices without a login that are connected at once, while a companion is being paired.
pub(super) const MAX_STRANGERS: usize = 4;
/// Connections by the same login: a device that lost one without noticing may have a second for a while.
const MAX_PER_LOGIN: usize = 2;
/// What a companion may listen to, and more than it does.
const MAX_FILTERS: usize = 4;
/// The same for the hub: one companion has two.
const MAX_HUB_FILTERS: usize = 1_024;

/// A message on its way.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) topic: String,
    pub(super) payload: Bytes,
    /// Whether its sender wants it acknowledged.
    pub(super) acknowledged: bool,
    /// Of its sender's share; given back when the message is written, and dropped.
    pub(super) _share: Option<OwnedSemaphorePermit>,
}

/// What is to be written to a connection.
#[derive(Debug)]
pub(super) enum Out {
    /// An answer of the broker's.
    Answer(Packet),
    /// A message, to be acknowledged or not.
    Message(Arc<Message>, bool),
}

/// A new connection, as the router knows it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The login's name.
    pub(super) user: String,
    /// The client's name: another connection of this login by the same one takes its place.
    pub(super) client: String,
    pub(super) access: Access,
    /// What is said for it when its connection breaks.
    pub(super) will: Option<(String, Vec<u8>)>,
}

/// Why nobody is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crowded {
    /// There are as many connections as the broker takes.
    Broker,
    /// There are as many strangers as a pairing needs.
    Strangers,
}

/// A handle. Clones share the router.
#[derive(Debug, Clone)]
pub(super) struct Router(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    connected: Mutex<Connected>,
}

#[derive(Debug, Default)]
struct Connected {
    next: u64,
    /// By number: the oldest first.
    all: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    entry: Entry,
    attempt: Option<Attempt>,
    filters: Vec<(Filter, bool)>,
    out: mpsc::Sender<Out>,
    cut: Arc<Notify>,
}

/// A connection's place at the router; given up when dropped, with its last will unless it went in good order.
#[derive(Debug)]
pub(super) struct Place {
    router: Router,
    number: u64,
    /// Where its own answers go.
    pub(super) out: mpsc::Sender<Out>,
    cut: Arc<Notify>,
}

impl Router {
    /// For so many connections.
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most, connected: Mutex::default() }))
    }

    /// Lets a connection in. What is to be written to it comes from the receiver.
    pub(super) fn enter(&self, entry: Entry) -> Result<(Place, mpsc::Receiver<Out>), Crowded> {
        let mut connected = self.connected();
        let strangers = connected.all.values().filter(|it| it.entry.access == Access::Stranger).count();
        if entry.access == Access::Stranger && strangers >= MAX_STRANGERS {
            return Err(Crowded::Strangers);
        }
        if entry.access != Access::Stranger {
            connected.make_way(&entry);
        }
        if connected.all.len() >= self.0.most && entry.access != Access::Everything {
            return Err(Crowded::Broker);
        }
        let room = if entry.access == Access::Everything { HUB_QUEUE } else { QUEUE };
        let (out, receiver) = mpsc::channel(room);
        let number = connected.next;
        connected.next += 1;
        let cut = Arc::<Notify>::default();
        let place = Place { router: self.clone(), number, out: out.clone(), cut: Arc::clone(&cut) };
        let connection = Connection { entry, attempt: None, filters: Vec::new(), out, cut };
        connected.all.insert(number, connection);
        Ok((place, receiver))
    }

    /// How many are connected.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.connected().all.len()
    }

    fn connected(&self) -> MutexGuard<'_, Connected> {
        self.0.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connected {
    /// Ends what a new connection takes the place of: one of the same name, and the oldest of a login that has too many.
    fn make_way(&mut self, new: &Entry) {
        let same = |it: &Connection| it.entry.user == new.user && it.entry.client == new.client;
        let old: Vec<u64> = self.all.iter().filter(|(_, it)| same(it)).map(|(number, _)| *number).collect();
        old.into_iter().for_each(|number| self.leave(number, false));
        if matches!(new.access, Access::Device(_)) {
            let by_login = |it: &Connection| it.entry.user == new.user;
            let numbers = self.all.iter().filter(|(_, it)| by_login(it)).map(|(number, _)| *number);
            let mut numbers: Vec<u64> = numbers.collect();
            numbers.truncate((numbers.len() + 1).saturating_sub(MAX_PER_LOGIN));
            numbers.into_iter().for_each(|number| self.leave(number, false));
        }
    }

    /// A connection is over; its last will is said, unless it went in good order.
    fn leave(&mut self, number: u64, in_order: bool) {
        let Some(gone) = self.all.remove(&number) else { return };
        gone.cut.notify_one();
        if let Some((topic, payload)) = gone.entry.will.filter(|_| !in_order) {
            self.deliver(Message { topic, payload: payload.into(), acknowledged: true, _share: None });
        }
    }

    fn deliver(&mut self, message: Message) {
        let message = Arc::new(message);
        let mut slow = Vec::new();
        for (number, it) in &self.all {
            let subscribed = it.filters.iter().find(|(filter, _)| filter.matches(&message.topic));
            if let Some((_, acknowledged)) = subscribed
                && it.out.try_send(Out::Message(Arc::clone(&message), *acknowledged)).is_err()
            {
                slow.push(*number);
            }
        }
        // It does not read, or has ended already.
        slow.into_iter().for_each(|number| self.leave(number, false));
    }
}

impl Place {
    /// Listens to a topic, if it may. `acknowledged`: each message is to be.
    pub(super) fn listen(&self, path: &str, acknowledged: bool) -> bool {
        let mut connected = self.router.connected();
        let Some(it) = connected.all.get(&self.number) else { return false };
        let (right, filter) = it.entry.access.listen(path);
        let most = if it.entry.access == Access::Everything { MAX_HUB_FILTERS } else { MAX_FILTERS };
        if !self.owns(&mut connected, right) {
            return false;
        }
        let Some(it) = connected.all.get_mut(&self.number) else { return false };
        it.filters.retain(|(known, _)| *known != filter);
        let room = it.filters.len() < most;
        if room {
            it.filters.push((filter, acknowledged));
        }
        room
    }

    /// Listens to it no more.
    pub(super) fn ignore(&self, path: &str) {
        if let Some(it) = self.router.connected().all.get_mut(&self.number) {
            let (_, filter) = it.entry.access.listen(path);
            it.filters.retain(|(known, _)| *known != filter);
        }
    }

    /// Whether it may say something there.
    pub(super) fn may_say(&self, topic: &str) -> bool {
        let mut connected = self.router.connected();
        let right = connected.all.get(&self.number).map(|it| it.entry.access.say(topic));
        right.is_some_and(|right| self.owns(&mut connected, right))
    }

    /// Hands a message to who listens.
    pub(super) fn say(&self, message: Message) {
        self.router.connected().deliver(message);
    }

    /// Whether a device that wants to be paired has said what it goes by.
    pub(super) fn has_attempt(&self) -> bool {
        self.router.connected().all.get(&self.number).is_some_and(|it| it.attempt.is_some())
    }

    /// It goes in good order: nothing is said for it.
    pub(super) fn goes_in_order(&self) {
        self.router.connected().leave(self.number, true);
    }

    /// Returns when the router has ended the connection: another took its place, or it did not read what it was sent.
    pub(super) async fn is_cut(&self) {
        self.cut.notified().await;
    }

    /// A stranger's first attempt is its own, unless another one has it.
    fn owns(&self, connected: &mut Connected, right: Asked) -> bool {
        match right {
            Asked::Own => true,
            Asked::Refused => false,
            Asked::Of(attempt) => {
                let taken =
                    |(number, it): (&u64, &Connection)| *number != self.number && it.attempt == Some(attempt);
                if connected.all.iter().any(taken) {
                    return false;
                }
                let own = connected.all.get_mut(&self.number).map(|it| it.attempt.get_or_insert(attempt));
                own.is_some_and(|own| *own == attempt)
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.router.connected().leave(self.number, false);
    }
}

#[cfg(test)]
mod tests;
