//! Where a chunk of plain text ends, for [`Mode::Length`] and [`Mode::Newline`].
//!
//! The chunk is measured once, from its beginning to the limit; then the break is looked for from the limit backwards,
//! no further than a cut is wanted. So the time goes into measuring, and that goes by blocks.

use crate::boundary::{floor, is_boundary, is_space, skip_spaces, trim_end, within_cluster};
use crate::breaks::{has_word_end, last_open_newline, last_sentence, last_word};
use crate::{Mode, Unit};

/// The text from the beginning of a chunk on, and how much of it may go into the chunk.
pub(super) struct Window<'a> {
    text: &'a str,
    limit: usize,
    unit: Unit,
    /// Bytes that are within the limit.
    hard: usize,
    /// Whether each of these bytes is a unit.
    is_simple: bool,
}

impl<'a> Window<'a> {
    pub(super) fn new(text: &'a str, limit: usize, unit: Unit) -> Self {
        let (hard, units) = unit.measure(text, limit);
        Self { text, limit, unit, hard, is_simple: hard == units }
    }

    /// Where the chunk ends; behind its first code point at the earliest.
    pub(super) fn end(&self, mode: Mode) -> usize {
        let all = trim_end(self.text, self.hard);
        // A sign that takes the next one into its cluster takes a space too.
        if skip_spaces(self.text, all) == self.text.len() && is_boundary(self.text, all) {
            return all;
        }
        let line = if mode == Mode::Newline { self.line_or_sentence() } else { None };
        line.or_else(|| self.word(mode)).unwrap_or_else(|| self.cluster())
    }

    /// The last paragraph, else the last line, else the last sentence, if the chunk is half full with it.
    fn line_or_sentence(&self) -> Option<usize> {
        let (paragraph, line) = self.paragraph_and_line();
        let sentence = || {
            // What ends before half of the limit in bytes is less than half full in any unit.
            let half = self.limit.saturating_sub(1) / 2;
            let from = line.map_or(0, |line| skip_spaces(self.text, line)).max(half);
            last_sentence(self.text, from, self.hard)
        };
        let half_full = |end: &usize| self.is_full(*end, 2);
        paragraph
            .filter(half_full)
            .or_else(|| line.filter(half_full))
            .or_else(|| sentence().filter(half_full))
    }

    /// Where the last paragraph and the last line end; the paragraph only if it may be half full.
    fn paragraph_and_line(&self) -> (Option<usize>, Option<usize>) {
        let mut line = None;
        let mut newline = self.last_newline();
        while let Some(at) = newline {
            let end = trim_end(self.text, at.min(self.hard));
            if end == 0 {
                break;
            }
            line = line.or(Some(end));
            let gap = &self.text[end..skip_spaces(self.text, end)];
            if gap.bytes().filter(|byte| *byte == b'\n').nth(1).is_some() {
                return (Some(end), line);
            }
            if end.saturating_mul(2) < self.limit {
                break;
            }
            newline = last_open_newline(self.text, end);
        }
        (None, line)
    }

    /// The line break that ends the last line which fits. White space before it need not fit.
    fn last_newline(&self) -> Option<usize> {
        let behind = self.text[self.hard..].trim_start_matches(|c| is_space(c) && c != '\n');
        if behind.starts_with('\n') && is_boundary(self.text, self.hard) {
            return Some(self.text.len() - behind.len());
        }
        self.text[..self.hard].rfind('\n')
    }

    /// The last word, if it does not leave the chunk nearly empty.
    fn word(&self, mode: Mode) -> Option<usize> {
        let end = last_word(self.text, self.hard).filter(|end| self.is_full(*end, 10))?;
        // The fewest chunks: a word that has to be cut anyway is begun in this one.
        let keeps = mode != Mode::Length || self.next_word_fits_a_chunk(end);
        keeps.then_some(end)
    }

    fn next_word_fits_a_chunk(&self, end: usize) -> bool {
        let begin = skip_spaces(self.text, end);
        if begin >= self.hard {
            return true;
        }
        let reach = begin + self.unit.prefix(&self.text[begin..], self.limit);
        has_word_end(self.text, self.hard, reach.max(self.hard))
    }

    /// The last cluster, or, if not even one fits, the last code point.
    fn cluster(&self) -> usize {
        let end = match floor(self.text, self.hard) {
            0 => within_cluster(self.text, self.hard),
            end => end,
        };
        let first = self.text.chars().next().map_or(0, char::len_utf8);
        match trim_end(self.text, end) {
            // A space that carries marks.
            0 => end.max(first),
            end => end,
        }
    }

    /// Whether a chunk that ends at `end` is at least one `parts`th full.
    fn is_full(&self, end: usize, parts: usize) -> bool {
        let reaches = |units: usize| units.saturating_mul(parts) >= self.limit;
        // No unit is smaller than a byte.
        reaches(end) && reaches(self.units(end))
    }

    /// Units of a chunk that ends at `end`.
    pub(super) fn units(&self, end: usize) -> usize {
        if self.is_simple { end } else { self.unit.count(&self.text[..end]) }
    }
}
