//! TLS of the hub's own: the certificate of the configuration or of the hub's own authority, and the socket where it is shown.

use super::{HubError, start::listen};
use crate::{
    config::{Config, TlsBy},
    intake::http::server::{Certificate, CertificateError, Own, Secured, Tls, now},
};

/// The certificate, if the configuration has one, with what is not right about it.
fn given(config: &Config) -> Result<Option<(Certificate, Vec<String>)>, HubError> {
    let Some((cert, key)) = config.web.cert.as_deref().zip(config.web.key.as_ref()) else { return Ok(None) };
    let certificate = Certificate::read(cert, key)?;
    let warnings = certificate.warnings(&config.hub.hosts, now());
    Ok(Some((certificate, warnings)))
}

/// What is not right about it, or about the hub's own authority, and does not keep a hub from starting.
///
/// # Errors
/// It cannot be used.
pub fn check_web(config: &Config) -> Result<Vec<String>, HubError> {
    match config.web.tls {
        TlsBy::Own => {
            Ok(Own::check(&config.hub.data_dir, &config.hub.hosts).map_err(CertificateError::from)?)
        }
        TlsBy::Files => Ok(given(config)?.map(|(_, warnings)| warnings).unwrap_or_default()),
    }
}

/// What to say of the hub's own authority, if it is that which signs.
pub fn own_authority(config: &Config) -> Option<String> {
    (config.web.tls == TlsBy::Own).then(|| match Own::fingerprint_in(&config.hub.data_dir) {
        Some(sha256) => {
            format!("the hub's own authority, for the devices that are to trust it, has the SHA-256 {sha256}")
        }
        None => "the hub's own authority is made at its next start".into(),
    })
}

/// The configuration's certificate to be shown, what is not right about it in the log.
pub(super) fn shown(config: &Config) -> Result<Option<Certificate>, HubError> {
    Ok(given(config)?.map(|(certificate, warnings)| {
        said(&warnings);
        certificate
    }))
}

/// Listens for TLS, if the configuration says so.
pub(super) async fn secured(config: &Config) -> Result<Option<Secured>, HubError> {
    let Some(at) = config.web.listen else { return Ok(None) };
    let tls = match config.web.tls {
        TlsBy::Own => {
            let own = Own::open(&config.hub.data_dir, &config.hub.hosts, now());
            let (own, warnings) = own.map_err(CertificateError::from)?;
            said(&warnings);
            tracing::info!(
                sha256 = own.fingerprint(),
                "the authority that devices are to trust is at /ca.pem"
            );
            Tls::own(own)
        }
        TlsBy::Files => match shown(config)? {
            Some(certificate) => Tls::new(certificate),
            None => return Ok(None),
        },
    };
    let (listener, address) = listen(at, "web.listen").await?;
    tracing::info!(%address, "the page and the HTTP interface are reached over TLS");
    Ok(Some(Secured { listener, tls }))
}

fn said(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}
