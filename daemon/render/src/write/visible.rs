//! The visible text of a part with the marks of plain Markdown, whatever the platform has: what an approver reads, and
//! previews.
//!
//! If the platform hides a spoiler, an approver reads `(spoiler) ||text||`. An agent may write the same characters, which
//! its readers then see openly, so nothing else may read like that: a backslash precedes such bars, and each bar inside a
//! spoiler ([`escape_lookalikes`], [`push_hidden`]). If the platform hides nothing, an approver reads what its readers do.

use crate::document::{SPOILER_BARS, SPOILER_LABEL, Text, TextStyle, UrlForm, push_lines};
use crate::layout::{Block, Layout, LinePrefixes, Piece};
use crate::markup::{BodyMarkup, THEMATIC_BREAK};

/// How spoilers are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpoilerForm {
    /// With marks at their beginning and end: for approvers, who see everything.
    Marked,
    /// After a label, like on platforms that hide nothing.
    Labelled,
    /// As `label` only, without what they hide.
    Omitted { label: &'static str },
}

pub(super) fn has_spoilers(layout: &Layout<'_>, pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match &layout.leaves[piece.leaf].block {
        Block::Text { text, .. } => text.text().styles(piece.range.clone()).any(TextStyle::is_spoiler),
        Block::Code { .. } | Block::Table(_) | Block::Rule => false,
    })
}

pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece], urls: UrlForm, spoilers: SpoilerForm) -> String {
    let out = String::with_capacity(layout.estimated_bytes(pieces));
    let mut writer = Writer {
        layout,
        urls,
        spoilers,
        out,
        prefixes: LinePrefixes::default(),
        newline: String::new(),
        marks: Vec::new(),
    };
    for (n, piece) in pieces.iter().enumerate() {
        if n > 0 {
            writer.out.push_str(&layout.separator_in(piece.leaf, BodyMarkup::Plain));
        }
        writer.piece(piece);
    }
    match spoilers {
        SpoilerForm::Marked => escape_lookalikes(writer.out, &writer.marks),
        SpoilerForm::Labelled | SpoilerForm::Omitted { .. } => writer.out,
    }
}

struct Writer<'a> {
    layout: &'a Layout<'a>,
    urls: UrlForm,
    spoilers: SpoilerForm,
    out: String,
    /// The prefixes of the leaf, and a line break with that of its lines.
    prefixes: LinePrefixes,
    newline: String,
    /// Where the marks of spoilers begin in `out`.
    marks: Vec<usize>,
}

impl Writer<'_> {
    fn piece(&mut self, piece: &Piece) {
        let leaf = &self.layout.leaves[piece.leaf];
        self.layout.write_prefixes(&mut self.prefixes, leaf.parent, piece.leaf, BodyMarkup::Plain);
        self.newline.clear();
        self.newline.push('\n');
        self.newline.push_str(&self.prefixes.rest);
        self.out.push_str(if piece.is_start { &self.prefixes.first } else { &self.prefixes.rest });
        if !leaf.shown_fence.is_empty() {
            self.out.push_str(&leaf.shown_fence);
            if let Block::Code { language, .. } = &leaf.block {
                self.out.push_str(language);
            }
            self.out.push_str(&self.newline);
        }
        match &leaf.block {
            Block::Text { text, .. } => {
                let text = text.text();
                match text.has_spoilers() {
                    true => self.text_with_spoilers(text, piece),
                    false => {
                        text.push_with_urls(piece.range.clone(), self.urls, &self.newline, &mut self.out);
                    }
                }
            }
            Block::Code { text, .. } => push_lines(&text[piece.range.clone()], &self.newline, &mut self.out),
            Block::Table(table) => {
                for (n, lines) in table.head_and_rows(&piece.range, self.urls).enumerate() {
                    self.out.push_str(if n > 0 { &self.newline } else { "" });
                    push_lines(lines, &self.newline, &mut self.out);
                }
            }
            Block::Rule => self.out.push_str(THEMATIC_BREAK),
        }
        if !leaf.shown_fence.is_empty() {
            self.out.push_str(&self.newline);
            self.out.push_str(&leaf.shown_fence);
        }
    }

    fn text_with_spoilers(&mut self, text: Text<'_>, piece: &Piece) {
        let (urls, newline) = (self.urls, &self.newline);
        for (range, is_spoiler) in text.split_by_spoiler(piece.range.clone()) {
            match self.spoilers {
                SpoilerForm::Omitted { label } if is_spoiler => self.out.push_str(label),
                SpoilerForm::Marked if is_spoiler => {
                    self.marks.push(self.out.len());
                    self.out.push_str(SPOILER_LABEL);
                    self.out.push_str(SPOILER_BARS);
                    let mut hidden = String::new();
                    text.push_with_urls(range, urls, newline, &mut hidden);
                    push_hidden(&hidden, &mut self.out);
                    self.out.push_str(SPOILER_BARS);
                }
                SpoilerForm::Labelled if is_spoiler => {
                    self.out.push_str(SPOILER_LABEL);
                    text.push_with_urls(range, urls, newline, &mut self.out);
                }
                _ => text.push_with_urls(range, urls, newline, &mut self.out),
            }
        }
    }
}

/// Puts a backslash before bars that would read as the beginning of a spoiler but are at none of `marks`, and one more before
/// bars that have some there already. Any white space may be between the label and the bars: a line may be wrapped where it
/// is shown.
fn escape_lookalikes(shown: String, marks: &[usize]) -> String {
    let label = SPOILER_LABEL.trim_end();
    let (mut escaped, mut copied) = (None::<String>, 0);
    for (at, _) in shown.match_indices(label) {
        let after = shown[at + label.len()..].trim_start().trim_start_matches('\\');
        if after.starts_with(SPOILER_BARS) && marks.binary_search(&at).is_err() {
            let bars = shown.len() - after.len();
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

/// Appends what a spoiler hides, with a backslash before each bar in it. Backslashes before a bar and at the end are doubled.
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

/// What an approver was shown ([`Part::shown`](crate::Part::shown)) without what spoilers hide. Everything from the first
/// spoiler to the end of the last is removed, because what a spoiler hides may look like its end.
pub fn without_spoilers(shown: &str) -> String {
    let opening = [SPOILER_LABEL, SPOILER_BARS].concat();
    let unescaped = |text: &str| text.replace(&[SPOILER_LABEL, "\\", SPOILER_BARS].concat(), &opening);
    let Some((before, rest)) = shown.split_once(&opening) else { return unescaped(shown) };
    let after = rest.rsplit_once(SPOILER_BARS).map_or("", |(_, after)| after);
    [before, SPOILER_LABEL.trim_end(), after].concat()
}
