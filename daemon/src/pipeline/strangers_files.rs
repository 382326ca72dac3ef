//! How many files of people who are not known are fetched at once while a platform waits for an answer.
//!
//! A notification keeps a place among few until it is written down, its files among it. Strangers choose how slowly theirs come, and
//! had all of these places: whoever is known was told to come again, and a platform that tells nothing twice did not. So strangers
//! have half of them at most.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Events of strangers whose files are fetched at once: half of the places in which notifications are written down
/// (`WRITTEN` in `intake/http/rooms.rs`).
pub const AT_ONCE: usize = 8;

/// The places.
#[derive(Debug)]
pub struct StrangersFiles(Arc<Semaphore>);

impl Default for StrangersFiles {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl StrangersFiles {
    /// One of them; nothing if all are taken. Nobody waits for one: the event keeps its other place meanwhile.
    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}
