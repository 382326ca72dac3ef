//! The helper: `gatepost update apply`, as root, started by `gatepost-update.path` and at the start of the machine.
//!
//! It finishes what one before it could not, takes the request if there is one, and ends. It speaks to nobody but the programs that it
//! runs, and writes nowhere but into its own folder.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    Kind, Places, image, packaged,
    programs::NotDone,
    report::{Report, Stage},
    request::{NotTaken, Request, Wished},
};

/// How long nothing is begun anew after something that was no request: the hub's user could have the helper run all the time otherwise.
const BETWEEN: Duration = Duration::from_secs(2);

/// Why the helper cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Somebody else started it.
    #[error(
        "this is for root: gatepost-update.service runs it when the hub is asked to (gatepost ota roll-out hub)"
    )]
    NotRoot,
    /// Its folder is missing.
    #[error("cannot use {0}, which systemd makes for gatepost-update.service: {1}")]
    State(String, io::Error),
    /// Another one is at it.
    #[error("another update is under way")]
    Busy,
    /// What lies in the place of the request.
    #[error(transparent)]
    NotTaken(#[from] NotTaken),
}

/// Where the helper works, and its report on what it does.
pub(super) struct Job {
    /// Where it reads and writes.
    pub(super) places: Places,
    /// How far it is.
    pub(super) report: Report,
}

impl Job {
    /// Writes down what is to be replaced.
    pub(super) fn begin(&mut self, kind: Kind, from: &str, ran: bool) {
        self.report.kind = Some(kind);
        self.report.from = Some(from.to_owned());
        self.report.ran = ran;
        self.write();
    }

    /// Comes to a stage, and writes it down.
    pub(super) fn come_to(&mut self, stage: Stage) {
        self.report.come_to(stage);
        self.write();
    }

    /// Comes to a stage for a reason, and writes it down.
    pub(super) fn end(&mut self, stage: Stage, why: &str) {
        self.report.end(stage, why);
        self.write();
    }

    /// Ends with nothing changed.
    pub(super) fn refuse(&mut self, why: &str) -> Result<(), NotDone> {
        self.end(Stage::Refused, why);
        Ok(())
    }

    /// Is so far with a stage. Written in steps, as a card wears out.
    pub(super) fn progress(&mut self, stage: Stage, percent: u8) {
        let step = percent / 10 * 10;
        if self.report.stage != stage {
            self.report.come_to(stage);
        } else if self.report.percent.is_some_and(|before| before >= step) {
            return;
        }
        self.report.percent = Some(step);
        self.write();
    }

    /// A disk that takes nothing stops no update that is under way: what is not said then is found out at the next start.
    fn write(&self) {
        let Report { stage, why, from, to, .. } = &self.report;
        tracing::info!(?stage, why, from, to, "the hub's update");
        if let Err(error) = self.report.write(&self.places.state) {
            tracing::error!(%error, "cannot write down how far the update is");
        }
    }
}

/// Does what there is to do.
///
/// # Errors
/// Nothing could be done. That an update ended badly is no error: the report says it.
pub async fn apply(places: Places) -> Result<(), ApplyError> {
    if !rustix::process::geteuid().is_root() {
        return Err(ApplyError::NotRoot);
    }
    let _alone = lock(&places)?;
    // A stop must not cut dpkg off: the unit waits until it is done.
    let _not_now = signal(SignalKind::terminate());
    if let Some(report) = Report::read(&places.state).filter(|report| !report.stage.is_end()) {
        let mut job = Job { places: places.clone(), report };
        let taken_up = match job.report.kind {
            Some(Kind::Package) => packaged::take_up(&mut job).await,
            Some(Kind::Image) => image::take_up(&mut job).await,
            None => job.refuse("it was cut off before it began: ask for it again"),
        };
        finish(&mut job, taken_up);
    }
    let request = match Request::take(&places.data) {
        Ok(Some(request)) => request,
        Ok(None) => return Ok(()),
        Err(error) => {
            tokio::time::sleep(BETWEEN).await;
            return Err(error.into());
        }
    };
    let mut job = Job { report: Report::on(request.id()), places };
    job.write();
    let done = carry_out(&mut job, request.version.as_ref()).await;
    finish(&mut job, done);
    Ok(())
}

async fn carry_out(job: &mut Job, wished: Option<&Wished>) -> Result<(), NotDone> {
    match Kind::here() {
        Some(Kind::Package) => packaged::update(job, wished).await,
        Some(Kind::Image) => image::update(job, wished).await,
        None => job.refuse("the hub was installed neither as a package nor as an image"),
    }
}

/// What no program said the end of is over too, but for a restart, which is.
fn finish(job: &mut Job, done: Result<(), NotDone>) {
    if let Err(error) = done {
        // Before that, nothing was changed.
        let changed = !matches!(job.report.stage, Stage::Checking | Stage::Fetching);
        let stage = if changed { Stage::Failed } else { Stage::Refused };
        job.end(stage, &error.to_string());
    }
}

fn lock(places: &Places) -> Result<File, ApplyError> {
    let failed = |error| ApplyError::State(places.state.display().to_string(), error);
    let path = places.state.join("lock");
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(ApplyError::Busy),
        Err(error) => Err(failed(error.into())),
    }
}
