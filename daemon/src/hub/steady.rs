//! A configuration file that nobody is writing.
//!
//! Editors write a file in pieces, or empty it first. Half of one may be valid, and a list of `hold` behind the cut would be gone.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The longest file, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// A file that is the same after this counts as written.
const STEADY: Duration = Duration::from_millis(150);
/// How often it may have changed meanwhile.
const LOOKS: usize = 20;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum NotSteady {
    /// A device, a pipe or a directory.
    #[error("{} is no regular file: put the configuration there", .0.display())]
    NoFile(PathBuf),
    /// Nothing, which as a configuration would take every agent and account away.
    #[error("{} is empty: to take every agent and account away, stop the hub", .0.display())]
    Empty(PathBuf),
    /// Too much.
    #[error("{} has more than {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// It changes all the time.
    #[error("{} is being written: try again when that is done", .0.display())]
    Changing(PathBuf),
    /// The system says no.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
}

/// Waits until a file stays as it is; for three seconds at most.
pub(super) fn wait(file: &Path) -> Result<(), NotSteady> {
    let mut before = content(file)?;
    for _ in 0..LOOKS {
        thread::sleep(STEADY);
        let now = content(file)?;
        if now == before {
            return match now.trim_ascii().is_empty() {
                true => Err(NotSteady::Empty(file.into())),
                false => Ok(()),
            };
        }
        before = now;
    }
    Err(NotSteady::Changing(file.into()))
}

fn content(file: &Path) -> Result<Vec<u8>, NotSteady> {
    let failed = |error| NotSteady::Io(file.into(), error);
    // Looked at before it is opened: a pipe is opened when somebody writes to it.
    if !fs::metadata(file).map_err(failed)?.is_file() {
        return Err(NotSteady::NoFile(file.into()));
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(NotSteady::TooLarge(file.into())),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_when_it_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gatepost.toml");
        assert!(matches!(wait(&file), Err(NotSteady::Io(..))));
        fs::write(&file, " \n").unwrap();
        assert!(matches!(wait(&file), Err(NotSteady::Empty(_))));
        fs::write(&file, "[hub]\n").unwrap();
        wait(&file).unwrap();
        assert!(matches!(wait(folder.path()), Err(NotSteady::NoFile(_))));
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(matches!(wait(&pipe), Err(NotSteady::NoFile(_))));
    }

    #[test]
    fn a_file_that_is_being_written_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gatepost.toml");
        fs::write(&file, "half = 1\n").unwrap();
        let writer = {
            let file = file.clone();
            thread::spawn(move || {
                for n in 0..5 {
                    thread::sleep(STEADY / 3);
                    fs::write(&file, format!("half = {n}\n")).unwrap();
                }
                fs::write(&file, "whole = 1\n").unwrap();
            })
        };
        wait(&file).unwrap();
        writer.join().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "whole = 1\n");
    }
}
