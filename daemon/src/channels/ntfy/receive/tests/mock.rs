//! An ntfy on loopback: it keeps messages, tells them from a time on, and goes on telling.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

/// The server. It ends with this.
pub(super) struct NtfyMock {
    pub(super) port: u16,
    pub(super) server: Arc<Server>,
    task: JoinHandle<()>,
}

/// What becomes of a request for a stream.
#[derive(Debug, Clone)]
pub(super) enum Instead {
    /// An answer that is no stream, with a header line.
    Says(u16, Option<(&'static str, &'static str)>, &'static str),
    /// These bytes, and the end.
    Ends(Vec<u8>),
    /// These bytes, and silence.
    Hangs(Vec<u8>),
}

#[derive(Default)]
pub(super) struct Server {
    state: Mutex<Told>,
    came: Notify,
}

#[derive(Default)]
pub(super) struct Told {
    /// Lines that were published, as they are told.
    pub(super) kept: Vec<Value>,
    pub(super) instead: VecDeque<Instead>,
    /// The paths and queries that were asked for, with whether there was a token.
    pub(super) asked: Vec<(String, bool)>,
    pub(super) file: Vec<u8>,
    /// Whether it says that it is alive.
    pub(super) dead: bool,
}

impl Server {
    pub(super) fn state(&self) -> MutexGuard<'_, Told> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn publish(&self, line: Value) {
        self.state().kept.push(line);
        self.came.notify_waiters();
    }

    /// What is told next to who was told of so many, once there is something; and of how many they were told then.
    async fn next(&self, at: usize, since: Option<i64>) -> (Bytes, usize) {
        loop {
            let came = self.came.notified();
            let (next, dead) = {
                let state = self.state();
                (state.kept.get(at).cloned(), state.dead)
            };
            match next {
                Some(next)
                    if since.is_some() && next["time"].as_i64().is_some_and(|time| Some(time) < since) =>
                {
                    return (Bytes::from_static(b"\n"), at + 1);
                }
                Some(next) => return (line(&next), at + 1),
                None => {}
            }
            if tokio::time::timeout(Duration::from_millis(60), came).await.is_err() && !dead {
                return (
                    line(&json!({"id": "alive", "time": now(), "event": "keepalive", "topic": "kitchen"})),
                    at,
                );
            }
        }
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, so: impl Fn(&Told) -> bool) {
        while !so(&self.state()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl NtfyMock {
    pub(super) async fn start() -> Self {
        let server = Arc::new(Server::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(answer).with_state(server.clone());
        let task = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { port, server, task }
    }
}

impl Drop for NtfyMock {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) fn now() -> i64 {
    crate::clock::now_ms() / 1000
}

fn line(value: &Value) -> Bytes {
    format!("{value}\n").into()
}

async fn answer(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap) -> Response {
    let asked = uri.path_and_query().unwrap().to_string();
    server.state().asked.push((asked, headers.contains_key("authorization")));
    if uri.path().starts_with("/file/") {
        return server.state().file.clone().into_response();
    }
    let endless = |bytes: Vec<u8>| {
        let hangs = stream::once(async { Ok::<_, std::io::Error>(Bytes::from(bytes)) });
        Body::from_stream(futures_util::StreamExt::chain(hangs, stream::pending())).into_response()
    };
    let instead = server.state().instead.pop_front();
    match instead {
        Some(Instead::Says(status, header, body)) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            if let Some((name, value)) = header {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            return response;
        }
        Some(Instead::Ends(bytes)) => return bytes.into_response(),
        Some(Instead::Hangs(bytes)) => return endless(bytes),
        None => {}
    }
    let query = uri.query().unwrap_or_default();
    let since = query.strip_prefix("since=").map(|since| since.parse::<i64>().unwrap());
    let at = match since {
        Some(_) => 0,
        None => server.state().kept.len(),
    };
    let open = json!({"id": "open", "time": now(), "event": "open", "topic": "kitchen,garden"});
    let first = stream::once(async move { Ok::<_, std::io::Error>(line(&open)) });
    let rest = stream::unfold((server, at), move |(server, at)| async move {
        let (line, next) = server.next(at, since).await;
        Some((Ok(line), (server, next)))
    });
    Body::from_stream(futures_util::StreamExt::chain(first, rest)).into_response()
}
