//! The texts of a document, to write: one after the other in shared buffers, so that tens of thousands of table cells need
//! no allocations of their own.

use std::ops::Range;

use super::link::{Link, LinkKind, UrlForm};
use super::style::{Attribute, TextStyle};
use super::text::{Run, Text};

/// How many bytes of a message have one text or one change of style, as an estimate for the first allocation.
const BYTES_PER_TEXT_OR_RUN: usize = 64;

/// The length of each buffer at the end of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lengths {
    text: usize,
    runs: usize,
    links: usize,
}

/// Finished texts, and an open one at the end. Offsets in runs and links count from the beginning of their own text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    text: String,
    runs: Vec<Run>,
    links: Vec<Link>,
    /// Where each finished text ends and the next begins.
    ends: Vec<Lengths>,
    /// The style at the end of the open text.
    style: TextStyle,
}

impl Texts {
    /// Reserves room for `bytes` of text, and for as many texts and style runs as that usually has.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let text = String::with_capacity(bytes);
        let entries = bytes / BYTES_PER_TEXT_OR_RUN;
        let (runs, ends) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        Self { text, runs, ends, ..Self::default() }
    }

    /// The number of finished texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A finished text, by the number that [`Texts::finish`] returned.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Text<'_> {
        self.between(self.start_of(at), self.ends[at])
    }

    /// The text that is being written.
    pub(crate) fn open(&self) -> Text<'_> {
        self.between(self.open_start(), self.lengths())
    }

    #[inline]
    fn between(&self, start: Lengths, end: Lengths) -> Text<'_> {
        Text {
            text: &self.text[start.text..end.text],
            runs: &self.runs[start.runs..end.runs],
            links: &self.links[start.links..end.links],
        }
    }

    pub(crate) fn have_spoilers(&self) -> bool {
        self.runs.iter().any(|(_, style)| style.is_spoiler())
    }

    /// Whether any of the finished `texts` has a link.
    pub(crate) fn have_links(&self, texts: Range<usize>) -> bool {
        self.start_of(texts.start).links < self.start_of(texts.end).links
    }

    #[inline]
    fn start_of(&self, at: usize) -> Lengths {
        at.checked_sub(1).map_or_else(Lengths::default, |previous| self.ends[previous])
    }

    /// Where the open text begins.
    #[inline]
    fn open_start(&self) -> Lengths {
        self.ends.last().copied().unwrap_or_default()
    }

    #[inline]
    fn lengths(&self) -> Lengths {
        Lengths { text: self.text.len(), runs: self.runs.len(), links: self.links.len() }
    }

    /// Finishes the open text and begins the next. Returns the number of the finished one.
    pub(crate) fn finish(&mut self) -> usize {
        self.ends.push(self.lengths());
        self.style = TextStyle::PLAIN;
        self.ends.len() - 1
    }

    /// Discards the open text.
    pub(crate) fn discard_open(&mut self) {
        self.truncate(self.len());
    }

    /// Discards the open text and all finished ones but the first `kept`.
    pub(crate) fn truncate(&mut self, kept: usize) {
        self.ends.truncate(kept);
        let start = self.open_start();
        self.text.truncate(start.text);
        self.runs.truncate(start.runs);
        self.links.truncate(start.links);
        self.style = TextStyle::PLAIN;
    }

    /// Appends `text` to the open text.
    pub(crate) fn push(&mut self, text: &str, style: TextStyle) {
        if text.is_empty() {
            return;
        }
        if self.style != style {
            self.begin_run(style);
        }
        self.text.push_str(text);
    }

    fn begin_run(&mut self, style: TextStyle) {
        let start = self.open_start();
        let at = self.text.len() - start.text;
        if self.runs.len() == start.runs && at > 0 {
            self.runs.push((0, TextStyle::PLAIN));
        }
        self.runs.push((at, style));
        self.style = style;
    }

    /// Begins a link to `url`. The text that is pushed next with the returned index is its label.
    pub(crate) fn open_link(&mut self, url: String) -> usize {
        let start = self.open_start();
        let (at, kind) = (self.text.len() - start.text, LinkKind::of(&url));
        self.links.push(Link { range: at..at, url, kind, has_angle_or_bar: false });
        self.links.len() - 1 - start.links
    }

    /// Ends a link. If it has no label, its URL becomes the label.
    pub(crate) fn close_link(&mut self, link: usize) {
        let text_start = self.open_start();
        let at = text_start.links + link;
        let start = self.links[at].range.start;
        if text_start.text + start == self.text.len() {
            let url = self.links[at].url.clone();
            self.push(&url, TextStyle::new([Attribute::Link(link)]));
        }
        let label = &self.text[text_start.text + start..];
        self.links[at].has_angle_or_bar = memchr::memchr3(b'<', b'>', b'|', label.as_bytes()).is_some();
        self.links[at].range = start..start + label.len();
    }

    /// Appends `other` to the open text.
    pub(crate) fn append(&mut self, other: Text<'_>) {
        let open = self.open();
        let (offset, links) = (open.text.len(), open.links.len());
        for (slice, style) in other.slices(0..other.text.len()) {
            self.push(slice, style.with_link(style.link().map(|link| link + links)));
        }
        self.links.extend(
            other.links.iter().map(|link| Link {
                range: link.range.start + offset..link.range.end + offset,
                ..link.clone()
            }),
        );
    }

    /// Removes line breaks from the end of the open text.
    pub(crate) fn trim_end(&mut self) {
        if !self.text.ends_with('\n') {
            return;
        }
        let start = self.open_start();
        let end = self.text[start.text..].trim_end_matches('\n').len();
        self.text.truncate(start.text + end);
        let runs = self.runs[start.runs..].partition_point(|(at, _)| *at < end);
        self.runs.truncate(start.runs + runs);
        self.style = self.runs[start.runs..].last().map_or(TextStyle::PLAIN, |(_, last)| *last);
        for link in &mut self.links[start.links..] {
            link.range.end = link.range.end.min(end);
        }
    }

    /// An open text with the links of `text` and the styles of `slices`, which together are the whole of `text`.
    pub(crate) fn restyled<'s>(
        text: Text<'_>,
        slices: impl IntoIterator<Item = (&'s str, TextStyle)>,
    ) -> Self {
        let mut restyled = Self { links: text.links.to_vec(), ..Self::default() };
        for (slice, style) in slices {
            restyled.push(slice, style);
        }
        restyled
    }

    /// All of their links.
    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    /// An open text that is the same as `text`, but each label of a mention is what `written` says.
    pub(crate) fn with_mentions(text: Text<'_>, written: impl Fn(&Link, &str) -> Option<String>) -> Self {
        let mut out = Self::default();
        let mut kept = None;
        for (at, slice, style) in text.slices_at(0..text.text.len()) {
            let Some(link) = style.link().map(|link| &text.links[link]) else {
                out.push(slice, style);
                continue;
            };
            let (begins, ends) = (at == link.range.start, at + slice.len() == link.range.end);
            let mention = written(link, &text.text[link.range.clone()]);
            if begins || kept.is_none() {
                kept = Some(out.open_link(link.url.clone()));
            }
            match &mention {
                Some(mention) if begins => {
                    // Whatever marks there are stand around the mention and not in it.
                    let styles = style.attributes().filter(|one| *one != Attribute::Code && !one.is_link());
                    out.push(mention, TextStyle::new(styles.chain(kept.map(Attribute::Link))));
                }
                Some(_) => {}
                None => out.push(slice, style.with_link(kept)),
            }
            if ends && let Some(open) = kept.take() {
                out.close_link(open);
            }
        }
        out
    }

    /// An open text that is the same as `text`, but each link that `is_too_long` is replaced by its label and its bare URL.
    pub(crate) fn without_links(text: Text<'_>, is_too_long: impl Fn(&Link) -> bool) -> Self {
        let mut out = Self::default();
        let mut kept = None;
        for (at, slice, style) in text.slices_at(0..text.text.len()) {
            let Some(link) = style.link().map(|link| &text.links[link]) else {
                out.push(slice, style);
                continue;
            };
            let ends = at + slice.len() == link.range.end;
            if is_too_long(link) {
                out.push(slice, style.with_link(None));
                if ends && UrlForm::Round.after_label(&text.text[link.range.clone()], &link.url).is_some() {
                    out.push(" ", TextStyle::PLAIN);
                    out.push(&link.url, TextStyle::PLAIN);
                }
                continue;
            }
            let open = *kept.get_or_insert_with(|| out.open_link(link.url.clone()));
            out.push(slice, style.with_link(Some(open)));
            if ends {
                out.close_link(open);
                kept = None;
            }
        }
        out
    }
}

/// A text of the document, or a changed copy of one.
#[derive(Debug)]
pub(crate) enum TextCow<'a> {
    Borrowed(Text<'a>),
    Owned(Box<Texts>),
}

impl TextCow<'_> {
    pub(crate) fn text(&self) -> Text<'_> {
        match self {
            Self::Borrowed(text) => *text,
            Self::Owned(texts) => texts.open(),
        }
    }
}

impl From<Texts> for TextCow<'_> {
    fn from(texts: Texts) -> Self {
        Self::Owned(Box::new(texts))
    }
}
