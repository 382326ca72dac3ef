//! Handing in a file before the message that it goes along with, and looking at one that the hub keeps.
//!
//! The body is the file, of any type, and is written away as it comes: the bound on it is that of files, and not that of
//! other bodies.

use std::{fmt::Write as _, fs::File, io::Read as _, time::Duration};

use axum::{
    Json,
    body::{Body, Bytes, HttpBody as _},
    extract::{Path, Request, State, rejection::PathRejection},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::{Stream, StreamExt as _, stream};
use gatepost_link::Digest;
use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    Endpoint,
    caller::{self, SENDERS},
    problem::Refused,
};
use crate::{
    agents::Role,
    audit::checkpoint::from_hex,
    files::{
        given,
        kept::{Checked, KeptError},
        media_type,
    },
    intake::message_service::broken,
    message::{
        attachment::Attachment,
        refusal::{Code, Refusal},
    },
    store::StoreError,
};

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

/// Kinds of files that a browser may show: pictures, which run nothing.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/// Bytes that are read at once: as many as tell what a file is. Each request that is answered holds so many.
const BLOCK_BYTES: usize = 16 * 1024;

/// A file that the hub keeps, by the SHA-256 of its bytes.
///
/// For an agent, one that it was told of in a turn of its own; for the operator, any.
/// It is an attachment, whatever it is, but for pictures; and a browser gives it no rights.
#[utoipa::path(
    get,
    path = "/v1/files/{sha256}",
    params(("sha256" = String, Path, description = "The hash, in 64 hexadecimal digits.")),
    responses(
        (status = OK, description = "Its bytes; a picture under its own media type.", content(
            (Vec<u8> = "application/octet-stream"), (Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"),
            (Vec<u8> = "image/gif"),
        )),
        Refused<404>,
    ),
)]
pub(super) async fn download(
    State(endpoint): State<Endpoint>,
    sha256: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, _| {
            let digest = from_hex(&caller::path(sha256)?).map(Digest).ok_or_else(nothing)?;
            let named = endpoint.0.store.look(|db| match caller.role {
                Role::Operator => name_of(db, &digest).map(Some),
                _ => given(db, caller.agent(), &digest).map(|told| told.map(Some)),
            });
            // Whether it is here is nobody's to know whom it is not for.
            let named = named.map_err(broken)?.ok_or_else(nothing)?;
            // All of it is read and compared before the first byte leaves.
            let Checked { mut file, size } = match endpoint.pipeline().files().look(&digest).await? {
                Ok(checked) => checked,
                Err(KeptError::Gone(..)) => return Err(nothing()),
                Err(error @ KeptError::Changed(_)) => {
                    let hint = "the data directory was changed by somebody else than the hub";
                    return Err(Refusal::new(Code::ExecutionFailed, error.to_string(), hint));
                }
            };
            let (file, head) = tokio::task::spawn_blocking(move || {
                let mut head = vec![];
                (&mut file).take(BLOCK_BYTES as u64).read_to_end(&mut head)?;
                Ok::<_, std::io::Error>((file, head))
            })
            .await
            .map_err(broken)?
            .map_err(broken)?;
            let kind = media_type(&head);
            let shown = SHOWN.iter().find(|shown| **shown == kind);
            let how = if shown.is_some() { "inline" } else { "attachment" };
            let kind = shown.map_or("application/octet-stream", |shown| shown);
            let headers = [
                (header::CONTENT_TYPE, kind.to_owned()),
                (header::CONTENT_LENGTH, size.to_string()),
                (
                    header::CONTENT_DISPOSITION,
                    format!(
                        "{how}; filename*=UTF-8\'\'{}",
                        encoded(&named.unwrap_or_else(|| digest.to_string()))
                    ),
                ),
                (header::CONTENT_SECURITY_POLICY, "default-src \'none\'; sandbox".to_owned()),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
                (header::CACHE_CONTROL, "private, no-store".to_owned()),
            ];
            Ok((headers, Body::from_stream(pieces(file, head))).into_response())
        })
        .await
}

/// The bytes of a file, of which `head` was read.
fn pieces(file: File, head: Vec<u8>) -> impl Stream<Item = std::io::Result<Bytes>> {
    stream::try_unfold((file, Some(head)), |(mut file, head)| async move {
        if let Some(head) = head.filter(|head| !head.is_empty()) {
            return Ok(Some((Bytes::from(head), (file, None))));
        }
        let read = tokio::task::spawn_blocking(move || {
            let mut block = vec![0; BLOCK_BYTES];
            let read = file.read(&mut block)?;
            block.truncate(read);
            Ok::<_, std::io::Error>((file, block))
        });
        let (file, block) = read.await.map_err(std::io::Error::other)??;
        Ok((!block.is_empty()).then(|| (Bytes::from(block), (file, None))))
    })
}

/// What a message that has the file calls it.
fn name_of(db: &Connection, digest: &Digest) -> Result<Option<String>, StoreError> {
    let sql = "SELECT attachments FROM file_uses JOIN messages ON seq = message WHERE digest = ? LIMIT 1";
    let listed: Option<Option<String>> =
        db.prepare_cached(sql)?.query_row([digest.0], |row| row.get(0)).optional()?;
    let files: Vec<Attachment> =
        listed.flatten().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    Ok(files.into_iter().find(|file| file.sha256 == *digest).map(|file| file.name))
}

/// A name as RFC 8187 has it in a header: UTF-8, percent-encoded.
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            true => text.push(char::from(byte)),
            false => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

fn nothing() -> Refusal {
    let hint = "a file stays as long as a message, the local inbox or something received needs it";
    Refusal::new(Code::NotFound, "the hub has no such file", hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_header_is_its_own_and_nothing_else() {
        assert_eq!(encoded("Rückruf \"1\";\r\nx.pdf"), "R%C3%BCckruf%20%221%22%3B%0D%0Ax.pdf");
    }

    #[test]
    fn only_pictures_are_shown() {
        for (head, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"GIF89a\x01\0\x01\0", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        ] {
            assert_eq!(media_type(head), kind);
            assert!(SHOWN.contains(&kind));
        }
        for head in [
            &b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"[..],
            b"<!doctype html><script>",
            b"%PDF-1.4\n",
            b"",
        ] {
            assert!(!SHOWN.contains(&media_type(head).as_str()), "{head:?}");
        }
    }
}
