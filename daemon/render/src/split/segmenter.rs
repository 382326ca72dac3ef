//! Divides the text of a leaf into atoms.

use std::ops::Range;

use gatepost_chunk::{Mode, Unit, split};

use crate::cost::Cost;
use crate::document::{Text, bare_urls};
use crate::markup::Replacement;
use crate::measure::Measure;
use crate::scan::partition_near_start;

use super::atom::{Atom, Atoms};
use super::words::{CutQuality, words};

/// A word too long for a part is broken into fragments of this fraction of a part, so that a part can be filled whatever it
/// begins with.
const FRAGMENTS_PER_PART: usize = 16;

/// A word of up to this many bytes fits in any part with room for [`MAX_SHORT_WORD_GROWTH`] times as much, so it need not
/// be priced.
const MAX_SHORT_WORD_BYTES: usize = 20;

/// No character costs more than eight times its bytes; twice that leaves room for marks.
const MAX_SHORT_WORD_GROWTH: usize = 16;

/// A usual word with its space, to estimate how many atoms a text has.
const USUAL_WORD_BYTES: usize = 5;

/// Kept free if a grapheme cluster is broken: an escape is at most two zero-width spaces of three bytes each.
const MAX_ESCAPE_UNITS: usize = 6;

/// A leaf that is divided into atoms.
pub(super) struct Segmenter<'a> {
    measure: Measure,
    /// The maximum cost of one atom.
    limit: Cost,
    /// The leaf's text, unless it is code.
    styled: Option<Text<'a>>,
    all: &'a str,
    replacements: &'a [Replacement],
    /// The first link that ends after the beginning of the last word.
    next_link: usize,
    /// Whether every byte of the leaf costs one unit and nothing else, apart from marks.
    is_one_unit_per_byte: bool,
    /// A range of one style: usually that of the last atom.
    run: Range<usize>,
    /// The same as `is_one_unit_per_byte`, for that range.
    run_is_one_unit_per_byte: bool,
    atoms: Atoms,
}

impl<'a> Segmenter<'a> {
    /// For text. No atom may cost more than `limit`.
    pub(super) fn for_text(
        measure: Measure,
        limit: Cost,
        text: Text<'a>,
        replacements: &'a [Replacement],
    ) -> Self {
        let capacity = text.as_str().len() / USUAL_WORD_BYTES;
        Self::new(measure, limit, text.as_str(), Some(text), replacements, capacity)
    }

    /// For code. No atom may cost more than `limit`.
    pub(super) fn for_code(
        measure: Measure,
        limit: Cost,
        code: &'a str,
        replacements: &'a [Replacement],
    ) -> Self {
        Self::new(measure, limit, code, None, replacements, 0)
    }

    fn new(
        measure: Measure,
        limit: Cost,
        all: &'a str,
        styled: Option<Text<'a>>,
        replacements: &'a [Replacement],
        capacity: usize,
    ) -> Self {
        let is_one_unit_per_byte = measure.is_one_unit_per_byte(all, replacements);
        let has_no_marks = styled.is_none_or(Text::is_plain);
        Self {
            measure,
            limit,
            styled,
            all,
            replacements,
            next_link: 0,
            is_one_unit_per_byte,
            run: 0..0,
            run_is_one_unit_per_byte: is_one_unit_per_byte,
            atoms: Atoms::with_capacity(is_one_unit_per_byte && has_no_marks, capacity),
        }
    }

    fn cost(&self, range: Range<usize>) -> Cost {
        match self.styled {
            Some(text) => self.measure.inside(text, self.replacements, range),
            None => self.measure.characters(self.all, self.replacements, range),
        }
    }

    /// The cost of a range within `self.run`.
    fn cost_in_run(&self, range: Range<usize>) -> Cost {
        match self.run_is_one_unit_per_byte {
            true => Cost::units(range.len()),
            false => self.measure.characters(self.all, self.replacements, range),
        }
    }

    /// The cost of a part that has only `range`.
    fn cost_alone(&self, range: Range<usize>) -> Cost {
        if self.is_one_unit_per_byte
            && !self.measure.markup.has_marks()
            && self.styled.is_none_or(Text::is_plain)
        {
            return Cost::units(range.len());
        }
        let mut cost = self.cost(range.clone());
        if let Some(text) = self.styled {
            cost += self.measure.opening(text, self.replacements, range.start);
            cost += self.measure.closing(text, range.end);
        }
        cost
    }

    /// Whether all of `range` and the character before it have one style. If so, `self.run` contains `range`.
    fn has_one_style(&mut self, range: &Range<usize>) -> bool {
        let Some(text) = self.styled else { return true };
        if !(self.run.start < range.start && range.start <= self.run.end) {
            self.run = text.run_before(range.start);
            let run = &self.all[self.run.clone()];
            self.run_is_one_unit_per_byte =
                self.is_one_unit_per_byte || self.measure.is_one_unit_per_byte(run, self.replacements);
        }
        range.end <= self.run.end
    }

    /// Forgets styles and replacements that only concern the atoms that are there, so that the next ones are found fast.
    fn forget_done(&mut self) {
        let done = self.atoms.last().map_or(0, |last| last.range().end);
        self.styled = self.styled.map(|styled| styled.without_runs_before(done));
        let first = partition_near_start(self.replacements, |replacement| replacement.at < done);
        self.replacements = &self.replacements[first..];
    }

    /// Moves on to `word`, and forgets what only concerns the words before it.
    fn advance_to(&mut self, text: Text<'a>, word: &Range<usize>) {
        self.forget_done();
        let links = &text.links()[self.next_link..];
        self.next_link += partition_near_start(links, |link| link.range.end <= word.start);
    }

    /// Appends an atom.
    fn push(&mut self, range: Range<usize>, quality: CutQuality) {
        let Some(last) = self.atoms.last() else {
            let through = self.cost(range.clone());
            return self.atoms.push(Atom::new(range, Cost::default(), through, quality));
        };
        let (mut before, gap) = (last.cost_through(), last.range().end..range.start);
        if self.has_one_style(&(gap.start..range.end)) {
            if self.run_is_one_unit_per_byte {
                return self.atoms.push(last.next(range, quality));
            }
            before += self.cost_in_run(gap);
            let through = before + self.cost_in_run(range.clone());
            return self.atoms.push(Atom::new(range, before, through, quality));
        }
        if let Some(text) = self.styled {
            before += self.measure.marks_at(text, range.start);
            if !gap.is_empty() {
                before += self.measure.marks_at(text, gap.start) + self.cost(gap);
            }
        }
        let through = before + self.cost(range.clone());
        self.atoms.push(Atom::new(range, before, through, quality));
    }

    /// Whether `word` fits in a part.
    fn fits(&self, text: Text<'_>, word: &Range<usize>) -> bool {
        let has_link = text.links().get(self.next_link).is_some_and(|link| link.range.start < word.end);
        let is_short = word.len() <= MAX_SHORT_WORD_BYTES
            && self.limit.units > MAX_SHORT_WORD_GROWTH * MAX_SHORT_WORD_BYTES
            && !has_link;
        is_short || self.cost_alone(word.clone()).fits(self.limit)
    }

    /// The atoms of text: words, or what is left whole in a word too long for a part.
    pub(super) fn text(mut self, text: Text<'a>) -> Atoms {
        if self.is_one_unit_per_byte && text.is_plain() {
            self.push_plain_words(text);
            return self.atoms;
        }
        for (word, quality) in words(text) {
            self.advance_to(text, &word);
            if self.fits(text, &word) {
                self.push(word, quality);
                continue;
            }
            let first = self.atoms.len();
            let mut at = word.start;
            for whole in self.links_and_urls(text, word.clone()) {
                self.push_fragments(at..whole.start);
                at = whole.end;
                self.push(whole, CutQuality::Cluster);
            }
            self.push_fragments(at..word.end);
            self.atoms.set_quality(first, quality);
        }
        self.atoms
    }

    /// The fast case of [`Segmenter::text`]: every position costs as many units as there are bytes before it.
    #[inline(never)]
    fn push_plain_words(&mut self, text: Text<'_>) {
        let mut first = None;
        for (word, quality) in words(text) {
            let first = *first.get_or_insert(word.start);
            if word.len() <= self.limit.units {
                let (before, through) = (Cost::units(word.start - first), Cost::units(word.end - first));
                self.atoms.push(Atom::new(word, before, through, quality));
                continue;
            }
            let begin = self.atoms.len();
            self.push_fragments(word);
            self.atoms.set_quality(begin, quality);
        }
    }

    /// The links in a word that is cut, and those URLs in it that fit in a part: they stay whole.
    fn links_and_urls(&self, text: Text<'_>, word: Range<usize>) -> Vec<Range<usize>> {
        let links = text.links()[self.next_link..].iter().map(|link| link.range.clone());
        let mut wholes: Vec<_> = links.take_while(|link| link.end <= word.end).collect();
        let links = wholes.len();
        for url in bare_urls(&self.all[word.clone()]) {
            let url = word.start + url.start..word.start + url.end;
            let after = wholes[..links].partition_point(|link| link.end <= url.start);
            let is_outside_links = wholes[..links].get(after).is_none_or(|link| url.end <= link.start);
            if is_outside_links
                && url.len() <= self.limit.units
                && self.cost_alone(url.clone()).fits(self.limit)
            {
                wholes.push(url);
            }
        }
        wholes.sort_unstable_by_key(|whole| whole.start);
        wholes
    }

    /// The atoms of code: its lines. Empty lines belong to the gaps between them and are dropped where a part ends.
    pub(super) fn code(mut self) -> Atoms {
        let mut at = 0;
        for line in self.all.split('\n') {
            let range = at..at + line.len();
            at = range.end + 1;
            if line.trim().is_empty() {
                continue;
            }
            if self.cost(range.clone()).fits(self.limit) {
                self.push(range, CutQuality::Line);
                continue;
            }
            let first = self.atoms.len();
            self.push_line_fragments(range);
            self.atoms.set_quality(first, CutQuality::Line);
        }
        self.atoms
    }

    /// Breaks a line of code, but keeps its indentation with its first character. If both together do not fit in a part, the
    /// indentation is dropped.
    fn push_line_fragments(&mut self, line: Range<usize>) {
        let (all, start) = (self.all, line.start);
        let code = &all[line.clone()];
        let indent_end = start + code.len() - code.trim_start().len();
        let first_end = clusters(all, indent_end..line.end).next().map_or(indent_end, |cluster| cluster.end);
        let rest = match start < indent_end && self.cost(start..first_end).fits(self.limit) {
            true => {
                self.push(start..first_end, CutQuality::Cluster);
                first_end
            }
            false => indent_end,
        };
        self.push_fragments(rest..line.end);
    }

    /// Appends a fragment and forgets what is before it: a word without spaces may have more fragments than a text has words.
    fn push_fragment(&mut self, fragment: Range<usize>) {
        self.push(fragment, CutQuality::Cluster);
        self.forget_done();
    }

    /// Breaks a range that is too long between grapheme clusters, or between code points if a single cluster is too long.
    /// Spaces in a line of code belong to the gaps: they are dropped where a part ends, and no part consists of them.
    fn push_fragments(&mut self, range: Range<usize>) {
        let share = |limit: usize| (limit / FRAGMENTS_PER_PART).max(1);
        let fragment_limit = Cost {
            units: share(self.limit.units),
            entities: share(self.limit.entities),
            markup_bytes: share(self.limit.markup_bytes),
        };
        let mut fragment = range.start..range.start;
        let mut cost = Cost::default();
        let all = self.all;
        for cluster in clusters(all, range) {
            if self.styled.is_none() && all[cluster.clone()].trim_start().is_empty() {
                if !fragment.is_empty() {
                    self.push_fragment(fragment);
                }
                (fragment, cost) = (cluster.end..cluster.end, Cost::default());
                continue;
            }
            let mut more = self.cost_alone(fragment.end..cluster.end);
            if !(cost + more).fits(fragment_limit) && !fragment.is_empty() {
                self.push_fragment(fragment);
                (fragment, cost) = (cluster.start..cluster.start, Cost::default());
                more = self.cost_alone(cluster.clone());
            }
            if !(cost + more).fits(self.limit) {
                (fragment, cost) = (cluster.end..cluster.end, Cost::default());
                self.push_pieces_of(cluster);
                continue;
            }
            cost += more;
            fragment.end = cluster.end;
        }
        if !fragment.is_empty() {
            self.push(fragment, CutQuality::Cluster);
        }
    }

    /// Breaks a grapheme cluster that is too long for a part.
    fn push_pieces_of(&mut self, cluster: Range<usize>) {
        let limit = self.limit.units;
        let room = limit.saturating_sub(MAX_ESCAPE_UNITS).max(limit / 2).max(1);
        let pieces = split(&self.all[cluster.clone()], room, self.measure.unit, Mode::Length);
        for piece in pieces.into_iter().flatten() {
            let piece = cluster.start + piece.range.start..cluster.start + piece.range.end;
            self.push(piece, CutQuality::Cluster);
        }
    }
}

/// The grapheme clusters of `range`, which has no line break.
fn clusters(all: &str, range: Range<usize>) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
    let (start, slice) = (range.start, &all[range.clone()]);
    if slice.is_ascii() {
        return Box::new(range.map(|at| at..at + 1));
    }
    // The splitter knows where clusters end; with a limit of one, each chunk is one cluster.
    let chunks = split(slice, 1, Unit::Graphemes, Mode::Length).into_iter().flatten();
    Box::new(chunks.map(move |chunk| start + chunk.range.start..start + chunk.range.end))
}
