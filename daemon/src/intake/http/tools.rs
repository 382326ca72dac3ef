//! The tools over HTTP: described for the caller, and called.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Door, caller, messages::SENDERS};
use crate::intake::tool::{self, Tools};

#[derive(Debug, Default, Deserialize)]
struct Turn {
    context: Option<String>,
}

pub(super) async fn list(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/tools", SENDERS, request, async |caller, request| {
        let turn: Turn = caller::query(&request)?;
        let (tools, format) = door.tools(&caller).list(turn.context.as_deref()).await?;
        let mut answer = json!({"ok": true, "tools": tools});
        if let Some(format) = format {
            answer["tool_result_format"] = format.name().into();
        }
        Ok(Json(answer).into_response())
    })
    .await
}

pub(super) async fn call(
    State(door): State<Door>,
    tool: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("POST /v1/tools/{tool}", SENDERS, request, async |caller, request| {
        let tool = caller::path(tool)?;
        let arguments: Value = door.json(request).await?;
        let answer = door.tools(&caller).call(&tool, &arguments).await?;
        Ok(Json(answer).into_response())
    })
    .await
}

#[derive(Debug, Deserialize)]
struct Resource {
    uri: String,
}

pub(super) async fn resource(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/resource", SENDERS, request, async |caller, request| {
        let Resource { uri } = door.json(request).await?;
        Ok(Json(door.tools(&caller).read(&uri).await?).into_response())
    })
    .await
}

pub(super) async fn guide(
    State(door): State<Door>,
    channel: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("GET /v1/guide/{channel}", SENDERS, request, async |_, _| {
        Ok(Json(tool::guide(&caller::path(channel)?)?).into_response())
    })
    .await
}

impl Door {
    /// The tools in this caller's hand.
    pub(in crate::intake) fn tools<'a>(&'a self, caller: &'a crate::agents::Caller) -> Tools<'a> {
        Tools { pipeline: &self.0.pipeline, caller }
    }
}
