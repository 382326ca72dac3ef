//! Printing to the standard streams.
//!
//! A reader may leave before the end, as `head` does. What is left is then printed for nobody, and the command goes on to its own
//! end: its exit status is about what it did. `println!` and `eprintln!` panic there, in the hub too, so that the rest of the
//! program may not use them (a lint in `lib.rs`). A result that cannot be written for another reason, such as a full disk,
//! is an error.
//!
//! The signal SIGPIPE stays ignored, as Rust has it: the same program writes to sockets whose other end may be gone.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

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

/// [`print`], with the arguments of [`format!`].
macro_rules! print_result {
    ($($text:tt)*) => { $crate::printing::print(format_args!($($text)*)) };
}

/// [`note`], with the arguments of [`format!`].
macro_rules! print_note {
    ($($text:tt)*) => { $crate::printing::note(format_args!($($text)*)) };
}

pub(crate) use {print_note, print_result};
