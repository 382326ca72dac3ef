//! Refusals as RFC 9457 problems, with the members of the tool's own errors beside the standard ones.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::message::refusal::Refusal;

/// The answer to a refused call.
pub(super) fn response(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_status(refusal, status)
}

/// The same under a status that says more than the refusal's code does.
pub(super) fn with_status(refusal: &Refusal, status: StatusCode) -> Response {
    let mut body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": refusal.error,
        "ok": false,
        "code": refusal.code,
        "error": refusal.error,
        "hint": refusal.hint,
    });
    if let Some(reason) = refusal.reason {
        body["reason"] = reason.into();
    }
    let mut response = (status, body.to_string()).into_response();
    let kind = header::HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = header::HeaderValue::from_static("Bearer realm=\"gatepost\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
