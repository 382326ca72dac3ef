//! The names that an entry can have.

use gatepost_link::Digest;

use super::tar::MAX_NAME;
use crate::message::attachment::digest;

/// The hub's own files that are secret, by their names in the data directory.
pub(super) const KEYS: [&str; 4] = ["hub.key", "hub.seal", "operator.token", "authority.pem"];

/// An entry, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// The first one, which says that this is a backup.
    Format,
    /// The database.
    Database,
    /// A file that goes along with a message, by the SHA-256 of its bytes.
    File(Digest),
    /// One of [`KEYS`].
    Key,
    /// A file of the configuration.
    Configuration,
    /// The last one.
    Manifest,
}

impl Entry {
    /// The format's name.
    pub(super) const FORMAT: &str = "gatepost-backup";
    /// The database's name.
    pub(super) const DATABASE: &str = "gatepost.db";
    /// The manifest's name.
    pub(super) const MANIFEST: &str = "manifest.json";

    /// What a name stands for; nothing, if it is none that a backup has.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            Self::FORMAT => Some(Self::Format),
            Self::DATABASE => Some(Self::Database),
            Self::MANIFEST => Some(Self::Manifest),
            _ => match name.split_once('/')? {
                ("files", hash) => digest(hash).map(Self::File),
                ("keys", key) => KEYS.contains(&key).then_some(Self::Key),
                ("configuration", path) => is_plain(path).then_some(Self::Configuration),
                _ => None,
            },
        }
    }

    /// Bytes that it has at most.
    pub(super) const fn most(&self) -> u64 {
        match self {
            Self::Format => 256,
            Self::Database | Self::File(_) => super::tar::MAX_BYTES,
            Self::Key => 4096,
            Self::Configuration => crate::config::MAX_FILE_BYTES,
            Self::Manifest => 16 * 1024 * 1024,
        }
    }
}

/// Whether a path leads to a file beneath where it begins, in letters that every file system has.
pub(super) fn is_plain(path: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@+ ".contains(&byte);
    let name = |name: &str| !name.is_empty() && name != "." && name != ".." && name.bytes().all(letter);
    path.len() + "configuration/".len() <= MAX_NAME
        && path.split('/').count() <= 8
        && path.split('/').all(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_none() {
        let hash = "a".repeat(64);
        for good in
            ["gatepost.db", &format!("files/{hash}"), "keys/hub.key", "configuration/credentials/telegram"]
        {
            assert!(Entry::named(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "gatepost.db/",
            "./gatepost.db",
            "files/../hub.key",
            "files/A",
            &format!("files/{}", hash.to_uppercase()),
            &format!("files/{hash}/x"),
            "keys/other",
            "keys/../gatepost.db",
            "configuration/",
            "configuration//etc/passwd",
            "configuration/../x",
            "configuration/a/../../x",
            "configuration/a\nb",
            "configuration/a\\b",
            "updates/x",
        ] {
            assert_eq!(Entry::named(bad), None, "{bad:?}");
        }
    }
}
