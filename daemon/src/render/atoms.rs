//! The smallest pieces that a document is cut into, and what each costs.
//!
//! An atom is never cut: a word, a link with all its label and address, a line of code, a row of a table. What is too
//! long for any part is broken up here, into short runs of grapheme clusters. The costs are those of the plain text and
//! never too low, so a run of atoms that adds up to the limit is within it once written.

use std::ops::Range;

use gatepost_chunk::{Mode, Unit, display_width, split};

use super::layout::{Block, Layout};
use super::plain::RULE;
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
    /// What it costs by itself.
    pub(super) units: usize,
    /// What joining it to the atom before costs.
    pub(super) join: usize,
    /// How good the place before it is.
    pub(super) grade: Grade,
}

/// An oversized word is broken into so many runs a part, so that a part can be filled whatever it begins with.
const RUNS: usize = 16;

pub(super) fn atoms(layout: &Layout) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::new();
    for (leaf, laid) in layout.leaves.iter().enumerate() {
        let begin = atoms.len();
        let room = layout.limit - laid.lead - laid.tail;
        let measure = Measure { unit: layout.unit, room, newline: layout.unit.count(&laid.indent) };
        match &laid.block {
            Block::Text { text, .. } => measure.text(leaf, text, &mut atoms),
            Block::Code { text, .. } => measure.code(leaf, text, &mut atoms),
            Block::Table(table) => {
                let rows = table.table.rows.len();
                let cost = |row| layout.unit.count(&table.line(Some(row), Links::Round));
                atoms.extend((0..rows).map(|row| Atom {
                    leaf,
                    range: row..row + 1,
                    units: cost(row),
                    join: 1 + measure.newline,
                    grade: Grade::Line,
                }));
                if rows == 0 {
                    atoms.push(Atom { leaf, range: 0..0, units: 0, join: 0, grade: Grade::Line });
                }
            }
            Block::Rule => {
                atoms.push(Atom { leaf, range: 0..0, units: RULE.len(), join: 0, grade: Grade::Line });
            }
        }
        if let (Some(first), Some(before)) = (atoms.get_mut(begin), leaf.checked_sub(1)) {
            let laid_before = &layout.leaves[before];
            first.join = laid_before.tail + layout.unit.count(&layout.separator(before, leaf)) + laid.lead;
            first.grade = match (&laid_before.block, layout.common(before, leaf)) {
                (Block::Text { heading: Some(_), .. }, _) => Grade::Heading,
                (_, Some(_)) => Grade::Item,
                (_, None) => Grade::Block,
            };
        }
    }
    atoms
}

struct Measure {
    unit: Unit,
    /// The most that one atom may cost.
    room: usize,
    /// What each line break costs besides itself.
    newline: usize,
}

impl Measure {
    /// What `slice` costs as it stands, with indentation behind its line breaks.
    fn slice(&self, slice: &str) -> usize {
        self.unit.count(slice) + self.newline * slice.bytes().filter(|b| *b == b'\n').count()
    }

    /// Adds an atom behind those of the same text.
    fn push(
        &self,
        leaf: usize,
        all: &str,
        range: Range<usize>,
        units: usize,
        grade: Grade,
        atoms: &mut Vec<Atom>,
    ) {
        let gap = match atoms.last() {
            Some(last) if last.leaf == leaf => self.slice(&all[last.range.end..range.start]),
            _ => 0,
        };
        atoms.push(Atom { leaf, range, units, join: gap, grade });
    }

    fn text(&self, leaf: usize, text: &Text, atoms: &mut Vec<Atom>) {
        let all = text.as_str();
        for (word, grade) in words(text) {
            let first = text.links().partition_point(|link| link.range.end <= word.start);
            let links = text.links()[first..].iter().take_while(|link| link.range.end <= word.end);
            let cost = |range: Range<usize>, url: &str| {
                let address = Links::Round.address(&all[range.clone()], url);
                self.slice(&all[range]) + address.map_or(0, |address| self.unit.count(&address))
            };
            let addresses: usize = links
                .clone()
                .map(|link| cost(link.range.clone(), &link.url) - self.slice(&all[link.range.clone()]))
                .sum();
            let units = self.slice(&all[word.clone()]) + addresses;
            if units <= self.room {
                self.push(leaf, all, word, units, grade, atoms);
                continue;
            }
            let begin = atoms.len();
            let mut at = word.start;
            for link in links {
                self.runs(leaf, all, at..link.range.start, atoms);
                self.push(
                    leaf,
                    all,
                    link.range.clone(),
                    cost(link.range.clone(), &link.url),
                    Grade::Cluster,
                    atoms,
                );
                at = link.range.end;
            }
            self.runs(leaf, all, at..word.end, atoms);
            if let Some(first) = atoms.get_mut(begin) {
                first.grade = grade;
            }
        }
    }

    /// Lines of code. Empty lines belong to the gaps between them: they are dropped where a part ends.
    fn code(&self, leaf: usize, all: &str, atoms: &mut Vec<Atom>) {
        let mut at = 0;
        for line in all.split('\n') {
            let range = at..at + line.len();
            at = range.end + 1;
            if line.trim().is_empty() {
                continue;
            }
            let units = self.slice(line);
            if units <= self.room {
                self.push(leaf, all, range, units, Grade::Line, atoms);
                continue;
            }
            let begin = atoms.len();
            self.runs(leaf, all, range, atoms);
            if let Some(first) = atoms.get_mut(begin) {
                first.grade = Grade::Line;
            }
        }
    }

    /// Breaks up what is too long, between clusters, or between code points where a single cluster is too long.
    fn runs(&self, leaf: usize, all: &str, range: Range<usize>, atoms: &mut Vec<Atom>) {
        let longest = (self.room / RUNS).max(1);
        let mut run = range.start..range.start;
        let mut units = 0;
        // A cluster a chunk: the splitter knows where clusters end.
        let clusters = split(&all[range.clone()], 1, Unit::Graphemes, Mode::Length).into_iter().flatten();
        for cluster in clusters.map(|chunk| range.start + chunk.range.start..range.start + chunk.range.end) {
            let more = self.slice(&all[run.end..cluster.end]);
            if units + more > longest && run.start < run.end {
                self.push(leaf, all, run.clone(), units, Grade::Cluster, atoms);
                (run, units) = (cluster.start..cluster.start, 0);
            }
            let more = self.slice(&all[run.end..cluster.end]);
            if units + more > self.room {
                run = cluster.clone();
                for piece in
                    split(&all[cluster.clone()], self.room, self.unit, Mode::Length).into_iter().flatten()
                {
                    let piece = cluster.start + piece.range.start..cluster.start + piece.range.end;
                    self.push(leaf, all, piece.clone(), self.slice(&all[piece]), Grade::Cluster, atoms);
                }
                (run, units) = (run.end..run.end, 0);
                continue;
            }
            units += more;
            run.end = cluster.end;
        }
        if run.start < run.end {
            self.push(leaf, all, run, units, Grade::Cluster, atoms);
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
