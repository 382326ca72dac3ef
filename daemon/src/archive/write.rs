//! Makes a backup: everything that goes into it, one after the other, and the list at the end.
//!
//! The database comes first to be copied and last but one to be written: files that it refers to are read while the hub runs, and
//! one that the hub has removed since belonged to a message whose time was over.

use std::{
    fs::File,
    io::{self, Read, Seek as _, Write},
    path::Path,
};

use super::{
    age::{self, Sealer},
    configuration::Configuration,
    entry::{Entry, KEYS},
    error::ArchiveError,
    manifest::{FORMAT, Listed, Manifest},
    tar::{self, Header},
};
use crate::{
    clock::{now_ms, rfc3339},
    config::MAX_FILE_BYTES,
    files,
    random::to_hex,
    settings::{file::read, secret::Secret},
    store::{backup::DatabaseCopy, private_file},
};

/// What goes into a backup.
pub struct Contents<'a> {
    /// The data directory.
    pub directory: &'a Path,
    /// The copy of its database.
    pub database: &'a DatabaseCopy,
    /// The hub's public key, in hexadecimal.
    pub hub: Option<String>,
    /// The configuration, and what belongs to it.
    pub configuration: &'a Configuration,
    /// Whether the hub's keys and the configuration's secrets go along: then it is sealed.
    pub keys: bool,
    /// What it is sealed with.
    pub passphrase: Option<&'a Secret>,
}

/// Writes a backup.
///
/// # Errors
/// The passphrase is weak, something cannot be read, or it cannot be written.
pub fn write(out: impl Write, contents: &Contents<'_>) -> Result<Manifest, ArchiveError> {
    let Some(passphrase) = contents.passphrase else {
        assert!(!contents.keys, "keys leave the hub under a passphrase alone");
        let (_, manifest) = archive(out, contents)?;
        return Ok(manifest);
    };
    age::judge(passphrase.expose())?;
    let sealer = Sealer::new(out, passphrase.expose()).map_err(ArchiveError::Write)?;
    let (sealer, manifest) = archive(sealer, contents)?;
    sealer.finish().and_then(|mut out| out.flush()).map_err(ArchiveError::Write)?;
    Ok(manifest)
}

fn archive<W: Write>(out: W, contents: &Contents<'_>) -> Result<(W, Manifest), ArchiveError> {
    let time = now_ms();
    let mut manifest = Manifest {
        format: FORMAT,
        gatepost: env!("CARGO_PKG_VERSION").into(),
        schema: contents.database.schema(),
        made: rfc3339(time),
        hub: contents.hub.clone(),
        keys: contents.keys,
        entries: vec![],
        missing: vec![],
        left_out: vec![],
    };
    let time = u64::try_from(time / 1000).unwrap_or(0);
    let mut writing = Writing { tar: tar::Writer::new(out), time, listed: vec![] };
    writing.bytes(Entry::FORMAT, format!("gatepost backup, format {FORMAT}\n").as_bytes())?;
    let database = contents.database.path();
    let failed = |error| ArchiveError::File(database.into(), error);
    let file = File::open(database).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    writing.content(Entry::DATABASE, size, file)?;
    let referred = contents.database.open().and_then(|db| Ok(files::referred(&db)?))?;
    for digest in referred {
        match kept(&files::folder(contents.directory).join(digest.to_string()), &digest.0) {
            Some((file, size)) => writing.content(&format!("files/{digest}"), size, file)?,
            None => manifest.missing.push(digest.to_string()),
        }
    }
    for (name, bytes) in &contents.configuration.files {
        writing.bytes(&format!("configuration/{name}"), bytes)?;
    }
    manifest.left_out.clone_from(&contents.configuration.left_out);
    if contents.keys {
        for key in KEYS {
            writing.file(&format!("keys/{key}"), &contents.directory.join(key))?;
        }
    }
    manifest.entries = std::mem::take(&mut writing.listed);
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| ArchiveError::Write(error.into()))?;
    if text.len() as u64 > Entry::Manifest.most() {
        return Err(ArchiveError::TooLarge("the list of files".into()));
    }
    writing.bytes(Entry::MANIFEST, &text)?;
    let mut out = writing.tar.finish().map_err(ArchiveError::Write)?;
    out.flush().map_err(ArchiveError::Write)?;
    Ok((out, manifest))
}

/// An archive that is being written.
struct Writing<W> {
    tar: tar::Writer<W>,
    time: u64,
    listed: Vec<Listed>,
}

impl<W: Write> Writing<W> {
    fn content(&mut self, name: &str, size: u64, content: impl Read) -> Result<(), ArchiveError> {
        debug_assert!(Entry::named(name).is_some(), "{name} is none that a reader takes");
        let header = Header { name: name.into(), size, time: self.time };
        let sha256 = self.tar.entry(&header, content).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => ArchiveError::TooLarge(name.into()),
            _ => ArchiveError::Write(error),
        })?;
        self.listed.push(Listed { name: name.into(), size, sha256: to_hex(&sha256) });
        Ok(())
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.content(name, bytes.len() as u64, bytes)
    }

    /// A small file; one that is not there is not in the backup either.
    fn file(&mut self, name: &str, path: &Path) -> Result<(), ArchiveError> {
        match read(path, MAX_FILE_BYTES) {
            Ok(bytes) => self.bytes(name, &bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(ArchiveError::Unreadable(path.into(), io::Error::other(error))),
        }
    }
}

/// A file of the hub's and its size, if its bytes are those that it has its name of.
fn kept(path: &Path, wanted: &[u8; 32]) -> Option<(File, u64)> {
    let mut file = private_file::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let hash = tar::copy(&file, io::sink(), size).ok()?;
    file.rewind().ok()?;
    (hash == *wanted).then_some((file, size))
}
