//! The last word and the last sentence that end within a limit.
//!
//! Both are searched backwards from the limit, so that the cost is the length of the last word and not of the chunk. Bytes
//! that cannot matter are skipped in blocks: a megabyte without a space costs no more than prose.

use crate::boundary::{ends_sentence_before, is_boundary, is_closer, is_east_asian_stop, is_space, is_stop};

/// Bytes that are looked at together; the compiler turns the loop over them into a few vector instructions.
const BLOCK: usize = 32;

/// Where the last word ends, or the last Chinese or Japanese sentence, behind 0 and at or before `hard`.
pub(crate) fn last_word(text: &str, hard: usize) -> Option<usize> {
    // White space at `hard` ends a word there.
    let mut end = hard + text[hard..].chars().next().map_or(0, char::len_utf8);
    while let Some((start, c)) = last_char(text, end, may_be_space_or_stop) {
        let behind = start + c.len_utf8();
        if is_space(c) && is_word_end(text, start) {
            return Some(start);
        }
        if is_east_asian_stop(c) && behind <= hard && is_word_end(text, behind) {
            return Some(behind);
        }
        end = start;
    }
    None
}

/// Where the last sentence ends, closing quotes and brackets included, behind `from` and at or before `hard`.
pub(crate) fn last_sentence(text: &str, from: usize, hard: usize) -> Option<usize> {
    let mut end = hard;
    while let Some((start, c)) = last_char(text, end, may_be_stop) {
        let behind = &text[start + c.len_utf8()..];
        let rest = behind.trim_start_matches(is_closer);
        let at = text.len() - rest.len();
        if is_stop(c) && at <= hard && is_boundary(text, at) {
            let ends = rest.starts_with(is_space) || ends_sentence_before(c, behind.chars().next());
            if ends {
                return (at > from).then_some(at);
            }
        }
        if start <= from {
            return None;
        }
        end = start;
    }
    None
}

/// The last line break before `end` behind which white space may come: only such a one can end a paragraph.
pub(crate) fn last_open_newline(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = end.min(bytes.len().saturating_sub(1));
    let may_be_space = |byte: u8| may_be_space_or_stop(byte) | (byte >= 0x80);
    last_pair(&bytes[..end], bytes.get(1..=end)?, |byte, next| (byte == b'\n') & may_be_space(next))
}

/// Whether a word ends in `text[from..to]`, or right behind it.
pub(crate) fn has_word_end(text: &str, from: usize, to: usize) -> bool {
    let mut last = text[..from].chars().next_back();
    for (offset, next) in text[from..].char_indices().take_while(|(offset, _)| from + offset <= to) {
        let ends = is_space(next) || last.is_some_and(|last| ends_sentence_before(last, Some(next)));
        if ends && is_boundary(text, from + offset) {
            return true;
        }
        last = Some(next);
    }
    to == text.len()
}

fn is_word_end(text: &str, at: usize) -> bool {
    let next = text[at..].chars().next();
    let ends = |last| (next.is_some_and(is_space) && !is_space(last)) || ends_sentence_before(last, next);
    text[..at].chars().next_back().is_some_and(ends) && is_boundary(text, at)
}

/// The last code point of `text[..end]` of whose last byte `may_be` holds, and where it begins.
fn last_char(text: &str, end: usize, may_be: impl Fn(u8) -> bool + Copy) -> Option<(usize, char)> {
    let mut end = end;
    loop {
        let at = last_byte(&text.as_bytes()[..end], may_be)?;
        if text.is_char_boundary(at + 1) {
            return text[..=at].char_indices().next_back();
        }
        end = at;
    }
}

fn last_byte(bytes: &[u8], may_be: impl Fn(u8) -> bool + Copy) -> Option<usize> {
    last_pair(bytes, bytes, |byte, _| may_be(byte))
}

/// The last index at which `may_be` holds for what `bytes` and `others`, of the same length, have there.
fn last_pair(bytes: &[u8], others: &[u8], may_be: impl Fn(u8, u8) -> bool) -> Option<usize> {
    let mut end = bytes.len();
    while let Some(begin) = end.checked_sub(BLOCK) {
        // Without an early exit, and in bytes: so all of the block is looked at in one go.
        let pairs = bytes[begin..end].iter().zip(&others[begin..end]);
        if pairs.fold(0, |any, (byte, other)| any | u8::from(may_be(*byte, *other))) != 0 {
            break;
        }
        end = begin;
    }
    bytes[..end].iter().zip(&others[..end]).rposition(|(byte, other)| may_be(*byte, *other))
}

/// Whether a code point that ends in `byte` may be white space, or end a sentence by itself. Comparisons without a
/// branch, which a vector of bytes can be put through.
fn may_be_space_or_stop(byte: u8) -> bool {
    let among = |first: u8, count: u8| byte.wrapping_sub(first) < count;
    among(b'\t', 5) | (byte == b' ') | among(0x80, 11) | (byte == 0x9f) | among(0xa8, 2)
}

/// Whether a code point that ends in `byte` may end a sentence.
fn may_be_stop(byte: u8) -> bool {
    let ascii = (byte == b'.') | (byte == b'!') | (byte == b'?');
    ascii | (byte == 0x81) | (byte == 0x82) | (byte == 0x9f) | (byte == 0xa6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_space_and_no_stop_is_passed_over() {
        for c in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let last = *c.encode_utf8(&mut buffer).as_bytes().last().unwrap();
            assert!(!is_space(c) || may_be_space_or_stop(last), "{c:?}");
            assert!(!is_east_asian_stop(c) || may_be_space_or_stop(last), "{c:?}");
            assert!(!is_stop(c) || may_be_stop(last), "{c:?}");
        }
    }

    #[test]
    fn the_last_word_ends_at_the_limit_or_before() {
        assert_eq!(last_word("one two", 3), Some(3));
        assert_eq!(last_word("one two", 2), None);
        assert_eq!(last_word("one  two", 6), Some(3));
        assert_eq!(last_word("これは。それ", 12), Some(12));
        assert_eq!(last_word("これは。それ", 11 - 2), None);
        assert_eq!(last_word(" \u{301}x", 3), None);
    }

    #[test]
    fn the_last_sentence_takes_its_closing_quote_along() {
        let text = "He said: “Go.” She went. And";
        assert_eq!(last_sentence(text, 0, text.len()), text.find(" And"));
        assert_eq!(last_sentence(text, 0, 20), text.find(" She"));
        assert_eq!(last_sentence(text, 0, 15), None);
        assert_eq!(last_sentence(text, 19, 20), None);
        assert_eq!(last_sentence("version 1.95 is", 0, 15), None);
    }

    #[test]
    fn only_a_line_break_before_white_space_can_end_a_paragraph() {
        assert_eq!(last_open_newline("a\nb\n\nc\nd", 9), Some(3));
        assert_eq!(last_open_newline("a\n b\nc", 5), Some(1));
        assert_eq!(last_open_newline("a\nb\n", 4), None);
        assert_eq!(last_open_newline("", 0), None);
    }

    #[test]
    fn a_word_may_end_with_the_text() {
        assert!(has_word_end("abc", 1, 3));
        assert!(has_word_end("abc def", 1, 3));
        assert!(!has_word_end("abc def", 1, 2));
    }
}
