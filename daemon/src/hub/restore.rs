//! Restoring a backup without giving back what was revoked since it was made.
//!
//! A backup knows nothing of a token or a companion that was revoked later, or of somebody whom a person trusts less since. The database
//! that is replaced does: each that is valid in the backup is looked up there, and revoked in the copy before the copy is the database. Of whom it says nothing
//! (it is lost or damaged, or never had them) only the operator can know, so nothing is restored until they say it.
//!
//! A passkey is added again in a minute, so all of them are removed.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, Transaction, types::FromSql};
use serde_json::json;

use crate::{
    agents::{self, AgentError},
    approval::{
        passkeys,
        registry::{self, DeviceError},
    },
    archive::{ArchiveError, Manifest, Source},
    audit::{self, Entry, Event},
    clock::now_ms,
    people::users,
    policy::Scope,
    settings::secret::Secret,
    store::{self, StoreError, backup::BackupError},
};

/// Who revokes.
const BY: &str = "operator";

/// What becomes of tokens, companions and people's rights that may have been revoked since the backup was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Access {
    /// They are valid, as they were when the backup was made.
    Keep,
    /// They are revoked: make new tokens, and pair companions again.
    Revoke,
}

/// What a restore has done.
#[derive(Debug)]
pub struct Restored {
    /// Where the files are that were replaced.
    pub replaced: Option<PathBuf>,
    /// Who was revoked: because it was revoked in the replaced database, or because the operator said so.
    pub revoked: Vec<Holder>,
}

/// Somebody with access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The holder of a token, by its name.
    Token(String),
    /// A companion, by its name.
    Companion(String),
    /// A passkey, by its name.
    Passkey(String),
    /// Somebody who writes to agents, what they were trusted with, and what they are now.
    Person(String, Scope, Scope),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(name) => write!(f, "the token of {name}"),
            Self::Companion(name) => write!(f, "the companion {name}"),
            Self::Passkey(name) => write!(f, "the passkey {name}"),
            Self::Person(user, scope, _) => write!(f, "{user} as {scope}"),
        }
    }
}

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The files.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The backup's file.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The tokens.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The companions.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Nobody knows whether they were revoked.
    #[error(
        "nothing is restored: {because}, so it cannot say whether these were revoked after the backup was made: {}. \
         Say it: --access keep (they are valid again; revoke later what should not be) or --access revoke (none of them is: make new \
         tokens, and pair the companions again)",
        list(.holders)
    )]
    Undecided {
        /// Why the replaced database does not say it.
        because: &'static str,
        /// Whom it is about.
        holders: Vec<Holder>,
    },
}

impl From<rusqlite::Error> for RestoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Backup(error.into())
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Backup(error.into())
    }
}

/// Names them, separated by commas.
pub fn list(holders: &[Holder]) -> String {
    holders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Puts a backup in the place of the database of a hub that does not run. `access`: what the operator has said.
///
/// # Errors
/// The files cannot be used, the hub runs, or `access` is needed and not given. The database is then as it was.
pub fn restore(directory: &Path, backup: &Path, access: Option<Access>) -> Result<Restored, RestoreError> {
    let mut revoked = vec![];
    let replaced = store::restore::restore(directory, backup, |copy, replaced| {
        revoked = carry_over(copy, replaced, access)?;
        Ok::<_, RestoreError>(())
    })?;
    Ok(Restored { replaced, revoked })
}

/// Puts the database, the files and the keys of a backup in the place of those of a hub that does not run.
///
/// # Errors
/// As [`restore`], or the backup is not whole, or not opened by the passphrase. All is then as it was.
pub fn restore_archive(
    directory: &Path,
    source: Source,
    passphrase: Option<&Secret>,
    access: Option<Access>,
) -> Result<(Restored, Manifest), RestoreError> {
    let (mut revoked, mut manifest) = (vec![], None);
    let unpack = |folder: &Path| {
        let unpacked = source.unpack(passphrase, folder)?;
        manifest = Some(unpacked.manifest);
        Ok(unpacked.database)
    };
    let replaced = store::restore::restore_unpacked(directory, unpack, |copy, replaced| {
        revoked = carry_over(copy, replaced, access)?;
        Ok::<_, RestoreError>(())
    })?;
    let manifest = manifest.expect("it was unpacked before it was restored");
    Ok((Restored { replaced, revoked }, manifest))
}

/// Revokes in the copy what has no access any more.
fn carry_over(
    copy: &Transaction<'_>,
    replaced: Option<&Connection>,
    access: Option<Access>,
) -> Result<Vec<Holder>, RestoreError> {
    let known = Known::read(replaced);
    let (mut gone, mut unknown) = (vec![], vec![]);
    let tokens = "SELECT hash, name FROM tokens WHERE revoked_at IS NULL ORDER BY name";
    let devices = "SELECT key, name FROM devices WHERE revoked_at IS NULL ORDER BY name";
    let kinds = [
        (tokens, &known.tokens, Holder::Token as fn(String) -> Holder),
        (devices, &known.devices, Holder::Companion),
    ];
    for (valid, revoked, holder) in kinds {
        let valid: Vec<(Vec<u8>, String)> = pairs(copy, valid)?;
        for (key, name) in valid {
            match revoked.get(&key) {
                Some(true) => gone.push(holder(name)),
                Some(false) if known.is_whole => {}
                Some(false) | None => unknown.push(holder(name)),
            }
        }
    }
    let in_copy = people(copy)?;
    for (user, &scope) in &in_copy {
        let person = |now| Holder::Person(user.clone(), scope, now);
        match known.trusts(user, scope) {
            Some(now) if now < scope => gone.push(person(now)),
            None if scope > Scope::Unknown => unknown.push(person(Scope::Unknown)),
            _ => {}
        }
    }
    match access {
        None if !unknown.is_empty() => {
            return Err(RestoreError::Undecided { because: known.because(), holders: unknown });
        }
        Some(Access::Revoke) => gone.append(&mut unknown),
        Some(Access::Keep) | None => {}
    }
    for holder in &gone {
        match holder {
            Holder::Token(name) => agents::revoke_in(copy, name, BY)?,
            Holder::Companion(name) => drop(registry::revoke_in(copy, name, BY)?),
            // All of them are, below.
            Holder::Passkey(_) => {}
            Holder::Person(user, _, now) => lower(copy, user, *now)?,
        }
    }
    gone.extend(passkeys::remove_all(copy, BY)?.into_iter().map(Holder::Passkey));
    // Whom the copy does not know may have been shut out since.
    for (user, now) in known.people.iter().filter(|(user, _)| !in_copy.contains_key(*user)) {
        if *now < Scope::Unknown {
            lower(copy, user, *now)?;
        }
    }
    Ok(gone)
}

/// Trusts somebody less in the copy, as its audit says.
fn lower(copy: &Transaction<'_>, user: &str, scope: Scope) -> Result<(), StoreError> {
    users::grant(copy, user, scope, BY, now_ms())?;
    let detail = json!({"user": user, "scope": scope});
    audit::append(copy, &Entry { actor: BY, event: Event::AccessDecided, message: None, detail })
}

/// What the replaced database says.
#[derive(Debug, Default)]
struct Known {
    /// Whether there is one.
    is_there: bool,
    /// Whether it is whole. One that is not is believed what it says of a revocation alone.
    is_whole: bool,
    /// By their hashes, whether they were revoked.
    tokens: HashMap<Vec<u8>, bool>,
    /// By their keys, whether they were revoked.
    devices: HashMap<Vec<u8>, bool>,
    /// What people are trusted with.
    people: BTreeMap<String, Scope>,
}

impl Known {
    fn read(replaced: Option<&Connection>) -> Self {
        let Some(db) = replaced else { return Self::default() };
        let tokens = pairs(db, "SELECT hash, revoked_at IS NOT NULL FROM tokens");
        let devices = pairs(db, "SELECT key, revoked_at IS NOT NULL FROM devices");
        let people = people(db);
        let is_whole = tokens.is_ok()
            && devices.is_ok()
            && people.is_ok()
            && store::restore::fault_in(db).is_ok_and(|fault| fault.is_none());
        let (tokens, devices, people) =
            (tokens.unwrap_or_default(), devices.unwrap_or_default(), people.unwrap_or_default());
        Self { is_there: true, is_whole, tokens, devices, people }
    }

    /// What somebody is trusted with whom the backup trusts with `before`; nothing if it does not say. In one that is whole, what was
    /// taken back has no row.
    fn trusts(&self, user: &str, before: Scope) -> Option<Scope> {
        match self.people.get(user) {
            Some(&now) if self.is_whole || now < before => Some(now),
            Some(_) => None,
            None => self.is_whole.then_some(Scope::Unknown),
        }
    }

    const fn because(&self) -> &'static str {
        match (self.is_there, self.is_whole) {
            (false, _) => "there is no database to be replaced",
            (true, false) => "the database to be replaced is damaged",
            (true, true) => "the database to be replaced does not know all that the backup knows",
        }
    }
}

/// What people are trusted with, by a person's word. A database of an early version knows nobody.
fn people(db: &Connection) -> rusqlite::Result<BTreeMap<String, Scope>> {
    if !db.table_exists(None, "grants")? {
        return Ok(BTreeMap::new());
    }
    db.prepare("SELECT user, scope FROM grants")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// A key and what a query says of it, of each row.
fn pairs<V: FromSql, C: FromIterator<(Vec<u8>, V)>>(db: &Connection, sql: &str) -> rusqlite::Result<C> {
    db.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

#[cfg(test)]
mod tests;
