//! Pages of columns × rows for a display.
//!
//! The pages of a text have no gaps: every byte is on exactly one page, so nothing that a person approves can hide between
//! two of them. A line omits only the line break that ends it and the one space at which it was wrapped.

use core::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The columns that one grapheme cluster takes on a terminal or a fixed-width font: two for wide ones (CJK, emoji),
/// none for a combining mark on its own. Any other text works too.
pub fn display_width(cluster: &str) -> usize {
    // Printable ASCII, which most text is, takes one column a byte.
    if is_printable_ascii(cluster.as_bytes()) { cluster.len() } else { cluster.width() }
}

/// Whether all of `text` is between the space and the tilde; eight bytes are looked at in one go.
fn is_printable_ascii(text: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().all(|b| matches!(b, b' '..=b'~'));
    };
    // The last eight may overlap with those before. The highest bit of a byte is set where it is, where adding one sets
    // it, or where taking 0x20 away borrows.
    let others = text.as_chunks::<8>().0.iter().chain([last]).fold(0, |others, block| {
        let block = u64::from_le_bytes(*block);
        others | block | block.wrapping_add(EACH) | block.wrapping_sub(EACH * 0x20)
    });
    others & (EACH * 0x80) == 0
}

/// Lays `text` out on a display of `columns` × `rows` (each taken as at least one).
///
/// `width` says how many columns one grapheme cluster takes as displayed; [`display_width`], or more for clusters that
/// are shown as a visible escape. Line breaks in the text end a line; a longer line is wrapped behind a space or beside
/// a wide cluster, else between clusters. A cluster that is wider than the display has a line to itself.
pub fn pages(text: &str, columns: usize, rows: usize, width: fn(&str) -> usize) -> Pages<'_> {
    Pages { layout: Layout { text, columns: columns.max(1), width }, rows: rows.max(1), at: 0 }
}

/// How one text is broken into lines.
#[derive(Debug, Clone, Copy)]
struct Layout<'a> {
    text: &'a str,
    columns: usize,
    width: fn(&str) -> usize,
}

impl Layout<'_> {
    /// The line that begins at `start`: where its visible text ends, and where the next line begins.
    fn line(&self, start: usize) -> (usize, usize) {
        let mut used = 0;
        let mut wrap = None;
        for (offset, cluster) in self.text[start..].grapheme_indices(true) {
            let (at, end) = (start + offset, start + offset + cluster.len());
            if matches!(cluster, "\n" | "\r\n") {
                return (at, end);
            }
            let wide = display_width(cluster) > 1;
            if wide && at > start {
                wrap = Some(at);
            }
            used += (self.width)(cluster);
            if used > self.columns {
                return match wrap {
                    _ if cluster == " " && at > start => (at, self.after_break(end)),
                    _ if at == start => (end, self.after_break(end)),
                    Some(wrap) => (wrap, wrap),
                    None => (at, at),
                };
            }
            if wide || cluster == " " {
                wrap = Some(end);
            }
        }
        (self.text.len(), self.text.len())
    }

    /// A line break right behind a full line ends that line, not an empty one of its own.
    fn after_break(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        at + if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) }
    }
}

/// The pages of a text, in order. Made by [`pages`]; an empty text has none.
#[derive(Debug, Clone)]
pub struct Pages<'a> {
    layout: Layout<'a>,
    rows: usize,
    at: usize,
}

impl<'a> Iterator for Pages<'a> {
    type Item = Page<'a>;

    fn next(&mut self) -> Option<Page<'a>> {
        let start = self.at;
        for _ in 0..self.rows {
            if self.at < self.layout.text.len() {
                self.at = self.layout.line(self.at).1;
            }
        }
        (start < self.at).then_some(Page { layout: self.layout, start, end: self.at })
    }
}

/// One page: at most as many lines as the display has rows.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    layout: Layout<'a>,
    start: usize,
    end: usize,
}

impl<'a> Page<'a> {
    /// The lines to show, from top to bottom, without their line breaks; none is wider than the display, but for a
    /// single cluster that is wider by itself.
    pub fn lines(&self) -> Lines<'a> {
        Lines { layout: self.layout, at: self.start, end: self.end }
    }

    /// The bytes of the text that are on this page. The ranges of all pages cover the text without gap or overlap.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The lines of one [`Page`].
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    layout: Layout<'a>,
    at: usize,
    end: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.at >= self.end {
            return None;
        }
        let start = self.at;
        let (visible, next) = self.layout.line(start);
        self.at = next;
        Some(&self.layout.text[start..visible])
    }
}

#[cfg(test)]
mod tests {
    use std::{format, string::String, vec, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    fn laid_out(text: &str, columns: usize, rows: usize) -> Vec<Vec<&str>> {
        pages(text, columns, rows, display_width).map(|page| page.lines().collect()).collect()
    }

    #[test]
    fn words_wrap_behind_the_space() {
        assert_eq!(laid_out("send the report now", 9, 2), vec![vec!["send the ", "report "], vec!["now"]]);
    }

    #[test]
    fn line_breaks_are_kept_and_empty_lines_too() {
        assert_eq!(laid_out("a\r\n\nb\n", 9, 9), vec![vec!["a", "", "b"]]);
    }

    #[test]
    fn a_long_word_breaks_between_clusters() {
        assert_eq!(laid_out("abcde\u{301}fg", 3, 9), vec![vec!["abc", "de\u{301}f", "g"]]);
    }

    #[test]
    fn a_space_that_does_not_fit_hangs_over_the_edge() {
        assert_eq!(laid_out("send the report", 8, 9), vec![vec!["send the", "report"]]);
    }

    #[test]
    fn wide_clusters_take_two_columns() {
        assert_eq!(laid_out("ab👨‍👩‍👧c", 3, 9), vec![vec!["ab", "👨‍👩‍👧c"]]);
        assert_eq!(laid_out("漢字仮名", 5, 2), vec![vec!["漢字", "仮名"]]);
    }

    #[test]
    fn a_cluster_wider_than_the_display_is_shown_alone() {
        let escaped = |cluster: &str| if cluster == "\u{202e}" { 8 } else { 1 };
        let lines: Vec<_> = pages("a\u{202e}b", 4, 9, escaped).flat_map(|page| page.lines()).collect();
        assert_eq!(lines, ["a", "\u{202e}", "b"]);
    }

    #[test]
    fn more_than_one_space_at_the_edge_stays_visible() {
        assert_eq!(laid_out("ab   c", 2, 9), vec![vec!["ab", "  ", "c"]]);
    }

    #[test]
    fn an_empty_text_has_no_page() {
        assert_eq!(pages("", 10, 2, display_width).count(), 0);
    }

    proptest! {
        #[test]
        fn every_character_is_on_exactly_one_page(
            text in "([a-c \n漢]|\r\n|👨‍👩‍👧|🇩🇪|e\u{301}|\u{200b}|\\PC){0,80}", columns in 0usize..9, rows in 0usize..4,
        ) {
            let mut next = 0;
            let mut seen = String::new();
            for page in pages(&text, columns, rows, display_width) {
                prop_assert_eq!(page.range().start, next);
                prop_assert!(page.range().end > next);
                next = page.range().end;
                prop_assert!(page.lines().count() <= rows.max(1));
                for line in page.lines() {
                    let alone = line.graphemes(true).count() == 1;
                    let width: usize = line.graphemes(true).map(display_width).sum();
                    prop_assert!(width <= columns.max(1) || alone, "{line:?} is {width} wide");
                    seen.push_str(line);
                }
            }
            prop_assert_eq!(next, text.len());
            let visible = |text: &str| text.chars().filter(|c| !matches!(c, ' ' | '\n' | '\r')).collect::<String>();
            prop_assert_eq!(visible(&seen), visible(&text), "{}", format!("{columns}x{rows}"));
        }
    }
}
