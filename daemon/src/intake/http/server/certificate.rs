//! The hub's own certificate: read with its key, and looked at for what would keep clients away.
//!
//! Clients are what knows certificates, so it is a client's own code that is asked, at the time that matters; nothing is parsed here.

use std::{path::Path, sync::Arc, time::Duration};

use rustls::{
    CertificateError as Flaw, RootCertStore, ServerConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _, verify_server_name},
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

use super::authority::AuthorityError;
use crate::{
    clock::to_the_second,
    intake::http::host::Authority,
    settings::{
        pem::{PemError, certificates, private_key},
        secret::SecretSource,
    },
};

/// The one protocol that the hub speaks over TLS (<https://www.iana.org/assignments/tls-extensiontype-values>, ALPN).
const HTTP_1_1: &[u8] = b"http/1.1";
/// A certificate that ends within this is due for renewal: Let's Encrypt's are renewed by certbot 30 days before.
const SOON: Duration = Duration::from_hours(14 * 24);

/// A certificate, and TLS by it.
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The certificate, or the key, cannot be had.
    #[error("web.{0}: {1}")]
    Pem(&'static str, PemError),
    /// The key is another one's, or of a kind that is not known.
    #[error("web.key: {0} is not the key of the certificate in web.cert: {1}")]
    Key(String, rustls::Error),
    /// There is no authority of the hub's own.
    #[error("web.tls: {0}")]
    Own(#[from] AuthorityError),
}

impl CertificateError {
    /// The key of the configuration that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Pem("cert", _) => "web.cert",
            Self::Pem(..) | Self::Key(..) => "web.key",
            Self::Own(_) => "web.tls",
        }
    }
}

impl Certificate {
    /// What a connection is served by.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Whether it is this one.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.chain == other.chain
    }

    /// Reads a certificate with those up to its authority, and its key.
    ///
    /// # Errors
    /// One of them cannot be read, or they do not belong together.
    pub fn read(cert: &Path, key: &SecretSource) -> Result<Self, CertificateError> {
        let chain = certificates(cert).map_err(|error| CertificateError::Pem("cert", error))?;
        let private = private_key(key).map_err(|error| CertificateError::Pem("key", error))?;
        Self::new(chain, private).map_err(|error| match error {
            rustls::Error::InvalidCertificate(_) => {
                CertificateError::Pem("cert", PemError::Certificates(cert.into()))
            }
            error => CertificateError::Key(key.to_string(), error),
        })
    }

    /// This certificate with those up to its authority, and its key.
    ///
    /// # Errors
    /// They do not belong together.
    pub(super) fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the protocol versions that are safe")
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key)?;
        config.alpn_protocols = vec![HTTP_1_1.into()];
        Ok(Self { chain, config: Arc::new(config) })
    }

    /// What is not right with it at this time (since 1970) for a hub of these names, and does not forbid its use.
    pub fn warnings(&self, hosts: &[String], now: Duration) -> Vec<String> {
        let date = |time: UnixTime| {
            let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
            to_the_second(seconds.saturating_mul(1000))
        };
        let renew = "renew it, and run gatepost reload";
        let validity = match self.flaw(now) {
            Some(Flaw::ExpiredContext { not_after, .. }) => {
                Some(format!("web.cert: the certificate ended at {}: {renew}", date(not_after)))
            }
            Some(Flaw::NotValidYetContext { not_before, .. }) => Some(format!(
                "web.cert: the certificate is not valid before {}: set this machine's clock, or take another one",
                date(not_before)
            )),
            _ => match self.flaw(now + SOON) {
                Some(Flaw::ExpiredContext { not_after, .. }) => Some(format!(
                    "web.cert: the certificate ends at {}, within 14 days: {renew}",
                    date(not_after)
                )),
                _ => None,
            },
        };
        validity.into_iter().chain(self.unreachable(hosts)).collect()
    }

    /// What a client would say of it at this time, whatever its authority is: its dates are looked at first.
    fn flaw(&self, at: Duration) -> Option<Flaw> {
        let (first, rest) = self.chain.split_first()?;
        let mut roots = RootCertStore::empty();
        roots.add(self.chain.last()?.clone()).ok()?;
        let provider = Arc::new(ring::default_provider());
        let client = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
        let (name, at) = (ServerName::try_from("localhost").ok()?, UnixTime::since_unix_epoch(at));
        match client.verify_server_cert(first, rest, &name, &[], at) {
            Err(rustls::Error::InvalidCertificate(flaw)) => Some(flaw),
            _ => None,
        }
    }

    /// Why no client would reach the hub under a name of this certificate, if none would. (An address needs no entry in `[hub] hosts`.)
    fn unreachable(&self, hosts: &[String]) -> Option<String> {
        let parsed = ParsedCertificate::try_from(self.chain.first()?).ok()?;
        let is_for = |name: &str| match ServerName::try_from(name) {
            Ok(name) => verify_server_name(&parsed, &name),
            Err(_) => Ok(()),
        };
        let mut hosts = hosts.iter().filter_map(|host| Authority::parse(host));
        if hosts.any(|host| is_for(host.host()).is_ok()) {
            return None;
        }
        let Err(rustls::Error::InvalidCertificate(Flaw::NotValidForNameContext { presented, .. })) =
            is_for("localhost")
        else {
            return None;
        };
        if presented.iter().any(|name| name.starts_with("IpAddress(")) {
            return None;
        }
        let names: Vec<&str> = presented.iter().filter_map(|name| name.split('"').nth(1)).collect();
        Some(match names.is_empty() {
            true => "web.cert: the certificate has no name that clients look at (subjectAltName): take one for the hub's name".into(),
            false => format!(
                "web.cert: the certificate is for {}, and the hub answers to no such name: write it into [hub] hosts",
                names.join(", ")
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// When those in `testdata` end: 2126-11-02T19:06:42Z, a hundred years after they began.
    const END: Duration = Duration::from_secs(4_949_320_002);
    const DAY: Duration = Duration::from_hours(24);

    fn file(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/intake/http/server/testdata").join(name)
    }

    fn read(cert: &str, key: &str) -> Result<Certificate, CertificateError> {
        Certificate::read(&file(cert), &SecretSource::File(file(key)))
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_key() {
        let of_another = "../../../../channels/email/testdata/server.key.pem";
        read("hub.pem", "hub.key.pem").unwrap();
        for (cert, key, says, about) in [
            ("hub.pem", of_another, "is not the key of the certificate in web.cert", "web.key"),
            ("hub.pem", "hub.pem", "it holds no private key", "web.key"),
            ("hub.pem", "none", "cannot read", "web.key"),
            ("hub.key.pem", "hub.key.pem", "holds no certificates", "web.cert"),
            ("none", "hub.key.pem", "cannot read", "web.cert"),
        ] {
            let error = read(cert, key).err().unwrap();
            let text = error.to_string();
            assert!(text.starts_with(&format!("{about}: ")) && text.contains(says), "{says}: {text}");
            assert_eq!(error.key(), about);
        }
    }

    #[test]
    fn a_name_that_the_hub_does_not_answer_to_is_said() {
        for (cert, hosts, says) in [
            ("hub.pem", &["hub.example.org:8443"][..], None),
            ("hub.pem", &["other", "hub"], None),
            ("any.pem", &["hub.example.org"], None),
            ("address.pem", &[], None),
            ("hub.pem", &["other"], Some("is for hub.example.org, hub, and")),
            ("hub.pem", &["192.0.2.7"], Some("is for hub.example.org, hub, and")),
            ("any.pem", &["example.org"], Some("is for *.example.org, and")),
            ("nameless.pem", &["hub"], Some("no name that clients look at")),
        ] {
            let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            let said = read(cert, "hub.key.pem").unwrap().warnings(&hosts, END - DAY * 100);
            assert_eq!(said.len(), usize::from(says.is_some()), "{cert}, {hosts:?}: {said:?}");
            assert!(said.iter().all(|said| said.contains(says.unwrap())), "{cert}, {hosts:?}: {said:?}");
        }
    }

    #[test]
    fn a_certificate_that_ends_soon_or_has_ended_or_has_not_begun_is_said() {
        let (certificate, hosts) = (read("hub.pem", "hub.key.pem").unwrap(), ["hub".to_owned()]);
        for (at, says) in [
            (END - DAY * 36_501, Some("is not valid before 20")),
            (END - DAY * 15, None),
            (END - DAY * 13, Some("ends at 2126-11-02T19:06:42Z, within 14 days: renew it")),
            (END + DAY, Some("ended at 2126-11-02T19:06:42Z: renew it")),
        ] {
            let said = certificate.warnings(&hosts, at);
            assert_eq!(said.len(), usize::from(says.is_some()), "{says:?}: {said:?}");
            assert!(said.iter().all(|said| said.contains(says.unwrap())), "{says:?}: {said:?}");
        }
    }
}
