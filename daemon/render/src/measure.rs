//! What text costs once it is written, found out without writing it.
//!
//! The cost of a range is the sum of the costs of its pieces, of the marks between them, and of the marks to open at its
//! beginning and to close at its end; so any run of pieces is priced in constant time, to the unit.

use std::cell::Cell;
use std::ops::{Add, AddAssign, Range, Sub};

use gatepost_chunk::Unit;

use super::escape::{self, Swap};
use super::glance::are_letters;
use super::look::{Look, Tag};
use super::pen::Pen;
use super::text::{Text, first_not};

/// Whether a slice is all letters is asked of those that have no more bytes.
const SHORT: usize = 20;

/// What a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cost {
    /// Units of the part's limit.
    pub(super) units: usize,
    /// Entities that begin.
    pub(super) tags: usize,
    /// Bytes of markup.
    pub(super) markup: usize,
}

impl Cost {
    #[inline]
    pub(super) const fn units(units: usize) -> Self {
        Self { units, tags: 0, markup: 0 }
    }

    #[inline]
    pub(super) fn fits(self, most: Self) -> bool {
        self.units <= most.units && self.tags <= most.tags && self.markup <= most.markup
    }
}

impl Add for Cost {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self {
            units: self.units + other.units,
            tags: self.tags + other.tags,
            markup: self.markup + other.markup,
        }
    }
}

impl AddAssign for Cost {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cost {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self {
            units: self.units - other.units,
            tags: self.tags - other.tags,
            markup: self.markup - other.markup,
        }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

/// Prices text as one leaf writes it.
pub(super) struct Measure {
    pub(super) pen: Pen,
    pub(super) unit: Unit,
    /// What each line break costs besides itself.
    pub(super) newline: usize,
    /// The link that was priced last: that is asked for at each of its edges, and lies elsewhere than the text.
    link: Cell<Option<(usize, LinkPrice)>>,
}

/// What goes before and behind the label of a link.
#[derive(Debug, Clone, Copy, Default)]
struct LinkPrice {
    open: Cost,
    close: Cost,
}

impl Measure {
    /// For one text.
    pub(super) fn new(pen: Pen, unit: Unit, newline: usize) -> Self {
        Self { pen, unit, newline, link: Cell::default() }
    }

    /// What `range` costs as it stands, with its swaps and with indentation behind its line breaks.
    pub(super) fn slice(&self, all: &str, swaps: &[Swap], range: Range<usize>) -> Cost {
        let slice = &all[range.clone()];
        // So most words are priced.
        if swaps.is_empty() && slice.len() <= SHORT && are_letters(slice) {
            return Cost::units(slice.len());
        }
        let breaks = if self.newline == 0 { 0 } else { memchr::memchr_iter(b'\n', slice.as_bytes()).count() };
        let mut cost = Cost::units(self.unit.count(slice) + self.newline * breaks);
        let first = first_not(swaps, |swap| swap.at < range.start);
        for swap in swaps[first..].iter().take_while(|swap| swap.at < range.end) {
            cost.units += self.unit.count(swap.before) + self.unit.count(swap.behind);
            if let Some(instead) = swap.instead {
                cost.units += self.unit.count(instead);
                cost.units -= self.unit.count(&all[swap.at..swap.at + swap.len]);
            }
        }
        cost.markup = self.references(slice);
        cost
    }

    /// Whether any stretch of `all` costs its bytes and nothing else.
    pub(super) fn is_simple(&self, all: &str, swaps: &[Swap]) -> bool {
        let has_breaks = || self.newline > 0 && all.contains('\n');
        swaps.is_empty() && all.is_ascii() && self.references(all) == 0 && !has_breaks()
    }

    /// The bytes of character references in `slice`, besides the signs that they stand for.
    #[inline]
    pub(super) fn references(&self, slice: &str) -> usize {
        if self.pen != Pen::Telegram {
            return 0;
        }
        // Most text has none, which is seen at a glance.
        let Some(first) = memchr::memchr3(b'&', b'<', b'>', slice.as_bytes()) else { return 0 };
        // Blocks of bytes with sums that fit in one: the compiler makes vector instructions of it.
        let references = |block: &[u8]| {
            let block =
                block.iter().map(|b| u8::from(*b == b'&') * 4 + u8::from(matches!(b, b'<' | b'>')) * 3);
            usize::from(block.sum::<u8>())
        };
        slice.as_bytes()[first..].chunks(32).map(references).sum()
    }

    /// What `range` costs, with the marks inside it.
    pub(super) fn inside(&self, text: Text<'_>, swaps: &[Swap], range: Range<usize>) -> Cost {
        let mut cost = match self.unit {
            // A mark takes a cluster apart.
            Unit::Graphemes => {
                let slices = text.located(range.clone());
                slices.map(|(at, slice, _)| self.slice(text.as_str(), swaps, at..at + slice.len())).sum()
            }
            // All other units are what they are.
            _ => self.slice(text.as_str(), swaps, range.clone()),
        };
        let mut looks = text.looks(range);
        let Some(mut before) = looks.next() else { return cost };
        for look in looks {
            cost += self.change(text, before, look);
            before = look;
        }
        cost
    }

    /// What the marks between the signs on either side of `at` cost.
    pub(super) fn edge(&self, text: Text<'_>, at: usize) -> Cost {
        if text.is_plain() {
            return Cost::default();
        }
        match (text.look_before(at), text.look_at(at)) {
            (Some(before), Some(behind)) => self.change(text, before, behind),
            _ => Cost::default(),
        }
    }

    /// What it costs that a part begins at `at`.
    pub(super) fn opening(&self, text: Text<'_>, swaps: &[Swap], at: usize) -> Cost {
        let mut cost: Cost =
            text.look_at(at).into_iter().flat_map(Look::tags).map(|tag| self.open(text, tag)).sum();
        cost.units += self.unit.count(start_mark(self.pen, text, swaps, at));
        cost
    }

    /// What it costs that a part ends at `at`.
    pub(super) fn closing(&self, text: Text<'_>, at: usize) -> Cost {
        let look = text.look_before(at).filter(|look| self.counts_end(*look));
        look.into_iter().flat_map(Look::tags).map(|tag| self.close(text, tag)).sum()
    }

    #[inline]
    fn change(&self, text: Text<'_>, before: Look, behind: Look) -> Cost {
        let is_free = before == behind || behind.is_plain() && !self.counts_end(before);
        if is_free { Cost::default() } else { self.marks(text, before, behind) }
    }

    /// What the marks between two different looks cost.
    fn marks(&self, text: Text<'_>, before: Look, behind: Look) -> Cost {
        let shared = before.shared(behind);
        let mut cost = Cost::default();
        if self.counts_end(before) {
            for tag in before.tags_within(shared) {
                cost += self.close(text, tag);
            }
        }
        for tag in behind.tags_within(shared) {
            cost += self.open(text, tag);
        }
        cost
    }

    /// Whether it may cost something that `look` ends: without marks, only the address of a link does. What stands before
    /// a spoiler has nothing behind it.
    #[inline]
    fn counts_end(&self, look: Look) -> bool {
        self.pen.has_marks() || look.link().is_some()
    }

    fn open(&self, text: Text<'_>, tag: Tag) -> Cost {
        match (self.pen, tag) {
            (_, Tag::Link(link)) => self.link(text, link).open,
            (Pen::Telegram, _) => self.html(text, tag),
            (pen, tag) => Cost::units(pen.marks(tag)[0].len()),
        }
    }

    fn close(&self, text: Text<'_>, tag: Tag) -> Cost {
        match tag {
            Tag::Link(link) => self.link(text, link).close,
            tag => Cost::units(self.pen.marks(tag)[1].len()),
        }
    }

    fn html(&self, text: Text<'_>, tag: Tag) -> Cost {
        let html = self.pen.html(text, tag);
        html.map_or(Cost::default(), |html| Cost { units: 0, tags: 1, markup: html.len() })
    }

    fn link(&self, text: Text<'_>, at: usize) -> LinkPrice {
        if let Some((last, price)) = self.link.get()
            && last == at
        {
            return price;
        }
        let Some(link) = text.links().get(at) else { return LinkPrice::default() };
        let [open, close] = <[String; 2]>::from(self.pen.link(text, link)).map(|mark| self.unit.count(&mark));
        let open = if self.pen == Pen::Telegram { self.html(text, Tag::Link(at)) } else { Cost::units(open) };
        let price = LinkPrice { open, close: Cost::units(close) };
        self.link.set(Some((at, price)));
        price
    }
}

/// What goes before text at `at` where a part begins, if nothing does anyway.
pub(super) fn start_mark(pen: Pen, text: Text<'_>, swaps: &[Swap], at: usize) -> &'static str {
    if !pen.has_marks() {
        return "";
    }
    let swap = swaps.get(first_not(swaps, |swap| swap.at < at));
    let is_marked = swap.is_some_and(|swap| swap.at == at && !swap.before.is_empty());
    if is_marked || text.look_at(at).is_some_and(|look| look.has(Tag::Code)) {
        return "";
    }
    escape::at_start(pen, &text.as_str()[at..])
}
