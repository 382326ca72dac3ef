//! A Telegram on loopback that keeps updates as the real one does: until a call with a higher offset.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, http::Uri};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

pub(super) const TOKEN: &str = "99:ABC-secret_token";

/// The platform. It ends with this.
pub(super) struct TelegramMock {
    pub(super) port: u16,
    pub(super) platform: Arc<Platform>,
    server: JoinHandle<()>,
}

#[derive(Default)]
pub(super) struct Platform {
    state: Mutex<Told>,
    came: Notify,
}

#[derive(Default)]
pub(super) struct Told {
    pub(super) updates: Vec<Value>,
    /// What the next calls of `getUpdates` are answered with instead.
    pub(super) instead: VecDeque<(u16, String)>,
    pub(super) files: HashMap<String, Vec<u8>>,
    pub(super) webhook: String,
    /// Methods and what they were told, but `getUpdates`.
    pub(super) calls: Vec<(String, Value)>,
    /// What `getUpdates` was told.
    pub(super) polls: Vec<Value>,
}

impl Platform {
    pub(super) fn state(&self) -> MutexGuard<'_, Told> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, updates: &[Value]) {
        self.state().updates.extend_from_slice(updates);
        self.came.notify_waiters();
    }

    /// Waits until something is so.
    pub(super) async fn until<T>(&self, so: impl Fn(&Told) -> Option<T>) -> T {
        loop {
            if let Some(so) = so(&self.state()) {
                return so;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl TelegramMock {
    pub(super) async fn start(updates: &[Value]) -> Self {
        let platform = Arc::new(Platform::default());
        platform.tell(updates);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(answer).with_state(platform.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { port, platform, server }
    }
}

impl Drop for TelegramMock {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(platform): State<Arc<Platform>>, uri: Uri, body: Bytes) -> (StatusCode, Vec<u8>) {
    let no = |status: u16, why: &str| {
        let body = json!({"ok": false, "error_code": status, "description": why});
        (StatusCode::from_u16(status).unwrap(), body.to_string().into_bytes())
    };
    if let Some(path) = uri.path().strip_prefix(&format!("/file/bot{TOKEN}/")) {
        let file = platform.state().files.get(path).cloned();
        return file.map_or_else(|| no(404, "Not Found"), |bytes| (StatusCode::OK, bytes));
    }
    let Some(method) = uri.path().strip_prefix(&format!("/bot{TOKEN}/")) else {
        return no(401, "Unauthorized");
    };
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match method {
        "getUpdates" => return updates(&platform, told).await.into_response_parts(),
        "getMe" => json!({"id": 99, "is_bot": true, "username": "House_Bot", "has_topics_enabled": false}),
        "getWebhookInfo" => json!({"url": platform.state().webhook.clone()}),
        "getFile" => match told["file_id"].as_str() {
            Some("gone") => return no(400, "Bad Request: invalid file_id"),
            Some("disk") => json!({"file_path": "/var/lib/bot/1.jpg"}),
            id => json!({"file_path": format!("files/{}", id.unwrap_or_default())}),
        },
        "sendPoll" => {
            json!({"message_id": 70, "chat": {"id": -1_001_234_567_890_i64}, "poll": {"id": "5800"}})
        }
        _ => json!(true),
    };
    platform.state().calls.push((method.to_owned(), told));
    (StatusCode::OK, json!({"ok": true, "result": result}).to_string().into_bytes())
}

struct Said(u16, String);

impl Said {
    fn into_response_parts(self) -> (StatusCode, Vec<u8>) {
        (StatusCode::from_u16(self.0).unwrap(), self.1.into_bytes())
    }
}

/// <https://core.telegram.org/bots/api#getupdates>
async fn updates(platform: &Platform, told: Value) -> Said {
    let wait = Duration::from_secs(told["timeout"].as_u64().unwrap_or(0));
    let limit = usize::try_from(told["limit"].as_u64().unwrap_or(100)).unwrap();
    if let Some((status, body)) = {
        let mut state = platform.state();
        state.polls.push(told.clone());
        state.instead.pop_front()
    } {
        return Said(status, body);
    }
    if let Some(offset) = told["offset"].as_i64() {
        platform.state().updates.retain(|update| update["update_id"].as_i64().is_none_or(|id| id >= offset));
    }
    let now = || platform.state().updates.iter().take(limit).cloned().collect::<Vec<_>>();
    let came = platform.came.notified();
    let mut found = now();
    if found.is_empty() {
        let _ = tokio::time::timeout(wait, came).await;
        found = now();
    }
    Said(200, json!({"ok": true, "result": found}).to_string())
}
