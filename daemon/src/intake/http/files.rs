//! Handing in a file before the message that it goes along with.
//!
//! The body is the file, of any type, and is written away as it comes: the bound on it is that of files, and not that of
//! other bodies.

use std::time::Duration;

use axum::{
    Json,
    body::HttpBody as _,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::{Door, messages::SENDERS};
use crate::message::refusal::Refusal;

/// Between two pieces of a body.
const SILENCE: Duration = Duration::from_secs(20);

pub(super) async fn upload(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/files", SENDERS, request, async |caller, request| {
        let body = request.into_body();
        let expected = body.size_hint().exact();
        let pieces = stream::unfold(body.into_data_stream(), async |mut body| {
            match tokio::time::timeout(SILENCE, body.next()).await {
                Ok(piece) => piece.map(|piece| (piece.map_err(|error| error.to_string()), body)),
                Err(_) => Some((Err("nothing more came".to_owned()), body)),
            }
        });
        let files = door.0.pipeline.files();
        let taken = files.upload(caller.agent(), expected, Box::pin(pieces)).await.map_err(Refusal::from)?;
        let answer = json!({
            "ok": true, "file": taken.file.to_string(), "size": taken.size, "kind": taken.kind,
            "expires_in": taken.lasts.as_secs(),
        });
        Ok((StatusCode::CREATED, Json(answer)).into_response())
    })
    .await
}
