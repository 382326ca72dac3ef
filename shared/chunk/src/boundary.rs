//! Places where a text may be cut.
//!
//! Every function gets the text from the start of the chunk, never the whole input: otherwise finding the parity of a long
//! row of flags would take quadratic time.

use unicode_segmentation::GraphemeCursor;

/// White space at which a line may be broken, and which may be dropped there. The no-break spaces are none.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// Whether `at` lies between two grapheme clusters of `text`.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    if at == 0 || at >= bytes.len() {
        return at <= bytes.len();
    }
    if bytes[at - 1].is_ascii() && bytes[at].is_ascii() {
        return (bytes[at - 1], bytes[at]) != (b'\r', b'\n');
    }
    // The whole text is one piece of context, so the cursor never asks for more.
    text.is_char_boundary(at)
        && GraphemeCursor::new(at, bytes.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// The last cluster boundary of `text` at or before `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if is_boundary(text, at) {
        return at;
    }
    GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// Where to cut `text` at or before `at` inside a cluster that is too long for any chunk. Not between the halves of a
/// flag, unless nothing comes before it: the flags behind it would pair wrongly.
pub(crate) fn within_cluster(text: &str, at: usize) -> usize {
    let is_half_flag = |c: char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
    match (text[..at].chars().next_back(), text[at..].chars().next()) {
        (Some(last), Some(next)) if is_half_flag(last) && is_half_flag(next) => {
            let before = at - last.len_utf8();
            if text[..before].trim_matches(is_space).is_empty() { at } else { before }
        }
        _ => at,
    }
}

/// Where the white space begins that ends `text[..end]`; never inside a cluster.
pub(crate) fn trim_end(text: &str, end: usize) -> usize {
    let mut kept = text[..end].trim_end_matches(is_space).len();
    while kept < end && !is_boundary(text, kept) {
        kept += text[kept..].chars().next().map_or(1, char::len_utf8);
    }
    kept
}

/// Where the white space ends that begins at `at`; never inside a cluster.
pub(crate) fn skip_spaces(text: &str, at: usize) -> usize {
    let rest = text[at..].trim_start_matches(is_space);
    let end = text.len() - rest.len();
    if end == at || is_boundary(&text[at..], end - at) {
        return end;
    }
    // The last space carries a combining mark: it is not white space but what the mark sits on.
    text[..end].char_indices().next_back().map_or(at, |(last, _)| last)
}

/// Whether `c` ends a sentence, if white space follows it or what closes a quote or bracket.
pub(crate) fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || is_east_asian_stop(c)
}

/// Whether `c` ends a sentence without white space, as in Chinese and Japanese.
pub(crate) fn is_east_asian_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

/// Whether a sentence ends between `last` and `next` without white space.
pub(crate) fn ends_sentence_before(last: char, next: Option<char>) -> bool {
    is_east_asian_stop(last) && !next.is_some_and(|c| is_closer(c) || is_east_asian_stop(c))
}

pub(crate) fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '”' | '’' | '»' | '」' | '』' | '）' | '】')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_boundary_inside_a_cluster() {
        assert!(!is_boundary("e\u{301}", 1));
        assert!(!is_boundary("a\r\n", 2));
        assert!(is_boundary("🇩🇪🇫🇷", 8));
        assert!(!is_boundary("🇩🇪🇫🇷", 4));
        assert_eq!(floor("a👨‍👩‍👧", 12), 1);
    }

    #[test]
    fn a_space_that_carries_a_mark_is_kept() {
        assert_eq!(skip_spaces("  \u{301}x", 0), 1);
        assert_eq!(trim_end("x  ", 3), 1);
        assert_eq!(trim_end("x\u{a0}", 3), 3);
    }

    #[test]
    fn a_chinese_sentence_takes_its_closing_quote_along() {
        assert!(ends_sentence_before('。', Some('次')));
        assert!(!ends_sentence_before('。', Some('」')));
    }
}
