//! Styled text: characters, how they look, and the links in them.
//!
//! Looks are flat runs, not a tree, so a slice of a text has its looks at hand and markup made from it is balanced by
//! construction. Links do not nest and have a label that is never empty.

use std::ops::Range;

/// One way in which text differs from its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// The label of the link with this index.
    Link(usize),
    Strong,
    Emphasis,
    Strike,
    Code,
}

/// How a stretch of text looks: its tags, outermost first, each kind at most once, code innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Look {
    /// Four bits for each tag, outermost lowest: what kind it is; zero behind the last.
    kinds: u32,
    /// Index of the link, where there is one.
    link: u32,
}

const LINK: u32 = 1;
const STRONG: u32 = 2;
const EMPHASIS: u32 = 3;
const STRIKE: u32 = 4;
const CODE: u32 = 5;

impl Look {
    /// The first of each kind of tag; code is innermost.
    pub(super) fn new(tags: impl IntoIterator<Item = Tag>) -> Self {
        let mut look = Self::default();
        let mut code = false;
        for tag in tags {
            code |= tag == Tag::Code;
            if tag != Tag::Code {
                look.add(tag);
            }
        }
        if code {
            look.add(Tag::Code);
        }
        look
    }

    fn add(&mut self, tag: Tag) {
        if self.place(tag.kind()).is_some() {
            return;
        }
        if let Tag::Link(link) = tag {
            // A text with more links than this has more than four gigabytes.
            self.link = u32::try_from(link).unwrap_or(u32::MAX);
        }
        self.kinds |= tag.kind() << (4 * self.len());
    }

    fn len(self) -> u32 {
        (u32::BITS - self.kinds.leading_zeros()).div_ceil(4)
    }

    /// How many tags are outside that of `kind`.
    fn place(self, kind: u32) -> Option<u32> {
        (0..self.len()).find(|place| (self.kinds >> (4 * place)) & 0xf == kind)
    }

    /// Whether nothing is special about it.
    pub(super) fn is_plain(self) -> bool {
        self.kinds == 0
    }

    pub(super) fn tags(self) -> impl DoubleEndedIterator<Item = Tag> + ExactSizeIterator {
        (0..self.len() as usize).map(move |place| match (self.kinds >> (4 * place)) & 0xf {
            LINK => Tag::Link(self.link as usize),
            STRONG => Tag::Strong,
            EMPHASIS => Tag::Emphasis,
            STRIKE => Tag::Strike,
            _ => Tag::Code,
        })
    }

    /// How many of the outermost tags two looks have in common.
    pub(super) fn shared(self, other: Self) -> usize {
        self.tags().zip(other.tags()).take_while(|(a, b)| a == b).count()
    }

    pub(super) fn has(self, tag: Tag) -> bool {
        self.tags().any(|other| other == tag)
    }

    /// Index of the link that the text belongs to.
    pub(super) fn link(self) -> Option<usize> {
        self.place(LINK).map(|_| self.link as usize)
    }

    /// The same with another link, or none.
    pub(super) fn with_link(self, link: Option<usize>) -> Self {
        Self::new(self.tags().filter_map(|tag| match tag {
            Tag::Link(_) => link.map(Tag::Link),
            tag => Some(tag),
        }))
    }
}

impl Tag {
    fn kind(self) -> u32 {
        match self {
            Self::Link(_) => LINK,
            Self::Strong => STRONG,
            Self::Emphasis => EMPHASIS,
            Self::Strike => STRIKE,
            Self::Code => CODE,
        }
    }
}

/// A link; its label is the text at `range`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) range: Range<usize>,
    pub(super) url: String,
    /// Where it leads, as far as platforms care.
    pub(super) kind: LinkKind,
    /// Whether its label has a sign that ends a label in some notations.
    pub(super) has_angle: bool,
}

/// Which platforms make a link of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkKind {
    /// None: another scheme, or white space in it.
    Other,
    /// Most: an address for mail, or a host that only a house knows.
    Usual,
    /// All that have links: a host on the web.
    Web,
}

impl LinkKind {
    fn of(url: &str) -> Self {
        let behind = |scheme: &str| {
            url.get(..scheme.len())
                .filter(|head| head.eq_ignore_ascii_case(scheme))
                .map(|_| &url[scheme.len()..])
        };
        if url.contains(char::is_whitespace) {
            return Self::Other;
        }
        match behind("http://").or_else(|| behind("https://")) {
            Some(rest) if is_public(rest) => Self::Web,
            Some(_) => Self::Usual,
            None => behind("mailto:").map_or(Self::Other, |_| Self::Usual),
        }
    }
}

/// Whether an address, from its host on, has a host with a dot in its name (or a number) and a port that there is. What
/// Telegram's own parser drops, or turns into something else, has not.
fn is_public(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some((_, port)) = host.split_once(']').filter(|_| host.starts_with('[')) {
        return port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    name.contains('.') && name.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// How a link's address is written behind its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// `label (url)`, for readers.
    Round,
    /// `label <url>`, for approvers.
    Angle,
}

impl Link {
    /// Whether `label` is the address itself, so that a reader sees where it goes.
    pub(super) fn is_bare(&self, label: &str) -> bool {
        is_bare(label, &self.url)
    }
}

fn is_bare(label: &str, url: &str) -> bool {
    url.is_empty() || label == url || url.strip_prefix("mailto:") == Some(label)
}

impl Links {
    /// What follows `label`, unless the label is the address itself.
    pub(super) fn address(self, label: &str, url: &str) -> Option<String> {
        (!is_bare(label, url)).then(|| self.written(url))
    }

    /// An address behind a label.
    pub(super) fn written(self, url: &str) -> String {
        match self {
            Self::Round => [" (", url, ")"].concat(),
            Self::Angle => [" <", url, ">"].concat(),
        }
    }
}

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
        const PLAIN: &[(usize, Look)] = &[(0, Look { kinds: 0, link: 0 })];
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
