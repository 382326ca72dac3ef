//! Counts grapheme clusters without looking up each one.
//!
//! There is always a boundary between two ASCII bytes, except in a CRLF, and between two letters of most scripts; nothing
//! before such a boundary affects what follows it. So only other characters, and those next to them, need the Unicode
//! tables.

use unicode_segmentation::UnicodeSegmentation as _;

/// ASCII bytes that are counted together.
const BLOCK: usize = 64;

/// The bytes of the longest prefix of at most `limit` clusters, and how many clusters it has.
pub(crate) fn measure(text: &str, limit: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let simple = bytes.len().min(limit);
    // One byte more, unless the text ends: a combining mark there would belong to the last cluster.
    if is_simple(&bytes[..bytes.len().min(simple.saturating_add(1))]) {
        return (simple, simple);
    }
    let (mut at, mut left) = (0, limit);
    while at < bytes.len() && left > 0 {
        match ascii_clusters(&bytes[at..]) {
            Some(clusters) if clusters <= left => {
                at += BLOCK;
                left -= clusters;
            }
            _ => (at, left) = one_by_one(text, at, left),
        }
    }
    (at, limit - left)
}

/// Whether each byte is a cluster.
fn is_simple(bytes: &[u8]) -> bool {
    // Without an early exit within a block, so that all of it is looked at in one go.
    let is_more = |byte: &u8| u8::from(!byte.is_ascii() | (*byte == b'\r'));
    bytes.chunks(BLOCK).all(|block| block.iter().fold(0, |any, byte| any | is_more(byte)) == 0)
}

/// How many clusters the next block holds, if it is ASCII and ends with a cluster.
fn ascii_clusters(bytes: &[u8]) -> Option<usize> {
    // The byte behind it: a combining mark there would belong to the last cluster.
    let window = bytes.get(..=BLOCK).filter(|window| window.is_ascii())?;
    let breaks =
        window.iter().zip(&window[1..]).map(|(a, b)| u8::from((*a, *b) == (b'\r', b'\n'))).sum::<u8>();
    (window[BLOCK - 1] != b'\r').then_some(BLOCK - usize::from(breaks))
}

/// Goes on over a block's length or more, cluster by cluster: where that leads, and how many of `left` are left there.
fn one_by_one(text: &str, mut at: usize, mut left: usize) -> (usize, usize) {
    let goal = text.len().min(at + BLOCK);
    while at < goal && left > 0 {
        if let Some(bytes) = simple_cluster(&text[at..]) {
            at += bytes;
            left -= 1;
            continue;
        }
        for cluster in text[at..].graphemes(true) {
            at += cluster.len();
            left -= 1;
            if left == 0 || simple_cluster(&text[at..]).is_some() {
                break;
            }
        }
    }
    (at, left)
}

/// The bytes of the first code point, if it and the next one are [`stands_alone`].
fn simple_cluster(text: &str) -> Option<usize> {
    if let [a, b, ..] = text.as_bytes()
        && a.is_ascii()
        && b.is_ascii()
    {
        return ((*a, *b) != (b'\r', b'\n')).then_some(1);
    }
    let mut chars = text.chars();
    let first = chars.next()?;
    (stands_alone(first) && stands_alone(chars.next()?)).then_some(first.len_utf8())
}

/// Whether there is a boundary between `c` and any other that stands alone. By no means all of them: the letters and
/// the punctuation of the scripts that most messages are in.
fn stands_alone(c: char) -> bool {
    matches!(c,
        // ASCII, but for what controls.
        ' '..='~'
        // Latin, Greek, Cyrillic.
        | 'À'..='ʯ' | 'Α'..='ҁ'
        // Quotes, dashes, bullets.
        | '–'..='•'
        // Chinese, Japanese, Korean.
        | '、'..='】' | 'ぁ'..='ゖ' | 'ァ'..='ー' | '一'..='\u{9fff}' | '가'..='힣' | '！'..='～'
    )
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn clusters_are_those_of_the_unicode_tables(
            text in "([a-c]{0,90}|[ab\r\n]{0,5}|\r\n|👨‍👩‍👧|🇩🇪|\u{301}|\u{600}|\u{200d}|क्‍ष|각|\\PC){0,30}", limit in 0usize..200,
        ) {
            let starts: std::vec::Vec<_> = text.grapheme_indices(true).map(|(at, _)| at).collect();
            prop_assert_eq!(measure(&text, usize::MAX), (text.len(), starts.len()));
            let prefix = (starts.get(limit).copied().unwrap_or(text.len()), limit.min(starts.len()));
            prop_assert_eq!(measure(&text, limit), prefix);
        }
    }

    #[test]
    fn what_stands_alone_does_so_in_the_unicode_tables() {
        let alone = || ('\0'..=char::MAX).filter(|c| stands_alone(*c));
        for c in alone() {
            for other in ['a', 'é', '가', '각', '漢', '。', c] {
                let pairs = String::from_iter([c, other, c, c]);
                assert_eq!(pairs.graphemes(true).count(), 4, "{c:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_mark_or_a_line_break_at_the_edge_of_a_block_is_not_torn_off() {
        for (tail, clusters) in [("\u{301}", 64), ("\r\n", 65), ("\n\r\n", 66)] {
            for shift in 0..3 {
                let text = String::from_iter(["a".repeat(64 - shift), tail.into(), "a".repeat(shift)]);
                assert_eq!(measure(&text, usize::MAX).1, clusters, "{text:?}");
            }
        }
    }
}
