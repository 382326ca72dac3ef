//! What programs outside post to an account of the hub's: `/v1/hooks/{account}`.
//!
//! A program has no token of the hub's; the account says what proves it ([`Incoming`]). An account that takes nothing, none at all, and a
//! proof that is none get the same short answer. Any answer below 300 means that it is on disk.

use std::time::{Duration, Instant};

use axum::{
    Json,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;

use super::{
    Endpoint,
    problem::{self, Problem, Refused},
    rooms::{self, AGAIN, Crowded, again},
    server::Unread,
};
use crate::{
    channels::{
        incoming::{Incoming, MAX_BODY_BYTES, NotTaken, READ},
        received::Received,
    },
    message::refusal::{Code, Refusal},
    receiving::incoming::PostedTo,
    router::situation::Why,
};

/// For all of a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// The time in which the router counts.
const MINUTE: Duration = Duration::from_secs(60);

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HookTaken)]
struct Taken {
    /// Always true.
    ok: bool,
    /// Whether it was taken before: nothing was done then.
    duplicate: bool,
    /// Whether an agent is woken by it.
    woken: bool,
    /// Why no agent is told of it, if none is.
    dropped: Vec<&'static str>,
}

/// Takes what a program outside tells: an event of a build server, a camera, an automation. It is a program's words, in the
/// conversation `webhook:{account}`, and wakes the agents whose routes say so. What proves the sender is the account's to say
/// (`[channels.webhook.ACCOUNT] proof`).
#[utoipa::path(
    post,
    path = "/v1/hooks/{account}",
    security(()),
    params(
        ("account" = String, Path, description = "The account of the channel `webhook`."),
        ("webhook-id" = Option<String>, Header, description = "The id of the delivery, as Standard Webhooks has it. Other names: `Idempotency-Key`, `X-GitHub-Delivery`, or the account's `id_header`."),
        ("webhook-timestamp" = Option<String>, Header, description = "With `proof = \"standard\"`: when it was signed, in seconds since 1970."),
        ("webhook-signature" = Option<String>, Header, description = "With `proof = \"standard\"`: its signatures."),
        ("X-Hub-Signature-256" = Option<String>, Header, description = "With `proof = \"github\"`: the signature of the body."),
        ("Authorization" = Option<String>, Header, description = "With `proof = \"token\"`: `Bearer`, and the account's token."),
    ),
    request_body(content = Object, description = "JSON, a text, or the fields of a form; at most 256 KiB."),
    responses(
        (status = ACCEPTED, body = Taken, description = "It is on disk."),
        (status = BAD_REQUEST, description = "It cannot be read.", content(
            (Problem = "application/problem+json"),
            (String = "text/plain"),
        )),
        (status = UNAUTHORIZED, description = "Nothing proves who sent it, or no account takes it."),
        Refused<408>,
        Refused<413>,
        Refused<415>,
        Refused<429>,
        Refused<503>,
    )
)]
pub(super) async fn take(
    State(endpoint): State<Endpoint>,
    Path(account): Path<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    // It keeps the configuration that holds now.
    let Some(posted) = endpoint.pipeline().posted_to(&account) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let Some(incoming) = posted.incoming() else { return StatusCode::UNAUTHORIZED.into_response() };
    match read(&endpoint, incoming, &head.headers, body).await {
        Ok((received, place)) => {
            // Whether or not the sender waits for the answer.
            let taken = tokio::spawn(async move {
                let _place = place;
                written(&posted, received).await
            });
            // The hub stops.
            taken.await.unwrap_or_else(|_| StatusCode::SERVICE_UNAVAILABLE.into_response())
        }
        Err(refused) => refused,
    }
}

/// Reads a request, not a byte of it unless its headers may prove something.
async fn read(
    endpoint: &Endpoint,
    incoming: &dyn Incoming,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Received, OwnedSemaphorePermit), Response> {
    incoming.admits(headers).map_err(not_taken)?;
    let place = endpoint.0.rooms.enter(incoming.signs_body());
    let read = place.read(body, MAX_BODY_BYTES, BODY_TIMEOUT).await;
    let body = match read.map_err(|why| crowded(endpoint, why))? {
        Ok(body) => body,
        Err(Unread::TooLong | Unread::Broken | Unread::OverBudget) => {
            let error = format!("a body has at most {MAX_BODY_BYTES} bytes");
            let refusal = Refusal::new(Code::TooLarge, error, "post less of it");
            return Err(problem::response(&refusal));
        }
        Err(Unread::Slow) => {
            let refusal = Refusal::input("the body did not come in time", "send it within 20 s");
            return Err(problem::with_status(&refusal, StatusCode::REQUEST_TIMEOUT));
        }
    };
    let received = incoming.read(headers, &body, Instant::now()).map_err(not_taken)?;
    let place = place.write().await.map_err(|why| crowded(endpoint, why))?;
    Ok((received, place))
}

/// Writes down what was posted, and says that it is taken once it is on disk.
async fn written(posted: &PostedTo, received: Received) -> Response {
    match posted.receive(received).await {
        // It is not on disk: the account's own bound begins anew with the hub, the router's does not.
        Ok(outcome) if outcome.dropped.iter().any(|(why, _)| *why == Why::TooMany) => {
            not_taken(NotTaken::TooMany(MINUTE))
        }
        Ok(outcome) => {
            let taken = Taken {
                ok: true,
                duplicate: outcome.repeated > 0,
                woken: outcome.woken,
                dropped: outcome.dropped.iter().map(|(why, _)| why.word()).collect(),
            };
            (StatusCode::ACCEPTED, Json(taken)).into_response()
        }
        // The disk, the database, or a hook of the owner's: it is worth another try, whatever it is.
        Err(refusal) => again(problem::with_status(&refusal, StatusCode::SERVICE_UNAVAILABLE), AGAIN),
    }
}

fn not_taken(why: NotTaken) -> Response {
    let error = why.to_string();
    match why {
        NotTaken::Proof => StatusCode::UNAUTHORIZED.into_response(),
        NotTaken::TooMany(wait) => {
            let hint = "post it again after the time in Retry-After";
            let refusal = Refusal::new(Code::RateLimited, error, hint);
            let seconds = wait.as_secs().saturating_add(1);
            again(problem::with_status(&refusal, StatusCode::TOO_MANY_REQUESTS), seconds.into())
        }
        NotTaken::Type => {
            let hint = format!("set content-type to {READ}");
            problem::with_status(&Refusal::input(error, hint), StatusCode::UNSUPPORTED_MEDIA_TYPE)
        }
        NotTaken::Body => problem::response(&Refusal::input(error, "send UTF-8, and something in it")),
        NotTaken::Id => problem::response(&Refusal::input(error, "name each delivery by an id of its own")),
    }
}

/// The answer when there is no room. Whoever posts it does so again.
fn crowded(endpoint: &Endpoint, why: Crowded) -> Response {
    rooms::crowded(endpoint, why, "what programs post", "post it again")
}
