//! The tools over HTTP: described for the caller, and called.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use super::{
    Endpoint,
    caller::{self, SENDERS},
    problem::Refused,
    progress, query,
};
use crate::{
    agents::Caller,
    channels::formats::ToolResults,
    intake::tool::{Described, Guide, Tools},
    message::refusal::Refusal,
};

/// By which a caller says in which session of its own it calls.
const SESSION: &str = "gatepost-session";
/// The longest name of one, in characters.
const MAX_SESSION: usize = 100;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Turn {
    /// The context of the turn.
    context: Option<String>,
}

/// The tools in a caller's hand.
#[derive(Debug, Serialize, ToSchema)]
struct InHand {
    /// Always true.
    ok: bool,
    tools: Vec<Described>,
    /// How the results of tools are best written in the conversation of the turn; only with its context.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_result_format: Option<&'static str>,
}

/// The tools, described for who asks.
#[utoipa::path(
    get,
    path = "/v1/tools",
    params(Turn),
    responses((status = OK, body = InHand)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let turn: Turn = query::read(&request)?;
            let (tools, format) = endpoint.tools(&caller, "").list(turn.context.as_deref()).await?;
            let tool_result_format = format.map(ToolResults::name);
            Ok(Json(InHand { ok: true, tools, tool_result_format }).into_response())
        })
        .await
}

/// Calls a tool.
///
/// What it sends is waited for, 20 s where `wait` does not say otherwise. Who accepts `text/event-stream` is told meanwhile how things
/// stand (`under_way`), and last the answer (`answer`).
#[utoipa::path(
    post,
    path = "/v1/tools/{tool}",
    params(
        ("tool" = String, Path, description = "Its name.", example = "message"),
        ("Gatepost-As-Operator" = Option<String>, Header, description = "`true`, if an operator's token is used on purpose."),
        ("Gatepost-Session" = Option<String>, Header, min_length = 1, max_length = 100, description = "The caller's own name for its session: a channel's guide is given once in each."),
    ),
    request_body(
        content = Object,
        description = "Its arguments.",
        example = json!({"to": "local:team", "message": "Shall we begin?"}),
    ),
    responses((status = OK, description = "What the tool answers.", content((Object = "application/json"), ("text/event-stream"))), Refused<404>, Refused<409>, Refused<422>, Refused<429>, Refused<503>),
)]
pub(super) async fn call(
    State(endpoint): State<Endpoint>,
    tool: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve_tools(request, async |caller, request| {
            let tool = caller::path(tool)?;
            let session = session(request.headers())?;
            let streams = progress::is_asked_for(request.headers());
            let arguments: Value = endpoint.json(request).await?;
            if !streams {
                let answer = endpoint.tools(&caller, &session).call(&tool, arguments, None).await?;
                return Ok(Json(answer).into_response());
            }
            let (telling, steps) = mpsc::channel(1);
            let (endpoint, of) = (endpoint.clone(), caller);
            let call = Box::pin(async move {
                let answer = endpoint.tools(&of, &session).call(&tool, arguments, Some(&telling)).await;
                (endpoint, of, answer)
            });
            progress::step_by_step(call, steps).await
        })
        .await
}

#[derive(Debug, Deserialize, ToSchema)]
struct Resource {
    /// Its address, `gatepost://…`.
    uri: String,
}

/// What stands at a resource's address, as over MCP.
#[utoipa::path(
    post,
    path = "/v1/resource",
    request_body(content = Resource, example = json!({"uri": "gatepost://queue"})),
    responses((status = OK, body = Object, description = "It."), Refused<404>),
)]
pub(super) async fn resource(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let Resource { uri } = endpoint.json(request).await?;
            Ok(Json(endpoint.tools(&caller, "").read(&uri).await?).into_response())
        })
        .await
}

/// How to write for a channel.
#[utoipa::path(
    get,
    path = "/v1/guide/{channel}",
    params(("channel" = String, Path, description = "The channel.", example = "telegram")),
    responses((status = OK, body = Guide), Refused<404>),
)]
pub(super) async fn guide(
    State(endpoint): State<Endpoint>,
    channel: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, _| {
            Ok(Json(endpoint.tools(&caller, "").guide(&caller::path(channel)?)?).into_response())
        })
        .await
}

/// The session that a caller names.
fn session(headers: &HeaderMap) -> Result<String, Refusal> {
    let Some(named) = headers.get(SESSION) else { return Ok(String::new()) };
    let named = named.to_str().ok().filter(|name| (1..=MAX_SESSION).contains(&name.len()));
    named.map(str::to_owned).ok_or_else(|| {
        let hint = format!("use 1 to {MAX_SESSION} printable characters");
        Refusal::input("the Gatepost-Session cannot be used", hint).because("session")
    })
}

impl Endpoint {
    /// The tools in this caller's hand.
    pub(super) fn tools<'a>(&'a self, caller: &'a Caller, session: &'a str) -> Tools<'a> {
        Tools { pipeline: self.pipeline(), caller, session }
    }
}
