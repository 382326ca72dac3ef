//! `/openapi.json`: what the HTTP interface takes and answers.
//!
//! The handlers say it of themselves, and a test writes it from them into `daemon/openapi.json` (`described`), so that a change of the interface
//! is seen in the diff. `build.rs` puts that file into the program: the descriptions as code were half a megabyte of it.

#[cfg(test)]
mod described;

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    extract::{Request, State},
    http::header,
    response::{IntoResponse as _, Response},
};

#[cfg(test)]
pub(super) use self::described::Describe;
use super::{Endpoint, problem::Refused};

/// The document, packed by zlib.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.zlib"));

/// The methods at each path, and the query keys of each.
type QueryKeys = &'static [(&'static str, &'static [(&'static str, &'static [&'static str])])];

/// What the document says of query keys.
pub(super) const QUERY_KEYS: QueryKeys = include!(concat!(env!("OUT_DIR"), "/query_keys.rs"));

/// The document, as it is sent, from the first time that somebody asks for it: answers that wait to be read share it.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    miniz_oxide::inflate::decompress_to_vec_zlib(PACKED).expect("build.rs packed it").into()
});

/// This description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    security(()),
    responses((status = OK, body = Object, description = "OpenAPI 3.1"), Refused<400>)
)]
pub(super) async fn describe(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let document = async { ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response() };
    endpoint.serve_anybody(request, document).await
}
