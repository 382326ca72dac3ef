//! Why the store cannot be used, what to do about it, and whether the same may go well later.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{LockError, Room};

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory is another's.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// SQLite's own words.
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Written by a newer Gatepost.
    #[error(
        "the database has schema version {found}, which a gatepost of schema version {oldest} or newer can use; this one has \
         {known}. {}", way_out(.by.as_deref(), .copy.as_deref())
    )]
    Newer {
        /// The file's version.
        found: u32,
        /// The version of this program.
        known: u32,
        /// The oldest version whose program can use it.
        oldest: u32,
        /// The program that wrote it.
        by: Option<String>,
        /// The newest copy that this program can use.
        copy: Option<PathBuf>,
    },
    /// It is not whole.
    #[error(
        "the database {} is damaged: {what}. It is kept as it is. {}", .path.display(), remedy(.path, .newest.as_deref())
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// The newest backup.
        newest: Option<PathBuf>,
    },
    /// There is no copy from before a migration, so there is no migration.
    #[error("the database is from an older gatepost, and is copied before it is changed: {0}")]
    Uncopied(Box<dyn std::error::Error + Send + Sync>),
    /// The file that says which life of the database this is.
    #[error("cannot use {}: {}", .0.display(), .1)]
    Epoch(PathBuf, std::io::Error),
    /// The transaction that this was part of could not be committed.
    #[error("the database failed: {0}")]
    Commit(Arc<rusqlite::Error>),
    /// The writer is gone; the hub is stopping.
    #[error("the store is closed")]
    Closed,
}

fn way_out(by: Option<&str>, copy: Option<&Path>) -> String {
    let newer = match by {
        Some(by) => format!("Run gatepost {by} or newer again, which changed the tables"),
        None => "Run the newer gatepost again, which changed the tables".into(),
    };
    match copy {
        Some(copy) => format!(
            "{newer}; or go back to the copy from before that: gatepost restore {} (what happened since is not in it, and \
             what was under way in it is then unknown)",
            copy.display()
        ),
        None => format!("{newer}: there is no copy in backups that this one can use"),
    }
}

fn remedy(path: &Path, newest: Option<&Path>) -> String {
    match newest {
        Some(newest) => format!(
            "Restore the newest backup, {}, with: gatepost restore (what was under way in it is then unknown, and sent \
             only by gatepost queue retry --may-duplicate)",
            newest.display()
        ),
        None => format!(
            "There is no backup. To begin anew with an empty queue, move {} away, and the file epoch beside it",
            path.display()
        ),
    }
}

impl StoreError {
    /// What SQLite says when the file itself is broken.
    pub(super) fn damage(&self) -> Option<String> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let error = match self {
            Self::Sqlite(error) => error,
            Self::Commit(error) => error.as_ref(),
            _ => return None,
        };
        matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)).then(|| error.to_string())
    }

    /// What it says about the disk, if anything.
    pub fn room(&self) -> Option<Room> {
        match self {
            Self::Sqlite(error) => Room::of(error),
            Self::Commit(error) => Room::of(error),
            _ => None,
        }
    }

    /// Whether the same may go well later, without anybody changing the call.
    pub fn passes(&self) -> bool {
        self.room().is_some()
    }
}
