//! The `local` inbox, for the person at the shell.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{Door, caller};
use crate::{agents::Role, channels::local, intake::desk};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    address: Option<String>,
    after: Option<i64>,
}

pub(super) async fn read(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/local", &[Role::Operator], request, async |_, request| {
        let which: Which = caller::query(&request)?;
        let arrived = local::read(&door.0.store, which.address, which.after.unwrap_or(0), 1_000)
            .await
            .map_err(desk::broken)?;
        Ok(Json(json!({"ok": true, "arrived": arrived})).into_response())
    })
    .await
}
