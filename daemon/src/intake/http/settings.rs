//! The configuration that holds, for the operator. To read only: it has one owner, the file.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Endpoint, companions::OPERATOR};
use crate::{config::effective::SettingsSection, intake::message_service::broken};

/// The configuration that holds.
#[derive(Debug, Serialize, ToSchema)]
struct Settings {
    /// Always true.
    ok: bool,
    /// The file; null if the hub was started without one.
    file: Option<String>,
    /// Its sections, and those that hold by default. Nothing in them is secret.
    sections: Vec<SettingsSection>,
}

/// The configuration that holds, key by key: what it says, where that is from, and what it means. Secrets are `***`. For the
/// operator.
#[utoipa::path(
    get,
    path = "/v1/settings",
    responses((status = OK, body = Settings)),
)]
pub(super) async fn show(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(OPERATOR, request, async |_, _| {
            let (file, sections) = endpoint.0.reload.settings().await.map_err(broken)?;
            let file = file.map(|file| file.display().to_string());
            Ok(Json(Settings { ok: true, file, sections }).into_response())
        })
        .await
}
