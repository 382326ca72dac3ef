//! Styled text: characters, how they look, and the links in them.
//!
//! Looks are flat runs, not a tree, so a slice of a text has its looks at hand and markup made from it is balanced by
//! construction. Links do not nest and have a label that is never empty.

use std::ops::Range;

use super::link::{Link, LinkKind, Links};
use super::look::{Look, Tag};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    text: String,
    /// Where each look begins; in order, without equal neighbours. Empty where nothing is special, as in most cells.
    runs: Vec<(usize, Look)>,
    links: Vec<Link>,
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether nothing in it is special: not even a link.
    pub(super) fn is_plain(&self) -> bool {
        self.runs.iter().all(|(_, look)| look.is_plain())
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn runs(&self) -> &[(usize, Look)] {
        const PLAIN: &[(usize, Look)] = &[(0, Look::PLAIN)];
        if self.runs.is_empty() { PLAIN } else { &self.runs }
    }

    /// An empty text with room for so many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ..Self::default() }
    }

    /// Text that looks like nothing in particular.
    pub(super) fn plain(text: &str) -> Self {
        let mut plain = Self::default();
        plain.push(text, Look::default());
        plain
    }

    /// The same text with other looks; its links stay.
    pub(super) fn with_looks<'a>(&self, slices: impl IntoIterator<Item = (&'a str, Look)>) -> Self {
        let mut text = Self { links: self.links.clone(), ..Self::default() };
        for (slice, look) in slices {
            text.push(slice, look);
        }
        text
    }

    pub(super) fn links(&self) -> &[Link] {
        &self.links
    }

    pub(super) fn push(&mut self, text: &str, look: Look) {
        if text.is_empty() {
            return;
        }
        if self.runs().last().is_none_or(|(_, last)| *last != look) {
            if self.runs.is_empty() && !self.text.is_empty() {
                self.runs.push((0, Look::default()));
            }
            self.runs.push((self.text.len(), look));
        }
        self.text.push_str(text);
    }

    /// Begins a link to `url`; the text pushed next with the returned index is its label.
    pub(super) fn open_link(&mut self, url: String) -> usize {
        let (range, kind) = (self.text.len()..self.text.len(), LinkKind::of(&url));
        self.links.push(Link { range, url, kind, has_angle: false });
        self.links.len() - 1
    }

    /// Ends a link. One without a label gets its address for one.
    pub(super) fn close_link(&mut self, link: usize) {
        if self.links[link].range.start == self.text.len() {
            let url = self.links[link].url.clone();
            self.push(&url, Look::new([Tag::Link(link)]));
        }
        let range = self.links[link].range.start..self.text.len();
        self.links[link].has_angle = self.text[range.clone()].contains(['<', '>', '|']);
        self.links[link].range = range;
    }

    /// Adds `other` at the end.
    pub(super) fn append(&mut self, other: &Self) {
        let (offset, links) = (self.text.len(), self.links.len());
        for (slice, look) in other.slices(0..other.text.len()) {
            self.push(slice, look.with_link(look.link().map(|link| link + links)));
        }
        self.links.extend(
            other.links.iter().map(|link| Link {
                range: link.range.start + offset..link.range.end + offset,
                ..link.clone()
            }),
        );
    }

    /// The text with each link that `too_long` picks replaced by its label and its bare address.
    pub(super) fn without_links(&self, too_long: impl Fn(&Link) -> bool) -> Self {
        let mut text = Self::default();
        let mut kept = None;
        for (at, slice, look) in self.located(0..self.text.len()) {
            let Some(link) = look.link().map(|link| &self.links[link]) else {
                text.push(slice, look);
                continue;
            };
            let ends = at + slice.len() == link.range.end;
            if too_long(link) {
                text.push(slice, look.with_link(None));
                if ends && Links::Round.address(&self.text[link.range.clone()], &link.url).is_some() {
                    text.push(" ", Look::default());
                    text.push(&link.url, Look::default());
                }
                continue;
            }
            let open = *kept.get_or_insert_with(|| text.open_link(link.url.clone()));
            text.push(slice, look.with_link(Some(open)));
            if ends {
                text.close_link(open);
                kept = None;
            }
        }
        text
    }

    /// The text without line breaks at its end.
    pub(super) fn trim_end(&mut self) {
        let end = self.text.trim_end_matches(['\n', '\r']).len();
        self.text.truncate(end);
        self.runs.retain(|(start, _)| *start < end);
        for link in &mut self.links {
            link.range.end = link.range.end.min(end);
        }
    }

    /// The stretches of `range` that look alike.
    pub(super) fn slices(&self, range: Range<usize>) -> impl Iterator<Item = (&str, Look)> {
        self.located(range).map(|(_, slice, look)| (slice, look))
    }

    /// As [`Text::slices`], each with its place in the text.
    pub(super) fn located(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &str, Look)> {
        let runs = self.runs();
        let first = runs.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
        runs[first..].iter().enumerate().map_while(move |(n, (start, look))| {
            let end = runs.get(first + n + 1).map_or(self.text.len(), |(next, _)| *next);
            let slice = (*start).max(range.start)..end.min(range.end);
            (slice.start < slice.end).then(|| (slice.start, &self.text[slice], *look))
        })
    }

    /// How all of `range` looks, and the sign before it, if they look alike.
    pub(super) fn look_throughout(&self, range: &Range<usize>) -> Option<Look> {
        let run = self.runs().partition_point(|(start, _)| *start < range.start).saturating_sub(1);
        let is_one = self.runs().get(run + 1).is_none_or(|(next, _)| *next >= range.end);
        self.runs().get(run).filter(|_| is_one).map(|(_, look)| *look)
    }

    /// How the sign at `at` looks.
    pub(super) fn look_at(&self, at: usize) -> Option<Look> {
        let run = self.runs().partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        (at < self.text.len()).then(|| self.runs()[run].1)
    }

    /// How the sign before `at` looks.
    pub(super) fn look_before(&self, at: usize) -> Option<Look> {
        let run = self.runs().partition_point(|(start, _)| *start < at).checked_sub(1)?;
        Some(self.runs()[run].1)
    }

    /// Writes `range` to `out` with `newline` for each line break, each whole link followed by its address.
    pub(super) fn write(&self, range: Range<usize>, links: Links, newline: &str, out: &mut String) {
        for (at, slice, look) in self.located(range) {
            push_lines(slice, newline, out);
            if let Some(link) = look.link().map(|link| &self.links[link])
                && at + slice.len() == link.range.end
                && let Some(address) = links.address(&self.text[link.range.clone()], &link.url)
            {
                out.push_str(&address);
            }
        }
    }

    /// The whole text on its own, with addresses.
    pub(super) fn written(&self, links: Links) -> String {
        let mut out = String::with_capacity(self.text.len());
        self.write(0..self.text.len(), links, "\n", &mut out);
        out
    }
}

/// Adds `text` to `out` with `newline` for each line break.
pub(super) fn push_lines(text: &str, newline: &str, out: &mut String) {
    if newline == "\n" {
        return out.push_str(text);
    }
    for (n, line) in text.split('\n').enumerate() {
        out.push_str(if n > 0 { newline } else { "" });
        out.push_str(line);
    }
}
