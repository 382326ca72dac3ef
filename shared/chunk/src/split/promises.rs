//! Properties of all chunks of a text together: how many there are, and how full.

use std::{collections::HashMap, string::String, vec::Vec};

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::*;
use crate::boundary::{ends_sentence_before, is_space};

const UNITS: [Unit; 4] = [Unit::Bytes, Unit::CodePoints, Unit::Utf16, Unit::Graphemes];

/// Where a text may be cut, by its definition: looked up cluster by cluster, and far too slow for anything else.
struct Legal<'a> {
    text: &'a str,
    limit: usize,
    unit: Unit,
    /// Between clusters, both ends of the text included.
    boundaries: Vec<usize>,
}

impl<'a> Legal<'a> {
    fn new(text: &'a str, limit: usize, unit: Unit) -> Self {
        let boundaries = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        Self { text, limit, unit, boundaries }
    }

    fn is_blank(&self, from: usize, to: usize) -> bool {
        self.text[from..to].chars().all(is_space)
    }

    /// Where a chunk begins that may begin at `at`: at visible text.
    fn skip(&self, at: usize) -> usize {
        let mut after = self.boundaries.iter().filter(|next| **next > at);
        let mut at = at;
        while let Some(next) = after.next().filter(|next| self.is_blank(at, **next)) {
            at = *next;
        }
        at
    }

    fn ends_word(&self, at: usize) -> bool {
        let (last, next) = (self.text[..at].chars().next_back(), self.text[at..].chars().next());
        next.is_some_and(is_space) || last.is_some_and(|last| ends_sentence_before(last, next))
    }

    /// Whether the word around the boundary `at` is longer than any chunk.
    fn is_in_long_word(&self, at: usize) -> bool {
        let ends = |at: &usize| self.ends_word(*at) || *at == self.text.len();
        let end = self.boundaries.iter().copied().filter(|b| *b >= at).find(ends).unwrap_or(self.text.len());
        let begin = self.boundaries.iter().copied().filter(|b| *b < at).rfind(ends).unwrap_or(0);
        self.unit.count(&self.text[self.skip(begin).min(end)..end]) > self.limit
    }

    /// Where a chunk from `start` may end when what is cut there is dropped: its visible end, its units.
    fn ends(&self, start: usize) -> Vec<(usize, usize)> {
        let behind = self.boundaries.iter().copied().filter(|at| *at > start);
        // White space at the edge is dropped, so only visible ends are ends.
        behind
            .filter(|at| !self.text[start..*at].ends_with(is_space))
            .map(|at| (at, self.unit.count(&self.text[start..at])))
            .take_while(|(_, units)| *units <= self.limit)
            .collect()
    }

    fn is_tenth(&self, units: usize) -> bool {
        units * 10 >= self.limit
    }

    /// The cuts for [`Mode::Length`]: between words, within words that are over the limit; between any clusters where
    /// the chunk would be less than a tenth full otherwise.
    fn cuts(&self, start: usize) -> Vec<usize> {
        let ends = self.ends(start);
        let good: Vec<_> = ends
            .iter()
            .filter(|(at, units)| self.is_tenth(*units) && (self.ends_word(*at) || self.is_in_long_word(*at)))
            .map(|(at, _)| *at)
            .collect();
        if good.is_empty() { ends.iter().map(|(at, _)| *at).collect() } else { good }
    }

    /// The fewest chunks that the text from `start` can be cut into; `None` if a cluster is over the limit.
    fn fewest(&self, start: usize, known: &mut HashMap<usize, Option<usize>>) -> Option<usize> {
        let start = self.skip(start);
        if start == self.text.len() {
            return Some(0);
        }
        if let Some(fewest) = known.get(&start) {
            return *fewest;
        }
        let rest = self.text[start..].trim_end_matches(is_space);
        let fewest = if self.unit.count(rest) <= self.limit {
            Some(1)
        } else {
            self.cuts(start).into_iter().filter_map(|at| self.fewest(at, known)).min().map(|rest| rest + 1)
        };
        known.insert(start, fewest);
        fewest
    }
}

fn words() -> impl Strategy<Value = String> {
    "([a-e]{1,6} |[a-e]{1,30}|[.!?] |\n|\n\n|\r\n|   |漢|字。|👨‍👩‍👧|🇩🇪|e\u{301}|\u{a0}|ü|\\PC){0,40}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn there_are_hardly_more_chunks_than_need_be(text in words(), limit in 1usize..60, unit in 0usize..4) {
        let unit = UNITS[unit];
        let Ok(chunks) = split(&text, limit, unit, Mode::Length) else { return Ok(()) };
        let count = chunks.count();
        if let Some(fewest) = Legal::new(&text, limit, unit).fewest(0, &mut HashMap::new()) {
            prop_assert!(count * 100 <= fewest * 105 + 100, "{count} chunks, {fewest} would do");
        }
    }

    #[test]
    fn only_the_last_chunk_is_nearly_empty(text in words(), limit in 1usize..120, unit in 0usize..4) {
        let unit = UNITS[unit];
        let legal = Legal::new(&text, limit, unit);
        for mode in [Mode::Length, Mode::Newline, Mode::Markdown] {
            let Ok(chunks) = split(&text, limit, unit, mode) else { continue };
            let chunks: Vec<_> = chunks.collect();
            let Some((_, others)) = chunks.split_last() else { continue };
            for chunk in others {
                // A run of blanks or a cluster that is nearly a chunk long leaves no choice.
                let fuller = legal.ends(chunk.range.start).into_iter().find(|(_, units)| legal.is_tenth(*units));
                prop_assert!(
                    legal.is_tenth(chunk.units) || fuller.is_none(),
                    "{mode}: {chunk:?} could have ended at {fuller:?}"
                );
            }
        }
    }
}

#[test]
fn a_word_that_is_cut_anyway_is_begun_in_the_chunk_before() {
    let text = std::format!("see {} and", "x".repeat(40));
    let texts: Vec<_> =
        split(&text, 20, Unit::Bytes, Mode::Length).unwrap().map(|chunk| chunk.text).collect();
    assert_eq!(texts, ["see xxxxxxxxxxxxxxxx", "xxxxxxxxxxxxxxxxxxxx", "xxxx and"]);
}

#[test]
fn prose_fills_its_chunks() {
    let text = "A sentence of several words, then another one. ".repeat(2000);
    for unit in UNITS {
        let count = split(&text, 2000, unit, Mode::Length).unwrap().count();
        assert!(count * 100 <= text.len().div_ceil(2000) * 105 + 100, "{unit}: {count}");
    }
}

#[test]
fn a_long_word_is_begun_early_even_if_its_clusters_do_not_fill_a_chunk() {
    let families = "\u{a0}\n\naaaaaaaaaae\u{301}字。👨‍👩‍👧👨‍👩‍👧";
    assert_eq!(split(families, 21, Unit::Bytes, Mode::Length).unwrap().count(), 3);
    // A mark upon the stop: no word ends there.
    let marked = "! 🇩🇪a e\u{301}👨‍👩‍👧字。\u{1bc9d}aaaaaaaaaaaae\u{301}! e\u{301}? ! ! e\u{301}\u{a0}";
    assert_eq!(split(marked, 13, Unit::Utf16, Mode::Length).unwrap().count(), 4);
}
