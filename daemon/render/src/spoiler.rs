//! Spoilers: `||text||`, hidden until its reader asks for it.
//!
//! Markdown has none, so they are found here, once the text of a block is whole: two bars and no more of them, with something
//! right inside them, in one block. What a backslash escapes, what is code, a cell of a table (whose bars are the table's) and
//! what belongs to an address has none. Bars without a partner stay as they were written. A spoiler that touches a link hides
//! all of it, since the address says as much as its label.

use std::ops::Range;

use super::look::{Look, Tag};
use super::text::{Text, Texts};

/// What is on either side of a spoiler.
pub(super) const BARS: &str = "||";

/// Whether any text could be hidden.
pub(super) fn may_be_in(markdown: &str) -> bool {
    memchr::memmem::find(markdown.as_bytes(), BARS.as_bytes()).is_some()
}

/// Where there are two bars in `text` and no more of them. The first sign is skipped if it `is_escaped`.
pub(super) fn bars(text: &str, is_escaped: bool) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut at = usize::from(is_escaped);
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memchr(b'|', bytes.get(at..)?)?;
            let run = bytes[start..].iter().take_while(|b| **b == b'|').count();
            at = start + run;
            if run == BARS.len() {
                return Some(start);
            }
        }
    })
}

/// The same text with what is between `bars` hidden, and those that do so left out; nothing if none do.
pub(super) fn hide(text: Text<'_>, bars: &[usize]) -> Option<Texts> {
    let pairs = pairs(text, bars);
    if pairs.is_empty() {
        return None;
    }
    let hidden = hidden(text, &pairs);
    let dropped: Vec<usize> = pairs.into_iter().flatten().collect();
    let mut edges: Vec<usize> = dropped.iter().flat_map(|at| [*at, at + BARS.len()]).collect();
    edges.extend(hidden.iter().flat_map(|range| [range.start, range.end]));
    edges.sort_unstable();
    let (mut next_edge, mut next_bars, mut next_hidden) = (0, 0, 0);
    let (mut made, mut link) = (Texts::default(), None);
    for (at, slice, look) in text.located(0..text.as_str().len()) {
        let (mut from, end) = (at, at + slice.len());
        while from < end {
            while edges.get(next_edge).is_some_and(|edge| *edge <= from) {
                next_edge += 1;
            }
            let to = edges.get(next_edge).map_or(end, |edge| end.min(*edge));
            while dropped.get(next_bars).is_some_and(|bars| bars + BARS.len() <= from) {
                next_bars += 1;
            }
            while hidden.get(next_hidden).is_some_and(|range| range.end <= from) {
                next_hidden += 1;
            }
            let linked = look.link().map(|at| &text.links()[at]);
            if let Some(linked) = linked {
                link.get_or_insert_with(|| made.open_link(linked.url.clone()));
            }
            if dropped.get(next_bars).is_none_or(|bars| from < *bars) {
                let is_hidden = hidden.get(next_hidden).is_some_and(|range| range.start <= from);
                let look = look.with_link(link);
                let spoiler = is_hidden.then_some(Tag::Spoiler);
                made.push(&text.as_str()[from..to], Look::new(spoiler.into_iter().chain(look.tags())));
            }
            if linked.is_some_and(|linked| linked.range.end == to)
                && let Some(open) = link.take()
            {
                made.close_link(open);
            }
            from = to;
        }
    }
    Some(made)
}

/// The bars that belong together.
fn pairs(text: Text<'_>, bars: &[usize]) -> Vec<[usize; 2]> {
    let all = text.as_str();
    let mut links = text.links().iter().peekable();
    let (mut pairs, mut open) = (Vec::new(), None);
    // What stands before bars since the last white space: whether an address begins in it, which bars may be a part of.
    let (mut looked_at, mut in_address) = (0, false);
    for at in bars.iter().copied() {
        let before = &all[looked_at..at];
        let word = before.rfind(char::is_whitespace).map(|space| &before[space..]);
        in_address = (word.is_none() && in_address) || word.unwrap_or(before).contains("://");
        looked_at = at;
        while links.next_if(|link| link.range.end <= at).is_some() {}
        // An address that is its own label, and a label that is bars and nothing else.
        let is_label = links.peek().filter(|link| link.range.start <= at).is_some_and(|link| {
            let label = &all[link.range.clone()];
            link.is_bare(label) || label == BARS
        });
        if is_label {
            continue;
        }
        let is_text = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
        open = match open {
            Some(begin) if begin + BARS.len() < at && is_text(all[..at].chars().next_back()) => {
                pairs.push([begin, at]);
                None
            }
            None if !in_address && is_text(all[at + BARS.len()..].chars().next()) => Some(at),
            _ => continue,
        };
        (looked_at, in_address) = (at + BARS.len(), false);
    }
    pairs
}

/// What is hidden, with the whole of each link in it.
fn hidden(text: Text<'_>, pairs: &[[usize; 2]]) -> Vec<Range<usize>> {
    let mut hidden: Vec<Range<usize>> = Vec::with_capacity(pairs.len());
    let links = text.links();
    for [begin, end] in pairs {
        let first = links.partition_point(|link| link.range.end <= *begin);
        let behind = links.partition_point(|link| link.range.start < *end);
        let inside = links.get(first..behind).unwrap_or_default();
        let start = inside.first().map_or(*begin, |link| link.range.start.min(*begin));
        let end = inside.last().map_or(*end, |link| link.range.end.max(*end));
        match hidden.last_mut().filter(|last| start <= last.end) {
            Some(last) => last.end = last.end.max(end),
            None => hidden.push(start..end),
        }
    }
    hidden
}
