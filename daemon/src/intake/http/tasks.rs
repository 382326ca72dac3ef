//! Tasks: an agent sees and cancels its own, the operator all.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Endpoint, caller, messages::listed, problem::Refused, query};
use crate::{
    agents::Role,
    intake::{message_service::broken, tasks},
    tasks::book::{self, Task},
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Only this agent's; for the operator.
    agent: Option<String>,
    /// Those that are over too.
    ended: Option<bool>,
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// Tasks, those that are due next first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedTasks)]
struct Listed {
    /// Always true.
    ok: bool,
    tasks: Vec<Task>,
}

/// What agents are to be woken for later. They schedule it by the tool `schedule_task`.
#[utoipa::path(
    get,
    path = "/v1/tasks",
    params(Wanted),
    responses((status = OK, body = Listed), Refused<400>),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, request| {
            let wanted: Wanted = query::read(&request)?;
            let limit = listed(wanted.limit)?;
            let own = (caller.role != Role::Operator).then(|| caller.name.clone());
            let pipeline = endpoint.pipeline();
            let routing = pipeline.0.routing.clone();
            let ended = wanted.ended.unwrap_or(false);
            let read = pipeline.outbox().store().read(move |db| match own {
                Some(agent) => book::list_own(db, &routing.people, &agent, ended, limit),
                None => book::list(db, wanted.agent.as_deref(), ended, limit),
            });
            Ok(Json(Listed { ok: true, tasks: read.await.map_err(broken)? }).into_response())
        })
        .await
}

/// A task that is over.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CancelledTask)]
struct Cancelled {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    task: Task,
}

/// Takes a task back: it is not due any more. A turn that it has begun is not taken back with it.
#[utoipa::path(
    post,
    path = "/v1/tasks/{id}/cancel",
    params(("id" = String, Path, description = "The task.")),
    responses((status = OK, body = Cancelled), Refused<403>, Refused<404>, Refused<409>),
)]
pub(super) async fn cancel(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, _| {
            let id = caller::path(id)?;
            let task = tasks::cancel(&endpoint.pipeline(), &caller, &id, None).await?;
            Ok(Json(Cancelled { ok: true, task }).into_response())
        })
        .await
}
