//! Parts as an approver reads them: the visible text with the marks of plain Markdown, whatever the platform has.

use super::layout::{Block, Form, Indents, Layout};
use super::link::Links;
use super::pen::Pen;
use super::split::Piece;
use super::text::push_lines;

/// A thematic break.
pub(super) const RULE: &str = "---";

pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece]) -> String {
    let links = Links::Angle;
    let mut out = String::with_capacity(layout.bytes(pieces));
    let (mut indents, mut newline) = (Indents::default(), String::new());
    for (n, piece) in pieces.iter().enumerate() {
        if n > 0 {
            out.push_str(&layout.separator_by(piece.leaf, Pen::Plain));
        }
        let laid = &layout.leaves[piece.leaf];
        layout.indent(&mut indents, laid.parent, piece.leaf, Pen::Plain);
        newline.clear();
        newline.push('\n');
        newline.push_str(&indents.indent);
        out.push_str(if piece.begins { &indents.marked } else { &indents.indent });
        if !laid.backticks.is_empty() {
            out.push_str(&laid.backticks);
            if let Block::Code { language, .. } = &laid.block {
                out.push_str(language);
            }
            out.push_str(&newline);
        }
        match &laid.block {
            Block::Text { text, .. } => text.text().write(piece.range.clone(), links, &newline, &mut out),
            Block::Code { text, .. } => push_lines(&text[piece.range.clone()], &newline, &mut out),
            Block::Table(table) => {
                for (n, lines) in table.stretches(&piece.range, links).enumerate() {
                    out.push_str(if n > 0 { &newline } else { "" });
                    push_lines(lines, &newline, &mut out);
                }
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

/// The text of a code block or of a table in one, for markup.
pub(super) fn code(layout: &Layout<'_>, piece: &Piece) -> Option<String> {
    match &layout.leaves[piece.leaf].block {
        Block::Code { text, .. } => Some(text[piece.range.clone()].to_owned()),
        Block::Table(table) if table.form == Form::Code => {
            Some(table.stretches(&piece.range, Links::Round).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}
