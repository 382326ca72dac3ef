//! Cutting a text into chunks.
//!
//! No chunk is over the limit, fence lines included; chunks follow each other in order, and only white space lies
//! between them. Each chunk looks at no more of the text than fits in it, so that the whole takes linear time.
//!
//! A chunk is planned in two steps: line by line as far as whole lines fit, remembering the last good place to cut;
//! then within the first line that does not fit. A fence whose lines would fill the chunks by themselves, and leave no
//! room for code, is taken for plain text: it is cut like any other line and not closed.

use core::ops::Range;

use crate::boundary::{
    ends_sentence, ends_sentence_before, floor, is_boundary, is_space, skip_spaces, trim_end, within_cluster,
};
use crate::fence::{Role, role};
use crate::{Fence, Mode, Unit};

/// Room for content that a fence must leave in a chunk, in units: two code points of any width.
const FENCE_ROOM: usize = 8;

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
    split.at = split.next_start(0).0;
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

/// The line ends at which a chunk could be cut, the last one of each kind.
#[derive(Debug, Default)]
struct LineCuts<'a> {
    paragraph: Option<Cut<'a>>,
    line: Option<Cut<'a>>,
    /// Would leave a code block empty: only if there is no other.
    resort: Option<Cut<'a>>,
}

impl<'a> Iterator for Split<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        if self.at >= self.text.len() {
            return None;
        }
        let (start, reopen) = (self.at, self.open);
        let cut = self.plan(start);
        self.at = cut.next;
        self.open = cut.open;
        let range = start..cut.end;
        Some(Chunk { text: &self.text[range.clone()], range, units: cut.units, reopen, close: cut.open })
    }
}

impl<'a> Split<'a> {
    /// Where to end the chunk that begins at `start`.
    fn plan(&self, start: usize) -> Cut<'a> {
        let mut open = self.open;
        let mut used = open.map_or(0, |fence| fence.opening_units(self.unit));
        let hard = start + self.unit.prefix(&self.text[start..], self.limit - used);
        let mut cuts = LineCuts::default();
        let mut at = start;
        while let Some(end) = self.line_end(at, hard) {
            let line = &self.text[at..end];
            let role = self.role(line, open.as_ref());
            let mut after = match role {
                Role::Opens(fence) => Some(fence),
                Role::Closes => None,
                Role::Other => open,
            };
            let content = used + self.unit.count(line);
            let (next, blank) = self.next_start(end);
            let next_line = self.line_at(next);
            after = after.filter(|fence| next == self.text.len() || !fence.is_left_by(next_line, blank));
            let units = content + after.map_or(0, |fence| fence.closing_units());
            let cut = Cut { end, next, open: after, units };
            let closes_next = next < self.text.len() && self.role(next_line, after.as_ref()) == Role::Closes;
            let gap = self.unit.count(&self.text[end..next]);
            if units <= self.limit {
                if next == self.text.len() {
                    return cut;
                }
                if closes_next || matches!(role, Role::Opens(_)) {
                    cuts.resort = Some(cut);
                } else {
                    cuts.line = Some(cut);
                    let opens_next = matches!(self.role(next_line, after.as_ref()), Role::Opens(_));
                    if blank || opens_next {
                        cuts.paragraph = Some(cut);
                    }
                }
            } else if !closes_next || content + gap + self.unit.count(next_line) > self.limit {
                break;
            }
            (used, at, open) = (content + gap, next, after);
            if at >= hard {
                break;
            }
        }
        self.choose(start, at, used, open, &cuts)
    }

    /// The best cut, when everything before the line at `at` fits and that line does not.
    fn choose(
        &self,
        start: usize,
        at: usize,
        used: usize,
        open: Option<Fence<'a>>,
        cuts: &LineCuts<'a>,
    ) -> Cut<'a> {
        let closing = open.map_or(0, |fence| fence.closing_units());
        let room = self.limit.saturating_sub(used + closing);
        let room = if self.role(self.line_at(at), open.as_ref()) == Role::Other { room } else { 0 };
        let line = &self.text[at..];
        let hard = self.unit.prefix(line, room);
        let within = |end: usize| Cut {
            end: at + end,
            next: at + skip_spaces(line, end),
            open,
            units: used + closing + self.unit.count(&line[..end]),
        };
        let (sentence, word) = last_breaks(line, hard);
        let (sentence, word) = (sentence.map(within), word.map(within));
        let full = |cut: &Option<Cut<'a>>, parts: usize| cut.filter(|cut| cut.units >= self.limit / parts);
        let LineCuts { paragraph, line: whole, resort } = cuts;
        let preferred = match self.mode {
            Mode::Length => None,
            _ if open.is_some() => full(whole, 10),
            _ => full(paragraph, 2).or_else(|| full(whole, 2)).or_else(|| full(&sentence, 2)),
        };
        // Between clusters, or, if not even one fits in an empty chunk, between code points.
        let clusters = || {
            let blank = |end: usize| line[..end].trim_matches(is_space).is_empty();
            let end = floor(line, hard);
            let end =
                if blank(end) && (at == start || whole.is_none()) { within_cluster(line, hard) } else { end };
            (!blank(end)).then(|| within(trim_end(line, end)))
        };
        preferred
            .or_else(|| full(&word, 10))
            .or_else(|| full(whole, 10))
            .or_else(clusters)
            .or(*whole)
            .or(*resort)
            .unwrap_or_else(|| within(line.chars().next().map_or(0, char::len_utf8)))
    }

    /// Where the visible text of the line at `at` ends, if that is not past `hard`.
    fn line_end(&self, at: usize, hard: usize) -> Option<usize> {
        let line = &self.text[at..];
        let hard = hard - at;
        let end = match line[..hard].find('\n') {
            Some(end) => end,
            None => {
                let rest = line[hard..].trim_start_matches(|c| is_space(c) && c != '\n');
                let ends_here = hard == line.len() || rest.is_empty() || rest.starts_with('\n');
                (ends_here && is_boundary(line, hard)).then_some(hard)?
            }
        };
        Some(at + trim_end(line, end))
    }

    /// The line at `at` without its white space at the end, as far as it can matter for fences.
    fn line_at(&self, at: usize) -> &'a str {
        if self.mode != Mode::Markdown {
            return "";
        }
        let line = &self.text[at..];
        // A code point has at most four bytes: what is longer is no fence line that fits.
        let line = &line[..line.floor_char_boundary(self.limit.saturating_mul(4))];
        let line = line.split('\n').next().unwrap_or(line);
        &line[..trim_end(line, line.len())]
    }

    /// Where the text after the white space at `end` begins, and whether an empty line lies between.
    fn next_start(&self, end: usize) -> (usize, bool) {
        let visible = skip_spaces(self.text, end);
        let gap = &self.text[end..visible];
        let blank = gap.bytes().filter(|b| *b == b'\n').nth(1).is_some();
        let indented = gap.rfind('\n').map_or(end, |newline| end + newline + 1);
        let indentation = self.unit.count(&self.text[indented..visible]);
        let kept = indentation + FENCE_ROOM / 2 <= FENCE_ROOM.min(self.limit).max(self.limit / 4);
        let start = if self.mode == Mode::Markdown && kept { indented } else { visible };
        (if visible == self.text.len() { visible } else { start }, blank)
    }

    /// What `line` means for fences; nothing if honouring it would leave no room for code.
    fn role(&self, line: &'a str, open: Option<&Fence<'a>>) -> Role<'a> {
        if self.mode != Mode::Markdown {
            return Role::Other;
        }
        let role = role(line, open);
        let lines = match (&role, open) {
            (Role::Opens(fence), _) => {
                fence.opening_units(self.unit).max(self.unit.count(line) + 1) + fence.closing_units()
            }
            (Role::Closes, Some(fence)) => fence.opening_units(self.unit) + self.unit.count(line),
            _ => 0,
        };
        if lines + FENCE_ROOM > self.limit || lines > self.limit / 4 * 3 { Role::Other } else { role }
    }
}

/// The ends of the last sentence and of the last word within `line[..hard]` that have something before them.
fn last_breaks(line: &str, hard: usize) -> (Option<usize>, Option<usize>) {
    let mut word = None;
    let mut next = line[hard..].chars().next();
    for (at, c) in line[..hard].char_indices().rev() {
        let end = at + c.len_utf8();
        let breaks = next.is_some_and(is_space) && !is_space(c);
        if (breaks || ends_sentence_before(c, next)) && is_boundary(line, end) {
            if breaks && word.is_none() {
                word = Some(end);
            }
            if ends_sentence_before(c, next) || ends_sentence(&line[..end]) {
                return (Some(end), word.or(Some(end)));
            }
        }
        next = Some(c);
    }
    (None, word)
}

#[cfg(test)]
mod tests;
