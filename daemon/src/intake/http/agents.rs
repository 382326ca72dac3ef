//! Tokens, for the operator.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{Door, caller};
use crate::{
    agents::{self, AgentError, Role},
    message::refusal::{Code, Refusal},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    name: String,
    role: Role,
}

const OPERATOR: &[Role] = &[Role::Operator];

pub(super) async fn list(State(door): State<Door>, headers: HeaderMap) -> Response {
    door.with_caller("GET /v1/agents", &headers, OPERATOR, async |_| {
        let agents = agents::list(&door.0.store).await.map_err(refused)?;
        Ok(Json(json!({"ok": true, "agents": agents})).into_response())
    })
    .await
}

pub(super) async fn add(
    State(door): State<Door>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Response {
    door.with_caller("POST /v1/agents", &headers, OPERATOR, async |caller| {
        let New { name, role } = caller::json(&caller::body(bytes)?)?;
        let token = agents::add(&door.0.store, &name, role, &caller.to_string()).await.map_err(refused)?;
        let configured = role != Role::Agent || door.0.pipeline.knows(&name);
        let body = json!({"ok": true, "name": name, "role": role, "token": token, "configured": configured});
        Ok((StatusCode::CREATED, Json(body)).into_response())
    })
    .await
}

pub(super) async fn revoke(
    State(door): State<Door>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    door.with_caller("DELETE /v1/agents/{name}", &headers, OPERATOR, async |caller| {
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
        AgentError::Store(error) => caller::broken(error),
    }
}
