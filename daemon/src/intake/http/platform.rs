//! What a platform tells of its own accord: WhatsApp's Cloud API, of messages that it was given
//! (<https://developers.facebook.com/docs/graph-api/webhooks/getting-started>), and Teams, of files that were accepted
//! (<https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication#connector-to-bot>).
//!
//! Whoever comes here has no token of the hub's. Each notification is signed, by a secret or with a token of the platform's
//! own, and WhatsApp is shown by a word that both know that the address is the hub's; whatever is neither gets the same short
//! answer, whichever account it names.

use std::{collections::HashMap, time::Duration};

use axum::{
    body::Body,
    extract::{Path, Query, Request, State},
    http::{
        HeaderValue, StatusCode,
        header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse as _, Response},
};

use super::{
    Endpoint,
    problem::{self, Problem, Refused},
    server::{self, OverBudget, Unread},
};
use crate::message::refusal::{Code, Refusal};

/// The longest notification, in bytes: webhooks' payloads have 3 MB at most (same page).
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
/// For all of one.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// Notifications that are read at once.
pub(super) const AT_ONCE: usize = 8;
/// The longest challenge that is given back, in bytes. Meta's have ten digits.
const MAX_CHALLENGE_BYTES: usize = 128;

/// The longest activity, in bytes: those of Teams have 28 KB, and what its cards send back may be as much again.
const MAX_ACTIVITY_BYTES: usize = 256 * 1024;

const CHANNEL: &str = "whatsapp";
const TEAMS: &str = "teams";

/// Shows Meta that the address is the hub's.
#[utoipa::path(
    get,
    path = "/v1/platform/whatsapp/{account}",
    security(()),
    params(
        ("account" = String, Path, description = "The account of the channel."),
        ("hub.mode" = Option<String>, Query, description = "`subscribe`."),
        ("hub.verify_token" = Option<String>, Query, description = "The word that both know."),
        ("hub.challenge" = Option<String>, Query, description = "What is given back."),
    ),
    responses(
        (status = OK, body = String, content_type = "text/plain", description = "The challenge."),
        (status = BAD_REQUEST, body = String, content_type = "text/plain", description = "It cannot be read."),
        (status = FORBIDDEN, description = "The word is another."),
    )
)]
pub(super) async fn verify(
    State(endpoint): State<Endpoint>,
    Path(account): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let parameter = |name: &str| query.get(name).map_or("", String::as_str);
    let challenge = parameter("hub.challenge");
    let fits = challenge.len() <= MAX_CHALLENGE_BYTES && challenge.bytes().all(|b| b.is_ascii_alphanumeric());
    let agrees = endpoint.pipeline().accepts_verify_token(CHANNEL, &account, parameter("hub.verify_token"));
    if parameter("hub.mode") == "subscribe" && fits && agrees {
        return ([(CONTENT_TYPE, "text/plain")], challenge.to_owned()).into_response();
    }
    StatusCode::FORBIDDEN.into_response()
}

/// Takes what Meta tells of messages that it was given. Anything but 200 it tells again, for days.
#[utoipa::path(
    post,
    path = "/v1/platform/whatsapp/{account}",
    security(()),
    params(
        ("account" = String, Path, description = "The account of the channel."),
        ("X-Hub-Signature-256" = Option<String>, Header, description = "Of the body, with the app's secret."),
    ),
    request_body(content = Object, description = "A notification, as Meta has it."),
    responses(
        (status = OK, description = "It was taken."),
        (status = BAD_REQUEST, description = "It cannot be read.", content(
            (Problem = "application/problem+json"),
            (String = "text/plain"),
        )),
        (status = UNAUTHORIZED, description = "It is not signed with the app's secret."),
        Refused<502>,
        Refused<503>,
    )
)]
pub(super) async fn tell(
    State(endpoint): State<Endpoint>,
    Path(account): Path<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let signature = head.headers.get("x-hub-signature-256").and_then(|value| value.to_str().ok());
    let Some(signature) = signature.map(str::to_owned) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    taken(&endpoint, (CHANNEL, &account), &signature, body, MAX_BODY_BYTES).await
}

/// Takes an activity of the Bot Connector for a bot, as it came: from Microsoft, or passed on with its `Authorization` by the
/// bridge whose address Microsoft has. What becomes of files that were offered is taken from it; all else is the bridge's.
#[utoipa::path(
    post,
    path = "/v1/platform/teams/{account}",
    security(()),
    params(
        ("account" = String, Path, description = "The account of the channel."),
        ("Authorization" = Option<String>, Header, description = "`Bearer`, and the Connector's own token."),
    ),
    request_body(content = Object, description = "An activity, as the Bot Connector has it."),
    responses(
        (status = OK, description = "It was taken."),
        (status = BAD_REQUEST, description = "It cannot be read.", content(
            (Problem = "application/problem+json"),
            (String = "text/plain"),
        )),
        (status = UNAUTHORIZED, description = "It has no token of the Connector's for this bot."),
        Refused<429>,
        Refused<502>,
        Refused<503>,
    )
)]
pub(super) async fn act(
    State(endpoint): State<Endpoint>,
    Path(account): Path<String>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let authorization = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(authorization) = authorization.map(str::to_owned) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    taken(&endpoint, (TEAMS, &account), &authorization, body, MAX_ACTIVITY_BYTES).await
}

/// Reads a notification, and hands it to its account: not a byte of it unless there is such an account and the signature may be
/// one.
async fn taken(
    endpoint: &Endpoint,
    (channel, account): (&str, &str),
    signature: &str,
    body: Body,
    longest: usize,
) -> Response {
    let answer = |refusal: &Refusal| match refusal.code {
        Code::Unauthorized => StatusCode::UNAUTHORIZED.into_response(),
        _ => problem::response(refusal),
    };
    // Who judged the signature also reads what it is of.
    let pipeline = endpoint.pipeline();
    if let Err(refusal) = pipeline.admits_callback(channel, account, signature).await {
        return answer(&refusal);
    }
    let Ok(_reading) = endpoint.0.notifications.try_acquire() else { return crowded(endpoint) };
    let body = match server::read(body, longest, BODY_TIMEOUT).await {
        Ok(body) => body,
        // Platforms tell it again.
        Err(Unread::OverBudget) => return crowded(endpoint),
        Err(Unread::TooLong | Unread::Slow | Unread::Broken) => {
            let refusal = Refusal::new(Code::TooLarge, "the notification is too long or too slow", "");
            return problem::response(&refusal);
        }
    };
    match pipeline.read_callback(channel, account, signature, &body).await {
        Ok(_) => StatusCode::OK.into_response(),
        Err(refusal) => answer(&refusal),
    }
}

/// The answer when as many notifications are read, or bytes of them held, as may be.
fn crowded(endpoint: &Endpoint) -> Response {
    endpoint.load().note("bytes", "notifications of platforms");
    let refusal = Refusal::new(Code::RateLimited, OverBudget.to_string(), "tell it again");
    let mut response = problem::with_status(&refusal, StatusCode::SERVICE_UNAVAILABLE);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    response
}
