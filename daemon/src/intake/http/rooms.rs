//! How many requests are read at once of those who have no token of the hub's: platforms, and programs outside.
//!
//! Where the proof is of the body, anybody can begin a request and send its body slowly. So these have a room of their own, and fill it
//! for nobody but each other: what is proved by its head alone is read all the same.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::Response,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Endpoint, problem, server::OverBudget};
use crate::message::refusal::{Code, Refusal};

/// Requests in each room.
const AT_ONCE: usize = 8;
/// When whoever was turned away for want of room may come again, in seconds.
pub(super) const AGAIN: HeaderValue = HeaderValue::from_static("10");

/// The rooms.
pub(super) struct Rooms {
    signed: Arc<Semaphore>,
    proved: Arc<Semaphore>,
}

impl Default for Rooms {
    fn default() -> Self {
        let room = || Arc::new(Semaphore::new(AT_ONCE));
        Self { signed: room(), proved: room() }
    }
}

impl Rooms {
    /// A place for one request, for as long as it is read and written down; nothing if all are taken. `signs_body`: whether its proof is
    /// of its body.
    pub(super) fn enter(&self, signs_body: bool) -> Option<OwnedSemaphorePermit> {
        let room = if signs_body { &self.signed } else { &self.proved };
        Arc::clone(room).try_acquire_owned().ok()
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

    #[test]
    fn who_proves_nothing_yet_keeps_nobody_out_who_has() {
        let rooms = Rooms::default();
        let strangers: Vec<_> = (0..AT_ONCE).map(|_| rooms.enter(true).unwrap()).collect();
        assert!(rooms.enter(true).is_none() && rooms.enter(false).is_some());
        drop(strangers);
        assert!(rooms.enter(true).is_some());
    }
}
