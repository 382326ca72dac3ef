//! What text costs once it is written, computed without writing it.
//!
//! The cost of a range is the sum of the costs of its pieces, of the marks between them, and of the marks to open at its
//! beginning and to close at its end. So any sequence of pieces is priced in constant time, and exactly.

use std::cell::Cell;
use std::ops::Range;

use gatepost_chunk::Unit;

use crate::cost::Cost;
use crate::document::{Attribute, Text, TextStyle};
use crate::html_escape::added_text_bytes;
use crate::markup::{BodyMarkup, Replacement, TelegramTag, marks_around_label, part_start_escape};
use crate::scan::{is_alphanumeric_or_space, partition_near_start};

/// Up to this length, checking a slice for ASCII letters is faster than counting it.
const MAX_SCANNED_SLICE_BYTES: usize = 20;

/// Computes the cost of text as one leaf writes it.
pub(crate) struct Measure {
    pub(crate) markup: BodyMarkup,
    pub(crate) unit: Unit,
    /// What each line break costs in addition to itself.
    pub(crate) newline: usize,
    /// The link that was priced last. Each link is asked for at both of its edges, and its URL is not near the text.
    last_link: Cell<Option<(usize, LinkCost)>>,
}

/// The cost of what is before and after the label of a link.
#[derive(Debug, Clone, Copy, Default)]
struct LinkCost {
    open: Cost,
    close: Cost,
}

impl Measure {
    /// For a single text: the last link is remembered by its index there.
    pub(crate) fn new(markup: BodyMarkup, unit: Unit, newline: usize) -> Self {
        Self { markup, unit, newline, last_link: Cell::default() }
    }

    /// The cost of `range` without marks: its characters, its replacements, and what follows its line breaks.
    pub(crate) fn characters(&self, all: &str, replacements: &[Replacement], range: Range<usize>) -> Cost {
        let slice = &all[range.clone()];
        // Most words are priced here.
        if replacements.is_empty()
            && slice.len() <= MAX_SCANNED_SLICE_BYTES
            && is_alphanumeric_or_space(slice)
        {
            return Cost::units(slice.len());
        }
        let breaks = if self.newline == 0 { 0 } else { memchr::memchr_iter(b'\n', slice.as_bytes()).count() };
        let mut cost = Cost::units(self.unit.count(slice) + self.newline * breaks);
        let first = partition_near_start(replacements, |replacement| replacement.at < range.start);
        for replacement in replacements[first..].iter().take_while(|replacement| replacement.at < range.end) {
            cost.units += self.unit.count(replacement.before) + self.unit.count(replacement.after);
            if let Some(instead) = replacement.instead {
                cost.units += self.unit.count(instead);
                cost.units -= self.unit.count(&all[replacement.at..replacement.at + replacement.len]);
            }
        }
        cost.markup_bytes = self.reference_bytes(slice);
        cost
    }

    /// Whether every byte of `all` costs one unit and nothing else.
    pub(crate) fn is_one_unit_per_byte(&self, all: &str, replacements: &[Replacement]) -> bool {
        let has_breaks = || self.newline > 0 && all.contains('\n');
        replacements.is_empty() && all.is_ascii() && self.reference_bytes(all) == 0 && !has_breaks()
    }

    /// The bytes that character references in `slice` have more than the characters that they stand for.
    #[inline]
    pub(crate) fn reference_bytes(&self, slice: &str) -> usize {
        if self.markup != BodyMarkup::Telegram {
            return 0;
        }
        added_text_bytes(slice)
    }

    /// The cost of `range`, with the marks inside it.
    pub(crate) fn inside(&self, text: Text<'_>, replacements: &[Replacement], range: Range<usize>) -> Cost {
        let mut cost = match self.unit {
            // A mark splits a grapheme cluster, so the slices have to be counted one by one.
            Unit::Graphemes => {
                let slices = text.slices_at(range.clone());
                slices
                    .map(|(at, slice, _)| self.characters(text.as_str(), replacements, at..at + slice.len()))
                    .sum()
            }
            _ => self.characters(text.as_str(), replacements, range.clone()),
        };
        let mut styles = text.styles(range);
        let Some(mut before) = styles.next() else { return cost };
        for style in styles {
            cost += self.style_change(text, before, style);
            before = style;
        }
        cost
    }

    /// The cost of the marks between the characters on either side of `at`.
    pub(crate) fn marks_at(&self, text: Text<'_>, at: usize) -> Cost {
        if text.is_plain() {
            return Cost::default();
        }
        match (text.style_before(at), text.style_at(at)) {
            (Some(before), Some(after)) => self.style_change(text, before, after),
            _ => Cost::default(),
        }
    }

    /// The cost of beginning a part at `at`.
    pub(crate) fn opening(&self, text: Text<'_>, replacements: &[Replacement], at: usize) -> Cost {
        let style = text.style_at(at);
        let mut cost: Cost = style
            .into_iter()
            .flat_map(TextStyle::attributes)
            .map(|attribute| self.open(text, attribute))
            .sum();
        cost.units += self.unit.count(part_start_escape(self.markup, text, replacements, at));
        cost
    }

    /// The cost of ending a part at `at`.
    pub(crate) fn closing(&self, text: Text<'_>, at: usize) -> Cost {
        let style = text.style_before(at).filter(|style| self.closing_may_cost(*style));
        style.into_iter().flat_map(TextStyle::attributes).map(|attribute| self.close(text, attribute)).sum()
    }

    #[inline]
    fn style_change(&self, text: Text<'_>, before: TextStyle, after: TextStyle) -> Cost {
        let is_free = before == after || after.is_plain() && !self.closing_may_cost(before);
        if is_free { Cost::default() } else { self.marks_between(text, before, after) }
    }

    /// The cost of the marks between two different styles.
    fn marks_between(&self, text: Text<'_>, before: TextStyle, after: TextStyle) -> Cost {
        let common = before.common_prefix(after);
        let mut cost = Cost::default();
        if self.closing_may_cost(before) {
            for attribute in before.attributes_from(common) {
                cost += self.close(text, attribute);
            }
        }
        for attribute in after.attributes_from(common) {
            cost += self.open(text, attribute);
        }
        cost
    }

    /// Whether ending `style` may cost something. Without marks, only the URL of a link does: the label of a spoiler stands
    /// before it, and nothing after it.
    #[inline]
    fn closing_may_cost(&self, style: TextStyle) -> bool {
        self.markup.has_marks() || style.link().is_some()
    }

    fn open(&self, text: Text<'_>, attribute: Attribute) -> Cost {
        match (self.markup, attribute) {
            (_, Attribute::Link(link)) => self.link(text, link).open,
            (BodyMarkup::Telegram, _) => tag(text, attribute),
            (markup, attribute) => Cost::units(markup.marks(attribute)[0].len()),
        }
    }

    fn close(&self, text: Text<'_>, attribute: Attribute) -> Cost {
        match attribute {
            Attribute::Link(link) => self.link(text, link).close,
            attribute => Cost::units(self.markup.marks(attribute)[1].len()),
        }
    }

    fn link(&self, text: Text<'_>, at: usize) -> LinkCost {
        if let Some((last, cost)) = self.last_link.get()
            && last == at
        {
            return cost;
        }
        let Some(link) = text.links().get(at) else { return LinkCost::default() };
        let marks = <[String; 2]>::from(marks_around_label(self.markup, text, link));
        let [open, close] = marks.map(|mark| self.unit.count(&mark));
        let open = match self.markup {
            BodyMarkup::Telegram => tag(text, Attribute::Link(at)),
            _ => Cost::units(open),
        };
        let cost = LinkCost { open, close: Cost::units(close) };
        self.last_link.set(Some((at, cost)));
        cost
    }
}

/// The cost of Telegram's tag for `attribute`.
fn tag(text: Text<'_>, attribute: Attribute) -> Cost {
    let tag = TelegramTag::new(text, attribute);
    tag.map_or(Cost::default(), |tag| Cost { units: 0, entities: 1, markup_bytes: tag.bytes() })
}
