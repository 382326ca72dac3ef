//! What is written before the lines of leaves and between leaves: quote marks, item marks, indentation, empty lines.

use std::borrow::Cow;

use crate::document::{ContainerKind, MAX_CONTAINER_DEPTH, push_repeated};
use crate::markup::BodyMarkup;

use super::model::Layout;

/// The decimal digits of the largest `u64`.
const MAX_U64_DIGITS: usize = 20;

/// What is written before the lines of a leaf.
#[derive(Debug, Default)]
pub(crate) struct LinePrefixes {
    /// Before the first line: quote marks, indentation, and the marks of the items that begin there.
    pub(crate) first: String,
    /// Before all other lines.
    pub(crate) rest: String,
}

impl Layout<'_> {
    /// The containers around a leaf, innermost first.
    fn ancestors(&self, parent: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(parent, |container| self.containers[*container].parent)
    }

    /// The containers around a leaf, outermost first.
    pub(crate) fn path(&self, parent: Option<usize>) -> Vec<usize> {
        let mut path: Vec<_> = self.ancestors(parent).collect();
        path.reverse();
        path
    }

    pub(super) fn is_in_quote(&self, parent: Option<usize>) -> bool {
        self.outermost_quote(parent).is_some()
    }

    fn outermost_quote(&self, parent: Option<usize>) -> Option<usize> {
        let is_quote = |container: &usize| self.containers[*container].kind == ContainerKind::Quote;
        self.ancestors(parent).filter(is_quote).last()
    }

    /// Whether a leaf is in a quote.
    pub(crate) fn is_quoted(&self, leaf: usize) -> bool {
        self.is_in_quote(self.leaves[leaf].parent)
    }

    /// The quote around a leaf that is written as a tag.
    pub(crate) fn quote_tag(&self, leaf: usize) -> Option<usize> {
        self.outermost_quote(self.leaves[leaf].parent).filter(|_| self.markup.quotes_with_tag())
    }

    /// The prefixes of leaf `at`, which may not exist yet. They take at most a quarter of a part: deeper containers have no
    /// marks.
    pub(crate) fn prefixes(&self, parent: Option<usize>, at: usize, markup: BodyMarkup) -> LinePrefixes {
        let mut prefixes = LinePrefixes::default();
        self.write_prefixes(&mut prefixes, parent, at, markup);
        prefixes
    }

    /// Like [`Layout::prefixes`], into buffers that are used again.
    pub(crate) fn write_prefixes(
        &self,
        into: &mut LinePrefixes,
        parent: Option<usize>,
        at: usize,
        markup: BodyMarkup,
    ) {
        let LinePrefixes { first, rest } = into;
        rest.clear();
        first.clear();
        if parent.is_none() {
            return;
        }
        let mut is_tag = markup.quotes_with_tag();
        // Two more than containers can be nested: a table as bullets adds a list and an item.
        let mut path = [0; MAX_CONTAINER_DEPTH + 2];
        let depth =
            self.ancestors(parent).zip(&mut path).map(|(container, place)| *place = container).count();
        for container in path[..depth].iter().rev() {
            let lengths = (rest.len(), first.len());
            match self.containers[*container].kind {
                ContainerKind::Quote if std::mem::take(&mut is_tag) => continue,
                ContainerKind::Quote => {
                    rest.push_str("> ");
                    first.push_str("> ");
                }
                ContainerKind::List { .. } => continue,
                ContainerKind::Item { number } => {
                    match number {
                        Some(number) => {
                            push_number(number, first);
                            first.push_str(". ");
                        }
                        None => first.push_str(markup.bullet()),
                    }
                    let width = first[lengths.1..].chars().count();
                    push_repeated(rest, "                ", width);
                    // Only the first leaf of an item has its mark.
                    if self.first_leaf.get(*container).is_some_and(|first| *first < at) {
                        first.truncate(lengths.1);
                        first.push_str(&rest[lengths.0..]);
                    }
                }
            }
            if rest.len() > self.limit / 4 {
                rest.truncate(lengths.0);
                first.truncate(lengths.1);
                break;
            }
        }
    }

    /// What is written between a leaf and the one before it, without the prefix of its first line.
    pub(crate) fn separator(&self, leaf: usize) -> Cow<'static, str> {
        self.separator_in(leaf, self.markup)
    }

    /// The same as another markup writes it.
    #[inline]
    pub(crate) fn separator_in(&self, leaf: usize, markup: BodyMarkup) -> Cow<'static, str> {
        match self.leaves[leaf].shared_container {
            Some(container) => self.separator_within(container, markup),
            None => "\n\n".into(),
        }
    }

    fn separator_within(&self, container: usize, markup: BodyMarkup) -> Cow<'static, str> {
        let is_tight =
            |at: usize| matches!(self.containers[at].kind, ContainerKind::List { tight: true, .. });
        if is_tight(container) || self.containers[container].parent.is_some_and(is_tight) {
            return "\n".into();
        }
        let LinePrefixes { rest, .. } = self.prefixes(Some(container), usize::MAX, markup);
        format!("\n{}\n", rest.trim_end()).into()
    }

    /// The innermost container around two leaves, given the parent of each.
    pub(super) fn innermost_shared(&self, before: Option<usize>, after: Option<usize>) -> Option<usize> {
        let (mut a, mut b) = (before?, after?);
        while a != b {
            // Leave the deeper one: what both share is around it.
            if self.containers[a].depth >= self.containers[b].depth {
                a = self.containers[a].parent?;
            } else {
                b = self.containers[b].parent?;
            }
        }
        Some(a)
    }
}

/// Appends a number in decimal. Half of all items have one, and `format!` is slower.
fn push_number(number: u64, out: &mut String) {
    let mut digits = [0; MAX_U64_DIGITS];
    let (mut rest, mut first) = (number, digits.len());
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = (rest % 10) as u8;
        rest /= 10;
    }
    out.extend(digits[first..].iter().map(|digit| char::from(b'0' + digit)));
}
