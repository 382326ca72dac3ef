//! Passkeys of the page: adding one with the operator's token, removing it, and signing in by it.
//!
//! Which names they belong to, and at which addresses they are used, the configuration says ([`Sites`](super::host::Sites)); a request
//! only chooses among these. What a passkey is to sign is given out for two minutes and taken once.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatepost_link::RequestId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Endpoint,
    agents::Done,
    caller,
    companions::OPERATOR,
    credential,
    problem::{self, Refused},
    query,
};
use crate::{
    agents::{
        self, Caller, Role,
        logins::{TokenHash, codes::Codes, stamps::Stamps},
    },
    approval::passkeys::{
        self, PasskeyError, SignInError,
        assertion::{self, MAX_BYTES, MAX_CREDENTIAL, Made, Site, Unsigned},
    },
    clock::Time,
    intake::message_service::broken,
    message::refusal::{Code, Refusal},
};

/// What was given out for passkeys to sign, by what for.
#[derive(Default)]
pub(super) struct Challenges {
    sign_in: Stamps,
    add: Stamps,
    /// For one decision on this request.
    pub(super) decide: Codes<RequestId>,
}

/// Whether passkeys can be had where the page is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PasskeysHere {
    possible: bool,
    /// The name that they belong to.
    rp_id: Option<String>,
    /// Why not, and what to do.
    because: Option<String>,
}

impl PasskeysHere {
    /// Where this request came from.
    pub(super) fn at(endpoint: &Endpoint, headers: &HeaderMap) -> Self {
        let site = endpoint.0.sites.of(headers);
        Self {
            possible: site.is_some(),
            rp_id: site.map(|site| site.rp_id.clone()),
            because: site.is_none().then(|| nowhere(endpoint)),
        }
    }
}

fn nowhere(endpoint: &Endpoint) -> String {
    let known: Vec<&str> = endpoint.0.sites.all().iter().map(|site| site.origin.as_str()).collect();
    format!(
        "Passkeys work where the page is at {}. For another address, write its name into [hub] hosts, with the port if it has one \
         (\"hub.example.org:8443\", \"localhost:9000\"), and restart the hub.",
        known.join(" or ")
    )
}

/// The site that a call comes from.
pub(super) fn site<'a>(endpoint: &'a Endpoint, headers: &HeaderMap) -> Result<&'a Site, Refusal> {
    endpoint.0.sites.of(headers).ok_or_else(|| {
        let error = "passkeys cannot be had at this address";
        Refusal::new(Code::Conflict, error, nowhere(endpoint)).because("passkeys")
    })
}

/// What `navigator.credentials.get` gives, in base64url.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Assertion {
    /// The id of the credential.
    pub(super) credential: String,
    pub(super) client_data: String,
    pub(super) authenticator_data: String,
    pub(super) signature: String,
}

impl Assertion {
    /// The credential's id, and what it signed.
    pub(super) fn read(self) -> Result<(Vec<u8>, assertion::Assertion), Refusal> {
        let signed = assertion::Assertion {
            client_data: bytes("client_data", &self.client_data, MAX_BYTES)?,
            authenticator_data: bytes("authenticator_data", &self.authenticator_data, MAX_BYTES)?,
            signature: bytes("signature", &self.signature, MAX_BYTES)?,
        };
        Ok((bytes("credential", &self.credential, MAX_CREDENTIAL)?, signed))
    }
}

/// Bytes in base64url, not too many.
pub(super) fn bytes(name: &'static str, text: &str, most: usize) -> Result<Vec<u8>, Refusal> {
    URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() <= most && !bytes.is_empty()).ok_or_else(
        || {
            let hint = format!("send 1 to {most} bytes, in base64url without padding");
            Refusal::input(format!("\"{name}\" cannot be read"), hint).because("wrong_shape")
        },
    )
}

/// A passkey as listed.
#[derive(Debug, Serialize, ToSchema)]
struct Passkey {
    /// By which it is removed: SHA-256 of the credential's id, its first 8 bytes.
    passkey: String,
    name: String,
    /// When it was added (RFC 3339).
    #[schema(value_type = String)]
    added_at: Time,
    /// When it last signed somebody in, or decided (RFC 3339).
    #[schema(value_type = Option<String>)]
    used_at: Option<Time>,
}

impl From<&passkeys::Passkey> for Passkey {
    fn from(passkey: &passkeys::Passkey) -> Self {
        Self {
            passkey: passkey.short(),
            name: passkey.name.clone(),
            added_at: Time(passkey.added_at),
            used_at: passkey.used_at.map(Time),
        }
    }
}

/// The passkeys that there are.
#[derive(Debug, Serialize, ToSchema)]
struct Passkeys {
    /// Always true.
    ok: bool,
    passkeys: Vec<Passkey>,
}

/// What a passkey is asked for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Purpose {
    r#for: For,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PasskeyPurpose)]
enum For {
    /// To sign in.
    Login,
    /// To be added.
    Add,
}

/// What a passkey is to sign. Good once, and for two minutes.
#[derive(Debug, Serialize, ToSchema)]
struct Challenge {
    /// Always true.
    ok: bool,
    /// As base64url without padding.
    challenge: String,
    /// The name that the passkey belongs to.
    rp_id: String,
    /// For a new one: the user's handle, as base64url without padding.
    user: Option<String>,
}

/// What `navigator.credentials.create` gives, in base64url.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPasskey {
    /// The operator's token, once more: it has the right of it.
    token: String,
    /// What it is called. Of several of one name, all but the first get a number.
    #[schema(max_length = 40)]
    name: String,
    /// The id of the credential.
    credential: String,
    client_data: String,
    authenticator_data: String,
    /// SubjectPublicKeyInfo.
    public_key: String,
    /// COSE's number: -7, -8 or -257.
    algorithm: i64,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AddedPasskey)]
struct Added {
    /// Always true.
    ok: bool,
    passkey: Passkey,
}

/// The passkeys that there are. For the operator.
#[utoipa::path(
    get,
    path = "/v1/passkeys",
    responses((status = OK, body = Passkeys)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let all = passkeys::list(&endpoint.0.store).await.map_err(broken)?;
            Ok(Json(Passkeys { ok: true, passkeys: all.iter().map(Passkey::from).collect() }).into_response())
        })
        .await
}

/// Gives out what a passkey is to sign: to sign in, or to be added. Only to the hub's own page, by its `Origin`.
#[utoipa::path(
    post,
    path = "/v1/passkeys/challenge",
    security(()),
    request_body = Purpose,
    responses((status = OK, body = Challenge), Refused<403>, Refused<409>),
)]
pub(super) async fn challenge(State(endpoint): State<Endpoint>, request: Request) -> Response {
    match given_out(&endpoint, request).await {
        Ok(challenge) => Json(challenge).into_response(),
        Err(refusal) => {
            endpoint.0.refused.note(None, "POST /v1/passkeys/challenge", &refusal).await;
            problem::response(&refusal)
        }
    }
}

async fn given_out(endpoint: &Endpoint, request: Request) -> Result<Challenge, Refusal> {
    query::check(&request)?;
    let headers = request.headers().clone();
    credential::comes_from(&headers, &endpoint.0.hosts)?;
    let Purpose { r#for: purpose } = endpoint.json(request).await?;
    let rp_id = site(endpoint, &headers)?.rp_id.clone();
    let challenges = &endpoint.0.challenges;
    let (challenge, user) = match purpose {
        For::Login => (challenges.sign_in.make(), None),
        // Another one each time: an authenticator keeps one passkey of a user, and forgets the one before.
        For::Add => (challenges.add.make(), Some(URL_SAFE_NO_PAD.encode(crate::random::bytes::<16>()))),
    };
    Ok(Challenge { ok: true, challenge, rp_id, user })
}

/// Adds a passkey. It wants the operator's token again: who has only an open page adds none. For the operator.
#[utoipa::path(
    post,
    path = "/v1/passkeys",
    request_body = NewPasskey,
    responses((status = CREATED, body = Added), Refused<409>),
)]
pub(super) async fn add(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let new: NewPasskey = endpoint.json(request).await?;
            let token = new.token.trim();
            let known = agents::recognise(&endpoint.0.store, token).await.map_err(broken)?;
            if !matches!(known, Some(Caller { role: Role::Operator, .. })) {
                return Err(refused(PasskeyError::Token));
            }
            let made = Made {
                credential: bytes("credential", &new.credential, MAX_CREDENTIAL)?,
                client_data: bytes("client_data", &new.client_data, MAX_BYTES)?,
                authenticator_data: bytes("authenticator_data", &new.authenticator_data, MAX_BYTES)?,
                spki: bytes("public_key", &new.public_key, MAX_BYTES)?,
                algorithm: new.algorithm,
            };
            let challenges = &endpoint.0.challenges.add;
            let challenge = challenge_of(challenges, &made.client_data).ok_or_else(late)?;
            let (key, counter) =
                made.checked(&challenge, endpoint.0.sites.all()).map_err(|why| not_signed(&why))?;
            if !challenges.use_up(challenge) {
                return Err(late());
            }
            let (name, credential) = (new.name, made.credential);
            let new = passkeys::New { name, credential, key, counter, token: agents::hash(token) };
            let added = passkeys::add(&endpoint.0.store, new, &caller.to_string()).await.map_err(refused)?;
            let added = Added { ok: true, passkey: Passkey::from(&added) };
            Ok((StatusCode::CREATED, Json(added)).into_response())
        })
        .await
}

/// Removes a passkey: it signs nobody in any more, decides nothing, and its approvals of what still waits are taken back. For the operator.
#[utoipa::path(
    delete,
    path = "/v1/passkeys/{passkey}",
    params(("passkey" = String, Path, description = "Its id, as listed.")),
    responses((status = OK, body = Done), Refused<404>),
)]
pub(super) async fn remove(
    State(endpoint): State<Endpoint>,
    passkey: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, _| {
            let passkey = caller::path(passkey)?;
            let removed = passkeys::remove(&endpoint.0.store, &passkey, &caller.to_string()).await;
            let pipeline = endpoint.pipeline();
            removed.map_err(refused)?.into_iter().for_each(|seq| pipeline.outbox().changed(seq));
            Ok(Json(Done { ok: true }).into_response())
        })
        .await
}

/// By whose right a passkey signs somebody in.
pub(super) async fn whose(endpoint: &Endpoint, given: Assertion) -> Result<TokenHash, Refusal> {
    let unauthorized = |error: String| Refusal { error, ..unknown() };
    let (credential, assertion) = given.read()?;
    let challenges = &endpoint.0.challenges.sign_in;
    let challenge =
        challenge_of(challenges, &assertion.client_data).ok_or_else(|| unauthorized(late().error))?;
    let sites = endpoint.0.sites.clone();
    let is_own = move |origin: &str, rp_id: &str| {
        sites.all().iter().any(|site| site.origin == origin && site.rp_id == rp_id)
    };
    let token = passkeys::sign_in(&endpoint.0.store, &credential, challenge.clone(), assertion, is_own).await;
    let token = token.map_err(|error| match error {
        SignInError::Store(error) => broken(error),
        other => unauthorized(other.to_string()),
    })?;
    match challenges.use_up(challenge) {
        true => Ok(token),
        false => Err(unauthorized(late().error)),
    }
}

/// That a passkey signs nobody in.
pub(super) fn unknown() -> Refusal {
    let hint = "use another one, or sign in by a link from gatepost open, or by the operator's token";
    Refusal::new(Code::Unauthorized, SignInError::Unknown.to_string(), hint).because("passkey")
}

/// The challenge that was signed, if it was given out and is good.
fn challenge_of(challenges: &Stamps, client_data: &[u8]) -> Option<Vec<u8>> {
    challenges.read(&assertion::challenge_in(client_data)?)
}

fn late() -> Refusal {
    let error = "what the passkey signed was used before, or is older than two minutes";
    Refusal::new(Code::Conflict, error, "do it again").because("nonce")
}

/// That what a passkey signed does not count.
pub(super) fn not_signed(why: &Unsigned) -> Refusal {
    Refusal::new(Code::Forbidden, why.to_string(), "use the passkey again, at the hub's own page")
        .because("passkey")
}

fn refused(error: PasskeyError) -> Refusal {
    let text = error.to_string();
    match error {
        PasskeyError::Name(_) => Refusal::input(text, "choose another name"),
        PasskeyError::Full | PasskeyError::Known => {
            Refusal::new(Code::Conflict, text, "see GET /v1/passkeys")
        }
        PasskeyError::Missing => Refusal::new(Code::NotFound, text, "see GET /v1/passkeys"),
        PasskeyError::Token => {
            let hint = "it stands in operator.token in the hub's data directory";
            Refusal::new(Code::Unauthorized, text, hint).because("token")
        }
        PasskeyError::Store(error) => broken(error),
    }
}
