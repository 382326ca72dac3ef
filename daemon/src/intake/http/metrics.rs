//! Figures, for Prometheus.

use axum::{
    extract::{Request, State},
    http::header,
    response::{IntoResponse as _, Response},
};

use super::Endpoint;
use crate::{agents::Role, intake::message_service, metrics::MEDIA_TYPE};

/// Figures in the format of Prometheus. For monitors and the operator.
#[utoipa::path(
    get,
    path = "/metrics",
    responses((status = OK, body = String, content_type = "text/plain")),
)]
pub(super) async fn read(State(endpoint): State<Endpoint>, request: Request) -> Response {
    endpoint
        .serve(&[Role::Monitor, Role::Operator], request, async |_, _| {
            let text = endpoint.0.metrics.text().await.map_err(message_service::broken)?;
            Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
        })
        .await
}
