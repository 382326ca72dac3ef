//! TLS to a broker that somebody runs.
//!
//! rustls with ring, as everywhere in the hub; the broker's certificate must be signed by an authority that is trusted,
//! and be for the name in its address. Where the broker wants to know the hub, the hub has a certificate of its own. Nothing
//! here is ever weakened: what does not fit is an error that says which key of the configuration it is about.

use std::{io, path::Path, sync::Arc};

use rumqttc::{ConnectReturnCode, ConnectionError, StateError, mqttbytes};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::broker::Named;
use crate::{
    cause::found,
    settings::{
        pem::{PemError, certificates, private_key},
        secret::SecretSource,
    },
};

/// The files that a connection is secured with.
#[derive(Debug, Clone, Copy)]
pub struct Trust<'a> {
    /// The keys that they are named by.
    pub named: Named,
    /// The authorities that the broker's certificate may be signed by; without it, those that this machine trusts.
    pub ca: Option<&'a Path>,
    /// The hub's own certificate and those up to its authority, and its key.
    pub own: Option<(&'a Path, &'a SecretSource)>,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Certificates or a key cannot be had.
    #[error("{0}.{1}: {2}")]
    Pem(&'static str, &'static str, PemError),
    /// The key is not the certificate's, or of a kind that is not known.
    #[error("{0}.key: {1}")]
    Key(&'static str, String),
    /// This machine has no authorities that it trusts.
    #[error(
        "no certificate authorities are trusted on this machine: install ca-certificates, or set {0}.ca ({1})"
    )]
    Authorities(&'static str, rustls::Error),
}

/// What a connection is made with.
pub fn client(files: Trust<'_>) -> Result<Arc<ClientConfig>, TlsError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the protocol versions that are safe");
    let section = files.named.section;
    let builder = match files.ca {
        Some(path) => {
            let mut roots = RootCertStore::empty();
            let failed = |error| TlsError::Pem(section, "ca", error);
            for certificate in certificates(path).map_err(failed)? {
                roots.add(certificate).map_err(|_| failed(PemError::Certificates(path.into())))?;
            }
            builder.with_root_certificates(roots)
        }
        None => builder.with_platform_verifier().map_err(|error| TlsError::Authorities(section, error))?,
    };
    let config = match files.own {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = certificates(cert).map_err(|error| TlsError::Pem(section, "cert", error))?;
            let secret = private_key(key).map_err(|error| TlsError::Pem(section, "key", error))?;
            builder.with_client_auth_cert(chain, secret).map_err(|error| {
                let problem = format!("{key} is not the key of the certificate in {section}.cert: {error}");
                TlsError::Key(section, problem)
            })?
        }
    };
    Ok(Arc::new(config))
}

/// What an explanation says of the broker.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'a> {
    /// The keys that say where it is.
    pub named: Named,
    /// Host name or address.
    pub host: &'a str,
    /// TCP port.
    pub port: u16,
    /// Whether it is spoken to by TLS.
    pub by_tls: bool,
    /// Whether the hub has a certificate of its own there.
    pub has_certificate: bool,
}

/// Why a broker cannot be spoken to, and what to do about it.
pub fn explain(error: &ConnectionError, peer: Peer<'_>) -> String {
    let (host, Named { section, url }) = (peer.host, peer.named);
    match error {
        ConnectionError::ConnectionRefused(
            ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized,
        ) => format!("the broker refuses the hub's login: check [{section}] user and password"),
        ConnectionError::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("nothing listens at {host}:{}: start the broker, or check [{section}] {url}", peer.port)
        }
        ConnectionError::NetworkTimeout | ConnectionError::FlushTimeout => {
            format!(
                "{host}:{} does not answer: check [{section}] {url}, and whether the broker wants TLS",
                peer.port
            )
        }
        ConnectionError::MqttState(StateError::Deserialization(
            mqttbytes::Error::PayloadSizeLimitExceeded(size),
        )) => {
            format!(
                "somebody has published {size} bytes where the hub listens, which is more than it reads. If that was retained, the hub gets \
                 it at every connection: find it with `mosquitto_sub -v -t 'gatepost/#' -t 'homeassistant/status' --retained-only`, and \
                 clear it with `mosquitto_pub -r -n -t TOPIC`"
            )
        }
        error => match found(error) {
            Some(error) => explain_tls(error, peer),
            // Whoever wants a certificate may just hang up.
            None if peer.by_tls && !peer.has_certificate => {
                format!(
                    "{error} (if the broker wants a certificate of the hub, set [{section}] cert and key)"
                )
            }
            None if matches!(error, ConnectionError::MqttState(_)) => {
                format!("the connection to the broker broke ({error})")
            }
            None => error.to_string(),
        },
    }
}

fn explain_tls(error: &rustls::Error, peer: Peer<'_>) -> String {
    use rustls::Error;
    let Named { section, url } = peer.named;
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            format!(
                "the broker's certificate is not signed by a trusted authority: set [{section}] ca to the file of the one that \
             signed it"
            )
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!(
            "the broker's certificate is not for {}: write the name that it is for into [{section}] {url}",
            peer.host
        ),
        Error::InvalidCertificate(CertificateError::Other(_)) => format!(
            "the broker's certificate is of no kind that can be used (one that says of itself that it is an authority, most often): make an \
             authority, sign another certificate with it, and set [{section}] ca to the authority's file"
        ),
        Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => {
            "the broker's certificate is not valid at this time: renew it, or set this machine's clock".into()
        }
        Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::HandshakeFailure
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied,
        ) => match peer.has_certificate {
            true => format!(
                "the broker does not take the hub's certificate ({error}): set [{section}] cert and key to one that its authority signed"
            ),
            false => format!(
                "the broker wants a certificate of the hub ({error}): set [{section}] cert and key to one that its authority signed"
            ),
        },
        Error::InvalidMessage(_) => format!(
            "{}:{} does not speak TLS: use its port for TLS (often 8883), or mqtt:// where the net between is yours",
            peer.host, peer.port
        ),
        _ => format!("TLS with the broker failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::companion::broker::MEETING;

    fn peer(has_certificate: bool) -> Peer<'static> {
        Peer { named: MEETING, host: "broker.home", port: 8883, by_tls: false, has_certificate }
    }

    #[test]
    fn files_that_are_not_what_they_should_be_are_named_with_their_key() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let (missing, empty) = (directory.path().join("missing.pem"), write("empty.pem", ""));
        let broken = write("broken.pem", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
        let nonsense =
            write("nonsense.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        for (ca, says) in [
            (&missing, "broker.ca: cannot read"),
            (&empty, "broker.ca: "),
            (&broken, "it is not PEM"),
            (&nonsense, "holds no certificates that can be used"),
        ] {
            let error = client(Trust { named: MEETING, ca: Some(ca), own: None }).unwrap_err().to_string();
            assert!(error.contains(says), "{says}: {error}");
        }
        let empty = SecretSource::File(empty);
        let own = Trust { named: MEETING, ca: None, own: Some((&nonsense, &empty)) };
        let error = client(own).unwrap_err().to_string();
        assert!(error.contains("broker.key: cannot read") || error.contains("ca-certificates"), "{error}");
    }

    #[test]
    fn an_error_of_tls_is_found_wherever_it_is_wrapped_and_says_what_to_do() {
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let wanted = rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
        for (error, own, says) in [
            (unknown, false, "[broker] ca"),
            (
                rustls::Error::InvalidCertificate(CertificateError::NotValidForName),
                false,
                "not for broker.home",
            ),
            (wanted.clone(), false, "wants a certificate of the hub"),
            (wanted, true, "does not take the hub's certificate"),
        ] {
            let wrapped = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
            let text = explain(&ConnectionError::Io(wrapped), peer(own));
            assert!(text.contains(says), "{says}: {text}");
        }
        let refused = ConnectionError::ConnectionRefused(ConnectReturnCode::NotAuthorized);
        assert!(explain(&refused, peer(false)).contains("user and password"));
    }
}
