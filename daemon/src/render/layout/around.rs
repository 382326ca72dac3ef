//! What is written around and between leaves: quote marks, the marks of items, indentation, empty lines.

use std::borrow::Cow;

use super::super::tree::Container;
use super::{Layout, Pen};

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
    pub(in super::super) fn indents(&self, parent: Option<usize>, at: usize, pen: Pen) -> (String, String) {
        let (mut indent, mut marked) = (String::new(), String::new());
        let mut tag = pen.quotes_by_tag();
        for node in self.path(parent) {
            let (mark, blank) = match self.nodes[node].kind {
                Container::Quote if std::mem::take(&mut tag) => continue,
                Container::Quote => ("> ".to_owned(), "> ".to_owned()),
                Container::List { .. } => continue,
                Container::Item { number } => {
                    let mark = number.map_or_else(|| pen.bullet().to_owned(), |number| format!("{number}. "));
                    let blank = " ".repeat(mark.chars().count());
                    let is_first = self.first.get(node).is_none_or(|first| *first >= at);
                    (if is_first { mark } else { blank.clone() }, blank)
                }
            };
            if indent.len() + blank.len() > self.limit / 4 {
                break;
            }
            indent.push_str(&blank);
            marked.push_str(&mark);
        }
        (indent, marked)
    }

    /// What is written between two leaves that follow each other, before the second one's indentation.
    pub(in super::super) fn separator(&self, before: usize, after: usize) -> Cow<'static, str> {
        self.separator_by(before, after, self.pen)
    }

    /// The same as another pen writes it.
    pub(in super::super) fn separator_by(&self, before: usize, after: usize, pen: Pen) -> Cow<'static, str> {
        let Some(common) = self.common(before, after) else { return "\n\n".into() };
        let tight = |node: usize| matches!(self.nodes[node].kind, Container::List { tight: true, .. });
        if tight(common) || self.nodes[common].parent.is_some_and(tight) {
            return "\n".into();
        }
        let (indent, _) = self.indents(Some(common), usize::MAX, pen);
        format!("\n{}\n", indent.trim_end()).into()
    }

    /// The innermost container that two leaves share.
    pub(in super::super) fn common(&self, before: usize, after: usize) -> Option<usize> {
        let (mut a, mut b) = (self.leaves[before].parent?, self.leaves[after].parent?);
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
