//! Markdown to a [`Document`].
//!
//! Everything readable is kept: raw HTML, footnotes and task markers become text, and an image becomes a link to it. Line
//! breaks stay where the agent put them, as chat platforms show them.

mod printable;

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use crate::document::{
    Attribute, Container, ContainerKind, Document, Grid, Leaf, LeafKind, MAX_CONTAINER_DEPTH, Table,
    TextStyle, Texts, UrlForm, find_bars, hide_between_bars, may_have_spoilers,
};
use printable::{Source, printable};

/// Parses CommonMark with tables, strikethrough, task lists, footnotes and spoilers. Any text is a document.
pub fn parse(markdown: &str) -> Document {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let Source { markdown, may_be_unprintable } = Source::new(markdown);
    let markdown = &*markdown;
    // Text is hardly ever longer than the Markdown that it was written as.
    let document = Document { texts: Texts::with_capacity(markdown.len()), ..Document::default() };
    let mut builder = Builder { may_be_unprintable, document, ..Builder::default() };
    let parser = Parser::new_ext(markdown, options);
    match may_have_spoilers(markdown) {
        false => parser.for_each(|event| builder.event(event)),
        true => {
            for (event, range) in parser.into_offset_iter() {
                let is_text = matches!(event, Event::Text(_));
                let start = builder.document.texts.open().as_str().len();
                builder.event(event);
                if is_text {
                    builder.find_bars(start, markdown[..range.start].ends_with('\\'));
                }
            }
        }
    }
    builder.end_text(LeafKind::Paragraph);
    builder.document
}

#[derive(Default)]
struct Builder {
    may_be_unprintable: bool,
    document: Document,
    /// The open containers.
    open: Vec<usize>,
    /// How many more containers are open inside them that are nested too deep to be kept.
    ignored: usize,
    /// The number of the next item, for each open list.
    numbers: Vec<Option<u64>>,
    /// The language of the open code block.
    code: Option<String>,
    table: Option<Grid>,
    /// The open attributes, outermost first, and how often each is open.
    attributes: Vec<(Attribute, usize)>,
    /// The style of text that has all of them.
    style: TextStyle,
    links: Vec<OpenLink>,
    /// Where the open text has bars that may enclose a spoiler.
    bars: Vec<usize>,
}

enum OpenLink {
    /// A link of the text, with its index there.
    Link(usize),
    /// An image inside a link, or a link without a URL: its URL is written as text after its label, which begins at `start`.
    Text { url: String, start: usize },
}

impl Builder {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.push_raw(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let style = TextStyle::new(self.style.attributes().chain([Attribute::Code]));
                self.document.texts.push(&printable(&text, self.may_be_unprintable), style);
            }
            Event::FootnoteReference(label) => self.push_raw(&format!("[^{label}]")),
            // A link stays on one line, so that its cost does not depend on where it stands.
            Event::SoftBreak | Event::HardBreak if !self.links.is_empty() => self.push(" "),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Rule => self.push_leaf(LeafKind::Rule),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.loosen_list(),
            Tag::BlockQuote(_) => self.open_container(ContainerKind::Quote),
            Tag::List(first) => {
                self.open_container(ContainerKind::List { ordered: first.is_some(), tight: true });
                self.numbers.push(first);
            }
            Tag::Item => {
                let number = self.next_number();
                self.open_container(ContainerKind::Item { number });
            }
            Tag::CodeBlock(kind) => {
                self.end_text(LeafKind::Paragraph);
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(info) => {
                        let language = info.split_whitespace().next().unwrap_or("");
                        printable(language, self.may_be_unprintable).into_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::Table(_) => {
                self.end_text(LeafKind::Paragraph);
                self.table = Some(Grid { first: self.document.texts.len(), columns: 0, rows: 0..0 });
            }
            Tag::FootnoteDefinition(label) => {
                self.end_text(LeafKind::Paragraph);
                self.push_raw(&format!("[^{label}]: "));
            }
            Tag::Heading { .. } | Tag::HtmlBlock => self.end_text(LeafKind::Paragraph),
            Tag::Strong => self.open_attribute(Attribute::Strong),
            Tag::Emphasis => self.open_attribute(Attribute::Emphasis),
            Tag::Strikethrough => self.open_attribute(Attribute::Strike),
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
                self.end_text(LeafKind::Paragraph)
            }
            TagEnd::Heading(level) => self.end_text(|text| LeafKind::Heading(level_number(level), text)),
            TagEnd::BlockQuote(_) | TagEnd::Item => self.close_container(),
            TagEnd::List(_) => {
                self.numbers.pop();
                self.close_container();
            }
            TagEnd::CodeBlock => {
                if let Some(language) = self.code.take() {
                    self.end_text(|text| LeafKind::Code { language, text });
                }
            }
            TagEnd::TableHead => {
                if let Some(table) = &mut self.table {
                    table.columns = self.document.texts.len() - table.first;
                }
            }
            TagEnd::TableRow => self.end_row(),
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => _ = self.document.texts.finish(),
            TagEnd::Strong => self.close_attribute(Attribute::Strong),
            TagEnd::Emphasis => self.close_attribute(Attribute::Emphasis),
            TagEnd::Strikethrough => self.close_attribute(Attribute::Strike),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    /// The number of the item that begins, if its list has numbers.
    fn next_number(&mut self) -> Option<u64> {
        let next = self.numbers.last_mut()?;
        let number = *next;
        *next = next.map(|n| n.saturating_add(1));
        number
    }

    /// Ends a row of a table, with as many cells as the header has.
    fn end_row(&mut self) {
        let texts = &mut self.document.texts;
        if let Some(table) = &mut self.table {
            table.rows.end += 1;
            let cells = table.first + table.columns * (1 + table.rows.end);
            while texts.len() < cells {
                texts.finish();
            }
            texts.truncate(cells);
        }
    }

    fn end_table(&mut self) {
        if let Some(grid) = self.table.take() {
            match Table::new(&self.document.texts, &grid).is_blank() {
                true => self.document.texts.truncate(grid.first),
                false => self.push_leaf(LeafKind::Table(grid)),
            }
        }
    }

    fn open_attribute(&mut self, attribute: Attribute) {
        match self.attributes.iter_mut().find(|(open, _)| *open == attribute) {
            Some((_, times)) => *times += 1,
            None => {
                self.attributes.push((attribute, 1));
                self.style = TextStyle::new(self.attributes.iter().map(|(attribute, _)| *attribute));
            }
        }
    }

    fn close_attribute(&mut self, attribute: Attribute) {
        let Some(at) = self.attributes.iter().position(|(open, _)| *open == attribute) else { return };
        self.attributes[at].1 -= 1;
        if self.attributes[at].1 == 0 {
            self.attributes.remove(at);
            self.style = TextStyle::new(self.attributes.iter().map(|(attribute, _)| *attribute));
        }
    }

    /// Appends text from a text event. It can contain a line end only if a character reference stands for one, and then
    /// the text may be unprintable too.
    #[inline]
    fn push(&mut self, text: &str) {
        match self.may_be_unprintable {
            true => self.push_raw(text),
            false => self.document.texts.push(text, self.style),
        }
    }

    /// Appends text that may contain line ends. In a table row and in a link, they become spaces.
    fn push_raw(&mut self, text: &str) {
        let is_one_line = self.table.is_some() || !self.links.is_empty();
        let text = match is_one_line && memchr::memchr(b'\n', text.as_bytes()).is_some() {
            true => Cow::Owned(text.replace('\n', " ")),
            false => Cow::Borrowed(text),
        };
        self.document.texts.push(&printable(&text, self.may_be_unprintable), self.style);
    }

    /// Remembers the bars in the open text from `start` on, whose first character may have been escaped.
    fn find_bars(&mut self, start: usize, is_escaped: bool) {
        // Bars in code are code; in a table they separate cells.
        if self.code.is_none() && self.table.is_none() {
            let text = &self.document.texts.open().as_str()[start..];
            self.bars.extend(find_bars(text, is_escaped).map(|at| start + at));
        }
    }

    fn open_link(&mut self, url: String) {
        let url = if self.may_be_unprintable { printable(&url, true).into_owned() } else { url };
        let url = if url.contains('\n') { url.replace('\n', "%0A") } else { url };
        let texts = &mut self.document.texts;
        if self.links.is_empty() && !url.is_empty() {
            let index = texts.open_link(url);
            self.links.push(OpenLink::Link(index));
            self.open_attribute(Attribute::Link(index));
        } else {
            self.links.push(OpenLink::Text { url, start: texts.open().as_str().len() });
        }
    }

    fn close_link(&mut self) {
        match self.links.pop() {
            Some(OpenLink::Link(index)) => {
                self.document.texts.close_link(index);
                self.close_attribute(Attribute::Link(index));
            }
            Some(OpenLink::Text { url, start }) => {
                let label = &self.document.texts.open().as_str()[start..];
                if let Some(written) = UrlForm::Round.after_label(label, &url) {
                    self.push(&written);
                }
            }
            None => {}
        }
    }

    fn open_container(&mut self, kind: ContainerKind) {
        self.end_text(LeafKind::Paragraph);
        let parent = self.open.last().copied();
        let depth = parent.map_or(0, |parent| self.document.containers[parent].depth + 1);
        // A list is two containers, itself and its item; they are kept or ignored together.
        let fits = depth + 1 < MAX_CONTAINER_DEPTH || matches!(kind, ContainerKind::Item { .. });
        if self.ignored > 0 || !fits {
            self.ignored += 1;
            return;
        }
        self.open.push(self.document.containers.len());
        self.document.containers.push(Container { parent, depth, kind });
    }

    fn close_container(&mut self) {
        self.end_text(LeafKind::Paragraph);
        match self.ignored.checked_sub(1) {
            Some(fewer) => self.ignored = fewer,
            None => _ = self.open.pop(),
        }
    }

    /// Makes the list of the open item loose: pulldown-cmark reports paragraphs only in lists with empty lines.
    fn loosen_list(&mut self) {
        let Some(item) = self.open.last().filter(|_| self.ignored == 0) else { return };
        let item = self.document.containers[*item];
        let Container { parent: Some(list), kind: ContainerKind::Item { .. }, .. } = item else { return };
        if let ContainerKind::List { tight, .. } = &mut self.document.containers[list].kind {
            *tight = false;
        }
    }

    /// Ends the open text and adds it as a leaf, unless it is blank.
    fn end_text(&mut self, kind: impl FnOnce(usize) -> LeafKind) {
        let texts = &mut self.document.texts;
        texts.trim_end();
        if !self.bars.is_empty()
            && let Some(hidden) = hide_between_bars(texts.open(), &std::mem::take(&mut self.bars))
        {
            texts.discard_open();
            texts.append(hidden.open());
        }
        if texts.open().is_blank() {
            return texts.discard_open();
        }
        let kind = kind(texts.finish());
        self.push_leaf(kind);
    }

    fn push_leaf(&mut self, kind: LeafKind) {
        let parent = self.open.last().copied();
        self.document.leaves.push(Leaf { parent, kind });
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
