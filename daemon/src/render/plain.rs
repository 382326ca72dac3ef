//! Parts as readable plain text.
//!
//! The splitter has counted on what is written here: whoever changes a mark changes its cost in `layout` or `atoms`.

use super::layout::{Block, Form, Layout};
use super::split::Piece;
use super::text::Links;

/// A thematic break.
pub(super) const RULE: &str = "---";

pub(super) fn write(layout: &Layout, pieces: &[Piece], links: Links) -> String {
    let mut out = String::new();
    let mut before = None;
    for piece in pieces {
        if let Some(before) = before {
            out.push_str(&layout.separator(before, piece.leaf));
        }
        before = Some(piece.leaf);
        let laid = &layout.leaves[piece.leaf];
        let newline = format!("\n{}", laid.indent);
        out.push_str(if piece.begins { &laid.marked } else { &laid.indent });
        if !laid.fence.is_empty() {
            out.push_str(&laid.fence);
            if let Block::Code { language, .. } = &laid.block {
                out.push_str(language);
            }
            out.push_str(&newline);
        }
        match &laid.block {
            Block::Text { text, .. } => text.write(piece.range.clone(), links, &newline, &mut out),
            Block::Code { text, .. } => out.push_str(&text[piece.range.clone()].replace('\n', &newline)),
            Block::Table(table) => {
                let rows = piece.range.clone().map(|row| table.line(Some(row), links));
                let lines: Vec<_> = table.head(links).into_iter().chain(rows).collect();
                out.push_str(&lines.join(&newline));
            }
            Block::Rule => out.push_str(RULE),
        }
        if !laid.fence.is_empty() {
            out.push_str(&newline);
            out.push_str(&laid.fence);
        }
    }
    out
}

/// The text of a code block or of a table in one, for markup.
pub(super) fn code(layout: &Layout, piece: &Piece) -> Option<String> {
    match &layout.leaves[piece.leaf].block {
        Block::Code { text, .. } => Some(text[piece.range.clone()].to_owned()),
        Block::Table(table) if table.form == Form::Code => {
            let rows = piece.range.clone().map(|row| table.line(Some(row), Links::Round));
            Some(table.head(Links::Round).into_iter().chain(rows).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}
