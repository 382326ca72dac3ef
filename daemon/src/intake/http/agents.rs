//! Tokens, for the operator.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Endpoint, caller, problem::Refused};
use crate::{
    agents::{self, AgentError, Role},
    intake::message_service,
    message::refusal::{Code, Refusal},
};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct New {
    /// Whose; for an agent, the name of its section in the configuration.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,40}$")]
    name: String,
    role: Role,
}

/// A new token. This is the one time that it is seen.
#[derive(Debug, Serialize, ToSchema)]
struct Added {
    /// Always true.
    ok: bool,
    name: String,
    role: Role,
    token: String,
    /// False for an agent that the configuration does not know: it may send nothing.
    configured: bool,
}

/// Whose tokens there are.
#[derive(Debug, Serialize, ToSchema)]
struct Agents {
    /// Always true.
    ok: bool,
    agents: Vec<agents::Listed>,
}

/// It is done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Done {
    /// Always true.
    pub(super) ok: bool,
}

const OPERATOR: &[Role] = &[Role::Operator];

/// Whose tokens there are. For the operator.
#[utoipa::path(
    get,
    path = "/v1/agents",
    responses((status = OK, body = Agents)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let agents = agents::list(&endpoint.0.store).await.map_err(refused)?;
            Ok(Json(Agents { ok: true, agents }).into_response())
        })
        .await
}

/// Makes a token. For the operator.
#[utoipa::path(
    post,
    path = "/v1/agents",
    request_body = New,
    responses((status = CREATED, body = Added), Refused<409>),
)]
pub(super) async fn add(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let New { name, role } = endpoint.json(request).await?;
            let token =
                agents::add(&endpoint.0.store, &name, role, &caller.to_string()).await.map_err(refused)?;
            let configured = role != Role::Agent || endpoint.pipeline().knows(&name);
            let added = Added { ok: true, name, role, token, configured };
            Ok((StatusCode::CREATED, Json(added)).into_response())
        })
        .await
}

/// Takes a token away. For the operator.
#[utoipa::path(
    delete,
    path = "/v1/agents/{name}",
    params(("name" = String, Path, description = "Whose.")),
    responses((status = OK, body = Done), Refused<404>, Refused<409>),
)]
pub(super) async fn revoke(
    State(endpoint): State<Endpoint>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, _| {
            let name = caller::path(name)?;
            if name == caller.name {
                // Nobody would be left to make another.
                let error = "this is the token that the call is made with";
                return Err(Refusal::new(Code::Conflict, error, "have another operator revoke it"));
            }
            agents::revoke(&endpoint.0.store, &name, &caller.to_string()).await.map_err(refused)?;
            Ok(Json(Done { ok: true }).into_response())
        })
        .await
}

fn refused(error: AgentError) -> Refusal {
    let text = error.to_string();
    match error {
        AgentError::Name(_) | AgentError::Reserved(_) => Refusal::input(text, "choose another name"),
        AgentError::Exists(_) => Refusal::new(Code::Conflict, text, "revoke it, or choose another name"),
        AgentError::Missing(_) => Refusal::new(Code::NotFound, text, "see GET /v1/agents"),
        AgentError::Store(error) => message_service::broken(error),
    }
}
