//! Who is calling, and the one way in which every handler refuses.
//!
//! A caller is recognised by a token, or in a browser by the cookie of a login ([`credential`](super::credential)), which has the right of
//! an operator's token. Handlers see the same [`Caller`] either way; those that ask by what it was recognised find its [`Right`] in
//! the request.

use std::{borrow::Cow, future::Future, time::Duration};

use axum::{
    body::Body,
    extract::{MatchedPath, Path, Request, rejection::PathRejection},
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};
use serde::de::DeserializeOwned;

use super::{
    Endpoint,
    credential::{self, Credential},
    door::came_from,
    problem,
    query::{self, clip},
    server::{self, OverBudget, Unread},
};
use crate::{
    agents::{
        self, Caller, Role,
        logins::{self, Login, TokenHash},
    },
    client::AS_OPERATOR,
    intake::message_service,
    message::refusal::{Code, Refusal},
    unique_keys::{self, JsonError},
};

/// How long a body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// Who may hand messages in and ask for them.
pub(super) const SENDERS: &[Role] = &[Role::Agent, Role::Operator];

/// By what a caller was recognised.
#[derive(Debug, Clone)]
pub(super) struct Right {
    /// The token, or that by whose right the login began.
    pub token: TokenHash,
    /// The login, where it was one.
    pub login: Option<Login>,
}

/// A caller, and by what it was recognised.
pub(super) struct Recognised {
    pub caller: Caller,
    pub right: Right,
}

impl Recognised {
    /// On whose account requests, bytes and streams are counted: a login has its own, so that open pages do not keep the operator's
    /// programs out.
    pub(super) fn account(&self) -> String {
        account(&self.caller, &self.right)
    }
}

/// See [`Recognised::account`].
pub(super) fn account(caller: &Caller, right: &Right) -> String {
    match &right.login {
        Some(login) => format!("login:{}", login.id),
        None => caller.to_string(),
    }
}

/// Who was let in; or who was refused, if they were recognised, and why.
pub(super) type LetIn = Result<Recognised, (Option<Caller>, Refusal)>;

impl Endpoint {
    /// Recognises the caller, checks its role, and only then runs `work`, which may read the body. Refusals become
    /// problems and lines in the audit.
    pub(super) async fn serve<F, W>(&self, roles: &[Role], request: Request, work: W) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller, Request) -> F,
    {
        let let_in = self.let_in(request.method(), request.headers(), roles).await;
        self.served(let_in, request, work).await
    }

    /// The same for calls of tools: see [`let_in_to_tools`](Self::let_in_to_tools).
    pub(super) async fn serve_tools<F, W>(&self, request: Request, work: W) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller, Request) -> F,
    {
        let let_in = self.let_in_to_tools(request.method(), request.headers()).await;
        self.served(let_in, request, work).await
    }

    async fn served<F, W>(&self, let_in: LetIn, mut request: Request, work: W) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller, Request) -> F,
    {
        let (method, path) = (request.method().clone(), request.extensions().get::<MatchedPath>().cloned());
        let (caller, result) = match let_in {
            Err((caller, refusal)) => (caller, Err(refusal)),
            Ok(Recognised { caller, right }) => {
                if let Some(login) = &right.login {
                    self.is_used(login, &came_from(&request).to_string()).await;
                }
                request.extensions_mut().insert(right);
                let result = match query::check(&request) {
                    Ok(()) => work(caller.clone(), request).await,
                    Err(refusal) => Err(refusal),
                };
                (Some(caller), result)
            }
        };
        match result {
            Ok(response) => response,
            Err(refusal) => {
                let endpoint = format!("{method} {}", path.as_ref().map_or("", MatchedPath::as_str));
                self.0.refused.note(caller.as_ref(), &endpoint, &refusal).await;
                problem::response(&refusal)
            }
        }
    }

    /// Recognises the caller, and checks its role; the refusal of one that was recognised names it.
    pub(super) async fn let_in(&self, method: &Method, headers: &HeaderMap, roles: &[Role]) -> LetIn {
        let known = self.recognise(headers).await.map_err(|refusal| (None, refusal))?;
        if known.right.login.is_some()
            && let Err(refusal) = credential::is_own(method, headers, &self.0.hosts)
        {
            return Err((Some(known.caller), refusal));
        }
        match roles.contains(&known.caller.role) {
            true => Ok(known),
            false => {
                let refusal = wrong_role(&known.caller, roles);
                Err((Some(known.caller), refusal))
            }
        }
    }

    /// Recognises who calls tools: an agent, or an operator who says that it is on purpose. Programs that pick up the
    /// operator's token where it lies, beside the hub's configuration, would otherwise send as the operator. Whoever does it in the page
    /// does it on purpose.
    pub(super) async fn let_in_to_tools(&self, method: &Method, headers: &HeaderMap) -> LetIn {
        let known = self.let_in(method, headers, SENDERS).await?;
        let on_purpose =
            known.right.login.is_some() || headers.get(AS_OPERATOR).is_some_and(|value| value == "true");
        match known.caller.role == Role::Operator && !on_purpose {
            true => Err((Some(known.caller), operators_token())),
            false => Ok(known),
        }
    }

    /// Writes down that a login is used, if that was some time ago.
    pub(super) async fn is_used(&self, login: &Login, from: &str) {
        if login.is_stale()
            && let Err(error) = logins::seen(&self.0.store, &login.id, from).await
        {
            tracing::warn!(%error, "cannot write down that a login is used");
        }
    }

    /// Answers anybody who asks without a query key that the call does not know.
    pub(super) async fn serve_anybody(
        &self,
        request: Request,
        work: impl Future<Output = Response>,
    ) -> Response {
        match query::check(&request) {
            Ok(()) => work.await,
            Err(refusal) => {
                let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
                self.0.refused.note(None, path, &refusal).await;
                problem::response(&refusal)
            }
        }
    }

    /// Refuses a request that no handler takes.
    pub(super) async fn refuse(
        &self,
        endpoint: &'static str,
        headers: &HeaderMap,
        refusal: &Refusal,
        status: StatusCode,
    ) -> Response {
        let known = self.recognise(headers).await.ok();
        self.0.refused.note(known.as_ref().map(|known| &known.caller), endpoint, refusal).await;
        problem::with_status(refusal, status)
    }

    /// A request's body as JSON: bounded in size and time.
    pub(super) async fn json<T: DeserializeOwned>(&self, request: Request) -> Result<T, Refusal> {
        json(&self.bytes(request.into_body()).await?)
    }

    /// A body, bounded in size and time.
    pub(super) async fn bytes(&self, body: Body) -> Result<Vec<u8>, Refusal> {
        let refusal = match server::read(body, self.0.max_body, BODY_TIMEOUT).await {
            Ok(bytes) => return Ok(bytes),
            Err(Unread::TooLong) => Refusal::new(
                Code::TooLarge,
                format!("the body has more than {} bytes", self.0.max_body),
                "shorten it; the operator's bound is [hub] max_body",
            ),
            Err(Unread::OverBudget) => {
                let hint = "wait for some of your calls to end, and send it again";
                Refusal::new(Code::RateLimited, OverBudget.to_string(), hint).because("bytes")
            }
            Err(Unread::Broken) => {
                Refusal::input("the body broke off", "send it again").because("broken_body")
            }
            Err(Unread::Slow) => {
                Refusal::input("the body did not come in time", "send it faster").because("slow_body")
            }
        };
        Err(refusal)
    }

    /// Whose token this is, or whose login.
    pub(super) async fn recognise(&self, headers: &HeaderMap) -> Result<Recognised, Refusal> {
        let unauthorized =
            |error: &str, hint: &str| Refusal::new(Code::Unauthorized, error.to_owned(), hint.to_owned());
        match Credential::of(headers)? {
            Some(Credential::Token(token)) => {
                let caller =
                    agents::recognise(&self.0.store, &token).await.map_err(message_service::broken)?;
                let caller = caller.ok_or_else(|| {
                    let hint = "the operator makes a new one with: gatepost agent add NAME";
                    unauthorized("the token is not known, or was revoked", hint)
                })?;
                Ok(Recognised { caller, right: Right { token: agents::hash(&token), login: None } })
            }
            Some(Credential::Cookie(secret)) => {
                let login = logins::find(&self.0.store, &secret).map_err(message_service::broken)?;
                let login = login.ok_or_else(|| {
                    unauthorized("the login is over", "sign in again by a link from: gatepost open")
                })?;
                let right = Right { token: login.token, login: Some(login.clone()) };
                Ok(Recognised { caller: login.caller, right })
            }
            None => {
                let hint = "send \"Authorization: Bearer TOKEN\"; the operator makes one with: gatepost agent add NAME, and opens the \
                            page with: gatepost open";
                Err(unauthorized("the call has no token", hint))
            }
        }
    }
}

/// The one variable part of a request's path.
pub(super) fn path(path: Result<Path<String>, PathRejection>) -> Result<String, Refusal> {
    path.map(|Path(path)| path)
        .map_err(|error| Refusal::input(clip(&error.body_text()), "use the id as it was given"))
}

/// A body as JSON.
fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    unique_keys::from_slice(bytes).map_err(|error| {
        let error = match error {
            JsonError::Json(error) => error,
            repeated @ JsonError::Repeated(_) => return ambiguous(&repeated),
        };
        let at = match (error.line(), error.column()) {
            (0, _) => Cow::Borrowed(""),
            (line, column) => format!(" at line {line}, column {column}").into(),
        };
        let (error, reason) = match error.classify() {
            serde_json::error::Category::Data => (clip(&error.to_string()), "wrong_shape"),
            _ => (format!("the body is not JSON{at}"), "malformed_json"),
        };
        Refusal::input(error, "send a JSON object, UTF-8").because(reason)
    })
}

/// The refusal of a body that may have a secret in it: a parser's own words repeat what it was given, and are kept in the audit.
pub(super) fn unquoted(refusal: Refusal, error: &str, hint: &str) -> Refusal {
    match refusal.reason {
        Some("wrong_shape") => Refusal::input(error, hint).because("wrong_shape"),
        _ => refusal,
    }
}

/// That a body has a key twice.
pub(super) fn ambiguous(error: &JsonError) -> Refusal {
    Refusal::input(error.to_string(), "write each key once: nobody can say which value is meant")
        .because("repeated_key")
}

fn wrong_role(caller: &Caller, roles: &[Role]) -> Refusal {
    let wanted: Vec<&str> = roles.iter().map(|role| role.word()).collect();
    let error = format!(
        "{} has the role {}, and this call is for: {}",
        caller.name,
        caller.role.word(),
        wanted.join(", ")
    );
    Refusal::new(Code::Forbidden, error, "use a token with that role").because("role")
}

fn operators_token() -> Refusal {
    let error = "this is an operator's token, and tools are for agents";
    let hint = "make a token for the agent with: gatepost agent add NAME; to act as the operator on purpose, start \
                gatepost mcp --as-operator, or send the header Gatepost-As-Operator: true";
    Refusal::new(Code::Forbidden, error, hint).because("operator_token")
}
