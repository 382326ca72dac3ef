//! Markdown to a [`Document`].
//!
//! Everything that can be read is kept: raw HTML, footnotes and the state of tasks become text, an image becomes a
//! link to it. Line breaks stay where the agent put them, as chat platforms show them.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::link::Links;
use super::look::{self, Look};
use super::spoiler;
use super::table::{Grid, Table};
use super::text::Texts;
use super::tree::{Container, Content, DEEPEST, Document, Leaf, Node};

/// Parses CommonMark with tables, strikethrough, task lists, footnotes and spoilers. Any text is a document.
pub fn parse(markdown: &str) -> Document {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    // The one look for control characters finds carriage returns too.
    let (markdown, has_controls) = match has_controls(markdown) {
        false => (Cow::Borrowed(markdown), false),
        true => {
            let markdown = with_one_line_end(markdown);
            let has_controls = has_controls(&markdown);
            (markdown, has_controls)
        }
    };
    let markdown = &*markdown;
    // Text is hardly ever longer than what it was written as.
    let document = Document { texts: Texts::with_capacity(markdown.len()), ..Document::default() };
    let mut builder =
        Builder { is_suspect: has_controls || is_suspect(markdown), document, ..Builder::default() };
    let parser = Parser::new_ext(markdown, options);
    match spoiler::may_be_in(markdown) {
        false => parser.for_each(|event| builder.event(event)),
        true => {
            for (event, range) in parser.into_offset_iter() {
                let is_text = matches!(event, Event::Text(_));
                let begin = builder.document.texts.open().as_str().len();
                builder.event(event);
                if is_text {
                    builder.find_bars(begin, markdown[..range.start].ends_with('\\'));
                }
            }
        }
    }
    builder.end_text(Content::Paragraph);
    builder.document
}

/// The same text with a line feed for each line end: CommonMark has three, and a reader sees no difference.
fn with_one_line_end(markdown: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', markdown.as_bytes()).is_none() {
        return markdown.into();
    }
    markdown.replace("\r\n", "\n").replace('\r', "\n").into()
}

/// Whether there is a control character other than tabs and line feeds.
fn has_controls(markdown: &str) -> bool {
    const BLOCK: usize = 1024;
    let is_control = |b: u8| (b < b' ') & (b != b'\t') & (b != b'\n') | (b == 0x7f);
    // Without a way out of the inner loop, the compiler makes vector instructions of it.
    let controls = |block: &[u8]| block.iter().fold(false, |any, b| any | is_control(*b));
    markdown.as_bytes().chunks(BLOCK).any(controls)
}

/// The same text with U+FFFD in place of what is no text: control characters other than tabs and line ends, and what
/// Unicode promises never to be a character. HTML has no place for them, and nobody could read them.
fn printable(text: &str, is_suspect: bool) -> Cow<'_, str> {
    if !is_suspect {
        return text.into();
    }
    let is_no_text = |c: char| {
        let is_nonchar = (0xfdd0..=0xfdef).contains(&u32::from(c)) || u32::from(c) & 0xfffe == 0xfffe;
        is_nonchar || c.is_control() && !matches!(c, '\t' | '\n')
    };
    if text.contains(is_no_text) { text.replace(is_no_text, "\u{fffd}").into() } else { text.into() }
}

/// Whether [`printable`] may have something to do in a part of `markdown`, which has no control characters of ASCII: two
/// bytes that end what is no character, or a reference that may stand for one. One that stands for a line end counts too.
fn is_suspect(markdown: &str) -> bool {
    let bytes = markdown.as_bytes();
    let behind = |at: usize| &bytes[at + 1..];
    let ends_none = |at: usize| match (bytes[at], behind(at).first()) {
        (0xc2, Some(next)) => *next < 0xa0,
        (0xef, Some(next)) => *next == 0xb7,
        (_, next) => matches!(next, Some(0xbe | 0xbf)),
    };
    let refers = |at: usize| behind(at).starts_with(b"#") || behind(at).starts_with(b"NewLine;");
    memchr::memchr3_iter(0xc2, 0xef, 0xbf, bytes).any(ends_none)
        || memchr::memchr_iter(b'&', bytes).any(refers)
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
    /// The language of the code block that is open.
    code: Option<String>,
    table: Option<Grid>,
    /// The styles that are open, outermost first, and how often each.
    styles: Vec<(look::Tag, usize)>,
    /// What text looks like that is in all of them.
    look: Look,
    links: Vec<OpenLink>,
    /// Where the open text has bars that may be on either side of a spoiler.
    bars: Vec<usize>,
}

enum OpenLink {
    /// A link of the text, with its index there.
    Linked(usize),
    /// An image in a link, whose address becomes text, or a link to nowhere; and where its label begins.
    Written { url: String, start: usize },
}

impl Builder {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.push_raw(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let look = Look::new(self.look.tags().chain([look::Tag::Code]));
                self.document.texts.push(&printable(&text, self.is_suspect), look);
            }
            Event::FootnoteReference(label) => self.push_raw(&format!("[^{label}]")),
            // A link stays on one line, so that its cost does not depend on where it stands.
            Event::SoftBreak | Event::HardBreak if !self.links.is_empty() => self.push(" "),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => self.leaf(Content::Rule),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.loosen(),
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
            }
            Tag::CodeBlock(kind) => {
                self.end_text(Content::Paragraph);
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(info) => {
                        printable(info.split_whitespace().next().unwrap_or(""), self.is_suspect).into_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::Table(_) => {
                self.end_text(Content::Paragraph);
                self.table = Some(Grid { first: self.document.texts.len(), columns: 0, rows: 0..0 });
            }
            Tag::FootnoteDefinition(label) => {
                self.end_text(Content::Paragraph);
                self.push_raw(&format!("[^{label}]: "));
            }
            Tag::Heading { .. } | Tag::HtmlBlock => self.end_text(Content::Paragraph),
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
                if let Some(language) = self.code.take() {
                    self.end_text(|text| Content::Code { language, text });
                }
            }
            TagEnd::TableHead => {
                if let Some(table) = &mut self.table {
                    table.columns = self.document.texts.len() - table.first;
                }
            }
            TagEnd::TableRow => self.end_row(),
            TagEnd::Table => {
                if let Some(grid) = self.table.take() {
                    match Table::new(&self.document.texts, &grid).is_blank() {
                        true => self.document.texts.forget(grid.first),
                        false => self.leaf(Content::Table(grid)),
                    }
                }
            }
            TagEnd::TableCell => _ = self.document.texts.end(),
            TagEnd::Strong => self.unstyle(look::Tag::Strong),
            TagEnd::Emphasis => self.unstyle(look::Tag::Emphasis),
            TagEnd::Strikethrough => self.unstyle(look::Tag::Strike),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    /// Ends a row of a table, with as many cells as the header has.
    fn end_row(&mut self) {
        let texts = &mut self.document.texts;
        if let Some(table) = &mut self.table {
            table.rows.end += 1;
            let cells = table.first + table.columns * (1 + table.rows.end);
            while texts.len() < cells {
                texts.end();
            }
            texts.forget(cells);
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

    /// Adds text that has been read as such: only a reference can have put the end of a line in it.
    #[inline]
    fn push(&mut self, text: &str) {
        match self.is_suspect {
            true => self.push_raw(text),
            false => self.document.texts.push(text, self.look),
        }
    }

    /// Adds text that may have ends of lines in it. A row and a link are one line each.
    fn push_raw(&mut self, text: &str) {
        let is_one_line = self.table.is_some() || !self.links.is_empty();
        let text = match is_one_line && memchr::memchr(b'\n', text.as_bytes()).is_some() {
            true => Cow::Owned(text.replace('\n', " ")),
            false => Cow::Borrowed(text),
        };
        self.document.texts.push(&printable(&text, self.is_suspect), self.look);
    }

    /// Looks for bars in what the open text has from `begin` on, whose first sign may have been escaped.
    fn find_bars(&mut self, begin: usize, is_escaped: bool) {
        // In code they are code, in a table the table's own.
        if self.code.is_none() && self.table.is_none() {
            let text = &self.document.texts.open().as_str()[begin..];
            self.bars.extend(spoiler::bars(text, is_escaped).map(|at| begin + at));
        }
    }

    fn open_link(&mut self, url: String) {
        let url = if self.is_suspect { printable(&url, true).into_owned() } else { url };
        let url = if url.contains('\n') { url.replace('\n', "%0A") } else { url };
        let texts = &mut self.document.texts;
        if self.links.is_empty() && !url.is_empty() {
            let index = texts.open_link(url);
            self.links.push(OpenLink::Linked(index));
            self.style(look::Tag::Link(index));
        } else {
            self.links.push(OpenLink::Written { url, start: texts.open().as_str().len() });
        }
    }

    fn close_link(&mut self) {
        match self.links.pop() {
            Some(OpenLink::Linked(index)) => {
                self.document.texts.close_link(index);
                self.unstyle(look::Tag::Link(index));
            }
            Some(OpenLink::Written { url, start }) => {
                let label = &self.document.texts.open().as_str()[start..];
                if let Some(address) = Links::Round.address(label, &url) {
                    self.push(&address);
                }
            }
            None => {}
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

    /// Ends the open text as a leaf, unless it is blank.
    fn end_text(&mut self, content: impl FnOnce(usize) -> Content) {
        let texts = &mut self.document.texts;
        texts.trim_end();
        if !self.bars.is_empty()
            && let Some(hidden) = spoiler::hide(texts.open(), &std::mem::take(&mut self.bars))
        {
            texts.forget(texts.len());
            texts.append(hidden.open());
        }
        if texts.open().is_blank() {
            return texts.forget(texts.len());
        }
        let content = content(texts.end());
        self.leaf(content);
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
