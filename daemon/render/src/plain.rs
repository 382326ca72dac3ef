//! Parts as an approver reads them: the visible text with the marks of plain Markdown, whatever the platform has.
//!
//! Where the platform hides a spoiler, it is marked: `(spoiler) ||text||`. An agent may write the same signs, and its readers
//! then see them in the open, so no other text reads like a mark: in it a backslash stands before the bars, and before each bar
//! that is hidden ([`escape_literal`], [`push_hidden`]). Where the platform hides nothing, an approver reads what its readers do.

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
    /// Behind the word that stands before them where nothing is hidden.
    Told,
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
    let mut marks = Vec::new();
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
                    true => {
                        write_hidden(text, piece, links, (spoilers, &mut marks), &newline, &mut out);
                    }
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
    match spoilers {
        Spoilers::Marked => escape_literal(out, &marks),
        Spoilers::Told | Spoilers::LeftOut(_) => out,
    }
}

/// A backslash before bars that would read as the beginning of a spoiler and do not stand at one of `marks`, and one more before
/// bars that have some there. Any white space counts: a line may be broken where it is shown.
fn escape_literal(shown: String, marks: &[usize]) -> String {
    let word = SPOILER.trim_end();
    let (mut escaped, mut copied) = (None::<String>, 0);
    for (at, _) in shown.match_indices(word) {
        let behind = shown[at + word.len()..].trim_start().trim_start_matches('\\');
        if behind.starts_with(BARS) && marks.binary_search(&at).is_err() {
            let bars = shown.len() - behind.len();
            let out = escaped.get_or_insert_default();
            out.push_str(&shown[copied..bars]);
            out.push('\\');
            copied = bars;
        }
    }
    match escaped {
        Some(out) => out + &shown[copied..],
        None => shown,
    }
}

/// What is hidden, with a backslash before each bar in it, and the backslashes before a bar or the end doubled.
fn push_hidden(hidden: &str, out: &mut String) {
    let mut backslashes = 0;
    for c in hidden.chars() {
        if c == '|' {
            out.extend(std::iter::repeat_n('\\', backslashes + 1));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    out.extend(std::iter::repeat_n('\\', backslashes));
}

/// What an approver was shown, without what spoilers hide: all from the first to the end of the last, since what they hide may
/// look like the end of one.
pub fn without_spoilers(shown: &str) -> String {
    let begins = [SPOILER, BARS].concat();
    let literal = |text: &str| text.replace(&[SPOILER, "\\", BARS].concat(), &begins);
    let Some((before, rest)) = shown.split_once(&begins) else { return literal(shown) };
    let behind = rest.rsplit_once(BARS).map_or("", |(_, behind)| behind);
    let word = SPOILER.trim_end();
    [before, word, behind].concat()
}

fn write_hidden(
    text: Text<'_>,
    piece: &Piece,
    links: Links,
    (spoilers, marks): (Spoilers, &mut Vec<usize>),
    newline: &str,
    out: &mut String,
) {
    for (range, is_spoiler) in text.by_spoiler(piece.range.clone()) {
        match spoilers {
            Spoilers::LeftOut(word) if is_spoiler => out.push_str(word),
            Spoilers::Marked if is_spoiler => {
                marks.push(out.len());
                out.push_str(SPOILER);
                out.push_str(BARS);
                let mut hidden = String::new();
                text.write(range, links, newline, &mut hidden);
                push_hidden(&hidden, out);
                out.push_str(BARS);
            }
            Spoilers::Told if is_spoiler => {
                out.push_str(SPOILER);
                text.write(range, links, newline, out);
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
