//! What a bridge reports: somebody wrote to an agent.

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Endpoint, problem::Refused};
use crate::{
    admission::submit::no_room,
    agents::Role,
    channels::registry,
    intake::{message_service, views::time},
    message::{
        refusal::{Code, NO_ACCOUNT, Refusal},
        target::{MAX_ADDRESS, fits_an_id},
    },
    outbox::bounds::Full,
    pipeline::Pipeline,
    sessions::{self, Inbound},
    store::now_ms,
};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Report {
    /// The agent that it is for.
    agent: String,
    channel: String,
    /// The hub's account there, where the channel has several.
    #[serde(default)]
    account_id: Option<String>,
    /// The conversation.
    peer: String,
    /// The thread in it.
    #[serde(default)]
    thread_id: Option<String>,
    /// The agent's session; `main` where it is left out.
    #[serde(default)]
    session: Option<String>,
    /// Who wrote it.
    #[serde(default)]
    sender: Option<String>,
    /// The platform's id of it.
    #[serde(default)]
    message_id: Option<String>,
    /// What it says.
    #[serde(default)]
    text: String,
}

/// What the agent's turn is given.
#[derive(Debug, Serialize, ToSchema)]
struct Issued {
    /// Always true.
    ok: bool,
    /// The proof of the conversation that the turn came from.
    context: String,
    /// When it expires (RFC 3339).
    expires_at: String,
    /// How the results of tools are best written in that conversation.
    tool_result_format: &'static str,
}

/// Records what somebody wrote to an agent. For bridges and the operator.
#[utoipa::path(
    post,
    path = "/v1/inbound",
    request_body(
        content = Report,
        example = json!({"agent": "engineer", "channel": "local", "peer": "ann", "text": "How is the build?"}),
    ),
    responses((status = CREATED, body = Issued), Refused<422>, Refused<503>),
)]
pub(super) async fn receive(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Bridge, Role::Operator], request, async |caller, request| {
            let report: Report = endpoint.json(request).await?;
            let pipeline = endpoint.pipeline();
            let mut inbound = checked(&pipeline, report)?;
            let Inbound { channel, account, peer, .. } = &inbound;
            inbound.peer = pipeline.identity_of(channel, account, peer).await?;
            let format = registry::tool_result_format(&inbound.channel);
            let room = endpoint.0.store.space().look();
            if !room.accepts() {
                return Err(no_room(Full::Disk(room)));
            }
            let ttl = i64::try_from(pipeline.context_ttl().as_millis()).unwrap_or(i64::MAX);
            let expires_at = now_ms().saturating_add(ttl);
            let context = sessions::receive(&endpoint.0.store, inbound, expires_at, &caller.to_string())
                .await
                .map_err(message_service::broken)?;
            let expires_at = time(expires_at);
            let issued = Issued { ok: true, context, expires_at, tool_result_format: format.name() };
            Ok((StatusCode::CREATED, Json(issued)).into_response())
        })
        .await
}

fn checked(pipeline: &Pipeline, report: Report) -> Result<Inbound, Refusal> {
    let short = [&report.thread_id, &report.session, &report.sender, &report.message_id];
    if short.into_iter().flatten().any(|text| text.is_empty() || !fits_an_id(text)) {
        let error = format!("an id is empty or longer than {MAX_ADDRESS} characters");
        return Err(Refusal::input(error, "leave out what you do not know"));
    }
    if !pipeline.knows(&report.agent) {
        let error = format!("there is no agent {:?}", report.agent.chars().take(40).collect::<String>());
        let hint = "agents are the [agents.NAME] sections of the configuration";
        return Err(Refusal::input(error, hint).because("unknown_agent"));
    }
    let accounts = pipeline.accounts();
    let (account, adapter) =
        accounts.pick(&report.channel, report.account_id.as_deref()).map_err(|error| {
            Refusal::new(
                Code::ExecutionFailed,
                error.to_string(),
                "give the channel and account as configured",
            )
            .because(NO_ACCOUNT)
        })?;
    let peer = adapter
        .resolve(&report.peer)
        .map_err(|error| Refusal::input(error.to_string(), error.hint).because("bad_address"))?;
    Ok(Inbound {
        agent: report.agent,
        channel: report.channel,
        account: account.to_owned(),
        peer,
        // An adapter without threads has none, whatever the bridge says.
        thread: report.thread_id.filter(|_| adapter.capabilities().threads),
        session: report.session.unwrap_or_else(|| "main".into()),
        sender: report.sender,
        platform_id: report.message_id,
        text: report.text,
    })
}
