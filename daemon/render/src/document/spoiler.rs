//! Spoilers: `||text||`, hidden until its reader reveals it.
//!
//! Markdown has none, so they are found here, once the text of a block is complete. A spoiler is what stands between two
//! runs of exactly two bars in one block, with no white space directly inside them. Bars count as text if a backslash
//! escapes them, in code, in table cells (where they separate cells) and in URLs. Bars without a partner stay as they were
//! written. A spoiler that touches a link hides all of the link, because the URL reveals as much as the label.

use std::ops::Range;

use super::style::{Attribute, TextStyle};
use super::text::Text;
use super::texts::Texts;

/// The marks on either side of a spoiler.
pub(crate) const SPOILER_BARS: &str = "||";

/// Precedes a spoiler if the platform cannot hide it, so that its reader is warned.
pub(crate) const SPOILER_LABEL: &str = "(spoiler) ";

/// A quick check that rules out spoilers in most messages.
pub(crate) fn may_have_spoilers(markdown: &str) -> bool {
    memchr::memmem::find(markdown.as_bytes(), SPOILER_BARS.as_bytes()).is_some()
}

/// The offsets of all runs of exactly two bars in `text`. If `is_escaped`, its first character does not count.
pub(crate) fn find_bars(text: &str, is_escaped: bool) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut at = usize::from(is_escaped);
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memchr(b'|', bytes.get(at..)?)?;
            let run = bytes[start..].iter().take_while(|b| **b == b'|').count();
            at = start + run;
            if run == SPOILER_BARS.len() {
                return Some(start);
            }
        }
    })
}

/// The same text with what is between pairs of `bars` hidden and those bars removed; `None` if no two of them pair up.
pub(crate) fn hide_between_bars(text: Text<'_>, bars: &[usize]) -> Option<Texts> {
    let pairs = pair_up(text, bars);
    if pairs.is_empty() {
        return None;
    }
    let hidden = hidden_ranges(text, &pairs);
    let removed: Vec<usize> = pairs.into_iter().flatten().collect();
    let mut edges: Vec<usize> = removed.iter().flat_map(|at| [*at, at + SPOILER_BARS.len()]).collect();
    edges.extend(hidden.iter().flat_map(|range| [range.start, range.end]));
    edges.sort_unstable();
    let (mut next_edge, mut next_bars, mut next_hidden) = (0, 0, 0);
    let (mut out, mut open_link) = (Texts::default(), None);
    for (at, slice, style) in text.slices_at(0..text.as_str().len()) {
        let (mut from, end) = (at, at + slice.len());
        while from < end {
            while edges.get(next_edge).is_some_and(|edge| *edge <= from) {
                next_edge += 1;
            }
            let to = edges.get(next_edge).map_or(end, |edge| end.min(*edge));
            while removed.get(next_bars).is_some_and(|bars| bars + SPOILER_BARS.len() <= from) {
                next_bars += 1;
            }
            while hidden.get(next_hidden).is_some_and(|range| range.end <= from) {
                next_hidden += 1;
            }
            let link = style.link().map(|at| &text.links()[at]);
            if let Some(link) = link {
                open_link.get_or_insert_with(|| out.open_link(link.url.clone()));
            }
            if removed.get(next_bars).is_none_or(|bars| from < *bars) {
                let is_hidden = hidden.get(next_hidden).is_some_and(|range| range.start <= from);
                let style = style.with_link(open_link);
                let spoiler = is_hidden.then_some(Attribute::Spoiler);
                let style = TextStyle::new(spoiler.into_iter().chain(style.attributes()));
                out.push(&text.as_str()[from..to], style);
            }
            if link.is_some_and(|link| link.range.end == to)
                && let Some(open) = open_link.take()
            {
                out.close_link(open);
            }
            from = to;
        }
    }
    Some(out)
}

/// The bars that belong together, as offsets of the opening and the closing ones.
fn pair_up(text: Text<'_>, bars: &[usize]) -> Vec<[usize; 2]> {
    let all = text.as_str();
    let mut links = text.links().iter().peekable();
    let (mut pairs, mut open) = (Vec::new(), None);
    // Whether a URL begins between the last white space and the bars, which may be part of it then.
    let (mut checked, mut in_url) = (0, false);
    for at in bars.iter().copied() {
        let before = &all[checked..at];
        let word = before.rfind(char::is_whitespace).map(|space| &before[space..]);
        in_url = (word.is_none() && in_url) || word.unwrap_or(before).contains("://");
        checked = at;
        while links.next_if(|link| link.range.end <= at).is_some() {}
        // A label that is its URL, or that consists of bars only.
        let is_label = links.peek().filter(|link| link.range.start <= at).is_some_and(|link| {
            let label = &all[link.range.clone()];
            link.is_bare(label) || label == SPOILER_BARS
        });
        if is_label {
            continue;
        }
        let is_text = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
        open = match open {
            Some(start) if start + SPOILER_BARS.len() < at && is_text(all[..at].chars().next_back()) => {
                pairs.push([start, at]);
                None
            }
            None if !in_url && is_text(all[at + SPOILER_BARS.len()..].chars().next()) => Some(at),
            _ => continue,
        };
        (checked, in_url) = (at + SPOILER_BARS.len(), false);
    }
    pairs
}

/// The ranges between the pairs, each extended to the whole of every link that it touches.
fn hidden_ranges(text: Text<'_>, pairs: &[[usize; 2]]) -> Vec<Range<usize>> {
    let mut hidden: Vec<Range<usize>> = Vec::with_capacity(pairs.len());
    let links = text.links();
    for [open, close] in pairs {
        let first = links.partition_point(|link| link.range.end <= *open);
        let after = links.partition_point(|link| link.range.start < *close);
        let inside = links.get(first..after).unwrap_or_default();
        let start = inside.first().map_or(*open, |link| link.range.start.min(*open));
        let end = inside.last().map_or(*close, |link| link.range.end.max(*close));
        match hidden.last_mut().filter(|last| start <= last.end) {
            Some(last) => last.end = last.end.max(end),
            None => hidden.push(start..end),
        }
    }
    hidden
}
