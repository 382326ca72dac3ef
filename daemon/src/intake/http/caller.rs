//! Who is calling, and the one way in which every handler refuses.

use std::{borrow::Cow, future::Future, time::Duration};

use axum::{
    body::Body,
    extract::{MatchedPath, Path, Request, rejection::PathRejection},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use serde::de::DeserializeOwned;

use super::{
    Endpoint, problem,
    query::{self, clip},
    server::{self, OverBudget, Unread},
};
use crate::{
    agents::{self, Caller, Role},
    client::AS_OPERATOR,
    intake::message_service,
    message::refusal::{Code, Refusal},
    unique_keys::{self, JsonError},
};

/// How long a body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// Who may hand messages in and ask for them.
pub(super) const SENDERS: &[Role] = &[Role::Agent, Role::Operator];

impl Endpoint {
    /// Recognises the caller, checks its role, and only then runs `work`, which may read the body. Refusals become
    /// problems and lines in the audit.
    pub(super) async fn serve<F, W>(&self, roles: &[Role], request: Request, work: W) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller, Request) -> F,
    {
        let let_in = self.let_in(request.headers(), roles).await;
        self.served(let_in, request, work).await
    }

    /// The same for calls of tools: see [`let_in_to_tools`](Self::let_in_to_tools).
    pub(super) async fn serve_tools<F, W>(&self, request: Request, work: W) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller, Request) -> F,
    {
        let let_in = self.let_in_to_tools(request.headers()).await;
        self.served(let_in, request, work).await
    }

    async fn served<F, W>(
        &self,
        let_in: Result<Caller, (Option<Caller>, Refusal)>,
        request: Request,
        work: W,
    ) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller, Request) -> F,
    {
        let (method, path) = (request.method().clone(), request.extensions().get::<MatchedPath>().cloned());
        let (caller, result) = match let_in {
            Err((caller, refusal)) => (caller, Err(refusal)),
            Ok(caller) => {
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
    pub(super) async fn let_in(
        &self,
        headers: &HeaderMap,
        roles: &[Role],
    ) -> Result<Caller, (Option<Caller>, Refusal)> {
        let caller = self.caller(headers).await.map_err(|refusal| (None, refusal))?;
        match roles.contains(&caller.role) {
            true => Ok(caller),
            false => {
                let refusal = wrong_role(&caller, roles);
                Err((Some(caller), refusal))
            }
        }
    }

    /// Recognises who calls tools: an agent, or an operator who says that it is on purpose. Programs that pick up the
    /// operator's token where it lies, beside the hub's configuration, would otherwise send as the operator.
    pub(super) async fn let_in_to_tools(
        &self,
        headers: &HeaderMap,
    ) -> Result<Caller, (Option<Caller>, Refusal)> {
        let caller = self.let_in(headers, SENDERS).await?;
        let on_purpose = headers.get(AS_OPERATOR).is_some_and(|value| value == "true");
        match caller.role == Role::Operator && !on_purpose {
            true => Err((Some(caller), operators_token())),
            false => Ok(caller),
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
        let caller = self.caller(headers).await.ok();
        self.0.refused.note(caller.as_ref(), endpoint, refusal).await;
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

    /// Whose token this is.
    pub(super) async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let token = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .filter(|token| !token.is_empty())
            .ok_or_else(|| {
                let hint = "send \"Authorization: Bearer TOKEN\"; the operator makes one with: gatepost agent add NAME";
                Refusal::new(Code::Unauthorized, "the call has no token", hint)
            })?;
        agents::recognise(&self.0.store, token).await.map_err(message_service::broken)?.ok_or_else(|| {
            let hint = "the operator makes a new one with: gatepost agent add NAME";
            Refusal::new(Code::Unauthorized, "the token is not known, or was revoked", hint)
        })
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
