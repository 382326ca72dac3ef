//! Companions, for the operator.

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Door, caller, views::time};
use crate::{
    agents::Role,
    approval::registry::{DeviceError, Registered},
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
        let listed = door.0.companions.list().await.map_err(caller::broken)?;
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

/// A companion as the door shows it. Its public key is no secret.
fn view(device: &Registered) -> Value {
    json!({
        "name": device.name,
        "key": device.short(),
        "public_key": to_hex(&device.key.0),
        "kind": if device.software { "program" } else { "device" },
        "added_at": time(device.added_at),
        "seen_at": device.seen_at.map(time),
        "decided_at": device.decided_at.map(time),
        "counter": device.counter,
        "revoked_at": device.revoked_at.map(time),
    })
}

fn refused(error: DeviceError) -> Refusal {
    let text = error.to_string();
    match error {
        DeviceError::Name(_) | DeviceError::LikeAKey(_) => Refusal::input(text, "choose another name"),
        DeviceError::Taken(_) | DeviceError::Revoked(_) | DeviceError::Known | DeviceError::Full => {
            Refusal::new(Code::Conflict, text, "see GET /v1/companions")
        }
        DeviceError::Missing(_) => Refusal::new(Code::NotFound, text, "see GET /v1/companions"),
        DeviceError::Store(error) => caller::broken(error),
    }
}
