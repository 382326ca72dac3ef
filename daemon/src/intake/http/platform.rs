//! Notifications of platforms, for every channel whose account takes some: `/v1/platform/{channel}/{account}`.
//!
//! A platform has no token of the hub's. The account says which header proves who sends a notification
//! ([`Notifications`](crate::channels::receiver::Notifications)), and answers the request by which a platform makes sure that
//! the address is the hub's. Whatever proves nothing gets the same short answer, whichever account it names.

use std::{collections::HashMap, time::Duration};

use axum::{
    body::Body,
    extract::{Path, Query, Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};

use super::{
    Endpoint,
    problem::{self, Problem, Refused},
    rooms::{self, Crowded},
};
use crate::{
    channels::receiver::Notifications,
    message::refusal::{Code, Refusal},
    receiving::account::AccountHandle,
};

/// For all of a notification's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// Shows a platform that the address is the hub's: answers the challenge of an account's platform (WhatsApp's has one).
#[utoipa::path(
    get,
    path = "/v1/platform/{channel}/{account}",
    security(()),
    params(
        ("channel" = String, Path, description = "The channel."),
        ("account" = String, Path, description = "The account of the channel."),
        ("hub.mode" = Option<String>, Query, description = "WhatsApp: `subscribe`."),
        ("hub.verify_token" = Option<String>, Query, description = "WhatsApp: the word that both know."),
        ("hub.challenge" = Option<String>, Query, description = "WhatsApp: what is given back."),
    ),
    responses(
        (status = OK, body = String, content_type = "text/plain", description = "The answer to the challenge."),
        (status = BAD_REQUEST, body = String, content_type = "text/plain", description = "It cannot be read."),
        (status = FORBIDDEN, description = "It proves nothing, or the account's platform asks nothing of this kind."),
    )
)]
pub(super) async fn verify(
    State(endpoint): State<Endpoint>,
    Path((channel, account)): Path<(String, String)>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    match endpoint.pipeline().answer_to_challenge(&channel, &account, &query) {
        Some(answer) => ([(CONTENT_TYPE, "text/plain")], answer).into_response(),
        None => StatusCode::FORBIDDEN.into_response(),
    }
}

/// Takes a notification of an account's platform, as it came: WhatsApp's Cloud API tells what became of messages and what people
/// write, signed with the app's secret in `X-Hub-Signature-256`, an Evolution API that there is something to read, with a secret in
/// `Authorization`, as does a BlueBubbles server; the Bot Connector tells a Teams bot what people do, with its own token there. Platforms send a notification again
/// unless the answer is 200.
#[utoipa::path(
    post,
    path = "/v1/platform/{channel}/{account}",
    security(()),
    params(
        ("channel" = String, Path, description = "The channel."),
        ("account" = String, Path, description = "The account of the channel."),
        ("X-Hub-Signature-256" = Option<String>, Header, description = "WhatsApp: of the body, with the app's secret."),
        ("Authorization" = Option<String>, Header, description = "Teams: `Bearer`, and the Connector's own token. An Evolution API: `Bearer`, and the account's `webhook_secret`. BlueBubbles: `Basic`, that secret as the password of any user."),
    ),
    request_body(content = Object, description = "A notification, as the platform has it."),
    responses(
        (status = OK, description = "It was taken."),
        (status = BAD_REQUEST, description = "It cannot be read.", content(
            (Problem = "application/problem+json"),
            (String = "text/plain"),
        )),
        (status = UNAUTHORIZED, description = "It is not proved to be the platform's, or no account takes it."),
        Refused<413>,
        Refused<429>,
        Refused<502>,
        Refused<503>,
    )
)]
pub(super) async fn notify(
    State(endpoint): State<Endpoint>,
    Path((channel, account)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Some(expected) = endpoint.pipeline().notifications(&channel, &account) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let proof = head.headers.get(expected.proof_header).and_then(|value| value.to_str().ok());
    let Some(proof) = proof.map(str::to_owned) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    take(&endpoint, (&channel, &account), proof, body, expected).await
}

/// Reads a notification, and hands it to its account: not a byte of it unless the proof may be one.
async fn take(
    endpoint: &Endpoint,
    (channel, account): (&str, &str),
    proof: String,
    body: Body,
    expected: Notifications,
) -> Response {
    let answer = |refusal: &Refusal| match refusal.code {
        Code::Unauthorized => StatusCode::UNAUTHORIZED.into_response(),
        _ => problem::response(refusal),
    };
    // Who checks the proof also reads what it is of.
    let pipeline = endpoint.pipeline();
    if let Err(refusal) = pipeline.admits_callback(channel, account, &proof).await {
        return answer(&refusal);
    }
    let place = endpoint.0.rooms.enter(expected.signs_body);
    let body = match place.read(body, expected.max_bytes, BODY_TIMEOUT).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let refusal = Refusal::new(Code::TooLarge, "the notification is too long or too slow", "");
            return problem::response(&refusal);
        }
        Err(why) => return crowded(endpoint, why),
    };
    let place = match place.write().await {
        Ok(place) => place,
        Err(why) => return crowded(endpoint, why),
    };
    let hub = AccountHandle::of(&endpoint.0.current, channel, account);
    let (channel, account) = (channel.to_owned(), account.to_owned());
    // Whether or not the platform waits for the answer: some tell nothing twice.
    let taken = tokio::spawn(async move {
        let _place = place;
        pipeline.read_callback(&channel, &account, &proof, &body, &hub).await
    });
    match taken.await {
        Ok(Ok(_)) => StatusCode::OK.into_response(),
        Ok(Err(refusal)) => answer(&refusal),
        // The hub stops.
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// The answer when there is no room. Platforms tell it again.
fn crowded(endpoint: &Endpoint, why: Crowded) -> Response {
    rooms::crowded(endpoint, why, "notifications of platforms", "tell it again")
}
