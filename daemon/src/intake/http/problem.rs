//! Refusals as RFC 9457 problems, with the members of the tool's own errors beside the standard ones.

use std::collections::BTreeMap;

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{self, RefOr},
};

use crate::message::refusal::Refusal;

/// The media type of a refusal (RFC 9457, 3).
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// Why a call was refused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Problem {
    /// Always `about:blank`.
    r#type: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    status: u16,
    /// The same as `error`.
    detail: String,
    /// Always false.
    ok: bool,
    #[serde(flatten)]
    refusal: Refusal,
}

/// The answer to a refused call.
pub(super) fn response(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_status(refusal, status)
}

/// The same under a status that says more than the refusal's code does.
pub(super) fn with_status(refusal: &Refusal, status: StatusCode) -> Response {
    let problem = Problem {
        r#type: "about:blank",
        title: title(status),
        status: status.as_u16(),
        detail: refusal.error.clone(),
        ok: false,
        refusal: refusal.clone(),
    };
    let body = serde_json::to_string(&problem).expect("a problem is plain data");
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(MEDIA_TYPE));
    if status == StatusCode::UNAUTHORIZED {
        let challenge = header::HeaderValue::from_static("Bearer realm=\"gatepost\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

fn title(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}

/// That a call may be refused with this status, for its description.
pub(super) struct Refused<const STATUS: u16>;

impl<const STATUS: u16> IntoResponses for Refused<STATUS> {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let status = StatusCode::from_u16(STATUS).expect("a status is written as one");
        let problem = openapi::Content::new(Some(openapi::Ref::from_schema_name("Problem")));
        let response =
            openapi::ResponseBuilder::new().description(title(status)).content(MEDIA_TYPE, problem);
        BTreeMap::from([(STATUS.to_string(), response.build().into())])
    }
}
