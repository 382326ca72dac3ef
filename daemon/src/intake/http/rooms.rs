//! How many requests are read at once of those who have no token of the hub's: platforms, and programs outside.
//!
//! Where the proof is of the body, anybody can begin a request and send its body slowly, as often as they like. So these have a room of
//! their own, in which who comes is always read: if it is full, whoever has sent the least for its time leaves at once. A platform's whole
//! body is there with its head, and read before anybody else comes. What is proved by its head alone is read all the same. What was read
//! is written down in places of their own, which nobody has who only sends.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::Response,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::{
    Endpoint, problem,
    server::{self, OverBudget, Unread},
};
use crate::message::refusal::{Code, Refusal};

/// Requests that are read at once in each room.
const READ: usize = 8;
/// What everybody is taken to have sent when it comes, in bytes: who comes now is not the first to leave, and soon who sends nothing is.
const BEGUN: usize = 1024;
/// A request that has been read for so long gives its bytes back when they are short. A platform sends a notification in one go.
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
    request: Arc<Request>,
}

#[derive(Default)]
struct Request {
    leaves: Notify,
    /// Bytes of its body that came.
    came: AtomicUsize,
}

/// Why a request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Crowded {
    /// Too many others were read, and sent more for their time.
    #[error("too many requests are read at once, and this one came slowly")]
    Readers,
    /// Too many bytes are held.
    #[error(transparent)]
    Bytes(#[from] OverBudget),
    /// Too many are being written down.
    #[error("too many requests are being written down")]
    Writers,
}

/// The place of a request that is read. It is free again when this is dropped.
pub(super) struct Place {
    room: Arc<Room>,
    request: Arc<Request>,
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

    /// Lets the one leave that has sent the least for its time.
    fn make_room(readers: &mut Vec<Reader>) {
        let now = Instant::now();
        let speeds = readers.iter().map(|reader| reader.speed(now)).enumerate();
        // Of those who sent as much it is the one that has been there for longest: they stand in the order in which they came.
        if let Some((slowest, _)) = speeds.min_by(|(_, one), (_, other)| one.total_cmp(other)) {
            readers.remove(slowest).request.leaves.notify_one();
        }
    }

    /// Lets the one leave that has been read for longest, if that is long.
    fn give_back(readers: &mut Vec<Reader>) {
        if readers.first().is_some_and(|reader| reader.since.elapsed() >= LONG) {
            readers.remove(0).request.leaves.notify_one();
        }
    }
}

impl Reader {
    /// In bytes a second.
    #[expect(clippy::cast_precision_loss, reason = "it is compared with others, and bodies are short")]
    fn speed(&self, now: Instant) -> f64 {
        let came = self.request.came.load(Ordering::Relaxed).saturating_add(BEGUN);
        came as f64 / now.saturating_duration_since(self.since).as_secs_f64()
    }
}

impl Rooms {
    /// A place for one request to be read. `signs_body`: whether its proof is of its body.
    pub(super) fn enter(&self, signs_body: bool) -> Place {
        let room = Arc::clone(if signs_body { &self.signed } else { &self.proved });
        let request = Arc::new(Request::default());
        let mut readers = room.readers();
        if readers.len() >= READ {
            Room::make_room(&mut readers);
        }
        readers.push(Reader { since: Instant::now(), request: Arc::clone(&request) });
        drop(readers);
        Place { room, request }
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
    /// Reads a body of at most `most` bytes that comes within `time`.
    ///
    /// # Errors
    /// Its place went to another, or too many bytes are held: then who has been read for longest gives its own back. Why else there
    /// is no body is in what is returned.
    pub(super) async fn read(
        &self,
        body: Body,
        most: usize,
        time: Duration,
    ) -> Result<Result<Vec<u8>, Unread>, Crowded> {
        let came = |length| {
            self.request.came.fetch_add(length, Ordering::Relaxed);
        };
        let read = tokio::select! {
            // What is there already is read.
            biased;
            read = server::read(body, most, time, came) => read,
            () = self.request.leaves.notified() => return Err(Crowded::Readers),
        };
        if matches!(read, Err(Unread::OverBudget)) {
            Room::give_back(&mut self.room.readers());
            return Err(OverBudget.into());
        }
        Ok(read)
    }

    /// A place in which what was read is written down.
    ///
    /// # Errors
    /// None becomes free.
    pub(super) async fn write(self) -> Result<OwnedSemaphorePermit, Crowded> {
        let writers = Arc::clone(&self.room.writers);
        drop(self);
        let place = tokio::time::timeout(WAITS, writers.acquire_owned()).await;
        place.ok().and_then(Result::ok).ok_or(Crowded::Writers)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.readers().retain(|reader| !Arc::ptr_eq(&reader.request, &self.request));
    }
}

/// The answer when as many requests are read or written down, or bytes of them held, as may be; `of` what kind they are, and `hint`
/// what to do.
pub(super) fn crowded(endpoint: &Endpoint, why: Crowded, of: &str, hint: &'static str) -> Response {
    let short_of = match why {
        Crowded::Bytes(_) => "bytes",
        Crowded::Readers | Crowded::Writers => "places",
    };
    endpoint.load().note(short_of, of);
    let refusal = Refusal::new(Code::RateLimited, why.to_string(), hint);
    again(problem::with_status(&refusal, StatusCode::SERVICE_UNAVAILABLE), AGAIN)
}

/// The answer, with when to come again.
pub(super) fn again(mut response: Response, after: HeaderValue) -> Response {
    response.headers_mut().insert(RETRY_AFTER, after);
    response
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;
    use crate::pipeline::strangers_files;

    #[test]
    fn files_of_strangers_leave_half_of_the_places_to_whoever_is_known() {
        assert_eq!(strangers_files::AT_ONCE * 2, WRITTEN as usize);
    }

    /// A body of which so much came, and no more comes.
    fn begun(length: usize) -> Body {
        let begun = futures_util::stream::iter([Ok::<_, std::io::Error>(vec![0; length])]);
        Body::from_stream(begun.chain(futures_util::stream::pending()))
    }

    async fn read(place: &Place, body: Body) -> Result<Vec<u8>, Crowded> {
        place.read(body, 1 << 20, Duration::from_hours(1)).await.map(Result::unwrap)
    }

    #[tokio::test]
    async fn who_only_begins_keeps_nobody_out_however_often_it_comes() {
        let rooms = Arc::new(Rooms::default());
        let (mut strangers, mut gone) = (Vec::new(), 0);
        for n in 0..200_usize {
            let place = rooms.enter(true);
            strangers.push(tokio::spawn(async move { read(&place, begun(1)).await }));
            tokio::task::yield_now().await;
            if n % 10 == 9 {
                // None of them has been there for long. All of this one came with its head.
                let platform = rooms.enter(true);
                assert_eq!(read(&platform, Body::from("notification")).await.unwrap(), b"notification");
                assert!(platform.write().await.is_ok());
            }
        }
        assert!(rooms.signed.readers().len() <= READ);
        for stranger in strangers.iter_mut().take(200 - READ) {
            gone += usize::from(matches!(stranger.await.unwrap(), Err(Crowded::Readers)));
        }
        assert!(gone == 200 - READ && read(&rooms.enter(false), Body::from("x")).await.is_ok());
        strangers.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn the_one_that_sent_the_least_for_its_time_leaves_first_and_each_gives_back_its_own_place() {
        let rooms = Rooms::default();
        let places: Vec<_> = (0..READ).map(|_| rooms.enter(true)).collect();
        let now = Instant::now();
        for (n, reader) in rooms.signed.readers().iter_mut().enumerate() {
            // The first has been there for longest, and has sent a lot; the third has been there for a second, and sent nothing.
            let age = if n == 0 { 5000 } else { 1000 };
            reader.since = now.checked_sub(Duration::from_millis(age)).unwrap();
            reader.request.came.store(if n == 2 { 0 } else { 100_000 }, Ordering::Relaxed);
        }
        let late = rooms.enter(true);
        let left = |place: &Place| {
            !rooms.signed.readers().iter().any(|reader| Arc::ptr_eq(&reader.request, &place.request))
        };
        assert!(left(&places[2]) && places.iter().filter(|place| left(place)).count() == 1 && !left(&late));
        assert_eq!(read(&places[2], begun(1)).await, Err(Crowded::Readers));
        assert_eq!(read(&places[2], Body::from("all")).await.unwrap(), b"all", "what is there is read");
        Room::give_back(&mut rooms.signed.readers());
        assert!(left(&places[0]));
        Room::give_back(&mut rooms.signed.readers());
        assert!(!left(&places[1]), "it has not been there for long");
        drop(places);
        assert_eq!(rooms.signed.readers().len(), 1);
        assert!(late.write().await.is_ok() && rooms.signed.readers().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_read_waits_a_while_for_a_place_to_be_written() {
        let rooms = Rooms::default();
        let mut places = Vec::new();
        for _ in 0..WRITTEN {
            places.push(rooms.enter(true).write().await.unwrap());
        }
        assert_eq!(rooms.enter(true).write().await.unwrap_err(), Crowded::Writers);
        let waits = tokio::spawn(rooms.enter(true).write());
        tokio::time::sleep(WAITS / 2).await;
        places.pop();
        let last = waits.await.unwrap().unwrap();
        places.clear();
        assert!(tokio::time::timeout(WAITS, rooms.are_empty()).await.is_err());
        drop(last);
        rooms.are_empty().await;
    }
}
