//! Messages: taking, showing, listing and cancelling them, and the agent's inbox.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Door, caller};
use crate::{
    agents::{Caller, Role},
    intake::{
        desk::{self, Desk, Incoming, LISTED},
        views,
    },
    message::{
        refusal::{Code, Refusal},
        state::State as MessageState,
    },
    outbox::retention::{Purge, STEP},
    store::now_ms,
};

/// Rows in a listing, at most.
const MOST_LISTED: u32 = 1_000;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wait {
    /// Seconds.
    wait: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Listing {
    state: Option<String>,
    limit: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Since {
    after: Option<i64>,
    limit: Option<u32>,
}

pub(super) const SENDERS: &[Role] = &[Role::Agent, Role::Operator];

pub(super) async fn submit(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/messages", SENDERS, request, async |caller, request| {
        let wait: Wait = caller::query(&request)?;
        let key = request.headers().get("idempotency-key").cloned();
        let value: Value = door.json(request).await?;
        let key = key.map(|key| idempotency_key(key.to_str().ok())).transpose()?;
        let wait = Duration::from_secs(wait.wait.unwrap_or(0));
        // It is a call of the tool `message`, by a program: no model reads a guide here.
        let around = door.0.pipeline.around(caller.agent(), "message", false);
        let value = match &around {
            Some(around) => around.before(&value).await?.unwrap_or(value),
            None => value,
        };
        let answer = Incoming { caller: &caller, call: &value, key, wait }.take(&door.0.pipeline).await?;
        let status = if answer.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
        Ok(match &around {
            Some(around) => (status, Json(around.after(&value, json!(answer)).await)).into_response(),
            None => (status, Json(answer)).into_response(),
        })
    })
    .await
}

pub(super) async fn list(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/messages", SENDERS, request, async |caller, request| {
        let listing: Listing = caller::query(&request)?;
        let state = listing.state.as_deref().map(state).transpose()?;
        let limit = listing.limit.unwrap_or(LISTED).min(MOST_LISTED);
        let messages = door.desk(&caller).list(state, limit).await?;
        Ok(Json(json!({"ok": true, "messages": messages})).into_response())
    })
    .await
}

pub(super) async fn show(
    State(door): State<Door>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("GET /v1/messages/{id}", SENDERS, request, async |caller, request| {
        let wait: Wait = caller::query(&request)?;
        let message = door.desk(&caller).own(&caller::path(id)?).await?;
        let wait = Duration::from_secs(wait.wait.unwrap_or(0));
        let receipt = door.0.pipeline.wait(message.seq, wait).await.map_err(desk::broken)?;
        let message = door.0.pipeline.outbox().get(message.seq).await.map_err(desk::broken)?;
        let parts = door.0.pipeline.outbox().parts(message.seq).await.map_err(desk::broken)?;
        let mut view = views::whole(&message, &receipt, &parts);
        let standing = door.0.pipeline.approvals().standing(message.seq).await.map_err(desk::broken)?;
        if let Some(standing) = standing.filter(|standing| standing.quorum > 1) {
            view["approvals"] = format!("{} of {}", standing.by.len(), standing.quorum).into();
            // Whose voice it was is the house's business.
            if caller.role == Role::Operator {
                view["approved_by"] = standing.by.into();
            }
        }
        Ok(Json(view).into_response())
    })
    .await
}

pub(super) async fn cancel(
    State(door): State<Door>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("POST /v1/messages/{id}/cancel", SENDERS, request, async |caller, _| {
        Ok(Json(door.desk(&caller).cancel(&caller::path(id)?).await?).into_response())
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Again {
    #[serde(default)]
    may_duplicate: bool,
}

pub(super) async fn retry(
    State(door): State<Door>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("POST /v1/messages/{id}/retry", &[Role::Operator], request, async |caller, request| {
        let again: Again = caller::query(&request)?;
        let message = door.desk(&caller).own(&caller::path(id)?).await?;
        let pipeline = &door.0.pipeline;
        let receipt = pipeline.retry(message.seq, again.may_duplicate, &caller.to_string()).await?;
        Ok(Json(receipt).into_response())
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gone {
    id: Option<String>,
    state: Option<String>,
    /// Seconds.
    older_than: Option<u64>,
}

/// As many as go in one step; the caller asks again while there are more.
pub(super) async fn purge(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/purge", &[Role::Operator], request, async |caller, request| {
        let gone: Gone = caller::query(&request)?;
        let state = gone.state.as_deref().map(state).transpose()?;
        if state.is_some_and(|state| !state.is_final()) {
            let hint = "cancel it first, or wait for its end";
            return Err(Refusal::input("only messages that have ended can be purged", hint));
        }
        if gone.id.is_none() && state.is_none() && gone.older_than.is_none() {
            let hint = "name a message, a state, or how old they are at least";
            return Err(Refusal::input("a purge of everything is not taken", hint));
        }
        if let Some(id) = &gone.id {
            let message = door.desk(&caller).own(id).await?;
            if !message.state.is_final() {
                let error = format!("the message is {}", message.state);
                return Err(Refusal::new(Code::Conflict, error, "cancel it first, or wait for its end"));
            }
        }
        let age = i64::try_from(gone.older_than.unwrap_or(0).saturating_mul(1000)).unwrap_or(i64::MAX);
        // What ended in this very millisecond has ended.
        let before = now_ms().saturating_add(1).saturating_sub(age);
        let purge = Purge { before, state, id: gone.id, by: caller.to_string() };
        let purged = door.0.pipeline.outbox().purge(purge).await.map_err(desk::broken)?;
        Ok(Json(json!({"ok": true, "purged": purged, "more": purged == STEP})).into_response())
    })
    .await
}

pub(super) async fn inbox(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/inbox", SENDERS, request, async |caller, request| {
        let since: Since = caller::query(&request)?;
        let limit = since.limit.unwrap_or(LISTED).min(MOST_LISTED);
        let outbox = door.0.pipeline.outbox();
        let notices =
            outbox.notices(caller.agent(), since.after.unwrap_or(0), limit).await.map_err(desk::broken)?;
        Ok(Json(json!({"ok": true, "notices": notices})).into_response())
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
struct Transcript {
    agent: Option<String>,
    session: Option<String>,
    after: Option<i64>,
    limit: Option<u32>,
}

pub(super) async fn transcript(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/transcript", SENDERS, request, async |caller, request| {
        let asked: Transcript = caller::query(&request)?;
        let agent = match asked.agent {
            Some(agent) if caller.role == Role::Operator || agent == caller.name => agent,
            Some(_) => {
                let hint = "leave agent out, for your own";
                return Err(Refusal::new(Code::Forbidden, "this is another agent's transcript", hint));
            }
            None => caller.agent().to_owned(),
        };
        let limit = asked.limit.unwrap_or(LISTED).min(MOST_LISTED);
        let outbox = door.0.pipeline.outbox();
        let said = outbox.said(&agent, asked.session, asked.after.unwrap_or(0), limit).await;
        Ok(Json(json!({"ok": true, "said": said.map_err(desk::broken)?})).into_response())
    })
    .await
}

impl Door {
    fn desk<'a>(&'a self, caller: &'a Caller) -> Desk<'a> {
        Desk { pipeline: &self.0.pipeline, caller }
    }
}

fn idempotency_key(key: Option<&str>) -> Result<String, Refusal> {
    key.map(str::to_owned).ok_or_else(|| {
        let hint = "use printable characters";
        Refusal::input("the Idempotency-Key cannot be used", hint).because("idempotency_key")
    })
}

fn state(word: &str) -> Result<MessageState, Refusal> {
    MessageState::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = MessageState::ALL.iter().map(|state| state.word()).collect();
        Refusal::input("there is no such state", format!("states are: {}", known.join(", ")))
    })
}
