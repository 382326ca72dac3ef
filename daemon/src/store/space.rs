//! Room on the disk: what may still be written, and what must wait.
//!
//! A full disk must not lose what was accepted, nor forget what a platform confirmed a moment ago. So the data directory
//! holds a file of 16 MB for nothing but that moment ([`RESERVE`]). Accepting stops first, while the reserve is whole;
//! when the disk is all but full the reserve is given away, and what is in the queue goes on with it; when that is spent
//! too, nothing more is sent, because its outcome could not be written down. Once there is room the reserve is made
//! anew, and all goes on by itself.
//!
//! What counts is what the file system says when it is asked, and what it did at the last commit: a quota shows only there.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use rusqlite::ErrorCode;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

const MB: u64 = 1024 * 1024;
/// The file that is given away when the disk is full, in bytes.
pub(super) const RESERVE: u64 = 16 * MB;
/// With less than this beside the reserve, nothing is accepted: a whole batch of commits and a checkpoint of the
/// write-ahead log (4 MB, `checkpoint::LONG`) must still fit.
const ACCEPT: u64 = 8 * MB;
/// With less than this, the reserve is given away.
const RELEASE: u64 = 2 * MB;
/// With less than this and no reserve, nothing is sent.
const SEND: u64 = MB;
/// How long an answer of the file system counts.
const FRESH: Duration = Duration::from_millis(200);

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Enough for everything.
    Plenty,
    /// Enough to finish what was begun.
    Short,
    /// None: not even an outcome could be written down.
    Spent,
    /// The disk cannot be written, for another reason than being full.
    Unwritable,
}

impl Room {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plenty, Self::Short, Self::Spent, Self::Unwritable];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plenty => "plenty",
            Self::Short => "short",
            Self::Spent => "spent",
            Self::Unwritable => "unwritable",
        }
    }

    /// Whether something new may be taken.
    pub const fn accepts(self) -> bool {
        matches!(self, Self::Plenty)
    }

    /// Whether requests may leave.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Plenty | Self::Short)
    }

    /// What an error of SQLite says about the disk, if anything.
    pub(super) fn of(error: &rusqlite::Error) -> Option<Self> {
        match error.sqlite_error_code()? {
            ErrorCode::DiskFull => Some(Self::Spent),
            ErrorCode::ReadOnly | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => {
                Some(Self::Unwritable)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plenty => "the hub's disk has room",
            Self::Short => "the hub's disk is full: it finishes what it has, and takes nothing new",
            Self::Spent => "the hub's disk is full to the last: sending pauses until there is room",
            Self::Unwritable => "the hub's disk cannot be written: sending pauses until it can",
        })
    }
}

/// Watches over the room in the data directory.
#[derive(Debug)]
pub struct Space {
    directory: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    room: Room,
    /// Whether there is to be a reserve: a hub has one, a command that looks into the database has not.
    guarded: bool,
    /// Whether the reserve is there.
    held: bool,
    /// The last commit failed for want of room, whatever the file system says of itself.
    refused: bool,
    unwritable: bool,
    looked: Option<Instant>,
}

impl Space {
    pub(super) fn new(directory: &Path) -> Self {
        let state = State {
            room: Room::Plenty,
            guarded: false,
            held: false,
            refused: false,
            unwritable: false,
            looked: None,
        };
        let space = Self { directory: directory.into(), state: Mutex::new(state) };
        // Of a process that was killed while it tried how much can be written. Where it cannot be removed, the next try says so.
        let _ = fs::remove_file(directory.join("probe"));
        // SQLite's own files need room as well, before anything else can be done.
        if free(directory).is_ok_and(|free| free < RELEASE) && space.reserve().exists() {
            space.release(&mut space.lock());
        }
        space
    }

    /// Makes the reserve, and watches from then on.
    pub fn guard(&self) -> Room {
        {
            let mut state = self.lock();
            (state.guarded, state.looked) = (true, None);
            state.held = is_whole(&self.reserve());
        }
        self.look()
    }

    /// How much room there is now.
    pub fn look(&self) -> Room {
        let mut state = self.lock();
        let fresh = state.looked.is_some_and(|looked| looked.elapsed() < FRESH);
        if !fresh {
            state.looked = Some(Instant::now());
            let room = self.measure(&mut state);
            if room != state.room {
                match room {
                    Room::Plenty => tracing::info!("{room}: it takes messages again"),
                    _ => tracing::warn!("{room}"),
                }
                state.room = room;
            }
        }
        state.room
    }

    /// Bytes that may still be written, the reserve aside, where the file system says.
    pub fn free(&self) -> Option<u64> {
        free(&self.directory).ok()
    }

    /// A commit failed with this.
    pub(super) fn failed(&self, error: &rusqlite::Error) {
        let Some(room) = Room::of(error) else { return };
        let mut state = self.lock();
        state.looked = None;
        // A disk that is full fails in more ways than one: making a file of SQLite's own longer counts as I/O.
        if room == Room::Spent || free(&self.directory).is_ok_and(|free| free < RELEASE) {
            if state.held {
                self.release(&mut state);
            } else {
                state.refused = true;
            }
        } else {
            state.unwritable = true;
        }
    }

    /// A commit succeeded.
    pub(super) fn succeeded(&self) {
        {
            let mut state = self.lock();
            if !state.guarded && state.room == Room::Plenty {
                return;
            }
            state.refused = false;
        }
        self.look();
    }

    fn measure(&self, state: &mut State) -> Room {
        if state.unwritable {
            if probe(&self.directory, 4096).is_err() {
                return Room::Unwritable;
            }
            state.unwritable = false;
        }
        if !state.guarded && !state.refused {
            return Room::Plenty;
        }
        // A file system that does not say how full it is speaks by its commits alone.
        let room = free(&self.directory).unwrap_or(u64::MAX);
        if !state.held && room >= RESERVE + ACCEPT && state.guarded {
            match make(&self.reserve(), RESERVE) {
                Ok(()) => (state.held, state.refused) = (true, false),
                Err(error) => tracing::warn!(%error, "cannot make the reserve for a full disk"),
            }
        } else if state.held && room < RELEASE {
            self.release(state);
        }
        let room = free(&self.directory).unwrap_or(u64::MAX);
        match (state.held, state.refused) {
            (true, _) if room >= ACCEPT => Room::Plenty,
            (true, _) => Room::Short,
            (false, true) if probe(&self.directory, SEND).is_err() => Room::Spent,
            (false, _) if room < SEND => Room::Spent,
            (false, _) if state.guarded => Room::Short,
            (false, _) => Room::Plenty,
        }
    }

    fn release(&self, state: &mut State) {
        match fs::remove_file(self.reserve()) {
            Ok(()) => tracing::warn!("the disk is full: the reserve is given to what is in the queue"),
            Err(error) => tracing::error!(%error, "cannot give the reserve away"),
        }
        state.held = false;
    }

    fn reserve(&self) -> PathBuf {
        self.directory.join("reserve")
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Bytes that we may still write in the file system of `directory`.
pub(super) fn free(directory: &Path) -> io::Result<u64> {
    let stat = statvfs(directory)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Whether a reserve of another run is there with all of its blocks: a copy of it may be a hole.
fn is_whole(path: &Path) -> bool {
    // Blocks are counted in units of 512 bytes (stat(2)).
    fs::metadata(path).is_ok_and(|file| file.len() == RESERVE && file.blocks() * 512 >= RESERVE)
}

/// A file of `bytes` that the file system has really set aside, or none at all.
fn make(path: &Path, bytes: u64) -> io::Result<()> {
    let made = fill(path, bytes);
    if made.is_err() {
        // It may not have come to be; what is there of it is in the way.
        let _ = fs::remove_file(path);
    }
    made
}

fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => {}
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            // Random, for a file system may compress.
            let block = crate::random::bytes::<65_536>();
            for _ in 0..bytes.div_ceil(block.len() as u64) {
                file.write_all(&block)?;
            }
        }
        Err(error) => return Err(error.into()),
    }
    file.sync_all()
}

/// Whether a file of `bytes` can be written.
fn probe(directory: &Path, bytes: u64) -> io::Result<()> {
    let path = directory.join("probe");
    make(&path, bytes)?;
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn error(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn the_reserve_is_made_given_away_when_a_commit_finds_no_room_and_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let space = Space::new(directory.path());
        assert_eq!(space.guard(), Room::Plenty);
        let reserve = directory.path().join("reserve");
        assert!(is_whole(&reserve), "{:?}", fs::metadata(&reserve));
        // A quota, for one: the file system has room, and the commit has none.
        space.failed(&error(ffi::SQLITE_FULL));
        assert!(!reserve.exists());
        assert_eq!(space.look(), Room::Plenty, "there was room for another");
        assert!(is_whole(&reserve));
    }

    #[test]
    fn a_reserve_that_is_a_hole_is_no_reserve() {
        let directory = tempfile::tempdir().unwrap();
        let reserve = directory.path().join("reserve");
        File::create(&reserve).unwrap().set_len(RESERVE).unwrap();
        assert!(!is_whole(&reserve));
        Space::new(directory.path()).guard();
        assert!(is_whole(&reserve));
    }

    #[test]
    fn a_disk_that_cannot_be_written_stops_sending_until_it_can() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        fs::create_dir(&data).unwrap();
        let space = Space::new(&data);
        space.guard();
        fs::rename(&data, directory.path().join("away")).unwrap();
        space.failed(&error(ffi::SQLITE_IOERR));
        assert_eq!(space.look(), Room::Unwritable);
        assert!(!Room::Unwritable.sends() && !Room::Unwritable.accepts());
        fs::rename(directory.path().join("away"), &data).unwrap();
        std::thread::sleep(FRESH);
        assert_eq!(space.look(), Room::Plenty);
    }

    #[test]
    fn a_store_that_nobody_guards_makes_no_reserve() {
        let directory = tempfile::tempdir().unwrap();
        let space = Space::new(directory.path());
        space.succeeded();
        assert_eq!(space.look(), Room::Plenty);
        assert!(!directory.path().join("reserve").exists());
    }
}
