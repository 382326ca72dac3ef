//! Handing in a file before the message that it goes along with.
//!
//! The body is the file, of any type, and is written away as it comes: the bound on it is that of files, and not that of
//! other bodies.

use std::time::Duration;

use axum::{
    Json,
    body::{Bytes, HttpBody as _},
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Endpoint, caller::SENDERS, problem::Refused};
use crate::message::refusal::Refusal;

/// Between two pieces of a body.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of a refused file that are read and dropped.
const HEARD_OUT: usize = 64 * 1024 * 1024;

/// A file that was handed in.
#[derive(Debug, Serialize, ToSchema)]
struct HandedIn {
    /// Always true.
    ok: bool,
    /// What a call names it by: SHA-256 of its bytes.
    file: String,
    /// Bytes.
    size: u64,
    /// The media type, by its content.
    kind: String,
    /// For how many seconds it is kept for a message.
    expires_in: u64,
}

/// Many clients read the answer only after they have sent all of the body; a client that is cut off sees a broken connection and no reason.
async fn hear_out<E>(pieces: &mut (impl Stream<Item = Result<Bytes, E>> + Unpin)) {
    let all = async {
        let mut bytes_read = 0;
        while let Some(Ok(piece)) = pieces.next().await {
            bytes_read += piece.len();
            if bytes_read > HEARD_OUT {
                break;
            }
        }
    };
    // A client that sends more than this is cut off after all.
    let _ = tokio::time::timeout(SILENCE_TIMEOUT, all).await;
}

/// Takes a file, as the body, for messages of the next hour.
#[utoipa::path(
    post,
    path = "/v1/files",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "Of any type: what it is, its content says."),
    responses((status = CREATED, body = HandedIn), Refused<429>, Refused<503>),
)]
pub(super) async fn upload(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let body = request.into_body();
            let expected = body.size_hint().exact();
            let pieces =
                stream::unfold(body.into_data_stream(), async |mut body| {
                    match tokio::time::timeout(SILENCE_TIMEOUT, body.next()).await {
                        Ok(piece) => piece.map(|piece| (piece.map_err(|error| error.to_string()), body)),
                        Err(_) => Some((Err("nothing more came".to_owned()), body)),
                    }
                });
            // Fused, for an empty one is looked for more of.
            let mut pieces = Box::pin(pieces.fuse());
            let taken = endpoint.pipeline().files().upload(caller.agent(), expected, &mut pieces).await;
            let taken = match taken {
                Ok(taken) => taken,
                Err(error) => {
                    hear_out(&mut pieces).await;
                    return Err(Refusal::from(error));
                }
            };
            let handed_in = HandedIn {
                ok: true,
                file: taken.file.to_string(),
                size: taken.size,
                kind: taken.kind,
                expires_in: taken.lasts.as_secs(),
            };
            Ok((StatusCode::CREATED, Json(handed_in)).into_response())
        })
        .await
}
