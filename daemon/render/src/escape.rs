//! What an agent wrote, made to be read as it stands.
//!
//! Where a platform has an escape it is used; elsewhere a zero-width space takes a sign's power. What has to be done
//! depends on the whole text of a leaf and never on where it is cut, so it is found out once and counted exactly. An
//! address in the text stays as it is: an escape in it would lead nowhere.

use std::borrow::Cow;
use std::ops::Range;

use super::Notation;
use super::look::{Look, Tag};
use super::pen::{INERT, Pen};
use super::text::Text;

/// A sign that is not written as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Swap {
    /// Where it stands, and how many bytes it has.
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) before: &'static str,
    /// What it is written as, if not as itself.
    pub(super) instead: Option<&'static str>,
    pub(super) behind: &'static str,
}

/// Whether a sign may have to be written otherwise than it stands, or is a line's end, behind which any may.
const fn is_sign(b: u8) -> bool {
    const SIGNS: [bool; 256] = {
        let (mut signs, all) = ([false; 256], b"\\*_~`|[]<>&@#\n");
        let mut at = 0;
        while at < all.len() {
            signs[all[at] as usize] = true;
            at += 1;
        }
        signs
    };
    SIGNS[b as usize]
}

/// Everything in `text` that is not written as it stands, in order. An address of more than `longest` bytes may be cut
/// and is text like any other.
pub(super) fn swaps(pen: Pen, text: Text<'_>, longest: usize) -> Vec<Swap> {
    let Pen::Marks(notation) = pen else { return Vec::new() };
    let all = text.as_str();
    let mut swaps = Vec::new();
    let mut is_fresh = true;
    let mut addresses = addresses(all).into_iter().filter(|address| address.len() <= longest).peekable();
    let mut breakable = breakable(pen, text, longest).into_iter().peekable();
    for (start, slice, look) in text.located(0..all.len()) {
        let link = look.link().map(|link| &text.links()[link]).filter(|link| pen.links(link));
        let mut offset = 0;
        while let Some(skipped) = slice.as_bytes()[offset..].iter().position(|b| is_fresh || is_sign(*b)) {
            offset += skipped;
            let at = start + offset;
            let Some(c) = all[at..].chars().next() else { break };
            while addresses.next_if(|address| address.end <= at).is_some() {}
            while breakable.next_if(|word| word.end <= at).is_some() {}
            let is_whole = breakable.peek().is_none_or(|word| at < word.start);
            let is_inner = is_whole && offset > 0 && offset + c.len_utf8() < slice.len();
            let in_address = addresses.peek().is_some_and(|address| address.start <= at);
            let before = all[..at].chars().next_back();
            let edges = link.map(|link| [link.range.start == at, link.range.end == at + c.len_utf8()]);
            let place = Place { before, c, rest: &all[at..], is_inner, in_link: edges, in_address };
            let mut swap = place.swap(notation, look);
            swap.at = at;
            if is_fresh && swap.before.is_empty() && !look.has(Tag::Code) {
                swap.before = at_start(pen, &all[at..]);
            }
            if !swap.before.is_empty() || swap.instead.is_some() || !swap.behind.is_empty() {
                swaps.push(swap);
            }
            is_fresh = c == '\n' || (is_fresh && c.is_whitespace());
            offset += c.len_utf8();
        }
    }
    swaps
}

/// The words that may be cut, by their length or for a link in them: a sign in one may come to stand at the edge of a
/// part. No sign costs more than eight times its bytes.
fn breakable(pen: Pen, text: Text<'_>, longest: usize) -> Vec<Range<usize>> {
    let mut breakable = Vec::new();
    let bytes = text.as_str().as_bytes();
    let has_signs =
        memchr::memchr3(b'*', b'_', b'~', bytes).is_some() || memchr::memchr(b'`', bytes).is_some();
    if !pen.disarms() || !has_signs {
        return breakable;
    }
    let mut links = text.links().iter().peekable();
    let mut end = 0;
    for word in text.as_str().split(char::is_whitespace) {
        let start = end;
        end = start + word.len();
        while links.next_if(|link| link.range.end <= start).is_some() {}
        let has_link = links.peek().is_some_and(|link| link.range.start <= end);
        if has_link || word.len() > longest / 8 {
            breakable.push(start..end);
        }
        end += text.as_str()[end..].chars().next().map_or(0, char::len_utf8);
    }
    breakable
}

/// The swaps of code in a fence.
pub(super) fn code_swaps(pen: Pen, code: &str) -> Vec<Swap> {
    let Pen::Marks(notation) = pen else { return Vec::new() };
    let mut swaps = Vec::new();
    let (mut backticks, mut behind) = (0, 0);
    for (at, b) in code.bytes().enumerate().filter(|(_, b)| is_sign(*b)) {
        let (before, c, rest) = (code[..at].chars().next_back(), char::from(b), &code[at..]);
        let place = Place { before, c, rest, is_inner: true, in_link: None, in_address: false };
        let mut swap = place.swap(notation, Look::new([Tag::Code]));
        swap.at = at;
        if c == '`' {
            backticks = if at == behind { backticks + 1 } else { 1 };
            behind = at + 1;
            if backticks % 3 == 2 && !pen.fences_grow() && rest[1..].starts_with('`') {
                swap.behind = INERT;
            }
        }
        if swap.instead.is_some() || !swap.behind.is_empty() {
            swaps.push(swap);
        }
    }
    swaps
}

/// A text of its own, as text.
pub(super) fn written(notation: Notation, text: &str) -> String {
    swapped(&swaps(Pen::Marks(notation), Text::plain(text), usize::MAX), text)
}

/// Lines of a table: as code where tables are in a fence, else as text.
pub(super) fn lines(pen: Pen, lines: &str, is_code: bool) -> Cow<'_, str> {
    let swaps = match pen.has_marks() {
        false => return lines.into(),
        true if is_code => code_swaps(pen, lines),
        true => swaps(pen, Text::plain(lines), usize::MAX),
    };
    if swaps.is_empty() { lines.into() } else { swapped(&swaps, lines).into() }
}

fn swapped(swaps: &[Swap], text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for swap in swaps {
        out.push_str(&text[at..swap.at]);
        out.extend(swap.written(text));
        at = swap.at + swap.len;
    }
    out.push_str(&text[at..]);
    out
}

impl Swap {
    /// What stands in its place.
    pub(super) fn written<'a>(&'a self, text: &'a str) -> [&'a str; 3] {
        [self.before, self.instead.unwrap_or(&text[self.at..self.at + self.len]), self.behind]
    }
}

/// What goes before a line that a platform would take for an item, a heading or a quote.
pub(super) fn at_start(pen: Pen, line: &str) -> &'static str {
    let Pen::Marks(notation) = pen else { return "" };
    let has_backslash = matches!(notation, Notation::Discord | Notation::Teams);
    let mark = if has_backslash { "\\" } else { INERT };
    let mut chars = line.chars();
    let Some(first) = chars.next() else { return "" };
    let next = chars.next();
    let ends = next.is_none_or(char::is_whitespace);
    match first {
        '-' | '+' | '*' | '•' if ends => mark,
        '-' | '=' | '#' if has_backslash => mark,
        // Teams gets a character reference.
        '>' if notation != Notation::Teams => mark,
        c if c.is_ascii_digit() => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_item =
                rest.starts_with(['.', ')']) && rest[1..].chars().next().is_none_or(char::is_whitespace);
            if is_item && line.len() - rest.len() < 10 { INERT } else { "" }
        }
        _ => "",
    }
}

/// Where an address stands in the text, as platforms find them.
pub(super) fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut addresses: Vec<Range<usize>> = Vec::new();
    for scheme in memchr::memmem::find_iter(text.as_bytes(), "://") {
        if addresses.last().is_some_and(|last| scheme < last.end) {
            continue;
        }
        let name = ["https", "http"].into_iter().find(|name| text[..scheme].ends_with(name));
        let Some(name) = name else { continue };
        let rest = &text[scheme..];
        // A bracket that closes what was open before the address is not a part of it.
        let mut depth = 0;
        let is_end = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth < 0 || c.is_whitespace() || "<>\\`|[]。！？、，；：".contains(c)
        };
        let end = rest.find(is_end).unwrap_or(rest.len());
        let end = rest[..end].trim_end_matches(|c| ".,:;!?)]}\"'*_~".contains(c)).len();
        addresses.push(scheme - name.len()..scheme + end.max(1));
    }
    addresses
}

/// A sign and what is around it.
struct Place<'a> {
    before: Option<char>,
    c: char,
    /// The text from the sign on.
    rest: &'a str,
    /// Whether neither a mark of ours nor the edge of a part can be beside it.
    is_inner: bool,
    /// Whether it is the first sign of a label that marks of ours are around, and the last.
    in_link: Option<[bool; 2]>,
    in_address: bool,
}

impl Place<'_> {
    fn swap(&self, notation: Notation, look: Look) -> Swap {
        let mut swap = Swap { at: 0, len: self.c.len_utf8(), before: "", instead: None, behind: "" };
        let in_code = look.has(Tag::Code);
        match notation {
            Notation::Discord => {
                // Discord ends a spoiler at the first two bars, escaped, in code or not.
                swap.behind = if look.is_spoiler() && self.c == '|' { INERT } else { self.mention() };
                if !in_code
                    && !self.in_address
                    && matches!(self.c, '\\' | '*' | '_' | '~' | '`' | '|' | '[' | '<')
                    || (self.in_link.is_some() && self.c == ']')
                {
                    swap.before = "\\";
                }
            }
            Notation::Teams => {
                if in_code {
                    return swap;
                }
                swap.instead = reference(self.c);
                if !self.in_address && matches!(self.c, '\\' | '*' | '_' | '~' | '`' | '[' | ']') {
                    swap.before = "\\";
                }
            }
            Notation::Slack => {
                swap.instead = reference(self.c);
                if !in_code && !self.in_address {
                    (swap.before, swap.behind) = self.disarmed();
                }
            }
            Notation::WhatsApp | Notation::GoogleChat => {
                if !in_code && !self.in_address {
                    (swap.before, swap.behind) = self.disarmed();
                }
                // What Google Chat has between angle brackets is a mention or a link, in code too.
                let is_named =
                    self.rest.strip_prefix('<').map(|rest| rest.starts_with(char::is_alphanumeric));
                if notation == Notation::GoogleChat && is_named.is_some_and(|is_named| is_named || !in_code) {
                    swap.behind = INERT;
                }
            }
        }
        swap
    }

    /// What takes the power of a mark that could open or close something.
    fn disarmed(&self) -> (&'static str, &'static str) {
        if !matches!(self.c, '*' | '_' | '~' | '`') {
            return ("", "");
        }
        let next = self.rest[self.c.len_utf8()..].chars().next();
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if self.is_inner && in_word(self.before) && in_word(next) && self.c != '`' {
            return ("", "");
        }
        // Beside it at the edge of a label stands a mark of ours, whatever the text goes on with.
        let [starts, ends] = self.in_link.unwrap_or_default();
        let closes = starts || self.before.is_some_and(|c| !c.is_whitespace());
        let opens = ends || next.is_some_and(|c| !c.is_whitespace());
        (if closes { INERT } else { "" }, if opens { INERT } else { "" })
    }

    /// What keeps Discord's servers, which read the raw text, from notifying anybody.
    fn mention(&self) -> &'static str {
        let all =
            |name: &str| self.rest.get(1..1 + name.len()).is_some_and(|next| next.eq_ignore_ascii_case(name));
        let is_mention = match self.c {
            '@' => self.before == Some('<') || all("everyone") || all("here"),
            '#' => self.before == Some('<'),
            _ => false,
        };
        if is_mention { INERT } else { "" }
    }
}

fn reference(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}
