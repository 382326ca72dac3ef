//! The certificate of the hub's own authority, for the devices that are to trust it.

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{
    Endpoint,
    problem::{self, Refused},
};
use crate::message::refusal::{Code, Refusal};

/// By this a phone or a browser offers to install it (<https://www.iana.org/assignments/media-types> has none for an authority).
const TYPE: &str = "application/x-x509-ca-cert";

/// The certificate of the authority that signs the hub's own, PEM. A device that trusts it opens the page without a warning; it is held to the
/// names of the hub. Compare its SHA-256 with what the hub's log says before you trust one that came over a network.
#[utoipa::path(
    get,
    path = "/ca.pem",
    security(()),
    responses(
        (status = OK, description = "PEM, as application/x-x509-ca-cert."),
        Refused<400>,
        Refused<404>,
    )
)]
pub(super) async fn certificate(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let pem = endpoint.0.authority.clone();
    let answer = async {
        match pem {
            Some(pem) => ([(header::CONTENT_TYPE, TYPE)], pem.to_string()).into_response(),
            None => {
                let hint = "write tls = \"own\" into [web], and restart the hub";
                let refusal = Refusal::new(Code::NotFound, "this hub has no authority of its own", hint);
                problem::with_status(&refusal, StatusCode::NOT_FOUND)
            }
        }
    };
    endpoint.serve_anybody(request, answer).await
}
