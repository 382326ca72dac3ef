//! The `local` inbox, for the person at the shell.

use axum::{
    Json,
    extract::{Query, State},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{Door, caller};
use crate::{agents::Role, channels::local};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    address: Option<String>,
    after: Option<i64>,
}

pub(super) async fn read(
    State(door): State<Door>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Response {
    door.with_caller("GET /v1/local", &headers, &[Role::Operator], async |_| {
        let arrived = local::read(&door.0.store, which.address, which.after.unwrap_or(0), 1_000)
            .await
            .map_err(caller::broken)?;
        Ok(Json(json!({"ok": true, "arrived": arrived})).into_response())
    })
    .await
}
