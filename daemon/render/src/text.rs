//! Styled text: characters, how they look, and the links in them.
//!
//! Looks are flat runs, not a tree, so a slice of a text has its looks at hand and markup made from it is balanced by
//! construction. Links do not nest and have a label that is never empty.
//!
//! A document has tens of thousands of texts, most of them cells of a few words: they are kept one behind the other, as
//! [`Texts`], and read as a [`Text`], which borrows.

use std::borrow::Cow;
use std::ops::Range;

use super::link::{Link, LinkKind, Links};
use super::look::{Look, Tag};

/// Where a look begins, in bytes of its text, and which.
type Run = (usize, Look);

/// A text, to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    text: &'a str,
    /// In order, without equal neighbours. Empty where nothing is special, as in most cells.
    runs: &'a [Run],
    links: &'a [Link],
}

impl<'a> Text<'a> {
    /// Text that looks like nothing in particular.
    pub(super) fn plain(text: &'a str) -> Self {
        Self { text, runs: &[], links: &[] }
    }

    #[inline]
    pub(super) fn as_str(self) -> &'a str {
        self.text
    }

    #[inline]
    pub(super) fn links(self) -> &'a [Link] {
        self.links
    }

    /// Whether nothing in it is special: not even a link.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.runs.iter().all(|(_, look)| look.is_plain())
    }

    /// Whether any of it is a spoiler.
    pub(super) fn has_spoilers(self) -> bool {
        self.runs.iter().any(|(_, look)| look.is_spoiler())
    }

    /// The stretches of `range` that are spoilers, and those between them.
    pub(super) fn by_spoiler(self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, bool)> {
        let mut slices = self.located(range).peekable();
        std::iter::from_fn(move || {
            let (start, slice, look) = slices.next()?;
            let (mut end, is_spoiler) = (start + slice.len(), look.is_spoiler());
            while let Some((_, more, _)) = slices.next_if(|(.., look)| look.is_spoiler() == is_spoiler) {
                end += more.len();
            }
            Some((start..end, is_spoiler))
        })
    }

    pub(super) fn is_blank(self) -> bool {
        self.text.trim_start().is_empty()
    }

    /// The same text for whoever asks of the sign before `at` and of what is behind it, and of nothing before: what is near
    /// is found at once then, in however long a text.
    #[inline]
    pub(super) fn onwards(self, at: usize) -> Self {
        let first = first_not(self.runs, |(start, _)| *start < at).saturating_sub(1);
        Self { runs: &self.runs[first..], ..self }
    }

    #[inline]
    fn runs(self) -> &'a [Run] {
        const PLAIN: &[Run] = &[(0, Look::PLAIN)];
        if self.runs.is_empty() { PLAIN } else { self.runs }
    }

    /// The same text with other looks; its links stay.
    pub(super) fn with_looks<'s>(self, slices: impl IntoIterator<Item = (&'s str, Look)>) -> Texts {
        let mut text = Texts { links: self.links.to_vec(), ..Texts::default() };
        for (slice, look) in slices {
            text.push(slice, look);
        }
        text
    }

    /// The text with each link that `too_long` picks replaced by its label and its bare address.
    pub(super) fn without_links(self, too_long: impl Fn(&Link) -> bool) -> Texts {
        let mut text = Texts::default();
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

    /// The stretches of `range` that look alike.
    #[inline]
    pub(super) fn slices(self, range: Range<usize>) -> impl Iterator<Item = (&'a str, Look)> {
        self.located(range).map(|(_, slice, look)| (slice, look))
    }

    /// As [`Text::slices`], each with its place in the text.
    #[inline]
    pub(super) fn located(self, range: Range<usize>) -> impl Iterator<Item = (usize, &'a str, Look)> {
        let runs = self.runs();
        let first = first_not(runs, |(start, _)| *start <= range.start).saturating_sub(1);
        runs[first..].iter().enumerate().map_while(move |(n, (start, look))| {
            let end = runs.get(first + n + 1).map_or(self.text.len(), |(next, _)| *next);
            let slice = (*start).max(range.start)..end.min(range.end);
            (slice.start < slice.end).then(|| (slice.start, &self.text[slice], *look))
        })
    }

    /// The looks in `range`, no two neighbours equal.
    #[inline]
    pub(super) fn looks(self, range: Range<usize>) -> impl Iterator<Item = Look> {
        let runs = self.runs();
        let first = first_not(runs, |(start, _)| *start <= range.start).saturating_sub(1);
        runs[first..].iter().take_while(move |(start, _)| *start < range.end).map(|(_, look)| *look)
    }

    /// The stretch around the sign before `at` that looks like it.
    #[inline]
    pub(super) fn run_before(self, at: usize) -> Range<usize> {
        let next = first_not(self.runs(), |(start, _)| *start < at);
        let edge = |run: Option<usize>| run.and_then(|run| self.runs().get(run)).map(|(start, _)| *start);
        edge(next.checked_sub(1)).unwrap_or(0)..edge(Some(next)).unwrap_or(self.text.len())
    }

    /// How the sign at `at` looks.
    #[inline]
    pub(super) fn look_at(self, at: usize) -> Option<Look> {
        if self.runs.is_empty() {
            return (at < self.text.len()).then_some(Look::PLAIN);
        }
        let run = first_not(self.runs, |(start, _)| *start <= at).checked_sub(1)?;
        (at < self.text.len()).then(|| self.runs[run].1)
    }

    /// How the sign before `at` looks.
    #[inline]
    pub(super) fn look_before(self, at: usize) -> Option<Look> {
        if self.runs.is_empty() {
            return (at > 0).then_some(Look::PLAIN);
        }
        let run = first_not(self.runs, |(start, _)| *start < at).checked_sub(1)?;
        Some(self.runs[run].1)
    }

    /// Writes `range` to `out` with `newline` for each line break, each whole link followed by its address.
    pub(super) fn write(self, range: Range<usize>, links: Links, newline: &str, out: &mut String) {
        let mut at = range.start;
        let first = self.links.partition_point(|link| link.range.end <= at);
        for link in self.links[first..].iter().take_while(|link| link.range.end <= range.end) {
            push_lines(&self.text[at..link.range.end], newline, out);
            at = link.range.end;
            if !link.is_bare(&self.text[link.range.clone()]) {
                links.write(&link.url, out);
            }
        }
        push_lines(&self.text[at..range.end], newline, out);
    }

    /// The whole text on its own, with addresses.
    pub(super) fn written(self, links: Links) -> Cow<'a, str> {
        if self.links.is_empty() {
            return self.text.into();
        }
        let mut out = String::with_capacity(self.text.len());
        self.write(0..self.text.len(), links, "\n", &mut out);
        out.into()
    }
}

/// How much there is of what texts are made of, up to a place between two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    text: usize,
    runs: usize,
    links: usize,
}

/// Texts one behind the other, to be written; the last one is open. What a text says of places counts from its own
/// beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Texts {
    text: String,
    runs: Vec<Run>,
    links: Vec<Link>,
    /// Where each text ends and the next begins.
    ends: Vec<Place>,
    /// How the open text looks at its end.
    look: Look,
}

impl Texts {
    /// No text, with room for some bytes, and for as many texts and looks as those commonly have.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let text = String::with_capacity(bytes);
        let (runs, ends) = (Vec::with_capacity(bytes / 64), Vec::with_capacity(bytes / 64));
        Self { text, runs, ends, ..Self::default() }
    }

    /// How many are written.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text that was ended with this number.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Text<'_> {
        self.between(self.begin_of(at), self.ends[at])
    }

    /// The text that is being written.
    pub(super) fn open(&self) -> Text<'_> {
        self.between(self.begin(), self.behind())
    }

    #[inline]
    fn between(&self, begin: Place, end: Place) -> Text<'_> {
        Text {
            text: &self.text[begin.text..end.text],
            runs: &self.runs[begin.runs..end.runs],
            links: &self.links[begin.links..end.links],
        }
    }

    /// Whether any of them has a spoiler.
    pub(super) fn have_spoilers(&self) -> bool {
        self.runs.iter().any(|(_, look)| look.is_spoiler())
    }

    /// Whether any of `texts` has a link.
    pub(super) fn have_links(&self, texts: Range<usize>) -> bool {
        self.begin_of(texts.start).links < self.begin_of(texts.end).links
    }

    #[inline]
    fn begin_of(&self, at: usize) -> Place {
        at.checked_sub(1).map_or_else(Place::default, |before| self.ends[before])
    }

    /// Where the open text begins.
    #[inline]
    fn begin(&self) -> Place {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Behind all that is written.
    #[inline]
    fn behind(&self) -> Place {
        Place { text: self.text.len(), runs: self.runs.len(), links: self.links.len() }
    }

    /// Ends the open text, and begins the next. Its number.
    pub(super) fn end(&mut self) -> usize {
        self.ends.push(self.behind());
        self.look = Look::PLAIN;
        self.ends.len() - 1
    }

    /// Forgets the open text, and all behind the first `kept`.
    pub(super) fn forget(&mut self, kept: usize) {
        self.ends.truncate(kept);
        let begin = self.begin();
        self.text.truncate(begin.text);
        self.runs.truncate(begin.runs);
        self.links.truncate(begin.links);
        self.look = Look::PLAIN;
    }

    pub(super) fn push(&mut self, text: &str, look: Look) {
        if text.is_empty() {
            return;
        }
        if self.look != look {
            self.turn(look);
        }
        self.text.push_str(text);
    }

    /// Lets what is pushed next look otherwise.
    fn turn(&mut self, look: Look) {
        let begin = self.begin();
        let at = self.text.len() - begin.text;
        if self.runs.len() == begin.runs && at > 0 {
            self.runs.push((0, Look::PLAIN));
        }
        self.runs.push((at, look));
        self.look = look;
    }

    /// Begins a link to `url`; the text pushed next with the returned index is its label.
    pub(super) fn open_link(&mut self, url: String) -> usize {
        let begin = self.begin();
        let (at, kind) = (self.text.len() - begin.text, LinkKind::of(&url));
        self.links.push(Link { range: at..at, url, kind, has_angle: false });
        self.links.len() - 1 - begin.links
    }

    /// Ends a link. One without a label gets its address for one.
    pub(super) fn close_link(&mut self, link: usize) {
        let begin = self.begin();
        let at = begin.links + link;
        let start = self.links[at].range.start;
        if begin.text + start == self.text.len() {
            let url = self.links[at].url.clone();
            self.push(&url, Look::new([Tag::Link(link)]));
        }
        let label = &self.text[begin.text + start..];
        self.links[at].has_angle = memchr::memchr3(b'<', b'>', b'|', label.as_bytes()).is_some();
        self.links[at].range = start..start + label.len();
    }

    /// Adds `other` at the end of the open text.
    pub(super) fn append(&mut self, other: Text<'_>) {
        let open = self.open();
        let (offset, links) = (open.text.len(), open.links.len());
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

    /// Takes line breaks from the end of the open text.
    pub(super) fn trim_end(&mut self) {
        if !self.text.ends_with('\n') {
            return;
        }
        let begin = self.begin();
        let end = self.text[begin.text..].trim_end_matches('\n').len();
        self.text.truncate(begin.text + end);
        let runs = self.runs[begin.runs..].partition_point(|(start, _)| *start < end);
        self.runs.truncate(begin.runs + runs);
        self.look = self.runs[begin.runs..].last().map_or(Look::PLAIN, |(_, last)| *last);
        for link in &mut self.links[begin.links..] {
            link.range.end = link.range.end.min(end);
        }
    }
}

/// The first of `sorted` that does not come before, or their number: like `partition_point`, but what is near the
/// beginning is found in a step or two.
#[inline]
pub(super) fn first_not<T>(sorted: &[T], comes_before: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while sorted.get(reach - 1).is_some_and(&comes_before) {
        reach *= 2;
    }
    let known = reach / 2;
    known + sorted[known..sorted.len().min(reach)].partition_point(comes_before)
}

/// A text of the document, or one made of it.
#[derive(Debug)]
pub(super) enum Held<'a> {
    Lent(Text<'a>),
    Made(Box<Texts>),
}

impl Held<'_> {
    pub(super) fn text(&self) -> Text<'_> {
        match self {
            Self::Lent(text) => *text,
            Self::Made(made) => made.open(),
        }
    }
}

impl From<Texts> for Held<'_> {
    fn from(made: Texts) -> Self {
        Self::Made(Box::new(made))
    }
}

/// Adds `text` to `out` with `newline` for each line break.
#[inline]
pub(super) fn push_lines(text: &str, newline: &str, out: &mut String) {
    match newline {
        "\n" => out.push_str(text),
        newline => push_broken(text, newline, out),
    }
}

/// As [`push_lines`], apart from it: most lines are not in a quote or an item, and are copied as they are.
fn push_broken(text: &str, newline: &str, out: &mut String) {
    let mut begin = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        out.push_str(&text[begin..end]);
        out.push_str(newline);
        begin = end + 1;
    }
    out.push_str(&text[begin..]);
}
