//! What people do: add a release, roll one out, let all of it rest.

use gatepost_link::{decision::PublicKey, update::Version};
use serde_json::json;

use super::{
    Updates,
    facts::Facts,
    loaded::Loading,
    releases::{AddError, MAX_RELEASES},
    store::{self, Release, Rollout},
};
use crate::{
    audit::{self, Entry, Event},
    random::to_hex,
    store::{StoreError, now_ms},
};

/// Which release goes to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The release's version.
    pub version: Version,
    /// For this board alone; for all that have a release of this version otherwise.
    pub board: Option<String>,
    /// To these companions alone, by name or key, in this order.
    pub to: Vec<String>,
    /// Without waiting for the hours, nor for the first companion to prove it.
    pub now: bool,
    /// To companions on which it went back as well.
    pub again: bool,
}

/// A release that is rolled out now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The release.
    pub release: Release,
    /// Whether what its board had was paused: that is over.
    pub ends_pause: bool,
}

/// Why nothing is rolled out, or nothing changes.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// There is no such release.
    #[error("there is no release {0}: see gatepost ota list, or add it first (gatepost ota add FILE)")]
    NoRelease(String),
    /// No companion takes it any more.
    #[error("the release {0} expired at {1}: companions do not take it any more")]
    Expired(Version, String),
    /// There is no such companion.
    #[error("there is no companion {0:?} (see: gatepost companion list)")]
    NoCompanion(String),
    /// It has another board.
    #[error("{0} is on the board {1}, and the release is for {2}")]
    OtherBoard(String, String, String),
    /// Nothing is rolled out, or all of it is as wanted.
    #[error("{0}")]
    Nothing(&'static str),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for OrderError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Updates {
    /// Adds a release: verifies its file, and keeps it. Of more than [`MAX_RELEASES`], the oldest that is not rolled out goes. One that
    /// was added before is added again, which mends a file that was lost. Roots in it are kept.
    ///
    /// # Errors
    /// It is not taken.
    pub async fn add(&self, file: Vec<u8>, by: &str) -> Result<Release, AddError> {
        let _one = self.0.adding.lock().await;
        let updates = self.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let known = updates.roots()?;
            let (release, roots) = updates.0.releases.verified(&file, known.as_ref(), now_ms())?;
            updates.0.releases.write(&release, &file)?;
            Ok::<_, AddError>((release, roots))
        });
        let checked = checked.await.map_err(|_| AddError::from(StoreError::Closed)).flatten();
        let (release, roots) = match checked {
            Ok(checked) => checked,
            Err(error) => {
                // What a full disk has of it helps nobody.
                self.tidy().await?;
                return Err(error);
            }
        };
        let by = by.to_owned();
        let has_roots = !roots.is_empty();
        let put = self.store().write(move |tx| {
            if let Some(known) = store::find(tx, &release.board, release.version)?
                && known.image != release.image
            {
                return Err(AddError::Taken(release.version.to_string(), release.board));
            }
            let release = Release { seq: store::put(tx, &release)?, ..release };
            for root in &roots {
                store::put_root(tx, root)?;
            }
            let (kept, rolled_out) = (store::releases(tx)?, store::rollouts(tx)?);
            if kept.len() > MAX_RELEASES {
                let goes = |one: &&Release| {
                    one.seq != release.seq && rolled_out.iter().all(|rollout| rollout.release != one.seq)
                };
                let oldest = kept.iter().filter(goes).min_by_key(|one| (one.added_at, one.seq));
                store::drop_file(tx, oldest.ok_or(AddError::Full)?.seq)?;
            }
            let detail = json!({
                "board": release.board, "version": release.version.to_string(), "image": to_hex(&release.image),
                "root": release.root, "expires": super::utc(release.expires),
            });
            audit::append(tx, &Entry { actor: &by, event: Event::OtaAdded, message: None, detail })?;
            Ok(release)
        });
        let put = put.await;
        self.tidy().await?;
        let release = put?;
        // What an older root signed is not offered any more.
        self.packages().retain(|seq, _| !has_roots && *seq != release.seq);
        self.is_changed();
        Ok(release)
    }

    /// The image of a board's newest release, verified once more; nothing if there is no release for it.
    ///
    /// # Errors
    /// The database's, or why the file is not fit to be used.
    pub async fn image(&self, board: String) -> Result<Option<Result<Vec<u8>, String>>, StoreError> {
        let kept = self.store().read(store::releases).await?;
        // The newest of a board comes first.
        let Some(release) = kept.into_iter().find(|release| release.board == board) else { return Ok(None) };
        let updates = self.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let known = updates.roots()?;
            let package = updates.0.releases.load(&release, known.as_ref());
            Ok(Some(package.map(|package| package.image().to_vec())))
        });
        loaded.await.map_err(|_| StoreError::Closed)?
    }

    /// Removes files that no release needs: of those that went, or that a process left which was killed.
    pub(crate) async fn tidy(&self) -> Result<(), StoreError> {
        let kept = self.store().read(store::releases).await?;
        let updates = self.clone();
        let tidied = tokio::task::spawn_blocking(move || updates.0.releases.keep(&kept));
        tidied.await.map_err(|_| StoreError::Closed)
    }

    /// Rolls a release out, in the place of what its board had; what is rolled out now.
    ///
    /// # Errors
    /// Nothing is.
    pub async fn roll_out(&self, order: Order, by: &str) -> Result<Vec<Begun>, OrderError> {
        let (by, approvals) = (by.to_owned(), self.0.approvals.clone());
        let rolled_out = self.store().write(move |tx| {
            let facts = Facts::read(tx, &approvals)?;
            let wanted = |release: &&Release| {
                release.version == order.version
                    && order.board.as_ref().is_none_or(|board| *board == release.board)
            };
            let releases: Vec<Release> = facts.releases.iter().filter(wanted).cloned().collect();
            if releases.is_empty() {
                let board = order.board.as_ref().map_or_else(String::new, |board| format!(" for {board}"));
                return Err(OrderError::NoRelease(format!("{}{board}", order.version)));
            }
            for release in &releases {
                if u64::try_from(now_ms() / 1000).unwrap_or(0) >= release.expires {
                    return Err(OrderError::Expired(release.version, super::utc(release.expires)));
                }
            }
            let to = facts.named(&order.to, &releases)?;
            let mut begun = vec![];
            for release in releases {
                let ends_pause =
                    facts.rollouts.iter().any(|rollout| rollout.board == release.board && rollout.paused);
                let rollout = Rollout {
                    board: release.board.clone(),
                    release: release.seq,
                    at: now_ms(),
                    by: by.clone(),
                    to: to.clone(),
                    now: order.now,
                    again: order.again,
                    paused: false,
                };
                store::roll_out(tx, &rollout)?;
                let detail = json!({
                    "board": release.board, "version": release.version.to_string(), "to": order.to,
                    "now": order.now, "again": order.again, "ends_pause": ends_pause,
                });
                audit::append(tx, &Entry { actor: &by, event: Event::OtaRolledOut, message: None, detail })?;
                begun.push(Begun { release, ends_pause });
            }
            Ok(begun)
        });
        let rolled_out = rolled_out.await?;
        // A file that could not be read may be there again.
        self.packages().retain(|_, loading| !matches!(loading, Loading::Broken(_)));
        self.is_changed();
        Ok(rolled_out)
    }

    /// Lets every roll-out rest, or go on; how many that are.
    ///
    /// # Errors
    /// There is none that this would change.
    pub async fn rest(&self, paused: bool, by: &str) -> Result<usize, OrderError> {
        let by = by.to_owned();
        let rested = self.store().write(move |tx| {
            let count = store::rest(tx, paused)?;
            if count == 0 {
                return Err(OrderError::Nothing(match paused {
                    true => "nothing is rolled out that is not paused",
                    false => "no roll-out is paused",
                }));
            }
            let event = if paused { Event::OtaPaused } else { Event::OtaResumed };
            let detail = json!({"roll_outs": count});
            audit::append(tx, &Entry { actor: &by, event, message: None, detail })?;
            Ok(count)
        });
        let count = rested.await?;
        self.is_changed();
        Ok(count)
    }
}

impl Facts {
    /// The companions of these names or keys, which must have one of the boards, as far as they have said what they have.
    fn named(&self, names: &[String], releases: &[Release]) -> Result<Vec<PublicKey>, OrderError> {
        let named = |name: &String| {
            let found = self
                .devices
                .iter()
                .map(|(device, _)| device)
                .find(|device| device.name == *name || device.short() == name.to_lowercase())
                .ok_or_else(|| OrderError::NoCompanion(name.chars().take(60).collect()))?;
            let board = self.firmware.get(&found.key).map(|firmware| &firmware.board);
            match board.filter(|board| releases.iter().all(|release| release.board != **board)) {
                Some(board) => {
                    let of = releases[0].board.clone();
                    Err(OrderError::OtherBoard(found.name.clone(), board.clone(), of))
                }
                None => Ok(found.key),
            }
        };
        names.iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests;
