//! What follows DATA: headers and text as bytes, files as they are read.
//!
//! A file is encoded block by block while the mail leaves, so that a mail with 25 MB of files costs the hub one block of
//! memory. Its hash was checked before; should it fail to be read after all, the mail never comes to its final dot: what
//! leaves the house then is no mail (RFC 5321 §4.1.1.4), and whoever writes it is told.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read as _, Seek as _},
    sync::atomic::{AtomicBool, Ordering},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_link::Digest;

use crate::files::kept::{Kept, KeptError};

/// Bytes of a file in one line of base64: 76 characters, RFC 2045 §6.8.
const LINE: usize = 57;
/// Lines that are read and written at once.
const LINES: usize = 1024;

/// A mail's bytes, or where they come from.
#[derive(Debug)]
pub(super) struct Content(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Closed(Digest),
    Open(File, u64),
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![Piece::Bytes(bytes)])
    }
}

impl Content {
    /// A formatted mail in which each file's place is held by a text that stands there once, in this order.
    pub(super) fn with_files(mut mail: Vec<u8>, files: &[(String, Digest)]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        for (place, digest) in files {
            let at = memchr::memmem::find(&mail, place.as_bytes()).ok_or("a file has lost its place")?;
            let rest = mail.split_off(at + place.len());
            mail.truncate(at);
            pieces.extend([Piece::Bytes(std::mem::replace(&mut mail, rest)), Piece::Closed(*digest)]);
        }
        pieces.push(Piece::Bytes(mail));
        Ok(Self(pieces))
    }

    /// Opens its files.
    pub(super) async fn open(mut self, kept: &Kept) -> Result<Self, KeptError> {
        for piece in &mut self.0 {
            if let Piece::Closed(digest) = piece {
                let checked = kept.open(digest).await?;
                *piece = Piece::Open(checked.file, checked.size);
            }
        }
        Ok(self)
    }

    /// About how many bytes its files become.
    pub(super) fn files_size(&self) -> u64 {
        let size = |piece: &Piece| match piece {
            Piece::Bytes(_) | Piece::Closed(_) => 0,
            Piece::Open(_, size) => size.saturating_mul(78) / LINE as u64,
        };
        self.0.iter().map(size).sum()
    }

    /// All of it, from the beginning, and whether a file could not be read.
    pub(super) fn blocks<'a>(&'a self, broken: &'a AtomicBool) -> Blocks<'a> {
        Blocks { pieces: self.0.iter(), reading: None, broken }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> Vec<u8> {
        let broken = AtomicBool::new(false);
        let bytes = self.blocks(&broken).take(100_000).flat_map(Cow::into_owned).collect();
        assert!(!broken.into_inner(), "a file cannot be read");
        bytes
    }
}

/// A mail's bytes, one block after the other.
pub(super) struct Blocks<'a> {
    pieces: std::slice::Iter<'a, Piece>,
    reading: Option<(&'a File, u64)>,
    broken: &'a AtomicBool,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Cow<'a, [u8]>;

    /// The next block. One that cannot be had is followed by empty lines without end.
    fn next(&mut self) -> Option<Cow<'a, [u8]>> {
        const NOTHING: Cow<'static, [u8]> = Cow::Borrowed(b"\r\n");
        if self.is_broken() {
            return Some(NOTHING);
        }
        loop {
            if let Some((mut file, left)) = self.reading {
                if left == 0 {
                    self.reading = None;
                    continue;
                }
                let now = left.min((LINE * LINES) as u64);
                let mut block = vec![0; usize::try_from(now).expect("at most a block")];
                if file.read_exact(&mut block).is_err() {
                    self.broken.store(true, Ordering::Relaxed);
                    return Some(NOTHING);
                }
                self.reading = Some((file, left - now));
                let mut lines = String::with_capacity(block.len() * 78 / LINE + 78);
                for line in block.chunks(LINE) {
                    STANDARD.encode_string(line, &mut lines);
                    lines.push_str("\r\n");
                }
                return Some(Cow::Owned(lines.into_bytes()));
            }
            match self.pieces.next()? {
                Piece::Bytes(bytes) => return Some(Cow::Borrowed(bytes)),
                Piece::Open(file, size) => match rewound(file) {
                    Ok(()) => self.reading = Some((file, *size)),
                    Err(_) => self.broken.store(true, Ordering::Relaxed),
                },
                // It was never opened.
                Piece::Closed(_) => self.broken.store(true, Ordering::Relaxed),
            }
            if self.is_broken() {
                return Some(NOTHING);
            }
        }
    }
}

impl Blocks<'_> {
    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

fn rewound(mut file: &File) -> io::Result<()> {
    file.rewind()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    async fn with_file(bytes: &[u8], then: impl FnOnce(&std::path::Path)) -> Content {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let digest = Digest::of(bytes);
        let path = directory.path().join("files").join(digest.to_string());
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let mail = b"head PLACE tail".to_vec();
        let content = Content::with_files(mail, &[("PLACE".to_owned(), digest)]).unwrap();
        let content = content.open(&Kept::of(&store)).await.unwrap();
        then(&path);
        content
    }

    #[tokio::test]
    async fn a_file_stands_in_its_place_in_lines_of_base64() {
        for size in [0, 1, LINE, LINE * LINES, LINE * LINES * 2 + 5] {
            let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            let content = with_file(&bytes, |_| {}).await;
            let mail = String::from_utf8(content.bytes()).unwrap();
            let encoded = mail.strip_prefix("head ").unwrap().strip_suffix(" tail").unwrap();
            assert!(encoded.lines().all(|line| line.len() <= 76));
            assert_eq!(STANDARD.decode(encoded.replace("\r\n", "")).unwrap(), bytes);
            assert_eq!(content.bytes(), content.bytes(), "every time");
        }
    }

    #[tokio::test]
    async fn a_file_that_ends_too_early_never_ends_its_mail() {
        let content = with_file(&[1; 100_000], |path| {
            std::fs::File::options().write(true).open(path).unwrap().set_len(70_000).unwrap();
        });
        let content = content.await;
        let broken = AtomicBool::new(false);
        let blocks: Vec<_> = content.blocks(&broken).take(1_000).collect();
        assert!(broken.load(Ordering::Relaxed));
        assert!(blocks.len() == 1_000 && blocks[999] == b"\r\n".as_slice());
        assert!(!blocks.iter().any(|block| block.ends_with(b"tail")));
    }
}
