//! What the helper says of an update: how far it is, and how it ended.
//!
//! It lies in a folder that root alone can write, so nobody can lead the helper to write elsewhere, and it outlives a restart of the
//! machine: an image's new slot is judged after that. The hub reads [`MAX_BYTES`] of it, and shows what it does not know as it stands.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

use super::Kind;
use crate::{
    settings,
    store::{now_ms, private_file},
};

/// The file's name in the helper's folder.
const NAME: &str = "report.json";
/// The longest report, in bytes.
const MAX_BYTES: u64 = 16 * 1024;
/// The longest reason, in characters.
const MAX_WHY: usize = 600;

/// How far an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// What there is is looked up, and verified.
    Checking,
    /// It is fetched.
    Fetching,
    /// It is installed.
    Installing,
    /// The machine restarts with it.
    Restarting,
    /// The hub has restarted with it, and has to show that it is well.
    Proving,
    /// It is not: the version before is put back.
    GoingBack,
    /// The end: it runs, and is well.
    Installed,
    /// The end: the version before runs again.
    WentBack,
    /// The end: nothing was changed.
    Refused,
    /// The end: neither version is well. Somebody has to look.
    Failed,
    /// A word of a newer helper's.
    #[serde(other)]
    Unknown,
}

impl Stage {
    /// Whether nothing comes after it.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Installed | Self::WentBack | Self::Refused | Self::Failed)
    }
}

/// The report on one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The request's name.
    pub id: String,
    /// How far it is.
    pub stage: Stage,
    /// What is done of that, in percent.
    pub percent: Option<u8>,
    /// What is replaced by what.
    pub kind: Option<Kind>,
    /// The version before.
    pub from: Option<String>,
    /// The version that is installed.
    pub to: Option<String>,
    /// The slot into which it is written, on an image.
    pub slot: Option<String>,
    /// Whether the hub ran when it was asked for.
    #[serde(default)]
    pub ran: bool,
    /// Why it ended so, if not as was wished.
    pub why: Option<String>,
    /// When the stage began: milliseconds since 1970.
    pub at: i64,
}

impl Report {
    /// On a request that was just taken.
    pub(super) fn on(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            stage: Stage::Checking,
            percent: None,
            kind: None,
            from: None,
            to: None,
            slot: None,
            ran: false,
            why: None,
            at: now_ms(),
        }
    }

    /// Comes to a stage.
    pub(super) fn come_to(&mut self, stage: Stage) {
        (self.stage, self.percent, self.at) = (stage, None, now_ms());
    }

    /// Ends otherwise than was wished. Of a long reason the end is kept: that is where programs say it.
    pub(super) fn end(&mut self, stage: Stage, why: &str) {
        self.come_to(stage);
        let count = why.chars().count();
        self.why = Some(why.chars().skip(count.saturating_sub(MAX_WHY)).collect());
    }

    /// Writes it into the helper's folder, whole or not at all; everybody may read it.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn write(&self, state: &Path) -> io::Result<()> {
        private_file::write_for_all(&state.join(NAME), &serde_json::to_vec(self)?)
    }

    /// The report in the helper's folder, if there is one that can be read.
    pub fn read(state: &Path) -> Option<Self> {
        let bytes = match settings::file::read(&state.join(NAME), MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, "cannot read what became of the hub's update");
                return None;
            }
        };
        let report = serde_json::from_slice(&bytes);
        report.inspect_err(|error| tracing::warn!(%error, "the report on the hub's update is none")).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written_and_what_a_newer_helper_says_is_read_past() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Report::read(folder.path()), None);
        let mut report = Report::on("ab");
        report.end(Stage::WentBack, &format!("{}the end", "x".repeat(700)));
        report.write(folder.path()).unwrap();
        let read = Report::read(folder.path()).unwrap();
        assert_eq!(read, report);
        assert!(read.why.as_deref().is_some_and(|why| why.ends_with("the end") && why.len() == MAX_WHY));
        let newer = r#"{"id":"ab","stage":"dreaming","percent":1,"kind":null,"from":null,"to":null,"slot":null,"why":null,"at":1,"more":2}"#;
        fs::write(folder.path().join(NAME), newer).unwrap();
        assert_eq!(Report::read(folder.path()).unwrap().stage, Stage::Unknown);
        fs::write(folder.path().join(NAME), "{").unwrap();
        assert_eq!(Report::read(folder.path()), None);
    }
}
