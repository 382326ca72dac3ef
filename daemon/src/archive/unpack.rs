//! Reads a backup into a folder of its own, and believes nothing of it before all has been read.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{
    entry::Entry,
    error::ArchiveError,
    manifest::{FORMAT, Listed, Manifest},
    tar::{Header, Reader},
};
use crate::{
    random::to_hex,
    store::{private_file, room_on_disk},
};

/// Entries that a backup has at most.
const MAX_ENTRIES: usize = 50_000;
/// Room that unpacking leaves on the disk.
const MIN_LEFT_BYTES: u64 = 16 * 1024 * 1024;

/// A backup that has been read, and is whole.
#[derive(Debug)]
pub struct Unpacked {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its database.
    pub database: PathBuf,
}

/// Reads a backup into a new folder, which must not be there yet. After an error, what is in the folder is worth nothing.
///
/// # Errors
/// It is not whole, not what it says, or another program's; or the folder cannot be written.
pub fn unpack(from: impl Read, into: &Path) -> Result<Unpacked, ArchiveError> {
    fs::DirBuilder::new().mode(0o700).create(into).map_err(|error| ArchiveError::File(into.into(), error))?;
    let mut unpacking = Unpacking { tar: Reader::new(from), into, read: BTreeMap::new() };
    unpacking.format()?;
    let manifest = loop {
        let Some(header) = unpacking.next()? else { return Err(ArchiveError::Truncated) };
        match Entry::named(&header.name) {
            Some(Entry::Manifest) => break unpacking.manifest(&header)?,
            Some(entry) => unpacking.file(&header, &entry)?,
            None => return Err(wrong(format!("an entry is called {:?}", header.name))),
        }
    };
    if unpacking.next()?.is_some() {
        return Err(wrong("something follows its list"));
    }
    unpacking.compare(&manifest)?;
    let database = into.join(Entry::DATABASE);
    for folder in ["files", "keys", "configuration", ""] {
        let folder = into.join(folder);
        if folder.exists() {
            private_file::sync(&folder).map_err(|error| ArchiveError::File(folder, error))?;
        }
    }
    Ok(Unpacked { manifest, database })
}

struct Unpacking<'a, R> {
    tar: Reader<R>,
    into: &'a Path,
    /// What was read of each entry.
    read: BTreeMap<String, Listed>,
}

impl<R: Read> Unpacking<'_, R> {
    fn next(&mut self) -> Result<Option<Header>, ArchiveError> {
        self.tar.next().map_err(ArchiveError::reading)
    }

    /// The first entry: nothing else is looked at in a backup of another format.
    fn format(&mut self) -> Result<(), ArchiveError> {
        let header = self.next()?.filter(|header| header.name == Entry::FORMAT);
        let header = header.ok_or_else(|| wrong("it does not begin as a backup"))?;
        let text = self.small(&header, &Entry::Format)?;
        let number = text.strip_prefix(b"gatepost backup, format ").and_then(|rest| {
            let line = rest.split(|byte| *byte == b'\n').next()?;
            std::str::from_utf8(line).ok()?.parse::<u32>().ok()
        });
        match number {
            Some(FORMAT) => Ok(()),
            Some(other) if other > FORMAT => Err(ArchiveError::Newer(other)),
            _ => Err(wrong("it does not say its format")),
        }
    }

    /// An entry that is read into memory.
    fn small(&mut self, header: &Header, entry: &Entry) -> Result<Vec<u8>, ArchiveError> {
        bounded(header, entry)?;
        let mut content = vec![];
        let hash = self.tar.content(header, &mut content).map_err(ArchiveError::reading)?;
        self.note(header, &hash)?;
        Ok(content)
    }

    fn file(&mut self, header: &Header, entry: &Entry) -> Result<(), ArchiveError> {
        bounded(header, entry)?;
        let path = self.into.join(&header.name);
        let failed = |error| ArchiveError::File(path.clone(), error);
        let free = room_on_disk(self.into).unwrap_or(u64::MAX);
        let wanted = header.size.saturating_add(MIN_LEFT_BYTES);
        if free < wanted {
            return Err(ArchiveError::NoRoom(wanted, free));
        }
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        // A second entry of the same name fails here.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(wrong(format!("there are two entries {}", header.name)));
            }
            file => Output(file.map_err(failed)?, None),
        };
        let copied = self.tar.content(header, &mut file);
        if let Some(error) = file.1.take() {
            return Err(failed(error));
        }
        let hash = copied.map_err(ArchiveError::reading)?;
        file.0.sync_all().map_err(failed)?;
        if matches!(entry, Entry::File(wanted) if wanted.0 != hash) {
            return Err(wrong(format!("{} has other content than its name says", header.name)));
        }
        self.note(header, &hash)
    }

    fn note(&mut self, header: &Header, hash: &[u8]) -> Result<(), ArchiveError> {
        let name = header.name.clone();
        let listed = Listed { name: name.clone(), size: header.size, sha256: to_hex(hash) };
        if self.read.insert(name, listed).is_some() {
            return Err(wrong(format!("there are two entries {}", header.name)));
        }
        match self.read.len() {
            ..=MAX_ENTRIES => Ok(()),
            _ => Err(wrong("it has too many entries")),
        }
    }

    fn manifest(&mut self, header: &Header) -> Result<Manifest, ArchiveError> {
        let text = self.small(header, &Entry::Manifest)?;
        self.read.remove(Entry::MANIFEST);
        let path = self.into.join(Entry::MANIFEST);
        private_file::write(&path, &text).map_err(|error| ArchiveError::File(path, error))?;
        serde_json::from_slice(&text).map_err(|error| wrong(format!("its list cannot be read ({error})")))
    }

    /// Whether the list is of what was read, and of nothing else.
    fn compare(&self, manifest: &Manifest) -> Result<(), ArchiveError> {
        let listed: BTreeMap<&str, &Listed> =
            manifest.entries.iter().map(|listed| (listed.name.as_str(), listed)).collect();
        if manifest.format != FORMAT || listed.len() != manifest.entries.len() {
            return Err(wrong("its list is not one of this format"));
        }
        if let Some(other) = self.read.values().find(|read| listed.get(read.name.as_str()) != Some(read)) {
            return Err(wrong(format!("{} is not what its list says", other.name)));
        }
        if let Some(gone) = listed.keys().find(|name| !self.read.contains_key(**name)) {
            return Err(wrong(format!("{gone} is in its list alone")));
        }
        match self.read.contains_key(Entry::DATABASE) {
            true => Ok(()),
            false => Err(wrong("it has no database")),
        }
    }
}

/// A file that remembers why it could not be written: that is no fault of what is read.
struct Output(File, Option<io::Error>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let kind = error.kind();
            self.1 = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn bounded(header: &Header, entry: &Entry) -> Result<(), ArchiveError> {
    match header.size <= entry.most() {
        true => Ok(()),
        false => Err(wrong(format!("{} is larger than it may be", header.name))),
    }
}

fn wrong(what: impl Into<String>) -> ArchiveError {
    ArchiveError::Damaged(what.into())
}

#[cfg(test)]
mod tests;
