//! One text of a document, to read: characters, their styles, and the links in them.
//!
//! Styles are flat runs instead of a tree. A slice of a text therefore has its styles at hand, and markup made from it is
//! always balanced. Links do not nest, and their labels are never empty.
//!
//! A document has tens of thousands of texts, most of them table cells of a few words. [`Texts`](super::Texts) keeps them
//! in a few buffers; a [`Text`] borrows from those.

use std::borrow::Cow;
use std::ops::Range;

use super::link::{Link, UrlForm};
use super::style::TextStyle;
use crate::scan::partition_near_start;

/// Where a style begins, in bytes of its text, and the style.
pub(super) type Run = (usize, TextStyle);

/// A text, to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(super) text: &'a str,
    /// In order, without equal neighbours. Empty if all of the text is plain, as in most cells.
    pub(super) runs: &'a [Run],
    pub(super) links: &'a [Link],
}

impl<'a> Text<'a> {
    /// Text without any style.
    pub(crate) fn plain(text: &'a str) -> Self {
        Self { text, runs: &[], links: &[] }
    }

    #[inline]
    pub(crate) fn as_str(self) -> &'a str {
        self.text
    }

    #[inline]
    pub(crate) fn links(self) -> &'a [Link] {
        self.links
    }

    /// Whether no range of it has a style, not even a link.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.runs.iter().all(|(_, style)| style.is_plain())
    }

    pub(crate) fn has_spoilers(self) -> bool {
        self.runs.iter().any(|(_, style)| style.is_spoiler())
    }

    pub(crate) fn is_blank(self) -> bool {
        self.text.trim_start().is_empty()
    }

    /// The same text without the style runs that end before the character before `at`. Styles from there on are found in
    /// a few steps, however long the text is; nothing may be asked about what comes earlier.
    #[inline]
    pub(crate) fn without_runs_before(self, at: usize) -> Self {
        let first = partition_near_start(self.runs, |(start, _)| *start < at).saturating_sub(1);
        Self { runs: &self.runs[first..], ..self }
    }

    #[inline]
    fn runs(self) -> &'a [Run] {
        const PLAIN: &[Run] = &[(0, TextStyle::PLAIN)];
        if self.runs.is_empty() { PLAIN } else { self.runs }
    }

    /// The slices of `range` that have one style each.
    #[inline]
    pub(crate) fn slices(self, range: Range<usize>) -> impl Iterator<Item = (&'a str, TextStyle)> {
        self.slices_at(range).map(|(_, slice, style)| (slice, style))
    }

    /// Like [`Text::slices`], each with its offset in the text.
    #[inline]
    pub(crate) fn slices_at(self, range: Range<usize>) -> impl Iterator<Item = (usize, &'a str, TextStyle)> {
        let runs = self.runs();
        let first = partition_near_start(runs, |(start, _)| *start <= range.start).saturating_sub(1);
        runs[first..].iter().enumerate().map_while(move |(n, (start, style))| {
            let end = runs.get(first + n + 1).map_or(self.text.len(), |(next, _)| *next);
            let slice = (*start).max(range.start)..end.min(range.end);
            (slice.start < slice.end).then(|| (slice.start, &self.text[slice], *style))
        })
    }

    /// The ranges in `range` that are spoilers and those between them, each with whether it is one.
    pub(crate) fn split_by_spoiler(self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, bool)> {
        let mut slices = self.slices_at(range).peekable();
        std::iter::from_fn(move || {
            let (start, slice, style) = slices.next()?;
            let (mut end, is_spoiler) = (start + slice.len(), style.is_spoiler());
            while let Some((_, more, _)) = slices.next_if(|(.., style)| style.is_spoiler() == is_spoiler) {
                end += more.len();
            }
            Some((start..end, is_spoiler))
        })
    }

    /// The styles in `range`. No two neighbours are equal.
    #[inline]
    pub(crate) fn styles(self, range: Range<usize>) -> impl Iterator<Item = TextStyle> {
        let runs = self.runs();
        let first = partition_near_start(runs, |(start, _)| *start <= range.start).saturating_sub(1);
        runs[first..].iter().take_while(move |(start, _)| *start < range.end).map(|(_, style)| *style)
    }

    /// The range around the character before `at` that has the same style.
    #[inline]
    pub(crate) fn run_before(self, at: usize) -> Range<usize> {
        let next = partition_near_start(self.runs(), |(start, _)| *start < at);
        let edge = |run: Option<usize>| run.and_then(|run| self.runs().get(run)).map(|(start, _)| *start);
        edge(next.checked_sub(1)).unwrap_or(0)..edge(Some(next)).unwrap_or(self.text.len())
    }

    /// The style of the character at `at`.
    #[inline]
    pub(crate) fn style_at(self, at: usize) -> Option<TextStyle> {
        if self.runs.is_empty() {
            return (at < self.text.len()).then_some(TextStyle::PLAIN);
        }
        let run = partition_near_start(self.runs, |(start, _)| *start <= at).checked_sub(1)?;
        (at < self.text.len()).then(|| self.runs[run].1)
    }

    /// The style of the character before `at`.
    #[inline]
    pub(crate) fn style_before(self, at: usize) -> Option<TextStyle> {
        if self.runs.is_empty() {
            return (at > 0).then_some(TextStyle::PLAIN);
        }
        let run = partition_near_start(self.runs, |(start, _)| *start < at).checked_sub(1)?;
        Some(self.runs[run].1)
    }

    /// Appends `range` to `out`, with `newline` for each line break and a URL after each link that ends in it.
    pub(crate) fn push_with_urls(self, range: Range<usize>, urls: UrlForm, newline: &str, out: &mut String) {
        let mut at = range.start;
        let first = self.links.partition_point(|link| link.range.end <= at);
        for link in self.links[first..].iter().take_while(|link| link.range.end <= range.end) {
            push_lines(&self.text[at..link.range.end], newline, out);
            at = link.range.end;
            // Readers are shown the name of a mention, and approvers the id.
            let is_name = urls == UrlForm::Round && link.person().is_some();
            if !is_name && !link.is_bare(&self.text[link.range.clone()]) {
                urls.push(&link.url, out);
            }
        }
        push_lines(&self.text[at..range.end], newline, out);
    }

    /// The whole text, with a URL after each link.
    pub(crate) fn with_urls(self, urls: UrlForm) -> Cow<'a, str> {
        if self.links.is_empty() {
            return self.text.into();
        }
        let mut out = String::with_capacity(self.text.len());
        self.push_with_urls(0..self.text.len(), urls, "\n", &mut out);
        out.into()
    }
}

/// Appends `text` to `out` with `newline` for each line break.
#[inline]
pub(crate) fn push_lines(text: &str, newline: &str, out: &mut String) {
    match newline {
        "\n" => out.push_str(text),
        newline => push_prefixed_lines(text, newline, out),
    }
}

/// The rare case of [`push_lines`]. Kept apart because most lines are neither in a quote nor in an item, and are copied
/// unchanged.
fn push_prefixed_lines(text: &str, newline: &str, out: &mut String) {
    let mut begin = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        out.push_str(&text[begin..end]);
        out.push_str(newline);
        begin = end + 1;
    }
    out.push_str(&text[begin..]);
}
