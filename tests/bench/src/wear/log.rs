//! What a hub's database has written to its write-ahead log: commits, and pages, each by the name of its table or index.
//!
//! While a [`Watch`] stands, a reader of this process has the database open: the log goes neither back into the database nor over what is
//! in it, so every frame can be read at the end. That costs the hub nothing but the checkpoints, which is why bytes are counted in
//! another run than pages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use crate::queue::Outcome;

/// The log's header and a frame's (<https://www.sqlite.org/fileformat2.html#the_write_ahead_log>).
const HEADER: usize = 32;
const FRAME: usize = 24;
/// Both have the salts of this round of the log.
const SALTS: usize = 8;

/// A page that belongs to no table and no index: where the others are, and which are free.
const BOOKS: &str = "(free list and pointer map)";

/// What was written to a log.
#[derive(Debug, Default, Clone)]
pub(super) struct Logged {
    pub commits: u64,
    /// Frames by the name of the table or index that they are of.
    pub pages: BTreeMap<String, u64>,
    /// Bytes of the log, and of the pages that a checkpoint of all of it writes.
    pub bytes: u64,
}

impl Logged {
    /// Frames.
    pub(super) fn all(&self) -> u64 {
        self.pages.values().sum()
    }
}

/// The frames of a log, in their order: each frame's page, and whether it ends a commit.
struct Log {
    salts: [u8; SALTS],
    page_size: usize,
    frames: Vec<(u32, bool)>,
}

impl Log {
    fn read(database: &Path) -> Outcome<Self> {
        let mut name = database.as_os_str().to_owned();
        name.push("-wal");
        let bytes = fs::read(name)?;
        let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (Some(page_size), Some(salts)) = (number(8), bytes.get(16..16 + SALTS)) else {
            return Ok(Self { salts: [0; SALTS], page_size: 0, frames: vec![] });
        };
        let (salts, page_size): ([u8; SALTS], _) = (salts.try_into()?, usize::try_from(page_size)?);
        let mut frames = vec![];
        // What lies behind is of the round before.
        for at in (HEADER..).step_by(FRAME + page_size) {
            let (Some(page), Some(size)) = (number(at), number(at + 4)) else { break };
            if bytes.get(at + 8..at + 8 + SALTS) != Some(&salts) {
                break;
            }
            frames.push((page, size > 0));
        }
        Ok(Self { salts, page_size, frames })
    }
}

/// From when on what is written counts.
pub(super) struct Watch {
    database: PathBuf,
    before: Log,
    /// It keeps the log from being begun anew.
    reader: Connection,
}

impl Watch {
    pub(super) fn begin(database: &Path) -> Outcome<Self> {
        let reader = open(database)?;
        reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
        Ok(Self { database: database.into(), before: Log::read(database)?, reader })
    }

    /// What was written since.
    pub(super) fn end(self) -> Outcome<Logged> {
        let log = Log::read(&self.database)?;
        // The first one who wrote may have begun the log anew: when this began, all of it was in the database.
        let old = if log.salts == self.before.salts { self.before.frames.len() } else { 0 };
        let frames = log.frames.get(old..).ok_or("the log was begun anew twice")?;
        let names = names(&open(&self.database)?)?;
        drop(self.reader);
        let mut logged = Logged::default();
        for (page, ends) in frames {
            logged.commits += u64::from(*ends);
            let name = names.get(page).map_or(BOOKS, String::as_str);
            *logged.pages.entry(name.to_owned()).or_default() += 1;
        }
        let once: BTreeSet<u32> = frames.iter().map(|(page, _)| *page).collect();
        let bytes = frames.len() * (FRAME + log.page_size) + once.len() * log.page_size;
        logged.bytes = u64::try_from(bytes)?;
        Ok(logged)
    }
}

/// Whose page each is, now. SQLite's own table of them (<https://www.sqlite.org/dbstat.html>) reads every page, so the database is a
/// small one.
fn names(db: &Connection) -> Outcome<BTreeMap<u32, String>> {
    let mut pages = db.prepare("SELECT pageno, name FROM dbstat")?;
    let pages = pages.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(pages.collect::<Result<_, _>>()?)
}

pub(super) fn open(database: &Path) -> Outcome<Connection> {
    Ok(Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
}
