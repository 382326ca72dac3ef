//! A parsed document: leaf blocks in reading order, each with a reference to the container block around it.
//!
//! It is flat on purpose. A part of a message is a range of leaves, and what is open around a leaf follows from its
//! containers, so nothing here recurses, however deep an agent nests its quotes.

use super::link::UrlForm;
use super::spoiler::SPOILER_LABEL;
use super::style::TextStyle;
use super::table::{Grid, Table};
use super::text::Text;
use super::texts::Texts;

/// How many containers may be nested. Deeper ones are ignored: their text is kept, their marks are not.
pub(crate) const MAX_CONTAINER_DEPTH: usize = 12;

/// An agent's message, parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    pub(crate) containers: Vec<Container>,
    pub(crate) leaves: Vec<Leaf>,
    /// The texts of all leaves.
    pub(crate) texts: Texts,
}

/// A block that contains other blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Container {
    pub(crate) parent: Option<usize>,
    pub(crate) depth: usize,
    pub(crate) kind: ContainerKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerKind {
    Quote,
    /// A list. If it is `tight`, there are no empty lines between its items.
    List {
        ordered: bool,
        tight: bool,
    },
    Item {
        number: Option<u64>,
    },
}

/// A block that contains no other blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) parent: Option<usize>,
    pub(crate) kind: LeafKind,
}

/// The content of a leaf. A text is given by its number in [`Document::texts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeafKind {
    Paragraph(usize),
    Heading(u8, usize),
    Code { language: String, text: usize },
    Table(Grid),
    Rule,
}

impl Document {
    /// The ids of the people whom links of it call, each once, in order: `[Ann](mention:ID)`. Whether a platform has such
    /// people, and such ids, its channel knows.
    pub fn mentions(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = Vec::new();
        for id in self.texts.links().iter().filter_map(|link| super::mentioned(&link.url)) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Puts `prefix` in front of the message as literal text: into its first paragraph if it begins with one, otherwise
    /// into a paragraph of its own.
    pub fn decorate(&mut self, prefix: &str) {
        let first = match self.leaves.first() {
            Some(Leaf { parent: None, kind: LeafKind::Paragraph(first) }) => Some(*first),
            _ if prefix.trim().is_empty() => return,
            _ => None,
        };
        let prefix = if first.is_some() { prefix } else { prefix.trim_end() };
        let mut text = Texts::default();
        text.push(prefix, TextStyle::PLAIN);
        if let Some(first) = first {
            text.append(self.text(first));
        }
        self.texts.append(text.open());
        let kind = LeafKind::Paragraph(self.texts.finish());
        match first {
            Some(_) => self.leaves[0].kind = kind,
            None => self.leaves.insert(0, Leaf { parent: None, kind }),
        }
    }

    #[inline]
    pub(crate) fn text(&self, at: usize) -> Text<'_> {
        self.texts.get(at)
    }

    /// Whether there is nothing to see.
    pub fn is_blank(&self) -> bool {
        self.leaves.is_empty()
    }

    pub(crate) fn has_spoilers(&self) -> bool {
        self.texts.have_spoilers()
    }

    /// The first visible line in at most `max_chars` characters, for the subject of an e-mail. A longer line is cut between
    /// words and ends in `…`. The content of spoilers is left out.
    pub fn headline(&self, max_chars: usize) -> String {
        let line = self.leaves.iter().find_map(|leaf| self.first_line(&leaf.kind));
        shorten(&line.unwrap_or_default(), max_chars)
    }

    fn first_line(&self, leaf: &LeafKind) -> Option<String> {
        let text = match leaf {
            LeafKind::Paragraph(text) | LeafKind::Heading(_, text) | LeafKind::Code { text, .. } => {
                let text = self.text(*text);
                let shown = |(range, is_spoiler)| match is_spoiler {
                    true => SPOILER_LABEL.trim_end(),
                    false => &text.as_str()[range],
                };
                text.split_by_spoiler(0..text.as_str().len()).map(shown).collect::<String>()
            }
            LeafKind::Table(grid) => Table::new(&self.texts, grid).header_line(UrlForm::Round),
            LeafKind::Rule => return None,
        };
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.find(|line| !line.is_empty())
    }
}

fn shorten(line: &str, max_chars: usize) -> String {
    if line.chars().count() <= max_chars {
        return line.to_owned();
    }
    let Some(room) = max_chars.checked_sub(1) else { return String::new() };
    let end = line.char_indices().nth(room).map_or(line.len(), |(at, _)| at);
    // A word that ends exactly at the limit is kept; a single long word is cut between grapheme clusters.
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
