//! What the hub tells: an agent's inbox, the mirror of its sessions, and whether its channels are ready.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Endpoint, caller::SENDERS, messages::listed, query};
use crate::{
    agents::Role,
    intake::message_service,
    message::refusal::{Code, Refusal},
    outbox::{notices::Notice, transcript::TranscriptEntry},
    pipeline::readiness::Ready,
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// The number of the last notice that was read.
    after: Option<i64>,
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// Notices, oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct Notices {
    /// Always true.
    ok: bool,
    notices: Vec<Notice>,
}

/// What the hub has to tell an agent: every end other than `sent`, with its reason, `sent` of what a person was asked about,
/// and what somebody entered into a form.
#[utoipa::path(
    get,
    path = "/v1/inbox",
    params(Since),
    responses((status = OK, body = Notices)),
)]
pub(super) async fn inbox(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let since: Since = query::read(&request)?;
            let limit = listed(since.limit)?;
            let pipeline = endpoint.pipeline();
            let outbox = pipeline.outbox();
            let notices = outbox.notices(caller.agent(), since.after.unwrap_or(0), limit).await;
            Ok(Json(Notices { ok: true, notices: notices.map_err(message_service::broken)? }).into_response())
        })
        .await
}

/// Accounts.
#[derive(Debug, Serialize, ToSchema)]
struct Channels {
    /// Whether all of them are ready.
    ok: bool,
    channels: Vec<Ready>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// Ask those that were not asked within the last ten seconds; else within the last minute.
    #[serde(default)]
    fresh: bool,
}

/// Whether the platforms that an agent may write to would take something now, or why not; all of them, for the operator. For
/// whoever runs an agent, before its turn. A platform is asked once a minute at most, and not while it
/// has asked for a pause: its account is not ready until then (`paused_until`).
#[utoipa::path(
    get,
    path = "/v1/channels",
    params(Asked),
    responses((status = OK, body = Channels)),
)]
pub(super) async fn channels(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let asked: Asked = query::read(&request)?;
            let agent = (caller.role != Role::Operator).then(|| caller.agent());
            let pipeline = endpoint.pipeline();
            let channels = match asked.fresh {
                true => pipeline.ready_anew(agent).await,
                false => pipeline.ready(agent).await,
            };
            let channels = channels.map_err(message_service::broken)?;
            Ok(Json(Channels { ok: channels.iter().all(|one| one.ready), channels }).into_response())
        })
        .await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Whose; the operator may ask for anybody's.
    agent: Option<String>,
    /// Of this session alone.
    session: Option<String>,
    /// The number of the last one that was read.
    after: Option<i64>,
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// What an agent has said, oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct Transcript {
    /// Always true.
    ok: bool,
    said: Vec<TranscriptEntry>,
}

/// What arrived of what an agent has said, session by session.
#[utoipa::path(
    get,
    path = "/v1/transcript",
    params(Wanted),
    responses((status = OK, body = Transcript)),
)]
pub(super) async fn transcript(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let wanted: Wanted = query::read(&request)?;
            let agent = match wanted.agent {
                Some(agent) if caller.role == Role::Operator || agent == caller.name => agent,
                Some(_) => {
                    let hint = "leave agent out, for your own";
                    return Err(Refusal::new(Code::Forbidden, "this is another agent's transcript", hint));
                }
                None => caller.agent().to_owned(),
            };
            let limit = listed(wanted.limit)?;
            let pipeline = endpoint.pipeline();
            let outbox = pipeline.outbox();
            let said = outbox.said(&agent, wanted.session, wanted.after.unwrap_or(0), limit).await;
            Ok(Json(Transcript { ok: true, said: said.map_err(message_service::broken)? }).into_response())
        })
        .await
}
