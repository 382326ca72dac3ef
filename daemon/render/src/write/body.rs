//! The body of a part, as it is sent: the text, and from it Telegram's HTML or Signal's styled ranges.
//!
//! What is written here was priced before, in `layout` and `measure`. A change here needs the same change there.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use gatepost_chunk::Unit;

use crate::document::{Attribute, Text, TextStyle, UrlForm, push_lines};
use crate::html_escape::{needs_escape, push_text};
use crate::layout::{Block, Layout, Piece, TableForm};
use crate::markup::{
    BodyMarkup, Replacement, TelegramTag, escape_table_lines, is_language_name, marks_around_label,
    part_start_escape, supported_slices,
};
use crate::part::{Mention, Style, StyleKind};

/// Longer text is escaped without checking first whether that is necessary.
const MAX_CHECKED_BYTES: usize = 8;

pub(crate) struct Body {
    pub(crate) text: String,
    /// Only for Telegram.
    pub(crate) html: String,
    /// Only for Signal.
    pub(crate) styles: Vec<Style>,
    /// Whom it calls.
    pub(crate) mentions: Vec<String>,
    /// And where, if the platform is told.
    pub(crate) called: Vec<Mention>,
}

pub(crate) fn write(layout: &Layout<'_>, pieces: &[Piece]) -> Body {
    let bytes = layout.estimated_bytes(pieces);
    let html_bytes = if layout.markup == BodyMarkup::Telegram { bytes + bytes / 4 } else { 0 };
    let body = Body {
        text: String::with_capacity(bytes),
        html: String::with_capacity(html_bytes),
        styles: Vec::new(),
        mentions: Vec::new(),
        called: Vec::new(),
    };
    let mut writer = Writer {
        markup: layout.markup,
        layout,
        body,
        copied: 0,
        needs_escape: false,
        is_known_clean: false,
        utf16: 0,
        open_styles: Vec::new(),
        quote: None,
    };
    for (n, piece) in pieces.iter().enumerate() {
        writer.before_leaf(piece.leaf, n > 0);
        writer.piece(piece);
    }
    writer.end_quote();
    writer.copy_text_to_html();
    writer.body.styles.sort_by_key(|style| (style.start, Reverse(style.len)));
    writer.body
}

struct Writer<'a> {
    markup: BodyMarkup,
    layout: &'a Layout<'a>,
    body: Body,
    /// How many bytes of the text are in the HTML already. The rest is copied at once, before the next tag.
    copied: usize,
    /// Whether the rest may contain characters that HTML escapes.
    needs_escape: bool,
    /// Whether a scan of the whole piece found no such character, so what is written now need not be checked.
    is_known_clean: bool,
    /// UTF-16 units of the text so far, if something is told by them.
    utf16: usize,
    /// The open styles and where they began.
    open_styles: Vec<(StyleKind, usize)>,
    /// The quote whose tag is open.
    quote: Option<usize>,
}

impl Writer<'_> {
    /// Writes what precedes a leaf, which `follows` another one or begins the part.
    fn before_leaf(&mut self, leaf: usize, follows: bool) {
        let quote = self.layout.quote_tag(leaf);
        if quote != self.quote {
            self.end_quote();
        }
        if follows {
            self.literal(&self.layout.separator(leaf));
        }
        if quote != self.quote {
            self.tag("<blockquote>");
            self.quote = quote;
        }
    }

    fn end_quote(&mut self) {
        if self.quote.take().is_some() {
            self.tag("</blockquote>");
        }
    }

    fn piece(&mut self, piece: &Piece) {
        let leaf = &self.layout.leaves[piece.leaf];
        let layout = self.layout;
        let prefix = layout.prefix_of(leaf);
        let newline = newline(prefix);
        self.literal(if piece.is_start { layout.first_prefix_of(leaf) } else { prefix });
        match &leaf.block {
            Block::Text { text, replacements, .. } => {
                let newline = match self.markup.line_end() {
                    "\n" => newline,
                    end => [end, prefix].concat().into(),
                };
                self.text(text.text(), replacements, piece, &newline);
            }
            Block::Code { language, text, replacements } => {
                self.begin_code(&leaf.fence, language, &newline);
                self.replaced(text, replacements, piece.range.clone(), &newline);
                self.end_code(&leaf.fence, language, &newline);
            }
            Block::Table(table) => {
                let is_code = table.form == TableForm::Code;
                if is_code {
                    self.begin_code(&leaf.fence, "", &newline);
                }
                for (n, lines) in table.head_and_rows(&piece.range, UrlForm::Round).enumerate() {
                    self.literal(if n > 0 { &newline } else { "" });
                    self.lines(&escape_table_lines(self.markup, lines, is_code), &newline);
                }
                if is_code {
                    self.end_code(&leaf.fence, "", &newline);
                }
            }
            Block::Rule => self.literal(self.markup.thematic_break()),
        }
    }

    fn begin_code(&mut self, fence: &str, language: &str, newline: &str) {
        if !fence.is_empty() {
            self.literal(fence);
            if self.markup.names_language() {
                self.literal(language);
            }
            self.literal(newline);
        }
        self.tag("<pre>");
        if is_language_name(language) {
            self.tag(&format!("<code class=\"language-{language}\">"));
        }
        self.begin_style(StyleKind::Monospace);
    }

    fn end_code(&mut self, fence: &str, language: &str, newline: &str) {
        self.end_style(StyleKind::Monospace);
        self.tag(if is_language_name(language) { "</code></pre>" } else { "</pre>" });
        if !fence.is_empty() {
            self.literal(newline);
            self.literal(fence);
        }
    }

    fn text(&mut self, text: Text<'_>, replacements: &[Replacement], piece: &Piece, newline: &str) {
        let mut open = TextStyle::default();
        let mut escape = part_start_escape(self.markup, text, replacements, piece.range.start);
        if self.markup.lacks_escapes() {
            // Between a mark and its text, a zero-width space would suppress the mark, so it goes first.
            self.literal(std::mem::take(&mut escape));
        }
        let is_clean = || !needs_escape(&text.as_str()[piece.range.clone()]);
        self.is_known_clean = self.markup == BodyMarkup::Telegram && newline == "\n" && is_clean();
        let mut write_slice = |writer: &mut Self, (at, slice, style): (usize, &str, TextStyle)| {
            writer.change_style(text, open, style);
            open = style;
            writer.literal(std::mem::take(&mut escape));
            match replacements.is_empty() {
                true => writer.lines(slice, newline),
                false => writer.replaced(text.as_str(), replacements, at..at + slice.len(), newline),
            }
        };
        if self.markup.lacks_escapes() {
            let slices = supported_slices(self.markup, text, &piece.range);
            slices.into_iter().for_each(|slice| write_slice(self, slice));
        } else {
            text.slices_at(piece.range.clone()).for_each(|slice| write_slice(self, slice));
        }
        self.change_style(text, open, TextStyle::default());
        self.is_known_clean = false;
    }

    /// Closes and opens what differs between two styles.
    #[inline]
    fn change_style(&mut self, text: Text<'_>, before: TextStyle, after: TextStyle) {
        if before != after {
            self.write_style_change(text, before, after);
        }
    }

    fn write_style_change(&mut self, text: Text<'_>, before: TextStyle, after: TextStyle) {
        let common = before.common_prefix(after);
        for attribute in before.attributes_from(common).rev() {
            if let Some(tag) = self.telegram_tag(text, attribute) {
                self.tag(tag.close);
            }
            match attribute {
                Attribute::Link(link) => self.around_label(text, link, |(_, after)| after),
                attribute => {
                    self.end_style(style_kind(attribute));
                    self.literal(self.markup.marks(attribute)[1]);
                }
            }
        }
        for attribute in after.attributes_from(common) {
            if let Some(tag) = self.telegram_tag(text, attribute) {
                self.copy_text_to_html();
                tag.push_open(&mut self.body.html);
            }
            match attribute {
                Attribute::Link(link) => {
                    self.around_label(text, link, |(before, _)| before);
                    self.begin_mention(text, link);
                }
                attribute => {
                    self.literal(self.markup.marks(attribute)[0]);
                    self.begin_style(style_kind(attribute));
                }
            }
        }
    }

    fn telegram_tag<'t>(&self, text: Text<'t>, attribute: Attribute) -> Option<TelegramTag<'t>> {
        (self.markup == BodyMarkup::Telegram).then(|| TelegramTag::new(text, attribute)).flatten()
    }

    /// Writes what is on one side of a link's label.
    fn around_label(&mut self, text: Text<'_>, link: usize, side: impl FnOnce((String, String)) -> String) {
        if let Some(link) = text.links().get(link) {
            if let Some(id) = link.person().filter(|_| self.markup.accepts_link(link)) {
                note(&mut self.body.mentions, id);
            }
            let marks = side(marks_around_label(self.markup, text, link));
            // A URL is not part of the text that was scanned.
            let is_known_clean = std::mem::take(&mut self.is_known_clean);
            self.literal(&marks);
            self.is_known_clean = is_known_clean;
        }
    }

    /// Notes where somebody is called whose name follows.
    fn begin_mention(&mut self, text: Text<'_>, link: usize) {
        let called = text.links().get(link).filter(|link| self.markup.accepts_link(link));
        if let Some((link, id)) = called.and_then(|link| Some((link, link.person()?)))
            && self.markup.lists_mentions()
        {
            let name = &text.as_str()[link.range.clone()];
            let len = Unit::Utf16.count(name);
            self.body.called.push(Mention {
                id: id.to_owned(),
                name: name.to_owned(),
                start: self.utf16,
                len,
            });
        }
    }

    #[inline]
    fn begin_style(&mut self, kind: StyleKind) {
        if self.markup == BodyMarkup::Styles {
            self.open_styles.push((kind, self.utf16));
        }
    }

    #[inline]
    fn end_style(&mut self, kind: StyleKind) {
        let Some(at) = self.open_styles.iter().rposition(|(open, _)| *open == kind) else { return };
        let (_, start) = self.open_styles.remove(at);
        if start < self.utf16 {
            self.body.styles.push(Style { start, len: self.utf16 - start, kind });
        }
    }

    /// Writes `range` with its replacements.
    fn replaced(&mut self, all: &str, replacements: &[Replacement], range: Range<usize>, newline: &str) {
        let first = replacements.partition_point(|replacement| replacement.at < range.start);
        let mut at = range.start;
        for replacement in replacements[first..].iter().take_while(|replacement| replacement.at < range.end) {
            self.lines(&all[at..replacement.at], newline);
            for piece in replacement.pieces(all) {
                self.literal(piece);
            }
            at = replacement.at + replacement.len;
        }
        self.lines(&all[at..range.end], newline);
    }

    /// Writes text that has no line breaks, or has its prefixes already.
    #[inline]
    fn literal(&mut self, text: &str) {
        if !text.is_empty() {
            self.lines(text, "\n");
        }
    }

    /// Writes text with `newline` for each line break.
    fn lines(&mut self, text: &str, newline: &str) {
        self.needs_escape |= !self.is_known_clean && (newline.len() > 1 || may_need_escape(text));
        let start = self.body.text.len();
        push_lines(text, newline, &mut self.body.text);
        if self.markup.lists_mentions() {
            self.utf16 += Unit::Utf16.count(&self.body.text[start..]);
        }
    }

    /// Writes a tag into Telegram's HTML.
    fn tag(&mut self, tag: &str) {
        if self.markup == BodyMarkup::Telegram {
            self.copy_text_to_html();
            self.body.html.push_str(tag);
        }
    }

    /// Appends to the HTML what was appended to the text.
    fn copy_text_to_html(&mut self) {
        if self.markup == BodyMarkup::Telegram && self.copied < self.body.text.len() {
            let rest = &self.body.text[self.copied..];
            match std::mem::take(&mut self.needs_escape) {
                true => push_text(rest, &mut self.body.html),
                false => self.body.html.push_str(rest),
            }
            self.copied = self.body.text.len();
        }
    }
}

/// Like [`needs_escape`], but true for any longer text. What stands between leaves is checked byte by byte.
#[inline]
fn may_need_escape(text: &str) -> bool {
    text.len() > MAX_CHECKED_BYTES || text.bytes().any(|b| matches!(b, b'&' | b'<' | b'>'))
}

/// A line break and the prefix of the next line.
fn newline(prefix: &str) -> Cow<'static, str> {
    if prefix.is_empty() { "\n".into() } else { ["\n", prefix].concat().into() }
}

fn style_kind(attribute: Attribute) -> StyleKind {
    match attribute {
        Attribute::Strong | Attribute::Link(_) => StyleKind::Bold,
        Attribute::Emphasis => StyleKind::Italic,
        Attribute::Strike => StyleKind::Strikethrough,
        Attribute::Code => StyleKind::Monospace,
        Attribute::Spoiler => StyleKind::Spoiler,
    }
}

/// Adds an id, unless it is there already.
pub(super) fn note(mentions: &mut Vec<String>, id: &str) {
    if !mentions.iter().any(|noted| noted == id) {
        mentions.push(id.to_owned());
    }
}
