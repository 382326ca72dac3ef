//! What is seen of a part on its platform, as runs of text with their styles: for a person who looks at it elsewhere.
//!
//! Nothing is sent of this. A platform without formatting shows the text that is sent; all others are taken to show a style that they
//! have a mark or a tag for, and to hide the address of a link that they have one for.

use crate::document::{Attribute, Text, TextStyle, UrlForm, push_lines};
use crate::flavour::{Flavour, Markup};
use crate::layout::{Block, Layout, LinePrefixes, Piece, TableForm};
use crate::markup::{BodyMarkup, THEMATIC_BREAK};
use crate::part::{Look, Run};

/// Quotes and lists as on platforms that draw them: without the marks of the outermost quote.
const DRAWN: BodyMarkup = BodyMarkup::Telegram;

/// What is seen of one part.
pub(crate) fn write(layout: &Layout<'_>, pieces: &[Piece], flavour: &Flavour) -> Vec<Run> {
    if flavour.markup == Markup::Plain {
        return vec![Run { text: super::body::write(layout, pieces).text, styles: vec![] }];
    }
    let mut writer = Writer { layout, runs: Vec::new(), prefixes: LinePrefixes::default() };
    for (n, piece) in pieces.iter().enumerate() {
        if n > 0 {
            writer.push(&layout.separator_in(piece.leaf, DRAWN), &[]);
        }
        writer.piece(piece);
    }
    writer.runs
}

struct Writer<'a> {
    layout: &'a Layout<'a>,
    runs: Vec<Run>,
    prefixes: LinePrefixes,
}

impl Writer<'_> {
    /// Appends a text, to the last run if that has the same styles.
    fn push(&mut self, text: &str, styles: &[Look]) {
        if text.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.styles == styles => last.text.push_str(text),
            _ => self.runs.push(Run { text: text.to_owned(), styles: styles.to_vec() }),
        }
    }

    /// The same with the leaf's prefix behind each line break.
    fn push_lines(&mut self, text: &str, styles: &[Look]) {
        let mut lines = String::new();
        push_lines(text, &format!("\n{}", self.prefixes.rest), &mut lines);
        self.push(&lines, styles);
    }

    fn piece(&mut self, piece: &Piece) {
        let layout = self.layout;
        let leaf = &layout.leaves[piece.leaf];
        layout.write_prefixes(&mut self.prefixes, leaf.parent, piece.leaf, DRAWN);
        let quote: &[Look] = if layout.is_quoted(piece.leaf) { &[Look::Quote] } else { &[] };
        let prefix = if piece.is_start { &self.prefixes.first } else { &self.prefixes.rest };
        self.push(&prefix.clone(), quote);
        let block = [quote, &[Look::Block]].concat();
        match &leaf.block {
            Block::Text { text, .. } => self.text(text.text(), piece, quote),
            Block::Code { text, .. } => self.push_lines(&text[piece.range.clone()], &block),
            Block::Table(table) => {
                let styles = if table.form == TableForm::Code { &block[..] } else { quote };
                let rows: Vec<String> = table
                    .head_and_rows(&piece.range, UrlForm::Round)
                    .map(|lines| lines.to_string())
                    .collect();
                self.push_lines(&rows.join("\n"), styles);
            }
            Block::Rule => self.push(THEMATIC_BREAK, quote),
        }
    }

    fn text(&mut self, text: Text<'_>, piece: &Piece, quote: &[Look]) {
        let mut open = None;
        for (_, slice, style) in text.slices_at(piece.range.clone()) {
            let link = link_of(style);
            if open != link {
                self.end_link(text, open, quote);
                open = link;
            }
            let styles: Vec<Look> =
                quote.iter().copied().chain(style.attributes().filter_map(look)).collect();
            self.push_lines(slice, &styles);
        }
        self.end_link(text, open, quote);
    }

    /// Where a platform has no link, its address stands behind the label.
    fn end_link(&mut self, text: Text<'_>, link: Option<usize>, quote: &[Look]) {
        let Some(link) = link.and_then(|link| text.links().get(link)) else { return };
        let is_bare = link.is_bare(&text.as_str()[link.range.clone()]);
        if !is_bare && !self.layout.markup.accepts_link(link) {
            self.push(&UrlForm::Round.written(&link.url), quote);
        }
    }
}

fn link_of(style: TextStyle) -> Option<usize> {
    style.attributes().find_map(|attribute| match attribute {
        Attribute::Link(link) => Some(link),
        _ => None,
    })
}

fn look(attribute: Attribute) -> Option<Look> {
    match attribute {
        Attribute::Link(_) => Some(Look::Link),
        Attribute::Strong => Some(Look::Bold),
        Attribute::Emphasis => Some(Look::Italic),
        Attribute::Strike => Some(Look::Strike),
        Attribute::Code => Some(Look::Code),
        // The person who approves reads what it hides.
        Attribute::Spoiler => None,
    }
}
