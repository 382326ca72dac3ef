//! Passkeys, of which this hub has none yet: the page is told so, and why.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Endpoint, companions::OPERATOR, problem::Refused};
use crate::message::refusal::{Code, Refusal};

/// Why there are none.
const NONE_YET: &str =
    "This hub has no passkeys yet: sign in by a link from gatepost open, or by the operator's token.";

/// Whether passkeys can be had where the page is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PasskeysHere {
    possible: bool,
    /// The name that they belong to.
    rp_id: Option<String>,
    /// Why not, and what to do.
    because: Option<&'static str>,
}

impl PasskeysHere {
    /// That there are none.
    pub(super) fn none() -> Self {
        Self { possible: false, rp_id: None, because: Some(NONE_YET) }
    }
}

/// The passkeys that there are.
#[derive(Debug, Serialize, ToSchema)]
struct Passkeys {
    /// Always true.
    ok: bool,
    #[schema(value_type = Vec<Object>)]
    passkeys: [(); 0],
}

/// That a call wants one.
pub(super) fn none_yet() -> Refusal {
    let hint = "sign in by a link from gatepost open, or by the operator's token";
    Refusal::new(Code::Conflict, "this hub has no passkeys yet", hint).because("passkeys")
}

/// The passkeys that there are: none, in this version. For the operator.
#[utoipa::path(
    get,
    path = "/v1/passkeys",
    responses((status = OK, body = Passkeys)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| Ok(Json(Passkeys { ok: true, passkeys: [] }).into_response()))
        .await
}

/// Asks for something that a passkey signs: refused, in this version. For the operator.
#[utoipa::path(
    post,
    path = "/v1/passkeys/challenge",
    security(()),
    responses(Refused<400>, Refused<409>),
)]
pub(super) async fn challenge(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let refused = async { super::problem::response(&none_yet()) };
    endpoint.serve_anybody(request, refused).await
}
