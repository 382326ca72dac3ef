//! What an agent wrote must be shown as it was written. Here is found out which characters a platform would read as marks,
//! and what to write instead.
//!
//! If the platform has an escape character, that is used; otherwise a zero-width space next to the character. What is
//! needed depends on the whole text of a leaf and never on where it is cut, so it is determined once and its cost is known
//! exactly. A URL in the text is left alone: an escape in it would lead to another page.

use std::borrow::Cow;
use std::ops::Range;

use crate::document::{Attribute, Text, TextStyle, bare_urls};
use crate::flavour::Notation;
use crate::scan::partition_near_start;

use super::body::{BodyMarkup, ZERO_WIDTH_SPACE};
use super::username;

/// No character is written with more than this many times its own bytes.
pub(super) const MAX_GROWTH: usize = 8;

/// A longer number does not begin an item (CommonMark, "List items").
const MAX_ITEM_NUMBER_DIGITS: usize = 9;

/// A character that is not written as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// Where the character is, and how many bytes it has.
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) before: &'static str,
    /// What the character itself is written as, if it changes.
    pub(crate) instead: Option<&'static str>,
    pub(crate) after: &'static str,
}

impl Replacement {
    /// The three pieces to write.
    pub(crate) fn pieces<'a>(&'a self, text: &'a str) -> [&'a str; 3] {
        [self.before, self.instead.unwrap_or(&text[self.at..self.at + self.len]), self.after]
    }

    fn is_needed(&self) -> bool {
        !self.before.is_empty() || self.instead.is_some() || !self.after.is_empty()
    }
}

/// Whether a byte may be part of a mark on some platform, or ends a line: the character after a line end may be one too.
const fn may_need_replacement(b: u8) -> bool {
    const MARKS: [bool; 256] = {
        let (mut marks, all) = ([false; 256], b"\\*_~`|[]<>&@#\n");
        let mut at = 0;
        while at < all.len() {
            marks[all[at] as usize] = true;
            at += 1;
        }
        marks
    };
    MARKS[b as usize]
}

/// All replacements in `text`, in order. A URL of more than `max_whole_bytes` may be cut and is treated like other text.
pub(crate) fn text_replacements(
    markup: BodyMarkup,
    text: Text<'_>,
    max_whole_bytes: usize,
) -> Vec<Replacement> {
    let notation = match markup {
        BodyMarkup::Marks(notation) => notation,
        BodyMarkup::Telegram => return username::replacements(text, max_whole_bytes),
        BodyMarkup::Plain | BodyMarkup::Styles => return Vec::new(),
    };
    let all = text.as_str();
    let mut replacements = Vec::new();
    let mut is_line_start = true;
    let mut urls = bare_urls(all).into_iter().filter(|url| url.len() <= max_whole_bytes).peekable();
    let mut cuttable = cuttable_words(markup, text, max_whole_bytes).into_iter().peekable();
    for (start, slice, style) in text.slices_at(0..all.len()) {
        let link = style.link().map(|link| &text.links()[link]).filter(|link| markup.accepts_link(link));
        if link.is_some_and(|link| link.person().is_some()) {
            // It is the platform's own.
            is_line_start = false;
            continue;
        }
        let mut offset = 0;
        while let Some(skipped) =
            slice.as_bytes()[offset..].iter().position(|b| is_line_start || may_need_replacement(*b))
        {
            offset += skipped;
            let at = start + offset;
            let Some(c) = all[at..].chars().next() else { break };
            while urls.next_if(|url| url.end <= at).is_some() {}
            while cuttable.next_if(|word| word.end <= at).is_some() {}
            let is_whole = cuttable.peek().is_none_or(|word| at < word.start);
            let context = CharContext {
                before: all[..at].chars().next_back(),
                c,
                rest: &all[at..],
                is_inner: is_whole && offset > 0 && offset + c.len_utf8() < slice.len(),
                label_edges: link.map(|link| [link.range.start == at, link.range.end == at + c.len_utf8()]),
                in_url: urls.peek().is_some_and(|url| url.start <= at),
            };
            let mut replacement = context.replacement(notation, style);
            replacement.at = at;
            if is_line_start && replacement.before.is_empty() && !style.has(Attribute::Code) {
                replacement.before = line_start_escape(markup, &all[at..]);
            }
            if replacement.is_needed() {
                replacements.push(replacement);
            }
            is_line_start = c == '\n' || (is_line_start && c.is_whitespace());
            offset += c.len_utf8();
        }
    }
    replacements
}

/// The words that may be cut, because of their length or because of a link in them: a character of one may come to stand at
/// the edge of a part.
fn cuttable_words(markup: BodyMarkup, text: Text<'_>, max_whole_bytes: usize) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let bytes = text.as_str().as_bytes();
    let has_marks =
        memchr::memchr3(b'*', b'_', b'~', bytes).is_some() || memchr::memchr(b'`', bytes).is_some();
    if !markup.lacks_escapes() || !has_marks {
        return words;
    }
    let mut links = text.links().iter().peekable();
    let mut end = 0;
    for word in text.as_str().split(char::is_whitespace) {
        let start = end;
        end = start + word.len();
        while links.next_if(|link| link.range.end <= start).is_some() {}
        let has_link = links.peek().is_some_and(|link| link.range.start <= end);
        if has_link || word.len() > max_whole_bytes / MAX_GROWTH {
            words.push(start..end);
        }
        end += text.as_str()[end..].chars().next().map_or(0, char::len_utf8);
    }
    words
}

/// The replacements in the code of a fence.
pub(crate) fn code_replacements(markup: BodyMarkup, code: &str) -> Vec<Replacement> {
    let BodyMarkup::Marks(notation) = markup else { return Vec::new() };
    let mut replacements = Vec::new();
    let (mut backticks, mut after_backtick) = (0, 0);
    for (at, b) in code.bytes().enumerate().filter(|(_, b)| may_need_replacement(*b)) {
        let (before, c, rest) = (code[..at].chars().next_back(), char::from(b), &code[at..]);
        let context = CharContext { before, c, rest, is_inner: true, label_edges: None, in_url: false };
        let mut replacement = context.replacement(notation, TextStyle::new([Attribute::Code]));
        replacement.at = at;
        if c == '`' {
            backticks = if at == after_backtick { backticks + 1 } else { 1 };
            after_backtick = at + 1;
            if backticks % 3 == 2 && !markup.has_long_fences() && rest[1..].starts_with('`') {
                replacement.after = ZERO_WIDTH_SPACE;
            }
        }
        if replacement.instead.is_some() || !replacement.after.is_empty() {
            replacements.push(replacement);
        }
    }
    replacements
}

/// A text that is not part of a leaf, escaped.
pub(crate) fn escape_text(markup: BodyMarkup, text: &str) -> String {
    replaced(&text_replacements(markup, Text::plain(text), usize::MAX), text)
}

/// Lines of a table, escaped: as code if the table is in a fence, else as text.
pub(crate) fn escape_table_lines(markup: BodyMarkup, lines: &str, is_code: bool) -> Cow<'_, str> {
    let replacements = match markup.replaces() {
        false => return lines.into(),
        true if is_code => code_replacements(markup, lines),
        true => text_replacements(markup, Text::plain(lines), usize::MAX),
    };
    if replacements.is_empty() { lines.into() } else { replaced(&replacements, lines).into() }
}

fn replaced(replacements: &[Replacement], text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for replacement in replacements {
        out.push_str(&text[at..replacement.at]);
        out.extend(replacement.pieces(text));
        at = replacement.at + replacement.len;
    }
    out.push_str(&text[at..]);
    out
}

/// What is written before a line that would otherwise be read as an item, a heading or a quote; empty if nothing is needed.
pub(crate) fn line_start_escape(markup: BodyMarkup, line: &str) -> &'static str {
    let BodyMarkup::Marks(notation) = markup else { return "" };
    let has_backslash = matches!(notation, Notation::Discord | Notation::Teams);
    let escape = if has_backslash { "\\" } else { ZERO_WIDTH_SPACE };
    let mut chars = line.chars();
    let Some(first) = chars.next() else { return "" };
    let is_alone = chars.next().is_none_or(char::is_whitespace);
    match first {
        '-' | '+' | '*' | '•' if is_alone => escape,
        '-' | '=' | '#' if has_backslash => escape,
        // Teams gets a character reference instead.
        '>' if notation != Notation::Teams => escape,
        c if c.is_ascii_digit() => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_item =
                rest.starts_with(['.', ')']) && rest[1..].chars().next().is_none_or(char::is_whitespace);
            let is_short = line.len() - rest.len() <= MAX_ITEM_NUMBER_DIGITS;
            if is_item && is_short { ZERO_WIDTH_SPACE } else { "" }
        }
        _ => "",
    }
}

/// What is written before text at `at` if a part begins there; empty if a replacement does it already.
pub(crate) fn part_start_escape(
    markup: BodyMarkup,
    text: Text<'_>,
    replacements: &[Replacement],
    at: usize,
) -> &'static str {
    if !markup.has_marks() {
        return "";
    }
    let replacement = replacements.get(partition_near_start(replacements, |replacement| replacement.at < at));
    let is_escaped =
        replacement.is_some_and(|replacement| replacement.at == at && !replacement.before.is_empty());
    if is_escaped || text.style_at(at).is_some_and(|style| style.has(Attribute::Code)) {
        return "";
    }
    line_start_escape(markup, &text.as_str()[at..])
}

/// A character and what is around it.
struct CharContext<'a> {
    before: Option<char>,
    c: char,
    /// The text from the character on.
    rest: &'a str,
    /// Whether neither a mark of ours nor the edge of a part can be next to it.
    is_inner: bool,
    /// If it is in a label that has marks of ours around it: whether it is the first and whether it is the last character.
    label_edges: Option<[bool; 2]>,
    in_url: bool,
}

impl CharContext<'_> {
    /// What to write for the character; the caller sets the offset.
    fn replacement(&self, notation: Notation, style: TextStyle) -> Replacement {
        let mut replacement =
            Replacement { at: 0, len: self.c.len_utf8(), before: "", instead: None, after: "" };
        let in_code = style.has(Attribute::Code);
        match notation {
            Notation::Discord => {
                // Discord ends a spoiler at the next two bars, even if they are escaped or in code.
                let would_end_spoiler = style.is_spoiler() && self.c == '|';
                replacement.after = if would_end_spoiler { ZERO_WIDTH_SPACE } else { self.discord_mention() };
                let is_mark = matches!(self.c, '\\' | '*' | '_' | '~' | '`' | '|' | '[' | '<');
                let ends_label = self.label_edges.is_some() && self.c == ']';
                if !in_code && !self.in_url && is_mark || ends_label {
                    replacement.before = "\\";
                }
            }
            Notation::Teams => {
                if in_code {
                    return replacement;
                }
                replacement.instead = character_reference(self.c);
                if !self.in_url && matches!(self.c, '\\' | '*' | '_' | '~' | '`' | '[' | ']') {
                    replacement.before = "\\";
                }
            }
            Notation::Slack => {
                replacement.instead = character_reference(self.c);
                if !in_code && !self.in_url {
                    (replacement.before, replacement.after) = self.zero_width_spaces();
                }
            }
            Notation::WhatsApp | Notation::GoogleChat => {
                if !in_code && !self.in_url {
                    (replacement.before, replacement.after) = self.zero_width_spaces();
                }
                // Google Chat reads text in angle brackets as a mention or a link, in code too.
                let has_name =
                    self.rest.strip_prefix('<').map(|rest| rest.starts_with(char::is_alphanumeric));
                if notation == Notation::GoogleChat && has_name.is_some_and(|has_name| has_name || !in_code) {
                    replacement.after = ZERO_WIDTH_SPACE;
                }
            }
        }
        replacement
    }

    /// The zero-width spaces before and after a mark that could open or close something.
    fn zero_width_spaces(&self) -> (&'static str, &'static str) {
        if !matches!(self.c, '*' | '_' | '~' | '`') {
            return ("", "");
        }
        let next = self.rest[self.c.len_utf8()..].chars().next();
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if self.is_inner && in_word(self.before) && in_word(next) && self.c != '`' {
            return ("", "");
        }
        // At the edge of a label, a mark of ours is next to it, whatever the text continues with.
        let [starts_label, ends_label] = self.label_edges.unwrap_or_default();
        let could_close = starts_label || self.before.is_some_and(|c| !c.is_whitespace());
        let could_open = ends_label || next.is_some_and(|c| !c.is_whitespace());
        let space = |is_needed| if is_needed { ZERO_WIDTH_SPACE } else { "" };
        (space(could_close), space(could_open))
    }

    /// What keeps Discord's servers, which read the raw text, from notifying anybody.
    fn discord_mention(&self) -> &'static str {
        let names_all =
            |name: &str| self.rest.get(1..1 + name.len()).is_some_and(|next| next.eq_ignore_ascii_case(name));
        let is_mention = match self.c {
            '@' => self.before == Some('<') || names_all("everyone") || names_all("here"),
            '#' => self.before == Some('<'),
            _ => false,
        };
        if is_mention { ZERO_WIDTH_SPACE } else { "" }
    }
}

fn character_reference(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}
