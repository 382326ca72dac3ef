//! A hub and a platform, with wires between them.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{SpawnedHub, database},
    mocks::Wire,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::houses::{self, House, Told};

/// How long somebody waits for something that comes by itself, the pauses of a hub that was refused several times among it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);
/// How often somebody looks.
const LOOK: Duration = Duration::from_millis(20);
/// Longest that an account takes to begin to read.
const BEGINS: Duration = Duration::from_secs(20);

/// The two, and an agent `engineer` whom everything wakes.
pub(crate) struct Stage<'a> {
    pub(crate) house: &'a dyn House,
    pub(crate) hub: SpawnedHub,
    /// Those to the platform.
    pub(crate) wires: Vec<Wire>,
    /// The one by which the platform reaches the hub.
    pub(crate) door: Wire,
}

impl<'a> Stage<'a> {
    /// Sets it up; the hub runs, and its account has begun to read.
    pub(crate) fn build(house: &'a dyn House) -> Result<Self> {
        let mut account = house.account();
        let mut wires = Vec::new();
        for port in house.ports() {
            let wire = Wire::to(port)?;
            account = account.replace(&port.to_string(), &wire.port().to_string());
            house.is_reached_by(wire.port())?;
            wires.push(wire);
        }
        let config =
            format!("[routing]\nlease = \"20s\"\n{}{account}", houses::rules(std::iter::once(house)));
        let hub = SpawnedHub::start(&config).with_context(|| config.clone())?;
        let door = Wire::to(hub.port())?;
        house.hub_is_at(door.port());
        let stage = Self { house, hub, wires, door };
        stage.has_begun()?;
        Ok(stage)
    }

    /// Waits until the account reads: what was written before need not be told to it.
    pub(crate) fn has_begun(&self) -> Result<()> {
        self.until_within("the account reads", BEGINS, || {
            let account = self.standing()?;
            Ok((account["ready"] == true && self.house.listens(&account)).then_some(()))
        })
    }

    /// What `/v1/channels` says of the account.
    pub(crate) fn standing(&self) -> Result<Value> {
        let told = self.hub.operator()?.get("/v1/channels")?.body;
        let mut all = told["channels"].as_array().into_iter().flatten().rev();
        all.find(|one| one["channel"] == self.house.channel()).cloned().context("the account is listed")
    }

    /// Ann does something, as often as it takes: a hub that is killed or cut off takes no notification.
    pub(crate) fn tell(&self, told: Told<'_>) -> Result<bool> {
        let start = Instant::now();
        loop {
            match self.house.tell(told) {
                Ok(tells) => return Ok(tells),
                Err(why) => ensure!(start.elapsed() < PATIENCE, "{told:?}: {why:#}"),
            }
            thread::sleep(LOOK);
        }
    }

    /// The lines that the hub has, in the order of its rows.
    pub(crate) fn lines(&self) -> Result<Vec<String>> {
        self.rows(self.house.kind())
    }

    /// The texts of rows of this kind.
    pub(crate) fn rows(&self, kind: &str) -> Result<Vec<String>> {
        let db = database::open(&self.hub.data_dir())?;
        let mut rows = db.prepare("SELECT text FROM inbound WHERE kind = ? ORDER BY seq")?;
        let rows = rows.query_map([kind], |row| row.get::<_, String>(0))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.iter().map(|text| text.trim().to_owned()).collect())
    }

    /// Waits until the hub has this line.
    pub(crate) fn has(&self, line: &str) -> Result<()> {
        self.until(&format!("{line:?} is received"), || {
            Ok(self.lines()?.iter().any(|one| one == line).then_some(()))
        })
    }

    /// Waits.
    pub(crate) fn until<T>(&self, what: &str, look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        self.until_within(what, PATIENCE + self.house.silence(), look)
    }

    /// Waits so long at most.
    pub(crate) fn until_within<T>(
        &self,
        what: &str,
        longest: Duration,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            // A hub that was killed may be written to by who starts it.
            if let Ok(Some(found)) = look() {
                return Ok(found);
            }
            if start.elapsed() > longest {
                let found = look()?;
                return found.with_context(|| {
                    format!(
                        "{}: {what}: not within {longest:?}; the hub has {:?}, says {} and logged at last\n{}",
                        self.house.name(),
                        self.lines(),
                        self.standing().unwrap_or_default(),
                        self.newest_of_log()
                    )
                });
            }
            thread::sleep(LOOK);
        }
    }

    /// The last lines that the hub logged, and whatever panicked.
    fn newest_of_log(&self) -> String {
        let log = self.hub.log().unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let newest = lines.len().saturating_sub(12);
        let told = lines.iter().enumerate().filter(|(at, line)| *at >= newest || line.contains("panicked"));
        told.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
    }

    /// Something that `kill -9`s the hub that runs now.
    pub(crate) fn killer(&self) -> Result<impl FnOnce() + Send + 'static> {
        let pid = Pid::from_raw(i32::try_from(self.hub.pid()?)?).context("a process")?;
        Ok(move || {
            // It may have been killed otherwise.
            let _ = kill_process(pid, Signal::KILL);
        })
    }

    /// All of them let everything pass.
    pub(crate) fn clear(&self) {
        self.wires.iter().for_each(Wire::pass);
        self.door.pass();
    }

    /// What was dropped for this reason, over all kinds.
    pub(crate) fn dropped(&self, reason: &str) -> Result<u64> {
        let account = self.standing()?;
        let of = account["dropped"].as_array().into_iter().flatten().filter(|one| one["reason"] == reason);
        Ok(of.filter_map(|one| one["count"].as_u64()).sum())
    }
}
