//! Who a token belongs to.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};

use super::Endpoint;
use crate::{agents::Role, intake::whoami::Whoami};

/// Who the token belongs to, and what it may do.
#[utoipa::path(
    get,
    path = "/v1/whoami",
    responses((status = OK, body = Whoami)),
)]
pub(super) async fn show(State(endpoint): State<Endpoint>, request: Request) -> Response {
    const EVERYBODY: &[Role] = &[Role::Agent, Role::Bridge, Role::Monitor, Role::Operator];
    endpoint
        .serve(EVERYBODY, request, async |caller, _| {
            Ok(Json(Whoami::of(&endpoint.pipeline(), &caller)).into_response())
        })
        .await
}
