//! The rows: which releases and roots there are, and what is rolled out; what companions make of them is in [`companions`].
//!
//! Progress in bytes is not among them: it changes every few seconds, and means nothing after a restart.

pub mod companions;

use gatepost_link::{
    decision::PublicKey,
    update::{
        ImageId, Version,
        root::{MAX_FILE_BYTES, RootFile},
    },
};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params, types::FromSqlError};

pub use companions::{
    Firmware, Install, Stage, firmware, firmware_of, install_of, installs, put_firmware, put_install, totals,
};

use crate::store::{StoreError, now_ms};

/// A release whose signatures were verified when it was added. Times are milliseconds since 1970, but for its expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its row.
    pub seq: i64,
    /// The board that it is for.
    pub board: String,
    /// Its version.
    pub version: Version,
    /// What runs it takes nothing below this version.
    pub floor: Version,
    /// Bytes of its image.
    pub size: u32,
    /// SHA-256 of its image.
    pub image: [u8; 32],
    /// SHA-256 of its file: the file's name.
    pub file: [u8; 32],
    /// The version of the root whose keys signed it.
    pub root: u32,
    /// From when on no companion takes it, in seconds since 1970.
    pub expires: u64,
    /// When it was added.
    pub added_at: i64,
}

impl Release {
    /// The name of its image in frames.
    pub fn image_id(&self) -> ImageId {
        let [a, b, c, d, e, f, g, h, ..] = self.image;
        [a, b, c, d, e, f, g, h]
    }
}

/// What is rolled out to a board's companions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// The board.
    pub board: String,
    /// The release's row.
    pub release: i64,
    /// When somebody said so, in milliseconds since 1970. What companions said before of this release stops nothing.
    pub at: i64,
    /// Who said so.
    pub by: String,
    /// To these alone, in this order; to all if nothing stands here.
    pub to: Vec<PublicKey>,
    /// Whether it waits neither for the hours nor for the first companion to prove it.
    pub now: bool,
    /// Whether it goes to a companion again on which it went back.
    pub again: bool,
    /// Whether it rests.
    pub paused: bool,
}

const RELEASE: &str =
    "SELECT seq, board, version, floor, size, image, file, root, expires, added_at FROM releases";

/// The releases whose files are kept, newest first by board and by version.
pub fn releases(db: &Connection) -> Result<Vec<Release>, StoreError> {
    let mut rows = db.prepare_cached(&format!("{RELEASE} WHERE removed_at IS NULL"))?;
    let mut all: Vec<Release> = rows.query_map([], release)?.collect::<Result<_, _>>()?;
    all.sort_by(|a, b| a.board.cmp(&b.board).then(b.version.cmp(&a.version)));
    Ok(all)
}

/// The release of this row, if its file is kept.
pub fn kept(db: &Connection, seq: i64) -> Result<Option<Release>, StoreError> {
    let mut rows = db.prepare_cached(&format!("{RELEASE} WHERE seq = ? AND removed_at IS NULL"))?;
    Ok(rows.query_row([seq], release).optional()?)
}

/// The release of this board and version, its file kept or not.
pub fn find(db: &Connection, board: &str, wanted: Version) -> Result<Option<Release>, StoreError> {
    let mut rows = db.prepare_cached(&format!("{RELEASE} WHERE board = ? AND version = ?"))?;
    Ok(rows.query_row(params![board, wanted.to_string()], release).optional()?)
}

/// The release that a companion on this board means by an image's name, its file kept or not.
pub fn named(db: &Connection, board: &str, image: ImageId) -> Result<Option<Release>, StoreError> {
    let sql = format!("{RELEASE} WHERE board = ? AND substr(image, 1, 8) = ? ORDER BY seq DESC LIMIT 1");
    Ok(db.prepare_cached(&sql)?.query_row(params![board, image], release).optional()?)
}

/// Stores a release, or what was signed anew of one; its row.
pub fn put(tx: &Transaction<'_>, new: &Release) -> Result<i64, StoreError> {
    let sql = "INSERT INTO releases (board, version, floor, size, image, file, root, expires, added_at)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT (board, version) DO UPDATE SET floor = excluded.floor, size = excluded.size,
               image = excluded.image, file = excluded.file, root = excluded.root, expires = excluded.expires, added_at = excluded.added_at, removed_at = NULL
               RETURNING seq";
    let expires = i64::try_from(new.expires).unwrap_or(i64::MAX);
    let values = params![
        new.board,
        new.version.to_string(),
        new.floor.to_string(),
        new.size,
        new.image,
        new.file,
        new.root,
        expires,
        new.added_at
    ];
    Ok(tx.query_row(sql, values, |row| row.get(0))?)
}

/// Notes that a release's file is not kept any more.
pub fn drop_file(tx: &Transaction<'_>, release: i64) -> Result<(), StoreError> {
    tx.execute("UPDATE releases SET removed_at = ? WHERE seq = ?", params![now_ms(), release])?;
    Ok(())
}

/// What is rolled out, by its board.
pub fn rollouts(db: &Connection) -> Result<Vec<Rollout>, StoreError> {
    let sql = "SELECT board, release, at, by, targets, now, again, paused_at IS NOT NULL FROM rollouts ORDER BY board";
    let mut rows = db.prepare_cached(sql)?;
    let rows = rows.query_map([], |row| {
        let targets: Vec<u8> = row.get(4)?;
        let to = targets.chunks_exact(32).filter_map(|key| Some(PublicKey(key.try_into().ok()?)));
        Ok(Rollout {
            board: row.get(0)?,
            release: row.get(1)?,
            at: row.get(2)?,
            by: row.get(3)?,
            to: to.collect(),
            now: row.get(5)?,
            again: row.get(6)?,
            paused: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Rolls a release out, instead of what its board had.
pub fn roll_out(tx: &Transaction<'_>, new: &Rollout) -> Result<(), StoreError> {
    let to: Vec<u8> = new.to.iter().flat_map(|key| key.0).collect();
    tx.execute(
        "INSERT OR REPLACE INTO rollouts (board, release, at, by, targets, now, again) VALUES (?, ?, ?, ?, ?, ?, ?)",
        params![new.board, new.release, new.at, new.by, to, new.now, new.again],
    )?;
    Ok(())
}

/// Lets every roll-out rest, or go on; how many that changes.
pub fn rest(tx: &Transaction<'_>, paused: bool) -> Result<usize, StoreError> {
    let at = paused.then(now_ms);
    let sql = "UPDATE rollouts SET paused_at = ?1 WHERE (paused_at IS NULL) = (?1 IS NOT NULL)";
    Ok(tx.execute(sql, [at])?)
}

/// The roots that came with releases and were verified, in their order.
pub fn roots(db: &Connection) -> Result<Vec<RootFile>, StoreError> {
    let mut rows = db.prepare_cached("SELECT file FROM update_roots ORDER BY version")?;
    let files = rows.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
    let files: Vec<_> = files.collect::<Result<_, _>>()?;
    // One that somebody tampered with follows no other.
    Ok(files.iter().filter_map(|file| RootFile::from_bytes(file)).collect())
}

/// Keeps a root that was verified.
pub fn put_root(tx: &Transaction<'_>, file: &RootFile) -> Result<(), StoreError> {
    let mut buffer = [0; MAX_FILE_BYTES];
    let values = params![file.unverified().version(), file.to_bytes(&mut buffer), now_ms()];
    tx.execute("INSERT OR REPLACE INTO update_roots (version, file, at) VALUES (?, ?, ?)", values)?;
    Ok(())
}

fn release(row: &Row<'_>) -> rusqlite::Result<Release> {
    Ok(Release {
        seq: row.get(0)?,
        board: row.get(1)?,
        version: version(row, 2)?,
        floor: version(row, 3)?,
        size: row.get(4)?,
        image: row.get(5)?,
        file: row.get(6)?,
        root: row.get(7)?,
        expires: u64::try_from(row.get::<_, i64>(8)?).unwrap_or(0),
        added_at: row.get(9)?,
    })
}

/// A version in a column. One that somebody tampered with is an error, and nothing worse.
fn version(row: &Row<'_>, column: usize) -> rusqlite::Result<Version> {
    let text: String = row.get(column)?;
    let kind = rusqlite::types::Type::Text;
    Version::new(&text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(FromSqlError::InvalidType))
    })
}
