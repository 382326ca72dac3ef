//! A new database: made beside its place, and moved there when it is whole.
//!
//! Whatever ends the process while the tables are made, no later start finds half of them, nor a journal that somebody who
//! may only read has to roll back.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{LockError, StoreError, private_file, restore, schema};

/// Makes the database of a directory that has none.
pub(super) fn create(directory: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::Lock(LockError::Directory(directory.into(), error));
    let beside = directory.join("gatepost.db.new");
    clear(&beside).and_then(|()| private_file::create(&beside)).map_err(failed)?;
    let mut database = Connection::open(&beside)?;
    // Only a new database takes this; it lets go of room step by step.
    database.pragma_update(None, "auto_vacuum", "incremental")?;
    schema::migrate(&mut database)?;
    seal(database, &beside)?;
    // Of a database that is not there, and SQLite would take it for this one's.
    if let Some(away) = restore::set_aside(directory).map_err(failed)? {
        tracing::warn!(
            kept = %away.display(),
            "moved away what lay beside a database that was not there"
        );
    }
    fs::rename(&beside, directory.join("gatepost.db"))
        .and_then(|()| private_file::sync(directory))
        .map_err(failed)
}

/// Closes a database that nobody else has open: a single file in WAL mode, on disk.
pub(super) fn seal(database: Connection, path: &Path) -> Result<(), StoreError> {
    database.pragma_update(None, "journal_mode", "wal")?;
    let busy: bool = database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    debug_assert!(!busy, "nobody else has it open");
    database.close().map_err(|(_, error)| error)?;
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(|error| StoreError::Lock(LockError::Directory(path.into(), error)))
}

/// Removes what an earlier try left, with everything that SQLite keeps beside it.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        private_file::remove(&PathBuf::from(name))?;
    }
    Ok(())
}
