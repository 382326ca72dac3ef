//! What there is to decide by, read at one moment.

use std::collections::HashMap;

use gatepost_link::decision::PublicKey;
use rusqlite::Connection;

use super::{
    rollout::{Companion, Plan},
    store::{self, Firmware, Install, Release, Rollout},
};
use crate::{
    approval::{
        Approvals,
        availability::Unable,
        registry::{self, Registered},
    },
    store::StoreError,
};

/// What there is to decide by, at one moment.
pub(super) struct Facts {
    pub(super) releases: Vec<Release>,
    pub(super) rollouts: Vec<Rollout>,
    /// Those that are not revoked, each with what may be decided of it; nothing of one that may not decide.
    pub(super) devices: Vec<(Registered, Option<Companion>)>,
    pub(super) installs: HashMap<PublicKey, Vec<Install>>,
    pub(super) firmware: HashMap<PublicKey, Firmware>,
}

impl Facts {
    pub(super) fn read(db: &Connection, approvals: &Approvals) -> Result<Self, StoreError> {
        let (releases, rollouts) = (store::releases(db)?, store::rollouts(db)?);
        let (firmware, installs) = (store::firmware(db)?, store::installs(db)?);
        let companion = |device: &Registered| {
            let counts = device.sealed && (approvals.takes_programs() || !device.software);
            let firmware = firmware.get(&device.key).cloned();
            let board = firmware.as_ref().map(|firmware| &firmware.board);
            let rollout = rollouts.iter().find(|rollout| Some(&rollout.board) == board);
            let install = installs.get(&device.key).and_then(|of| {
                of.iter().find(|install| Some(install.release) == rollout.map(|rollout| rollout.release))
            });
            let unable = approvals.unable(device);
            counts.then(|| Companion {
                key: device.key,
                name: device.name.clone(),
                able: unable.is_none(),
                here: unable.is_none_or(|why| why == Unable::Firmware),
                decided_at: device.decided_at,
                install: install.cloned(),
                firmware,
            })
        };
        let devices = registry::all(db)?.into_iter().filter(|device| device.revoked_at.is_none());
        let devices = devices.map(|device| (device.clone(), companion(&device))).collect();
        Ok(Self { releases, rollouts, devices, installs, firmware })
    }

    /// What is rolled out.
    pub(super) fn plans(&self) -> Vec<Plan<'_>> {
        let rollouts = self.rollouts.iter();
        let plans = rollouts.filter_map(|rollout| {
            let release = self.releases.iter().find(|release| release.seq == rollout.release)?;
            Some(Plan { rollout, release })
        });
        plans.collect()
    }
}
