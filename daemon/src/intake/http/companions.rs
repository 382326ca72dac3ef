//! Companions, for the operator.

use std::collections::HashSet;

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use gatepost_link::RequestId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Endpoint, caller, problem::Refused};
use crate::{
    agents::Role,
    approval::{
        listing::Decided,
        presence::Broker,
        registry::{DeviceError, Registered},
    },
    companion::register::Listed,
    intake::{message_service, views::time},
    message::refusal::{Code, Refusal},
    random::to_hex,
    updates::overview::{CompanionView, FirmwareView, UpdateView},
};

pub(super) const OPERATOR: &[Role] = &[Role::Operator];

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Rename {
    name: String,
}

/// A companion as the HTTP interface shows it. Its public key is no secret.
#[derive(Debug, Serialize, ToSchema)]
struct Companion {
    name: String,
    /// Its key's short name.
    key: String,
    public_key: String,
    /// `device` or `software`.
    kind: &'static str,
    added_at: String,
    seen_at: Option<String>,
    decided_at: Option<String>,
    /// What it decided last, in a listing: `approve` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<&'static str>,
    /// How often it decided within 24 hours, in a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<Today>,
    /// The request whose card it shows, in a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    shows: Option<String>,
    /// The counter of its last decision; 0 before the first.
    counter: i64,
    revoked_at: Option<String>,
    /// Whether it is here now, in a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    online: Option<bool>,
    /// Whether somebody can be asked at it now, in a listing: it is here, and its display works.
    #[serde(skip_serializing_if = "Option::is_none")]
    able: Option<bool>,
    /// Why nobody can be asked at it now, in a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    unable_because: Option<String>,
    /// What it runs, as it said last, in a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    firmware: Option<FirmwareView>,
    /// How far it is with the release that is rolled out to it, in a listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<UpdateView>,
}

impl From<&Registered> for Companion {
    fn from(device: &Registered) -> Self {
        Self {
            name: device.name.clone(),
            key: device.short(),
            public_key: to_hex(&device.key.0),
            kind: kind(device.software),
            added_at: time(device.added_at),
            seen_at: device.seen_at.map(time),
            decided_at: device.decided_at.map(time),
            decided: None,
            today: None,
            shows: None,
            counter: device.counter,
            revoked_at: device.revoked_at.map(time),
            online: None,
            able: None,
            unable_because: None,
            firmware: None,
            update: None,
        }
    }
}

impl Companion {
    /// In a listing.
    fn listed(
        listed: &Listed,
        view: Option<CompanionView>,
        decided: Decided,
        shows: Option<RequestId>,
    ) -> Self {
        let (firmware, update) = view.map_or((None, None), |view| (view.firmware, view.update));
        let able = listed.unable.is_none() && listed.device.revoked_at.is_none();
        Self {
            online: Some(listed.online),
            able: Some(able),
            unable_because: listed.unable.map(|why| why.to_string()),
            decided: decided.last.map(|approved| if approved { "approve" } else { "deny" }),
            today: Some(Today { approved: decided.approved, denied: decided.denied }),
            shows: shows.map(|request| request.to_string()),
            firmware,
            update,
            ..Self::from(&listed.device)
        }
    }
}

/// How often a companion decided within 24 hours.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DecidedToday)]
struct Today {
    approved: u32,
    denied: u32,
}

/// The companions, and the broker between them and the hub.
#[derive(Debug, Serialize, ToSchema)]
struct Register {
    /// Always true.
    ok: bool,
    companions: Vec<Companion>,
    broker: AtBroker,
}

/// The hub at its broker.
#[derive(Debug, Serialize, ToSchema)]
struct AtBroker {
    connected: bool,
    /// Why not, and what to do about it.
    reason: Option<String>,
}

/// A companion under its new name.
#[derive(Debug, Serialize, ToSchema)]
struct Renamed {
    /// Always true.
    ok: bool,
    companion: Companion,
}

/// A companion that may not decide any more.
#[derive(Debug, Serialize, ToSchema)]
struct Gone {
    /// Always true.
    ok: bool,
    companion: Companion,
    /// Messages that still wait, and that it had approved: its word does not count any more.
    withdrawn: usize,
    /// Companions that may decide now.
    left: usize,
    /// How many of them must approve a message.
    quorum: u32,
}

/// Companions, and which of them are here. For the operator.
#[utoipa::path(
    get,
    path = "/v1/companions",
    responses((status = OK, body = Register)),
)]
pub(super) async fn list(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let listed = endpoint.0.companions.list().await.map_err(message_service::broken)?;
            let mut views = endpoint.0.updates.companions().await.map_err(message_service::broken)?;
            let approvals = endpoint.pipeline().approvals().clone();
            let decided = approvals.decided().await.map_err(message_service::broken)?;
            let waiting = approvals.waiting().await.map_err(message_service::broken)?;
            let waiting: HashSet<RequestId> = waiting.into_iter().map(|one| one.request).collect();
            let shown = |one: &Listed| {
                let key = one.device.key;
                let shows = approvals.presence().has(key).filter(|request| waiting.contains(request));
                let decided = decided.get(&key).copied().unwrap_or_default();
                Companion::listed(one, views.remove(&key), decided, shows)
            };
            let companions = listed.iter().map(shown).collect();
            let Broker { connected, error } = endpoint.0.companions.presence().broker();
            let broker = AtBroker { connected, reason: error };
            Ok(Json(Register { ok: true, companions, broker }).into_response())
        })
        .await
}

/// Gives a companion another name. For the operator.
#[utoipa::path(
    post,
    path = "/v1/companions/{which}/rename",
    params(("which" = String, Path, description = "Its name or key.")),
    request_body(content = Rename, example = json!({"name": "hall"})),
    responses((status = OK, body = Renamed), Refused<404>, Refused<409>),
)]
pub(super) async fn rename(
    State(endpoint): State<Endpoint>,
    which: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, request| {
            let (which, Rename { name }) = (caller::path(which)?, endpoint.json(request).await?);
            let device =
                endpoint.0.companions.rename(&which, &name, &caller.to_string()).await.map_err(refused)?;
            Ok(Json(Renamed { ok: true, companion: Companion::from(&device) }).into_response())
        })
        .await
}

/// Takes a companion the right to decide, at once. For the operator.
#[utoipa::path(
    delete,
    path = "/v1/companions/{which}",
    params(("which" = String, Path, description = "Its name or key.")),
    responses((status = OK, body = Gone), Refused<404>, Refused<409>),
)]
pub(super) async fn revoke(
    State(endpoint): State<Endpoint>,
    which: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    endpoint
        .serve(OPERATOR, request, async |caller, _| {
            let which = caller::path(which)?;
            let revoked = endpoint.0.companions.revoke(&which, &caller.to_string()).await.map_err(refused)?;
            let answer = Gone {
                ok: true,
                companion: Companion::from(&revoked.device),
                withdrawn: revoked.withdrawn,
                left: revoked.left,
                quorum: endpoint.pipeline().approvals().terms().quorum,
            };
            Ok(Json(answer).into_response())
        })
        .await
}

pub(super) fn kind(is_program: bool) -> &'static str {
    if is_program { "software" } else { "device" }
}

pub(super) fn refused(error: DeviceError) -> Refusal {
    let text = error.to_string();
    match error {
        DeviceError::Name(_) | DeviceError::LikeAKey(_) => Refusal::input(text, "choose another name"),
        DeviceError::Taken(_) | DeviceError::Revoked(_) | DeviceError::Known | DeviceError::Full => {
            Refusal::new(Code::Conflict, text, "see GET /v1/companions")
        }
        DeviceError::Missing(_) => Refusal::new(Code::NotFound, text, "see GET /v1/companions"),
        DeviceError::Store(error) => message_service::broken(error),
    }
}
