//! Checkpoints: the chain's hash at one row, signed by the hub's key.
//!
//! A program that can write the database can compute every hash in it anew, and cut off its end; it cannot sign. The newest
//! checkpoint lies in a file beside the database as well, so that an end which is cut off together with its checkpoints
//! is missed. Where old rows are purged, a checkpoint says so and stands for them: rows that are missing without one
//! were taken out.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use rusqlite::{Connection, Row, Transaction, params};

use crate::{
    random::to_hex,
    store::{StoreError, now_ms, private_file},
};

/// Separates these signatures from all others of the hub's key.
const DOMAIN: &[u8] = b"gatepost/checkpoint/1";

/// The hub's key, for checkpoints.
#[derive(Clone)]
pub struct Signer(Arc<SigningKey>);

/// What was signed, and the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The newest row that it covers.
    pub seq: i64,
    /// Whether all rows up to that one were purged.
    pub purged: bool,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The database's epoch.
    pub epoch: i64,
    /// The hash of that row.
    pub hash: [u8; 32],
    /// Ed25519.
    pub signature: [u8; 64],
}

impl Signer {
    /// Signs with this key.
    pub fn new(key: SigningKey) -> Self {
        Self(Arc::new(key))
    }

    /// A checkpoint at the newest row, unless there is one already.
    pub fn checkpoint(&self, tx: &Transaction<'_>) -> Result<Option<Checkpoint>, StoreError> {
        let newest = super::newest(tx)?;
        let signed: Option<i64> =
            tx.query_row("SELECT max(seq) FROM checkpoints WHERE NOT purged", [], |row| row.get(0))?;
        match newest > signed.unwrap_or(0) {
            true => Ok(Some(self.sign(tx, newest, false)?)),
            false => Ok(None),
        }
    }

    /// Purges every row up to `seq`, and says so.
    pub fn purge(&self, tx: &Transaction<'_>, seq: i64) -> Result<Checkpoint, StoreError> {
        let checkpoint = self.sign(tx, seq, true)?;
        tx.execute("DELETE FROM audit WHERE seq <= ?", [seq])?;
        tx.execute("DELETE FROM checkpoints WHERE seq < ? OR (seq = ? AND NOT purged)", [seq, seq])?;
        Ok(checkpoint)
    }

    pub(super) fn sign(
        &self,
        tx: &Transaction<'_>,
        seq: i64,
        purged: bool,
    ) -> Result<Checkpoint, StoreError> {
        let hash = tx.query_row("SELECT hash FROM audit WHERE seq = ?", [seq], |row| row.get(0))?;
        let epoch = tx.query_row("SELECT epoch FROM hub", [], |row| row.get(0))?;
        let mut signed = Checkpoint { seq, purged, at: now_ms(), epoch, hash, signature: [0; 64] };
        signed.signature = self.0.sign(&signed.statement(&self.0.verifying_key().to_bytes())).to_bytes();
        tx.execute(
            "INSERT INTO checkpoints (seq, purged, at, epoch, hash, signature) VALUES (?, ?, ?, ?, ?, ?)",
            params![seq, purged, signed.at, epoch, hash, signed.signature],
        )?;
        Ok(signed)
    }
}

impl Checkpoint {
    /// Whether the hub with this key signed it.
    pub fn is_signed_by(&self, hub: &[u8; 32]) -> bool {
        let Ok(key) = VerifyingKey::from_bytes(hub) else { return false };
        key.verify_strict(&self.statement(hub), &Signature::from_bytes(&self.signature)).is_ok()
    }

    /// All checkpoints in a database, oldest first.
    pub(super) fn all(db: &Connection) -> Result<Vec<Self>, StoreError> {
        let mut rows =
            db.prepare("SELECT seq, purged, at, epoch, hash, signature FROM checkpoints ORDER BY seq")?;
        let rows = rows.query_map([], Self::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            purged: row.get(1)?,
            at: row.get(2)?,
            epoch: row.get(3)?,
            hash: row.get(4)?,
            signature: row.get(5)?,
        })
    }

    fn statement(&self, hub: &[u8; 32]) -> Vec<u8> {
        let numbers = [self.seq, self.at, self.epoch].map(i64::to_be_bytes).concat();
        [DOMAIN, hub, &numbers, &[u8::from(self.purged)], &self.hash].concat()
    }

    /// Puts it into the file beside the database.
    pub fn keep(&self, directory: &Path) -> io::Result<()> {
        let numbers = format!("{} {} {} {}", self.seq, u8::from(self.purged), self.at, self.epoch);
        let line = format!("{numbers} {} {}\n", to_hex(&self.hash), to_hex(&self.signature));
        private_file::write(&path(directory), line.as_bytes())
    }

    /// The checkpoint in the file beside the database; nothing, if there is no file, or it cannot be read.
    pub fn kept(directory: &Path) -> Option<Self> {
        let line = fs::read_to_string(path(directory)).ok()?;
        let mut words = line.split_whitespace();
        let mut number = || words.next()?.parse::<i64>().ok();
        let (seq, purged, at, epoch) = (number()?, number()? == 1, number()?, number()?);
        let hash = from_hex(words.next()?)?;
        Some(Self { seq, purged, at, epoch, hash, signature: from_hex(words.next()?)? })
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join("audit.checkpoint")
}

/// Bytes from hexadecimal, if there are `N` of them.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() == N * 2 { bytes_from_hex(text)?.try_into().ok() } else { None }
}

/// The same, however many there are.
pub fn bytes_from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.remainder().is_empty().then_some(())?;
    pairs.map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_hexadecimal_digits_and_from_nothing_else() {
        assert_eq!(from_hex("0aFf10"), Some([0x0a, 0xff, 0x10]));
        assert_eq!(from_hex(""), Some([]));
        for text in ["+a+f10", "0aff1", "0aff1000", "0aff1 ", "-1ff10", "0x0aff", "0aff1\u{e9}", "0aff1g"] {
            assert_eq!(from_hex::<3>(text), None, "{text}");
        }
    }
}
