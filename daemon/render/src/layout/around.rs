//! What is written around and between leaves: quote marks, the marks of items, indentation, empty lines.

use std::borrow::Cow;

use super::super::table::fill;
use super::super::tree::{Container, DEEPEST};
use super::{Layout, Pen};

/// What goes before the lines of a leaf.
#[derive(Debug, Default)]
pub(in super::super) struct Indents {
    /// Quote marks and indentation.
    pub(in super::super) indent: String,
    /// The same with the marks of the items that begin there.
    pub(in super::super) marked: String,
}

impl Layout<'_> {
    /// The containers around a leaf, from the innermost.
    fn around(&self, parent: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(parent, |node| self.nodes[*node].parent)
    }

    /// The containers around a leaf, from the outermost.
    pub(in super::super) fn path(&self, parent: Option<usize>) -> Vec<usize> {
        let mut path: Vec<_> = self.around(parent).collect();
        path.reverse();
        path
    }

    pub(super) fn in_quote(&self, parent: Option<usize>) -> bool {
        self.outermost_quote(parent).is_some()
    }

    fn outermost_quote(&self, parent: Option<usize>) -> Option<usize> {
        self.around(parent).filter(|node| self.nodes[*node].kind == Container::Quote).last()
    }

    /// The outermost quote around a leaf, where it is a tag.
    pub(in super::super) fn outer_quote(&self, leaf: usize) -> Option<usize> {
        self.outermost_quote(self.leaves[leaf].parent).filter(|_| self.pen.quotes_by_tag())
    }

    /// The first leaf in a container.
    pub(in super::super) fn first_leaf(&self, node: usize) -> usize {
        self.first[node]
    }

    /// What is written before the lines of leaf `at`, there or yet to come, and before its first; as deep as a quarter
    /// of a part allows.
    pub(in super::super) fn indents(&self, parent: Option<usize>, at: usize, pen: Pen) -> Indents {
        let mut indents = Indents::default();
        self.indent(&mut indents, parent, at, pen);
        indents
    }

    /// As [`Layout::indents`], in place of those that were there.
    pub(in super::super) fn indent(&self, into: &mut Indents, parent: Option<usize>, at: usize, pen: Pen) {
        let Indents { indent, marked } = into;
        indent.clear();
        marked.clear();
        if parent.is_none() {
            return;
        }
        let mut tag = pen.quotes_by_tag();
        let mut path = [0; DEEPEST + 2];
        let depth = self.around(parent).zip(&mut path).map(|(node, place)| *place = node).count();
        for node in path[..depth].iter().rev() {
            let before = (indent.len(), marked.len());
            match self.nodes[*node].kind {
                Container::Quote if std::mem::take(&mut tag) => continue,
                Container::Quote => {
                    indent.push_str("> ");
                    marked.push_str("> ");
                }
                Container::List { .. } => continue,
                Container::Item { number } => {
                    match number {
                        Some(number) => {
                            push_number(number, marked);
                            marked.push_str(". ");
                        }
                        None => marked.push_str(pen.bullet()),
                    }
                    let mark = marked[before.1..].chars().count();
                    fill(indent, "                ", mark);
                    if self.first.get(*node).is_some_and(|first| *first < at) {
                        marked.truncate(before.1);
                        marked.push_str(&indent[before.0..]);
                    }
                }
            }
            if indent.len() > self.limit / 4 {
                indent.truncate(before.0);
                marked.truncate(before.1);
                break;
            }
        }
    }

    /// What is written between a leaf and the one before it, before its indentation.
    pub(in super::super) fn separator(&self, leaf: usize) -> Cow<'static, str> {
        self.separator_by(leaf, self.pen)
    }

    /// The same as another pen writes it.
    #[inline]
    pub(in super::super) fn separator_by(&self, leaf: usize, pen: Pen) -> Cow<'static, str> {
        match self.leaves[leaf].common {
            Some(common) => self.separator_within(common, pen),
            None => "\n\n".into(),
        }
    }

    fn separator_within(&self, common: usize, pen: Pen) -> Cow<'static, str> {
        let tight = |node: usize| matches!(self.nodes[node].kind, Container::List { tight: true, .. });
        if tight(common) || self.nodes[common].parent.is_some_and(tight) {
            return "\n".into();
        }
        let Indents { indent, .. } = self.indents(Some(common), usize::MAX, pen);
        format!("\n{}\n", indent.trim_end()).into()
    }

    /// The innermost container that two leaves share, which are in these.
    pub(super) fn common(&self, before: Option<usize>, after: Option<usize>) -> Option<usize> {
        let (mut a, mut b) = (before?, after?);
        while a != b {
            // Never the shallower one: what they share is around both.
            if self.nodes[a].depth >= self.nodes[b].depth {
                a = self.nodes[a].parent?;
            } else {
                b = self.nodes[b].parent?;
            }
        }
        Some(a)
    }
}

/// Adds a number in decimal, without the machinery of a format: half of all items have one.
fn push_number(number: u64, out: &mut String) {
    // As long as the longest.
    let mut digits = [0; 20];
    let (mut rest, mut first) = (number, digits.len());
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = (rest % 10) as u8;
        rest /= 10;
    }
    out.extend(digits[first..].iter().map(|digit| char::from(b'0' + digit)));
}
