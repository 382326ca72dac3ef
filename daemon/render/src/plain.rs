//! Parts as an approver reads them: the visible text with the marks of plain Markdown, whatever the platform has.

use super::layout::{Block, Form, Indents, Layout};
use super::link::Links;
use super::look::Look;
use super::pen::{Pen, SPOILER};
use super::split::Piece;
use super::spoiler::BARS;
use super::text::{Text, push_lines};

/// A thematic break.
pub(super) const RULE: &str = "---";

/// How spoilers are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spoilers {
    /// As what they are, with where they begin and end: for approvers, who see everything.
    Marked,
    /// As this word, in place of what they hide.
    LeftOut(&'static str),
}

pub(super) fn has_spoilers(layout: &Layout<'_>, pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match &layout.leaves[piece.leaf].block {
        Block::Text { text, .. } => text.text().looks(piece.range.clone()).any(Look::is_spoiler),
        Block::Code { .. } | Block::Table(_) | Block::Rule => false,
    })
}

pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece], links: Links, spoilers: Spoilers) -> String {
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
            Block::Text { text, .. } => {
                let text = text.text();
                match text.has_spoilers() {
                    true => write_hidden(text, piece, links, spoilers, &newline, &mut out),
                    false => text.write(piece.range.clone(), links, &newline, &mut out),
                }
            }
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

/// What an approver was shown, without what spoilers hide: all from the first to the end of the last, since what they hide may
/// look like the end of one.
pub fn without_spoilers(shown: &str) -> String {
    let begins = [SPOILER, BARS].concat();
    let Some((before, rest)) = shown.split_once(&begins) else { return shown.to_owned() };
    let behind = rest.rsplit_once(BARS).map_or("", |(_, behind)| behind);
    [before, SPOILER.trim_end(), behind].concat()
}

fn write_hidden(
    text: Text<'_>,
    piece: &Piece,
    links: Links,
    spoilers: Spoilers,
    newline: &str,
    out: &mut String,
) {
    for (range, is_spoiler) in text.by_spoiler(piece.range.clone()) {
        match spoilers {
            Spoilers::LeftOut(word) if is_spoiler => out.push_str(word),
            Spoilers::Marked if is_spoiler => {
                out.push_str(SPOILER);
                out.push_str(BARS);
                text.write(range, links, newline, out);
                out.push_str(BARS);
            }
            _ => text.write(range, links, newline, out),
        }
    }
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
