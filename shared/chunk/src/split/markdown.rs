//! Where a chunk of Markdown ends: [`Mode::Markdown`](crate::Mode::Markdown).
//!
//! A chunk is planned in two steps: line by line as far as whole lines fit, remembering the last good place to cut;
//! then within the first line that does not fit. A fence whose lines would fill the chunks by themselves, and leave no
//! room for code, is taken for plain text: it is cut like any other line and not closed.

use super::{Cut, Split};
use crate::Fence;
use crate::boundary::{floor, is_boundary, is_space, skip_spaces, trim_end, within_cluster};
use crate::breaks::{last_sentence, last_word};
use crate::fence::{Role, role};

/// Room for content that a fence must leave in a chunk, in units: two code points of any width.
const FENCE_ROOM: usize = 8;

/// The line ends at which a chunk could be cut, the last one of each kind.
#[derive(Debug, Default)]
struct LineCuts<'a> {
    paragraph: Option<Cut<'a>>,
    line: Option<Cut<'a>>,
    /// Would leave a code block empty: only if there is no other.
    resort: Option<Cut<'a>>,
}

impl<'a> Split<'a> {
    /// Where to end the chunk that begins at `start`.
    pub(super) fn plan_markdown(&self, start: usize) -> Cut<'a> {
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
        let full = |cut: &Option<Cut<'a>>, parts: usize| {
            cut.filter(|cut| cut.units.saturating_mul(parts) >= self.limit)
        };
        let LineCuts { paragraph, line: whole, resort } = cuts;
        let preferred = if open.is_some() {
            full(whole, 10)
        } else {
            let sentence = || full(&last_sentence(line, 0, hard).map(within), 2);
            full(paragraph, 2).or_else(|| full(whole, 2)).or_else(sentence)
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
            .or_else(|| full(&last_word(line, hard).map(within), 10))
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
        let line = &self.text[at..];
        // A code point has at most four bytes: what is longer is no fence line that fits.
        let line = &line[..line.floor_char_boundary(self.limit.saturating_mul(4))];
        let line = line.split('\n').next().unwrap_or(line);
        &line[..trim_end(line, line.len())]
    }

    /// Where the text after the white space at `end` begins, its indentation included unless that would fill chunks;
    /// and whether an empty line lies between.
    pub(super) fn next_start(&self, end: usize) -> (usize, bool) {
        let visible = skip_spaces(self.text, end);
        let gap = &self.text[end..visible];
        let blank = gap.bytes().filter(|b| *b == b'\n').nth(1).is_some();
        let indented = gap.rfind('\n').map_or(end, |newline| end + newline + 1);
        let indentation = self.unit.count(&self.text[indented..visible]);
        let kept = indentation + FENCE_ROOM / 2 <= FENCE_ROOM.min(self.limit).max(self.limit / 4);
        let start = if kept { indented } else { visible };
        (if visible == self.text.len() { visible } else { start }, blank)
    }

    /// What `line` means for fences; nothing if honouring it would leave no room for code.
    fn role(&self, line: &'a str, open: Option<&Fence<'a>>) -> Role<'a> {
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
