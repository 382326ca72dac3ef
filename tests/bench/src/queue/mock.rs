//! A platform: as much of a Matrix homeserver as sending takes, on a thread of its own.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, put},
};
use serde_json::{Value, json};

use super::{Outcome, load};

/// A platform. Goes on until the process ends.
#[derive(Clone)]
pub(super) struct Mock {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    silent: AtomicBool,
    count: AtomicUsize,
    /// Which message came, and when.
    came: Mutex<Vec<(usize, Instant)>>,
}

impl Mock {
    /// One that answers, or one that reads and answers nobody.
    pub(super) fn start(silent: bool) -> Outcome<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { silent: silent.into(), ..Shared::default() });
        let routes = Router::new()
            .route("/_matrix/client/v3/rooms/{room}/send/{kind}/{key}", put(receive))
            .route("/_matrix/client/v3/rooms/{room}/state/m.room.encryption", get(plain))
            .with_state(Arc::clone(&shared));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, routes).await
            })
        });
        Ok(Self { address, shared })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many messages came.
    pub(super) fn count(&self) -> usize {
        self.shared.count.load(Ordering::Acquire)
    }

    /// Which messages came since the last call, and when.
    pub(super) fn take(&self) -> Vec<(usize, Instant)> {
        self.shared.count.store(0, Ordering::Release);
        std::mem::take(&mut self.shared.came.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn receive(
    State(shared): State<Arc<Shared>>,
    Path((_, _, key)): Path<(String, String, String)>,
    Json(event): Json<Value>,
) -> Json<Value> {
    let now = Instant::now();
    if shared.silent.load(Ordering::Relaxed) {
        return std::future::pending().await;
    }
    let number = event["body"].as_str().and_then(load::number).unwrap_or(usize::MAX);
    shared.came.lock().unwrap_or_else(PoisonError::into_inner).push((number, now));
    shared.count.fetch_add(1, Ordering::Release);
    Json(json!({"event_id": format!("${key}")}))
}

async fn plain() -> (StatusCode, Json<Value>) {
    (StatusCode::NOT_FOUND, Json(json!({"errcode": "M_NOT_FOUND", "error": "not encrypted"})))
}
