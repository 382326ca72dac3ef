//! The text of an agent's turn: the tool `reply`, by a path of its own.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};

use serde_json::Value;

use super::Door;
use crate::agents::Role;

pub(super) async fn take(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/reply", &[Role::Agent], request, async |caller, request| {
        let turn: Value = door.json(request).await?;
        Ok(Json(door.tools(&caller).call("reply", &turn).await?).into_response())
    })
    .await
}
