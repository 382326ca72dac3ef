//! The smallest pieces that a document is cut into, and what each costs.
//!
//! An atom is never cut: a word, a link with all its label and address, a line of code, a row of a table. What is too
//! long for any part is broken up here, into short runs of grapheme clusters. The costs are never too low, so a run of atoms that adds up to the limit is within it once written.

use std::ops::Range;

use gatepost_chunk::{Mode, Unit, display_width, split};

use super::escape::{Swap, addresses};
use super::layout::{Block, Layout};
use super::measure::{Cost, Measure};
use super::text::{Links, Text};

/// How good a place is to cut, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Cluster,
    /// Behind a heading, which would stand alone at the end of a part.
    Heading,
    Word,
    Sentence,
    /// Between lines, rows of a table, lines of code.
    Line,
    /// Between items or blocks inside one container.
    Item,
    /// Between blocks.
    Block,
}

#[derive(Debug, Clone)]
pub(super) struct Atom {
    pub(super) leaf: usize,
    /// Bytes of the leaf's text, or rows of its table.
    pub(super) range: Range<usize>,
    /// What it costs by itself, without the marks around it.
    pub(super) cost: Cost,
    /// What joining it to the atom before costs.
    pub(super) join: Cost,
    /// What it costs that a part begins, or ends, with it.
    pub(super) open: Cost,
    pub(super) close: Cost,
    /// How good the place before it is.
    pub(super) grade: Grade,
}

/// An oversized word is broken into so many runs a part, so that a part can be filled whatever it begins with.
const RUNS: usize = 16;

pub(super) fn atoms(layout: &Layout) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::new();
    let (pen, unit) = (layout.pen, layout.unit);
    for (leaf, laid) in layout.leaves.iter().enumerate() {
        let begin = atoms.len();
        let most = Cost { units: layout.room(leaf), ..layout.most() - laid.wrap };
        let newline = unit.count(&laid.indent);
        match &laid.block {
            Block::Text { text, swaps, .. } => {
                let newline = newline + pen.line_end().len() - 1;
                let measure = Measure { pen, unit, newline };
                Leaf { at: leaf, measure, most, styled: Some(text), all: text.as_str(), swaps }
                    .text(text, &mut atoms);
            }
            Block::Code { text, swaps, .. } => {
                let measure = Measure { pen, unit, newline };
                Leaf { at: leaf, measure, most, styled: None, all: text, swaps }.code(&mut atoms);
            }
            Block::Table(table) => {
                let rows = table.table.rows.len();
                let line = |row| {
                    let line = table.line(Some(row), Links::Round);
                    let measure = Measure { pen, unit, newline };
                    let markup = measure.slice(&line, &[], 0..line.len()).markup;
                    Cost { units: layout.line_cost(&line, table.form), tags: 0, markup }
                };
                let join = Cost::units(1 + newline);
                atoms
                    .extend((0..rows).map(|row| Atom::new(leaf, row..row + 1, line(row), join, Grade::Line)));
                if rows == 0 {
                    atoms.push(Atom::new(leaf, 0..0, Cost::default(), Cost::default(), Grade::Line));
                }
            }
            Block::Rule => {
                let rule = Cost::units(pen.rule().len());
                atoms.push(Atom::new(leaf, 0..0, rule, Cost::default(), Grade::Line));
            }
        }
        let Some(before) = leaf.checked_sub(1) else { continue };
        let closed = begin.checked_sub(1).map_or(Cost::default(), |last| atoms[last].close);
        if let Some(first) = atoms.get_mut(begin) {
            let laid_before = &layout.leaves[before];
            let gap = laid_before.tail + unit.count(&layout.separator(before, leaf)) + laid.lead;
            first.join = closed + Cost::units(gap) + laid.wrap + first.open;
            first.grade = match (&laid_before.block, layout.common(before, leaf)) {
                (Block::Text { heading: Some(_), .. }, _) => Grade::Heading,
                (_, Some(_)) => Grade::Item,
                (_, None) => Grade::Block,
            };
        }
    }
    atoms
}

impl Atom {
    fn new(leaf: usize, range: Range<usize>, cost: Cost, join: Cost, grade: Grade) -> Self {
        Self { leaf, range, cost, join, open: Cost::default(), close: Cost::default(), grade }
    }
}

/// A leaf that is cut into atoms.
struct Leaf<'a> {
    at: usize,
    measure: Measure,
    /// The most that one atom may cost.
    most: Cost,
    /// Its text, if that has looks.
    styled: Option<&'a Text>,
    all: &'a str,
    swaps: &'a [Swap],
}

impl Leaf<'_> {
    fn cost(&self, range: Range<usize>) -> Cost {
        match self.styled {
            Some(text) => self.measure.inside(text, self.swaps, range),
            None => self.measure.slice(self.all, self.swaps, range),
        }
    }

    /// What it costs to have `range` in a part by itself.
    fn alone(&self, range: Range<usize>) -> Cost {
        let mut cost = self.cost(range.clone());
        if let Some(text) = self.styled {
            cost += self.measure.opening(text, self.swaps, range.start);
            cost += self.measure.closing(text, range.end);
        }
        cost
    }

    /// Adds an atom behind those of the same text.
    fn push(&self, range: Range<usize>, grade: Grade, atoms: &mut Vec<Atom>) {
        let mut atom = Atom::new(self.at, range.clone(), self.cost(range.clone()), Cost::default(), grade);
        let before = atoms.last().filter(|last| last.leaf == self.at).map(|last| last.range.end);
        if let Some(text) = self.styled {
            atom.open = self.measure.opening(text, self.swaps, range.start);
            atom.close = self.measure.closing(text, range.end);
            if let Some(before) = before {
                atom.join = self.measure.edge(text, range.start);
                if before < range.start {
                    atom.join += self.measure.edge(text, before) + self.cost(before..range.start);
                }
            }
        } else if let Some(before) = before {
            atom.join = self.cost(before..range.start);
        }
        atoms.push(atom);
    }

    fn text(&self, text: &Text, atoms: &mut Vec<Atom>) {
        for (word, grade) in words(text) {
            if self.alone(word.clone()).fits(self.most) {
                self.push(word, grade, atoms);
                continue;
            }
            let begin = atoms.len();
            let mut at = word.start;
            for whole in self.wholes(text, word.clone()) {
                self.runs(at..whole.start, atoms);
                at = whole.end;
                self.push(whole, Grade::Cluster, atoms);
            }
            self.runs(at..word.end, atoms);
            if let Some(first) = atoms.get_mut(begin) {
                first.grade = grade;
            }
        }
    }

    /// What is not cut in a word that is: links, and addresses that fit in a part.
    fn wholes(&self, text: &Text, word: Range<usize>) -> Vec<Range<usize>> {
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
    fn code(&self, atoms: &mut Vec<Atom>) {
        let mut at = 0;
        for line in self.all.split('\n') {
            let range = at..at + line.len();
            at = range.end + 1;
            if line.trim().is_empty() {
                continue;
            }
            if self.cost(range.clone()).fits(self.most) {
                self.push(range, Grade::Line, atoms);
                continue;
            }
            let begin = atoms.len();
            self.runs(range, atoms);
            if let Some(first) = atoms.get_mut(begin) {
                first.grade = Grade::Line;
            }
        }
    }

    /// Breaks up what is too long, between clusters, or between code points where a single cluster is too long.
    fn runs(&self, range: Range<usize>, atoms: &mut Vec<Atom>) {
        let share = |most: usize| (most / RUNS).max(1);
        let longest = Cost {
            units: share(self.most.units),
            tags: share(self.most.tags),
            markup: share(self.most.markup),
        };
        let mut run = range.start..range.start;
        let mut cost = Cost::default();
        // A cluster a chunk: the splitter knows where clusters end.
        let clusters =
            split(&self.all[range.clone()], 1, Unit::Graphemes, Mode::Length).into_iter().flatten();
        for cluster in clusters.map(|chunk| range.start + chunk.range.start..range.start + chunk.range.end) {
            let more = self.alone(run.end..cluster.end);
            if !(cost + more).fits(longest) && run.start < run.end {
                self.push(run.clone(), Grade::Cluster, atoms);
                (run, cost) = (cluster.start..cluster.start, Cost::default());
            }
            let more = self.alone(run.end..cluster.end);
            if !(cost + more).fits(self.most) {
                run = cluster.clone();
                let room = self.most.units.saturating_sub(6).max(self.most.units / 2).max(1);
                let pieces = split(&self.all[cluster.clone()], room, self.measure.unit, Mode::Length);
                for piece in pieces.into_iter().flatten() {
                    let piece = cluster.start + piece.range.start..cluster.start + piece.range.end;
                    self.push(piece, Grade::Cluster, atoms);
                }
                (run, cost) = (run.end..run.end, Cost::default());
                continue;
            }
            cost += more;
            run.end = cluster.end;
        }
        if run.start < run.end {
            self.push(run, Grade::Cluster, atoms);
        }
    }
}

/// The words of a text, none of them empty, and how good it is to cut before each. White space in a link is no gap.
fn words(text: &Text) -> Vec<(Range<usize>, Grade)> {
    let all = text.as_str();
    let mut links = text.links().iter().peekable();
    let mut words = Vec::new();
    let (mut start, mut grade, mut at) = (0, Grade::Line, 0);
    while let Some((gap, next)) = next_gap(all, at) {
        while links.next_if(|link| link.range.end <= gap.start).is_some() {}
        if let Some(link) = links.peek().filter(|link| link.range.start < gap.end) {
            at = link.range.end;
            continue;
        }
        if start < gap.start {
            words.push((start..gap.start, grade));
            grade = next;
        }
        (start, at) = (gap.end, gap.end);
    }
    if start < all.len() {
        words.push((start..all.len(), grade));
    }
    words
}

/// The next place behind `from` where a line may be broken: white space, or a Chinese or Japanese full stop or comma.
fn next_gap(text: &str, from: usize) -> Option<(Range<usize>, Grade)> {
    let is_space = |c: char| c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}');
    let is_stop = |c: char| matches!(c, '。' | '！' | '？');
    let is_comma = |c: char| matches!(c, '、' | '，' | '；' | '：');
    let found = |c: char| is_space(c) || is_stop(c) || is_comma(c);
    let mut from = from;
    loop {
        let at = from + text[from..].find(found)?;
        let c = text[at..].chars().next()?;
        let after = at + c.len_utf8();
        let rest = &text[after..];
        if !is_space(c) {
            let next = rest.chars().next()?;
            let sticks = found(next)
                || matches!(next, '」' | '』' | '）' | '】' | '”' | '’' | '"' | ')')
                || is_mark(next);
            if sticks {
                from = after;
                continue;
            }
            return Some((after..after, if is_stop(c) { Grade::Sentence } else { Grade::Word }));
        }
        let mut end = text.len() - rest.trim_start_matches(is_space).len();
        if text[end..].chars().next().is_some_and(is_mark) {
            // The last space carries the mark.
            end -= text[..end].chars().next_back().map_or(0, char::len_utf8);
            if end == at {
                from = after;
                continue;
            }
        }
        let closers = ['"', '\'', ')', ']', '”', '’', '»', '」', '』', '）', '】'];
        let ends_sentence =
            text[..at].trim_end_matches(closers).ends_with(['.', '!', '?', '…', '。', '！', '？']);
        let grade = match () {
            () if text[at..end].contains('\n') => Grade::Line,
            () if ends_sentence => Grade::Sentence,
            () => Grade::Word,
        };
        return Some((at..end, grade));
    }
}

/// Whether `c` joins the character before it.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && display_width(c.encode_utf8(&mut [0; 4])) == 0
}
