//! Which life of the database this is: a number in the database, and the same in a file beside it.
//!
//! Both rise together, at every start and after every backup, the database first. A database behind its file is an old
//! copy: somebody put a backup in its place; a backup says so of itself as well. What an old copy takes for unsent may long have arrived, so nothing of it is
//! sent before a person says so; a copy that is moved without the file counts as old too. Only a copy of the whole
//! directory cannot be told from the directory itself: whoever brings one back deletes the file `epoch` first.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{StoreError, private_file, space::Room};

fn path(directory: &Path) -> PathBuf {
    directory.join("epoch")
}

/// The number in the file, if there is one.
pub(super) fn recorded(directory: &Path) -> Result<Option<i64>, StoreError> {
    match fs::read_to_string(path(directory)) {
        // What cannot be read says nothing, and then the copy counts as old.
        Ok(text) => Ok(text.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::Epoch(path(directory), error)),
    }
}

/// Puts a number into the file.
pub(super) fn record(directory: &Path, epoch: i64) -> Result<(), StoreError> {
    let path = path(directory);
    private_file::write(&path, format!("{epoch}\n").as_bytes())
        .map_err(|error| StoreError::Epoch(path, error))
}

/// The number in the database.
pub(super) fn own(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.query_row("SELECT epoch FROM hub", [], |row| row.get(0))?)
}

/// Logins to the page end with the life that they belong to: of one that was ended since the copy was made, the copy does not know it.
fn end_logins(db: &Connection) -> Result<(), StoreError> {
    // Tests open databases of earlier programs, which have none.
    if db.table_exists(None, "logins")? {
        db.execute("DELETE FROM logins", [])?;
    }
    Ok(())
}

/// Begins a new life: compares both numbers, remembers in the database if it is an old copy, and raises them.
pub(super) fn begin(db: &Connection, directory: &Path) -> Result<(), StoreError> {
    let mut recorded = recorded(directory)?;
    let own = own(db)?;
    if recorded.is_none() && own == 0 {
        // A new one. Without this, whoever is killed between the two below had an old copy at the next start.
        record(directory, 0)?;
        recorded = Some(0);
    }
    let old = match recorded {
        Some(recorded) => own < recorded,
        None => own > 0,
    };
    let next = own.max(recorded.unwrap_or(0)) + 1;
    let sql = "UPDATE hub SET epoch = ?, restored = restored OR ? RETURNING restored";
    let restored: bool = match db.query_row(sql, (next, old), |row| row.get(0)) {
        Ok(restored) => restored,
        // A full disk is no reason not to start, as long as nothing of an old copy goes out.
        Err(error) if !old && Room::of(&error).is_some() => {
            tracing::warn!(%error, "cannot raise the database's epoch");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    if old {
        end_logins(db)?;
    }
    match record(directory, next) {
        Err(error) if recorded.is_some() => tracing::warn!(%error, "cannot record the database's epoch"),
        recorded => recorded?,
    }
    if restored {
        tracing::warn!(
            "the database is a restored copy: nothing of it is sent before an operator releases it"
        );
    }
    Ok(())
}
