//! Who is calling, and the one way in which every handler refuses.

use std::{borrow::Cow, future::Future};

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use serde::de::DeserializeOwned;

use super::{Door, problem};
use crate::{
    agents::{self, Caller, Role},
    message::refusal::{Code, Refusal},
};

/// The agent as which the operator's own messages are judged.
pub(super) const SHELL: &str = "shell";

impl Door {
    /// Recognises the caller, checks its role, and runs `work`. Refusals become problems and lines in the audit.
    pub(super) async fn with_caller<F, W>(
        &self,
        door: &'static str,
        headers: &HeaderMap,
        roles: &[Role],
        work: W,
    ) -> Response
    where
        F: Future<Output = Result<Response, Refusal>>,
        W: FnOnce(Caller) -> F,
    {
        let (caller, result) = match self.caller(headers).await {
            Err(refusal) => (None, Err(refusal)),
            Ok(caller) => {
                let result = match roles.contains(&caller.role) {
                    true => work(caller.clone()).await,
                    false => Err(wrong_role(&caller, roles)),
                };
                (Some(caller), result)
            }
        };
        match result {
            Ok(response) => response,
            Err(refusal) => {
                self.0.refused.note(caller.as_ref(), door, &refusal).await;
                problem::response(&refusal)
            }
        }
    }

    async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let token = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(str::trim)
            .filter(|token| !token.is_empty())
            .ok_or_else(|| {
                let hint = "send \"Authorization: Bearer TOKEN\"; the operator makes one with: gatepost agent add NAME";
                Refusal::new(Code::Unauthorized, "the call has no token", hint)
            })?;
        agents::recognise(&self.0.store, token).await.map_err(broken)?.ok_or_else(|| {
            let hint = "the operator makes a new one with: gatepost agent add NAME";
            Refusal::new(Code::Unauthorized, "the token is not known, or was revoked", hint)
        })
    }
}

impl Caller {
    /// The agent that this caller's messages are judged as.
    pub(super) fn agent(&self) -> &str {
        match self.role {
            Role::Operator => SHELL,
            Role::Agent | Role::Bridge => &self.name,
        }
    }
}

/// A request's body, or why there is none.
pub(super) fn body(bytes: Result<Bytes, BytesRejection>) -> Result<Bytes, Refusal> {
    bytes.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::new(
            Code::TooLarge,
            "the body is over the hub's bound",
            "shorten it; the operator's bound is [hub] max_body",
        ),
        _ => Refusal::input("the body could not be read", "send it again").because("broken_body"),
    })
}

/// A body as JSON.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        // Where the text breaks off or a field is wrong; never the text itself.
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

/// The database does not answer.
pub(super) fn broken(error: impl std::fmt::Display) -> Refusal {
    tracing::error!(%error, "the database failed");
    Refusal::new(
        Code::ExecutionFailed,
        "the hub cannot use its database",
        "nothing was changed; try again later",
    )
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

fn clip(text: &str) -> String {
    text.chars().take(200).collect()
}
