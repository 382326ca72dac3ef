//! Pairing, for the operator, in two calls: one waits for a device and says which number to compare, the other says whether
//! it is the same and waits for the device. Either returns when there is something to say, or its minute is over.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use gatepost_link::topic;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Endpoint, caller,
    companions::{OPERATOR, kind, refused},
    problem::Refused,
};
use crate::{
    companion::pairing::{CONFIRM, PairError, Shown},
    message::refusal::{Code, Refusal},
};

/// A device that wants to be paired.
#[derive(Debug, Serialize, ToSchema)]
struct Offered {
    /// Always true.
    ok: bool,
    /// The number that it should show.
    code: String,
    /// Its key's short name.
    key: String,
    /// `device` or `software`.
    kind: &'static str,
    /// For how many seconds the other call is waited for.
    expires_in_s: u64,
}

/// A companion that is paired.
#[derive(Debug, Serialize, ToSchema)]
struct Paired {
    /// Always true.
    ok: bool,
    companion: Newcomer,
}

/// A companion, as it was when it came.
#[derive(Debug, Serialize, ToSchema)]
struct Newcomer {
    name: String,
    /// Its key's short name.
    key: String,
    /// `device` or `software`.
    kind: &'static str,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Compared {
    /// Whether it shows the same number.
    same: bool,
    /// What people call it.
    name: Option<String>,
}

/// Waits for a companion that wants to be paired, a minute at most. For the operator.
#[utoipa::path(
    post,
    path = "/v1/pairing",
    responses((status = OK, body = Offered), Refused<404>, Refused<409>),
)]
pub(super) async fn pair(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let Shown { code, device, program } = endpoint.0.companions.pair().await.map_err(unpaired)?;
            let shown = Offered {
                ok: true,
                code: code.to_string(),
                key: topic::name(device).as_str().to_owned(),
                kind: kind(program),
                expires_in_s: CONFIRM.as_secs(),
            };
            Ok(Json(shown).into_response())
        })
        .await
}

/// Whether the companion shows the number; waits until it is paired. For the operator.
#[utoipa::path(
    post,
    path = "/v1/pairing/{code}",
    params(("code" = String, Path, description = "The number.")),
    request_body = Compared,
    responses((status = OK, body = Paired), Refused<404>, Refused<409>),
)]
pub(super) async fn answer(
    State(endpoint): State<Endpoint>,
    code: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, request| {
            let code = caller::path(code)?;
            let digits = Some(code).filter(|code| code.bytes().all(|digit| digit.is_ascii_digit()));
            let code =
                digits.and_then(|code| code.parse().ok()).ok_or_else(|| unpaired(PairError::Unknown))?;
            let Compared { same, name } = endpoint.json(request).await?;
            let device = endpoint.0.companions.answer(code, same, name).await.map_err(unpaired)?;
            let companion = Newcomer {
                key: topic::name(device.key).as_str().to_owned(),
                kind: kind(device.software),
                name: device.name,
            };
            Ok(Json(Paired { ok: true, companion }).into_response())
        })
        .await
}

fn unpaired(error: PairError) -> Refusal {
    let text = error.to_string();
    match error {
        PairError::Device(error) => refused(error),
        PairError::Unknown => Refusal::new(Code::NotFound, text, "begin with POST /v1/pairing"),
        PairError::Broken => Refusal::new(Code::ExecutionFailed, text, "see the hub's log"),
        _ => Refusal::new(Code::Conflict, text, "begin again with POST /v1/pairing"),
    }
}
