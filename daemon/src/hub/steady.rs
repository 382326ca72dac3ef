//! A configuration file that nobody is writing.
//!
//! Editors write a file in pieces, or empty it first. Half of one may be valid, and a list of `hold` behind the cut would be gone.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{
    config::MAX_FILE_BYTES,
    settings::file::{FileError, read_regular_text},
};

/// A file that is the same after this counts as written.
const STEADY: Duration = Duration::from_millis(150);
/// How often it may have changed meanwhile.
const LOOKS: usize = 20;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum NotSteady {
    /// Nothing, which as a configuration would take every agent and account away.
    #[error("{} is empty: to take every agent and account away, stop the hub", .0.display())]
    Empty(PathBuf),
    /// It changes all the time.
    #[error("{} is being written: try again when that is done", .0.display())]
    Changing(PathBuf),
    /// It cannot be read, or is none.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Reads a file when it stays as it is, for which it waits three seconds at most.
pub(super) fn read(file: &Path) -> Result<String, NotSteady> {
    settled(file, || Ok(read_regular_text(file, MAX_FILE_BYTES)?), || thread::sleep(STEADY))
}

/// The first content that is the same at two looks with a pause between them.
fn settled(
    file: &Path,
    mut look: impl FnMut() -> Result<String, NotSteady>,
    mut pause: impl FnMut(),
) -> Result<String, NotSteady> {
    let mut before = look()?;
    for _ in 0..LOOKS {
        pause();
        let now = look()?;
        if now == before {
            return match now.trim().is_empty() {
                true => Err(NotSteady::Empty(file.into())),
                false => Ok(now),
            };
        }
        before = now;
    }
    Err(NotSteady::Changing(file.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_when_it_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gatepost.toml");
        assert!(matches!(read(&file), Err(NotSteady::File(FileError::Io(..)))));
        fs::write(&file, " \n").unwrap();
        assert!(matches!(read(&file), Err(NotSteady::Empty(_))));
        fs::write(&file, "[hub]\n").unwrap();
        assert_eq!(read(&file).unwrap(), "[hub]\n");
        assert!(matches!(read(folder.path()), Err(NotSteady::File(FileError::NotRegular(..)))));
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(matches!(read(&pipe), Err(NotSteady::File(FileError::NotRegular(..)))));
    }

    #[test]
    fn a_file_that_is_being_written_is_waited_for() {
        let file = Path::new("gatepost.toml");
        let looks = |contents: &'static [&'static str]| {
            let (mut contents, mut pauses) = (contents.iter().cycle(), 0);
            let look = || Ok((*contents.next().unwrap()).to_owned());
            let settled = settled(file, look, || pauses += 1);
            (settled, pauses)
        };
        let (whole, pauses) = looks(&["half = 1", "half = 2", "", "whole = 1", "whole = 1"]);
        assert_eq!((whole.unwrap().as_str(), pauses), ("whole = 1", 4));
        assert!(matches!(looks(&["half = 1", "", ""]).0, Err(NotSteady::Empty(_))));
        let (never, pauses) = looks(&["half = 1", "half = 2"]);
        assert!(matches!(never, Err(NotSteady::Changing(_))) && pauses == LOOKS, "{pauses}");
    }
}
