//! A file that the configuration or the command line names, read within bounds.
//!
//! A named pipe is opened only when somebody writes to it, and a device may never end: a reload that read one waited for ever.
//! So a file is opened without blocking and must be a regular one of a bounded size. The exception is a pipe that is already
//! open in this process (`/dev/stdin`, or `<(COMMAND)` of a shell, which is `/dev/fd/N`): it is read for [`PIPE_TIMEOUT`] at most.

use std::{
    fs::{File, FileType},
    io::{self, Read as _},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    io::Errno,
};

/// How long the writer of a pipe may take until it closes it. A password manager may ask a person first.
const PIPE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the descriptors of this process are.
const OWN_DESCRIPTORS: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says no.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
    /// A pipe, a directory, a device, a socket.
    #[error("{} is {}: put a regular file there", .0.display(), .1)]
    NotRegular(PathBuf, &'static str),
    /// Too much.
    #[error("{} has more than {} bytes, the most that is read of it", .0.display(), .1)]
    TooLarge(PathBuf, u64),
    /// A pipe whose writer does not close it.
    #[error("{} is a pipe that was not closed after {} seconds: put a regular file there", .0.display(), PIPE_TIMEOUT.as_secs())]
    Slow(PathBuf),
}

impl FileError {
    /// The kind of what the system said.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Io(_, error) => error.kind(),
            Self::NotRegular(..) => io::ErrorKind::InvalidInput,
            Self::TooLarge(..) => io::ErrorKind::FileTooLarge,
            Self::Slow(_) => io::ErrorKind::TimedOut,
        }
    }
}

/// Reads a file of at most `most` bytes, or a pipe that this process has open.
///
/// # Errors
/// It cannot be read, is too large, or is nothing that ends.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let (file, kind) = open(path)?;
    let is_own = OWN_DESCRIPTORS.iter().any(|descriptors| path.starts_with(descriptors));
    if is_own && kind.is_fifo() {
        return piped(&file, path, most, PIPE_TIMEOUT);
    }
    whole(&regular(file, kind, path)?, path, most)
}

/// The same for a text.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String, FileError> {
    text(read(path, most)?, path)
}

/// The text of a regular file; a pipe is none, whoever has it open.
///
/// # Errors
/// As [`read_text`].
pub fn read_regular_text(path: &Path, most: u64) -> Result<String, FileError> {
    text(whole(&open_regular(path)?, path, most)?, path)
}

/// Opens a regular file to read; whoever writes to a pipe is not waited for.
///
/// # Errors
/// It cannot be opened, or is no regular file.
pub fn open_regular(path: &Path) -> Result<File, FileError> {
    let (file, kind) = open(path)?;
    regular(file, kind, path)
}

fn regular(file: File, kind: FileType, path: &Path) -> Result<File, FileError> {
    match kind.is_file() {
        true => Ok(file),
        false => Err(FileError::NotRegular(path.into(), name(kind))),
    }
}

fn text(bytes: Vec<u8>, path: &Path) -> Result<String, FileError> {
    // Without the bytes themselves: they may be a secret.
    let invalid =
        |_| FileError::Io(path.into(), io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"));
    String::from_utf8(bytes).map_err(invalid)
}

fn open(path: &Path) -> Result<(File, FileType), FileError> {
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits();
    let opened = File::options().read(true).custom_flags(flags.cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        // open(2): a socket, or a device that is not there.
        Some(Errno::NXIO) => FileError::NotRegular(path.into(), "a socket or a device"),
        _ => FileError::Io(path.into(), error),
    })?;
    let kind = file.metadata().map_err(|error| FileError::Io(path.into(), error))?.file_type();
    Ok((file, kind))
}

fn name(kind: FileType) -> &'static str {
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_dir() => "a directory",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

fn whole(file: &File, path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = vec![];
    // Its size may be more than it said when it was opened.
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| FileError::Io(path.into(), error))?;
    bounded(bytes, path, most)
}

fn bounded(bytes: Vec<u8>, path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    match bytes.len() as u64 > most {
        true => Err(FileError::TooLarge(path.into(), most)),
        false => Ok(bytes),
    }
}

fn piped(mut file: &File, path: &Path, most: u64, within: Duration) -> Result<Vec<u8>, FileError> {
    let failed = |error: io::Error| FileError::Io(path.into(), error);
    let (end, mut bytes, mut chunk) = (Instant::now() + within, vec![], [0; 4096]);
    while bytes.len() as u64 <= most {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(FileError::Slow(path.into()));
        }
        let timeout = Timespec::try_from(left).map_err(|_| FileError::Slow(path.into()))?;
        match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    bounded(bytes, path, most)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _, os::fd::AsRawFd as _, os::unix::net::UnixListener, process::Command};

    use super::*;

    #[test]
    fn only_a_regular_file_within_its_bound_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "12345").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        assert_eq!(read(&at("file"), 5).unwrap(), b"12345");
        assert_eq!(read_text(&at("link"), 5).unwrap(), "12345");
        assert!(matches!(read(&at("file"), 4), Err(FileError::TooLarge(_, 4))));
        assert_eq!(read(&at("none"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(at("bytes"), b"\xff").unwrap();
        assert_eq!(read_text(&at("bytes"), 5).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let others = [at("pipe"), at("socket"), folder.path().into(), "/dev/zero".into(), "/dev/null".into()];
        for path in others {
            let error = read(&path, 5).unwrap_err();
            assert!(matches!(error, FileError::NotRegular(..)), "{error}");
            assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
        }
    }

    #[test]
    fn a_pipe_of_the_process_itself_is_read_to_its_end_and_no_longer_than_its_time() {
        let (reader, mut writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
        writer.write_all(b"12345").unwrap();
        let (file, _) = open(&path).unwrap();
        assert!(matches!(piped(&file, &path, 9, Duration::from_millis(20)), Err(FileError::Slow(_))));
        writer.write_all(b"12345").unwrap();
        assert!(matches!(read(&path, 4), Err(FileError::TooLarge(..))));
        writer.write_all(b"s3cret").unwrap();
        assert!(matches!(read_regular_text(&path, 9), Err(FileError::NotRegular(_, "a pipe"))));
        drop(writer);
        assert!(read_text(&path, 9).unwrap().ends_with("s3cret"));
    }
}
