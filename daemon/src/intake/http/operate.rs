//! What the operator does with messages that came to nothing: send them again, or let go of them.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Endpoint, caller, problem::Refused, query};
use crate::{
    agents::Role,
    intake::message_service,
    message::{
        receipt::Receipt,
        refusal::{Code, Refusal},
        state::State as MessageState,
    },
    outbox::{
        outcome::Outcome,
        retention::{Purge, STEP},
    },
    store::now_ms,
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Again {
    /// Also what may have arrived.
    #[serde(default)]
    may_duplicate: bool,
}

/// Sends what has not arrived of a message again, unchanged. For the operator.
#[utoipa::path(
    post,
    path = "/v1/messages/{id}/retry",
    params(Again, ("id" = String, Path, description = "The id that its receipt has.")),
    responses((status = OK, body = Receipt), Refused<404>, Refused<409>),
)]
pub(super) async fn retry(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, request| {
            let again: Again = query::read(&request)?;
            let message = endpoint.service(&caller).own(&caller::path(id)?).await?;
            let pipeline = &endpoint.pipeline();
            let receipt = pipeline.retry(message.seq, again.may_duplicate, &caller.to_string()).await?;
            Ok(Json(receipt).into_response())
        })
        .await
}

/// What became of a part of which nobody knows whether it arrived.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Settlement {
    /// Whether it arrived.
    arrived: bool,
    /// Which part, counted from one; needed where several are uncertain.
    #[serde(default)]
    #[schema(minimum = 1)]
    part: Option<u32>,
    /// How you know. It stays in the receipt and in the audit.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// Says whether the uncertain part of a message arrived that is `unknown`; the rest of it goes on. For the operator.
///
/// One that arrived is not sent again, one that did not is; what comes behind it follows in its lane. The receipt keeps what was
/// said in its `history`.
#[utoipa::path(
    post,
    path = "/v1/messages/{id}/settle",
    params(("id" = String, Path, description = "The id that its receipt has.")),
    request_body(
        content = Settlement,
        example = json!({"arrived": true, "part": 2, "reason": "Ann has seen it"}),
    ),
    responses((status = OK, body = Receipt), Refused<404>, Refused<409>, Refused<422>),
)]
pub(super) async fn settle(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, request| {
            let Settlement { arrived, part, reason } = endpoint.json(request).await?;
            let message = endpoint.service(&caller).own(&caller::path(id)?).await?;
            let outcome = Outcome { part, arrived, reason: reason.trim().to_owned(), by: caller.to_string() };
            Ok(Json(endpoint.pipeline().settle(message.seq, outcome).await?).into_response())
        })
        .await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Gone {
    /// This one.
    id: Option<String>,
    /// Those that ended so.
    #[param(value_type = Option<MessageState>)]
    state: Option<String>,
    /// Those that ended so many seconds ago at least.
    #[param(format = Int64, maximum = 4294967295_i64)]
    older_than: Option<u32>,
}

/// The state of this word, of those that a message ends in.
fn ended(word: &str) -> Result<MessageState, Refusal> {
    MessageState::from_word(word).filter(|state| state.is_final()).ok_or_else(|| {
        let known: Vec<&str> =
            MessageState::ALL.iter().filter(|state| state.is_final()).map(|state| state.word()).collect();
        let error = "only messages that have ended can be purged";
        Refusal::input(error, format!("states that they end in are: {}", known.join(", ")))
    })
}

/// What was let go of.
#[derive(Debug, Serialize, ToSchema)]
struct Purged {
    /// Always true.
    ok: bool,
    /// How many messages.
    purged: usize,
    /// Whether there may be more: ask again.
    more: bool,
}

/// Lets go of ended messages before their retention is over. For the operator.
///
/// As many as go in one step; whoever calls asks again while there are more.
#[utoipa::path(
    post,
    path = "/v1/purge",
    params(Gone),
    responses((status = OK, body = Purged), Refused<404>, Refused<409>),
)]
pub(super) async fn purge(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, request| {
            let gone: Gone = query::read(&request)?;
            let state = gone.state.as_deref().map(ended).transpose()?;
            if gone.id.is_none() && state.is_none() && gone.older_than.is_none() {
                let hint = "name a message, a state, or how old they are at least";
                return Err(Refusal::input("a purge of everything is not taken", hint));
            }
            if let Some(id) = &gone.id {
                let message = endpoint.service(&caller).own(id).await?;
                if !message.state.is_final() {
                    let error = format!("the message is {}", message.state);
                    return Err(Refusal::new(Code::Conflict, error, "cancel it first, or wait for its end"));
                }
            }
            let age = i64::from(gone.older_than.unwrap_or(0)) * 1000;
            // What ended in this very millisecond has ended.
            let before = now_ms().saturating_add(1).saturating_sub(age);
            let purge = Purge { before, state, id: gone.id, by: caller.to_string() };
            let purged = endpoint.pipeline().outbox().purge(purge).await.map_err(message_service::broken)?;
            Ok(Json(Purged { ok: true, purged, more: purged == STEP }).into_response())
        })
        .await
}
