//! Signing in to the page and out of it, and the links by which that is done.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Endpoint,
    agents::Done,
    caller::{self, Right, unquoted},
    companions::OPERATOR,
    credential::{self, Scheme, came_by, set_cookie},
    door::{came_from, is_by_tls},
    passkeys::{self, Assertion, PasskeysHere},
    problem::{self, Refused},
    query,
};
use crate::{
    agents::{
        self, Caller, Role,
        logins::{self, Client, End, Login, TokenHash, Way, codes::GOOD_FOR},
    },
    audit,
    clock::Time,
    intake::message_service,
    message::refusal::{Code, Refusal},
    store::now_ms,
};

/// By what somebody signs in.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Credential {
    /// A code of `gatepost open`, which is good once and for two minutes.
    Code(String),
    /// An operator's token.
    Token(String),
    /// What a passkey signed.
    Passkey(Assertion),
}

/// Who is here, and what the page has to know first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Login)]
struct Here {
    /// Always true.
    ok: bool,
    /// The login's id; never the cookie.
    login: String,
    /// Whose: the operator's token by whose right it is.
    name: String,
    way: Way,
    /// The hub's clock (RFC 3339).
    #[schema(value_type = String)]
    now: Time,
    /// The newest event: a list that is read after this answer shows at least what happened up to it.
    seq: i64,
    version: &'static str,
    /// `[approval] approvers`.
    approvers: Vec<&'static str>,
    passkeys: PasskeysHere,
}

/// Where somebody is signed in.
#[derive(Debug, Serialize, ToSchema)]
struct Logins {
    /// Always true.
    ok: bool,
    logins: Vec<Open>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedLogin)]
struct Open {
    #[serde(flatten)]
    listed: logins::Listed,
    /// Whether it is the one that asks.
    this_one: bool,
}

/// A code that signs in once. This is the one time that it is seen.
#[derive(Serialize, ToSchema)]
struct LoginCode {
    /// Always true.
    ok: bool,
    /// What stands behind `#in=` in the address.
    code: String,
    /// For how many seconds it is good.
    seconds: u64,
}

/// Signs in to the page, by a code, an operator's token or a passkey: the cookie that comes with the answer stands in for that token in every call. Only
/// from the hub's own page, by its `Origin`. After ten failures within a minute, nobody signs in from there for the rest of it.
#[utoipa::path(
    post,
    path = "/v1/login",
    security(()),
    request_body = Credential,
    responses((status = CREATED, body = Here), Refused<401>, Refused<403>, Refused<429>, Refused<502>),
)]
pub(super) async fn begin(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let from = came_from(&request);
    if let Some(wait) = endpoint.0.attempts.must_wait(from) {
        let error = "ten attempts to sign in have failed within a minute";
        let refusal =
            Refusal::new(Code::RateLimited, error, "wait a minute, and sign in again").because("attempts");
        endpoint.0.refused.note(None, "POST /v1/login", &refusal).await;
        let mut response = problem::response(&refusal);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        return response;
    }
    match signed_in(&endpoint, from.to_string(), request).await {
        Ok(response) => response,
        Err(refusal) => {
            if refusal.code == Code::Unauthorized {
                endpoint.0.attempts.failed(from);
            }
            endpoint.0.refused.note(None, "POST /v1/login", &refusal).await;
            problem::response(&refusal)
        }
    }
}

async fn signed_in(endpoint: &Endpoint, from: String, request: Request) -> Result<Response, Refusal> {
    query::check(&request)?;
    let headers = request.headers().clone();
    let scheme = match (credential::comes_from(&headers, &endpoint.0.hosts)?, is_by_tls(&request)) {
        (_, true) => Scheme::Tls,
        (scheme, false) => scheme,
    };
    // A page whose login still stands signs in anew: that one is over then. One with a token has none to begin.
    let before = match credential::Credential::of(&headers)? {
        Some(credential::Credential::Token(_)) => return Err(with_token()),
        Some(credential::Credential::Cookie(secret)) => {
            logins::find(&endpoint.0.store, &secret).map_err(message_service::broken)?
        }
        None => None,
    };
    let credential = endpoint.json(request).await.map_err(|refusal| {
        let hint = "send {\"code\": \"…\"}, {\"token\": \"…\"} or {\"passkey\": {…}}, and nothing else";
        unquoted(refusal, "this is nothing by which somebody signs in", hint)
    })?;
    let (token, way, refused) = by_whose_right(endpoint, credential).await?;
    let user_agent =
        headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let client = Client { browser: logins::in_words(user_agent), from };
    let begun =
        logins::begin(&endpoint.0.store, token, way, client).await.map_err(message_service::broken)?;
    let (_, secret) = begun.ok_or(refused)?;
    if let Some(Login { id, caller, .. }) = before {
        let ended = logins::end(&endpoint.0.store, &id, End::SignedOut, &caller.to_string()).await;
        ended.map_err(message_service::broken)?;
    }
    let login = logins::find(&endpoint.0.store, &secret).map_err(message_service::broken)?;
    let here = here(endpoint, &login.ok_or_else(over)?, &headers).await?;
    Ok(with_cookie((StatusCode::CREATED, Json(here)).into_response(), scheme, &headers, Some(&secret)))
}

/// By whose right somebody signs in, and how it is refused if that does not stand.
async fn by_whose_right(
    endpoint: &Endpoint,
    credential: Credential,
) -> Result<(TokenHash, Way, Refusal), Refusal> {
    match credential {
        Credential::Code(code) => {
            let hint = "make a new link with: gatepost open";
            let refusal =
                Refusal::new(Code::Unauthorized, "this code was used, or is older than two minutes", hint)
                    .because("code");
            let token = endpoint.0.codes.take(&code).ok_or_else(|| refusal.clone())?;
            Ok((token, Way::Code, refusal))
        }
        Credential::Token(token) => {
            let hint = "it stands in operator.token in the hub's data directory";
            let refusal = Refusal::new(Code::Unauthorized, "this is no operator's token of this hub", hint)
                .because("token");
            let caller =
                agents::recognise(&endpoint.0.store, token.trim()).await.map_err(message_service::broken)?;
            match caller {
                Some(Caller { role: Role::Operator, .. }) => {
                    Ok((agents::hash(token.trim()), Way::Token, refusal))
                }
                _ => Err(refusal),
            }
        }
        Credential::Passkey(assertion) => {
            let token = passkeys::whose(endpoint, assertion).await?;
            Ok((token, Way::Passkey, passkeys::unknown()))
        }
    }
}

/// Who is signed in, by the cookie. For the page.
#[utoipa::path(
    get,
    path = "/v1/login",
    responses((status = OK, body = Here), Refused<404>),
)]
pub(super) async fn show(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let login = own(&request)?;
            let headers = request.headers();
            // The cookie lasts as long as the login, which is used now.
            let secret = match credential::Credential::of(headers)? {
                Some(credential::Credential::Cookie(secret)) => secret,
                _ => return Err(no_login()),
            };
            let response = Json(here(&endpoint, &login, headers).await?).into_response();
            Ok(with_cookie(response, came_by(headers), headers, Some(&secret)))
        })
        .await
}

/// Signs out: the login is over, and the browser is told to forget its cookie. For the page.
#[utoipa::path(
    delete,
    path = "/v1/login",
    responses((status = OK, body = Done), Refused<404>),
)]
pub(super) async fn end(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let (login, headers) = (own(&request)?, request.headers());
            let ended = logins::end(&endpoint.0.store, &login.id, End::SignedOut, &caller.to_string()).await;
            ended.map_err(message_service::broken)?;
            Ok(with_cookie(Json(Done { ok: true }).into_response(), came_by(headers), headers, None))
        })
        .await
}

/// Makes a code that signs in to the page once, within two minutes, with the rights of this call's token. For the operator.
#[utoipa::path(
    post,
    path = "/v1/login/code",
    responses((status = CREATED, body = LoginCode)),
)]
pub(super) async fn code(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let right = request.extensions().get::<Right>().ok_or_else(over)?;
            let code = endpoint.0.codes.make(right.token);
            let made = LoginCode { ok: true, code, seconds: GOOD_FOR.as_secs() };
            Ok((StatusCode::CREATED, Json(made)).into_response())
        })
        .await
}

/// Where operators are signed in, the login used last first. For the operator.
#[utoipa::path(
    get,
    path = "/v1/logins",
    responses((status = OK, body = Logins)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let own = own(&request).ok().map(|login| login.id);
            let listed = logins::list(&endpoint.0.store).await.map_err(message_service::broken)?;
            let open =
                |listed: logins::Listed| Open { this_one: own.as_ref() == Some(&listed.login), listed };
            Ok(Json(Logins { ok: true, logins: listed.into_iter().map(open).collect() }).into_response())
        })
        .await
}

/// Ends a login. For the operator.
#[utoipa::path(
    delete,
    path = "/v1/logins/{login}",
    params(("login" = String, Path, description = "Its id.")),
    responses((status = OK, body = Done), Refused<404>),
)]
pub(super) async fn end_one(
    State(endpoint): State<Endpoint>,
    login: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, _| {
            let login = caller::path(login)?;
            let ended = logins::end(&endpoint.0.store, &login, End::Ended, &caller.to_string()).await;
            match ended.map_err(message_service::broken)? {
                true => Ok(Json(Done { ok: true }).into_response()),
                false => Err(Refusal::new(Code::NotFound, "there is no such login", "see GET /v1/logins")),
            }
        })
        .await
}

async fn here(endpoint: &Endpoint, login: &Login, headers: &HeaderMap) -> Result<Here, Refusal> {
    let seq = endpoint.0.store.read(audit::newest).await.map_err(message_service::broken)?;
    Ok(Here {
        ok: true,
        login: login.id.clone(),
        name: login.caller.name.clone(),
        way: login.way,
        now: Time(now_ms()),
        seq,
        version: env!("CARGO_PKG_VERSION"),
        approvers: endpoint.0.approvers.clone(),
        passkeys: PasskeysHere::at(endpoint, headers),
    })
}

/// The login by which a request came.
fn own(request: &Request) -> Result<Login, Refusal> {
    request.extensions().get::<Right>().and_then(|right| right.login.clone()).ok_or_else(no_login)
}

fn with_cookie(
    mut response: Response,
    scheme: Scheme,
    headers: &HeaderMap,
    secret: Option<&str>,
) -> Response {
    response.headers_mut().insert(header::SET_COOKIE, set_cookie(scheme, headers, secret));
    response
}

fn no_login() -> Refusal {
    Refusal::new(Code::NotFound, "the call was made with a token, and not by a login", "see GET /v1/whoami")
}

fn with_token() -> Refusal {
    let hint = "a program needs no login: it sends its token with every call";
    Refusal::input("the call has a token already", hint).because("credentials")
}

fn over() -> Refusal {
    Refusal::new(Code::Unauthorized, "the login is over", "sign in again by a link from: gatepost open")
}
