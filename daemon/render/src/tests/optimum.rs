//! Compares the number of parts with the smallest possible one, which is found by trying every cut.
//!
//! Here a part is written and its text is counted; the costs that the splitter computes are not used.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::document::bare_urls;
use crate::layout::{Block, Layout, Piece, lay_out};
use crate::split::{atoms_of, split};
use crate::write::write_body;

use super::*;

/// The flavour of every channel, with `limit`.
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

/// Which cuts are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cuts {
    /// Between words, if they fit in a part: where a person would cut.
    Words,
    /// Between grapheme clusters: everywhere that a cut is allowed.
    Clusters,
}

/// The smallest ranges of a document that are never cut: words or clusters of text, links, URLs, lines of code, rows. A
/// line of code or a URL that is too long for a part is in fragments, as the splitter has it.
fn smallest(layout: &Layout<'_>, cuts: Cuts) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut smallest = Vec::new();
    let all = (0..layout.leaves.len()).flat_map(|leaf| {
        let atoms = atoms_of(layout, leaf);
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
        let kept: Vec<_> = text.links().iter().map(|link| link.range.clone()).chain(bare_urls(all)).collect();
        let mut start = range.start;
        // Clusters of the whole text: in a fragment that begins inside a cluster, other clusters would be found.
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

struct BruteForce<'a> {
    layout: &'a Layout<'a>,
    stretches: Vec<(usize, std::ops::Range<usize>)>,
}

impl BruteForce<'_> {
    fn pieces(&self, part: std::ops::Range<usize>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for at in part {
            let (leaf, range) = self.stretches[at].clone();
            match pieces.last_mut() {
                Some(last) if last.leaf == leaf => last.range.end = range.end,
                _ => {
                    let is_start = at == 0 || self.stretches[at - 1].0 != leaf;
                    pieces.push(Piece { leaf, range, is_start });
                }
            }
        }
        pieces
    }

    /// Whether a written part is within every limit.
    fn fits(&self, part: std::ops::Range<usize>) -> bool {
        let written = write_body(self.layout, &self.pieces(part));
        let (tags, markup) = self.layout.markup.max_entities_and_markup_bytes();
        self.layout.unit.count(&written.text) <= self.layout.limit
            && written.html.matches("</").count() <= tags
            && written.html.len().saturating_sub(written.text.len()) <= markup
    }

    /// Where the parts end in one of the solutions with the fewest parts.
    fn fewest(&self) -> Vec<usize> {
        let all = self.stretches.len();
        let mut best: Vec<Option<(usize, usize)>> = vec![None; all];
        for start in (0..all).rev() {
            let mut misses = 0;
            for end in start + 1..=all {
                if !self.fits(start..end) {
                    // A longer part may need fewer closing marks and fit again, but not a much longer one.
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

/// Checks that there are at most 1.05 times the fewest parts, plus one.
pub(super) fn is_near_the_fewest(
    markdown: &str,
    name: &str,
    flavour: Flavour,
    cuts: Cuts,
) -> Result<(), String> {
    let document = parse(markdown);
    let layout = lay_out(&document, &flavour, flavour.limit);
    let parts = split(&layout);
    let brute_force = BruteForce { layout: &layout, stretches: smallest(&layout, cuts) };
    let ends = brute_force.fewest();
    if parts.len() * 100 <= ends.len() * 105 + 100 {
        return Ok(());
    }
    let shown = |pieces: &[Piece]| write_body(&layout, pieces).text;
    let ours: Vec<_> = parts.iter().map(|pieces| shown(pieces)).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let best: Vec<_> =
        starts.zip(&ends).map(|(start, end)| shown(&brute_force.pieces(start..*end))).collect();
    Err(format!("{name}: {} parts {ours:#?}\nwhere {} would do: {best:#?}", ours.len(), best.len()))
}

/// Checks that no line of code is in two parts if it fits in one.
fn cuts_code_between_lines(markdown: &str, name: &str, flavour: Flavour) -> Result<(), String> {
    let document = parse(markdown);
    let layout = lay_out(&document, &flavour, flavour.limit);
    let parts = split(&layout);
    for pair in parts.windows(2) {
        let [before, after] = pair else { continue };
        let (Some(last), Some(first)) = (before.last(), after.first()) else { continue };
        let Block::Code { text, .. } = &layout.leaves[last.leaf].block else { continue };
        if last.leaf != first.leaf || text[last.range.end..first.range.start].contains('\n') {
            continue;
        }
        let start = text[..last.range.end].rfind('\n').map_or(0, |at| at + 1);
        let end = text[first.range.start..].find('\n').map_or(text.len(), |at| first.range.start + at);
        let line = write_body(&layout, &[Piece { leaf: last.leaf, range: start..end, is_start: false }]).text;
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
