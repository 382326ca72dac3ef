//! Heartbeats: an agent sees its own, the operator all.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::Endpoint;
use crate::{agents::Role, heartbeat::listing::Heartbeat, intake::message_service::broken};

/// Heartbeats, by their agents.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedHeartbeats)]
struct Listed {
    /// Always true.
    ok: bool,
    heartbeats: Vec<Heartbeat>,
}

/// When each heartbeat is due, where its text goes, and why none would come now.
#[utoipa::path(
    get,
    path = "/v1/heartbeats",
    responses((status = OK, body = Listed)),
)]
pub(super) async fn heartbeats(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, _| {
            let of = (caller.role != Role::Operator).then_some(caller.name.as_str());
            let heartbeats = endpoint.pipeline().list_heartbeats(of).await.map_err(broken)?;
            Ok(Json(Listed { ok: true, heartbeats }).into_response())
        })
        .await
}
