//! A copy that is made of an older one: only what differs is written.
//!
//! A database of a month changes a little each day, and a card wears by what is written to it. SQLite's own way to copy writes every
//! page; here the file itself is read, while it stands still, and compared with the older copy, block by block.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt as _,
    path::Path,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{BackupError, STEP_BYTES};

/// What is compared, and written where it differs: a page of the system's cache.
const BLOCK: usize = 4096;
/// Times that it is tried to have the file stand still.
const TRIES: usize = 5;

/// A moment in which all of the database is in its file. It stays so while the connection's transaction goes on: a checkpoint goes no
/// further than the oldest reader, and this one needs nothing of the log (<https://www.sqlite.org/wal.html#ckpt>). Nothing where somebody
/// reads for long, or the database is damaged.
pub(super) fn hold_still(
    database: &Path,
    mut pause: impl FnMut() -> Result<(), BackupError>,
) -> Result<Option<Connection>, BackupError> {
    let open = |flags| Connection::open_with_flags(database, flags);
    let [turn, log] = [open(OpenFlags::SQLITE_OPEN_READ_WRITE)?, open(OpenFlags::SQLITE_OPEN_READ_WRITE)?];
    let reader = open(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // What they leave is the hub's to take in.
    for connection in [&turn, &log] {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    }
    for _ in 0..TRIES {
        // Most of it while others write; then the rest, which is short, in a turn of its own among them.
        is_all_taken_in(&log)?;
        match turn.execute_batch("BEGIN IMMEDIATE") {
            Err(busy) if busy.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => continue,
            begun => begun?,
        }
        let all = is_all_taken_in(&log).and_then(|all| {
            reader.execute_batch(if all { "BEGIN; SELECT * FROM hub" } else { "" })?;
            Ok(all)
        });
        turn.execute_batch("ROLLBACK")?;
        if all? {
            return Ok(Some(reader));
        }
        pause()?;
    }
    Ok(None)
}

/// Takes what it can of the log into the database; whether that is all.
fn is_all_taken_in(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(!row.get::<_, bool>(0)? && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })
}

/// Makes `copy` what `database` is, which stands still. Returns how many bytes were written.
pub(super) fn patch(
    database: &File,
    copy: &Path,
    mut pause: impl FnMut() -> Result<(), BackupError>,
) -> Result<u64, BackupError> {
    let failed = |error| BackupError::File(copy.into(), error);
    let into = OpenOptions::new().read(true).write(true).open(copy).map_err(failed)?;
    let length = database.metadata().map_err(failed)?.len();
    let step = usize::try_from(STEP_BYTES).unwrap_or(BLOCK);
    let (mut wanted, mut there) = (vec![0; step], vec![0; step]);
    let (mut at, mut all) = (0, 0);
    while at < length {
        let read = usize::try_from(length - at).unwrap_or(step).min(step);
        database.read_exact_at(&mut wanted[..read], at).map_err(failed)?;
        let old = read_up_to(&into, &mut there[..read], at).map_err(failed)?;
        let written = write_what_differs(&into, &wanted[..read], &there[..old], at).map_err(failed)?;
        if written > 0 {
            // Or all of it goes to the disk at the end, and every commit waits for that.
            into.sync_data().map_err(failed)?;
        }
        all += written;
        at += read as u64;
        pause()?;
    }
    into.set_len(length).and_then(|()| into.sync_all()).map_err(failed)?;
    Ok(all)
}

/// Reads until the buffer is full or the file ends; how much that was.
fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes each block that is not as it is there; how many bytes that were.
fn write_what_differs(file: &File, wanted: &[u8], there: &[u8], at: u64) -> io::Result<u64> {
    let (mut offset, mut written) = (0, 0);
    for block in wanted.chunks(BLOCK) {
        if there.get(offset..offset + block.len()) != Some(block) {
            file.write_all_at(block, at + offset as u64)?;
            written += block.len() as u64;
        }
        offset += block.len();
    }
    Ok(written)
}
