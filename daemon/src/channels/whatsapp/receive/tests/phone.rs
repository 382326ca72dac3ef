//! An Evolution API on loopback that keeps messages and hands over pages of them, the newest first.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// The server. It ends with this.
pub(super) struct PhoneMock {
    pub(super) port: u16,
    platform: Arc<Mutex<Told>>,
    server: JoinHandle<()>,
}

#[derive(Default)]
pub(super) struct Told {
    /// Oldest first; a text is handed over as it is, whatever that makes of the answer.
    pub(super) kept: Vec<Value>,
    /// What the next questions for messages are answered with instead.
    pub(super) instead: VecDeque<(u16, &'static str)>,
    /// The words of messages over which it fails.
    pub(super) broken: Vec<&'static str>,
    pub(super) file: Vec<u8>,
    /// Paths and bodies.
    pub(super) asked: Vec<(String, Value)>,
}

impl PhoneMock {
    pub(super) async fn start() -> Self {
        let platform = Arc::new(Mutex::new(Told::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(answer).with_state(platform.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { port, platform, server }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Told> {
        self.platform.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked of this path.
    pub(super) fn asked(&self, path: &str) -> Vec<Value> {
        self.state().asked.iter().filter(|(asked, _)| asked == path).map(|(_, body)| body.clone()).collect()
    }
}

impl Drop for PhoneMock {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(
    State(platform): State<Arc<Mutex<Told>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut told = platform.lock().unwrap_or_else(PoisonError::into_inner);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    told.asked.push((uri.path().to_owned(), body.clone()));
    if headers.get("apikey").is_none_or(|key| key != "evo_secret") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    match uri.path() {
        "/instance/fetchInstances" => {
            json!([{"name": "home", "ownerJid": "4915112345678@s.whatsapp.net"}]).to_string().into_response()
        }
        "/chat/findMessages/home" => {
            if let Some((status, said)) = told.instead.pop_front() {
                return (StatusCode::from_u16(status).unwrap(), said).into_response();
            }
            let page = page(&told.kept, &body);
            match told.broken.iter().any(|words| page.contains(words)) {
                true => (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    json!({"status": 500, "error": "Internal Server Error", "response": {"message": "Cannot read properties of null"}})
                        .to_string(),
                )
                    .into_response(),
                false => page.into_response(),
            }
        }
        "/chat/getBase64FromMediaMessage/home" if told.file.is_empty() => (
            StatusCode::BAD_REQUEST,
            json!({"response": {"message": ["Error: gone evo_secret"]}}).to_string(),
        )
            .into_response(),
        "/chat/getBase64FromMediaMessage/home" => {
            let base64 = STANDARD.encode(&told.file);
            format!(r#"{{"mediaType":"imageMessage","caption":null,"base64":"{base64}","buffer":null}}"#)
                .into_response()
        }
        _ => json!({"message": "done"}).to_string().into_response(),
    }
}

fn page(kept: &[Value], body: &Value) -> String {
    let number = |name: &str| usize::try_from(body[name].as_u64().unwrap()).unwrap();
    let (page, length) = (number("page"), number("offset"));
    let records: Vec<String> = kept
        .iter()
        .rev()
        .skip((page - 1) * length)
        .take(length)
        .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
        .collect();
    format!(r#"{{"messages":{{"total":{},"records":[{}]}}}}"#, kept.len(), records.join(","))
}
