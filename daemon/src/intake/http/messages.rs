//! Messages: taking, listing, showing and cancelling them.

use std::{fmt::Display, time::Duration};

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::{
    Endpoint,
    caller::{self, SENDERS},
    problem::Refused,
    query,
};
use crate::{
    admission::submit::Idempotency,
    agents::{Caller, Role},
    intake::{
        message_service::{self, Answer, Incoming, LISTED, MessageService},
        views::{Summary, Whole},
    },
    message::{
        parameters::LONGEST_WAIT, receipt::Receipt, refusal::Refusal, schema::Message,
        state::State as MessageState,
    },
    outbox::search::Search,
};

/// Rows in a listing, at most.
pub const MOST_LISTED: u32 = 1_000;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// For how many seconds to wait for its end.
    #[param(maximum = 600)]
    pub(super) wait: Option<u64>,
}

impl Wait {
    pub(super) fn time(&self) -> Result<Duration, Refusal> {
        bounded("wait", self.wait, 0, LONGEST_WAIT).map(Duration::from_secs)
    }
}

/// How many rows a listing has.
pub(super) fn listed(limit: Option<u32>) -> Result<u32, Refusal> {
    bounded("limit", limit, LISTED, MOST_LISTED)
}

/// A parameter's value, or what it is where it is left out.
pub(super) fn bounded<N: Copy + PartialOrd + Display>(
    name: &str,
    given: Option<N>,
    left_out: N,
    most: N,
) -> Result<N, Refusal> {
    match given {
        Some(given) if given > most => {
            let error = format!("{name:?} is over {most}");
            Err(Refusal::input(error, format!("give {most} at most")).because("query"))
        }
        given => Ok(given.unwrap_or(left_out)),
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// Only those in this state, or in one of several, with commas between them.
    #[param(value_type = Option<String>, example = "failed,unknown", pattern = "^[a-z]+(,[a-z]+)*$", max_length = 200)]
    state: Option<String>,
    /// How many; 50 where it is left out.
    #[param(maximum = 1000)]
    limit: Option<u32>,
    /// Only this agent's; for the operator.
    #[param(max_length = 40)]
    agent: Option<String>,
    /// Only those to this channel.
    #[param(max_length = 40)]
    channel: Option<String>,
    /// Only those with this in their text, their address, the address book's name of that or their id, whatever the case.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only those before this cursor: a listing's `next`.
    #[param(pattern = "^[0-9]{1,18}$")]
    before: Option<String>,
}

/// The longest name of an agent or a channel, in characters.
const LONGEST_NAME: usize = 40;
/// The longest that is looked for, in characters.
const LONGEST_SEARCHED: usize = 200;

impl Listing {
    fn search(self) -> Result<Search, Refusal> {
        let states = self.state.iter().flat_map(|words| words.split(',')).map(state);
        let text = self.q.filter(|text| !text.is_empty());
        let names = [&self.agent, &self.channel];
        if names.into_iter().flatten().any(|name| name.chars().count() > LONGEST_NAME) {
            let hint = format!("a name has {LONGEST_NAME} characters at most");
            return Err(Refusal::input("a name is too long", hint).because("query"));
        }
        if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST_SEARCHED) {
            let hint = format!("look for {LONGEST_SEARCHED} characters at most");
            return Err(Refusal::input("\"q\" is too long", hint).because("query"));
        }
        let cursor = |cursor: String| {
            cursor.parse().ok().filter(|seq: &i64| *seq >= 0).ok_or_else(|| {
                Refusal::input("\"before\" is no cursor", "give the `next` of a listing as it came")
                    .because("query")
            })
        };
        Ok(Search {
            states: states.collect::<Result<_, _>>()?,
            agent: self.agent,
            channel: self.channel,
            text,
            before: self.before.map(cursor).transpose()?,
            limit: listed(self.limit)? as usize,
        })
    }
}

/// Messages, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct Messages {
    /// Always true.
    ok: bool,
    messages: Vec<Summary>,
    /// The cursor of what may follow, if something may. A search ends after a quarter of a second, with what it has found by then.
    next: Option<String>,
}

/// Takes a call of the `message` tool.
///
/// With several targets it is a message for each, and so is the answer. One wrong attachment refuses the call as a whole: nothing of
/// it is sent.
#[utoipa::path(
    post,
    path = "/v1/messages",
    params(Wait, ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 200, description = "Makes a repetition of the call harmless.")),
    request_body(content = Message, examples(
        ("a text" = (value = json!({"to": "local:team", "message": "The build is **green**."}))),
        ("to several" = (value = json!({"action": "broadcast", "targets": ["local:team", "local:ann"], "message": "Tea?"}))),
        ("what would be sent" = (value = json!({"to": "local:team", "message": "Or coffee?", "dryRun": true}))),
    )),
    responses(
        (status = OK, body = Answer, description = "It has come to its end, or was only looked at."),
        (status = ACCEPTED, body = Answer, description = "It is on its way."),
        Refused<409>, Refused<422>, Refused<429>, Refused<503>,
    ),
)]
pub(super) async fn submit(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let wait: Wait = query::read(&request)?;
            let key = request.headers().get("idempotency-key").cloned();
            let value: Value = endpoint.json(request).await?;
            let key = key.map(|key| idempotency_key(key.to_str().ok())).transpose()?;
            let wait = wait.time()?;
            let pipeline = &endpoint.pipeline();
            let incoming =
                Incoming { caller: &caller, call: &value, idempotency: Idempotency::of(key, &value)?, wait };
            // It is a call of the tool `message`, by a program: no model reads a guide here.
            let Some(around) = pipeline.around(caller.agent(), "message", None) else {
                let answer = incoming.take(pipeline).await?;
                return Ok((status(&answer), Json(answer)).into_response());
            };
            if let Some(answer) = incoming.repeated(pipeline).await? {
                let status = status(&answer);
                return Ok((status, Json(around.after(&value, json!(answer)).await)).into_response());
            }
            let other = around.before(&value).await?;
            let call = other.as_ref().unwrap_or(&value);
            let answer = Incoming { call, ..incoming }.take(pipeline).await?;
            let status = status(&answer);
            Ok((status, Json(around.after(call, json!(answer)).await)).into_response())
        })
        .await
}

/// Messages, newest first: an agent's own, or all for the operator.
#[utoipa::path(
    get,
    path = "/v1/messages",
    params(Listing),
    responses((status = OK, body = Messages)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let search = query::read::<Listing>(&request)?.search()?;
            let (messages, next) = endpoint.service(&caller).search(search).await?;
            let next = next.map(|seq| seq.to_string());
            Ok(Json(Messages { ok: true, messages, next }).into_response())
        })
        .await
}

/// One message, its receipt and its parts.
#[utoipa::path(
    get,
    path = "/v1/messages/{id}",
    params(Wait, ("id" = String, Path, description = "The id that its receipt has.")),
    responses((status = OK, body = Whole), Refused<404>),
)]
pub(super) async fn show(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let wait: Wait = query::read(&request)?;
            let message = endpoint.service(&caller).own(&caller::path(id)?).await?;
            let (wait, pipeline) = (wait.time()?, endpoint.pipeline());
            let receipt = pipeline.wait(message.seq, wait).await.map_err(message_service::broken)?;
            let parts = pipeline.outbox().parts(message.seq).await.map_err(message_service::broken)?;
            let standing =
                pipeline.approvals().standing(message.seq).await.map_err(message_service::broken)?;
            let message = pipeline.outbox().get(message.seq).await.map_err(message_service::broken)?;
            let mut view = Whole::of(message, receipt, parts);
            if let Some(standing) = &standing {
                view.asked_together.clone_from(&standing.together);
                view.request = Some(standing.request.to_string()).filter(|_| caller.role == Role::Operator);
            }
            if let Some(standing) = standing.filter(|standing| standing.quorum > 1) {
                view.approvals = Some(format!("{} of {}", standing.by.len(), standing.quorum));
                // Whose voice it was is the owner's business.
                if caller.role == Role::Operator {
                    view.approved_by = Some(standing.by);
                }
            }
            Ok(Json(view).into_response())
        })
        .await
}

/// Takes a message back that has not left.
#[utoipa::path(
    post,
    path = "/v1/messages/{id}/cancel",
    params(("id" = String, Path, description = "The id that its receipt has.")),
    responses((status = OK, body = Receipt), Refused<404>, Refused<409>),
)]
pub(super) async fn cancel(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, _| {
            Ok(Json(endpoint.service(&caller).cancel(&caller::path(id)?).await?).into_response())
        })
        .await
}

impl Endpoint {
    pub(super) fn service<'a>(&'a self, caller: &'a Caller) -> MessageService<'a> {
        MessageService { pipeline: self.pipeline(), caller }
    }
}

/// Whether more is to come.
fn status(answer: &Answer) -> StatusCode {
    if answer.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED }
}

pub(super) fn idempotency_key(key: Option<&str>) -> Result<String, Refusal> {
    key.map(str::to_owned).ok_or_else(|| {
        let hint = "use printable characters";
        Refusal::input("the Idempotency-Key cannot be used", hint).because("idempotency_key")
    })
}

/// The state of this word.
pub(super) fn state(word: &str) -> Result<MessageState, Refusal> {
    MessageState::from_word(word).ok_or_else(|| {
        let known: Vec<&str> = MessageState::ALL.iter().map(|state| state.word()).collect();
        Refusal::input("there is no such state", format!("states are: {}", known.join(", ")))
    })
}
