//! Tokens, for the operator.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{Door, caller};
use crate::{
    agents::{self, AgentError, Role},
    intake::desk,
    message::refusal::{Code, Refusal},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    name: String,
    role: Role,
}

const OPERATOR: &[Role] = &[Role::Operator];

pub(super) async fn list(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/agents", OPERATOR, request, async |_, _| {
        let agents = agents::list(&door.0.store).await.map_err(refused)?;
        Ok(Json(json!({"ok": true, "agents": agents})).into_response())
    })
    .await
}

pub(super) async fn add(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/agents", OPERATOR, request, async |caller, request| {
        let New { name, role } = door.json(request).await?;
        let token = agents::add(&door.0.store, &name, role, &caller.to_string()).await.map_err(refused)?;
        let configured = role != Role::Agent || door.0.pipeline.knows(&name);
        let body = json!({"ok": true, "name": name, "role": role, "token": token, "configured": configured});
        Ok((StatusCode::CREATED, Json(body)).into_response())
    })
    .await
}

pub(super) async fn revoke(
    State(door): State<Door>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("DELETE /v1/agents/{name}", OPERATOR, request, async |caller, _| {
        let name = caller::path(name)?;
        agents::revoke(&door.0.store, &name, &caller.to_string()).await.map_err(refused)?;
        Ok(Json(json!({"ok": true})).into_response())
    })
    .await
}

fn refused(error: AgentError) -> Refusal {
    let text = error.to_string();
    match error {
        AgentError::Name(_) => Refusal::input(text, "choose another name"),
        AgentError::Exists(_) => Refusal::new(Code::Conflict, text, "revoke it, or choose another name"),
        AgentError::Missing(_) => Refusal::new(Code::NotFound, text, "see GET /v1/agents"),
        AgentError::Store(error) => desk::broken(error),
    }
}
