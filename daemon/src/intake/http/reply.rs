//! The text of an agent's turn: the tool `reply`, by a path of its own.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde_json::Value;

use super::{Endpoint, problem::Refused};
use crate::{
    agents::Role,
    intake::reply::{Outcome, Turn},
};

/// Takes the text of an agent's turn: it goes where the turn came from, its blocks to whom they name.
#[utoipa::path(
    post,
    path = "/v1/reply",
    request_body = Turn,
    responses(
        (status = OK, body = Outcome, description = "What became of each message of it."),
        Refused<404>,
        Refused<409>,
        Refused<429>,
        Refused<503>,
    ),
)]
pub(super) async fn take(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent], request, async |caller, request| {
            let turn: Value = endpoint.json(request).await?;
            Ok(Json(endpoint.tools(&caller, "").call("reply", turn, None).await?).into_response())
        })
        .await
}
