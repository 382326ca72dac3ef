//! Figures, for Prometheus.

use axum::{
    extract::{Request, State},
    http::header,
    response::{IntoResponse as _, Response},
};

use super::Door;
use crate::{agents::Role, intake::desk, metrics::MEDIA_TYPE};

/// Figures in the format of Prometheus. For monitors and the operator.
#[utoipa::path(
    get,
    path = "/metrics",
    responses((status = OK, body = String, content_type = "text/plain")),
)]
pub(super) async fn read(State(door): State<Door>, request: Request) -> Response {
    door.serve(&[Role::Monitor, Role::Operator], request, async |_, _| {
        let text = door.0.metrics.text().await.map_err(desk::broken)?;
        Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
    })
    .await
}
