//! Code blocks, and what becomes of them where a fence finds no room.

use super::super::escape;
use super::super::html::is_language;
use super::super::text::{Held, Text};
use super::{Block, Layout};

impl<'a> Layout<'a> {
    pub(super) fn add_code(&mut self, parent: Option<usize>, language: &'a str, text: &'a str) {
        let in_quote = self.in_quote(parent);
        if self.pen.has_marks() && !self.pen.fences(in_quote) {
            return self.add_text(parent, None, Held::Lent(Text::plain(text)));
        }
        let at = self.leaves.len();
        self.push(parent, Block::Rule);
        // A backtick in it would make the fence longer than the one that closes it.
        let is_written = !language.contains('`') && (is_language(language) || !self.pen.has_marks());
        let mut language = if is_written { language } else { "" };
        self.leaves[at].backticks = fence_around(text);
        if self.pen.fences(in_quote) {
            self.leaves[at].fence = self.fence_for(text);
            let first_line = if self.pen.names_language() { language } else { "" };
            if !self.fence(at, first_line) {
                language = "";
                if !self.fence(at, "") {
                    self.leaves[at].fence.clear();
                    self.leaves[at].backticks.clear();
                }
            }
        }
        if self.pen.has_marks() && self.leaves[at].fence.is_empty() {
            self.leaves.pop();
            return self.add_text(parent, None, Held::Lent(Text::plain(text)));
        }
        self.wrap(at, 40 + language.len());
        let swaps = escape::code_swaps(self.pen, text);
        self.leaves[at].block = Block::Code { language, text, swaps };
    }

    pub(super) fn fence_for(&self, text: &str) -> String {
        if self.pen.fences_grow() { fence_around(text) } else { "```".to_owned() }
    }

    /// Adds up what the fence of a leaf costs; whether half a part is left.
    fn fence(&mut self, at: usize, first_line: &str) -> bool {
        let unit = self.unit;
        let laid = &self.leaves[at];
        let (indent, fence) = (unit.count(self.indent_of(laid)), laid.fence.len());
        let first = indent.max(unit.count(self.marked_of(laid)));
        let (lead, tail) = (first + fence + unit.count(first_line) + 1 + indent, 1 + indent + fence);
        let fits = lead + tail <= self.limit / 2;
        if fits {
            let laid = &mut self.leaves[at];
            (laid.lead, laid.tail) = (lead, tail);
        }
        fits
    }
}

/// Backticks, more than the text itself has in a row.
pub(super) fn fence_around(text: &str) -> String {
    let (mut longest, mut run, mut next) = (0, 0, 0);
    for at in memchr::memchr_iter(b'`', text.as_bytes()) {
        run = if at == next { run + 1 } else { 1 };
        (longest, next) = (longest.max(run), at + 1);
    }
    "`".repeat((longest + 1).max(3))
}
