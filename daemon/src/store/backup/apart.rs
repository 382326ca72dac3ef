//! A copy of the database for a backup that leaves the machine, made by a process beside the hub or instead of it.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    super::{DirectoryLock, alone, private_file, restore, schema, space},
    BackupError, LONGEST, MIN_LEFT_BYTES, STEP_PAUSE, check, copy_to, size_of,
};

/// A copy, whole and checked, in a file that is removed with this.
#[derive(Debug)]
pub struct DatabaseCopy {
    path: PathBuf,
    schema: u32,
}

impl DatabaseCopy {
    /// Copies the database of the data directory `directory` to `path`, whether its hub runs or not.
    ///
    /// # Errors
    /// There is none, it is damaged, or the copy cannot be written.
    pub fn make(directory: &Path, path: PathBuf) -> Result<Self, BackupError> {
        if restore::is_halfway(directory) {
            // Until that is done, the database is not yet what it is to be. A hub that runs has done it.
            let _lock = DirectoryLock::take(directory)?;
            restore::finish(directory).map_err(|error| BackupError::File(directory.into(), error))?;
        }
        let database = directory.join("gatepost.db");
        if !database.exists() {
            return Err(BackupError::NoDatabase(directory.into()));
        }
        let start = Instant::now();
        let source = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // One moment, however long it takes.
        source.execute_batch("BEGIN; SELECT * FROM hub")?;
        let (size, free) = (size_of(&source)?, free_beside(&path));
        let wanted = size.saturating_add(MIN_LEFT_BYTES);
        if free < wanted {
            return Err(BackupError::NoRoom(wanted, free));
        }
        let failed = |error| BackupError::File(path.clone(), error);
        alone::clear(&path).and_then(|()| private_file::create(&path)).map_err(failed)?;
        let copy = Self { schema: schema::version(&source)?, path };
        copy_to(&source, &copy.path, || {
            if start.elapsed() > LONGEST {
                return Err(BackupError::GivenUp(start.elapsed()));
            }
            thread::sleep(STEP_PAUSE);
            Ok(())
        })?;
        check(&copy.path)?;
        Ok(copy)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its schema.
    pub const fn schema(&self) -> u32 {
        self.schema
    }

    /// Opens it, to be read.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Connection, BackupError> {
        Ok(Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        // The next one takes its place, if this cannot be removed.
        let _ = alone::clear(&self.path);
    }
}

fn free_beside(path: &Path) -> u64 {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    space::free(folder).unwrap_or(u64::MAX)
}
