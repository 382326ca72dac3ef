//! Reads a line at a terminal without showing it.
//!
//! The bytes are read and not events: a reader of events spins where the terminal is gone, for it takes the end of its input for
//! silence. Here that is a person who left.

use std::io::{self, BufRead, IsTerminal as _, Write as _};

use crossterm::terminal;

use crate::vault::MAX_PASSPHRASE;

const ESCAPE: u8 = 0x1b;

/// A line that is being typed.
#[derive(Debug, Default)]
struct Typed {
    text: String,
    /// The first bytes of a character that has more.
    begun: Vec<u8>,
}

/// The state of the line after some bytes.
#[derive(Debug, PartialEq, Eq)]
enum Typing {
    Continues,
    Done,
    Cancelled,
}

/// Asks for a line, which is not shown; [`None`] if the person cancels (Ctrl-C, Ctrl-D, Escape), or the terminal is gone.
///
/// # Errors
///
/// Standard input is not a terminal.
pub fn hidden(question: &str) -> io::Result<Option<String>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a passphrase is typed at a terminal"));
    }
    Ok(ask(question).unwrap_or_default())
}

/// Has the terminal show again what is typed, if a question was left open: whoever ends the program at one calls this before.
pub fn abandon() {
    // A terminal that is gone needs nothing.
    let _ = terminal::disable_raw_mode();
}

fn ask(question: &str) -> io::Result<Option<String>> {
    let mut out = io::stderr();
    write!(out, "{question}: ")?;
    out.flush()?;
    terminal::enable_raw_mode()?;
    let typed = read(&mut io::stdin().lock());
    terminal::disable_raw_mode()?;
    writeln!(out)?;
    typed
}

fn read(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut typed = Typed::default();
    loop {
        let bytes = match input.fill_buf() {
            Ok([]) => return Ok(None),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let (used, typing) = typed.take(bytes);
        input.consume(used);
        match typing {
            Typing::Continues => {}
            Typing::Done => return Ok(Some(typed.text)),
            Typing::Cancelled => return Ok(None),
        }
    }
}

impl Typed {
    /// Takes what came at once, up to the line's end; how many bytes that were.
    fn take(&mut self, bytes: &[u8]) -> (usize, Typing) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            if byte.is_ascii() {
                self.begun.clear();
            }
            match byte {
                b'\r' | b'\n' => return (at, Typing::Done),
                // Ctrl-C, Ctrl-D.
                3 | 4 => return (at, Typing::Cancelled),
                ESCAPE => match bytes.get(at..) {
                    // The key comes alone, and what begins with it comes at once.
                    None | Some([] | [ESCAPE, ..]) => return (at, Typing::Cancelled),
                    Some(rest) => at += sequence(rest),
                },
                // Ctrl-U; Ctrl-H and Backspace.
                0x15 => self.text.clear(),
                8 | 0x7f => _ = self.text.pop(),
                ..b' ' => {}
                _ => self.letter(byte),
            }
        }
        (at, Typing::Continues)
    }

    fn letter(&mut self, byte: u8) {
        self.begun.push(byte);
        match std::str::from_utf8(&self.begun) {
            Ok(letter) if self.text.len() + letter.len() <= MAX_PASSPHRASE => self.text.push_str(letter),
            Err(error) if error.error_len().is_none() => return,
            _ => {}
        }
        self.begun.clear();
    }
}

/// How many bytes after an escape belong to it: the key of an arrow, or a letter with Alt.
fn sequence(rest: &[u8]) -> usize {
    match rest {
        [b'[', parameters @ ..] => {
            let last = parameters.iter().position(|byte| (0x40..=0x7e).contains(byte));
            last.map_or(rest.len(), |last| last + 2)
        }
        [b'O', _, ..] => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Option<String> {
        read(&mut &*bytes).unwrap()
    }

    #[test]
    fn what_is_typed_can_be_taken_back_and_is_bounded() {
        assert_eq!(typed("corü\x7f\x1b[D\x1b[1;5C\x1bOPr\r".as_bytes()).as_deref(), Some("corr"));
        assert_eq!(typed("wrong\x15rïght\x08\x07\x1bx\n".as_bytes()).as_deref(), Some("rïgh"));
        let long = format!("{}\r", "x".repeat(MAX_PASSPHRASE + 5));
        assert_eq!(typed(long.as_bytes()).unwrap().len(), MAX_PASSPHRASE);
        assert_eq!(typed(b"a\xff\xc3b\r").as_deref(), Some("ab"), "what is no text is left out");
    }

    #[test]
    fn a_letter_may_come_in_parts_and_what_follows_the_line_stays() {
        let mut input = io::BufReader::with_capacity(1, "grün\rrest".as_bytes());
        assert_eq!(read(&mut input).unwrap().as_deref(), Some("grün"));
        let mut rest = String::new();
        io::Read::read_to_string(&mut input, &mut rest).unwrap();
        assert_eq!(rest, "rest");
    }

    #[test]
    fn whoever_cancels_or_whose_terminal_is_gone_has_left() {
        for left in [&b"a\x03"[..], b"a\x04", b"a\x1b", b"\x1b\x1b", b"half", b""] {
            assert_eq!(typed(left), None, "{left:?}");
        }
    }
}
