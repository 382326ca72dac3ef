//! Turns: an agent program takes them and ends them; the operator sees which there are, and what became of them.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    Endpoint, caller,
    messages::{bounded, listed},
    problem::Refused,
    query,
};
use crate::{
    agents::Role,
    intake::{
        message_service::broken,
        turns::{no_turn, not_held},
    },
    message::{
        parameters::LONGEST_WAIT,
        refusal::{Code, Refusal},
    },
    turns::{
        TurnState,
        items::{Item, TurnView},
        listing::{Filter, TurnRow},
    },
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// For how many seconds to wait for a turn, if none is there; for an agent.
    #[param(maximum = 600)]
    wait: Option<u64>,
    /// Only this agent's; for the operator.
    agent: Option<String>,
    /// Only in this state; for the operator.
    state: Option<TurnState>,
    /// How many are listed, the newest; for the operator.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// The turn that an agent has from here on, or none.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NextTurn)]
struct Next {
    /// Always true.
    ok: bool,
    /// The turn; null if none came in time.
    #[schema(required = true)]
    turn: Option<TurnView>,
}

/// Turns, the newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedTurns)]
struct Listed {
    /// Always true.
    ok: bool,
    turns: Vec<TurnRow>,
}

/// Either.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Turns {
    Next(Box<Next>),
    Listed(Listed),
}

/// An agent's next turn, which is its own for five minutes and longer as it goes on calling; the operator is told which turns there
/// are.
///
/// A turn is ended by `POST /v1/reply` with its `turn` and `lease`, or by `POST /v1/turns/{id}/end`. One that is not is given out
/// again, four times in all, with what was sent in it.
#[utoipa::path(
    get,
    path = "/v1/turns",
    params(Wanted),
    responses((status = OK, body = Turns), Refused<400>),
)]
pub(super) async fn next(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, request| {
            let wanted: Wanted = query::read(&request)?;
            let wait = bounded("wait", wanted.wait, 0, LONGEST_WAIT).map(Duration::from_secs)?;
            if caller.role == Role::Operator {
                let limit = listed(wanted.limit)?;
                let filter = Filter { agent: wanted.agent, state: wanted.state, limit };
                let turns = endpoint.pipeline().turns(filter).await.map_err(broken)?;
                return Ok(Json(Turns::Listed(Listed { ok: true, turns })).into_response());
            }
            if wanted.agent.is_some() || wanted.state.is_some() || wanted.limit.is_some() {
                let hint = "leave agent, state and limit out: this call takes your own next turn";
                return Err(Refusal::input("only an operator's list of turns has a selection", hint));
            }
            let turn = endpoint.pipeline().next_turn(&caller.name, wait).await.map_err(broken)?;
            Ok(Json(Turns::Next(Box::new(Next { ok: true, turn }))).into_response())
        })
        .await
}

/// A turn and what stands in it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShownTurn)]
struct Shown {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    turn: TurnRow,
    /// What was received, oldest first.
    items: Vec<Item>,
}

/// A turn and what stands in it. It is given to nobody by this.
#[utoipa::path(
    get,
    path = "/v1/turns/{id}",
    params(("id" = String, Path, description = "The turn.")),
    responses((status = OK, body = Shown), Refused<404>),
)]
pub(super) async fn show(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Agent, Role::Operator], request, async |caller, _| {
            let id = caller::path(id)?;
            let agent = (caller.role != Role::Operator).then_some(caller.name.as_str());
            let found = endpoint.pipeline().show_turn(&id, agent).await.map_err(broken)?;
            let (turn, items) = found.ok_or_else(no_turn)?;
            Ok(Json(Shown { ok: true, turn, items }).into_response())
        })
        .await
}

/// The proof that a turn is the caller's.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TurnLease)]
struct Held {
    /// The lease that came with the turn.
    lease: String,
}

/// Takes what came meanwhile in its session into the turn: for an agent that can be steered while it works. Answers the whole turn;
/// its context is the one that came with it.
#[utoipa::path(
    post,
    path = "/v1/turns/{id}/more",
    params(("id" = String, Path, description = "The turn.")),
    request_body = Held,
    responses((status = OK, body = Next), Refused<404>, Refused<409>),
)]
pub(super) async fn more(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Agent], request, async |caller, request| {
            let (id, held) = (caller::path(id)?, endpoint.json::<Held>(request).await?);
            let more = endpoint.pipeline().more_of_turn(&caller.name, &id, &held.lease).await;
            let turn = more.map_err(broken)?.map_err(not_held)?;
            Ok(Json(Next { ok: true, turn: Some(turn) }).into_response())
        })
        .await
}

/// How a turn ends without a reply.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EndOfTurn)]
struct End {
    /// The lease that came with the turn.
    lease: String,
    /// Why the agent cannot end it now: it is given out again later. Without this, it has ended.
    #[serde(default)]
    #[schema(max_length = 500)]
    failed: Option<String>,
}

/// What became of a turn.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EndedTurn)]
struct Ended {
    /// Always true.
    ok: bool,
    /// Whether it is given out again.
    again: bool,
}

/// Ends a turn without a reply, or hands it back for another try.
#[utoipa::path(
    post,
    path = "/v1/turns/{id}/end",
    params(("id" = String, Path, description = "The turn.")),
    request_body = End,
    responses((status = OK, body = Ended), Refused<404>, Refused<409>),
)]
pub(super) async fn end(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Agent], request, async |caller, request| {
            let (id, end) = (caller::path(id)?, endpoint.json::<End>(request).await?);
            let pipeline = endpoint.pipeline();
            let again = match end.failed {
                Some(why) => {
                    let why = why.chars().take(500).collect();
                    let given = pipeline.give_back_turn(&caller.name, &id, &end.lease, why).await;
                    given.map_err(broken)?.map_err(not_held)?
                }
                None => {
                    let ended = pipeline.end_turn(&caller.name, &id, &end.lease, "ended without a reply");
                    ended.await.map_err(broken)?.map_err(not_held)?;
                    false
                }
            };
            Ok(Json(Ended { ok: true, again }).into_response())
        })
        .await
}

/// Lets a turn that has failed wait again, with all its attempts. For the operator.
#[utoipa::path(
    post,
    path = "/v1/turns/{id}/retry",
    params(("id" = String, Path, description = "The turn.")),
    responses((status = OK, body = Ended), Refused<404>, Refused<409>),
)]
pub(super) async fn retry(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    operated(endpoint, id, request, true).await
}

/// Ends a turn that nobody is to take any more. For the operator.
#[utoipa::path(
    post,
    path = "/v1/turns/{id}/drop",
    params(("id" = String, Path, description = "The turn.")),
    responses((status = OK, body = Ended), Refused<404>, Refused<409>),
)]
pub(super) async fn drop_turn(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    operated(endpoint, id, request, false).await
}

async fn operated(
    endpoint: Endpoint,
    id: Result<Path<String>, PathRejection>,
    request: Request,
    again: bool,
) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, _| {
            let id = caller::path(id)?;
            let pipeline = endpoint.pipeline();
            let by = caller.to_string();
            let done = match again {
                true => pipeline.retry_turn(&id, &by).await,
                false => pipeline.drop_turn(&id, &by).await,
            };
            if !done.map_err(broken)? {
                pipeline.show_turn(&id, None).await.map_err(broken)?.ok_or_else(no_turn)?;
                let error = if again { "this turn has not failed" } else { "this turn has ended" };
                return Err(Refusal::new(Code::Conflict, error, "look at it with: gatepost turns show"));
            }
            Ok(Json(Ended { ok: true, again }).into_response())
        })
        .await
}
