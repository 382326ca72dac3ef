//! Where a text may be cut: its words, and how good a cut between two of them is.

use std::ops::Range;

use gatepost_chunk::{Unit, display_width};

use crate::document::Text;
use crate::scan::find_not_visible_ascii;

/// Below this code point, no character joins the one after it into one grapheme cluster: U+0600, the Arabic number sign,
/// is the first (Unicode Standard Annex #29, "Prepend").
const FIRST_JOINING_CHAR: char = '\u{600}';

/// How good it is to cut at a place, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CutQuality {
    /// Inside a word, between grapheme clusters.
    Cluster,
    /// After a heading, which would be the last of a part.
    Heading,
    Word,
    Sentence,
    /// Between lines of text or code, or rows of a table.
    Line,
    /// Between items, or between blocks in one container.
    Item,
    /// Between blocks.
    Block,
}

/// The words of a text, none of them empty, with the quality of a cut before each. A label of a link is never cut.
pub(super) fn words(text: Text<'_>) -> impl Iterator<Item = (Range<usize>, CutQuality)> {
    let (all, mut links) = (text.as_str(), text.links());
    let (mut start, mut quality, mut at) = (0, CutQuality::Line, 0);
    std::iter::from_fn(move || {
        while let Some((gap, next)) = next_gap(all, at) {
            while let [link, rest @ ..] = links
                && link.range.end <= gap.start
            {
                links = rest;
            }
            if let [link, ..] = links
                && link.range.start < gap.end
            {
                at = link.range.end;
                continue;
            }
            let word = (start..gap.start, std::mem::replace(&mut quality, next));
            (start, at) = (gap.end, gap.end);
            if !word.0.is_empty() {
                return Some(word);
            }
        }
        let rest = std::mem::replace(&mut start, all.len())..all.len();
        at = all.len();
        (!rest.is_empty()).then_some((rest, quality))
    })
}

/// The range from the first word to the end of the last.
pub(super) fn extent(text: Text<'_>) -> Range<usize> {
    // The first word begins with the text, unless that begins with white space.
    let start = match text.as_str().starts_with(is_space) {
        true => words(text).next().map_or(0, |(word, _)| word.start),
        false => 0,
    };
    let end = skip_joined_space(text.as_str(), text.as_str().trim_end_matches(is_space).len());
    start..end.max(text.links().last().map_or(0, |link| link.range.end)).max(start)
}

/// White space at which a line may be broken.
fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// Chinese and Japanese full stops.
fn is_cjk_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

/// Chinese and Japanese commas.
fn is_cjk_comma(c: char) -> bool {
    matches!(c, '、' | '，' | '；' | '：')
}

/// The index after white space at `at` that is in one grapheme cluster with the character before it, as it is after the
/// Arabic number sign; otherwise `at`.
fn skip_joined_space(text: &str, at: usize) -> usize {
    let (head, rest) = text.split_at(at);
    let (Some(before), Some(space)) = (head.chars().next_back(), rest.chars().next()) else { return at };
    // A line end is a control character and never joined.
    if before < FIRST_JOINING_CHAR || !is_space(space) || space.is_control() {
        return at;
    }
    let both = at - before.len_utf8()..at + space.len_utf8();
    if Unit::Graphemes.count(&text[both.clone()]) == 1 { both.end } else { at }
}

/// The next gap between words at or after `from`: white space, or the empty range after a Chinese or Japanese full stop or
/// comma.
fn next_gap(text: &str, from: usize) -> Option<(Range<usize>, CutQuality)> {
    let bytes = text.as_bytes();
    let mut from = from;
    loop {
        let at = from + find_not_visible_ascii(&bytes[from..])?;
        // The usual gap, without decoding anything.
        let is_between_words = || {
            let follows_word = at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphanumeric());
            follows_word && bytes.get(at + 1).is_some_and(u8::is_ascii_graphic)
        };
        if bytes[at] == b' ' && is_between_words() {
            return Some((at..at + 1, CutQuality::Word));
        }
        let c = text[at..].chars().next()?;
        let after = at + c.len_utf8();
        let gap = match c {
            c if is_space(c) => gap_at_space(text, at, after),
            c if is_cjk_stop(c) => gap_after_punctuation(text, after, CutQuality::Sentence),
            c if is_cjk_comma(c) => gap_after_punctuation(text, after, CutQuality::Word),
            _ => None,
        };
        if gap.is_some() {
            return gap;
        }
        from = after;
    }
}

/// The gap after Chinese or Japanese punctuation, unless the next character belongs to it or the text ends.
fn gap_after_punctuation(
    text: &str,
    after: usize,
    quality: CutQuality,
) -> Option<(Range<usize>, CutQuality)> {
    let next = text[after..].chars().next()?;
    let is_closer = matches!(next, '」' | '』' | '）' | '】' | '”' | '’' | '"' | ')');
    let belongs =
        is_space(next) || is_cjk_stop(next) || is_cjk_comma(next) || is_closer || joins_previous(next);
    (!belongs).then_some((after..after, quality))
}

/// The gap that begins with the space from `at` to `after`, unless that is part of a grapheme cluster.
#[inline(never)]
fn gap_at_space(text: &str, at: usize, after: usize) -> Option<(Range<usize>, CutQuality)> {
    let mut end = after;
    // A single space before an ASCII character, as it is in most text, ends there.
    if !text.as_bytes().get(after).is_some_and(u8::is_ascii_graphic) {
        end = text.len() - text[after..].trim_start_matches(is_space).len();
        if text[end..].chars().next().is_some_and(joins_previous) {
            // The last space is in one cluster with what follows.
            end -= text[..end].chars().next_back().map_or(0, char::len_utf8);
        }
    }
    let at = skip_joined_space(text, at);
    if end <= at {
        return None;
    }
    let closers = ['"', '\'', ')', ']', '”', '’', '»', '」', '』', '）', '】'];
    let ends_sentence =
        text[..at].trim_end_matches(closers).ends_with(['.', '!', '?', '…', '。', '！', '？']);
    let quality = match () {
        () if text[at..end].contains('\n') => CutQuality::Line,
        () if ends_sentence => CutQuality::Sentence,
        () => CutQuality::Word,
    };
    Some((at..end, quality))
}

/// Whether `c` is in one grapheme cluster with the character before it.
fn joins_previous(c: char) -> bool {
    !c.is_ascii() && display_width(c.encode_utf8(&mut [0; 4])) == 0
}
