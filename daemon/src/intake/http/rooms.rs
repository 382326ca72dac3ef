//! How requests are read of those who have no token of the hub's: platforms, and programs outside.
//!
//! Where the proof is of the body, anybody can begin a request and send its body slowly, as often as they like. What that takes up is not a
//! place, of which each connection has its own (the listener bounds those), but bytes. So nobody who has sent next to nothing is put out:
//! many a platform's body comes a while behind its head, and who is put out after eight others came is put out by anybody. Where bytes
//! run out, what comes waits for some, and of those who hold more than a little the one leaves that has been read for longest: a body
//! that is sent in one go is there long before. What is proved by its head alone has a room of its own, in which nobody has to leave for
//! strangers. What was read is written down in places of their own, which nobody has who only sends.

use std::{
    cmp::Reverse,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
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

/// What somebody may hold, in bytes, and stay as long as anybody holds more. Most notifications are no longer.
const LITTLE: usize = 4 * 1024;
/// How long a request waits for bytes, and how long until it looks for them again.
const WAITS_FOR_BYTES: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(10);
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
    /// In the order in which they came.
    readers: Mutex<Vec<Reader>>,
    writers: Arc<Semaphore>,
}

/// A request that is read.
struct Reader {
    request: Arc<Request>,
    /// Whether it was told to leave. Until it has, nobody else is.
    must_leave: bool,
}

#[derive(Default)]
struct Request {
    leaves: Notify,
    /// What it holds, in bytes.
    held: AtomicUsize,
}

/// Why a request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Crowded {
    /// Bytes were short, and this one had been read for longest.
    #[error("too many bytes of requests are held already, and this one came slowly")]
    Slow,
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
    /// Where those leave first who have proved nothing yet.
    signed: Arc<Room>,
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

    /// Has one leave that holds bytes: of those that hold more than a little, the first that came. Whether somebody leaves.
    fn make_room(&self) -> bool {
        let mut readers = self.readers();
        if readers.iter().any(|reader| reader.must_leave) {
            return true;
        }
        let holds = |reader: &Reader| reader.request.held.load(Ordering::Relaxed);
        let those = readers.iter_mut().enumerate().filter(|(_, reader)| holds(reader) > 0);
        let Some((_, one)) = those.min_by_key(|(at, reader)| (Reverse(holds(reader) > LITTLE), *at)) else {
            return false;
        };
        one.must_leave = true;
        one.request.leaves.notify_one();
        true
    }
}

impl Rooms {
    /// A place for one request to be read. `signs_body`: whether its proof is of its body.
    pub(super) fn enter(&self, signs_body: bool) -> Place {
        let room = Arc::clone(if signs_body { &self.signed } else { &self.proved });
        let request = Arc::new(Request::default());
        room.readers().push(Reader { request: Arc::clone(&request), must_leave: false });
        Place { room, signed: Arc::clone(&self.signed), request }
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
    /// Bytes were short: it had been read for longest, or none became free. Why else there is no body is in what is returned.
    pub(super) async fn read(
        &self,
        body: Body,
        most: usize,
        time: Duration,
    ) -> Result<Result<Vec<u8>, Unread>, Crowded> {
        let came = |bytes| {
            self.request.held.fetch_add(bytes, Ordering::Relaxed);
        };
        let until = tokio::time::Instant::now() + WAITS_FOR_BYTES;
        let room = || async move {
            // What leaves is counted until its answer has gone.
            if !self.signed.make_room() {
                self.room.make_room();
            }
            tokio::time::sleep(PAUSE).await;
            if tokio::time::Instant::now() < until { Ok(()) } else { Err(Unread::OverBudget) }
        };
        let read = tokio::select! {
            // What is there already is read.
            biased;
            read = server::read_as_it_comes(body, most, time, came, room) => read,
            () = self.request.leaves.notified() => return Err(Crowded::Slow),
        };
        match read {
            Err(Unread::OverBudget) => Err(OverBudget.into()),
            read => Ok(read),
        }
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
        Crowded::Bytes(_) | Crowded::Slow => "bytes",
        Crowded::Writers => "places",
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

    /// A body that comes a while behind its head.
    fn late(body: &'static str, after: Duration) -> Body {
        Body::from_stream(futures_util::stream::once(async move {
            tokio::time::sleep(after).await;
            Ok::<_, std::io::Error>(body)
        }))
    }

    /// A body for which there is no room before this is told.
    fn short(body: &'static str, freed: &Arc<AtomicUsize>) -> Body {
        let freed = Arc::clone(freed);
        Body::from_stream(
            futures_util::stream::repeat(())
                .then(move |()| {
                    let is_free = freed.load(Ordering::Relaxed) > 0;
                    std::future::ready(if is_free { Ok(body) } else { Err(OverBudget) })
                })
                .take_while({
                    let mut over = false;
                    move |piece: &Result<_, _>| {
                        std::future::ready(!std::mem::replace(&mut over, piece.is_ok()))
                    }
                }),
        )
    }

    async fn read(place: &Place, body: Body) -> Result<Vec<u8>, Crowded> {
        place.read(body, 1 << 20, Duration::from_hours(1)).await.map(Result::unwrap)
    }

    #[tokio::test(start_paused = true)]
    async fn who_only_begins_keeps_nobody_out_however_often_it_comes() {
        let rooms = Arc::new(Rooms::default());
        let mut strangers = Vec::new();
        for after in [0, 5, 100, 5000] {
            let platform = rooms.enter(true);
            let body = late("notification", Duration::from_millis(after));
            let platform =
                tokio::spawn(async move { (read(&platform, body).await, platform.write().await.is_ok()) });
            for _ in 0..200 {
                let place = rooms.enter(true);
                strangers.push(tokio::spawn(async move { read(&place, begun(1)).await }));
                tokio::task::yield_now().await;
            }
            assert_eq!(
                platform.await.unwrap(),
                (Ok(b"notification".to_vec()), true),
                "{after} ms behind its head"
            );
            assert!(read(&rooms.enter(false), Body::from("x")).await.is_ok());
        }
        strangers.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(start_paused = true)]
    async fn where_bytes_are_short_the_first_leaves_that_holds_more_than_a_little_and_what_comes_waits() {
        let rooms = Arc::new(Rooms::default());
        let begin = |signs_body: bool, length: usize| {
            let place = rooms.enter(signs_body);
            tokio::spawn(async move { read(&place, begun(length)).await })
        };
        let little = begin(true, 100);
        let proved = begin(false, 100_000);
        let [first, second] = [(); 2].map(|()| begin(true, 2 * LITTLE));
        tokio::task::yield_now().await;
        let freed = Arc::new(AtomicUsize::new(0));
        let [one, other] = [(); 2].map(|()| {
            let (place, body) = (rooms.enter(true), short("whole", &freed));
            tokio::spawn(async move { read(&place, body).await })
        });
        assert_eq!(first.await.unwrap(), Err(Crowded::Slow));
        freed.store(1, Ordering::Relaxed);
        assert_eq!(
            (one.await.unwrap(), other.await.unwrap()),
            (Ok(b"whole".to_vec()), Ok(b"whole".to_vec()))
        );
        assert!(!little.is_finished() && !second.is_finished() && !proved.is_finished(), "one was enough");
        // Also for what is proved the strangers leave; where all hold a little, it is the first of them.
        freed.store(0, Ordering::Relaxed);
        let place = rooms.enter(false);
        let ((), waits) = tokio::join!(
            async {
                assert_eq!(second.await.unwrap(), Err(Crowded::Slow));
                assert_eq!(little.await.unwrap(), Err(Crowded::Slow));
                assert_eq!(proved.await.unwrap(), Err(Crowded::Slow), "where there are no strangers");
            },
            read(&place, short("", &freed))
        );
        assert_eq!(waits, Err(Crowded::Bytes(OverBudget)), "it does not wait for ever");
        drop(place);
        assert!(rooms.signed.readers().is_empty() && rooms.proved.readers().is_empty());
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
