//! How many parts there are, beside the fewest that there could be, found by trying every cut.
//!
//! The judge of a part that might be is the writer: what it writes is counted, not what the splitter believes it costs.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::super::atoms::atoms;
use super::super::escape::addresses;
use super::super::layout::{Block, Layout};
use super::super::split::{Piece, split};
use super::super::write::write;
use super::*;

/// Every channel's way with text, at `limit`.
pub(super) fn flavours(limit: usize) -> [(&'static str, Flavour); 11] {
    let flavour = |markup, tables| Flavour { markup, limit: Some(limit), unit: Unit::Utf16, tables };
    let marks = |notation| flavour(Markup::Marks(notation), Tables::Code);
    [
        ("plain", flavour(Markup::Plain, Tables::Code)),
        ("imessage", flavour(Markup::Plain, Tables::Plain)),
        ("telegram", flavour(Markup::Html(Dialect::Telegram), Tables::Code)),
        (
            "matrix",
            Flavour { unit: Unit::CodePoints, ..flavour(Markup::Html(Dialect::Matrix), Tables::Native) },
        ),
        ("email", flavour(Markup::Html(Dialect::Email), Tables::Native)),
        ("signal", flavour(Markup::Styles, Tables::Bullets)),
        ("discord", marks(Notation::Discord)),
        ("slack", marks(Notation::Slack)),
        ("whatsapp", Flavour { tables: Tables::Plain, ..marks(Notation::WhatsApp) }),
        ("googlechat", Flavour { unit: Unit::Bytes, ..marks(Notation::GoogleChat) }),
        ("teams", marks(Notation::Teams)),
    ]
}

/// Where cuts are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cuts {
    /// Between words, as long as they fit in a part: where a reader would cut.
    Words,
    /// Between clusters: wherever a cut is allowed at all.
    Clusters,
}

/// The smallest stretches of a document that cuts leave whole: words or clusters of text, links, addresses, lines of
/// code, rows. A line of code or an address that is too long for a part is in runs, as the splitter has it.
fn smallest(layout: &Layout<'_>, cuts: Cuts) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut smallest = Vec::new();
    let all = (0..layout.leaves.len()).flat_map(|leaf| {
        let atoms = atoms(layout, leaf);
        (0..atoms.len()).filter_map(move |at| Some((leaf, atoms.get(at)?)))
    });
    for (leaf, atom) in all {
        let text = match &layout.leaves[leaf].block {
            Block::Text { text, .. } if cuts == Cuts::Clusters => text.text(),
            _ => {
                smallest.push((leaf, atom.range()));
                continue;
            }
        };
        let (all, range) = (text.as_str(), atom.range());
        let kept: Vec<_> = text.links().iter().map(|link| link.range.clone()).chain(addresses(all)).collect();
        let mut start = range.start;
        // Clusters of the whole text: a run that begins in the middle of one has its own idea of where it ends.
        for (at, _) in all.grapheme_indices(true).chain([(all.len(), "")]) {
            if at > start && at < range.end && !kept.iter().any(|kept| kept.start < at && at < kept.end) {
                smallest.push((leaf, start..at));
                start = at;
            }
        }
        smallest.push((leaf, start..range.end));
    }
    smallest
}

struct Judge<'a> {
    layout: &'a Layout<'a>,
    stretches: Vec<(usize, std::ops::Range<usize>)>,
}

impl Judge<'_> {
    fn pieces(&self, part: std::ops::Range<usize>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for at in part {
            let (leaf, range) = self.stretches[at].clone();
            match pieces.last_mut() {
                Some(last) if last.leaf == leaf => last.range.end = range.end,
                _ => {
                    let begins = at == 0 || self.stretches[at - 1].0 != leaf;
                    pieces.push(Piece { leaf, range, begins });
                }
            }
        }
        pieces
    }

    /// Whether a part is within every limit once it is written.
    fn fits(&self, part: std::ops::Range<usize>) -> bool {
        let written = write(self.layout, &self.pieces(part));
        let (tags, markup) = self.layout.pen.second_limits();
        self.layout.unit.count(&written.text) <= self.layout.limit
            && written.html.matches("</").count() <= tags
            && written.html.len().saturating_sub(written.text.len()) <= markup
    }

    /// The fewest parts, by trying every cut; and where those of one such way end.
    fn fewest(&self) -> Vec<usize> {
        let all = self.stretches.len();
        let mut best: Vec<Option<(usize, usize)>> = vec![None; all];
        for start in (0..all).rev() {
            let mut misses = 0;
            for end in start + 1..=all {
                if !self.fits(start..end) {
                    // A mark that closes can make a longer part shorter, but not by much.
                    misses += 1;
                    if misses > 12 {
                        break;
                    }
                    continue;
                }
                misses = 0;
                let rest = if end == all { Some(0) } else { best[end].map(|(parts, _)| parts) };
                if let Some(rest) = rest
                    && best[start].is_none_or(|(parts, _)| rest < parts)
                {
                    best[start] = Some((rest + 1, end));
                }
            }
        }
        std::iter::successors(best.first().copied().flatten(), |(_, end)| best.get(*end).copied().flatten())
            .map(|(_, end)| end)
            .collect()
    }
}

/// Asserts that there are at most 1.05 times the fewest parts, and one.
pub(super) fn is_near_the_fewest(
    markdown: &str,
    name: &str,
    flavour: Flavour,
    cuts: Cuts,
) -> Result<(), String> {
    let document = parse(markdown);
    let layout = Layout::new(&document, &flavour, flavour.limit);
    let parts = split(&layout);
    let judge = Judge { layout: &layout, stretches: smallest(&layout, cuts) };
    let ends = judge.fewest();
    if parts.len() * 100 <= ends.len() * 105 + 100 {
        return Ok(());
    }
    let shown = |pieces: &[Piece]| write(&layout, pieces).text;
    let ours: Vec<_> = parts.iter().map(|pieces| shown(pieces)).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let best: Vec<_> = starts.zip(&ends).map(|(start, end)| shown(&judge.pieces(start..*end))).collect();
    Err(format!("{name}: {} parts {ours:#?}\nwhere {} would do: {best:#?}", ours.len(), best.len()))
}

/// Asserts that no line of code is in two parts, if it fits in one.
fn cuts_code_between_lines(markdown: &str, name: &str, flavour: Flavour) -> Result<(), String> {
    let document = parse(markdown);
    let layout = Layout::new(&document, &flavour, flavour.limit);
    let parts = split(&layout);
    for pair in parts.windows(2) {
        let [before, behind] = pair else { continue };
        let (Some(last), Some(first)) = (before.last(), behind.first()) else { continue };
        let Block::Code { text, .. } = &layout.leaves[last.leaf].block else { continue };
        if last.leaf != first.leaf || text[last.range.end..first.range.start].contains('\n') {
            continue;
        }
        let start = text[..last.range.end].rfind('\n').map_or(0, |at| at + 1);
        let end = text[first.range.start..].find('\n').map_or(text.len(), |at| first.range.start + at);
        let line = write(&layout, &[Piece { leaf: last.leaf, range: start..end, begins: false }]).text;
        // Room for an item's mark.
        if layout.unit.count(&line) + 8 <= layout.limit {
            return Err(format!("{name}: cut, though it fits: {line:?}"));
        }
    }
    Ok(())
}

#[test]
fn words_of_usual_length_cost_no_part() {
    let markdown =
        "Some **words** of a [message](https://a.example/b) that nobody reads, `code` and *all*. ".repeat(7);
    for limit in [100, 140] {
        for (name, flavour) in flavours(limit) {
            is_near_the_fewest(&markdown, name, flavour, Cuts::Clusters).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("CASES").map_or(24, |n| n.parse().unwrap())))]

    #[test]
    fn there_are_hardly_more_parts_than_there_must_be(
        markdown in prop_oneof![markdown(), flavours::rough()], limit in 80usize..140, flavour in 0usize..11,
    ) {
        let (name, flavour) = flavours(limit)[flavour];
        is_near_the_fewest(&markdown, name, flavour, Cuts::Words).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn code_is_cut_between_its_lines(
        markdown in super::kept::blocks(), limit in 80usize..300, flavour in 0usize..11,
    ) {
        let (name, flavour) = flavours(limit)[flavour];
        cuts_code_between_lines(&markdown, name, flavour).map_err(TestCaseError::fail)?;
    }
}
