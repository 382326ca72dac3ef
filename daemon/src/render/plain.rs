//! Parts as an approver reads them: the visible text with the marks of plain Markdown, whatever the platform has.

use super::layout::{Block, Form, Layout};
use super::pen::Pen;
use super::split::Piece;
use super::text::Links;

/// A thematic break.
pub(super) const RULE: &str = "---";

pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece]) -> String {
    let links = Links::Angle;
    let mut out = String::new();
    let mut before = None;
    for piece in pieces {
        if let Some(before) = before {
            out.push_str(&layout.separator_by(before, piece.leaf, Pen::Plain));
        }
        before = Some(piece.leaf);
        let laid = &layout.leaves[piece.leaf];
        let (indent, marked) = layout.indents(laid.parent, piece.leaf, Pen::Plain);
        let newline = format!("\n{indent}");
        out.push_str(if piece.begins { &marked } else { &indent });
        if !laid.backticks.is_empty() {
            out.push_str(&laid.backticks);
            if let Block::Code { language, .. } = &laid.block {
                out.push_str(language);
            }
            out.push_str(&newline);
        }
        match &laid.block {
            Block::Text { text, .. } => text.write(piece.range.clone(), links, &newline, &mut out),
            Block::Code { text, .. } => lines(text[piece.range.clone()].split('\n'), &newline, &mut out),
            Block::Table(table) => {
                let rows = piece.range.clone().map(|row| table.line(row, links));
                lines(table.head(links).chain(rows), &newline, &mut out);
            }
            Block::Rule => out.push_str(RULE),
        }
        if !laid.backticks.is_empty() {
            out.push_str(&newline);
            out.push_str(&laid.backticks);
        }
    }
    out
}

fn lines<'a>(lines: impl Iterator<Item = &'a str>, newline: &str, out: &mut String) {
    for (n, line) in lines.enumerate() {
        out.push_str(if n > 0 { newline } else { "" });
        out.push_str(line);
    }
}

/// The text of a code block or of a table in one, for markup.
pub(super) fn code(layout: &Layout<'_>, piece: &Piece) -> Option<String> {
    match &layout.leaves[piece.leaf].block {
        Block::Code { text, .. } => Some(text[piece.range.clone()].to_owned()),
        Block::Table(table) if table.form == Form::Code => {
            let rows = piece.range.clone().map(|row| table.line(row, Links::Round));
            Some(table.head(Links::Round).chain(rows).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}
