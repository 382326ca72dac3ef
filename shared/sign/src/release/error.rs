//! Why there is no release, and what a person should know of one.

use std::fmt;

use gatepost_link::update::{Version, package::PackageError, rule::Unfit, signed::MAX_SIGNATURES};

use super::ChainError;
use crate::{date, image::ImageError};

/// What a person should know before signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// It is taken for more than three years.
    Long {
        /// Until then.
        expires: u64,
    },
    /// The root ends before the release does.
    RootExpiresFirst {
        /// Its version.
        version: u32,
        /// When it ends.
        expires: u64,
    },
    /// The roots do not begin with the first.
    OldDevices {
        /// The version that they begin with.
        first: u32,
    },
    /// No version is higher.
    Last,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long { expires } => write!(
                f,
                "it expires only on {}, in over three years: who keeps it back can hand it to devices until then",
                date::words(*expires)
            ),
            Self::RootExpiresFirst { version, expires } => write!(
                f,
                "root version {version} expires before it, on {}: from then on nobody takes it",
                date::words(*expires)
            ),
            Self::OldDevices { first } => write!(
                f,
                "the roots begin with version {first}: devices that know an older one than version {} do not take it. Give --root \
                 for those too",
                first - 1
            ),
            Self::Last => {
                f.write_str("no version is higher: a device that runs it never takes an update again")
            }
        }
    }
}

/// Why there is no release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The board does not start the image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The roots do not lead to its keys.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The file is no release, or a damaged one.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// It is for a board that this program does not know.
    #[error("the release is for a board that this gatepost-sign does not know: use the one of its version")]
    OtherBoard,
    /// What the image says of itself is another version.
    #[error(
        "the image says that it is version {found}, not {version}: give --version {found}, or build it with \
         GATEPOST_FIRMWARE_VERSION={version}"
    )]
    OtherVersion {
        /// What the image says.
        found: Version,
        /// What it was to be released as.
        version: Version,
    },
    /// No device runs anything older.
    #[error("no device takes version 0.0.0, because none runs anything older: release a higher one")]
    NoVersion,
    /// It would not take itself.
    #[error("the floor {floor} is above the version {version}: a floor is at most the version")]
    Floor {
        /// The floor.
        floor: Version,
        /// The version.
        version: Version,
    },
    /// It has expired, by this machine's clock.
    #[error(
        "it expires on {}, and this machine's clock says {}: give a later day, or set the clock",
        date::words(*.expires),
        date::words(*.now)
    )]
    Expired {
        /// When it expires.
        expires: u64,
        /// What the clock says.
        now: u64,
    },
    /// The root has expired, by this machine's clock.
    #[error(
        "root version {version} expired on {}: make the next one with `gatepost-sign root rotate`",
        date::words(*.expires)
    )]
    RootExpired {
        /// Its version.
        version: u32,
        /// When it expired.
        expires: u64,
    },
    /// A device refuses it.
    #[error("a device would refuse it")]
    Unfit(#[from] Unfit),
    /// The key does not sign releases.
    #[error(
        "{key} is no release key of root version {version}: `gatepost-sign root show` lists those that are"
    )]
    UnknownKey {
        /// The key.
        key: String,
        /// The root's version.
        version: u32,
    },
    /// One of its signatures is of nobody.
    #[error("one of its signatures does not hold by the last root in it: sign the image anew")]
    OtherSignature,
    /// There is no place left.
    #[error("it has {MAX_SIGNATURES} signatures, which is all that a release has place for")]
    TooManySignatures,
    /// There is no signature.
    #[error("nobody has signed it")]
    Unsigned,
}
