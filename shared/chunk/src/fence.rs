//! Fenced code blocks, as far as needed to split one.
//!
//! A chunk that ends inside a fence must close it, and the next chunk must open it again, in the same block quote and
//! with the same language. List marks before a fence become blanks when it is opened again, because the item has begun
//! before.

use crate::Unit;

/// A fenced code block that is open: what it takes to open it again and to close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence<'a> {
    /// What stands before the fence on its line: blanks, block quote marks, a list mark.
    prefix: &'a str,
    /// From the marker to the end of the info string, as written.
    line: &'a str,
    marker: usize,
    quotes: usize,
    /// Columns that the fence's list item takes, when the item begins on the fence's own line.
    item: usize,
}

/// What a line means to the fences around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    Opens(Fence<'a>),
    Closes,
    Other,
}

impl<'a> Fence<'a> {
    /// The fence itself: three or more backticks or tildes.
    pub fn marker(&self) -> &'a str {
        &self.line[..self.marker]
    }

    /// What follows the fence on its line, such as the language; often empty.
    pub fn info(&self) -> &'a str {
        self.line[self.marker..].trim()
    }

    /// Writes the line that opens the block again, without a line break.
    pub fn write_opening(&self, out: &mut impl core::fmt::Write) -> core::fmt::Result {
        self.write_prefix(out)?;
        out.write_str(self.line)
    }

    /// Writes the line that closes the block, without a line break.
    pub fn write_closing(&self, out: &mut impl core::fmt::Write) -> core::fmt::Result {
        self.write_prefix(out)?;
        out.write_str(self.marker())
    }

    /// Four blanks would make the line indented code; no more than three of them are written.
    fn write_prefix(&self, out: &mut impl core::fmt::Write) -> core::fmt::Result {
        let (quotes, blanks) = self.split_prefix();
        quotes.chars().try_for_each(|c| out.write_char(if c == '>' { '>' } else { ' ' }))?;
        (0..blanks).try_for_each(|_| out.write_char(' '))
    }

    fn split_prefix(&self) -> (&'a str, usize) {
        let quoted = self.prefix.rfind('>').map_or(0, |at| at + 1);
        let (quotes, blanks) = self.prefix.split_at(quoted);
        (quotes, blanks.chars().count().min(3))
    }

    fn prefix_units(&self) -> usize {
        let (quotes, blanks) = self.split_prefix();
        quotes.chars().count() + blanks
    }

    /// Units of the opening line and its line break.
    pub(crate) fn opening_units(&self, unit: Unit) -> usize {
        self.prefix_units() + unit.count(self.line) + 1
    }

    /// Units of the closing line and the line break before it.
    pub(crate) fn closing_units(&self) -> usize {
        1 + self.prefix_units() + self.marker
    }

    /// Whether `line`, which comes next, ends the quote or list item that the fence is in; `after_blank` if an empty
    /// line comes between.
    pub(crate) fn is_left_by(&self, line: &str, after_blank: bool) -> bool {
        let quotes = quote_marks(line);
        if quotes.count < self.quotes || (after_blank && self.quotes > 0) {
            return true;
        }
        let blanks = line[quotes.end..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
        blanks < self.item
    }

    /// Whether `line` closes this fence.
    pub(crate) fn is_closed_by(&self, line: &str) -> bool {
        let rest = line[quote_marks(line).end..].trim_matches([' ', '\t', '\r']);
        rest.len() >= self.marker && rest.bytes().all(|b| b == self.line.as_bytes()[0])
    }
}

/// What `line` means while `open` is open.
pub(crate) fn role<'a>(line: &'a str, open: Option<&Fence<'_>>) -> Role<'a> {
    match open {
        Some(fence) if fence.is_closed_by(line) => Role::Closes,
        Some(_) => Role::Other,
        None => opening(line).map_or(Role::Other, Role::Opens),
    }
}

fn opening(line: &str) -> Option<Fence<'_>> {
    let quotes = quote_marks(line);
    let mut at = quotes.end;
    let mut item = 0;
    loop {
        let rest = line[at..].trim_start_matches([' ', '\t']);
        at = line.len() - rest.len();
        match list_mark(rest) {
            0 => break,
            mark => {
                at += mark;
                item = at - quotes.end;
            }
        }
    }
    let line_from_marker = line[at..].trim_end();
    let first = *line_from_marker.as_bytes().first()?;
    let marker = line_from_marker.bytes().take_while(|b| *b == first).count();
    let is_fence = matches!(first, b'`' | b'~') && marker >= 3;
    if !is_fence || (first == b'`' && line_from_marker[marker..].contains('`')) {
        return None;
    }
    Some(Fence { prefix: &line[..at], line: line_from_marker, marker, quotes: quotes.count, item })
}

struct QuoteMarks {
    count: usize,
    end: usize,
}

/// The `>` marks at the start of a line, and the one blank that may follow the last.
fn quote_marks(line: &str) -> QuoteMarks {
    let mut marks = QuoteMarks { count: 0, end: 0 };
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'>' => marks = QuoteMarks { count: marks.count + 1, end: at + 1 },
            b' ' | b'\t' => {}
            _ => break,
        }
    }
    if marks.count > 0 && line[marks.end..].starts_with(' ') {
        marks.end += 1;
    }
    marks
}

/// Bytes of the list mark that `rest` begins with, and the blank behind it; 0 for none.
fn list_mark(rest: &str) -> usize {
    let digits = rest.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let mark = match rest.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if (1..10).contains(&digits) => digits + 1,
        _ => return 0,
    };
    if rest[mark..].starts_with([' ', '\t']) { mark + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;

    fn rewritten(line: &str) -> (String, String) {
        let fence = opening(line).unwrap();
        let (mut open, mut close) = (String::new(), String::new());
        fence.write_opening(&mut open).unwrap();
        fence.write_closing(&mut close).unwrap();
        assert_eq!(fence.opening_units(Unit::Bytes), open.len() + 1);
        assert_eq!(fence.closing_units(), close.len() + 1);
        (open, close)
    }

    #[test]
    fn a_fence_in_a_quote_or_a_list_is_opened_again_there() {
        assert_eq!(rewritten("````rust ignore  "), ("````rust ignore".into(), "````".into()));
        assert_eq!(rewritten("> > ~~~ sh"), ("> > ~~~ sh".into(), "> > ~~~".into()));
        assert_eq!(rewritten("- ```js"), ("  ```js".into(), "  ```".into()));
        assert_eq!(rewritten(">      ```"), (">   ```".trim().into(), ">   ```".into()));
    }

    #[test]
    fn inline_code_opens_no_fence() {
        assert_eq!(opening("```not a fence```"), None);
        assert_eq!(opening("``"), None);
        assert!(opening("~~~ with ` in it").is_some());
    }

    #[test]
    fn only_its_own_marker_closes_a_fence() {
        let fence = opening("````md").unwrap();
        assert!(!fence.is_closed_by("```"));
        assert!(!fence.is_closed_by("````md"));
        assert!(!fence.is_closed_by("~~~~"));
        assert!(fence.is_closed_by("`````  "));
    }

    #[test]
    fn the_end_of_its_quote_or_item_ends_a_fence() {
        let quoted = opening("> ```").unwrap();
        assert!(quoted.is_left_by("text", false));
        assert!(!quoted.is_left_by("> code", false));
        assert!(quoted.is_left_by("> code", true));
        let listed = opening("1. ```").unwrap();
        assert!(listed.is_left_by("text", false));
        assert!(!listed.is_left_by("   code", true));
    }
}
