//! Deciding on a card by a passkey, where `[approval] approvers` has `"web"`.
//!
//! A decision names its request and the document that was shown; there is no call for several. The login that hands it in has no part in
//! whether it counts: the passkey's signature does.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use gatepost_link::{Digest, decision};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Endpoint,
    approvals::{named, nothing},
    companions::OPERATOR,
    passkeys::{self, Assertion, not_signed},
    problem::Refused,
};
use crate::{
    approval::{
        decide::{Counted, DecisionError, Signed},
        passkeys::statement::NONCE,
    },
    audit::checkpoint::from_hex,
    intake::message_service::broken,
    message::{
        refusal::{Code, Refusal},
        state::State as MessageState,
    },
    random::to_hex,
};

/// What a passkey signs of a decision: the SHA-256 of `gatepost/decision/web/1` ‖ hub key ‖ SHA-256(credential id) ‖ request ‖
/// SHA-256(document) ‖ 1 to approve or 2 to deny ‖ nonce.
#[derive(Debug, Serialize, ToSchema)]
struct DecisionChallenge {
    /// Always true.
    ok: bool,
    /// Good once, and for two minutes; 16 bytes as base64url without padding.
    nonce: String,
    /// The hub's public key, in hexadecimal.
    hub_key: String,
    /// The name that the passkey belongs to.
    rp_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Approve,
    Deny,
}

/// A decision, and what a passkey signed. Bytes are in base64url without padding.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Decision {
    verdict: Verdict,
    /// As it was given out.
    nonce: String,
    /// SHA-256 of the document that was shown, in hexadecimal.
    document: String,
    /// The id of the credential.
    credential: String,
    client_data: String,
    authenticator_data: String,
    signature: String,
}

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
struct Decided {
    /// Always true.
    ok: bool,
    verdict: Verdict,
    /// How many have approved it now.
    approvals: u32,
    /// How many must.
    quorum: u32,
    /// Where the message is now.
    state: MessageState,
}

/// Gives out what makes one decision on this request good once. For the operator.
#[utoipa::path(
    post,
    path = "/v1/approvals/{request}/challenge",
    params(("request" = String, Path, description = "The request that a listing or a held message names.")),
    responses((status = OK, body = DecisionChallenge), Refused<404>, Refused<409>),
)]
pub(super) async fn challenge(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, call| {
            let request = named(id)?;
            let pipeline = endpoint.pipeline();
            let approvals = pipeline.approvals();
            approvals.may_be_decided_by_passkey(request).map_err(refused)?;
            let rp_id = passkeys::site(&endpoint, call.headers())?.rp_id.clone();
            let nonce = endpoint.0.challenges.decide.make(request);
            let hub_key = to_hex(&approvals.hub().0);
            Ok(Json(DecisionChallenge { ok: true, nonce, hub_key, rp_id }).into_response())
        })
        .await
}

/// Decides on a card by a passkey's signature over its document. Where more must approve, an approval counts towards that; a denial ends
/// it. For the operator.
#[utoipa::path(
    post,
    path = "/v1/approvals/{request}/decision",
    params(("request" = String, Path, description = "The request that a listing or a held message names.")),
    request_body = Decision,
    responses((status = OK, body = Decided), Refused<404>, Refused<409>),
)]
pub(super) async fn decide(
    State(endpoint): State<Endpoint>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, call| {
            let request = named(id)?;
            let given: Decision = endpoint.json(call).await?;
            let pipeline = endpoint.pipeline();
            let approvals = pipeline.approvals();
            approvals.may_be_decided_by_passkey(request).map_err(refused)?;
            let nonce = nonce(&endpoint, &given.nonce, request)?;
            let Decision { verdict, credential, client_data, authenticator_data, signature, .. } = given;
            let (credential, assertion) =
                Assertion { credential, client_data, authenticator_data, signature }.read()?;
            let document = from_hex(&given.document).map(Digest).ok_or_else(|| {
                let hint = "send the SHA-256 of the document, in hexadecimal";
                Refusal::input("\"document\" cannot be read", hint).because("wrong_shape")
            })?;
            let of_card = match verdict {
                Verdict::Approve => decision::Verdict::Approve,
                Verdict::Deny => decision::Verdict::Deny,
            };
            let signed = Signed { request, document, verdict: of_card, nonce, credential, assertion };
            let sites = endpoint.0.sites.all().to_vec();
            let Counted { approvals, quorum, state } =
                approvals.decide_by_passkey(signed, sites).await.map_err(refused)?;
            Ok(Json(Decided { ok: true, verdict, approvals, quorum, state }).into_response())
        })
        .await
}

/// The number that makes it good once, which is used up by this.
fn nonce(endpoint: &Endpoint, text: &str, request: gatepost_link::RequestId) -> Result<[u8; NONCE], Refusal> {
    let taken = endpoint.0.challenges.decide.take(text).filter(|given| *given == request);
    let bytes = passkeys::bytes("nonce", text, NONCE).ok().and_then(|bytes| bytes.try_into().ok());
    taken.and(bytes).ok_or_else(|| {
        let error =
            "this decision was used before, or what it signed is older than two minutes or of another card";
        Refusal::new(Code::Conflict, error, "look at the card again; if it still waits, decide again")
            .because("nonce")
    })
}

fn refused(error: DecisionError) -> Refusal {
    let text = error.to_string();
    match error {
        DecisionError::Request => nothing(),
        DecisionError::Web => {
            let hint = "decide on a companion; or write [approval] approvers = [\"companion\", \"web\"] and restart the hub";
            Refusal::new(Code::Forbidden, text, hint).because("web")
        }
        DecisionError::Kind(_) => {
            let hint =
                "decide on a companion: by_companion in its agent's section of the configuration says so";
            Refusal::new(Code::Forbidden, text, hint).because("web")
        }
        DecisionError::Over(state) => {
            let reason = match state {
                MessageState::Held | MessageState::Expired => "expired",
                MessageState::Cancelled => "withdrawn",
                _ => "decided",
            };
            Refusal::new(Code::Conflict, text, "see GET /v1/approvals/{request}").because(reason)
        }
        DecisionError::Unsigned(why) => not_signed(&why),
        DecisionError::Transition(error) => broken(error),
        _ => {
            Refusal::new(Code::Forbidden, text, "look at the card again, and decide again").because("passkey")
        }
    }
}
