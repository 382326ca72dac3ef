//! Paragraphs and headings.

use crate::cost::Cost;
use crate::document::{Link, Text, TextCow, Texts};
use crate::markup::{Replacement, bold, text_replacements, with_supported_styles, without_styles};
use crate::measure::Measure;

use super::builder::Builder;
use super::model::{Block, MAX_MARKS_UNITS};

/// If fewer units are left for words and their marks, a text loses its styles.
const MIN_UNITS_FOR_STYLES: usize = 24;

/// No character costs more than this many times its bytes.
const MAX_UNITS_PER_BYTE: usize = 8;

/// No character has more attributes than this besides its link.
const MAX_ATTRIBUTES_PER_BYTE: usize = 4;

impl<'a> Builder<'a> {
    pub(super) fn add_text(&mut self, parent: Option<usize>, heading: Option<u8>, text: TextCow<'a>) {
        if text.text().is_blank() {
            return;
        }
        let at = self.layout.leaves.len();
        // The text takes this place once it is known how much room it has.
        self.push(parent, Block::Rule);
        let mut text = self.with_heading(at, heading, self.with_mentions(text));
        let room = self.layout.max_uncut_units(at);
        if self.layout.markup.has_marks() && room < MIN_UNITS_FOR_STYLES {
            text = without_styles(text.text()).into();
        }
        let (text, replacements) = self.with_short_links(text, room);
        self.layout.leaves[at].block = Block::Text { heading, text, replacements };
    }

    /// The text with each mention as the platform writes it, where that has no label.
    fn with_mentions(&self, text: TextCow<'a>) -> TextCow<'a> {
        let markup = self.layout.markup;
        let is_written = |link: &Link| link.person().is_some_and(|id| markup.calls(id));
        match text.text().links().iter().any(is_written) {
            true => Texts::with_mentions(text.text(), |link, label| markup.mention(link, label)).into(),
            false => text,
        }
    }

    /// Writes the mark of a heading into the prefixes of leaf `at`, or makes its text bold.
    fn with_heading(&mut self, at: usize, heading: Option<u8>, text: TextCow<'a>) -> TextCow<'a> {
        let Some(level) = heading else { return text };
        let Some(mark) = self.layout.markup.heading_mark(level) else { return bold(text.text()).into() };
        self.prefixes.rest.push_str(mark);
        self.prefixes.first.push_str(mark);
        let (prefix, first_prefix) = self.store_prefixes();
        let leaf = &mut self.layout.leaves[at];
        (leaf.prefix, leaf.first_prefix) = (prefix, first_prefix);
        leaf.units_before += mark.len();
        text
    }

    /// The text with the styles that the platform recognises and only those links that fit in a part, and its replacements.
    fn with_short_links(&self, text: TextCow<'a>, room: usize) -> (TextCow<'a>, Vec<Replacement>) {
        let markup = self.layout.markup;
        let text = with_supported_styles(markup, text);
        let replacements = text_replacements(markup, text.text(), room);
        let measure = Measure::new(markup, self.layout.unit, 0);
        let limit = Cost { units: room, ..self.layout.part_limits() };
        let is_too_long = |link: &Link| is_too_long(link, &measure, text.text(), &replacements, limit);
        if !text.text().links().iter().any(is_too_long) {
            return (text, replacements);
        }
        let text = with_supported_styles(markup, Texts::without_links(text.text(), is_too_long).into());
        let replacements = text_replacements(markup, text.text(), room);
        (text, replacements)
    }
}

/// Whether a link does not fit in a part.
fn is_too_long(
    link: &Link,
    measure: &Measure,
    text: Text<'_>,
    replacements: &[Replacement],
    limit: Cost,
) -> bool {
    let range = &link.range;
    let max_units = MAX_UNITS_PER_BYTE * (range.len() + link.url.len()) + MAX_MARKS_UNITS;
    let max_entities = MAX_ATTRIBUTES_PER_BYTE * range.len();
    if max_units < limit.units.min(limit.markup_bytes) && max_entities < limit.entities {
        return false;
    }
    let cost = measure.opening(text, replacements, range.start)
        + measure.inside(text, replacements, range.clone())
        + measure.closing(text, range.end);
    !cost.fits(limit)
}
