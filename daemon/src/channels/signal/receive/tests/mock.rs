//! A signal-cli on loopback with a stream of events: at most once, as releases have it, or with ids, which it repeats behind the one that
//! it is told.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
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
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};

use super::kinds::{ANNA, GROUP, NUMBER, SELF};

/// How often it says that it is there.
const KEEPALIVE: Duration = Duration::from_millis(20);

/// What its stream does next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// An event.
    Tells(Value),
    /// These bytes, whatever they are.
    Says(Vec<u8>),
    /// The end of the stream.
    Ends,
    /// Nothing any more, not even that it is there.
    Hushes,
}

/// The program. It ends with this.
pub(super) struct SignalMock {
    pub(super) port: u16,
    pub(super) platform: Arc<Platform>,
    server: JoinHandle<()>,
}

#[derive(Default)]
pub(super) struct Platform {
    state: Mutex<Told>,
}

#[derive(Default)]
pub(super) struct Told {
    pub(super) steps: Vec<Step>,
    /// How many of them were done.
    done: usize,
    /// Whether its events have ids: `run-NUMBER`.
    pub(super) has_ids: bool,
    /// What the next questions for a stream are answered with instead.
    pub(super) instead: VecDeque<(u16, &'static str)>,
    /// Who asked for a stream: the query, and the last id.
    pub(super) streams: Vec<(String, Option<String>)>,
    /// Methods and their parameters.
    pub(super) calls: Vec<(String, Value)>,
    pub(super) files: HashMap<String, Vec<u8>>,
    /// Whether it is asked for files and says nothing.
    pub(super) hangs: bool,
    /// Whether it receives while nobody listens.
    pub(super) receives: bool,
    /// Whether it was started for one account.
    pub(super) for_one: bool,
}

impl Platform {
    pub(super) fn state(&self) -> MutexGuard<'_, Told> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, events: impl IntoIterator<Item = Value>) {
        self.state().steps.extend(events.into_iter().map(Step::Tells));
    }

    /// Waits until something is so.
    pub(super) async fn until<T>(&self, so: impl Fn(&Told) -> Option<T>) -> T {
        loop {
            if let Some(so) = so(&self.state()) {
                return so;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl SignalMock {
    pub(super) async fn start() -> Self {
        let platform = Arc::new(Platform::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(answer).with_state(platform.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { port, platform, server }
    }
}

impl Drop for SignalMock {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(
    State(platform): State<Arc<Platform>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if uri.path() == "/api/v1/events" {
        let last = headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        return events(platform, uri.query().unwrap_or_default().to_owned(), last);
    }
    let call: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (method, params) = (call["method"].as_str().unwrap_or_default(), &call["params"]);
    platform.state().calls.push((method.to_owned(), params.clone()));
    if method == "getAttachment" && platform.state().hangs {
        std::future::pending::<()>().await;
    }
    let state = platform.state();
    let no = |code: i64, why: &str| Err(json!({"code": code, "message": why, "data": null}));
    let said = match method {
        "listAccounts" if state.for_one => no(-32601, "Method not implemented"),
        "listAccounts" => Ok(json!([{"number": NUMBER}])),
        "version" => Ok(json!({"version": "0.14.2"})),
        "listDevices" => Ok(json!([{"id": 1}])),
        "listIdentities" => Ok(json!([{"number": NUMBER, "uuid": SELF}])),
        "receive" if state.receives => {
            no(-1, "Receive command cannot be used if messages are already being received.")
        }
        "receive" => Ok(json!([])),
        "listContacts" => Ok(
            json!([{"uuid": params["recipient"][0], "name": "", "profile": {"givenName": "Bob", "familyName": null}}]),
        ),
        "listGroups" => Ok(json!([{"id": GROUP, "name": "The house"}])),
        "getAttachment" => match state.files.get(params["id"].as_str().unwrap_or_default()) {
            Some(file) => Ok(json!({ "data": STANDARD.encode(file) })),
            None => no(-1, "Could not find attachment with ID"),
        },
        "sendTyping" | "sendReceipt" => Ok(json!({"timestamp": 1, "results": [{"type": "SUCCESS"}]})),
        _ => no(-32601, "Method not implemented"),
    };
    let answer = match said {
        Ok(result) => json!({"jsonrpc": "2.0", "result": result, "id": call["id"]}),
        Err(error) => json!({"jsonrpc": "2.0", "error": error, "id": call["id"]}),
    };
    answer.to_string().into_response()
}

fn events(platform: Arc<Platform>, query: String, last: Option<String>) -> Response {
    let mut state = platform.state();
    state.streams.push((query, last.clone()));
    if let Some((status, body)) = state.instead.pop_front() {
        return (StatusCode::from_u16(status).unwrap(), [("retry-after", "0")], body).into_response();
    }
    let at = match last {
        Some(id) if state.has_ids => {
            id.strip_prefix("run-").and_then(|number| number.parse().ok()).unwrap_or(0)
        }
        _ => state.done,
    };
    drop(state);
    let next = stream::unfold((platform, at), |(platform, at)| async move {
        let step = {
            let mut state = platform.state();
            state.done = state.done.max(at + usize::from(state.steps.len() > at));
            state.steps.get(at).cloned().map(|step| (step, state.has_ids))
        };
        let bytes = match step {
            None => {
                sleep(KEEPALIVE).await;
                return Some((Ok::<_, Infallible>(Bytes::from_static(b":\n")), (platform, at)));
            }
            Some((Step::Tells(event), ids)) => {
                let id = if ids { format!("id:run-{}\n", at + 1) } else { String::new() };
                format!("{id}event:receive\ndata:{event}\n\n").into_bytes()
            }
            Some((Step::Says(bytes), _)) => bytes,
            Some((Step::Ends, _)) => return None,
            Some((Step::Hushes, _)) => std::future::pending().await,
        };
        Some((Ok(Bytes::from(bytes)), (platform, at + 1)))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(next)).into_response()
}

/// The account's own parameters in a call.
pub(super) fn params(more: &Value) -> Value {
    let mut params = json!({ "account": NUMBER });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

/// Anna's address in a call.
pub(super) fn to_anna() -> Value {
    params(&json!({ "recipient": [ANNA] }))
}
