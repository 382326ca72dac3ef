//! An authority of the hub's own, which signs what the hub shows over TLS: made once, and trusted by the devices that are told to.
//!
//! It is held to the names that `[hub] hosts` had when it was made: who steals its key passes for this hub and for nobody else. Nothing
//! of a stored certificate is parsed here: whether it is good for a name is asked of a client's own code.

use std::{
    io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime, pem::PemObject as _,
    },
};
use sha2::{Digest as _, Sha256};

use crate::{
    intake::http::host::Authority as Host,
    random::to_hex,
    settings::file::{FileError, read},
    store::private_file,
};

/// Its certificate and its key, beneath the data directory.
const FILE: &str = "authority.pem";
/// When it is good, since 1970: from 2026 to 2056, whatever the clock of the machine says that it is made on (a Raspberry Pi has none
/// of its own).
const BEGIN: Duration = Duration::from_secs(1_767_225_600);
const END: Duration = Duration::from_secs(2_713_910_400);
/// For clocks that are slow.
const BACK: Duration = Duration::from_hours(24);
/// How long a certificate for the hub is good. Apple takes up to 825 days of an authority that a person added
/// (<https://support.apple.com/en-us/103214>); the key of a shorter one is of less use to a thief.
pub(super) const GOOD_FOR: Duration = Duration::from_hours(90 * 24);
/// The last of a certificate in PEM (RFC 7468, 2).
const LAST_LINE: &str = "-----END CERTIFICATE-----";
/// The file has some 1,100 bytes, and 60 more for each name.
const MAX_FILE_BYTES: u64 = 64 * 1024;
/// Letters of a key's hash in the authority's name, so that those of two hubs are told apart in a list.
const NAMED_BY: usize = 8;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Its file cannot be written.
    #[error("cannot write the hub's own authority {}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    /// Its file cannot be read.
    #[error("the hub's own authority: {0}")]
    Read(FileError),
    /// Nothing in the configuration is a name that a certificate can be for.
    #[error(
        "[hub] hosts has no name that a certificate can be for: write the hub's, such as \"gatepost.local\""
    )]
    Nameless,
    /// What is in its file is none.
    #[error(
        "{} holds no authority that can be used: restore it, or delete it, restart the hub, and have every device trust the new one",
        .0.display()
    )]
    Broken(PathBuf),
    /// It is held to other names.
    #[error(
        "the hub's own authority {} was made for other names than those in [hub] hosts: put one of them back, or delete it, restart the \
         hub, and have every device trust the new one",
        .0.display()
    )]
    Names(PathBuf),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// One that was made cannot be shown.
    #[error("cannot show a certificate: {0}")]
    Use(rustls::Error),
}

/// An authority, and its key.
pub(super) struct Authority {
    certificate: CertificateDer<'static>,
    pem: Arc<str>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Where it is kept.
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// The one in this data directory; the first time, it is made for these names.
    ///
    /// # Errors
    /// There is none, and none can be made.
    pub(super) fn open(directory: &Path, names: &[String]) -> Result<Self, AuthorityError> {
        if let Some(kept) = Self::kept(directory)? {
            return Ok(kept);
        }
        let path = Self::path(directory);
        let both = made(names)?;
        private_file::write(&path, both.as_bytes())
            .map_err(|error| AuthorityError::File(path.clone(), error))?;
        Self::of(&both).ok_or(AuthorityError::Broken(path))
    }

    /// The one in this data directory; none is made.
    ///
    /// # Errors
    /// It cannot be used.
    pub(super) fn kept(directory: &Path) -> Result<Option<Self>, AuthorityError> {
        let path = Self::path(directory);
        match read(&path, MAX_FILE_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).ok();
                text.and_then(|text| Self::of(&text)).map(Some).ok_or(AuthorityError::Broken(path))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(AuthorityError::Read(error)),
        }
    }

    /// From a file's text: its certificate, and then its key.
    fn of(text: &str) -> Option<Self> {
        let (pem, _) = text.split_once(LAST_LINE)?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes()).ok()?;
        let key = KeyPair::try_from(&PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()?).ok()?;
        // Its own, and not another's.
        certificate.windows(key.public_key_raw().len()).find(|bytes| *bytes == key.public_key_raw())?;
        let issuer = Issuer::new(described(&key, None), key);
        Some(Self { certificate, pem: format!("{pem}{LAST_LINE}\n").into(), issuer })
    }

    /// Its certificate, for the devices that are to trust it.
    pub(super) fn pem(&self) -> Arc<str> {
        Arc::clone(&self.pem)
    }

    /// The SHA-256 of its certificate, as systems show it.
    pub(super) fn fingerprint(&self) -> String {
        let bytes = Sha256::digest(&self.certificate);
        bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// Whether clients that trust it would take its word for this name.
    pub(super) fn permits(&self, name: &str) -> bool {
        let at = BEGIN + BACK;
        let Ok((signed, _)) = self.sign(&[name.to_owned()], at) else { return false };
        let mut roots = RootCertStore::empty();
        if roots.add(self.certificate.clone()).is_err() {
            return false;
        }
        let provider = Arc::new(ring::default_provider());
        let (Ok(client), Ok(server)) = (
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build(),
            ServerName::try_from(name),
        ) else {
            return false;
        };
        client.verify_server_cert(&signed, &[], &server, &[], UnixTime::since_unix_epoch(at)).is_ok()
    }

    /// A certificate for the hub under these names, good [for a while](GOOD_FOR) from this time on (since 1970), and its key.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn sign(
        &self,
        names: &[String],
        now: Duration,
    ) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), AuthorityError> {
        let now = now.clamp(BEGIN + BACK, END - GOOD_FOR);
        let key = KeyPair::generate()?;
        let mut hub = CertificateParams::new(names)?;
        // Without a name of its own, which GnuTLS would hold to the constraints as if it were a host's.
        hub.distinguished_name = DistinguishedName::new();
        hub.not_before = date_time_ymd(1970, 1, 1) + (now - BACK);
        hub.not_after = date_time_ymd(1970, 1, 1) + (now + GOOD_FOR);
        hub.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        hub.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        hub.use_authority_key_identifier_extension = true;
        let signed = hub.signed_by(&key, &self.issuer)?;
        Ok((signed.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }
}

/// The names of `[hub] hosts` without their ports, each once; and the entries that are no name that a certificate can be for.
pub(super) fn names(hosts: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut names, mut others) = (vec![], vec![]);
    for host in hosts {
        match Host::parse(host).map(|host| host.host().to_owned()).filter(|name| is_one(name)) {
            Some(name) => names.push(name),
            None => others.push(host.clone()),
        }
    }
    names.sort();
    names.dedup();
    (names, others)
}

/// Whether clients would take a certificate for this name, by an authority that is held to it alone.
fn is_one(name: &str) -> bool {
    let own = made(&[name.to_owned()]).ok().and_then(|both| Authority::of(&both));
    own.is_some_and(|authority| authority.permits(name))
}

/// An authority that is held to these names, and its key, PEM.
fn made(names: &[String]) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    Ok(described(&key, Some(names)).self_signed(&key)?.pem() + &key.serialize_pem())
}

/// The authority of a key, held to these names. (What it signs needs the rest alone.)
fn described(key: &KeyPair, names: Option<&[String]>) -> CertificateParams {
    let mut id = to_hex(&Sha256::digest(key.public_key_raw()));
    id.truncate(NAMED_BY);
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    authority.distinguished_name.push(DnType::CommonName, format!("Gatepost hub {id}"));
    authority.not_before = date_time_ymd(1970, 1, 1) + BEGIN;
    authority.not_after = date_time_ymd(1970, 1, 1) + END;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    authority.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    authority.name_constraints = names.map(held_to);
    authority
}

/// These names alone. A kind of name of which none is permitted is free (RFC 5280, 4.2.1.10), so all of that kind are excluded.
fn held_to(names: &[String]) -> NameConstraints {
    let (mut permitted_subtrees, mut excluded_subtrees) = (vec![], vec![]);
    let (mut name, mut address) = (false, false);
    for host in names {
        permitted_subtrees.push(match host.parse::<IpAddr>() {
            Ok(ip) => {
                address = true;
                GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(
                    ip,
                    if ip.is_ipv4() { 32 } else { 128 },
                ))
            }
            Err(_) => {
                name = true;
                GeneralSubtree::DnsName(host.clone())
            }
        });
    }
    if !name {
        excluded_subtrees.push(GeneralSubtree::DnsName(String::new()));
    }
    if !address {
        excluded_subtrees.push(GeneralSubtree::IpAddress(CidrSubnet::V4([0; 4], [0; 4])));
        excluded_subtrees.push(GeneralSubtree::IpAddress(CidrSubnet::V6([0; 16], [0; 16])));
    }
    NameConstraints { permitted_subtrees, excluded_subtrees }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn made_for(hosts: &[&str]) -> (tempfile::TempDir, Authority) {
        let folder = tempfile::tempdir().unwrap();
        let hosts: Vec<String> = hosts.iter().map(|&host| host.into()).collect();
        let authority = Authority::open(folder.path(), &names(&hosts).0).unwrap();
        (folder, authority)
    }

    #[test]
    fn it_is_made_once_and_its_key_is_nobody_elses() {
        let (folder, made) = made_for(&["gatepost.local:8443"]);
        let read = Authority::open(folder.path(), &["another".into()]).unwrap();
        assert_eq!((read.pem(), read.fingerprint()), (made.pem(), made.fingerprint()));
        assert!(made.pem().ends_with("-----END CERTIFICATE-----\n") && !made.pem().contains("PRIVATE"));
        let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_client_takes_its_word_for_the_names_it_was_made_for_and_no_others() {
        let others = ["example.org", "atepost.local", "local", "192.0.2.7", "2001:db8::7", "127.0.0.1", ""];
        for (hosts, good) in [
            (&["gatepost.local:8443", "Hub"][..], &["gatepost.local", "hub", "phone.gatepost.local"][..]),
            (&["192.0.2.1"], &["192.0.2.1"]),
            (&["[2001:db8::1]:8443"], &["2001:db8::1"]),
        ] {
            let (_folder, authority) = made_for(hosts);
            for name in good {
                assert!(authority.permits(name), "{hosts:?}: {name}");
            }
            for name in others {
                assert!(!authority.permits(name), "{hosts:?}: {name}");
            }
        }
    }

    #[test]
    fn entries_that_no_certificate_can_be_for_are_told_apart() {
        let long = "a".repeat(64);
        for odd in [
            "*.example.org",
            &long,
            "12345",
            "127.1",
            "-hub",
            "a..b",
            ".local",
            "~x",
            "a+b",
            "",
            "gätepost.local",
            "https://hub.local",
            "hub.local/",
            "hub.local:99999",
            "[fe80::1%25eth0]",
        ] {
            let (good, others) =
                names(&["Hub.local:8443".into(), odd.into(), "hub.local".into(), "[::1]:1".into()]);
            assert_eq!((good, others), (vec!["::1".into(), "hub.local".into()], vec![odd.to_owned()]));
        }
    }

    #[test]
    fn what_is_not_whole_is_said_and_left_alone() {
        let (folder, _) = made_for(&["hub"]);
        let path = folder.path().join(FILE);
        let whole = std::fs::read_to_string(&path).unwrap();
        let certificate = whole.split_once("-----BEGIN PRIVATE").unwrap().0;
        let other = made(&["hub".into()]).unwrap();
        let key = other.split_once("-----END CERTIFICATE-----").unwrap().1;
        for broken in ["", "nothing", certificate, &whole.replace("MI", "IM"), &format!("{certificate}{key}")]
        {
            std::fs::write(&path, broken).unwrap();
            let error = Authority::open(folder.path(), &["hub".into()]).err().unwrap();
            assert!(matches!(error, AuthorityError::Broken(_)), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
        }
    }
}
