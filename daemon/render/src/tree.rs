//! A parsed document: leaves in reading order, each knowing the containers that it lies in.
//!
//! Flat on purpose. A part of a message is a stretch of leaves; what is open around it follows from the containers, so
//! nothing here recurses, however deep an agent nests its quotes.

use super::link::Links;
use super::look::Look;
use super::pen::SPOILER;
use super::table::{Grid, Table};
use super::text::{Text, Texts};

/// Containers deeper than this are read as if they were not there: their text is kept, their marks are not.
pub(super) const DEEPEST: usize = 12;

/// An agent's message, parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<Leaf>,
    /// The texts of all leaves.
    pub(super) texts: Texts,
}

/// A container: something that has blocks in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    pub(super) kind: Container,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Quote,
    /// A list; a tight one has no empty lines between its items.
    List {
        ordered: bool,
        tight: bool,
    },
    Item {
        number: Option<u64>,
    },
}

/// A block that has no blocks in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) parent: Option<usize>,
    pub(super) content: Content,
}

/// What a leaf is; a text is its number in [`Document::texts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Paragraph(usize),
    Heading(u8, usize),
    Code { language: String, text: usize },
    Table(Grid),
    Rule,
}

impl Document {
    /// Puts `prefix` in front of the message, as literal text: into its first paragraph if it begins with one, else as
    /// a paragraph of its own.
    pub fn decorate(&mut self, prefix: &str) {
        let first = match self.leaves.first() {
            Some(Leaf { parent: None, content: Content::Paragraph(first) }) => Some(*first),
            _ if prefix.trim().is_empty() => return,
            _ => None,
        };
        let before = if first.is_some() { prefix } else { prefix.trim_end() };
        let mut text = Texts::default();
        text.push(before, Look::PLAIN);
        if let Some(first) = first {
            text.append(self.text(first));
        }
        self.texts.append(text.open());
        let content = Content::Paragraph(self.texts.end());
        match first {
            Some(_) => self.leaves[0].content = content,
            None => self.leaves.insert(0, Leaf { parent: None, content }),
        }
    }

    pub(super) fn text(&self, at: usize) -> Text<'_> {
        self.texts.get(at)
    }

    /// Whether there is nothing to see.
    pub fn is_blank(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Whether any of it is hidden until its reader asks for it.
    pub(super) fn has_spoilers(&self) -> bool {
        self.texts.have_spoilers()
    }

    /// The first visible line in at most `max_chars` characters, for the subject of an e-mail. Cut at a word, a longer
    /// one ends in `…`. The text of a spoiler is not in it.
    pub fn headline(&self, max_chars: usize) -> String {
        let line = self.leaves.iter().find_map(|leaf| {
            let text = match &leaf.content {
                Content::Paragraph(text) | Content::Heading(_, text) | Content::Code { text, .. } => {
                    let text = self.text(*text);
                    let shown = |(range, is_spoiler)| match is_spoiler {
                        true => SPOILER.trim_end(),
                        false => &text.as_str()[range],
                    };
                    text.by_spoiler(0..text.as_str().len()).map(shown).collect::<String>()
                }
                Content::Table(grid) => Table::new(&self.texts, grid).header_line(Links::Round),
                Content::Rule => return None,
            };
            let line = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            line.into_iter().find(|line| !line.is_empty())
        });
        shorten(&line.unwrap_or_default(), max_chars)
    }
}

fn shorten(line: &str, max_chars: usize) -> String {
    if line.chars().count() <= max_chars {
        return line.to_owned();
    }
    let Some(room) = max_chars.checked_sub(1) else { return String::new() };
    let end = line.char_indices().nth(room).map_or(line.len(), |(at, _)| at);
    // A word that ends exactly there counts; a single long one is cut between clusters.
    let cut = match line[..end].rfind(' ') {
        _ if line[end..].starts_with(' ') => &line[..end],
        Some(space) => &line[..space],
        None => gatepost_chunk::split(
            &line[..end],
            room,
            gatepost_chunk::Unit::CodePoints,
            gatepost_chunk::Mode::Length,
        )
        .ok()
        .and_then(|mut chunks| chunks.next())
        .map_or("", |chunk| chunk.text),
    };
    format!("{}…", cut.trim_end())
}
