//! Where a text may be broken: its words, and how good the gaps between them are.

use std::ops::Range;

use gatepost_chunk::{Unit, display_width};

use super::glance::first_unprintable;
use super::text::Text;

/// How good a place is to cut, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Cluster,
    /// Behind a heading, which would stand alone at the end of a part.
    Heading,
    Word,
    Sentence,
    /// Between lines, rows of a table, lines of code.
    Line,
    /// Between items or blocks inside one container.
    Item,
    /// Between blocks.
    Block,
}

/// The words of a text, none of them empty, and how good it is to cut before each. White space in a link is no gap.
pub(super) fn words(text: Text<'_>) -> impl Iterator<Item = (Range<usize>, Grade)> {
    let all = text.as_str();
    let mut links = text.links().iter().peekable();
    let (mut start, mut grade, mut at) = (0, Grade::Line, 0);
    std::iter::from_fn(move || {
        while let Some((gap, next)) = next_gap(all, at) {
            while links.next_if(|link| link.range.end <= gap.start).is_some() {}
            if let Some(link) = links.peek().filter(|link| link.range.start < gap.end) {
                at = link.range.end;
                continue;
            }
            let word = (start..gap.start, std::mem::replace(&mut grade, next));
            (start, at) = (gap.end, gap.end);
            if !word.0.is_empty() {
                return Some(word);
            }
        }
        let rest = std::mem::replace(&mut start, all.len())..all.len();
        at = all.len();
        (!rest.is_empty()).then_some((rest, grade))
    })
}

/// The stretch from the first word to the end of the last.
pub(super) fn extent(text: Text<'_>) -> Range<usize> {
    // Only white space at the beginning is no part of the first word.
    let start = match text.as_str().starts_with(is_space) {
        true => words(text).next().map_or(0, |(word, _)| word.start),
        false => 0,
    };
    let end = behind_joined(text.as_str(), text.as_str().trim_end_matches(is_space).len());
    start..end.max(text.links().last().map_or(0, |link| link.range.end)).max(start)
}

fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// `at`, or what is behind the white space there that is in one cluster with the sign before it, as it is behind the
/// number sign of Arabic.
fn behind_joined(text: &str, at: usize) -> usize {
    let (head, rest) = text.split_at(at);
    let (Some(before), Some(space)) = (head.chars().next_back(), rest.chars().next()) else { return at };
    // The number sign is the first that joins what follows; and none joins the end of a line.
    if before < '\u{600}' || !is_space(space) || space.is_control() {
        return at;
    }
    let both = at - before.len_utf8()..at + space.len_utf8();
    if Unit::Graphemes.count(&text[both.clone()]) == 1 { both.end } else { at }
}

/// The next place behind `from` where a line may be broken: white space, or a Chinese or Japanese full stop or comma.
fn next_gap(text: &str, from: usize) -> Option<(Range<usize>, Grade)> {
    let is_stop = |c: char| matches!(c, '。' | '！' | '？');
    let is_comma = |c: char| matches!(c, '、' | '，' | '；' | '：');
    let found = |c: char| is_space(c) || is_stop(c) || is_comma(c);
    let mut from = from;
    loop {
        let bytes = text.as_bytes();
        let at = from + first_unprintable(&bytes[from..])?;
        let is_between_letters = || {
            let before = at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphanumeric());
            before && bytes.get(at + 1).is_some_and(u8::is_ascii_graphic)
        };
        if bytes[at] == b' ' && is_between_letters() {
            return Some((at..at + 1, Grade::Word));
        }
        let c = text[at..].chars().next()?;
        let after = at + c.len_utf8();
        if !found(c) {
            from = after;
            continue;
        }
        let rest = &text[after..];
        if !is_space(c) {
            let next = rest.chars().next()?;
            let sticks = found(next)
                || matches!(next, '」' | '』' | '）' | '】' | '”' | '’' | '"' | ')')
                || is_mark(next);
            if sticks {
                from = after;
                continue;
            }
            return Some((after..after, if is_stop(c) { Grade::Sentence } else { Grade::Word }));
        }
        let mut end = text.len() - rest.trim_start_matches(is_space).len();
        if text[end..].chars().next().is_some_and(is_mark) {
            // The last space carries the mark.
            end -= text[..end].chars().next_back().map_or(0, char::len_utf8);
        }
        let at = behind_joined(text, at);
        if end <= at {
            from = after;
            continue;
        }
        let closers = ['"', '\'', ')', ']', '”', '’', '»', '」', '』', '）', '】'];
        let ends_sentence =
            text[..at].trim_end_matches(closers).ends_with(['.', '!', '?', '…', '。', '！', '？']);
        let grade = match () {
            () if text[at..end].contains('\n') => Grade::Line,
            () if ends_sentence => Grade::Sentence,
            () => Grade::Word,
        };
        return Some((at..end, grade));
    }
}

/// Whether `c` joins the character before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && display_width(c.encode_utf8(&mut [0; 4])) == 0
}
