//! The text of an agent's turn: the tool `reply`, by a path of its own.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde_json::Value;

use super::Door;
use crate::{
    agents::Role,
    intake::reply::{Outcome, Turn},
};

/// Takes the text of an agent's turn: it goes where the turn came from, its blocks to whom they name.
#[utoipa::path(
    post,
    path = "/v1/reply",
    request_body = Turn,
    responses((status = OK, body = Outcome, description = "What became of each message of it.")),
)]
pub(super) async fn take(State(door): State<Door>, request: Request) -> Response {
    door.serve(&[Role::Agent], request, async |caller, request| {
        let turn: Value = door.json(request).await?;
        Ok(Json(door.tools(&caller, "").call("reply", turn, None).await?).into_response())
    })
    .await
}
