//! Questions to a person: asking one, and looking at the answer.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

use super::{
    Endpoint,
    caller::{self, SENDERS},
    messages::{Wait, idempotency_key},
    problem::Refused,
    query,
};
use crate::{
    admission::submit::Idempotency,
    intake::{
        questions::{self, Asking, Question},
        tool,
    },
};

/// Asks a person something that they answer with yes or no on an approver.
///
/// The card names whoever asks. The answer is signed, and `gatepost audit prove ID` shows the signature to others. It lets nothing
/// happen by itself: no message goes by it.
#[utoipa::path(
    post,
    path = "/v1/questions",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 200, description = "Makes a repetition of the call harmless.")),
    request_body(content = Asking, example = json!({"question": "Deploy 2.4 to the shop?", "ttl_seconds": 300})),
    responses(
        (status = OK, body = Question, description = "It is answered, or will not be."),
        (status = ACCEPTED, body = Question, description = "A person is being asked."),
        Refused<409>, Refused<422>, Refused<429>, Refused<503>,
    ),
)]
pub(super) async fn ask(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let key = request.headers().get("idempotency-key").cloned();
            let value: Value = endpoint.json(request).await?;
            let key = key.map(|key| idempotency_key(key.to_str().ok())).transpose()?;
            let idempotency = Idempotency::of(key, &value)?;
            let (pipeline, agent) = (endpoint.pipeline(), caller.agent());
            // What a hook has let pass before is not judged a second time.
            if let Some(receipt) = pipeline.taken_before(agent, &idempotency).await? {
                let question = Question::of(receipt);
                return Ok((status(&question), Json(question)).into_response());
            }
            // To hooks it is a call of the tool.
            let around = pipeline.around(agent, "ask_person", None);
            let other = match &around {
                Some(around) => around.before(&value).await?,
                None => None,
            };
            let called = other.as_ref().unwrap_or(&value);
            let asking: Asking = tool::read(called, "{\"question\": …}")?;
            let wait = Wait { wait: asking.wait }.time()?;
            let question = questions::ask(&pipeline, agent, asking, idempotency, wait).await?;
            let status = status(&question);
            Ok(match around {
                Some(around) => (status, Json(around.after(called, json!(question)).await)).into_response(),
                None => (status, Json(question)).into_response(),
            })
        })
        .await
}

/// One question, and how it stands. It is taken back as a message is: `POST /v1/messages/{id}/cancel`.
#[utoipa::path(
    get,
    path = "/v1/questions/{id}",
    params(Wait, ("id" = String, Path, description = "Its id.")),
    responses((status = OK, body = Question), Refused<404>),
)]
pub(super) async fn show(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(SENDERS, request, async |caller, request| {
            let wait = query::read::<Wait>(&request)?.time()?;
            let message = endpoint.service(&caller).own(&caller::path(id)?).await?;
            let question = questions::look(&endpoint.pipeline(), &message, wait).await?;
            Ok(Json(question).into_response())
        })
        .await
}

/// Whether an answer is to come.
fn status(question: &Question) -> StatusCode {
    if question.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED }
}
