//! Everything that a platform can send, fed to a hub that runs: it is counted with its reason or told as far as it goes, and the
//! message behind it comes.

use anyhow::Result;
use gatepost_tests::hub::{SpawnedHub, database};

/// What an account of this channel has left out: why, what, and how often.
pub(super) fn dropped(hub: &SpawnedHub, channel: &str) -> Result<Vec<(String, String, u32)>> {
    let db = database::open(&hub.data_dir())?;
    let mut rows =
        db.prepare("SELECT reason, what, count FROM drops WHERE channel = ? ORDER BY reason, what")?;
    let rows = rows.query_map([channel], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
