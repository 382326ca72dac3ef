//! What an agent wrote, as blocks of text: read from pulldown-cmark's events, apart from the renderer's own parser.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

/// Text, and the addresses that stretches of it link to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pub(crate) all: String,
    pub(crate) links: Vec<(Range<usize>, String)>,
}

impl Text {
    pub(crate) fn is_blank(&self) -> bool {
        self.all.trim().is_empty()
    }
}

/// A container around a block.
#[derive(Debug, Clone)]
pub(crate) enum Around {
    Quote,
    List,
    /// An item, its mark, and whether the block is the first in it.
    Item {
        number: Option<u64>,
        begins: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Text { heading: usize, text: Text },
    Code { language: String, text: String },
    Table { header: Vec<Text>, rows: Vec<Vec<Text>> },
    Rule,
}

#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) path: Vec<Around>,
    pub(crate) kind: Kind,
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    path: Vec<Around>,
    numbers: Vec<Option<u64>>,
    text: Text,
    /// Address, where it begins, whether it is a link of the text.
    links: Vec<(String, usize, bool)>,
    code: Option<(String, String)>,
    table: Option<(Vec<Text>, Vec<Vec<Text>>)>,
}

/// The blocks of a document in order, none of them blank.
pub(crate) fn blocks(markdown: &str) -> Vec<Block> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut reader = Reader::default();
    // Three line ends that a reader cannot tell apart.
    let markdown = markdown.replace("\r\n", "\n").replace('\r', "\n");
    for event in Parser::new_ext(&markdown, options) {
        reader.event(event);
    }
    reader.end_text(0);
    reader.blocks
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&legible(&text)),
                None => self.push(&text),
            },
            Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::FootnoteReference(label) => self.text.all.push_str(&legible(&format!("[^{label}]"))),
            Event::SoftBreak | Event::HardBreak => {
                self.text.all.push(if self.links.is_empty() { '\n' } else { ' ' });
            }
            Event::Rule => self.block(Kind::Rule),
            Event::TaskListMarker(done) => self.text.all.push_str(if done { "[x] " } else { "[ ] " }),
            Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    /// A link is one line, and so is a cell.
    fn push(&mut self, text: &str) {
        let text = legible(text);
        let is_one_line = !self.links.is_empty() || self.table.is_some();
        self.text.all.push_str(&if is_one_line { text.replace('\n', " ") } else { text });
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::BlockQuote(_) => self.open(Around::Quote),
            Tag::List(first) => {
                self.open(Around::List);
                self.numbers.push(first);
            }
            Tag::Item => {
                let number = self.numbers.last_mut().and_then(|next| {
                    let number = *next;
                    *next = next.map(|n| n.saturating_add(1));
                    number
                });
                self.open(Around::Item { number, begins: true });
            }
            Tag::CodeBlock(kind) => {
                self.end_text(0);
                let language = match kind {
                    // Backticks in it would be more of the fence.
                    CodeBlockKind::Fenced(info) => {
                        legible(info.split_whitespace().next().unwrap_or("")).replace('`', "")
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::Table(_) => {
                self.end_text(0);
                self.table = Some(Default::default());
            }
            Tag::TableRow => {
                if let Some((_, rows)) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::FootnoteDefinition(label) => {
                self.end_text(0);
                self.text.all.push_str(&legible(&format!("[^{label}]: ")));
            }
            Tag::Heading { .. } | Tag::HtmlBlock => self.end_text(0),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                self.open_link(format!("mailto:{dest_url}"));
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open_link(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::FootnoteDefinition | TagEnd::HtmlBlock => self.end_text(0),
            TagEnd::Heading(level) => self.end_text(match level {
                HeadingLevel::H1 => 1,
                HeadingLevel::H2 => 2,
                HeadingLevel::H3 => 3,
                HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => 4,
            }),
            TagEnd::BlockQuote(_) | TagEnd::Item => self.close(),
            TagEnd::List(_) => {
                self.numbers.pop();
                self.close();
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    let text = text.trim_end_matches('\n').to_owned();
                    if !text.trim().is_empty() {
                        self.block(Kind::Code { language, text });
                    }
                }
            }
            TagEnd::Table => {
                if let Some((header, rows)) = self.table.take()
                    && !header.iter().chain(rows.iter().flatten()).all(Text::is_blank)
                {
                    self.block(Kind::Table { header, rows });
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some((header, rows)) = &mut self.table {
                    rows.last_mut().unwrap_or(header).push(cell);
                }
            }
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    fn open_link(&mut self, url: String) {
        let url = legible(&url).replace('\n', "%0A");
        let is_link = self.links.is_empty() && !url.is_empty();
        self.links.push((url, self.text.all.len(), is_link));
    }

    fn close_link(&mut self) {
        let Some((url, start, is_link)) = self.links.pop() else { return };
        if is_link {
            if start == self.text.all.len() {
                self.text.all.push_str(&url);
            }
            self.text.links.push((start..self.text.all.len(), url));
        } else if needs_address(&self.text.all[start..], &url) {
            self.text.all.push_str(&format!(" ({url})"));
        }
    }

    fn open(&mut self, around: Around) {
        self.end_text(0);
        self.path.push(around);
    }

    fn close(&mut self) {
        self.end_text(0);
        self.path.pop();
    }

    fn end_text(&mut self, heading: usize) {
        let text = std::mem::take(&mut self.text);
        if !text.is_blank() {
            self.block(Kind::Text { heading, text });
        }
    }

    fn block(&mut self, kind: Kind) {
        self.blocks.push(Block { path: self.path.clone(), kind });
        for around in &mut self.path {
            if let Around::Item { begins, .. } = around {
                *begins = false;
            }
        }
    }
}

/// With U+FFFD for each character that nobody can read: controls but for tabs and line ends, and noncharacters, which are
/// U+FDD0 to U+FDEF and the last two of every plane.
fn legible(text: &str) -> String {
    let is_legible = |c: char| match c {
        '\t' | '\n' => true,
        '\u{fdd0}'..='\u{fdef}' => false,
        c => !c.is_control() && u32::from(c) % 0x1_0000 < 0xfffe,
    };
    text.chars().map(|c| if is_legible(c) { c } else { '\u{fffd}' }).collect()
}

/// Whether a reader of `label` has to be told where it leads.
pub(crate) fn needs_address(label: &str, url: &str) -> bool {
    !(url.is_empty() || label == url || url.strip_prefix("mailto:") == Some(label))
}
