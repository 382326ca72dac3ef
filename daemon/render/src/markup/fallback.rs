//! Styles reduced to those that a platform would recognise.
//!
//! A mark that the platform does not recognise is worse than none, because the reader sees it. So a style that ends in
//! white space, inside a word or after a line end is shortened, split or dropped before anything is counted.

use std::ops::Range;

use crate::document::{Attribute, Text, TextCow, TextStyle, Texts, bare_urls};

use super::body::{BodyMarkup, ZERO_WIDTH_SPACE_CHAR};
use super::escape::line_start_escape;

/// Characters that some platforms read as marks without having an escape for them, and the zero-width space that
/// suppresses marks, in case an agent wrote it.
const UNESCAPABLE: [char; 6] = ['*', '_', '~', '`', '<', ZERO_WIDTH_SPACE_CHAR];

/// All attributes but links.
const STYLES: [Attribute; 5] =
    [Attribute::Strong, Attribute::Emphasis, Attribute::Strike, Attribute::Code, Attribute::Spoiler];

/// The same text with the styles that can be written in `markup`.
pub(crate) fn with_supported_styles(markup: BodyMarkup, cow: TextCow<'_>) -> TextCow<'_> {
    let text = cow.text();
    match markup {
        _ if text.is_plain() => cow,
        BodyMarkup::Plain | BodyMarkup::Styles => cow,
        BodyMarkup::Telegram => {
            let all = || 0..text.as_str().len();
            let supported = |style| without_nested_code(text, style);
            if text.styles(all()).all(|style| supported(style) == style) {
                return cow;
            }
            Texts::restyled(text, text.slices(all()).map(|(slice, style)| (slice, supported(style)))).into()
        }
        BodyMarkup::Marks(_) => with_recognised_marks(markup, text).into(),
    }
}

/// Telegram accepts neither styles in code nor code in other styles. A spoiler is worth more than code.
#[inline]
fn without_nested_code(text: Text<'_>, style: TextStyle) -> TextStyle {
    if style.is_only_code() || !style.has(Attribute::Code) {
        return style;
    }
    if style.is_spoiler() {
        return TextStyle::new(style.attributes().filter(|attribute| *attribute != Attribute::Code));
    }
    let is_linked = style.link().is_some_and(|link| BodyMarkup::Telegram.accepts_link(&text.links()[link]));
    TextStyle::new(
        style
            .attributes()
            .filter(|attribute| attribute.is_link() || *attribute == Attribute::Code && !is_linked),
    )
}

/// The slices of `range`, which is all that a part has of `text`. If the part has only a piece of a styled range, the style
/// is checked again: marks around the piece may not be recognised although marks around the whole range are.
pub(crate) fn supported_slices<'a>(
    markup: BodyMarkup,
    text: Text<'a>,
    range: &Range<usize>,
) -> Vec<(usize, &'a str, TextStyle)> {
    let mut slices: Vec<_> = text.slices_at(range.clone()).collect();
    let all = &text.as_str()[range.clone()];
    let continues = |style: Option<TextStyle>, attribute| style.is_some_and(|style| style.has(attribute));
    // Code needs no zero-width spaces, and the label of a spoiler is no mark.
    let is_checked = |attribute: &Attribute| !matches!(attribute, Attribute::Code | Attribute::Spoiler);
    for attribute in STYLES.into_iter().filter(is_checked) {
        let has = |slice: &&(usize, &str, TextStyle)| slice.2.has(attribute);
        let head = slices.iter().take_while(has).count();
        let tail = slices.len() - slices.iter().rev().take_while(has).count();
        let ends = [
            (continues(text.style_before(range.start), attribute), 0..head),
            (continues(text.style_at(range.end), attribute), tail..slices.len()),
        ];
        for (is_piece, at) in ends {
            let slices = &mut slices[at];
            let (Some((start, ..)), Some((last, slice, _))) = (slices.first(), slices.last()) else {
                continue;
            };
            let styled = start - range.start..last + slice.len() - range.start;
            if is_piece && !is_recognised(markup, attribute, all, styled) {
                for (_, _, style) in slices {
                    *style = TextStyle::new(style.attributes().filter(|other| *other != attribute));
                }
            }
        }
    }
    slices
}

/// The same text, all of it bold.
pub(crate) fn bold(text: Text<'_>) -> Texts {
    let slices = text.slices(0..text.as_str().len()).map(|(slice, style)| {
        (slice, TextStyle::new([Attribute::Strong].into_iter().chain(style.attributes())))
    });
    Texts::restyled(text, slices)
}

/// The same text with links and spoilers but no other styles.
pub(crate) fn without_styles(text: Text<'_>) -> Texts {
    let is_kept = |attribute: &Attribute| attribute.is_link() || *attribute == Attribute::Spoiler;
    let slices = text
        .slices(0..text.as_str().len())
        .map(|(slice, style)| (slice, TextStyle::new(style.attributes().filter(is_kept))));
    Texts::restyled(text, slices)
}

fn with_recognised_marks(markup: BodyMarkup, text: Text<'_>) -> Texts {
    let all = text.as_str();
    let slices: Vec<_> = text.slices_at(0..all.len()).collect();
    let urls = bare_urls(all);
    let kept = STYLES.map(|attribute| match attribute {
        Attribute::Spoiler => spoiler_ranges(markup, text),
        attribute => {
            let ranges = styled_ranges(markup, text, &slices, attribute);
            recognised_lines(markup, text, &urls, attribute, ranges)
        }
    });
    let mut edges: Vec<usize> = slices.iter().map(|(at, _, _)| *at).chain([all.len()]).collect();
    edges.extend(kept.iter().flatten().flat_map(|range| [range.start, range.end]));
    // The edges of each attribute are sorted already, and a stable sort merges sorted runs.
    edges.sort();
    edges.dedup();
    let (mut slice, mut next) = (0, [0; STYLES.len()]);
    let mut restyled = Vec::with_capacity(edges.len());
    for pair in edges.windows(2) {
        let [start, end] = *pair else { continue };
        while slices.get(slice + 1).is_some_and(|(at, _, _)| *at <= start) {
            slice += 1;
        }
        let Some((_, _, style)) = slices.get(slice) else { continue };
        let mut has = [false; STYLES.len()];
        for (at, ranges) in kept.iter().enumerate() {
            while ranges.get(next[at]).is_some_and(|range| range.end <= start) {
                next[at] += 1;
            }
            has[at] = ranges.get(next[at]).is_some_and(|range| range.contains(&start));
        }
        let is_kept = |attribute: &Attribute| {
            STYLES.iter().position(|style| style == attribute).is_none_or(|at| has[at])
        };
        restyled.push((&all[start..end], TextStyle::new(style.attributes().filter(is_kept))));
    }
    Texts::restyled(text, restyled)
}

/// Where spoilers are. None is ever dropped, because that would show what it hides. If marks enclose them, they end at every
/// line, so that a quote mark between the lines cannot split them.
fn spoiler_ranges(markup: BodyMarkup, text: Text<'_>) -> Vec<Range<usize>> {
    let all = text.as_str();
    let spoilers =
        text.split_by_spoiler(0..all.len()).filter(|(_, is_spoiler)| *is_spoiler).map(|(range, _)| range);
    if !markup.has_spoiler_marks() {
        return spoilers.collect();
    }
    spoilers.flat_map(|range| trimmed_lines(all, range)).filter(|line| !line.is_empty()).collect()
}

/// The lines of `range` without white space at either end.
fn trimmed_lines(all: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut next = range.start;
    all[range].split('\n').map(move |line| {
        let start = next + line.len() - line.trim_start().len();
        next += line.len() + 1;
        start..start + line.trim().len()
    })
}

/// Where text has `attribute`, as far as the platform can show it there: not inside the label of a link that must be
/// unstyled, and not around code with a backtick in it.
fn styled_ranges(
    markup: BodyMarkup,
    text: Text<'_>,
    slices: &[(usize, &str, TextStyle)],
    attribute: Attribute,
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut previous = TextStyle::default();
    for (at, slice, style) in slices {
        // If an attribute outside it changes, its own marks are closed and opened again.
        let outer = std::mem::replace(&mut previous, *style);
        if !style.has(attribute) {
            continue;
        }
        let continues = style.attributes().take(style.common_prefix(outer)).any(|common| common == attribute);
        let in_unstyled_label = style.link().is_some_and(|link| markup.accepts_link(&text.links()[link]))
            && !markup.styles_labels();
        // The style is kept if its marks are around the whole link.
        let is_inside_label = in_unstyled_label
            && style.attributes().skip_while(|other| !other.is_link()).any(|other| other == attribute);
        let ends_early = attribute == Attribute::Code && slice.contains('`');
        if is_inside_label || ends_early {
            continue;
        }
        match ranges.last_mut().filter(|last| continues && last.end == *at) {
            Some(last) => last.end = at + slice.len(),
            None => ranges.push(*at..at + slice.len()),
        }
    }
    ranges
}

/// The lines of `ranges` around which the marks of `attribute` would be recognised.
fn recognised_lines(
    markup: BodyMarkup,
    text: Text<'_>,
    urls: &[Range<usize>],
    attribute: Attribute,
    ranges: Vec<Range<usize>>,
) -> Vec<Range<usize>> {
    let all = text.as_str();
    let is_in_url = |at: usize| {
        let url = urls.get(urls.partition_point(|url| url.end <= at));
        url.is_some_and(|url| url.start < at)
    };
    // A mark after a URL, with nothing between them that ends a URL, would be read as part of it.
    let (mut checked, mut word) = (0, 0);
    let mut follows_url = |at: usize| {
        // No angle bracket: it may be written as a character reference, which does not end a URL.
        let ends_url = |c: char| c.is_whitespace() || "\\`|".contains(c);
        word = all[checked..at].rfind(ends_url).map_or(word, |end| checked + end);
        checked = at;
        let url = urls.partition_point(|url| url.end <= at).checked_sub(1);
        attribute != Attribute::Code && url.is_some_and(|url| word < urls[url].end)
    };
    let mut kept = Vec::new();
    for line in ranges.into_iter().flat_map(|range| trimmed_lines(all, range)) {
        let is_kept = !line.is_empty()
            && !is_in_url(line.start)
            && !is_in_url(line.end)
            && is_recognised(markup, attribute, all, line.clone());
        if is_kept && !follows_url(line.start) && !meets_mark_in_url(markup, attribute, text, line.clone()) {
            kept.push(line);
        }
    }
    kept
}

/// Whether the URL of a link in `range`, which is written for the reader, contains the mark of `attribute`.
fn meets_mark_in_url(markup: BodyMarkup, attribute: Attribute, text: Text<'_>, range: Range<usize>) -> bool {
    let Some(mark) = markup.mark(attribute).chars().next() else { return false };
    let first = text.links().partition_point(|link| link.range.end <= range.start);
    let mut links = text.links()[first..].iter().take_while(|link| link.range.start < range.end);
    links.any(|link| !markup.accepts_link(link) && link.url.contains(mark))
}

/// Whether marks around `range` would be recognised.
fn is_recognised(markup: BodyMarkup, attribute: Attribute, all: &str, range: Range<usize>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    // Some platforms ignore zero-width spaces and see the character beyond them.
    let is_seen = |c: &char| *c != ZERO_WIDTH_SPACE_CHAR;
    let follows_word = is_word(all[..range.start].chars().rev().find(is_seen));
    let precedes_word = is_word(all[range.end..].chars().find(is_seen));
    let starts_escaped = markup.lacks_escapes() && !line_start_escape(markup, &all[range.start..]).is_empty();
    let inside = &all[range];
    // A mark in a URL cannot be escaped.
    if markup.mark(attribute).chars().next().is_some_and(|mark| inside.contains(mark))
        && inside.contains("://")
    {
        return false;
    }
    // The zero-width space that suppresses a character would suppress our mark next to it.
    // In code, there is one only for what Google Chat would read as a mention.
    let meets_suppressed = match attribute {
        Attribute::Code => {
            inside.starts_with(ZERO_WIDTH_SPACE_CHAR) || inside.ends_with(['<', ZERO_WIDTH_SPACE_CHAR])
        }
        _ => inside.starts_with(UNESCAPABLE) || inside.ends_with(UNESCAPABLE),
    };
    if starts_escaped || markup.lacks_escapes() && meets_suppressed {
        return false;
    }
    let mut inside = inside.chars();
    let (first, last) = (inside.next(), inside.next_back());
    let may_touch_word = !markup.needs_word_edge(attribute);
    // CommonMark requires a letter directly inside a mark that touches a word.
    (!follows_word || may_touch_word && is_word(first))
        && (!precedes_word || may_touch_word && is_word(last.or(first)))
}
