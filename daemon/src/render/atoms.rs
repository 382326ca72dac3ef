//! The smallest pieces that a leaf is cut into, and what each costs.
//!
//! An atom is never cut: a word, a link with all its label and address, a line of code, a row of a table. What is too
//! long for any part is broken up here, into short runs of grapheme clusters. The costs are never too low, so a run of
//! atoms that adds up to the limit is within it once written.
//!
//! Only the leaves that a part ends in are looked at so closely; [`span`] tells what a whole one costs.

use std::ops::Range;

use gatepost_chunk::{Mode, Unit, split};

use super::escape::{Swap, addresses};
use super::layout::{Block, LaidTable, Layout};
use super::link::Links;
use super::measure::{Cost, Measure};
use super::text::Text;
use super::words::{Grade, extent, words};

#[derive(Debug, Clone)]
pub(super) struct Atom {
    /// Bytes of the leaf's text, or rows of its table.
    pub(super) range: Range<usize>,
    /// What the leaf costs from its first atom to the beginning of this one, and to its end; without the marks that a
    /// part opens and closes around it.
    pub(super) from: Cost,
    pub(super) to: Cost,
    /// How good the place before it is.
    pub(super) grade: Grade,
}

/// All atoms of a leaf as one.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) cost: Cost,
}

/// An oversized word is broken into so many runs a part, so that a part can be filled whatever it begins with.
const RUNS: usize = 16;

/// A word of so many bytes fits in any part with room for sixteen times as much: no sign costs more than eight times its
/// bytes, marks included.
const SHORT: usize = 20;

/// What a whole leaf costs, for one look at each of its bytes.
pub(super) fn span(layout: &Layout<'_>, at: usize) -> Span {
    let measure = measure(layout, at);
    let (range, cost) = match &layout.leaves[at].block {
        // A cluster may reach over the edge of a word: only the sum of all is safe.
        Block::Text { .. } | Block::Code { .. } if layout.unit == Unit::Graphemes => {
            let atoms = atoms(layout, at);
            let (Some(first), Some(last)) = (atoms.first(), atoms.last()) else { return Span::default() };
            (first.range.start..last.range.end, last.to)
        }
        Block::Text { text, swaps, .. } => {
            let text = text.text();
            let range = extent(text);
            (range.clone(), measure.inside(text, swaps, range))
        }
        Block::Code { text, swaps, .. } => {
            let range = code_extent(text);
            (range.clone(), measure.slice(text, swaps, range))
        }
        Block::Table(table) => {
            let rows = table.rows();
            let joins = rows.saturating_sub(1);
            // No sign of a row is written otherwise for the rows around it, but a cluster may reach over their edge.
            let is_one = !layout.pen.has_marks() && layout.unit != Unit::Graphemes;
            let cost = match table.stretches(&(0..rows), Links::Round).nth(1) {
                Some(lines) if is_one => measure.slice(lines, &[], 0..lines.len()),
                _ => {
                    let rows = (0..rows).map(|row| row_cost(layout, &measure, table, row));
                    rows.sum::<Cost>() + Cost::units((1 + measure.newline) * joins)
                }
            };
            (0..rows, cost)
        }
        Block::Rule => (0..0, Cost::units(layout.pen.rule().len())),
    };
    Span { range, cost }
}

/// The atoms of a leaf; one that is never cut has a single one.
pub(super) fn atoms(layout: &Layout<'_>, at: usize) -> Vec<Atom> {
    let laid = &layout.leaves[at];
    let most = Cost { units: layout.room(at), ..layout.most() - laid.wrap };
    let measure = measure(layout, at);
    let mut atoms = Vec::new();
    match &laid.block {
        Block::Text { text, swaps, .. } => {
            let text = text.text();
            // More than words commonly need.
            atoms.reserve(text.as_str().len() / 5);
            let all = text.as_str();
            let is_simple = measure.is_simple(all, swaps);
            Leaf { measure, most, styled: Some(text), all, swaps, is_simple, atoms: &mut atoms }.text(text);
        }
        Block::Code { text, swaps, .. } => {
            let is_simple = measure.is_simple(text, swaps);
            Leaf { measure, most, styled: None, all: text, swaps, is_simple, atoms: &mut atoms }.code();
        }
        Block::Table(table) if table.rows() > 0 => {
            let join = Cost::units(1 + measure.newline);
            for row in 0..table.rows() {
                let from = atoms.last().map_or(Cost::default(), |last: &Atom| last.to + join);
                let to = from + row_cost(layout, &measure, table, row);
                atoms.push(Atom { range: row..row + 1, from, to, grade: Grade::Line });
            }
        }
        Block::Table(_) | Block::Rule => {
            let Span { range, cost } = span(layout, at);
            atoms.push(Atom { range, from: Cost::default(), to: cost, grade: Grade::Line });
        }
    }
    atoms
}

/// What it costs that a part begins at `place` in a leaf.
pub(super) fn opening(layout: &Layout<'_>, at: usize, place: usize) -> Cost {
    match &layout.leaves[at].block {
        Block::Text { text, swaps, .. } => measure(layout, at).opening(text.text(), swaps, place),
        _ => Cost::default(),
    }
}

/// What it costs that a part ends at `place` in a leaf.
pub(super) fn closing(layout: &Layout<'_>, at: usize, place: usize) -> Cost {
    match &layout.leaves[at].block {
        Block::Text { text, .. } => measure(layout, at).closing(text.text(), place),
        _ => Cost::default(),
    }
}

fn measure(layout: &Layout<'_>, at: usize) -> Measure {
    let laid = &layout.leaves[at];
    let indent = layout.unit.count(&laid.indent);
    let newline = match &laid.block {
        Block::Text { .. } => indent + layout.pen.line_end().len() - 1,
        _ => indent,
    };
    Measure { pen: layout.pen, unit: layout.unit, newline }
}

fn row_cost(layout: &Layout<'_>, measure: &Measure, table: &LaidTable<'_>, row: usize) -> Cost {
    let line = table.line(row, Links::Round);
    Cost { units: layout.line_cost(line, table.form), tags: 0, markup: measure.references(line) }
}

/// Code from the first line that is not empty to the last.
fn code_extent(code: &str) -> Range<usize> {
    let blank = code.len() - code.trim_start().len();
    let start = code[..blank].rfind('\n').map_or(0, |at| at + 1);
    let behind = code.trim_end().len();
    start..code[behind..].find('\n').map_or(code.len(), |at| behind + at)
}

/// A leaf that is cut into atoms.
struct Leaf<'a> {
    measure: Measure,
    /// The most that one atom may cost.
    most: Cost,
    /// Its text, if that has looks.
    styled: Option<Text<'a>>,
    all: &'a str,
    swaps: &'a [Swap],
    /// Whether every byte of it is a unit and nothing else.
    is_simple: bool,
    atoms: &'a mut Vec<Atom>,
}

impl Leaf<'_> {
    fn cost(&self, range: Range<usize>) -> Cost {
        match self.styled {
            Some(text) => self.measure.inside(text, self.swaps, range),
            None => self.measure.slice(self.all, self.swaps, range),
        }
    }

    /// What `range` costs, which looks the same throughout.
    fn even(&self, range: Range<usize>) -> Cost {
        match self.is_simple {
            true => Cost::units(range.len()),
            false => self.measure.slice(self.all, self.swaps, range),
        }
    }

    /// What it costs to have `range` in a part by itself.
    fn alone(&self, range: Range<usize>) -> Cost {
        if self.is_simple && !self.measure.pen.has_marks() && self.styled.is_none_or(Text::is_plain) {
            return Cost::units(range.len());
        }
        let mut cost = self.cost(range.clone());
        if let Some(text) = self.styled {
            cost += self.measure.opening(text, self.swaps, range.start);
            cost += self.measure.closing(text, range.end);
        }
        cost
    }

    /// Adds an atom behind those that are there.
    fn push(&mut self, range: Range<usize>, grade: Grade) {
        let Some(Atom { range: before, to, .. }) = self.atoms.last() else {
            let to = self.cost(range.clone());
            return self.atoms.push(Atom { range, from: Cost::default(), to, grade });
        };
        let (mut from, gap) = (*to, before.end..range.start);
        let is_even = |text: Text<'_>| text.look_throughout(&(gap.start..range.end)).is_some();
        if self.styled.is_none_or(is_even) {
            from += self.even(gap);
            let to = from + self.even(range.clone());
            return self.atoms.push(Atom { range, from, to, grade });
        }
        if let Some(text) = self.styled {
            from += self.measure.edge(text, range.start);
            if !gap.is_empty() {
                from += self.measure.edge(text, gap.start) + self.cost(gap);
            }
        }
        let to = from + self.cost(range.clone());
        self.atoms.push(Atom { range, from, to, grade });
    }

    /// Whether `word` can stay whole; no need to count where it is short whatever it is written as.
    fn stays_whole(&self, text: Text<'_>, word: &Range<usize>) -> bool {
        let link = text.links().get(text.links().partition_point(|link| link.range.end <= word.start));
        let has_link = link.is_some_and(|link| link.range.start < word.end);
        let is_short = word.len() <= SHORT && self.most.units > 16 * SHORT && !has_link;
        is_short || self.alone(word.clone()).fits(self.most)
    }

    /// Says how good the place before atom `at` is, which was pushed since.
    fn regrade(&mut self, at: usize, grade: Grade) {
        if let Some(first) = self.atoms.get_mut(at) {
            first.grade = grade;
        }
    }

    fn text(&mut self, text: Text<'_>) {
        if self.is_simple && text.is_plain() {
            return self.simple_text(text);
        }
        for (word, grade) in words(text) {
            if self.stays_whole(text, &word) {
                self.push(word, grade);
                continue;
            }
            let begin = self.atoms.len();
            let mut at = word.start;
            for whole in self.wholes(text, word.clone()) {
                self.runs(at..whole.start);
                at = whole.end;
                self.push(whole, Grade::Cluster);
            }
            self.runs(at..word.end);
            self.regrade(begin, grade);
        }
    }

    /// As [`Leaf::text`], where every place costs as many units as there are bytes before it.
    fn simple_text(&mut self, text: Text<'_>) {
        let mut first = None;
        for (word, grade) in words(text) {
            let first = *first.get_or_insert(word.start);
            if word.len() <= self.most.units {
                let (from, to) = (Cost::units(word.start - first), Cost::units(word.end - first));
                self.atoms.push(Atom { range: word, from, to, grade });
                continue;
            }
            let begin = self.atoms.len();
            self.runs(word);
            self.regrade(begin, grade);
        }
    }

    /// What is not cut in a word that is: links, and addresses that fit in a part.
    fn wholes(&self, text: Text<'_>, word: Range<usize>) -> Vec<Range<usize>> {
        let first = text.links().partition_point(|link| link.range.end <= word.start);
        let links = text.links()[first..].iter().map(|link| link.range.clone());
        let mut wholes: Vec<_> = links.take_while(|link| link.end <= word.end).collect();
        let links = wholes.len();
        for address in addresses(&self.all[word.clone()]) {
            let address = word.start + address.start..word.start + address.end;
            let after = wholes[..links].partition_point(|link| link.end <= address.start);
            let is_apart = wholes[..links].get(after).is_none_or(|link| address.end <= link.start);
            if is_apart && address.len() <= self.most.units && self.alone(address.clone()).fits(self.most) {
                wholes.push(address);
            }
        }
        wholes.sort_unstable_by_key(|whole| whole.start);
        wholes
    }

    /// Lines of code. Empty lines belong to the gaps between them: they are dropped where a part ends.
    fn code(&mut self) {
        let mut at = 0;
        for line in self.all.split('\n') {
            let range = at..at + line.len();
            at = range.end + 1;
            if line.trim().is_empty() {
                continue;
            }
            if self.cost(range.clone()).fits(self.most) {
                self.push(range, Grade::Line);
                continue;
            }
            let begin = self.atoms.len();
            self.runs(range);
            self.regrade(begin, Grade::Line);
        }
    }

    /// Breaks up what is too long, between clusters, or between code points where a single cluster is too long.
    fn runs(&mut self, range: Range<usize>) {
        let share = |most: usize| (most / RUNS).max(1);
        let longest = Cost {
            units: share(self.most.units),
            tags: share(self.most.tags),
            markup: share(self.most.markup),
        };
        let mut run = range.start..range.start;
        let mut cost = Cost::default();
        let all = self.all;
        for cluster in clusters(all, range) {
            let mut more = self.alone(run.end..cluster.end);
            if !(cost + more).fits(longest) && run.start < run.end {
                self.push(run.clone(), Grade::Cluster);
                (run, cost) = (cluster.start..cluster.start, Cost::default());
                more = self.alone(cluster.clone());
            }
            if !(cost + more).fits(self.most) {
                run = cluster.clone();
                let room = self.most.units.saturating_sub(6).max(self.most.units / 2).max(1);
                let pieces = split(&all[cluster.clone()], room, self.measure.unit, Mode::Length);
                for piece in pieces.into_iter().flatten() {
                    let piece = cluster.start + piece.range.start..cluster.start + piece.range.end;
                    self.push(piece, Grade::Cluster);
                }
                (run, cost) = (run.end..run.end, Cost::default());
                continue;
            }
            cost += more;
            run.end = cluster.end;
        }
        if run.start < run.end {
            self.push(run, Grade::Cluster);
        }
    }
}

/// The grapheme clusters of `range`, which has no line break.
fn clusters(all: &str, range: Range<usize>) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
    let (start, slice) = (range.start, &all[range.clone()]);
    if slice.is_ascii() {
        return Box::new(range.map(|at| at..at + 1));
    }
    // A cluster a chunk: the splitter knows where clusters end.
    let chunks = split(slice, 1, Unit::Graphemes, Mode::Length).into_iter().flatten();
    Box::new(chunks.map(move |chunk| start + chunk.range.start..start + chunk.range.end))
}
