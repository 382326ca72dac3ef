//! Splits a text into chunks.
//!
//! No chunk exceeds the limit, fence lines included. Chunks are in order, with only white space between them. Each chunk
//! examines at most twice as much text as fits in it, apart from white space, so that the whole takes linear time. Every
//! chunk except the last is at least a tenth full, unless blanks or a single cluster make that impossible.

use core::ops::Range;

use plain::Window;

use crate::boundary::skip_spaces;
use crate::{Fence, Mode, Unit};

mod markdown;
mod plain;

/// Cuts `text` into chunks of at most `limit` `unit`s, preferring the places that `mode` says.
///
/// White space at the edges of chunks is dropped. A text of nothing but white space has no chunk.
///
/// # Errors
///
/// [`LimitError`] if the limit is zero or smaller than a single code point of the text.
pub fn split(text: &str, limit: usize, unit: Unit, mode: Mode) -> Result<Split<'_>, LimitError> {
    let needed = if limit < unit.widest_possible() { unit.widest(text) } else { 1 };
    if limit < needed {
        return Err(LimitError { limit, needed });
    }
    let mut split = Split { text, limit, unit, mode, at: 0, open: None };
    split.at = if mode == Mode::Markdown { split.next_start(0).0 } else { skip_spaces(text, 0) };
    Ok(split)
}

/// A limit that cannot hold any text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitError {
    /// The limit that was asked for, in the unit that was asked for.
    pub limit: usize,
    /// The smallest limit that this text can be split at.
    pub needed: usize,
}

impl core::fmt::Display for LimitError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a limit of {} cannot hold this text: use at least {}", self.limit, self.needed)
    }
}

impl core::error::Error for LimitError {}

/// One chunk. Its [`Display`](core::fmt::Display) is what to send: the text between the fence lines that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The text of the chunk: exactly the input at `range`.
    pub text: &'a str,
    /// The bytes of the input that the chunk holds. Between the ranges of two chunks lies only white space.
    pub range: Range<usize>,
    /// What the platform will count: `text` and the fence lines around it.
    pub units: usize,
    /// The fence that was cut before this chunk and is opened again in it.
    pub reopen: Option<Fence<'a>>,
    /// The fence that is still open where this chunk ends and is closed in it.
    pub close: Option<Fence<'a>>,
}

impl core::fmt::Display for Chunk<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Some(fence) = &self.reopen {
            fence.write_opening(f)?;
            f.write_str("\n")?;
        }
        f.write_str(self.text)?;
        if let Some(fence) = &self.close {
            f.write_str("\n")?;
            fence.write_closing(f)?;
        }
        Ok(())
    }
}

/// The chunks of a text, in order. Made by [`split`].
#[derive(Debug, Clone)]
pub struct Split<'a> {
    text: &'a str,
    limit: usize,
    unit: Unit,
    mode: Mode,
    /// Where the next chunk begins: at visible text, or at the indentation of its line.
    at: usize,
    /// The fence that is open there.
    open: Option<Fence<'a>>,
}

/// A place to cut.
#[derive(Debug, Clone, Copy)]
struct Cut<'a> {
    /// Where the chunk ends, and where the next one begins.
    end: usize,
    next: usize,
    /// The fence that is open at the cut.
    open: Option<Fence<'a>>,
    /// Units of the chunk, fence lines included.
    units: usize,
}

impl<'a> Iterator for Split<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        if self.at >= self.text.len() {
            return None;
        }
        let (start, reopen) = (self.at, self.open);
        let cut =
            if self.mode == Mode::Markdown { self.plan_markdown(start) } else { self.plan_plain(start) };
        self.at = cut.next;
        self.open = cut.open;
        let range = start..cut.end;
        Some(Chunk { text: &self.text[range.clone()], range, units: cut.units, reopen, close: cut.open })
    }
}

impl<'a> Split<'a> {
    fn plan_plain(&self, start: usize) -> Cut<'a> {
        let window = Window::new(&self.text[start..], self.limit, self.unit);
        let end = window.end(self.mode);
        let (next, units) = (skip_spaces(self.text, start + end), window.units(end));
        Cut { end: start + end, next, open: None, units }
    }
}

#[cfg(test)]
mod promises;
#[cfg(test)]
mod tests;
