//! Companions, for the operator.
//!
//! Pairing takes two calls: one waits for a device and says which number to compare, the other says whether it is the same
//! and waits for the device. Either returns when there is something to say, or its minute is over.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use gatepost_link::topic;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Door, caller};
use crate::{
    agents::Role,
    approval::registry::{DeviceError, Registered},
    companion::pairing::{CONFIRM, PairError, Shown},
    intake::{desk, views::time},
    message::refusal::{Code, Refusal},
    random::to_hex,
};

const OPERATOR: &[Role] = &[Role::Operator];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    name: String,
}

pub(super) async fn list(State(door): State<Door>, request: Request) -> Response {
    door.serve("GET /v1/companions", OPERATOR, request, async |_, _| {
        let listed = door.0.companions.list().await.map_err(desk::broken)?;
        let companions: Vec<Value> = listed
            .iter()
            .map(|listed| {
                let mut shown = view(&listed.device);
                shown["online"] = listed.online.into();
                shown
            })
            .collect();
        let broker = door.0.companions.presence().broker();
        let broker = json!({"connected": broker.connected, "error": broker.error});
        Ok(Json(json!({"ok": true, "companions": companions, "broker": broker})).into_response())
    })
    .await
}

pub(super) async fn rename(
    State(door): State<Door>,
    which: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("POST /v1/companions/{which}/rename", OPERATOR, request, async |caller, request| {
        let (which, Rename { name }) = (caller::path(which)?, door.json(request).await?);
        let device = door.0.companions.rename(&which, &name, &caller.to_string()).await.map_err(refused)?;
        Ok(Json(json!({"ok": true, "companion": view(&device)})).into_response())
    })
    .await
}

pub(super) async fn revoke(
    State(door): State<Door>,
    which: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("DELETE /v1/companions/{which}", OPERATOR, request, async |caller, _| {
        let which = caller::path(which)?;
        let revoked = door.0.companions.revoke(&which, &caller.to_string()).await.map_err(refused)?;
        let body = json!({
            "ok": true, "companion": view(&revoked.device), "withdrawn": revoked.withdrawn,
            "left": revoked.left, "quorum": revoked.quorum,
        });
        Ok(Json(body).into_response())
    })
    .await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    same: bool,
    name: Option<String>,
}

pub(super) async fn pair(State(door): State<Door>, request: Request) -> Response {
    door.serve("POST /v1/pairing", OPERATOR, request, async |_, _| {
        let Shown { code, device, program } = door.0.companions.pair().await.map_err(unpaired)?;
        let shown = json!({
            "ok": true, "code": code.to_string(), "key": topic::name(device).as_str(), "kind": kind(program),
            "expires_in_s": CONFIRM.as_secs(),
        });
        Ok(Json(shown).into_response())
    })
    .await
}

pub(super) async fn answer(
    State(door): State<Door>,
    code: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    door.serve("POST /v1/pairing/{code}", OPERATOR, request, async |_, request| {
        let code = caller::path(code)?.parse().map_err(|_| unpaired(PairError::Unknown))?;
        let Answer { same, name } = door.json(request).await?;
        let device = door.0.companions.answer(code, same, name).await.map_err(unpaired)?;
        let key = topic::name(device.key);
        let paired = json!({"name": device.name, "key": key.as_str(), "kind": kind(device.software)});
        Ok(Json(json!({"ok": true, "companion": paired})).into_response())
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

/// A companion as the door shows it. Its public key is no secret.
fn view(device: &Registered) -> Value {
    json!({
        "name": device.name,
        "key": device.short(),
        "public_key": to_hex(&device.key.0),
        "kind": kind(device.software),
        "added_at": time(device.added_at),
        "seen_at": device.seen_at.map(time),
        "decided_at": device.decided_at.map(time),
        "counter": device.counter,
        "revoked_at": device.revoked_at.map(time),
    })
}

fn kind(is_program: bool) -> &'static str {
    if is_program { "program" } else { "device" }
}

fn refused(error: DeviceError) -> Refusal {
    let text = error.to_string();
    match error {
        DeviceError::Name(_) | DeviceError::LikeAKey(_) => Refusal::input(text, "choose another name"),
        DeviceError::Taken(_) | DeviceError::Revoked(_) | DeviceError::Known | DeviceError::Full => {
            Refusal::new(Code::Conflict, text, "see GET /v1/companions")
        }
        DeviceError::Missing(_) => Refusal::new(Code::NotFound, text, "see GET /v1/companions"),
        DeviceError::Store(error) => desk::broken(error),
    }
}
