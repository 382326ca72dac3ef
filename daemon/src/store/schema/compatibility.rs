//! Which databases a program can use.
//!
//! A hub that is put back to its version from before an update finds the tables of its successor. It uses them as they are,
//! because migrations only add ([`super`]), and neither migrates nor writes `user_version`, so that the successor goes on where
//! it stopped. How far back that reaches, only the successor knows: when it migrates, it writes down the oldest schema whose
//! program can still use the database. A database that does not say it can be used by the program one step before.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, types::FromSql};

use super::{BREAKING, MIGRATIONS, RELEASED, version};
use crate::store::{StoreError, backup};

/// The program that migrates, as it is named to one that cannot use the database.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
/// A version in a message is at most so long.
const MAX_PROGRAM: usize = 40;

/// The tables that a program knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    migrations: &'static [&'static str],
}

/// A database's schema beside a program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has seen so many migrations and lacks some.
    Older(u32),
    /// The same.
    Same,
    /// A later program's, which this one can use.
    Newer(Newer),
}

/// A database of a later program that this one uses as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newer {
    found: u32,
    known: u32,
}

impl fmt::Display for Newer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, known } = self;
        write!(
            f,
            "the database has schema version {found} of a newer gatepost; this one has {known}, uses it as it is, and leaves \
             its tables alone"
        )
    }
}

impl Schema {
    /// That of this program.
    pub(crate) const OWN: Self = Self { migrations: MIGRATIONS };

    /// Those of the programs that can use a database of this one, oldest first.
    #[cfg(test)]
    pub(crate) fn before() -> impl Iterator<Item = Self> {
        let own = Self::OWN;
        (own.oldest()..own.newest()).map(|version| Self { migrations: &MIGRATIONS[..version as usize] })
    }

    /// How many migrations it has.
    pub(crate) fn newest(self) -> u32 {
        u32::try_from(self.migrations.len()).expect("a handful of migrations")
    }

    /// The oldest schema whose program can use a database of this one: that of the release before, and at least that of one
    /// step before, unless a migration since says otherwise.
    pub(crate) fn oldest(self) -> u32 {
        let newest = self.newest();
        let breaking = BREAKING.iter().copied().filter(|&number| number <= newest).max();
        RELEASED.min(newest.saturating_sub(1)).max(breaking.unwrap_or(0))
    }

    /// What a database is to this program, or why it cannot be used. `directory`: where a copy may be that can.
    pub(crate) fn judge(self, db: &Connection, directory: &Path) -> Result<Standing, StoreError> {
        let (found, known) = (version(db)?, self.newest());
        if found <= known {
            return Ok(if found == known { Standing::Same } else { Standing::Older(found) });
        }
        let oldest = oldest_of(db, found)?;
        if oldest <= known {
            return Ok(Standing::Newer(Newer { found, known }));
        }
        let (by, copy) = (changed_by(db, found)?, self.usable_copy(directory));
        Err(StoreError::Newer { found, known, oldest, by, copy })
    }

    /// The newest copy that this program can use.
    fn usable_copy(self, directory: &Path) -> Option<PathBuf> {
        let usable = |path: &Path| -> Result<bool, StoreError> {
            let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let found = version(&db)?;
            Ok(found <= self.newest() || oldest_of(&db, found)? <= self.newest())
        };
        let mut copies = backup::list(directory).into_iter().rev().map(|copy| copy.path);
        copies.find(|path| usable(path).unwrap_or(false))
    }

    /// Brings the database to this schema; leaves a newer one as it is.
    pub(crate) fn migrate(self, connection: &mut Connection) -> Result<(), StoreError> {
        let found = version(connection)?;
        let missing = self.migrations.get(found as usize..).unwrap_or_default();
        if missing.is_empty() {
            return Ok(());
        }
        // A table that is made anew is away for a moment, and what refers to it is not. This says nothing within a transaction.
        let checked: bool = connection.pragma_query_value(None, "foreign_keys", |row| row.get(0))?;
        connection.pragma_update(None, "foreign_keys", false)?;
        let migrated = self.run(missing, connection);
        connection.pragma_update(None, "foreign_keys", checked)?;
        migrated
    }

    /// Runs what is missing, all of it or nothing.
    fn run(self, missing: &[&str], connection: &mut Connection) -> Result<(), StoreError> {
        let transaction = connection.transaction()?;
        for migration in missing {
            transaction.execute_batch(migration)?;
        }
        if says_oldest(&transaction)? {
            let said = "UPDATE hub SET oldest_schema = ?, of_schema = ?, changed_by = ?";
            transaction.execute(said, (self.oldest(), self.newest(), PROGRAM))?;
        }
        transaction.pragma_update(None, "user_version", self.newest())?;
        transaction.commit()?;
        Ok(())
    }
}

/// The database as this program uses it, if that is one of a later program.
pub fn newer(db: &Connection, directory: &Path) -> Result<Option<Newer>, StoreError> {
    Ok(match Schema::OWN.judge(db, directory)? {
        Standing::Newer(newer) => Some(newer),
        Standing::Same | Standing::Older(_) => None,
    })
}

/// Whether there is room to say it.
fn says_oldest(db: &Connection) -> rusqlite::Result<bool> {
    db.column_exists(None, "hub", "of_schema")
}

/// What the program that changed the tables last says of them, if it was the one that made this schema.
fn said<T: FromSql>(db: &Connection, found: u32, column: &str) -> rusqlite::Result<Option<T>> {
    if !says_oldest(db)? {
        return Ok(None);
    }
    let sql = format!("SELECT {column} FROM hub WHERE of_schema = ?");
    Ok(db.query_row(&sql, [found], |row| row.get(0)).optional()?.flatten())
}

/// The oldest schema whose program can use this database of schema `found`.
fn oldest_of(db: &Connection, found: u32) -> rusqlite::Result<u32> {
    let said: Option<i64> = said(db, found, "oldest_schema")?;
    let said = said.and_then(|said| u32::try_from(said).ok());
    Ok(said.unwrap_or(found.saturating_sub(1)).min(found))
}

/// The program that changed the tables last, if it is named like one.
fn changed_by(db: &Connection, found: u32) -> rusqlite::Result<Option<String>> {
    let by: Option<String> = said(db, found, "changed_by")?;
    let is_version = |by: &String| {
        by.len() <= MAX_PROGRAM
            && by.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte))
    };
    Ok(by.filter(is_version))
}

#[cfg(test)]
mod tests;
