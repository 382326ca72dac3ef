//! How many requests are read at once of those who have no token of the hub's: platforms, and programs outside.
//!
//! Where the proof is of the body, anybody can begin a request and send its body slowly. So these have a room of their own, and whoever
//! takes long to be read there makes room for who comes: what is proved by its head alone is read all the same. What was read is
//! written down in places of their own, which nobody has who only sends.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::Response,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::{Endpoint, problem, server::OverBudget};
use crate::message::refusal::{Code, Refusal};

/// Requests that are read at once in each room.
const READ: usize = 8;
/// A request that has been read for so long makes room. A platform sends a notification in one go.
const LONG: Duration = Duration::from_secs(2);
/// Requests of each room that are written down at once, their files among it.
const WRITTEN: u32 = 16;
/// How long a request that was read waits for such a place.
const WAITS: Duration = Duration::from_secs(8);
/// When whoever was turned away for want of room may come again, in seconds.
pub(super) const AGAIN: HeaderValue = HeaderValue::from_static("10");

/// The rooms.
#[derive(Default)]
pub(super) struct Rooms {
    signed: Arc<Room>,
    proved: Arc<Room>,
}

struct Room {
    readers: Mutex<Vec<Reader>>,
    writers: Arc<Semaphore>,
}

/// A request that is read.
struct Reader {
    since: Instant,
    leaves: Arc<Notify>,
}

/// The place of a request that is read. It is free again when this is dropped.
pub(super) struct Place {
    room: Arc<Room>,
    leaves: Arc<Notify>,
}

impl Default for Room {
    fn default() -> Self {
        Self { readers: Mutex::default(), writers: Arc::new(Semaphore::new(WRITTEN as usize)) }
    }
}

impl Room {
    fn readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the one leave that has been read for longest, if that is long.
    fn make_room(readers: &mut Vec<Reader>) -> bool {
        // They stand in the order in which they came.
        let is_long = readers.first().is_some_and(|reader| reader.since.elapsed() >= LONG);
        if is_long {
            readers.remove(0).leaves.notify_one();
        }
        is_long
    }
}

impl Rooms {
    /// A place for one request to be read; nothing if all are taken by requests that only began. `signs_body`: whether its proof is of
    /// its body.
    pub(super) fn enter(&self, signs_body: bool) -> Option<Place> {
        let room = Arc::clone(if signs_body { &self.signed } else { &self.proved });
        let leaves = Arc::new(Notify::new());
        let mut readers = room.readers();
        if readers.len() >= READ && !Room::make_room(&mut readers) {
            return None;
        }
        readers.push(Reader { since: Instant::now(), leaves: Arc::clone(&leaves) });
        drop(readers);
        Some(Place { room, leaves })
    }

    /// Waits until nothing is written down: who asked for it may have hung up long ago.
    pub(super) async fn are_empty(&self) {
        for room in [&self.signed, &self.proved] {
            // They are never closed.
            let _ = room.writers.acquire_many(WRITTEN).await;
        }
    }
}

impl Place {
    /// Reads what belongs here; nothing if it took long, and its place went to another.
    pub(super) async fn read<T>(&self, reads: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            read = reads => Some(read),
            () = self.leaves.notified() => None,
        }
    }

    /// The bytes that are held are too many for another: who has been read for longest gives its own back.
    pub(super) fn is_short_of_bytes(&self) {
        Room::make_room(&mut self.room.readers());
    }

    /// A place in which what was read is written down; nothing if none becomes free.
    pub(super) async fn write(self) -> Option<OwnedSemaphorePermit> {
        let writers = Arc::clone(&self.room.writers);
        drop(self);
        tokio::time::timeout(WAITS, writers.acquire_owned()).await.ok()?.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.readers().retain(|reader| !Arc::ptr_eq(&reader.leaves, &self.leaves));
    }
}

/// The answer when as many requests are read, or bytes of them held, as may be; `of` what kind they are, and `hint` what to do.
pub(super) fn crowded(endpoint: &Endpoint, of: &str, hint: &'static str) -> Response {
    endpoint.load().note("bytes", of);
    let refusal = Refusal::new(Code::RateLimited, OverBudget.to_string(), hint);
    again(problem::with_status(&refusal, StatusCode::SERVICE_UNAVAILABLE), AGAIN)
}

/// The answer, with when to come again.
pub(super) fn again(mut response: Response, after: HeaderValue) -> Response {
    response.headers_mut().insert(RETRY_AFTER, after);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::strangers_files;

    #[test]
    fn files_of_strangers_leave_half_of_the_places_to_whoever_is_known() {
        assert_eq!(strangers_files::AT_ONCE * 2, WRITTEN as usize);
    }

    #[tokio::test]
    async fn who_proves_nothing_yet_keeps_nobody_out_who_has_and_makes_room_when_it_takes_long() {
        let rooms = Rooms::default();
        let strangers: Vec<_> = (0..READ).map(|_| rooms.enter(true).unwrap()).collect();
        assert!(rooms.enter(true).is_none() && rooms.enter(false).is_some());
        // As if they had come long ago.
        for reader in rooms.signed.readers().iter_mut() {
            reader.since = Instant::now().checked_sub(LONG).unwrap();
        }
        let late = rooms.enter(true).unwrap();
        assert_eq!(strangers[0].read(std::future::pending::<()>()).await, None);
        assert_eq!(strangers[1].read(async { 5 }).await, Some(5));
        strangers[2].is_short_of_bytes();
        assert_eq!(strangers[1].read(std::future::pending::<()>()).await, None);
        drop(strangers);
        assert_eq!(rooms.signed.readers().len(), 1, "each gives back its own place");
        assert!(late.write().await.is_some() && rooms.signed.readers().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_read_waits_a_while_for_a_place_to_be_written() {
        let rooms = Rooms::default();
        let mut places = Vec::new();
        for _ in 0..WRITTEN {
            places.push(rooms.enter(true).unwrap().write().await.unwrap());
        }
        assert!(rooms.enter(true).unwrap().write().await.is_none());
        let waits = tokio::spawn(rooms.enter(true).unwrap().write());
        tokio::time::sleep(WAITS / 2).await;
        places.pop();
        let last = waits.await.unwrap().unwrap();
        places.clear();
        assert!(tokio::time::timeout(WAITS, rooms.are_empty()).await.is_err());
        drop(last);
        rooms.are_empty().await;
    }
}
