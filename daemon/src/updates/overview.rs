//! What people see of releases and roll-outs, and of each companion's firmware.

use std::collections::HashMap;

use gatepost_link::{decision::PublicKey, frame::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    Updates,
    facts::Facts,
    loaded::Loading,
    rollout::{Plan, Turn},
    store::{Firmware, Release},
    words::{at_it, changing_text, ended_text, wait_text},
};
use crate::{
    clock::Time,
    store::{StoreError, now_ms},
};

/// A release that expires within this is told of.
const SOON_S: u64 = 30 * 24 * 3_600;

/// Releases, what is rolled out, and how far the companions are.
#[derive(Debug, Serialize, ToSchema)]
pub struct Overview {
    /// The version of the root whose releases this hub takes, the latest that came with one; nothing if it has none and takes no release.
    pub root: Option<u32>,
    /// The releases that are kept, newest first by board.
    pub releases: Vec<ReleaseView>,
    /// What is rolled out, one for each board.
    pub roll_outs: Vec<RollOutView>,
    /// The companions that may decide, and those that may not now.
    pub companions: Vec<CompanionView>,
    /// What somebody should look at.
    pub warnings: Vec<String>,
}

/// A release.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleaseView {
    /// The board that it is for.
    pub board: String,
    /// Its version.
    pub version: String,
    /// What runs it takes nothing below this version afterwards.
    pub floor: String,
    /// Bytes of its image.
    pub size: u32,
    /// SHA-256 of its image.
    pub image: String,
    /// The version of the root whose keys signed it.
    pub root: u32,
    #[schema(value_type = String)]
    pub added_at: Time,
    /// From then on no companion takes it.
    #[schema(value_type = String)]
    pub expires_at: Time,
    /// Whether it is rolled out.
    pub rolled_out: bool,
    /// Whether no later one is kept for its board.
    pub newest: bool,
    /// Why it cannot be offered, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A roll-out.
#[derive(Debug, Serialize, ToSchema)]
pub struct RollOutView {
    /// Whose companions it is for.
    pub board: String,
    /// What they get.
    pub version: String,
    #[schema(value_type = String)]
    pub at: Time,
    /// Who began it.
    pub by: String,
    /// To these alone, in this order; to all if it is empty.
    pub to: Vec<String>,
    /// Whether it waits neither for hours nor for the first companion to prove it.
    pub now: bool,
    /// Whether it goes to companions again on which it went back.
    pub again: bool,
    /// Whether it rests.
    pub paused: bool,
    /// How many companions run it, confirmed.
    pub confirmed: usize,
    /// How many companions are on the board.
    pub companions: usize,
}

/// A companion's firmware.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompanionView {
    /// Its name.
    pub name: String,
    /// What it runs, as it said last; nothing if its firmware is too old to say so.
    pub firmware: Option<FirmwareView>,
    /// How far it is with what is rolled out to its board.
    pub update: Option<UpdateView>,
}

/// What a companion runs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FirmwareView {
    /// Its board.
    pub board: String,
    /// Its version.
    pub version: String,
    /// It takes nothing below this version.
    pub floor: String,
    /// The version of its root; 0 if it takes no update.
    pub root: u32,
    /// `settled`, `trial` or `went_back`.
    pub state: &'static str,
}

/// How far a companion is with a release.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UpdateView {
    /// The release's version.
    pub version: String,
    /// `up_to_date`, `waits`, `offered`, `taking`, `asking`, `installing`, `declined`, `went_back`, `refused` or `not_meant`.
    pub state: &'static str,
    /// The same in words, with what it waits for.
    pub text: String,
    /// Since when it is so, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Time>,
    /// Bytes of the image that it has, while it is taking it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<u32>,
    /// Bytes of the image, while it is taking it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
}

impl Updates {
    /// All of it, as it is now.
    ///
    /// # Errors
    /// The database's.
    pub async fn overview(&self) -> Result<Overview, StoreError> {
        let facts = self.facts().await?;
        let views = self.views(&facts);
        let newest = facts.newest();
        let releases: Vec<ReleaseView> = facts
            .releases
            .iter()
            .map(|release| ReleaseView {
                board: release.board.clone(),
                version: release.version.to_string(),
                floor: release.floor.to_string(),
                size: release.size,
                image: crate::random::to_hex(&release.image),
                root: release.root,
                added_at: Time(release.added_at),
                expires_at: Time(in_ms(release.expires)),
                rolled_out: facts.rollouts.iter().any(|rollout| rollout.release == release.seq),
                newest: newest.contains(&release.seq),
                problem: self.problem(release),
            })
            .collect();
        let roll_outs = facts.plans().iter().map(|plan| facts.roll_out(plan)).collect();
        let roots = self.roots()?;
        let warnings = facts.warnings(&releases, roots.is_some());
        let companions = facts.devices.iter().filter_map(|(device, _)| views.get(&device.key).cloned());
        let root = roots.map(|roots| roots.latest().version());
        Ok(Overview { root, releases, roll_outs, companions: companions.collect(), warnings })
    }

    /// What is to be said of each companion that is not revoked.
    ///
    /// # Errors
    /// The database's.
    pub async fn companions(&self) -> Result<HashMap<PublicKey, CompanionView>, StoreError> {
        Ok(self.views(&self.facts().await?))
    }

    fn views(&self, facts: &Facts) -> HashMap<PublicKey, CompanionView> {
        let mut turns = self.turns(facts);
        let view = |(device, _): &(crate::approval::registry::Registered, _)| {
            let firmware = facts.firmware.get(&device.key).map(FirmwareView::from);
            let update = match turns.remove(&device.key) {
                Some((turn, Some(plan))) => self.update(facts, device.key, &turn, plan),
                _ => None,
            };
            (device.key, CompanionView { name: device.name.clone(), firmware, update })
        };
        facts.devices.iter().map(view).collect()
    }

    fn update(&self, facts: &Facts, key: PublicKey, turn: &Turn, plan: Plan<'_>) -> Option<UpdateView> {
        let installs = facts.installs.get(&key);
        let install = installs.and_then(|of| of.iter().find(|install| install.release == plan.release.seq));
        let stage = install.map(|install| install.stage);
        let since = install.map(|install| install.since);
        let why = install.and_then(|install| install.why.clone());
        let (state, text, since) = match turn {
            Turn::Nothing => return None,
            Turn::Has => (
                "up_to_date",
                why.map_or_else(|| "runs it".into(), |why| format!("runs a later one: {why}")),
                None,
            ),
            Turn::Changing => ("installing", changing_text(facts.silent_since(key)), since),
            Turn::Offer => at_it(stage, since),
            Turn::Ended(ended) => {
                let (state, text) = ended_text(*ended);
                (state, why.map_or_else(|| text.into(), |why| format!("{text}: {why}")), since)
            }
            Turn::Waits(wait) => ("waits", wait_text(wait), None),
        };
        let taken = self.taken().get(&key).copied().filter(|_| state == "taking");
        let text = match taken {
            Some((done, of)) => format!("{text}, {} of {} KB", done / 1024, of.div_ceil(1024)),
            None => text,
        };
        let (done, of) = taken.unzip();
        let version = plan.release.version.to_string();
        Some(UpdateView { version, state, text, since: since.map(Time), done, of })
    }

    /// Why a release cannot be offered.
    fn problem(&self, release: &Release) -> Option<String> {
        if !self.0.releases.has(release) {
            return Some("its file is gone: add it again (gatepost ota add FILE)".into());
        }
        match self.packages().get(&release.seq) {
            Some(Loading::Broken(why)) => Some(format!("{why}; add it again (gatepost ota add FILE)")),
            _ => None,
        }
    }
}

impl Facts {
    /// The newest release of each board.
    fn newest(&self) -> Vec<i64> {
        let mut newest: Vec<&Release> = Vec::new();
        for release in &self.releases {
            if newest.iter().all(|one| one.board != release.board) {
                newest.push(release);
            }
        }
        newest.into_iter().map(|release| release.seq).collect()
    }

    fn silent_since(&self, key: PublicKey) -> Option<i64> {
        let companions = self.devices.iter().filter_map(|(_, companion)| companion.as_ref());
        companions.filter(|companion| companion.key == key).find_map(|one| one.silent_since(now_ms()))
    }

    fn roll_out(&self, plan: &Plan<'_>) -> RollOutView {
        let Plan { rollout, release } = plan;
        let name = |key: &PublicKey| {
            let found = self.devices.iter().find(|(device, _)| device.key == *key);
            found.map(|(device, _)| device.name.clone())
        };
        let on_board: Vec<&Firmware> = self
            .devices
            .iter()
            .filter_map(|(device, _)| self.firmware.get(&device.key))
            .filter(|firmware| firmware.board == rollout.board)
            .collect();
        let runs =
            |firmware: &&&Firmware| firmware.version == release.version && firmware.state == State::Settled;
        RollOutView {
            board: rollout.board.clone(),
            version: release.version.to_string(),
            at: Time(rollout.at),
            by: rollout.by.clone(),
            to: rollout.to.iter().filter_map(name).collect(),
            now: rollout.now,
            again: rollout.again,
            paused: rollout.paused,
            confirmed: on_board.iter().filter(runs).count(),
            companions: on_board.len(),
        }
    }

    /// What somebody should look at: above all that no newer release has come for long.
    fn warnings(&self, releases: &[ReleaseView], has_root: bool) -> Vec<String> {
        let mut warnings = vec![];
        if !has_root {
            warnings.push(
                "this hub has no root, so it takes no release: set [updates] root, and restart it".into(),
            );
        }
        let now = u64::try_from(now_ms() / 1000).unwrap_or(0);
        let newest = self.newest();
        for release in self.releases.iter().filter(|release| newest.contains(&release.seq)) {
            let (board, version, at) = (&release.board, release.version, super::utc(release.expires));
            if now >= release.expires {
                warnings.push(format!("the newest release for {board} is {version}, and it expired at {at}: look for a newer one"));
            } else if now + SOON_S >= release.expires {
                warnings.push(format!("the newest release for {board} is {version}, and it expires at {at}: look for a newer one"));
            }
        }
        for (device, _) in &self.devices {
            let Some(Firmware { version, floor, .. }) = self.firmware.get(&device.key) else { continue };
            if floor > version {
                let name = &device.name;
                warnings.push(format!(
                    "{name} says that it runs {version}, and takes nothing below {floor}: its image was signed as a later version than it is. \
                     Have one signed that says {floor} or later, and roll it out there"
                ));
            }
        }
        let broken = releases.iter().filter(|release| release.rolled_out);
        warnings.extend(broken.filter_map(|release| {
            let problem = release.problem.as_ref()?;
            Some(format!("{} for {} cannot be offered: {problem}", release.version, release.board))
        }));
        warnings
    }
}

impl From<&Firmware> for FirmwareView {
    fn from(firmware: &Firmware) -> Self {
        Self {
            board: firmware.board.clone(),
            version: firmware.version.to_string(),
            floor: firmware.floor.to_string(),
            root: firmware.root,
            state: match firmware.state {
                State::Settled => "settled",
                State::Trial(_) => "trial",
                State::WentBack(_) => "went_back",
            },
        }
    }
}

fn in_ms(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000)
}
