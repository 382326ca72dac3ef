//! New firmware for companions: kept, rolled out, and served to them over their own sessions.
//!
//! The hub can make no release: it verifies one by its root before it is stored ([`releases`]), and a companion verifies it by its own.
//! What the hub decides is who gets it, and when ([`rollout`]); that a person presses for it at the companion, the companion sees to.
//! Another hub's companions are that hub's.
//!
//! - [`roots`]: who may sign them; [`releases`]: their files; [`package`]: one in memory, and `loaded`: which of them are;
//! - [`rollout`]: who gets one, and when: pure, read it first;
//! - [`progress`]: what a companion's words change: pure; [`serve`]: what its session is sent next: pure;
//! - `facts`: what is decided by; [`operate`]: what people do; [`overview`]: what they see;
//! - [`store`]: the rows;
//! - [`hub`]: the hub's own program, which has nothing to do with the others.
//!
//! Approval and delivery know nothing of this module: it asks who can be asked, and nobody asks it.

mod facts;
pub mod hub;
mod loaded;
pub mod operate;
pub mod overview;
pub mod package;
pub mod progress;
pub mod releases;
pub mod rollout;
pub mod roots;
pub mod serve;
pub mod store;
#[cfg(test)]
pub(crate) mod testing;
mod words;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use gatepost_link::{
    decision::PublicKey,
    frame::{Progress, Running, State},
};
use rusqlite::{OptionalExtension as _, Transaction};
use serde_json::json;
use tokio::sync::{Notify, watch};

use self::{
    facts::Facts,
    loaded::{InMemory, Loading},
    progress::{Change, Nonsense},
    releases::Releases,
    rollout::{Companion, Plan, Policy, Turn},
    roots::Roots,
    serve::{Gets, Offer},
    store::{Firmware, Install, Release, Stage},
};
use crate::{
    approval::Approvals,
    audit::{self, Entry, Event},
    clock,
    random::to_hex,
    store::{Store, StoreError, now_ms},
};

/// A handle on releases and their roll-outs. Clones share it.
#[derive(Clone)]
pub struct Updates(Arc<Shared>);

struct Shared {
    releases: Releases,
    policy: Policy,
    approvals: Approvals,
    /// How many must approve a message, by the configuration that holds now.
    quorum: Box<dyn Fn() -> u32 + Send + Sync>,
    /// Who gets what may be different now.
    changed: Notify,
    /// What there is to see of it may be.
    seen: watch::Sender<()>,
    /// Releases in memory, by their rows.
    packages: Mutex<HashMap<i64, Loading>>,
    /// How many bytes of the image a companion has, and of how many.
    taken: Mutex<HashMap<PublicKey, (u32, u32)>>,
    /// One is added at a time.
    adding: tokio::sync::Mutex<()>,
}

/// Why a companion's word was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Unheard {
    /// It cannot be.
    #[error(transparent)]
    Nonsense(#[from] Nonsense),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Updates {
    /// Releases in these files, rolled out by this policy to the companions that these approvals are about.
    pub fn new(
        releases: Releases,
        policy: Policy,
        approvals: Approvals,
        quorum: impl Fn() -> u32 + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            releases,
            policy,
            approvals,
            quorum: Box::new(quorum),
            changed: Notify::new(),
            seen: watch::Sender::default(),
            packages: Mutex::default(),
            taken: Mutex::default(),
            adding: tokio::sync::Mutex::default(),
        }))
    }

    fn store(&self) -> &Store {
        self.0.approvals.outbox().store()
    }

    /// Whose releases are taken now; [`None`] if the hub takes none.
    fn roots(&self) -> Result<Option<Roots>, StoreError> {
        let seen = self.store().look(store::roots)?;
        Ok(self.0.releases.roots(seen))
    }

    /// Tells whoever looks at [`overview`] that it may be another, but for how much of an image a companion has.
    pub(crate) fn sights(&self) -> watch::Receiver<()> {
        self.0.seen.subscribe()
    }

    /// Who gets what may be different now.
    fn is_changed(&self) {
        self.0.changed.notify_one();
        self.0.seen.send_replace(());
    }

    /// Waits until who gets what may be different.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// What each companion gets now; who is not among them gets nothing.
    ///
    /// # Errors
    /// The database's.
    pub async fn offers(&self) -> Result<HashMap<PublicKey, Gets>, StoreError> {
        let rolled_out = self.store().read(|db| Ok::<_, StoreError>(!store::rollouts(db)?.is_empty()));
        if !rolled_out.await? {
            return Ok(HashMap::new());
        }
        let facts = self.facts().await?;
        let turns = self.turns(&facts);
        let offers = turns.into_iter().filter(|(_, (turn, _))| *turn == Turn::Offer);
        let offers = offers.filter_map(|(key, (_, plan))| {
            let plan = plan?;
            let gets = match self.package(plan.release)? {
                InMemory::Soon => Gets::Soon(plan.release.seq),
                InMemory::Ready(package) => Gets::This(Offer { package, again: plan.rollout.again }),
            };
            Some((key, gets))
        });
        Ok(offers.collect())
    }

    async fn facts(&self) -> Result<Facts, StoreError> {
        let approvals = self.0.approvals.clone();
        self.store().read(move |db| Facts::read(db, &approvals)).await
    }

    /// Each companion's turn, and the roll-out that it is about.
    fn turns<'f>(&self, facts: &'f Facts) -> HashMap<PublicKey, (Turn, Option<Plan<'f>>)> {
        let plans = facts.plans();
        let companions: Vec<Companion> =
            facts.devices.iter().filter_map(|(_, companion)| companion.clone()).collect();
        let turns = rollout::judge(&plans, &companions, &self.0.policy, (self.0.quorum)(), now_ms());
        let with_plans = companions.into_iter().zip(turns).map(|(companion, turn)| {
            let board = companion.firmware.map(|firmware| firmware.board);
            let plan = plans.iter().find(|plan| Some(&plan.rollout.board) == board.as_ref()).copied();
            (companion.key, (turn, plan))
        });
        with_plans.collect()
    }

    /// A companion says what it runs. `restarted`: whether the hub saw it go and come back since it said so last.
    ///
    /// # Errors
    /// It was not taken.
    pub async fn running(&self, device: PublicKey, running: Running, restarted: bool) -> Result<(), Unheard> {
        let written = self
            .store()
            .write(move |tx| {
                let now = now_ms();
                let before = store::firmware_of(tx, device)?;
                let after = progress::firmware(before.as_ref(), &running, restarted, now)?;
                if before.as_ref() != Some(&after) {
                    store::put_firmware(tx, device, &after)?;
                }
                for release in concerned(tx, device, before.as_ref(), &after)? {
                    let install = store::install_of(tx, device, release.seq)?;
                    let change = progress::ran(before.as_ref(), &after, &release, install.as_ref(), now);
                    if let Some(change) = change {
                        write(tx, device, &release, change)?;
                    }
                }
                Ok(())
            })
            .await;
        self.0.seen.send_replace(());
        written
    }

    /// A companion says how far it is with a release that it is offered.
    ///
    /// # Errors
    /// It was not taken.
    pub async fn reported(&self, device: PublicKey, release: i64, progress: Progress) -> Result<(), Unheard> {
        // It says so every few seconds, and nothing is written down of it.
        if let Progress::Taking { done, of } = progress
            && let Some(taken) = self.taken().get_mut(&device).filter(|taken| taken.1 == of && done <= of)
        {
            taken.0 = done;
            return Ok(());
        }
        let known = self.store().look(|db| {
            let found = store::kept(db, release)?;
            Ok::<_, StoreError>(found.zip(store::install_of(db, device, release)?))
        })?;
        let Some((release, install)) = known else { return Err(Nonsense.into()) };
        let change = progress::reported(&install, &release, progress, now_ms())?;
        match progress {
            Progress::Taking { done, of } => self.taken().insert(device, (done, of)),
            _ => self.taken().remove(&device),
        };
        let Some(change) = change else { return Ok(()) };
        self.store().write(move |tx| write(tx, device, &release, change)).await?;
        self.0.seen.send_replace(());
        Ok(())
    }

    /// A companion was offered a release.
    ///
    /// # Errors
    /// The database's.
    pub async fn offered(&self, device: PublicKey, release: i64) -> Result<(), StoreError> {
        self.begin(device, release, Stage::Offered, None, Event::OtaOffered).await
    }

    /// A companion cannot come to the root by which a release is signed.
    ///
    /// # Errors
    /// The database's.
    pub async fn stuck(&self, device: PublicKey, release: i64) -> Result<(), StoreError> {
        let why = "its root does not lead to the one by which the release is signed".to_owned();
        self.begin(device, release, Stage::Refused, Some(why), Event::OtaRefused).await
    }

    async fn begin(
        &self,
        device: PublicKey,
        release: i64,
        stage: Stage,
        why: Option<String>,
        event: Event,
    ) -> Result<(), StoreError> {
        self.taken().remove(&device);
        let written = self
            .store()
            .write(move |tx| {
                let Some(row) = store::kept(tx, release)? else {
                    return Ok(());
                };
                let before = store::install_of(tx, device, release)?;
                if stage == Stage::Offered && before.is_some_and(|before| before.stage.is_under_way()) {
                    return Ok(());
                }
                let install = Install { release, stage, why, since: now_ms() };
                write(tx, device, &row, Change { install, event: Some(event) })
            })
            .await;
        self.0.seen.send_replace(());
        written
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<PublicKey, (u32, u32)>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The releases that it may mean something for, that a companion runs this: the one that it names, or that has its version, the one that
/// it had on trial, the one with which it said that it restarts, and what is rolled out to its board, which it may not run any more.
fn concerned(
    tx: &Transaction<'_>,
    device: PublicKey,
    before: Option<&Firmware>,
    after: &Firmware,
) -> Result<Vec<Release>, StoreError> {
    let mut found = match progress::image(after.state) {
        Some(image) => vec![store::named(tx, &after.board, image)?],
        None => vec![store::find(tx, &after.board, after.version)?],
    };
    if let Some(State::Trial(image)) = before.map(|before| before.state) {
        found.push(store::named(tx, &after.board, image)?);
    }
    // One that was cut off before it changed anything runs the old version, and names nothing.
    found.push(installing(tx, device)?);
    if let Some(rollout) = store::rollouts(tx)?.into_iter().find(|rollout| rollout.board == after.board) {
        found.push(store::kept(tx, rollout.release)?);
    }
    let mut releases: Vec<Release> = found.into_iter().flatten().collect();
    releases.sort_by_key(|release| release.seq);
    releases.dedup_by_key(|release| release.seq);
    Ok(releases)
}

/// The release with which a companion said that it restarts.
fn installing(tx: &Transaction<'_>, device: PublicKey) -> Result<Option<Release>, StoreError> {
    let installs = store::installs(tx)?.remove(&device).unwrap_or_default();
    let found = installs.into_iter().find(|install| install.stage == Stage::Installing);
    found.map_or(Ok(None), |install| store::kept(tx, install.release))
}

/// Writes down what has changed with a release on a companion, and that it has.
fn write(
    tx: &Transaction<'_>,
    device: PublicKey,
    release: &Release,
    change: Change,
) -> Result<(), StoreError> {
    let Change { install, event } = change;
    store::put_install(tx, device, &install)?;
    let Some(event) = event else { return Ok(()) };
    let name = tx.query_row("SELECT name FROM devices WHERE key = ?", [device.0], |row| row.get(0));
    let name: String = name.optional()?.unwrap_or_default();
    let mut detail = json!({
        "device": to_hex(&device.0), "name": name, "board": release.board, "version": release.version.to_string(),
    });
    if let Some(why) = &install.why {
        detail["why"] = why.as_str().into();
    }
    let (board, version) = (&release.board, release.version);
    tracing::info!(companion = name, board, %version, why = install.why, "{}", event.word());
    let actor = if event == Event::OtaOffered { "hub".to_owned() } else { format!("companion:{name}") };
    audit::append(tx, &Entry { actor: &actor, event, message: None, detail })
}

/// A time in seconds since 1970, for people.
fn utc(seconds: u64) -> String {
    clock::to_the_second(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000))
}
