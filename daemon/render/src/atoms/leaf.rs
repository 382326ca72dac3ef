//! Cutting the text of a leaf into atoms.

use std::ops::Range;

use gatepost_chunk::{Mode, Unit, split};

use super::super::escape::{Swap, addresses};
use super::super::measure::{Cost, Measure};
use super::super::text::{Text, first_not};
use super::super::words::{Grade, words};
use super::atom::{Atom, Atoms};

/// An oversized word is broken into so many runs a part, so that a part can be filled whatever it begins with.
const RUNS: usize = 16;

/// A word of so many bytes fits in any part with room for sixteen times as much: no sign costs more than eight times its
/// bytes, marks included.
const SHORT: usize = 20;

/// A leaf that is cut into atoms.
pub(super) struct Leaf<'a> {
    measure: Measure,
    /// The most that one atom may cost.
    most: Cost,
    /// Its text, if that has looks.
    styled: Option<Text<'a>>,
    all: &'a str,
    swaps: &'a [Swap],
    /// The first link that does not end before the last word.
    link: usize,
    /// Whether every byte of it is a unit and nothing else.
    is_simple: bool,
    /// A stretch that looks the same throughout: that of the last atom, in most cases.
    run: Range<usize>,
    /// Whether every byte of that is a unit and nothing else.
    is_simple_run: bool,
    atoms: Atoms,
}

impl<'a> Leaf<'a> {
    pub(super) fn new(
        measure: Measure,
        most: Cost,
        (all, styled): (&'a str, Option<Text<'a>>),
        swaps: &'a [Swap],
    ) -> Self {
        let is_simple = measure.is_simple(all, swaps);
        let is_even = is_simple && styled.is_none_or(Text::is_plain);
        // More than words commonly need.
        let atoms = Atoms::new(is_even, if styled.is_some() { all.len() / 5 } else { 0 });
        Self {
            measure,
            most,
            styled,
            all,
            swaps,
            link: 0,
            is_simple,
            run: 0..0,
            is_simple_run: is_simple,
            atoms,
        }
    }

    fn cost(&self, range: Range<usize>) -> Cost {
        match self.styled {
            Some(text) => self.measure.inside(text, self.swaps, range),
            None => self.measure.slice(self.all, self.swaps, range),
        }
    }

    /// What `range` costs, which looks the same throughout.
    fn even(&self, range: Range<usize>) -> Cost {
        match self.is_simple_run {
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

    /// Whether all of `range` looks the same, and the sign before it.
    fn is_even(&mut self, range: &Range<usize>) -> bool {
        let Some(text) = self.styled else { return true };
        if !(self.run.start < range.start && range.start <= self.run.end) {
            self.run = text.run_before(range.start);
            self.is_simple_run =
                self.is_simple || self.measure.is_simple(&self.all[self.run.clone()], self.swaps);
        }
        range.end <= self.run.end
    }

    /// Leaves behind what only concerns the atoms that are there.
    fn leave_behind(&mut self) {
        let behind = self.atoms.last().map_or(0, |last| last.range().end);
        self.styled = self.styled.map(|styled| styled.onwards(behind));
        self.swaps = &self.swaps[first_not(self.swaps, |swap| swap.at < behind)..];
    }

    /// Leaves behind what only concerns the words before `word`.
    fn go_on(&mut self, text: Text<'a>, word: &Range<usize>) {
        self.leave_behind();
        self.link += first_not(&text.links()[self.link..], |link| link.range.end <= word.start);
    }

    /// Adds an atom behind those that are there.
    fn push(&mut self, range: Range<usize>, grade: Grade) {
        let Some(last) = self.atoms.last() else {
            let to = self.cost(range.clone());
            return self.atoms.push(Atom::new(range, Cost::default(), to, grade));
        };
        let (mut from, gap) = (last.to(), last.range().end..range.start);
        if self.is_even(&(gap.start..range.end)) {
            if self.is_simple_run {
                return self.atoms.push(last.next(range, grade));
            }
            from += self.even(gap);
            let to = from + self.even(range.clone());
            return self.atoms.push(Atom::new(range, from, to, grade));
        }
        if let Some(text) = self.styled {
            from += self.measure.edge(text, range.start);
            if !gap.is_empty() {
                from += self.measure.edge(text, gap.start) + self.cost(gap);
            }
        }
        let to = from + self.cost(range.clone());
        self.atoms.push(Atom::new(range, from, to, grade));
    }

    /// Whether `word` can stay whole; no need to count where it is short whatever it is written as.
    fn stays_whole(&self, text: Text<'_>, word: &Range<usize>) -> bool {
        let has_link = text.links().get(self.link).is_some_and(|link| link.range.start < word.end);
        let is_short = word.len() <= SHORT && self.most.units > 16 * SHORT && !has_link;
        is_short || self.alone(word.clone()).fits(self.most)
    }

    pub(super) fn text(mut self, text: Text<'a>) -> Atoms {
        if self.is_simple && text.is_plain() {
            self.simple_text(text);
            return self.atoms;
        }
        for (word, grade) in words(text) {
            self.go_on(text, &word);
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
            self.atoms.regrade(begin, grade);
        }
        self.atoms
    }

    /// As [`Leaf::text`], where every place costs as many units as there are bytes before it.
    fn simple_text(&mut self, text: Text<'_>) {
        let mut first = None;
        for (word, grade) in words(text) {
            let first = *first.get_or_insert(word.start);
            if word.len() <= self.most.units {
                let (from, to) = (Cost::units(word.start - first), Cost::units(word.end - first));
                self.atoms.push(Atom::new(word, from, to, grade));
                continue;
            }
            let begin = self.atoms.len();
            self.runs(word);
            self.atoms.regrade(begin, grade);
        }
    }

    /// What is not cut in a word that is: links, and addresses that fit in a part.
    fn wholes(&self, text: Text<'_>, word: Range<usize>) -> Vec<Range<usize>> {
        let links = text.links()[self.link..].iter().map(|link| link.range.clone());
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
    pub(super) fn code(mut self) -> Atoms {
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
            self.runs_of_line(range);
            self.atoms.regrade(begin, Grade::Line);
        }
        self.atoms
    }

    /// Breaks up a line of code, but not its indentation: that goes with the first sign, or where a part ends.
    fn runs_of_line(&mut self, line: Range<usize>) {
        let (all, start) = (self.all, line.start);
        let code = &all[line.clone()];
        let indent = start + code.len() - code.trim_start().len();
        let first = clusters(all, indent..line.end).next().map_or(indent, |cluster| cluster.end);
        let rest = match start < indent && self.cost(start..first).fits(self.most) {
            true => {
                self.push(start..first, Grade::Cluster);
                first
            }
            false => indent,
        };
        self.runs(rest..line.end);
    }

    /// Adds a run. A word without blanks may have more of them than a text has words.
    fn push_run(&mut self, run: Range<usize>) {
        self.push(run, Grade::Cluster);
        self.leave_behind();
    }

    /// Breaks up what is too long, between clusters, or between code points where a single cluster is too long. Blanks in
    /// a line of code belong to the gaps: where a part ends they are dropped, and no part is made of them.
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
            if self.styled.is_none() && all[cluster.clone()].trim_start().is_empty() {
                if run.start < run.end {
                    self.push_run(run);
                }
                (run, cost) = (cluster.end..cluster.end, Cost::default());
                continue;
            }
            let mut more = self.alone(run.end..cluster.end);
            if !(cost + more).fits(longest) && run.start < run.end {
                self.push_run(run.clone());
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
