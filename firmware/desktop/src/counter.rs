//! The counter of decisions: a value is on disk before it is used, so none is used twice.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use gatepost_companion::Counter;

/// Where the counter lives.
#[derive(Debug, Clone)]
pub enum CounterStore {
    /// In memory; the next value is one more than this. For a companion whose hub forgets it as soon.
    Memory(u64),
    /// In a file of decimal digits, made when it is first needed.
    File(PathBuf),
}

/// Why a counter could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// The file cannot be read or written.
    #[error("the counter's file {path} cannot be used: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("the counter's file {0} does not hold a number; pair the companion anew rather than guess one")]
    Damaged(PathBuf),
    /// There is no greater value.
    #[error("the counter is used up; pair the companion anew")]
    UsedUp,
}

impl Counter for CounterStore {
    type Error = CounterError;

    fn reserve(&mut self) -> Result<u64, CounterError> {
        match self {
            Self::Memory(last) => {
                *last = last.checked_add(1).ok_or(CounterError::UsedUp)?;
                Ok(*last)
            }
            Self::File(path) => {
                let next = read(path)?.checked_add(1).ok_or(CounterError::UsedUp)?;
                write(path, next).map_err(|source| CounterError::File { path: path.clone(), source })?;
                Ok(next)
            }
        }
    }
}

/// The last value used; 0 where none was.
fn read(path: &Path) -> Result<u64, CounterError> {
    match fs::read_to_string(path) {
        Ok(digits) => digits.trim().parse().map_err(|_| CounterError::Damaged(path.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(CounterError::File { path: path.into(), source }),
    }
}

/// Replaces the file as a whole, and returns only when it and its name are on disk.
fn write(path: &Path, value: u64) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    writeln!(file, "{value}")?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_in_a_file_goes_on_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter");
        assert_eq!(CounterStore::File(path.clone()).reserve().unwrap(), 1);
        assert_eq!(CounterStore::File(path.clone()).reserve().unwrap(), 2);
        fs::write(&path, "41").unwrap();
        assert_eq!(CounterStore::File(path).reserve().unwrap(), 42);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_a_new_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter");
        for damage in ["", "x", "-1"] {
            fs::write(&path, damage).unwrap();
            let error = CounterStore::File(path.clone()).reserve().unwrap_err();
            assert!(matches!(error, CounterError::Damaged(_)), "{damage:?}: {error}");
        }
    }

    #[test]
    fn a_counter_that_cannot_be_written_reserves_nothing() {
        let store = CounterStore::File("/nonexistent/folder/counter".into());
        assert!(matches!(store.clone().reserve(), Err(CounterError::File { .. })));
    }

    #[test]
    fn a_counter_never_starts_over() {
        assert!(matches!(CounterStore::Memory(u64::MAX).reserve(), Err(CounterError::UsedUp)));
    }
}
