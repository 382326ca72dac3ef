//! The archive: the part of `ustar` that a backup needs, and not one bit more.
//!
//! A header is read by making it again of the name, the size and the time in it: whatever is not exactly what we would
//! have written is refused. So there are no links, devices, folders, extensions, prefixes or other modes to think about.

use std::io::{self, Read, Write};

use ring::digest;

use super::error::damaged;

const BLOCK: usize = 512;
/// Bytes of the longest name, and of the largest entry: eleven octal digits.
pub(super) const MAX_NAME: usize = 100;
pub(super) const MAX_BYTES: u64 = 0o777_7777_7777;
/// What is copied at a time.
const PIECE: usize = 64 * 1024;

/// SHA-256 of an entry's content.
pub(super) type Sha256 = [u8; 32];

/// A header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The name.
    pub(super) name: String,
    /// Bytes of the content.
    pub(super) size: u64,
    /// Seconds since 1970.
    pub(super) time: u64,
}

impl Header {
    /// The header's block; nothing, if it does not fit.
    fn block(&self) -> Option<[u8; BLOCK]> {
        let fits = !self.name.is_empty() && self.name.len() <= MAX_NAME && !self.name.contains('\0');
        if !fits || self.size > MAX_BYTES || self.time > MAX_BYTES {
            return None;
        }
        let mut block = [0; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, self.name.as_bytes());
        put(100, b"0000600\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", self.size).as_bytes());
        put(136, format!("{:011o}\0", self.time).as_bytes());
        // Counted as if its own field were blank.
        put(148, b"        ");
        put(156, b"0");
        put(257, b"ustar\x0000");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        Some(block)
    }

    fn read(block: &[u8; BLOCK]) -> Option<Self> {
        let name = block[..MAX_NAME].split(|byte| *byte == 0).next()?;
        let octal = |at: usize| {
            let digits = std::str::from_utf8(&block[at..at + 11]).ok()?;
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| u64::from_str_radix(digits, 8).ok())?
        };
        let name = std::str::from_utf8(name).ok()?.to_owned();
        let header = Self { name, size: octal(124)?, time: octal(136)? };
        (header.block()? == *block).then_some(header)
    }
}

/// Whether a file that begins with these bytes is an archive.
pub(super) fn begins(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|block| Header::read(block).is_some())
}

/// Writes an archive.
pub(super) struct Writer<W>(W);

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Self(out)
    }

    /// Writes an entry of exactly the size that its header says.
    pub(super) fn entry(&mut self, header: &Header, content: impl Read) -> io::Result<Sha256> {
        let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, header.name.clone());
        self.0.write_all(&header.block().ok_or_else(too_large)?)?;
        let hash = copy(content, &mut self.0, header.size)?;
        self.0.write_all(&[0; BLOCK][..padding(header.size)])?;
        Ok(hash)
    }

    /// Writes the end; returns what was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.0.write_all(&[0; 2 * BLOCK])?;
        Ok(self.0)
    }
}

/// Reads an archive.
pub(super) struct Reader<R>(R);

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        Self(from)
    }

    /// The next header, if there is one; then [`content`](Self::content) is to be read. At the end, nothing follows.
    pub(super) fn next(&mut self) -> io::Result<Option<Header>> {
        let mut block = [0; BLOCK];
        self.0.read_exact(&mut block)?;
        if block != [0; BLOCK] {
            return Header::read(&block).map(Some).ok_or_else(|| damaged("an entry's header is malformed"));
        }
        self.0.read_exact(&mut block)?;
        if block != [0; BLOCK] || self.0.read(&mut [0])? != 0 {
            return Err(damaged("something follows its end"));
        }
        Ok(None)
    }

    /// The content of the entry whose header was read last.
    pub(super) fn content(&mut self, header: &Header, out: impl Write) -> io::Result<Sha256> {
        let hash = copy(&mut self.0, out, header.size)?;
        let mut padding = vec![0; padding(header.size)];
        self.0.read_exact(&mut padding)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(damaged("the end of an entry is not filled with zeros"));
        }
        Ok(hash)
    }
}

fn padding(size: u64) -> usize {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or(0);
    (BLOCK - over) % BLOCK
}

/// Copies exactly this many bytes.
pub(super) fn copy(mut from: impl Read, mut to: impl Write, size: u64) -> io::Result<Sha256> {
    let mut hash = digest::Context::new(&digest::SHA256);
    let mut piece = vec![0; PIECE];
    let mut left = size;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let read = from.read(&mut piece[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hash.update(&piece[..read]);
        to.write_all(&piece[..read])?;
        left -= read as u64;
    }
    Ok(hash.finish().as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, size: u64) -> Header {
        Header { name: name.into(), size, time: 1_800_000_000 }
    }

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = Writer::new(vec![]);
        for (name, content) in entries {
            writer.entry(&header(name, content.len() as u64), *content).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let long = vec![9; 1300];
        let archive = archive(&[("a", b""), ("files/b", b"x"), ("c", &long), ("d", &[1; 512])]);
        assert!(begins(&archive));
        let mut reader = Reader::new(&archive[..]);
        let mut found = vec![];
        while let Some(header) = reader.next().unwrap() {
            let mut content = vec![];
            reader.content(&header, &mut content).unwrap();
            found.push((header.name, content.len()));
        }
        assert_eq!(found, [("a".into(), 0), ("files/b".into(), 1), ("c".into(), 1300), ("d".into(), 512)]);
    }

    #[test]
    fn a_header_with_anything_else_in_it_is_refused() {
        let good = header("a", 0).block().unwrap();
        assert!(Header::read(&good).is_some());
        // With a sum that is right, so that it is not that which is refused: a link, a mode, a linked name, a prefix, an owner.
        for at in [156, 100, 157, 345, 265] {
            let mut block = good;
            block[at] = b'2';
            block[148..156].copy_from_slice(b"        ");
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            assert_eq!(Header::read(&block), None, "byte {at}");
        }
        for wrong in [header("", 1), header(&"a".repeat(101), 1), header("a", MAX_BYTES + 1)] {
            assert_eq!(wrong.block(), None);
        }
    }

    #[test]
    fn an_entry_that_is_shorter_than_its_size_is_no_entry() {
        let mut writer = Writer::new(vec![]);
        let short = writer.entry(&header("a", 4), &b"abc"[..]).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
    }
}
