//! Looks as far as a platform can show them.
//!
//! A mark that a platform would not take for one is worse than none: the reader sees it. So styles that end in white
//! space, in the middle of a word or behind a line end are shortened, cut in two or dropped, before anything is counted.

use std::ops::Range;

use super::escape::{addresses, at_start};
use super::look::{Look, Tag};
use super::pen::{INERT_SIGN, Pen};
use super::text::{Held, Text, Texts};

/// What some platforms read as marks and have no escape for, and what takes a mark's power, in case an agent wrote it.
const SIGNS: [char; 6] = ['*', '_', '~', '`', '<', INERT_SIGN];

const STYLES: [Tag; 5] = [Tag::Strong, Tag::Emphasis, Tag::Strike, Tag::Code, Tag::Spoiler];

/// The same text with the looks that `pen` can write.
pub(super) fn settle(pen: Pen, held: Held<'_>) -> Held<'_> {
    let text = held.text();
    match pen {
        _ if text.is_plain() => held,
        Pen::Plain | Pen::Styles => held,
        Pen::Telegram => {
            let slices = || text.slices(0..text.as_str().len());
            let settled = |look| without_nested_code(pen, text, look);
            if text.looks(0..text.as_str().len()).all(|look| settled(look) == look) {
                return held;
            }
            text.with_looks(slices().map(|(slice, look)| (slice, settled(look)))).into()
        }
        Pen::Marks(_) => marked(pen, text).into(),
    }
}

/// Telegram takes nothing within code, and code within nothing. A spoiler is worth more than code.
#[inline]
fn without_nested_code(pen: Pen, text: Text<'_>, look: Look) -> Look {
    if look.is_code() || !look.has(Tag::Code) {
        return look;
    }
    if look.is_spoiler() {
        return Look::new(look.tags().filter(|tag| *tag != Tag::Code));
    }
    let is_linked = look.link().is_some_and(|link| pen.links(&text.links()[link]));
    Look::new(look.tags().filter(|tag| is_link(tag) || *tag == Tag::Code && !is_linked))
}

/// The stretches of `range`, all that a part has of `text`, that look alike. A style that the part has only a piece of is
/// judged anew: what stood as a whole may not stand from here on.
pub(super) fn settled_within<'a>(
    pen: Pen,
    text: Text<'a>,
    range: &Range<usize>,
) -> Vec<(usize, &'a str, Look)> {
    let mut slices: Vec<_> = text.located(range.clone()).collect();
    let all = &text.as_str()[range.clone()];
    let goes_on = |look: Option<Look>, tag| look.is_some_and(|look| look.has(tag));
    // Nothing in code is made inert, and what stands before a spoiler has no power to lose.
    for tag in STYLES.into_iter().filter(|tag| !matches!(tag, Tag::Code | Tag::Spoiler)) {
        let has = |slice: &&(usize, &str, Look)| slice.2.has(tag);
        let head = slices.iter().take_while(has).count();
        let tail = slices.len() - slices.iter().rev().take_while(has).count();
        let pieces = [
            (goes_on(text.look_before(range.start), tag), 0..head),
            (goes_on(text.look_at(range.end), tag), tail..slices.len()),
        ];
        for (is_piece, at) in pieces {
            let slices = &mut slices[at];
            let (Some((start, ..)), Some((last, slice, _))) = (slices.first(), slices.last()) else {
                continue;
            };
            let stretch = start - range.start..last + slice.len() - range.start;
            if is_piece && !stands(pen, tag, all, stretch) {
                for (_, _, look) in slices {
                    *look = Look::new(look.tags().filter(|other| *other != tag));
                }
            }
        }
    }
    slices
}

fn is_link(tag: &Tag) -> bool {
    matches!(tag, Tag::Link(_))
}

/// The same text, all of it bold.
pub(super) fn embolden(text: Text<'_>) -> Texts {
    let looks = text
        .slices(0..text.as_str().len())
        .map(|(slice, look)| (slice, Look::new([Tag::Strong].into_iter().chain(look.tags()))));
    text.with_looks(looks)
}

/// The same text without styles. What is hidden stays so.
pub(super) fn without_styles(text: Text<'_>) -> Texts {
    let looks = text.slices(0..text.as_str().len());
    let stays = |tag: &Tag| is_link(tag) || *tag == Tag::Spoiler;
    text.with_looks(looks.map(|(slice, look)| (slice, Look::new(look.tags().filter(stays)))))
}

fn marked(pen: Pen, text: Text<'_>) -> Texts {
    let all = text.as_str();
    let slices: Vec<_> = text.located(0..all.len()).collect();
    let addresses = addresses(all);
    let kept = STYLES.map(|tag| match tag {
        Tag::Spoiler => hidden(pen, text),
        tag => stretches(pen, text, &slices, &addresses, tag),
    });
    let mut edges: Vec<usize> = slices.iter().map(|(at, _, _)| *at).chain([all.len()]).collect();
    edges.extend(kept.iter().flatten().flat_map(|range| [range.start, range.end]));
    // Each kind's are in order by themselves: a sort that looks for runs only merges them.
    edges.sort();
    edges.dedup();
    let (mut run, mut next) = (0, [0; STYLES.len()]);
    let mut looks = Vec::with_capacity(edges.len());
    for pair in edges.windows(2) {
        let [start, end] = *pair else { continue };
        while slices.get(run + 1).is_some_and(|(at, _, _)| *at <= start) {
            run += 1;
        }
        let Some((_, _, look)) = slices.get(run) else { continue };
        let mut has = [false; STYLES.len()];
        for (style, ranges) in kept.iter().enumerate() {
            while ranges.get(next[style]).is_some_and(|range| range.end <= start) {
                next[style] += 1;
            }
            has[style] = ranges.get(next[style]).is_some_and(|range| range.contains(&start));
        }
        let stays = |tag: &Tag| STYLES.iter().position(|style| style == tag).is_none_or(|style| has[style]);
        looks.push((&all[start..end], Look::new(look.tags().filter(stays))));
    }
    text.with_looks(looks)
}

/// Where spoilers are. None is ever dropped: that would show what it hides. Where marks are on either side, they end at every
/// line, so that what is around the line cannot take them apart.
fn hidden(pen: Pen, text: Text<'_>) -> Vec<Range<usize>> {
    let all = text.as_str();
    let spoilers =
        text.by_spoiler(0..all.len()).filter(|(_, is_spoiler)| *is_spoiler).map(|(range, _)| range);
    if !pen.hides() {
        return spoilers.collect();
    }
    let mut lines = Vec::new();
    for range in spoilers {
        let mut start = range.start;
        for line in all[range].split('\n') {
            let at = start + line.len() - line.trim_start().len();
            let end = at + line.trim().len();
            if at < end {
                lines.push(at..end);
            }
            start += line.len() + 1;
        }
    }
    lines
}

/// Where `tag` can be shown.
fn stretches(
    pen: Pen,
    text: Text<'_>,
    slices: &[(usize, &str, Look)],
    addresses: &[Range<usize>],
    tag: Tag,
) -> Vec<Range<usize>> {
    let all = text.as_str();
    let mut stretches: Vec<Range<usize>> = Vec::new();
    let mut before = Look::default();
    for (at, slice, look) in slices {
        // Where what is around it changes, its own marks are written anew.
        let around = std::mem::replace(&mut before, *look);
        if !look.has(tag) {
            continue;
        }
        let goes_on = look.tags().take(look.shared(around)).any(|shared| shared == tag);
        let in_label = look.link().is_some_and(|link| pen.links(&text.links()[link])) && !pen.styles_labels();
        // A label's styles stay if they are around the whole link.
        let is_inside = in_label && look.tags().skip_while(|other| !is_link(other)).any(|other| other == tag);
        let is_torn = tag == Tag::Code && slice.contains('`');
        if is_inside || is_torn {
            continue;
        }
        match stretches.last_mut().filter(|last| goes_on && last.end == *at) {
            Some(last) => last.end = at + slice.len(),
            None => stretches.push(*at..at + slice.len()),
        }
    }
    let cuts = |at: usize| {
        let address = addresses.get(addresses.partition_point(|address| address.end <= at));
        address.is_some_and(|address| address.start < at)
    };
    // A mark behind an address, with nothing between them that ends one, would be read as more of it.
    let (mut looked_at, mut word) = (0, 0);
    let mut meets_address = |at: usize| {
        // Not an angle bracket: where that is written as a reference, it ends nothing.
        let ends = |c: char| c.is_whitespace() || "\\`|".contains(c);
        word = all[looked_at..at].rfind(ends).map_or(word, |end| looked_at + end);
        looked_at = at;
        let address = addresses.partition_point(|address| address.end <= at).checked_sub(1);
        tag != Tag::Code && address.is_some_and(|address| word < addresses[address].end)
    };
    let mut kept = Vec::new();
    for range in stretches {
        let mut start = range.start;
        for line in all[range].split('\n') {
            let at = start + line.len() - line.trim_start().len();
            let line_end = start + line.len();
            start = line_end + 1;
            let end = at + line.trim().len();
            let is_kept = at < end && !cuts(at) && !cuts(end) && stands(pen, tag, all, at..end);
            if is_kept && !meets_address(at) && !meets_mark(pen, tag, text, at..end) {
                kept.push(at..end);
            }
        }
    }
    kept
}

/// Whether the address of a link in `range`, which the reader is shown, has the mark of `tag` in it.
fn meets_mark(pen: Pen, tag: Tag, text: Text<'_>, range: Range<usize>) -> bool {
    let Some(mark) = pen.mark(tag).chars().next() else { return false };
    let first = text.links().partition_point(|link| link.range.end <= range.start);
    let links = text.links()[first..].iter().take_while(|link| link.range.start < range.end);
    links.into_iter().any(|link| !pen.links(link) && link.url.contains(mark))
}

/// Whether marks around `range` would be read as marks.
fn stands(pen: Pen, tag: Tag, all: &str, range: Range<usize>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    // Whoever does not see a zero-width space sees what is beyond it.
    let seen = |c: &char| *c != INERT_SIGN;
    let before = is_word(all[..range.start].chars().rev().find(seen));
    let behind = is_word(all[range.end..].chars().find(seen));
    let starts_marked = pen.disarms() && !at_start(pen, &all[range.start..]).is_empty();
    let inside = &all[range];
    // Nothing can be done about a mark in an address.
    if pen.mark(tag).chars().next().is_some_and(|mark| inside.contains(mark)) && inside.contains("://") {
        return false;
    }
    // What takes the power of a mark would take that of ours beside it.
    // In code that is only what Google Chat would read as a mention.
    let meets_sign = match tag {
        Tag::Code => inside.starts_with(INERT_SIGN) || inside.ends_with(['<', INERT_SIGN]),
        _ => inside.starts_with(SIGNS) || inside.ends_with(SIGNS),
    };
    if starts_marked || pen.disarms() && meets_sign {
        return false;
    }
    let mut inside = inside.chars();
    let (first, last) = (inside.next(), inside.next_back());
    let loose = !pen.keeps_to_words(tag);
    // CommonMark wants no sign right inside a mark that is glued to a word.
    (!before || loose && is_word(first)) && (!behind || loose && is_word(last.or(first)))
}
