//! The hub's side: it asks, shows how far the helper is, and writes into the audit how it ended.
//!
//! An end is written once: the audit has the row by which somebody asked, and takes the end of what was asked for if it has none yet. So
//! a hub that is killed between the two, or reads the same report after each start, says nothing twice.

use std::{
    fs::Metadata,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::Transaction;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::{
    Kind, Places, STATE_DIR,
    report::{Report, Stage},
    request::{self, Request, Wished},
};
use crate::{
    audit::{self, Entry, Event},
    clock::{Time, to_the_second},
    config::paths::SERVICE_DATA_DIR,
    store::{Store, StoreError, now_ms},
};

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Between two looks at the report.
const BEAT: Duration = Duration::from_secs(2);
/// The helper begins within this, in milliseconds, or it does not run.
const BEGINS: i64 = 60_000;
/// A stage that lasts longer, in milliseconds, is one of a helper that is gone: the longest waits 20 minutes for dpkg's lock, and runs
/// dpkg for 30.
const LASTS: i64 = 60 * 60_000;

/// Why no update is asked for. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is nothing that could replace it.
    #[error(
        "this hub was installed neither as a package nor as an image: put the newer program in the place of this one, and restart \
         the hub (daemon/docs/upgrade-backup-move.md)"
    )]
    ByHand,
    /// The helper looks elsewhere.
    #[error(
        "the helper that updates the hub looks into {SERVICE_DATA_DIR}, and this hub's data are in {0}: as root, run apt-get update \
         && apt-get install --only-upgrade gatepost"
    )]
    Elsewhere(String),
    /// There is no bundle.
    #[error("there is no {0}: put the signed bundle there first, owned by the hub's user")]
    NoBundle(String),
    /// One is under way.
    #[error("an update is under way: {0}")]
    UnderWay(String),
    /// The request cannot be written.
    #[error("cannot ask for it: {0}")]
    Disk(std::io::Error),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The hub's own program, and what is asked for and done about it.
#[derive(Debug, Serialize, ToSchema)]
pub struct HubView {
    /// The version that runs.
    pub version: &'static str,
    /// What replaces it: `package`, `image`, or nothing if somebody put it there by hand.
    pub installed_as: Option<&'static str>,
    /// The update that was asked for last, if any was.
    pub update: Option<HubUpdateView>,
}

/// How far an update of the hub is.
#[derive(Debug, Serialize, ToSchema)]
pub struct HubUpdateView {
    /// `asked`, `checking`, `fetching`, `installing`, `restarting`, `proving`, `going_back`; at the end `installed`, `went_back`,
    /// `refused` or `failed`.
    pub state: &'static str,
    /// The same in words.
    pub text: String,
    /// The version before, as its package or image has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What is done of this stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// Since when it is so.
    #[schema(value_type = String)]
    pub since: Time,
}

/// A handle on the hub's own update. Clones share the knowledge of what was asked for.
#[derive(Clone)]
pub struct Asking {
    store: Store,
    kind: Option<Kind>,
    places: Places,
    /// Something was asked for: [`watch`](Self::watch) has an end to wait for.
    asked: Arc<Notify>,
    /// The request that was made last, and when: until the helper speaks of it, what it said of one before is over.
    last: Arc<Mutex<Option<(String, i64)>>>,
}

fn asked_for(text: String, at: i64) -> HubUpdateView {
    HubUpdateView { state: "asked", text, from: None, to: None, percent: None, since: Time(at) }
}

impl Asking {
    /// That of the hub with this database.
    pub fn new(store: &Store) -> Self {
        let places = Places { data: store.directory().into(), state: STATE_DIR.into() };
        Self { store: store.clone(), kind: Kind::here(), places, asked: Arc::default(), last: Arc::default() }
    }

    /// Asks for an update: to the newest version that there is, if none is named.
    ///
    /// # Errors
    /// It is not asked for.
    pub async fn ask(&self, version: Option<Wished>, by: &str) -> Result<(), AskError> {
        let kind = self.kind.ok_or(AskError::ByHand)?;
        if self.places.data != Path::new(SERVICE_DATA_DIR) && self.places.state == Path::new(STATE_DIR) {
            return Err(AskError::Elsewhere(self.places.data.display().to_string()));
        }
        if kind == Kind::Image && !self.places.bundle().is_file() {
            return Err(AskError::NoBundle(self.places.bundle().display().to_string()));
        }
        let before = self.report();
        if let Some(report) = before.as_ref().filter(|report| !is_over(report, now_ms())) {
            return Err(AskError::UnderWay(words(report)));
        }
        let (request, by) = (Request::new(version), by.to_owned());
        let detail = json!({"hub": VERSION, "id": request.id(), "version": request.version});
        let asked = Event::OtaRolledOut;
        let append = move |tx: &Transaction<'_>| {
            // The next report takes its place, maybe before the next look.
            if let Some(before) = before.filter(|before| before.stage.is_end()) {
                end(tx, &before)?;
            }
            audit::append(tx, &Entry { actor: &by, event: asked, message: None, detail })
        };
        self.store.write(append).await?;
        // After the row: an end without one would never be written down.
        *self.last() = Some((request.id().to_owned(), now_ms()));
        let (intake, put) = (self.places.intake(), request.clone());
        let put = tokio::task::spawn_blocking(move || put.put(&intake)).await;
        let Err(error) = put.map_err(std::io::Error::other).flatten() else {
            self.asked.notify_one();
            return Ok(());
        };
        *self.last() = None;
        let detail = json!({"hub": VERSION, "id": request.id(), "why": error.to_string()});
        self.store.write(move |tx| append_end(tx, Event::OtaRefused, detail)).await?;
        Err(AskError::Disk(error))
    }

    /// What there is to see of it.
    pub fn view(&self) -> HubView {
        let installed_as = self.kind.map(|kind| match kind {
            Kind::Package => "package",
            Kind::Image => "image",
        });
        HubView { version: VERSION, installed_as, update: self.update() }
    }

    fn update(&self) -> Option<HubUpdateView> {
        if let Some(asked) = self.request() {
            let at = asked.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            let at = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
            let text = match now_ms().saturating_sub(at) > BEGINS {
                false => "asked for".to_owned(),
                true => format!(
                    "asked for at {}, and nobody took it: see systemctl status gatepost-update.path",
                    to_the_second(at)
                ),
            };
            return Some(asked_for(text, at));
        }
        let report = self.report();
        // The helper has taken the request, and has not begun to speak of it.
        if let Some((id, at)) = self.last().as_ref()
            && report.as_ref().is_none_or(|report| report.id != *id)
            && now_ms().saturating_sub(*at) <= BEGINS
        {
            return Some(asked_for("asked for".to_owned(), *at));
        }
        let report = report?;
        Some(HubUpdateView {
            state: word(report.stage),
            text: words(&report),
            since: Time(report.at),
            percent: report.percent,
            from: report.from,
            to: report.to,
        })
    }

    fn last(&self) -> MutexGuard<'_, Option<(String, i64)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> Option<Report> {
        Report::read(&self.places.state)
    }

    /// The request that nobody has taken yet.
    fn request(&self) -> Option<Metadata> {
        std::fs::symlink_metadata(self.places.intake().join(request::NAME)).ok()
    }

    /// Watches the report while something is under way, and writes its end into the audit. Goes on until it is aborted.
    pub async fn watch(self) {
        let mut written = None;
        // What was under way when the hub started, or ended while it was away.
        let mut awaits_end = self.request().is_some() || self.report().is_some();
        loop {
            match awaits_end {
                true => tokio::time::sleep(BEAT).await,
                false => self.asked.notified().await,
            }
            awaits_end = true;
            let Some(report) = self.report().filter(|report| report.stage.is_end()) else { continue };
            let name = (report.id.clone(), report.stage);
            if written.as_ref() == Some(&name) {
                continue;
            }
            match self.store.write(move |tx| end(tx, &report)).await {
                Ok(()) => (written, awaits_end) = (Some(name), self.request().is_some()),
                Err(error) => tracing::error!(%error, "cannot write down how the hub's update ended"),
            }
        }
    }
}

fn is_over(report: &Report, now: i64) -> bool {
    report.stage.is_end() || now.saturating_sub(report.at) > LASTS
}

/// Writes the end of what was asked for into the audit, unless it is there.
fn end(tx: &Transaction<'_>, report: &Report) -> Result<(), StoreError> {
    let event = match report.stage {
        Stage::Installed => Event::OtaConfirmed,
        Stage::WentBack => Event::OtaWentBack,
        _ => Event::OtaRefused,
    };
    let has = |events: &[Event]| -> Result<bool, StoreError> {
        let mut found = tx.prepare_cached("SELECT 1 FROM audit WHERE event = ? AND instr(detail, ?)")?;
        for event in events {
            if found.exists((event, &report.id))? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let ends = [Event::OtaConfirmed, Event::OtaWentBack, Event::OtaRefused];
    if report.id.is_empty() || !has(&[Event::OtaRolledOut])? || has(&ends)? {
        return Ok(());
    }
    let Report { id, from, to, why, .. } = report;
    tracing::info!(from, to, why, "the hub's own update: {}", event.word());
    append_end(tx, event, json!({"hub": VERSION, "id": id, "from": from, "to": to, "why": why}))
}

fn append_end(tx: &Transaction<'_>, event: Event, detail: serde_json::Value) -> Result<(), StoreError> {
    audit::append(tx, &Entry { actor: "hub", event, message: None, detail })
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Checking => "checking",
        Stage::Fetching => "fetching",
        Stage::Installing => "installing",
        Stage::Restarting => "restarting",
        Stage::Proving => "proving",
        Stage::GoingBack => "going_back",
        Stage::Installed => "installed",
        Stage::WentBack => "went_back",
        Stage::Refused => "refused",
        Stage::Failed => "failed",
        Stage::Unknown => "unknown",
    }
}

/// How far it is, in words.
fn words(report: &Report) -> String {
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "the newer version".into());
    let (from, to) = (version(&report.from), version(&report.to));
    let words = match report.stage {
        Stage::Checking => "looks up and verifies what there is".into(),
        Stage::Fetching => format!("fetches {to}"),
        Stage::Installing => format!("installs {to}"),
        Stage::Restarting => format!("the machine restarts with {to}"),
        Stage::Proving => format!("{to} has to show that it is well"),
        Stage::GoingBack => format!("{to} went wrong, and {from} is put back"),
        Stage::Installed => format!("{to} was installed in the place of {from}, and is well"),
        Stage::WentBack => format!("{from} runs again, since {to} went wrong"),
        Stage::Refused => "nothing was changed".into(),
        Stage::Failed => "it went wrong, and somebody has to look".into(),
        Stage::Unknown => "it does what this version has no word for".into(),
    };
    let percent = report.percent.map(|percent| format!(", {percent} %")).unwrap_or_default();
    let why = report.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{words}{percent}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table {
        _folder: tempfile::TempDir,
        asking: Asking,
    }

    fn table(kind: Option<Kind>) -> Table {
        let folder = tempfile::tempdir().unwrap();
        let (data, state) = (folder.path().join("data"), folder.path().join("state"));
        std::fs::create_dir_all(&state).unwrap();
        let store = Store::open(&data).unwrap();
        let asking = Asking {
            store,
            kind,
            places: Places { data, state },
            asked: Arc::default(),
            last: Arc::default(),
        };
        Table { _folder: folder, asking }
    }

    impl Table {
        fn rows(&self) -> Vec<(String, String)> {
            let rows = self.asking.store.look(|db| {
                let mut rows =
                    db.prepare("SELECT event, detail FROM audit WHERE event LIKE 'ota.%' ORDER BY seq")?;
                let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok::<_, StoreError>(rows.collect::<Result<_, _>>()?)
            });
            rows.unwrap()
        }

        fn helper_says(&self, id: &str, stage: Stage) -> Report {
            let mut report = Report::on(id);
            (report.from, report.to) = (Some("0.1.0-1".into()), Some("0.2.0-1".into()));
            report.end(stage, "because");
            report.write(&self.asking.places.state).unwrap();
            report
        }

        async fn end(&self, report: &Report) {
            let report = report.clone();
            self.asking.store.write(move |tx| end(tx, &report)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn what_is_asked_for_is_seen_at_each_stage_and_its_end_is_written_down_once() {
        let table = table(Some(Kind::Package));
        assert!(table.asking.view().update.is_none());
        table.asking.ask(Wished::new("0.2.0"), "operator").await.unwrap();
        assert_eq!(table.asking.view().update.unwrap().state, "asked");
        let request = Request::take(&table.asking.places.data).unwrap().unwrap();
        assert_eq!(request.version, Wished::new("0.2.0"));
        // Taken, and the helper has last spoken of another.
        table.helper_says(&"1".repeat(32), Stage::Refused);
        assert_eq!(table.asking.view().update.unwrap().state, "asked");
        table.helper_says(request.id(), Stage::Installing);
        let view = table.asking.view().update.unwrap();
        assert_eq!((view.state, view.text.as_str()), ("installing", "installs 0.2.0-1: because"));
        let under_way = table.asking.ask(None, "operator").await.unwrap_err();
        assert!(matches!(under_way, AskError::UnderWay(_)), "{under_way}");

        let foreign = table.helper_says(&"0".repeat(32), Stage::Installed);
        table.end(&foreign).await;
        assert_eq!(table.rows().len(), 1, "nobody asked for it here");
        let ended = table.helper_says(request.id(), Stage::WentBack);
        // Before the next look.
        table.asking.ask(None, "operator").await.unwrap();
        for _ in 0..2 {
            table.end(&ended).await;
        }
        let rows = table.rows();
        let events: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(events, ["ota.rolled_out", "ota.went_back", "ota.rolled_out"]);
        assert!(rows[1].1.contains("because") && rows[1].1.contains("0.2.0-1"), "{rows:?}");
    }

    #[tokio::test]
    async fn a_hub_that_cannot_be_updated_says_what_to_do() {
        let said = async |table: &Table| table.asking.ask(None, "operator").await.unwrap_err().to_string();
        assert!(said(&table(None)).await.contains("neither as a package nor as an image"));
        assert!(said(&table(Some(Kind::Image))).await.contains("hub.raucb"));
        let mut elsewhere = table(Some(Kind::Package));
        elsewhere.asking.places.state = STATE_DIR.into();
        assert!(said(&elsewhere).await.contains("apt-get install --only-upgrade gatepost"));
        let full = table(Some(Kind::Package));
        std::fs::write(full.asking.places.intake(), "no folder").unwrap();
        assert!(said(&full).await.starts_with("cannot ask for it"));
        let rows = full.rows();
        assert_eq!(rows.last().map(|row| row.0.as_str()), Some("ota.refused"), "{rows:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_watch_writes_down_what_the_helper_has_ended() {
        let table = table(Some(Kind::Package));
        table.asking.ask(None, "operator").await.unwrap();
        let request = Request::take(&table.asking.places.data).unwrap().unwrap();
        table.helper_says(request.id(), Stage::Installed);
        let watch = tokio::spawn(table.asking.clone().watch());
        for _ in 0..100 {
            if table.rows().len() == 2 {
                break;
            }
            tokio::time::sleep(BEAT).await;
            std::thread::sleep(Duration::from_millis(10));
        }
        watch.abort();
        assert_eq!(table.rows()[1].0, "ota.confirmed");
    }
}
