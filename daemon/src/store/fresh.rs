//! A new database: made beside its place, and moved there when it is whole.
//!
//! Whatever ends the process while the tables are made, no later start finds half of them, nor a journal that somebody who
//! may only read has to roll back.

use std::{fs, path::Path};

use rusqlite::Connection;

use super::{LockError, StoreError, alone, private_file, restore, schema::Schema};

/// Bytes of a page. A commit writes every page that it touches whole, and most are touched for some hundred bytes: with SQLite's own 4,096
/// a message writes more than twice as much to the disk. Smaller ones hold less than one short message. A database keeps the size that
/// it was made with, and so does a copy of it: to change it is to write all of it anew.
///
/// What lies beside a page in the same block of the disk is written with it, which SQLite allows for as it does at any size
/// (<https://www.sqlite.org/psow.html>).
const PAGE_BYTES: u32 = 1024;

/// Makes the database of a directory that has none.
pub(super) fn create(directory: &Path, schema: Schema) -> Result<(), StoreError> {
    let failed = |error| StoreError::Lock(LockError::Directory(directory.into(), error));
    let beside = directory.join("gatepost.db.new");
    alone::clear(&beside).and_then(|()| private_file::create(&beside)).map(drop).map_err(failed)?;
    let mut database = Connection::open(&beside)?;
    // Only a new database takes these; it lets go of room step by step.
    database.pragma_update(None, "page_size", PAGE_BYTES)?;
    database.pragma_update(None, "auto_vacuum", "incremental")?;
    schema.migrate(&mut database)?;
    alone::seal(database, &beside)?;
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
