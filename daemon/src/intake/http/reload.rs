//! Another configuration without a restart, for the operator.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Endpoint, problem::Refused};
use crate::{
    agents::Role,
    config::changes::Changes,
    hub::reload::ReloadError,
    intake::message_service,
    message::refusal::{Code, Refusal},
};

/// The configuration that holds now.
#[derive(Debug, Serialize, ToSchema)]
struct Reloaded {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    changes: Changes,
}

/// Reads the configuration file anew, and lets it hold: agents, the address book, limits and accounts. All of it is taken or
/// nothing: if the file is not valid, the answer names the file and the line, and the old configuration holds. Messages that
/// wait are judged by the new one when their turn comes. For the operator.
#[utoipa::path(
    post,
    path = "/v1/reload",
    responses((status = OK, body = Reloaded), Refused<400>, Refused<409>),
)]
pub(super) async fn reload(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Operator], request, async |caller, _| {
            let changes = endpoint.0.reload.reload(&caller.to_string()).await.map_err(refused)?;
            Ok(Json(Reloaded { ok: true, changes }).into_response())
        })
        .await
}

fn refused(error: ReloadError) -> Refusal {
    let text = error.to_string();
    match error {
        ReloadError::File(_)
        | ReloadError::Config(_)
        | ReloadError::Secret(_)
        | ReloadError::DataDirectory { .. }
        | ReloadError::Hub { .. } => {
            let hint = "the old configuration holds; mend the file, see that gatepost check takes it, and reload again";
            Refusal::input(text, hint).because("configuration")
        }
        ReloadError::NoFile => Refusal::new(Code::Conflict, text, "restart it with its configuration"),
        ReloadError::Store(error) => message_service::broken(error),
        ReloadError::Stopping => Refusal::new(Code::ExecutionFailed, text, "start it again"),
    }
}
