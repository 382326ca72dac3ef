//! Characters that are no text: control characters, and the code points that Unicode guarantees never to be characters.
//! HTML has no place for them and nobody can read them, so each becomes U+FFFD. Most messages have none, which a few fast
//! scans find out.

use std::borrow::Cow;

/// How many bytes are scanned at a time: enough for vector instructions, few enough to stop early.
const BLOCK_BYTES: usize = 1024;

/// A message with one kind of line end, and what is known about the characters in it.
pub(super) struct Source<'a> {
    pub(super) markdown: Cow<'a, str>,
    /// Whether texts of it may need [`printable`]. If not, nothing has to be checked again.
    pub(super) may_be_unprintable: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(markdown: &'a str) -> Self {
        // The scan for control characters finds carriage returns too, so most messages are scanned only once.
        let (markdown, has_controls) = match has_controls(markdown) {
            false => (Cow::Borrowed(markdown), false),
            true => {
                let markdown = with_line_feeds(markdown);
                let has_controls = has_controls(&markdown);
                (markdown, has_controls)
            }
        };
        let may_be_unprintable = has_controls || may_have_noncharacters(&markdown);
        Self { markdown, may_be_unprintable }
    }
}

/// The same text with a line feed for each line end. CommonMark has three kinds, which a reader cannot tell apart.
fn with_line_feeds(markdown: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', markdown.as_bytes()).is_none() {
        return markdown.into();
    }
    markdown.replace("\r\n", "\n").replace('\r', "\n").into()
}

/// Whether there is an ASCII control character other than tabs and line feeds.
fn has_controls(markdown: &str) -> bool {
    let is_control = |b: u8| (b < b' ') & (b != b'\t') & (b != b'\n') | (b == 0x7f);
    // No early exit from the inner loop, so the compiler emits vector instructions.
    let any_control = |block: &[u8]| block.iter().fold(false, |any, b| any | is_control(*b));
    markdown.as_bytes().chunks(BLOCK_BYTES).any(any_control)
}

/// Whether [`printable`] may have something to replace in a text from `markdown`, which has no ASCII control characters.
/// Checked are the last two bytes of the UTF-8 of noncharacters and of the other control characters, and character
/// references that may stand for either, or for a line end.
fn may_have_noncharacters(markdown: &str) -> bool {
    let bytes = markdown.as_bytes();
    let after = |at: usize| &bytes[at + 1..];
    let is_suspect = |at: usize| match (bytes[at], after(at).first()) {
        (0xc2, Some(next)) => *next < 0xa0,
        (0xef, Some(next)) => *next == 0xb7,
        (_, next) => matches!(next, Some(0xbe | 0xbf)),
    };
    let is_reference = |at: usize| after(at).starts_with(b"#") || after(at).starts_with(b"NewLine;");
    memchr::memchr3_iter(0xc2, 0xef, 0xbf, bytes).any(is_suspect)
        || memchr::memchr_iter(b'&', bytes).any(is_reference)
}

/// The same text with U+FFFD for each control character other than tabs and line feeds, and for each noncharacter.
pub(super) fn printable(text: &str, may_be_unprintable: bool) -> Cow<'_, str> {
    if !may_be_unprintable {
        return text.into();
    }
    let is_unprintable = |c: char| {
        let is_noncharacter = (0xfdd0..=0xfdef).contains(&u32::from(c)) || u32::from(c) & 0xfffe == 0xfffe;
        is_noncharacter || c.is_control() && !matches!(c, '\t' | '\n')
    };
    if text.contains(is_unprintable) { text.replace(is_unprintable, "\u{fffd}").into() } else { text.into() }
}
