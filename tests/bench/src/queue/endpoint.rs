//! A door without a hub behind it: reads the same call, parses it as the hub does, and answers.

use std::{net::SocketAddr, process::Command, time::Duration};

use axum::{
    Json, Router,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::post,
};
use gatepost::{
    channels::registry::KINDS,
    message::{
        MessageId,
        call::Call,
        receipt::{PartReceipt, Receipt},
        state::{PartState, State},
    },
};
use serde_json::Value;

use super::{
    Outcome,
    fixture::{self, Process},
};

/// The hub's own bounds on a body.
const MAX_BODY: usize = 256 * 1024;
const BODY: Duration = Duration::from_secs(20);

/// An endpoint in a process of its own, and where it listens.
pub(super) fn start() -> Outcome<(Process, SocketAddr)> {
    let address = fixture::free_address()?;
    let mut command: Command = fixture::this(&["--endpoint", &address.to_string()], None)?;
    let process = Process::start(&mut command)?;
    while std::net::TcpStream::connect(address).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok((process, address))
}

/// Serves at `address` until the process ends.
pub(crate) fn serve(address: &str) -> Outcome<()> {
    // As many threads as `gatepost run` has.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let routes = Router::new().route("/v1/messages", post(parse)).fallback(|| async { "" });
        Ok(axum::serve(listener, routes).await?)
    })
}

async fn parse(request: Request) -> Response {
    let read = tokio::time::timeout(BODY, axum::body::to_bytes(request.into_body(), MAX_BODY));
    let Ok(Ok(bytes)) = read.await else { return StatusCode::BAD_REQUEST.into_response() };
    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let channels: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    let Ok(_call) = Call::parse(&value, &channels) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let receipt = Receipt {
        reason: None,
        deduplicated: false,
        stand_in: None,
        ok: true,
        id: MessageId::new(),
        state: State::Ready,
        code: None,
        error: None,
        detail: None,
        deadline: None,
        paused_until: None,
        decided_by_software: false,
        hint: Receipt::hint(State::Ready, None).map(Into::into),
        asked: None,
        history: vec![],
        written_as: None,
        to: value["to"].as_str().unwrap_or_default().to_owned(),
        sent: Some("0 of 1".into()),
        parts: vec![PartReceipt {
            state: PartState::Planned,
            platform_id: None,
            text: None,
            reason: None,
            error: None,
            recipients: None,
            delivered_at: None,
            read_at: None,
        }],
        attachments: vec![],
    };
    (StatusCode::ACCEPTED, Json(receipt)).into_response()
}
