//! Seals a stream under a passphrase in the format of age, version 1, with a single scrypt recipient.
//!
//! The format is age's so that a backup can be opened without Gatepost, years later: `age -d`. Its specification is
//! <https://c2sp.org/age>, whose names are used here. The `age` crate would make the program 430 KB longer, most of it for
//! translated messages; this is what a passphrase needs of the format, and the primitives are *ring*'s.
//!
//! A chunk says whether it is the last one, under its seal: a file that was cut short at the end of a chunk is found out.
//! Nothing of a chunk is handed on before its seal is verified.

use std::io::{self, Read, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD as BASE64};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey},
    hkdf, hmac,
};

use super::error::{ArchiveError, damaged};
use crate::random;

/// How a sealed file begins.
pub(super) const INTRO: &str = "age-encryption.org/v1";
/// The salt of scrypt begins with it.
const LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
/// Bytes of a chunk without its tag.
const CHUNK: usize = 64 * 1024;
/// Bytes of a tag.
const TAG: usize = 16;
/// Bytes of the header at most: three lines and their ends, none longer than 64 characters.
const MAX_HEADER: usize = 256;

/// The logarithm of scrypt's N for new files: 128 MB for about a second, OWASP's recommendation for passwords
/// (<https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html>, N = 2^17, r = 8, p = 1).
const WORK: u8 = 17;
/// The most that is accepted, 256 MB: what the `age` program itself writes.
pub(super) const MAX_WORK: u8 = 18;

/// The characters of the shortest passphrase, and how many different ones it has.
const MIN_PASSPHRASE: (usize, usize) = (12, 6);

/// Refuses a passphrase that is soon found by whoever has the file: trying costs them a second each.
///
/// # Errors
/// It is one.
pub fn judge(passphrase: &str) -> Result<(), ArchiveError> {
    let (least, different) = MIN_PASSPHRASE;
    let mut letters: Vec<char> = passphrase.chars().collect();
    let count = letters.len();
    letters.sort_unstable();
    letters.dedup();
    match count >= least && letters.len() >= different {
        true => Ok(()),
        false => Err(ArchiveError::Weak(least, different)),
    }
}

/// The keys of one file.
struct Keys {
    file: [u8; 16],
}

impl Keys {
    fn derive<const N: usize>(&self, salt: &[u8], info: &'static [u8]) -> [u8; N] {
        struct Length(usize);
        impl hkdf::KeyType for Length {
            fn len(&self) -> usize {
                self.0
            }
        }
        let mut key = [0; N];
        let info = [info];
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&self.file);
        derived
            .expand(&info, Length(N))
            .and_then(|okm| okm.fill(&mut key))
            .expect("32 bytes are less than HKDF's bound");
        key
    }

    /// Authenticates the header, up to the three dashes.
    fn mac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.derive::<32>(&[], b"header"))
    }

    fn payload(&self, nonce: &[u8; 16]) -> Stream {
        Stream { key: aead(&self.derive::<32>(nonce, b"payload")), counter: 0 }
    }
}

fn aead(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("it has 32 bytes"))
}

/// The key that wraps the file's own.
fn wrapping(passphrase: &str, salt: &[u8; 16], work: u8) -> LessSafeKey {
    let parameters = scrypt::Params::new(work, 8, 1, 32).expect("the work factor is within bounds");
    let mut key = [0; 32];
    let salt = [LABEL, salt].concat();
    scrypt::scrypt(passphrase.as_bytes(), &salt, &parameters, &mut key).expect("32 bytes can be derived");
    aead(&key)
}

/// The construction STREAM: each chunk under its number, and whether it is the last one.
struct Stream {
    key: LessSafeKey,
    counter: u64,
}

impl Stream {
    fn nonce(&mut self, is_last: bool) -> Nonce {
        // 11 bytes of counter, of which no file that there is needs more than eight.
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&self.counter.to_be_bytes());
        nonce[11] = u8::from(is_last);
        self.counter += 1;
        Nonce::assume_unique_for_key(nonce)
    }

    fn seal(&mut self, chunk: &mut Vec<u8>, is_last: bool) {
        let nonce = self.nonce(is_last);
        self.key.seal_in_place_append_tag(nonce, Aad::empty(), chunk).expect("a chunk is short enough");
    }

    fn open(&mut self, chunk: &mut Vec<u8>, is_last: bool) -> io::Result<()> {
        let nonce = self.nonce(is_last);
        let opened = self.key.open_in_place(nonce, Aad::empty(), chunk);
        let length = opened.map_err(|_| damaged("a piece of it is not as it was sealed"))?.len();
        chunk.truncate(length);
        Ok(())
    }
}

/// Seals what is written to it. Without [`finish`](Self::finish) the file is cut short, and no reader takes it.
pub(super) struct Sealer<W> {
    out: W,
    stream: Stream,
    chunk: Vec<u8>,
}

impl<W: Write> Sealer<W> {
    /// Begins a file.
    pub(super) fn new(out: W, passphrase: &str) -> io::Result<Self> {
        Self::with_work(out, passphrase, WORK)
    }

    fn with_work(mut out: W, passphrase: &str, work: u8) -> io::Result<Self> {
        let keys = Keys { file: random::bytes() };
        let salt = random::bytes::<16>();
        let mut body = keys.file.to_vec();
        let zero = Nonce::assume_unique_for_key([0; 12]);
        wrapping(passphrase, &salt, work)
            .seal_in_place_append_tag(zero, Aad::empty(), &mut body)
            .expect("16 bytes are short enough");
        let header =
            format!("{INTRO}\n-> scrypt {} {work}\n{}\n---", BASE64.encode(salt), BASE64.encode(body));
        let mac = hmac::sign(&keys.mac(), header.as_bytes());
        let nonce = random::bytes::<16>();
        out.write_all(format!("{header} {}\n", BASE64.encode(mac)).as_bytes())?;
        out.write_all(&nonce)?;
        Ok(Self { out, stream: keys.payload(&nonce), chunk: Vec::with_capacity(CHUNK + TAG) })
    }

    fn flush_chunk(&mut self, is_last: bool) -> io::Result<()> {
        self.stream.seal(&mut self.chunk, is_last);
        self.out.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }

    /// Writes the last chunk; returns what was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.flush_chunk(true)?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk waits for more: the last one must not be empty.
        if self.chunk.len() == CHUNK && !bytes.is_empty() {
            self.flush_chunk(false)?;
        }
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What the header says.
struct Header {
    salt: [u8; 16],
    work: u8,
    body: [u8; 32],
    mac: [u8; 32],
    /// What the MAC is over.
    covered: Vec<u8>,
}

impl Header {
    fn read(from: &mut impl Read) -> io::Result<Self> {
        let malformed = || damaged("its header is not one of age with a passphrase");
        let mut read = Vec::new();
        let intro = line(from, &mut read)?;
        let stanza = line(from, &mut read)?;
        let body = line(from, &mut read)?;
        let covered = [&read[..], b"---"].concat();
        let end = line(from, &mut read)?;
        let mut arguments = stanza.strip_prefix("-> scrypt ").ok_or_else(malformed)?.split(' ');
        let (Some(salt), Some(work), None) = (arguments.next(), arguments.next(), arguments.next()) else {
            return Err(malformed());
        };
        let is_number = !work.starts_with('0') && work.bytes().all(|digit| digit.is_ascii_digit());
        let mac = end.strip_prefix("--- ").filter(|_| intro == INTRO && is_number).ok_or_else(malformed)?;
        Ok(Self {
            salt: decoded(salt).ok_or_else(malformed)?,
            work: work.parse().map_err(|_| malformed())?,
            body: decoded(&body).ok_or_else(malformed)?,
            mac: decoded(mac).ok_or_else(malformed)?,
            covered,
        })
    }
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE64.decode(text).ok()?.try_into().ok()
}

fn line(from: &mut impl Read, read: &mut Vec<u8>) -> io::Result<String> {
    let start = read.len();
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        read.push(byte[0]);
        if byte == *b"\n" {
            break;
        }
        if read.len() > MAX_HEADER {
            return Err(damaged("its header is too long"));
        }
    }
    let line = &read[start..read.len() - 1];
    String::from_utf8(line.to_vec()).map_err(|_| damaged("its header is no text"))
}

/// Opens what it reads from.
pub(super) struct Opener<R> {
    from: R,
    stream: Stream,
    chunk: Vec<u8>,
    /// How far the chunk has been handed on.
    at: usize,
    /// The first byte of the next chunk.
    ahead: Option<u8>,
    is_over: bool,
}

impl<R: Read> Opener<R> {
    /// Opens the header.
    pub(super) fn new(from: R, passphrase: &str) -> Result<Self, ArchiveError> {
        Self::bounded(from, passphrase, MAX_WORK)
    }

    /// The same with hardly any work, for the fuzzer.
    pub(super) fn cheap(from: R, passphrase: &str) -> Result<Self, ArchiveError> {
        Self::bounded(from, passphrase, 4)
    }

    fn bounded(mut from: R, passphrase: &str, most: u8) -> Result<Self, ArchiveError> {
        let header = Header::read(&mut from).map_err(ArchiveError::reading)?;
        if header.work > most {
            return Err(ArchiveError::Work(header.work));
        }
        let mut body = header.body;
        let zero = Nonce::assume_unique_for_key([0; 12]);
        let wrapped = wrapping(passphrase, &header.salt, header.work);
        let file =
            wrapped.open_in_place(zero, Aad::empty(), &mut body).map_err(|_| ArchiveError::Passphrase)?;
        let keys = Keys { file: (&*file).try_into().map_err(|_| ArchiveError::Passphrase)? };
        hmac::verify(&keys.mac(), &header.covered, &header.mac)
            .map_err(|_| ArchiveError::Damaged("its header was changed".into()))?;
        let mut nonce = [0; 16];
        from.read_exact(&mut nonce).map_err(ArchiveError::reading)?;
        let stream = keys.payload(&nonce);
        Ok(Self { from, stream, chunk: Vec::new(), at: 0, ahead: None, is_over: false })
    }

    /// Reads and opens the next chunk.
    fn next(&mut self) -> io::Result<()> {
        let is_first = self.stream.counter == 0;
        let mut sealed = Vec::with_capacity(CHUNK + TAG);
        sealed.extend(self.ahead.take());
        let wanted = CHUNK + TAG - sealed.len();
        (&mut self.from).take(wanted as u64).read_to_end(&mut sealed)?;
        if sealed.len() == CHUNK + TAG {
            let mut next = Vec::with_capacity(1);
            (&mut self.from).take(1).read_to_end(&mut next)?;
            self.ahead = next.first().copied();
        }
        self.is_over = self.ahead.is_none();
        if sealed.len() < TAG {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = self.stream.open(&mut sealed, self.is_over) {
            // One that was cut short within a chunk or at its end does not open as the last one.
            return Err(if self.is_over { io::ErrorKind::UnexpectedEof.into() } else { error });
        }
        if sealed.is_empty() && !is_first {
            return Err(damaged("its last piece is empty"));
        }
        (self.chunk, self.at) = (sealed, 0);
        Ok(())
    }
}

impl<R: Read> Read for Opener<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            if self.is_over {
                return Ok(0);
            }
            self.next()?;
        }
        let handed = into.len().min(self.chunk.len() - self.at);
        into[..handed].copy_from_slice(&self.chunk[self.at..self.at + handed]);
        self.at += handed;
        Ok(handed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSPHRASE: &str = "correct horse battery";

    fn sealed(plain: &[u8]) -> Vec<u8> {
        let mut sealer = Sealer::with_work(vec![], PASSPHRASE, 2).unwrap();
        sealer.write_all(plain).unwrap();
        sealer.finish().unwrap()
    }

    fn opened(sealed: &[u8]) -> Result<Vec<u8>, ArchiveError> {
        let mut plain = vec![];
        Opener::cheap(sealed, PASSPHRASE)?.read_to_end(&mut plain).map_err(ArchiveError::reading)?;
        Ok(plain)
    }

    #[test]
    fn what_was_sealed_opens_whatever_its_length() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 17] {
            let plain: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            assert_eq!(opened(&sealed(&plain)).unwrap(), plain, "{length}");
        }
    }

    #[test]
    fn another_passphrase_opens_nothing() {
        let refused = Opener::cheap(&sealed(b"x")[..], "another one").err();
        assert!(matches!(refused, Some(ArchiveError::Passphrase)), "{refused:?}");
    }

    #[test]
    fn no_byte_can_be_changed_and_none_cut_off_or_added() {
        let plain: Vec<u8> = vec![7; CHUNK + 100];
        let whole = sealed(&plain);
        let header = whole.len() - plain.len() - 2 * TAG;
        for at in (0..header).chain([header + 5, header + CHUNK + 3, whole.len() - 1]) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(opened(&changed).is_err(), "byte {at}");
        }
        for cut in [1, TAG, 100, 100 + TAG, 101 + TAG, CHUNK, whole.len() - 3] {
            let refused = opened(&whole[..whole.len() - cut]).unwrap_err();
            assert!(matches!(refused, ArchiveError::Truncated), "{cut}: {refused}");
        }
        let refused = opened(&[&whole[..], b"x"].concat());
        assert!(refused.is_err(), "{refused:?}");
    }

    #[test]
    fn a_header_that_asks_for_too_much_memory_is_refused_before_any_is_taken() {
        let text =
            format!("{INTRO}\n-> scrypt {} 40\n{}\n--- x\n", BASE64.encode([0; 16]), BASE64.encode([0; 32]));
        let text = text.replace("--- x", &format!("--- {}", BASE64.encode([0; 32])));
        let refused = Opener::new(text.as_bytes(), PASSPHRASE).err();
        assert!(matches!(refused, Some(ArchiveError::Work(40))), "{refused:?}");
    }

    #[test]
    fn a_passphrase_that_is_short_or_says_little_is_refused() {
        for weak in ["", "secret", "aaaaaaaaaaaaaaaaaaaa", "abababababababab", "ééééééé"] {
            assert!(matches!(judge(weak), Err(ArchiveError::Weak(..))), "{weak}");
        }
        for good in [PASSPHRASE, "Grüße aus dem Haus"] {
            judge(good).unwrap();
        }
    }
}
