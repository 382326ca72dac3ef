//! Printing to the standard streams.
//!
//! A reader may leave before the end, as `head` does. What is left is then printed for nobody, and the command goes on to its own
//! end: its exit status is about what it did. `println!` and `eprintln!` panic there, in the hub too, so that the rest of the
//! program may not use them (a lint in `lib.rs`). A result that cannot be written for another reason, such as a full disk,
//! is an error.
//!
//! The signal SIGPIPE stays ignored, as Rust has it: the same program writes to sockets whose other end may be gone.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, Write as _},
};

use crate::plain_text::is_hidden;

/// A result could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the result to stdout: {0}")]
pub struct PrintError(io::Error);

/// Prints a result and a line end to stdout.
///
/// # Errors
/// It cannot be written, and not because its reader has left.
pub fn print(result: impl Display) -> Result<(), PrintError> {
    print_all(std::iter::once(result))
}

/// Prints results to stdout, each with a line end, and stops where nobody reads any more.
///
/// # Errors
/// They cannot be written, and not because their reader has left.
pub fn print_all(results: impl IntoIterator<Item = impl Display>) -> Result<(), PrintError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = results.into_iter().try_for_each(|result| writeln!(out, "{result}"));
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(PrintError(error)),
        _ => Ok(()),
    }
}

/// Prints progress, a warning or an error and a line end to stderr. If that is not possible there is nobody to tell.
pub fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A text of somebody else, for a terminal: what would steer the terminal or turn the direction of the text is shown as its number,
/// `<U+202E>`, as on a companion. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown_as_numbers(text, steers)
}

fn shown_as_numbers(text: &str, hidden: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match hidden(letter) {
            true => shown.push_str(&format!("<U+{:04X}>", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// The same for what belongs on one line, such as a name in a table: line ends, tabs and what has no width are shown as numbers too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    shown_as_numbers(text, is_hidden)
}

/// Controls (C0, C1), the marks of bidirectional text (Unicode Standard Annex 9), and line ends that are none in a terminal.
fn steers(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// [`print`], with the arguments of [`format!`].
macro_rules! print_result {
    ($($text:tt)*) => { $crate::printing::print(format_args!($($text)*)) };
}

/// [`note`], with the arguments of [`format!`].
macro_rules! print_note {
    ($($text:tt)*) => { $crate::printing::note(format_args!($($text)*)) };
}

pub(crate) use {print_note, print_result};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line_and_shows_what_has_no_width() {
        assert_eq!(visible_line("ann\u{200b}\nme  owner"), "ann<U+200B><U+000A>me  owner");
        assert!(matches!(visible_line("Grüße, 日本"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_steers_a_terminal_is_shown_as_its_number_and_all_else_as_it_is() {
        assert_eq!(visible("\u{1b}[2Jgone\r\u{9b}1A"), "<U+001B>[2Jgone<U+000D><U+009B>1A");
        assert_eq!(
            visible("invoice\u{202e}fdp.exe \u{2066}x\u{2069}"),
            "invoice<U+202E>fdp.exe <U+2066>x<U+2069>"
        );
        for plain in ["a\tb\nc", "Grüße, 日本, שלום", "👨\u{200d}👩\u{200d}👧"] {
            assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain), "{plain:?}");
        }
    }
}
