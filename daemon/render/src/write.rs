//! Parts as they are sent: the body and, for platforms that want them, HTML or ranges of styles.
//!
//! `atoms` has counted on what is written here: whoever writes something else changes its cost in `layout` or `measure`.

use std::borrow::Cow;

use super::escape::{self, Swap};
use super::glance::has_signs;
use super::html::{escape, is_language};
use super::layout::{Block, Form, Layout};
use super::link::Links;
use super::look::{Look, Tag};
use super::measure::start_mark;
use super::pen::{Html, Pen};
use super::settle::settled_within;
use super::split::Piece;
use super::text::{Text, push_lines};
use super::{Style, StyleKind};

pub(super) struct Written {
    pub(super) text: String,
    /// For Telegram.
    pub(super) html: String,
    pub(super) styles: Vec<Style>,
}

pub(super) fn write(layout: &Layout<'_>, pieces: &[Piece]) -> Written {
    let bytes = layout.bytes(pieces);
    let html = String::with_capacity(if layout.pen == Pen::Telegram { bytes + bytes / 4 } else { 0 });
    let written = Written { text: String::with_capacity(bytes), html, styles: Vec::new() };
    let mut writer = Writer {
        pen: layout.pen,
        layout,
        written,
        escaped: 0,
        has_signs: false,
        is_clean: false,
        utf16: 0,
        begun: Vec::new(),
        quote: None,
    };
    for (n, piece) in pieces.iter().enumerate() {
        writer.before(piece.leaf, n > 0);
        writer.piece(piece);
    }
    writer.end_quote();
    writer.catch_up();
    writer.written.styles.sort_by_key(|style| (style.start, std::cmp::Reverse(style.len)));
    writer.written
}

struct Writer<'a> {
    pen: Pen,
    layout: &'a Layout<'a>,
    written: Written,
    /// How much of the text is in the HTML already: the rest goes there at once, before the next tag.
    escaped: usize,
    /// Whether the rest may have signs that are escaped there.
    has_signs: bool,
    /// Whether what is added now has none, which was found out by one look at all of it.
    is_clean: bool,
    /// UTF-16 units of the text so far.
    utf16: usize,
    /// Where the styles that are open began.
    begun: Vec<(StyleKind, usize)>,
    /// The quote whose tag is open.
    quote: Option<usize>,
}

impl Writer<'_> {
    /// What is before a leaf, which may follow another one.
    fn before(&mut self, leaf: usize, follows: bool) {
        let quote = self.layout.outer_quote(leaf);
        if quote != self.quote {
            self.end_quote();
        }
        if follows {
            self.literal(&self.layout.separator(leaf));
        }
        if quote != self.quote {
            self.markup("<blockquote>");
            self.quote = quote;
        }
    }

    fn end_quote(&mut self) {
        if self.quote.take().is_some() {
            self.markup("</blockquote>");
        }
    }

    fn piece(&mut self, piece: &Piece) {
        let laid = &self.layout.leaves[piece.leaf];
        let layout = self.layout;
        let indent = layout.indent_of(laid);
        let newline = newline(indent);
        self.literal(if piece.begins { layout.marked_of(laid) } else { indent });
        match &laid.block {
            Block::Text { text, swaps, .. } => {
                let newline = match self.pen.line_end() {
                    "\n" => newline,
                    end => [end, indent].concat().into(),
                };
                self.text(text.text(), swaps, piece, &newline);
            }
            Block::Code { language, text, swaps } => {
                self.begin_code(&laid.fence, language, &newline);
                self.swapped(text, swaps, piece.range.clone(), &newline);
                self.end_code(&laid.fence, language, &newline);
            }
            Block::Table(table) => {
                let is_code = table.form == Form::Code;
                if is_code {
                    self.begin_code(&laid.fence, "", &newline);
                }
                for (n, lines) in table.stretches(&piece.range, Links::Round).enumerate() {
                    self.literal(if n > 0 { &newline } else { "" });
                    self.lines(&escape::lines(self.pen, lines, is_code), &newline);
                }
                if is_code {
                    self.end_code(&laid.fence, "", &newline);
                }
            }
            Block::Rule => self.literal(self.pen.rule()),
        }
    }

    fn begin_code(&mut self, fence: &str, language: &str, newline: &str) {
        if !fence.is_empty() {
            self.literal(fence);
            if self.pen.names_language() {
                self.literal(language);
            }
            self.literal(newline);
        }
        self.markup("<pre>");
        if is_language(language) {
            self.markup(&format!("<code class=\"language-{language}\">"));
        }
        self.begin_style(StyleKind::Monospace);
    }

    fn end_code(&mut self, fence: &str, language: &str, newline: &str) {
        self.end_style(StyleKind::Monospace);
        self.markup(if is_language(language) { "</code></pre>" } else { "</pre>" });
        if !fence.is_empty() {
            self.literal(newline);
            self.literal(fence);
        }
    }

    fn text(&mut self, text: Text<'_>, swaps: &[Swap], piece: &Piece, newline: &str) {
        let mut open = Look::default();
        let mut mark = start_mark(self.pen, text, swaps, piece.range.start);
        if self.pen.disarms() {
            // Between a mark and its text it would take the mark's power too.
            self.literal(std::mem::take(&mut mark));
        }
        let has_no_signs = || !has_signs(&text.as_str()[piece.range.clone()]);
        self.is_clean = self.pen == Pen::Telegram && newline == "\n" && has_no_signs();
        let mut slice = |writer: &mut Self, (at, slice, look): (usize, &str, Look)| {
            writer.turn(text, open, look);
            open = look;
            writer.literal(std::mem::take(&mut mark));
            match swaps.is_empty() {
                true => writer.lines(slice, newline),
                false => writer.swapped(text.as_str(), swaps, at..at + slice.len(), newline),
            }
        };
        if self.pen.disarms() {
            settled_within(self.pen, text, &piece.range).into_iter().for_each(|settled| slice(self, settled));
        } else {
            text.located(piece.range.clone()).for_each(|located| slice(self, located));
        }
        self.turn(text, open, Look::default());
        self.is_clean = false;
    }

    /// Closes and opens what differs between two looks.
    #[inline]
    fn turn(&mut self, text: Text<'_>, before: Look, behind: Look) {
        if before != behind {
            self.turn_over(text, before, behind);
        }
    }

    fn turn_over(&mut self, text: Text<'_>, before: Look, behind: Look) {
        let shared = before.shared(behind);
        for tag in before.tags_within(shared).rev() {
            if let Some(html) = self.html(text, tag) {
                self.markup(html.close);
            }
            match tag {
                Tag::Link(link) => self.around_link(text, link, |(_, end)| end),
                tag => {
                    self.end_style(style(tag));
                    self.literal(self.pen.marks(tag)[1]);
                }
            }
        }
        for tag in behind.tags_within(shared) {
            if let Some(html) = self.html(text, tag) {
                self.catch_up();
                html.write_open(&mut self.written.html);
            }
            match tag {
                Tag::Link(link) => self.around_link(text, link, |(begin, _)| begin),
                tag => {
                    self.literal(self.pen.marks(tag)[0]);
                    self.begin_style(style(tag));
                }
            }
        }
    }

    fn html<'t>(&self, text: Text<'t>, tag: Tag) -> Option<Html<'t>> {
        (self.pen == Pen::Telegram).then(|| self.pen.html(text, tag)).flatten()
    }

    /// What goes on one side of a link's label, among the text.
    fn around_link(&mut self, text: Text<'_>, link: usize, side: impl FnOnce((String, String)) -> String) {
        if let Some(link) = text.links().get(link) {
            let around = side(self.pen.link(text, link));
            let is_clean = std::mem::take(&mut self.is_clean);
            self.literal(&around);
            self.is_clean = is_clean;
        }
    }

    #[inline]
    fn begin_style(&mut self, kind: StyleKind) {
        if self.pen == Pen::Styles {
            self.begun.push((kind, self.utf16));
        }
    }

    #[inline]
    fn end_style(&mut self, kind: StyleKind) {
        let Some(at) = self.begun.iter().rposition(|(begun, _)| *begun == kind) else { return };
        let (_, start) = self.begun.remove(at);
        if start < self.utf16 {
            self.written.styles.push(Style { start, len: self.utf16 - start, kind });
        }
    }

    fn swapped(&mut self, all: &str, swaps: &[Swap], range: std::ops::Range<usize>, newline: &str) {
        let first = swaps.partition_point(|swap| swap.at < range.start);
        let mut at = range.start;
        for swap in swaps[first..].iter().take_while(|swap| swap.at < range.end) {
            self.lines(&all[at..swap.at], newline);
            for written in swap.written(all) {
                self.literal(written);
            }
            at = swap.at + swap.len;
        }
        self.lines(&all[at..range.end], newline);
    }

    #[inline]
    fn literal(&mut self, text: &str) {
        if !text.is_empty() {
            self.lines(text, "\n");
        }
    }

    fn lines(&mut self, text: &str, newline: &str) {
        self.has_signs |= !self.is_clean && (newline.len() > 1 || may_have_signs(text));
        let begin = self.written.text.len();
        push_lines(text, newline, &mut self.written.text);
        if self.pen == Pen::Styles {
            self.utf16 += gatepost_chunk::Unit::Utf16.count(&self.written.text[begin..]);
        }
    }

    /// Adds `html` behind the text so far.
    fn markup(&mut self, html: &str) {
        if self.pen == Pen::Telegram {
            self.catch_up();
            self.written.html.push_str(html);
        }
    }

    /// Adds to the HTML what was added to the text.
    fn catch_up(&mut self) {
        if self.pen == Pen::Telegram && self.escaped < self.written.text.len() {
            let rest = &self.written.text[self.escaped..];
            match std::mem::take(&mut self.has_signs) {
                true => escape(rest, &mut self.written.html),
                false => self.written.html.push_str(rest),
            }
            self.escaped = self.written.text.len();
        }
    }
}

/// As [`has_signs`], but true of any longer text: what is between leaves is looked at a byte at a time.
#[inline]
fn may_have_signs(text: &str) -> bool {
    text.len() > 8 || text.bytes().any(|b| matches!(b, b'&' | b'<' | b'>'))
}

/// A line break and the indentation of the next line.
fn newline(indent: &str) -> Cow<'static, str> {
    if indent.is_empty() { "\n".into() } else { ["\n", indent].concat().into() }
}

fn style(tag: Tag) -> StyleKind {
    match tag {
        Tag::Strong | Tag::Link(_) => StyleKind::Bold,
        Tag::Emphasis => StyleKind::Italic,
        Tag::Strike => StyleKind::Strikethrough,
        Tag::Code => StyleKind::Monospace,
        Tag::Spoiler => StyleKind::Spoiler,
    }
}
