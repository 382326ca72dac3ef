//! Code blocks, and what becomes of them if there is no room for a fence.

use crate::document::{Text, TextCow};
use crate::markup::{code_replacements, is_language_name};

use super::builder::Builder;
use super::model::Block;

const SHORTEST_FENCE: &str = "```";

/// The bytes of `<pre>`, `<code class="language-">` and their closing tags, rounded up.
const CODE_TAGS_BYTES: usize = 40;

impl<'a> Builder<'a> {
    pub(super) fn add_code(&mut self, parent: Option<usize>, language: &'a str, text: &'a str) {
        let markup = self.layout.markup;
        let has_fence = markup.has_fences(self.layout.is_in_quote(parent));
        if markup.has_marks() && !has_fence {
            return self.add_text(parent, None, TextCow::Borrowed(Text::plain(text)));
        }
        let at = self.layout.leaves.len();
        // The code takes this place once it is known whether there is room for its fence.
        self.push(parent, Block::Rule);
        // A backtick in the language would make the opening fence longer than the closing one.
        let is_written = !language.contains('`') && (is_language_name(language) || !markup.has_marks());
        let mut language = if is_written { language } else { "" };
        self.layout.leaves[at].shown_fence = fence_longer_than_in(text);
        if has_fence {
            self.layout.leaves[at].fence = self.fence_for(text);
            let first_line = if markup.names_language() { language } else { "" };
            if !self.count_fence(at, first_line) {
                language = "";
                if !self.count_fence(at, "") {
                    self.layout.leaves[at].fence.clear();
                    self.layout.leaves[at].shown_fence.clear();
                }
            }
        }
        if markup.has_marks() && self.layout.leaves[at].fence.is_empty() {
            self.layout.leaves.pop();
            return self.add_text(parent, None, TextCow::Borrowed(Text::plain(text)));
        }
        self.count_tag(at, CODE_TAGS_BYTES + language.len());
        let replacements = code_replacements(markup, text);
        self.layout.leaves[at].block = Block::Code { language, text, replacements };
    }

    pub(super) fn fence_for(&self, text: &str) -> String {
        match self.layout.markup.has_long_fences() {
            true => fence_longer_than_in(text),
            false => SHORTEST_FENCE.to_owned(),
        }
    }

    /// Adds the cost of the fence to a leaf. Returns false and adds nothing if that would leave less than half a part.
    fn count_fence(&mut self, at: usize, first_line: &str) -> bool {
        let layout = &mut self.layout;
        let leaf = &layout.leaves[at];
        let unit = layout.unit;
        let (prefix, fence) = (unit.count(layout.prefix_of(leaf)), leaf.fence.len());
        let first = prefix.max(unit.count(layout.first_prefix_of(leaf)));
        let units_before = first + fence + unit.count(first_line) + 1 + prefix;
        let units_after = 1 + prefix + fence;
        let fits = units_before + units_after <= layout.limit / 2;
        if fits {
            let leaf = &mut layout.leaves[at];
            (leaf.units_before, leaf.units_after) = (units_before, units_after);
        }
        fits
    }
}

/// A fence with more backticks than `text` has in a row.
pub(super) fn fence_longer_than_in(text: &str) -> String {
    let (mut longest, mut run, mut next) = (0, 0, 0);
    for at in memchr::memchr_iter(b'`', text.as_bytes()) {
        run = if at == next { run + 1 } else { 1 };
        (longest, next) = (longest.max(run), at + 1);
    }
    "`".repeat((longest + 1).max(SHORTEST_FENCE.len()))
}
