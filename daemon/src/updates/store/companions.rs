//! What each companion runs, and how far it is with a release.

use std::collections::HashMap;

use gatepost_link::{
    decision::PublicKey,
    frame::State,
    update::{ImageId, Version},
};
use rusqlite::{
    Connection, OptionalExtension as _, Row, Transaction, params,
    types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef},
};

use super::version;
use crate::store::StoreError;

/// What a companion runs, as it said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firmware {
    /// Its board.
    pub board: String,
    /// Its version.
    pub version: Version,
    /// It takes nothing below this version.
    pub floor: Version,
    /// The version of its root; 0 if it takes no update.
    pub root: u32,
    /// Where it stands with the last change.
    pub state: State,
    /// Since when it has run this without a restart that the hub saw, in milliseconds since 1970.
    pub since: i64,
}

/// How far a companion is with a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// The release's row.
    pub release: i64,
    /// How far.
    pub stage: Stage,
    /// Why it ended so.
    pub why: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
}

/// How far a companion is with a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It was offered.
    Offered,
    /// It is being fetched.
    Taking,
    /// A person is asked on its screen.
    Asking,
    /// A person said yes: it restarts, and has not confirmed itself yet.
    Installing,
    /// It runs, and has confirmed itself.
    Confirmed,
    /// A person said no.
    Declined,
    /// It was started and did not confirm itself.
    WentBack,
    /// The companion did not take it.
    Refused,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Offered,
        Self::Taking,
        Self::Asking,
        Self::Installing,
        Self::Confirmed,
        Self::Declined,
        Self::WentBack,
        Self::Refused,
    ];

    /// The word that is stored and shown. It never changes.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Taking => "taking",
            Self::Asking => "asking",
            Self::Installing => "installing",
            Self::Confirmed => "confirmed",
            Self::Declined => "declined",
            Self::WentBack => "went_back",
            Self::Refused => "refused",
        }
    }

    /// Whether the companion is at it, and still runs what it ran.
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Offered | Self::Taking | Self::Asking)
    }
}

impl FromSql for Stage {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|stage| stage.word() == word).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Stage {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

/// What every companion runs that has said so.
pub fn firmware(db: &Connection) -> Result<HashMap<PublicKey, Firmware>, StoreError> {
    let sql = "SELECT board, version, floor, root, state, image, since, device FROM firmware";
    let mut rows = db.prepare_cached(sql)?;
    let rows = rows.query_map([], |row| Ok((PublicKey(row.get(7)?), read_firmware(row)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What this companion runs, if it has said so.
pub fn firmware_of(db: &Connection, device: PublicKey) -> Result<Option<Firmware>, StoreError> {
    let sql = "SELECT board, version, floor, root, state, image, since FROM firmware WHERE device = ?";
    Ok(db.prepare_cached(sql)?.query_row([device.0], read_firmware).optional()?)
}

/// Writes down what a companion runs.
pub fn put_firmware(tx: &Transaction<'_>, device: PublicKey, new: &Firmware) -> Result<(), StoreError> {
    let (state, image) = match new.state {
        State::Settled => ("settled", None),
        State::Trial(image) => ("trial", Some(image)),
        State::WentBack(image) => ("went_back", Some(image)),
    };
    let sql = "INSERT OR REPLACE INTO firmware (device, board, version, floor, root, state, image, since)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    let (version, floor) = (new.version.to_string(), new.floor.to_string());
    tx.execute(sql, params![device.0, new.board, version, floor, new.root, state, image, new.since])?;
    Ok(())
}

/// How far every companion is with every release that it was offered.
pub fn installs(db: &Connection) -> Result<HashMap<PublicKey, Vec<Install>>, StoreError> {
    let mut rows = db.prepare_cached("SELECT release, stage, why, since, device FROM installs")?;
    let mut all: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows.query_map([], |row| Ok((PublicKey(row.get(4)?), read_install(row)?)))? {
        let (device, install) = row?;
        all.entry(device).or_default().push(install);
    }
    Ok(all)
}

/// How far this companion is with a release, if it was offered that.
pub fn install_of(db: &Connection, device: PublicKey, release: i64) -> Result<Option<Install>, StoreError> {
    let sql = "SELECT release, stage, why, since FROM installs WHERE device = ? AND release = ?";
    Ok(db.prepare_cached(sql)?.query_row(params![device.0, release], read_install).optional()?)
}

/// Writes down how far a companion is with a release.
pub fn put_install(tx: &Transaction<'_>, device: PublicKey, new: &Install) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO installs (device, release, stage, why, since) VALUES (?, ?, ?, ?, ?)";
    tx.execute(sql, params![device.0, new.release, new.stage, new.why, new.since])?;
    Ok(())
}

/// Companions by board, version, and how far they are with what is rolled out there: nothing, if they were not offered it.
pub fn totals(db: &Connection) -> Result<Vec<(String, String, String, i64)>, StoreError> {
    let sql = "SELECT firmware.board, firmware.version, coalesce(stage, ''), count(*) FROM firmware
               JOIN devices ON key = firmware.device AND revoked_at IS NULL
               LEFT JOIN rollouts ON rollouts.board = firmware.board
               LEFT JOIN installs ON installs.device = firmware.device AND installs.release = rollouts.release
               GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    let mut rows = db.prepare_cached(sql)?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read_firmware(row: &Row<'_>) -> rusqlite::Result<Firmware> {
    let (state, image): (String, Option<ImageId>) = (row.get(4)?, row.get(5)?);
    let state = match (state.as_str(), image) {
        ("trial", Some(image)) => State::Trial(image),
        ("went_back", Some(image)) => State::WentBack(image),
        _ => State::Settled,
    };
    Ok(Firmware {
        board: row.get(0)?,
        version: version(row, 1)?,
        floor: version(row, 2)?,
        root: row.get(3)?,
        state,
        since: row.get(6)?,
    })
}

fn read_install(row: &Row<'_>) -> rusqlite::Result<Install> {
    Ok(Install { release: row.get(0)?, stage: row.get(1)?, why: row.get(2)?, since: row.get(3)? })
}
