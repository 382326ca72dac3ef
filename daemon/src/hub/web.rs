//! TLS of the hub's own: the certificate of the configuration, and the socket where it is shown.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{HubError, start::listen};
use crate::{
    config::Config,
    intake::http::server::{Certificate, Secured, Tls},
};

/// The certificate, if the configuration has one, with what is not right about it.
pub(super) fn certificate(config: &Config) -> Result<Option<(Certificate, Vec<String>)>, HubError> {
    let Some((cert, key)) = config.web.cert.as_deref().zip(config.web.key.as_ref()) else { return Ok(None) };
    let certificate = Certificate::read(cert, key)?;
    let warnings = certificate.warnings(&config.hub.hosts, now());
    Ok(Some((certificate, warnings)))
}

/// What is not right about it, and does not keep a hub from starting.
///
/// # Errors
/// It cannot be used.
pub fn check_web(config: &Config) -> Result<Vec<String>, HubError> {
    Ok(certificate(config)?.map(|(_, warnings)| warnings).unwrap_or_default())
}

/// The same to be shown, what is not right about it in the log.
pub(super) fn shown(config: &Config) -> Result<Option<Certificate>, HubError> {
    let Some((certificate, warnings)) = certificate(config)? else { return Ok(None) };
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Ok(Some(certificate))
}

/// Listens for TLS, if the configuration says so.
pub(super) async fn secured(config: &Config) -> Result<Option<Secured>, HubError> {
    let (Some(certificate), Some(at)) = (shown(config)?, config.web.listen) else { return Ok(None) };
    let (listener, address) = listen(at, "web.listen").await?;
    tracing::info!(%address, "the page and the HTTP interface are reached over TLS");
    Ok(Some(Secured { listener, tls: Tls::new(certificate) }))
}

/// By the wall clock, as clients have it. One from before 1970 finds a certificate that is not valid yet.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
