//! What an agent wrote, as blocks of text. Read from pulldown-cmark's events, without code of the renderer's own parser.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

/// Text, and the URLs that ranges of it link to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pub(crate) all: String,
    pub(crate) links: Vec<(Range<usize>, String)>,
    /// What is hidden until its reader reveals it.
    pub(crate) spoilers: Vec<Range<usize>>,
    /// Where bars are that may enclose a spoiler, until the text is complete.
    bars: Vec<usize>,
}

impl Text {
    pub(crate) fn is_blank(&self) -> bool {
        self.all.trim().is_empty()
    }

    /// The same with spoilers between bars: from bars outside a URL that text follows directly, to the next bars that text
    /// precedes directly. A spoiler that touches a link contains all of it.
    fn with_spoilers(mut self) -> Self {
        let bars: Vec<usize> =
            std::mem::take(&mut self.bars).into_iter().filter(|at| self.may_hide(*at)).collect();
        let is_text = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
        let (mut pairs, mut rest, mut from) = (Vec::new(), bars.as_slice(), 0);
        while let [begin, after @ ..] = rest {
            rest = after;
            let word = self.all[from..*begin].rsplit(char::is_whitespace).next().unwrap_or_default();
            if word.contains("://") || !is_text(self.all[begin + 2..].chars().next()) {
                continue;
            }
            let closes = |at: &usize| *at > begin + 2 && is_text(self.all[..*at].chars().next_back());
            let Some(end) = after.iter().position(closes) else { break };
            pairs.push([*begin, after[end]]);
            from = after[end] + 2;
            rest = &after[end + 1..];
        }
        let dropped: Vec<usize> = pairs.iter().flatten().copied().collect();
        let moved =
            |at: usize| at - dropped.iter().map(|bars| at.saturating_sub(*bars).min(2)).sum::<usize>();
        for [begin, end] in pairs {
            let (mut start, mut stop) = (moved(begin), moved(end));
            for (label, _) in self.links.iter().filter(|(label, _)| label.start < end && begin < label.end) {
                (start, stop) = (start.min(moved(label.start)), stop.max(moved(label.end)));
            }
            match self.spoilers.last_mut().filter(|last| start <= last.end) {
                // Two spoilers with nothing between them are one.
                Some(last) => last.end = last.end.max(stop),
                None => self.spoilers.push(start..stop),
            }
        }
        self.links.iter_mut().for_each(|(label, _)| *label = moved(label.start)..moved(label.end));
        let kept = |(at, _): &(usize, char)| dropped.iter().all(|bars| !(*bars..bars + 2).contains(at));
        self.all = self.all.char_indices().filter(kept).map(|(_, c)| c).collect();
        self
    }

    /// Whether bars may enclose a spoiler where they are: not in a URL, and not as a whole label.
    fn may_hide(&self, at: usize) -> bool {
        let link = self.links.iter().find(|(label, _)| label.contains(&at));
        link.is_none_or(|(label, url)| {
            let label = &self.all[label.clone()];
            label != "||" && needs_address(label, url)
        })
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
    /// The URL, where the label begins, and whether it is a link of the text.
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
    // A reader cannot tell the three kinds of line ends apart.
    let markdown = markdown.replace("\r\n", "\n").replace('\r', "\n");
    for (event, range) in Parser::new_ext(&markdown, options).into_offset_iter() {
        let is_escaped = markdown[..range.start].ends_with('\\');
        let is_text = matches!(event, Event::Text(_)) && reader.code.is_none() && reader.table.is_none();
        let begin = reader.text.all.len();
        reader.event(event);
        if is_text {
            let begin = begin + usize::from(is_escaped);
            let text = &reader.text.all;
            let found = text.match_indices('|').map(|(at, _)| at).filter(|at| *at >= begin);
            let is_bar = |at: usize| at >= begin && text.as_bytes().get(at) == Some(&b'|');
            let bars: Vec<usize> = found
                .filter(|at| !at.checked_sub(1).is_some_and(is_bar) && is_bar(at + 1) && !is_bar(at + 2))
                .collect();
            reader.text.bars.extend(bars);
        }
    }
    reader.end_text(0);
    reader.blocks
}

/// The ids of whom links call, however their scheme is written.
pub(crate) fn called(blocks: &[Block]) -> Vec<&str> {
    let texts = blocks.iter().flat_map(|block| match &block.kind {
        Kind::Text { text, .. } => vec![text],
        Kind::Table { header, rows } => header.iter().chain(rows.iter().flatten()).collect(),
        Kind::Code { .. } | Kind::Rule => vec![],
    });
    let id = |url: &'_ String| {
        url.split_at_checked(8).is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("mention:"))
    };
    texts.flat_map(|text| &text.links).filter(|(_, url)| id(url)).map(|(_, url)| &url[8..]).collect()
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
                    // Backticks in the language would be read as part of the fence.
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
        let text = std::mem::take(&mut self.text).with_spoilers();
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

/// With U+FFFD for each unreadable character: controls other than tabs and line ends, and noncharacters, which are
/// U+FDD0 to U+FDEF and the last two of every plane.
fn legible(text: &str) -> String {
    let is_legible = |c: char| match c {
        '\t' | '\n' => true,
        '\u{fdd0}'..='\u{fdef}' => false,
        c => !c.is_control() && u32::from(c) % 0x1_0000 < 0xfffe,
    };
    text.chars().map(|c| if is_legible(c) { c } else { '\u{fffd}' }).collect()
}

/// Whether the URL has to be written after `label`.
pub(crate) fn needs_address(label: &str, url: &str) -> bool {
    !(url.is_empty() || label == url || url.strip_prefix("mailto:") == Some(label))
}
