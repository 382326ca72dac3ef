//! The text of an agent's turn.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};

use super::Door;
use crate::{agents::Role, intake::reply::Reply};

pub(super) async fn take(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/reply", &[Role::Agent], request, async |caller, request| {
        let turn = door.json(request).await?;
        let reply = Reply { pipeline: &door.0.pipeline, caller: &caller };
        Ok(Json(reply.take(turn).await?).into_response())
    })
    .await
}
