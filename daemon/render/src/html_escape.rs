//! Character references: what `&`, `<`, `>` and `"` are written as in HTML, and how many bytes that adds.

/// How many bytes are summed up at a time. Small enough that the sum of a block fits in a byte, with at most five for
/// each of its bytes, so the compiler emits vector instructions.
const BLOCK_BYTES: usize = 32;

/// Whether `text` contains a character that HTML writes as a reference.
pub(crate) fn needs_escape(text: &str) -> bool {
    memchr::memchr3(b'&', b'<', b'>', text.as_bytes()).is_some()
}

/// Appends `text` to `out`, escaped for the content of an element.
pub(crate) fn push_text(text: &str, out: &mut String) {
    let mut done = 0;
    for at in memchr::memchr3_iter(b'&', b'<', b'>', text.as_bytes()) {
        out.push_str(&text[done..at]);
        out.push_str(match text.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            _ => "&gt;",
        });
        done = at + 1;
    }
    out.push_str(&text[done..]);
}

/// Appends `text` to `out`, escaped for an attribute in double quotes.
pub(crate) fn push_attribute(text: &str, out: &mut String) {
    if memchr::memchr(b'"', text.as_bytes()).is_none() {
        return push_text(text, out);
    }
    for (n, piece) in text.split('"').enumerate() {
        if n > 0 {
            out.push_str("&quot;");
        }
        push_text(piece, out);
    }
}

/// How many bytes [`push_text`] adds to those of `text`.
#[inline]
pub(crate) fn added_text_bytes(text: &str) -> usize {
    // Most text has nothing to escape.
    let Some(first) = memchr::memchr3(b'&', b'<', b'>', text.as_bytes()) else { return 0 };
    let added = |block: &[u8]| {
        let block = block.iter().map(|b| u8::from(*b == b'&') * 4 + u8::from(matches!(b, b'<' | b'>')) * 3);
        usize::from(block.sum::<u8>())
    };
    text.as_bytes()[first..].chunks(BLOCK_BYTES).map(added).sum()
}

/// How many bytes [`push_attribute`] appends.
pub(crate) fn attribute_bytes(text: &str) -> usize {
    let added = |b: &u8| match b {
        b'&' => 4,
        b'<' | b'>' => 3,
        b'"' => 5,
        _ => 0,
    };
    let added = |block: &[u8]| usize::from(block.iter().map(added).sum::<u8>());
    text.len() + text.as_bytes().chunks(BLOCK_BYTES).map(added).sum::<usize>()
}
