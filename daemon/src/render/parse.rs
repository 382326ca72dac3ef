//! Markdown to a [`Document`].
//!
//! Everything that can be read is kept: raw HTML, footnotes and the state of tasks become text, an image becomes a
//! link to it. Line breaks stay where the agent put them, as chat platforms show them.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::link::Links;
use super::look::{self, Look};
use super::table::Table;
use super::text::Text;
use super::tree::{Container, Content, DEEPEST, Document, Leaf, Node};

/// Parses CommonMark with tables, strikethrough, task lists and footnotes. Any text is a document.
pub fn parse(markdown: &str) -> Document {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut builder = Builder { is_suspect: is_suspect(markdown), ..Builder::default() };
    for (event, source) in Parser::new_ext(markdown, options).into_offset_iter() {
        builder.event(event, source.len());
    }
    builder.end_text(Content::Paragraph);
    builder.document
}

/// The same text with U+FFFD in place of what is no text: control characters other than tabs and line ends, and what
/// Unicode promises never to be a character. HTML has no place for them, and nobody could read them.
fn printable(text: &str, is_suspect: bool) -> Cow<'_, str> {
    if !is_suspect {
        return text.into();
    }
    let is_no_text = |c: char| {
        let is_nonchar = (0xfdd0..=0xfdef).contains(&u32::from(c)) || u32::from(c) & 0xfffe == 0xfffe;
        is_nonchar || c.is_control() && !matches!(c, '\t' | '\n' | '\r')
    };
    if text.contains(is_no_text) { text.replace(is_no_text, "\u{fffd}").into() } else { text.into() }
}

/// Whether [`printable`] may have something to do in a part of `markdown`: a control character, two bytes that end what
/// is no character, or a reference that may stand for one.
fn is_suspect(markdown: &str) -> bool {
    let bytes = markdown.as_bytes();
    let is_control = |b: u8| (b < b' ') & (b != b'\t') & (b != b'\n') & (b != b'\r') | (b == 0x7f);
    let ends_none = |a: u8, b: u8| {
        (a == 0xc2) & (b < 0xa0) | (a == 0xef) & (b == 0xb7) | (a == 0xbf) & (b & 0xfe == 0xbe)
    };
    // Without a way out of the inner loops, the compiler makes vector instructions of them.
    let controls = |block: &[u8]| block.iter().fold(false, |any, b| any | is_control(*b));
    let pairs = |(a, b): (&[u8], &[u8])| a.iter().zip(b).fold(false, |any, (a, b)| any | ends_none(*a, *b));
    let behind = bytes.get(1..).unwrap_or_default();
    markdown.contains("&#")
        || bytes.chunks(256).any(controls)
        || bytes.chunks(256).zip(behind.chunks(256)).any(pairs)
}

#[derive(Default)]
struct Builder {
    /// Whether there may be something in the text that is none.
    is_suspect: bool,
    document: Document,
    /// The containers that are open, and how many more inside them lie too deep to be kept.
    open: Vec<usize>,
    too_deep: usize,
    /// The number of the next item, for each open list.
    numbers: Vec<Option<u64>>,
    text: Text,
    code: Option<(String, String)>,
    table: Option<Table>,
    /// The styles that are open, outermost first, and how often each.
    styles: Vec<(look::Tag, usize)>,
    /// What text looks like that is in all of them.
    look: Look,
    links: Vec<OpenLink>,
}

struct OpenLink {
    url: String,
    start: usize,
    /// Its index in the text; `None` for an image in a link, whose address becomes text.
    index: Option<usize>,
}

impl Builder {
    /// Takes in the next event, which `bytes` of Markdown were read for.
    fn event(&mut self, event: Event<'_>, bytes: usize) {
        match event {
            Event::Start(tag) => self.start(tag, bytes),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&printable(&text, self.is_suspect)),
                None => self.push(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let look = Look::new(self.look.tags().chain([look::Tag::Code]));
                self.text.push(&printable(&text, self.is_suspect), look);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::FootnoteReference(label) => self.push(&format!("[^{label}]")),
            // A link stays on one line, so that its cost does not depend on where it stands.
            Event::SoftBreak | Event::HardBreak if !self.links.is_empty() => self.push(" "),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => self.leaf(Content::Rule),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>, bytes: usize) {
        match tag {
            Tag::Paragraph => {
                self.loosen();
                self.reserve(bytes);
            }
            Tag::BlockQuote(_) => self.open(Container::Quote),
            Tag::List(first) => {
                self.open(Container::List { ordered: first.is_some(), tight: true });
                self.numbers.push(first);
            }
            Tag::Item => {
                let number = self.numbers.last_mut().and_then(|next| {
                    let number = *next;
                    *next = next.map(|n| n.saturating_add(1));
                    number
                });
                self.open(Container::Item { number });
                self.reserve(bytes.min(200));
            }
            Tag::CodeBlock(kind) => {
                self.end_text(Content::Paragraph);
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        printable(info.split_whitespace().next().unwrap_or(""), self.is_suspect).into_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::with_capacity(bytes)));
            }
            Tag::Table(_) => {
                self.end_text(Content::Paragraph);
                self.table = Some(Table::default());
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::FootnoteDefinition(label) => {
                self.end_text(Content::Paragraph);
                self.push(&format!("[^{label}]: "));
            }
            Tag::Heading { .. } | Tag::HtmlBlock => {
                self.end_text(Content::Paragraph);
                self.reserve(bytes);
            }
            Tag::TableCell => self.reserve(bytes),
            Tag::Strong => self.style(look::Tag::Strong),
            Tag::Emphasis => self.style(look::Tag::Emphasis),
            Tag::Strikethrough => self.style(look::Tag::Strike),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                self.open_link(format!("mailto:{dest_url}"))
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open_link(dest_url.into_string())
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::FootnoteDefinition | TagEnd::HtmlBlock => {
                self.end_text(Content::Paragraph)
            }
            TagEnd::Heading(level) => self.end_text(|text| Content::Heading(level_number(level), text)),
            TagEnd::BlockQuote(_) | TagEnd::Item => self.close(),
            TagEnd::List(_) => {
                self.numbers.pop();
                self.close();
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    let mut text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text };
                    text.truncate(text.trim_end_matches('\n').len());
                    if !text.trim().is_empty() {
                        self.leaf(Content::Code { language, text });
                    }
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take().filter(|table| !table.is_blank()) {
                    self.leaf(Content::Table(table));
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(table) = &mut self.table {
                    table.rows.last_mut().unwrap_or(&mut table.header).push(cell);
                }
            }
            TagEnd::Strong => self.unstyle(look::Tag::Strong),
            TagEnd::Emphasis => self.unstyle(look::Tag::Emphasis),
            TagEnd::Strikethrough => self.unstyle(look::Tag::Strike),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    /// Makes room for a text at once: it is hardly ever longer than what it was written as. An item may have other
    /// blocks in it, which have room of their own.
    fn reserve(&mut self, bytes: usize) {
        if self.text.as_str().is_empty() {
            self.text = Text::with_capacity(bytes);
        }
    }

    fn style(&mut self, tag: look::Tag) {
        match self.styles.iter_mut().find(|(open, _)| *open == tag) {
            Some((_, times)) => *times += 1,
            None => {
                self.styles.push((tag, 1));
                self.look = Look::new(self.styles.iter().map(|(tag, _)| *tag));
            }
        }
    }

    fn unstyle(&mut self, tag: look::Tag) {
        let Some(at) = self.styles.iter().position(|(open, _)| *open == tag) else { return };
        self.styles[at].1 -= 1;
        if self.styles[at].1 == 0 {
            self.styles.remove(at);
            self.look = Look::new(self.styles.iter().map(|(tag, _)| *tag));
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push(&printable(text, self.is_suspect), self.look);
    }

    fn open_link(&mut self, url: String) {
        let url = printable(&url, self.is_suspect).into_owned();
        let start = self.text.as_str().len();
        let index = (self.links.is_empty() && !url.is_empty()).then(|| self.text.open_link(url.clone()));
        if let Some(index) = index {
            self.style(look::Tag::Link(index));
        }
        self.links.push(OpenLink { url, start, index });
    }

    fn close_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        if let Some(index) = link.index {
            self.text.close_link(index);
            self.unstyle(look::Tag::Link(index));
        } else if let Some(address) = Links::Round.address(&self.text.as_str()[link.start..], &link.url) {
            self.push(&address);
        }
    }

    fn open(&mut self, kind: Container) {
        self.end_text(Content::Paragraph);
        let parent = self.open.last().copied();
        let depth = parent.map_or(0, |parent| self.document.nodes[parent].depth + 1);
        // A list takes two containers, itself and its item; they are kept or left out together.
        let fits = depth + 1 < DEEPEST || matches!(kind, Container::Item { .. });
        if self.too_deep > 0 || !fits {
            self.too_deep += 1;
            return;
        }
        self.open.push(self.document.nodes.len());
        self.document.nodes.push(Node { parent, depth, kind });
    }

    fn close(&mut self) {
        self.end_text(Content::Paragraph);
        match self.too_deep.checked_sub(1) {
            Some(fewer) => self.too_deep = fewer,
            None => _ = self.open.pop(),
        }
    }

    /// A paragraph of its own in an item means empty lines between the items.
    fn loosen(&mut self) {
        let Some(item) = self.open.last().filter(|_| self.too_deep == 0) else { return };
        let Node { parent: Some(list), kind: Container::Item { .. }, .. } = self.document.nodes[*item] else {
            return;
        };
        if let Container::List { tight, .. } = &mut self.document.nodes[list].kind {
            *tight = false;
        }
    }

    fn end_text(&mut self, content: impl FnOnce(Text) -> Content) {
        let mut text = std::mem::take(&mut self.text);
        text.trim_end();
        if !text.is_blank() {
            self.leaf(content(text));
        }
    }

    fn leaf(&mut self, content: Content) {
        let parent = self.open.last().copied();
        self.document.leaves.push(Leaf { parent, content });
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
