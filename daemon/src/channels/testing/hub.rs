//! A hub that keeps in memory what an account tells it, for tests of what accounts receive.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use gatepost_link::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::AsyncReadExt as _,
    sync::{Notify, Semaphore},
};

use crate::{
    channels::{
        hub_handle::{FilePlace, FileStream, HubHandle, NotKept, OfRequest, Unavailable},
        received::{Batch, Dropped, Received, Seen},
    },
    message::attachment::Attachment,
};

/// The hub.
#[derive(Default)]
pub(crate) struct HubMock {
    state: Mutex<State>,
    came: Notify,
}

#[derive(Default)]
struct State {
    received: Vec<Received>,
    dropped: Vec<Dropped>,
    positions: HashMap<String, String>,
    files: Vec<Vec<u8>>,
    seen: Vec<Seen>,
    sent: Vec<String>,
    open: Vec<Value>,
    /// How many batches are not written down first.
    failing: usize,
    stops: bool,
    /// Whether strangers' files have no place.
    crowded: bool,
    /// Who alone is known, if not everybody is.
    known: Option<String>,
}

impl HubMock {
    /// One that has read the streams of an account so far.
    pub(crate) fn at(positions: &[(&str, &str)]) -> Self {
        let hub = Self::default();
        hub.state().positions =
            positions.iter().map(|(stream, value)| ((*stream).into(), (*value).into())).collect();
        hub
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next `batches` are not written down.
    pub(crate) fn fail(&self, batches: usize) {
        self.state().failing = batches;
    }

    /// Others' files have all the places.
    pub(crate) fn is_crowded(&self) {
        self.state().crowded = true;
    }

    /// Everybody but the author with this id is a stranger.
    pub(crate) fn knows_nobody_but(&self, id: &str) {
        self.state().known = Some(id.into());
    }

    /// It stops.
    pub(crate) fn stop(&self) {
        self.state().stops = true;
        self.came.notify_waiters();
    }

    /// All that was received so far, once it is at least `count`.
    pub(crate) async fn received(&self, count: usize) -> Vec<Received> {
        loop {
            let came = self.came.notified();
            if self.state().received.len() >= count {
                return self.state().received.clone();
            }
            came.await;
        }
    }

    /// The account has sent what the platform knows by this id.
    pub(crate) fn has_sent(&self, id: &str) {
        self.state().sent.push(id.to_owned());
    }

    /// Nobody knows yet what became of this request of the account's.
    pub(crate) fn is_sending(&self, request: Value) {
        self.state().open.push(request);
    }

    /// All that was dropped so far.
    pub(crate) fn dropped(&self) -> Vec<Dropped> {
        self.state().dropped.clone()
    }

    /// What people have seen of the account's messages.
    pub(crate) fn seen_so_far(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// Where a stream goes on.
    pub(crate) fn at_position(&self, stream: &str) -> Option<String> {
        self.state().positions.get(stream).cloned()
    }

    /// All that was received so far.
    pub(crate) fn received_so_far(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// The bytes of the files that were kept.
    pub(crate) fn files(&self) -> Vec<Vec<u8>> {
        self.state().files.clone()
    }
}

#[async_trait]
impl HubHandle for HubMock {
    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        let mut state = self.state();
        if state.failing > 0 {
            state.failing -= 1;
            return Err(Unavailable);
        }
        for received in batch.received {
            match received.bounded() {
                Ok(received) => state.received.push(received),
                Err(dropped) => state.dropped.push(dropped),
            }
        }
        state.dropped.extend(batch.dropped);
        state.positions.extend(batch.positions.into_iter().map(|position| (position.stream, position.value)));
        drop(state);
        self.came.notify_waiters();
        Ok(())
    }

    fn seen(&self, seen: Seen) {
        self.state().seen.push(seen);
    }

    async fn position(&self, stream: &str) -> Result<Option<String>, Unavailable> {
        Ok(self.at_position(stream))
    }

    async fn is_own(&self, _: &str, id: &str, is: OfRequest<'_>) -> Result<bool, Unavailable> {
        let state = self.state();
        Ok(state.sent.iter().any(|sent| sent == id) || state.open.iter().any(is))
    }

    async fn place_for_files(&self, of: &Received) -> Option<FilePlace> {
        let state = self.state();
        let is_strange = state.known.as_ref().is_some_and(|known| *known != of.author.id);
        let place = is_strange.then(|| Arc::new(Semaphore::new(1)).try_acquire_owned().ok()).flatten();
        (!state.crowded).then_some(FilePlace(place))
    }

    async fn keep_file(
        &self,
        name: Option<&str>,
        kind: Option<&str>,
        mut bytes: FileStream<'_>,
    ) -> Result<Attachment, NotKept> {
        let mut kept = Vec::new();
        bytes.read_to_end(&mut kept).await.map_err(|error| NotKept(error.to_string()))?;
        let attachment = Attachment {
            sha256: Digest(Sha256::digest(&kept).into()),
            name: name.unwrap_or("file").into(),
            kind: kind.unwrap_or("application/octet-stream").into(),
            said_to_be: None,
            size: kept.len() as u64,
            caption: None,
            voice: false,
            spoken: None,
        };
        self.state().files.push(kept);
        Ok(attachment)
    }

    async fn stops(&self) {
        loop {
            let came = self.came.notified();
            if self.state().stops {
                return;
            }
            came.await;
        }
    }
}
