//! A database that nobody else has open: it can be one file, with nothing beside it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{LockError, StoreError, private_file};

/// Closes a database that nobody else has open: a single file in WAL mode, on disk.
pub(super) fn seal(database: Connection, path: &Path) -> Result<(), StoreError> {
    database.pragma_update(None, "journal_mode", "wal")?;
    // Where a table was renamed before, SQLite takes the change for a transaction that goes on, until something is read.
    super::schema::version(&database)?;
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
