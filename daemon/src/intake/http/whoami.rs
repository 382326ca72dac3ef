//! Who a token belongs to.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};

use super::Door;
use crate::{agents::Role, intake::whoami::Whoami};

/// Who the token belongs to, and what it may do.
#[utoipa::path(
    get,
    path = "/v1/whoami",
    responses((status = OK, body = Whoami)),
)]
pub(super) async fn show(State(door): State<Door>, request: Request) -> Response {
    const EVERYBODY: &[Role] = &[Role::Agent, Role::Bridge, Role::Monitor, Role::Operator];
    door.serve(EVERYBODY, request, async |caller, _| {
        Ok(Json(Whoami::of(&door.pipeline(), &caller)).into_response())
    })
    .await
}
