//! Passkeys: keys that an operator's browser keeps, and that sign only after a finger, a face or a PIN.
//!
//! One is added with an operator's token and has the right of that token: to sign in, and to decide where the configuration says so. It stands
//! until somebody removes it, or the token is revoked; every use looks up both. A row is never deleted, so that a decision can be
//! proven for as long as the audit has it. What the audit has of it when it is added is its whole public key: another one under the same
//! name is found by it.
//!
//! [`assertion`] judges what a passkey signed, [`key`] verifies, [`statement`] is what a decision's signature is over. How a decision by
//! one takes effect is in [`super::decide`].

pub mod assertion;
mod key;
pub mod statement;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use gatepost_link::{Digest, decision};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, named_params, params};
use serde_json::json;

use self::assertion::{PublicKey, Unsigned};
use super::{
    quorum,
    registry::{MAX_NAME, is_name},
};
use crate::{
    audit::{self, Entry, Event},
    random::to_hex,
    store::{Store, StoreError, now_ms},
};

/// Passkeys that may stand at once.
const MAX_PASSKEYS: usize = 32;
/// Bytes of an id by which people and programs name a passkey.
const SHORT: usize = 8;

/// Those that stand: not removed, and their token neither.
macro_rules! standing {
    ($what:literal) => {
        concat!(
            "SELECT id, credential, passkeys.name, public_key, algorithm, rp_id, token, counter, added_at, used_at FROM passkeys
             JOIN tokens ON hash = token WHERE removed_at IS NULL AND role = 'operator' AND revoked_at IS NULL AND ",
            $what
        )
    };
}

/// The hash of an operator's token, by whose right something is done.
pub type TokenHash = [u8; 32];

/// What stands for a passkey where a device's key stands for a device: SHA-256 of the credential's id.
pub type PasskeyId = [u8; 32];

/// The id of the passkey with this credential.
pub fn id(credential: &[u8]) -> PasskeyId {
    Digest::of(credential).0
}

/// A passkey that stands. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    /// What stands for it.
    pub id: PasskeyId,
    /// The id by which a browser finds it.
    pub credential: Vec<u8>,
    /// What people call it.
    pub name: String,
    /// By what it is verified.
    pub key: PublicKey,
    /// By whose right it stands.
    pub token: TokenHash,
    /// Of its last use; 0 for ever where it does not count.
    counter: i64,
    /// When it was added.
    pub added_at: i64,
    /// When it last signed somebody in, or decided.
    pub used_at: Option<i64>,
}

impl Passkey {
    /// Its short name.
    pub fn short(&self) -> String {
        to_hex(&self.id[..SHORT])
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            credential: row.get(1)?,
            name: row.get(2)?,
            key: PublicKey { spki: row.get(3)?, algorithm: row.get(4)?, rp_id: row.get(5)? },
            token: row.get(6)?,
            counter: row.get(7)?,
            added_at: row.get(8)?,
            used_at: row.get(9)?,
        })
    }

    /// Writes down that it was used, with this counter.
    ///
    /// # Errors
    /// [`Unsigned::Counter`]: somebody has a copy of it.
    pub(super) fn is_used(
        &self,
        tx: &Transaction<'_>,
        counter: u32,
    ) -> Result<Result<(), Unsigned>, StoreError> {
        if !rises(self.counter, counter.into()) {
            return Ok(Err(Unsigned::Counter));
        }
        tx.execute(
            "UPDATE passkeys SET counter = ?, used_at = ? WHERE id = ?",
            params![counter, now_ms(), self.id],
        )?;
        Ok(Ok(()))
    }
}

/// Whether a counter is as it must be after this one. Passkeys that are copied to all of somebody's devices do not count: they stay at 0.
pub(super) fn rises(before: i64, now: i64) -> bool {
    now > before || (now == 0 && before == 0)
}

/// Why no passkey is added or removed.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyError {
    /// Not a name.
    #[error(
        "{0:?} is not a name for a passkey: use 1 to {MAX_NAME} letters, digits, punctuation and single spaces between them"
    )]
    Name(String),
    /// There is no room.
    #[error("{MAX_PASSKEYS} passkeys are added, and no more can be: remove one first")]
    Full,
    /// It is there, or was.
    #[error("this passkey was added before: make another one")]
    Known,
    /// There is none.
    #[error("there is no such passkey")]
    Missing,
    /// The token is no operator's.
    #[error("this is no operator's token of this hub")]
    Token,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for PasskeyError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A passkey that is to be added.
#[derive(Debug)]
pub struct New {
    /// What people call it. Of several of one name, all but the first get a number.
    pub name: String,
    /// The id by which a browser finds it.
    pub credential: Vec<u8>,
    /// By what it is verified.
    pub key: PublicKey,
    /// Its counter as it was made.
    pub counter: u32,
    /// By whose right.
    pub token: TokenHash,
}

/// Adds a passkey.
///
/// # Errors
/// Nobody can be called so, there is no room, it is known, or the token is no operator's; the database.
pub async fn add(store: &Store, new: New, by: &str) -> Result<Passkey, PasskeyError> {
    let by = by.to_owned();
    store
        .write(move |tx| {
            let id = id(&new.credential);
            let all = standing(tx)?;
            // One key is one passkey, by whatever name it comes: it would count twice where two must approve.
            let known = "SELECT 1 FROM passkeys WHERE id = ?1 OR (public_key = ?2 AND removed_at IS NULL)";
            if tx.prepare(known)?.exists(params![id, new.key.spki])? {
                return Err(PasskeyError::Known);
            }
            if all.len() >= MAX_PASSKEYS {
                return Err(PasskeyError::Full);
            }
            let name = free(&all, new.name)?;
            tx.execute(
                "INSERT INTO passkeys (id, credential, name, public_key, algorithm, rp_id, token, counter, added_at)
                 VALUES (:id, :credential, :name, :spki, :algorithm, :rp_id, :token, :counter, :now)",
                named_params! {
                    ":id": id, ":credential": new.credential, ":name": name, ":spki": new.key.spki,
                    ":algorithm": new.key.algorithm, ":rp_id": new.key.rp_id, ":token": new.token,
                    ":counter": new.counter, ":now": now_ms(),
                },
            )?;
            let added = find(tx, id)?.ok_or(PasskeyError::Token)?;
            let detail = json!({
                "name": name, "key": to_hex(&id), "public_key": to_hex(&new.key.spki), "algorithm": new.key.algorithm,
                "rp_id": new.key.rp_id,
            });
            audit::append(tx, &Entry { actor: &by, event: Event::PasskeyAdded, message: None, detail })?;
            Ok(added)
        })
        .await
}

/// A name that none of these has: this one, or the same with a number.
fn free(all: &[Passkey], name: String) -> Result<String, PasskeyError> {
    let taken = |name: &String| all.iter().any(|known| known.name.to_lowercase() == name.to_lowercase());
    let numbered = (2..=MAX_PASSKEYS + 1).map(|number| format!("{name} {number}"));
    let name = std::iter::once(name.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(name);
    match is_name(&name) {
        true => Ok(name),
        false => Err(PasskeyError::Name(name.chars().take(MAX_NAME + 20).collect())),
    }
}

/// Those that stand, in the order in which they were added.
///
/// # Errors
/// The database.
pub async fn list(store: &Store) -> Result<Vec<Passkey>, StoreError> {
    store.read(standing).await
}

pub(super) fn standing(db: &Connection) -> Result<Vec<Passkey>, StoreError> {
    let mut rows = db.prepare_cached(standing!("1 ORDER BY added_at, id"))?;
    Ok(rows.query_map([], Passkey::read)?.collect::<Result<_, _>>()?)
}

/// The one with this id, if it stands.
pub(super) fn find(db: &Connection, id: PasskeyId) -> Result<Option<Passkey>, StoreError> {
    Ok(db.prepare_cached(standing!("id = ?"))?.query_row([id], Passkey::read).optional()?)
}

/// All that were ever added, with the counter of the last use and the key. A database of an earlier program has none.
pub(super) fn registered(db: &Connection) -> Result<BTreeMap<PasskeyId, (i64, PublicKey)>, StoreError> {
    if !db.table_exists(None, "passkeys")? {
        return Ok(BTreeMap::new());
    }
    let mut rows = db.prepare("SELECT id, counter, public_key, algorithm, rp_id FROM passkeys")?;
    let rows = rows.query_map([], |row| {
        Ok((
            row.get(0)?,
            (row.get(1)?, PublicKey { spki: row.get(2)?, algorithm: row.get(3)?, rp_id: row.get(4)? }),
        ))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Why somebody is not signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// No such passkey stands.
    #[error("this passkey is not known here, or was removed")]
    Unknown,
    /// What it signed does not count.
    #[error(transparent)]
    Unsigned(#[from] Unsigned),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes what a passkey signed to sign somebody in: by whose right.
///
/// # Errors
/// It is not known, or what it signed does not count; the database.
pub async fn sign_in(
    store: &Store,
    credential: &[u8],
    challenge: Vec<u8>,
    assertion: assertion::Assertion,
    is_own: impl FnOnce(&str, &str) -> bool + Send + 'static,
) -> Result<TokenHash, SignInError> {
    let id = id(credential);
    store
        .write(move |tx| {
            let passkey = find(tx, id)?.ok_or(SignInError::Unknown)?;
            let rp_id = &passkey.key.rp_id;
            let counter = assertion.verify(&passkey.key, &challenge, |origin| is_own(origin, rp_id))?;
            passkey.is_used(tx, counter)??;
            Ok(passkey.token)
        })
        .await
}

/// Removes a passkey, by its short name, and takes its approvals of what still waits back; the numbers of these messages.
///
/// # Errors
/// There is none; the database.
pub async fn remove(store: &Store, short: &str, by: &str) -> Result<Vec<i64>, PasskeyError> {
    let (short, by) = (short.to_owned(), by.to_owned());
    store
        .write(move |tx| {
            let found = standing(tx)?.into_iter().find(|passkey| passkey.short() == short);
            Ok(remove_in(tx, &found.ok_or(PasskeyError::Missing)?, &by)?)
        })
        .await
}

/// The same within a transaction.
fn remove_in(tx: &Transaction<'_>, passkey: &Passkey, by: &str) -> Result<Vec<i64>, StoreError> {
    tx.execute("UPDATE passkeys SET removed_at = ? WHERE id = ?", params![now_ms(), passkey.id])?;
    let detail = json!({"name": passkey.name, "key": to_hex(&passkey.id)});
    audit::append(tx, &Entry { actor: by, event: Event::PasskeyRemoved, message: None, detail })?;
    quorum::withdraw(tx, decision::PublicKey(passkey.id), by, "its passkey was removed")
}

/// Removes all of a database that is put in the place of another: one that was removed since is not let in again by it. Their names.
///
/// # Errors
/// The database.
pub fn remove_all(tx: &Transaction<'_>, by: &str) -> Result<Vec<String>, StoreError> {
    // A database of an earlier program has no place for them.
    if !tx.table_exists(None, "passkeys")? {
        return Ok(vec![]);
    }
    let all = standing(tx)?;
    all.iter().try_for_each(|passkey| remove_in(tx, passkey, by).map(drop))?;
    Ok(all.into_iter().map(|passkey| passkey.name).collect())
}
