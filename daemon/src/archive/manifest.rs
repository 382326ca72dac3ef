//! The list of what a backup holds: its last entry, in JSON.

use serde::{Deserialize, Serialize};

/// The format that this program writes, and the only one that it reads.
pub(super) const FORMAT: u32 = 1;

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the archive.
    pub format: u32,
    /// The version of the program that wrote it.
    pub gatepost: String,
    /// The schema of the database.
    pub schema: u32,
    /// When it was written, RFC 3339.
    pub made: String,
    /// The hub's public key in hexadecimal: the audit is verified with it. A hub that never ran has none.
    pub hub: Option<String>,
    /// Whether the hub's keys and the configuration's secrets are in it.
    pub keys: bool,
    /// Every other entry.
    pub entries: Vec<Listed>,
    /// Files that the database refers to and that were gone, or not what they had been, when it was written: their SHA-256.
    pub missing: Vec<String>,
    /// Files that the configuration names and that are not in it.
    pub left_out: Vec<String>,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}
