//! A document as pages of text cells: the request, then the text of each part, then the files.
//!
//! The first page begins with what matters first, large: who asks, to whom, on which channel. A short text is enlarged if all of
//! it fits one page so.
//!
//! Every field except hashes appears in full on some page. One function both counts the pages and draws one, so every
//! page that is counted can be drawn. A field's content cannot imitate the labels that this module writes: a label
//! starts a row, while a continued field starts each further row with a space; a large fact stands alone in its row, in a style that
//! no label has; a part's number is in the first row, where the part's text never is.
//!
//! `gatepost_chunk` decides where lines break; this module makes sure that all of them are shown. A line that is too wide
//! continues in the next row, and a page that is too long continues on the next page.

use core::fmt::{self, Write as _};

use gatepost_link::document::{Document, Part, Target};
use heapless::Vec;

use super::{
    escape::{self, Script},
    geometry::{Geometry, MAX_ROWS},
    pictogram::Pictogram,
    row::{Line, Row, Size, Style},
};

/// How many bytes of a file's hash are shown.
const SHOWN_HASH_BYTES: usize = 8;
/// How much a short text is enlarged.
const ENLARGED: usize = 2;
/// A text that takes more pages so is not enlarged: each page is a press.
const ENLARGED_PAGES: usize = 2;
/// Behind which characters an address is broken, first behind these and then behind those.
const BREAKS: [&[char]; 2] = [&[' ', ':', '@', '/'], &['.', '-', '_']];

/// One page, and the number of all pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// Pages of the whole document; at least 1.
    pub count: u16,
    /// The section of the page: `request`, `text` or `files`.
    pub title: &'static str,
    /// The page's rows.
    pub rows: Vec<Row, MAX_ROWS>,
}

/// Lays out `document` and keeps page number `wanted`, counted from 1. With 0 it only counts the pages.
pub fn lay_out(document: &Document<'_>, geometry: Geometry, wanted: u16) -> Sheet {
    let mut layout = Layout {
        geometry,
        wanted,
        marker: None,
        used: 0,
        title: "",
        sheet: Sheet { count: 0, title: "", rows: Vec::new() },
    };
    layout.request(document);
    for (index, part) in document.parts.iter().enumerate() {
        layout.part(index + 1, document.parts.len(), part);
    }
    layout.files(document);
    layout.sheet
}

struct Layout {
    geometry: Geometry,
    wanted: u16,
    /// The first row of every page of the current part.
    marker: Option<Line>,
    /// Rows taken on the current page.
    used: usize,
    title: &'static str,
    sheet: Sheet,
}

impl Layout {
    fn request(&mut self, document: &Document<'_>) {
        self.page("request");
        let sizes = Size::all(self.geometry);
        self.fact(sizes, "agent: ", document.agent, Script::Human, Some(Pictogram::AGENT));
        // A small page has room for the three facts alone.
        let verb_first = self.geometry.is_large() || !document.also.is_empty();
        if verb_first {
            self.field("wants to: ", document.action, Script::Machine);
        }
        if document.also.is_empty() {
            document.targets().for_each(|target| self.head(&target));
        } else {
            self.list(document);
        }
        if !verb_first {
            self.field("wants to: ", document.action, Script::Machine);
        }
        if document.also.is_empty() {
            document.targets().for_each(|target| self.details(&target));
        }
        match document.origin {
            Some(origin) => self.field("from: ", origin, Script::Machine),
            None => self.label(format_args!("in no conversation")),
        }
        if let Some(message) = document.reply_to {
            self.field("answers: ", message, Script::Machine);
        }
        for option in &document.options {
            self.field("option: ", option, Script::Human);
        }
        if document.parts.len() != 1 {
            self.label(format_args!("parts: {}", document.parts.len()));
        }
        if !document.attachments.is_empty() {
            self.label(format_args!("files: {}", document.attachments.len()));
        }
    }

    /// The only target as a person knows it, and its channel.
    fn head(&mut self, target: &Target<'_>) {
        let (value, script) = match target.known_as {
            Some(name) => (name, Script::Human),
            None => (target.address, Script::Machine),
        };
        let sizes = Size::all(self.geometry);
        self.fact(sizes, "to: ", value, script, None);
        // Below a long one a smaller channel leaves room for all there is to know, as a rule.
        let cells: usize = value.chars().map(|c| script.glyph(c).width()).sum();
        let is_long = cells > Size::Two.columns(self.geometry, false);
        let sizes = if is_long { sizes.strip_prefix(&[Size::Three]).unwrap_or(sizes) } else { sizes };
        let pictogram = Pictogram::of_channel(target.channel);
        self.fact(sizes, "channel: ", target.channel, Script::Machine, Some(pictogram));
    }

    /// What else there is to know of it.
    fn details(&mut self, target: &Target<'_>) {
        match target.known_as {
            Some(_) => self.field("in address book: ", target.address, Script::Machine),
            None => self.note(format_args!("not in address book")),
        }
        self.field("account: ", target.account, Script::Machine);
        if let Some(thread) = target.thread {
            self.field("thread: ", thread, Script::Machine);
        }
    }

    /// Several targets, one as important as the other.
    fn list(&mut self, document: &Document<'_>) {
        let of = document.targets().count();
        let mut all = Line::new();
        write!(all, "{of} targets").expect("a number and a word fit a line");
        self.fact(Size::all(self.geometry), "to: ", &all, Script::Machine, None);
        for (target, number) in document.targets().zip(1..) {
            self.note(format_args!("TARGET {number} of {of}"));
            self.field("channel: ", target.channel, Script::Machine);
            self.field("account: ", target.account, Script::Machine);
            self.field("to: ", target.address, Script::Machine);
            match target.known_as {
                Some(name) => self.field("known here as: ", name, Script::Human),
                None => self.own(format_args!("not in address book"), Style::Plain),
            }
            if let Some(thread) = target.thread {
                self.field("thread: ", thread, Script::Machine);
            }
        }
        self.note(format_args!("FOR ALL {of} TARGETS"));
    }

    fn part(&mut self, number: usize, of: usize, part: &Part<'_>) {
        let mut rows = self.geometry.body_rows();
        if of > 1 {
            let mut marker = Line::new();
            write!(marker, "-- part {number} of {of} --").expect("a marker fits a line");
            self.marker = Some(marker);
            rows -= 1;
        }
        let columns = self.geometry.columns();
        let pages = |scale| gatepost_chunk::pages(part.text, columns / scale, rows / scale, escape::width);
        let enlarged = self.geometry.is_large() && pages(ENLARGED).nth(ENLARGED_PAGES).is_none();
        let (scale, style) =
            if enlarged { (ENLARGED, Style::Large(ENLARGED as u8)) } else { (1, Style::Plain) };
        let mut shown = false;
        for page in pages(scale) {
            shown = true;
            self.page("text");
            for line in page.lines() {
                self.flow(("", ""), line, Script::Human, columns / scale, style);
            }
        }
        if !shown {
            self.page("text");
            self.label(format_args!("(no text)"));
        }
        self.marker = None;
    }

    fn files(&mut self, document: &Document<'_>) {
        if document.attachments.is_empty() {
            return;
        }
        self.page("files");
        match document.attachments.len() {
            1 => self.note(format_args!("1 file NOT SHOWN")),
            count => self.note(format_args!("{count} files NOT SHOWN")),
        }
        for file in &document.attachments {
            self.field("name: ", file.name, Script::Human);
            self.field("type: ", file.kind, Script::Machine);
            self.label(format_args!("size: {} bytes", file.size));
            let mut hash = Line::new();
            for byte in &file.digest.0[..SHOWN_HASH_BYTES] {
                write!(hash, "{byte:02x}").expect("16 digits fit a line");
            }
            self.field("sha: ", &hash, Script::Machine);
        }
    }

    /// A row with our own words.
    fn label(&mut self, words: fmt::Arguments<'_>) {
        self.own(words, Style::Quiet);
    }

    /// A highlighted row with our own words.
    fn note(&mut self, words: fmt::Arguments<'_>) {
        self.own(words, Style::Note);
    }

    fn own(&mut self, words: fmt::Arguments<'_>, style: Style) {
        let mut line = Line::new();
        line.write_fmt(words).expect("labels are short");
        self.flow(("", " "), &line, Script::Machine, self.geometry.columns(), style);
    }

    /// A field of the document, after its label.
    fn field(&mut self, label: &str, value: &str, script: Script) {
        let cells = u8::try_from(label.len()).expect("labels are short");
        self.flow((label, " "), value, script, self.geometry.columns(), Style::Field(cells));
    }

    /// A field that matters first: as large as it fits a row, on a large screen two; otherwise as any other.
    fn fact(
        &mut self,
        sizes: &[Size],
        label: &str,
        value: &str,
        script: Script,
        pictogram: Option<Pictogram>,
    ) {
        let half = Size::Two.columns(self.geometry, pictogram.is_some());
        let (mut line, mut used) = (Line::new(), 0);
        // Where the first of two rows can end, in bytes and cells: the last is where it is full.
        let mut ends = [None; BREAKS.len() + 1];
        for c in value.chars() {
            let glyph = script.glyph(c);
            used += glyph.width();
            if used > 2 * half || write!(line, "{glyph}").is_err() {
                return self.field(label, value, script);
            }
            if used <= half {
                let at = BREAKS.iter().position(|breaks| breaks.contains(&c)).unwrap_or(BREAKS.len());
                (ends[at], ends[BREAKS.len()]) = (Some((line.len(), used)), Some((line.len(), used)));
            }
        }
        if used == 0 {
            return self.field(label, value, script);
        }
        if let Some(row) = Row::fact(sizes, self.geometry, label, &line, pictogram) {
            return self.row(row);
        }
        let end = ends.into_iter().flatten().find(|(_, cells)| used - cells <= half);
        let rows = end.filter(|_| self.geometry.is_large()).and_then(|(end, _)| {
            let (first, second) = line.split_at(end);
            // What continues a field never begins a row.
            let row = |label, text| Row::fact(&[Size::Two], self.geometry, label, text, pictogram);
            row(label, first).zip(row(" ", second))
        });
        match rows {
            Some((first, second)) => {
                self.row(first);
                self.row(second);
            }
            None => self.field(label, value, script),
        }
    }

    /// Writes a label and `text`, glyph by glyph, in rows of so many cells; each further row begins with the indent.
    fn flow(
        &mut self,
        (label, indent): (&str, &str),
        text: &str,
        script: Script,
        columns: usize,
        mut style: Style,
    ) {
        let mut line = Line::new();
        line.push_str(label).expect("labels are short");
        let mut used = label.len();
        for glyph in text.chars().map(|c| script.glyph(c)) {
            if used + glyph.width() > columns {
                self.row(Row { text: core::mem::take(&mut line), style });
                if let Style::Field(_) = style {
                    style = Style::Plain;
                }
                line.push_str(indent).expect("an indent is short");
                used = indent.len();
            }
            used += glyph.width();
            write!(line, "{glyph}").expect("cells within the columns fit a line");
        }
        self.row(Row { text: line, style });
    }

    fn row(&mut self, row: Row) {
        if self.used + row.height() > self.geometry.body_rows() {
            self.page(self.title);
        }
        self.used += row.height();
        if self.sheet.count == self.wanted {
            self.sheet.rows.push(row).expect("a page has at most MAX_ROWS rows");
        }
    }

    fn page(&mut self, title: &'static str) {
        self.title = title;
        self.sheet.count = self.sheet.count.saturating_add(1);
        self.used = 0;
        if self.sheet.count == self.wanted {
            self.sheet.title = title;
        }
        if let Some(marker) = self.marker.clone() {
            self.row(Row { text: marker, style: Style::Quiet });
        }
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::{
        Digest,
        document::{Also, MAX_TEXT, Target},
    };
    use proptest::prelude::*;
    use std::{format, string::String, vec};

    use super::*;
    use crate::testing;

    fn all_pages(document: &Document<'_>, geometry: Geometry) -> vec::Vec<vec::Vec<String>> {
        let count = lay_out(document, geometry, 0).count;
        (1..=count)
            .map(|page| {
                lay_out(document, geometry, page).rows.iter().map(|row| row.text.as_str().into()).collect()
            })
            .collect()
    }

    fn glyphs(text: &str, script: Script) -> String {
        text.chars().map(|c| format!("{}", script.glyph(c))).collect()
    }

    fn squeezed(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    #[test]
    fn a_value_cannot_pass_for_a_label() {
        let mut document = testing::document();
        document.agent = "engineer      to: safe";
        let rows = all_pages(&document, Geometry::SMALL).concat();
        assert_eq!(rows[..2], ["agent: engineer      ", " to: safe"]);
        document.agent = "x\nto: safe";
        let rows = all_pages(&document, Geometry::SMALL).concat();
        assert_eq!(rows[..2], ["agent: x<U+000A>to: s", " afe"]);
        // Nor where it is large, in one row or in two.
        document.agent = "engineer";
        document.known_as = None;
        for (address, shown) in [
            ("x                  to: safe", ["to: x                  ", " to: safe"]),
            ("!kitchen:example.org\nto: safe", ["to: !kitchen:example.", " org<U+000A>to: safe"]),
        ] {
            document.address = address;
            let rows = all_pages(&document, Geometry::LARGE).concat();
            assert_eq!(rows[2..4], shown);
        }
    }

    #[test]
    fn the_number_of_a_part_stands_above_each_of_its_pages() {
        let text = "line\n".repeat(20);
        let mut document = testing::document();
        document.parts[0].text = &text;
        document.parts.push(document.parts[0].clone()).unwrap();
        let pages = all_pages(&document, Geometry::SMALL);
        let marked = |marker: &str| pages.iter().filter(|page| page[0] == marker).count();
        assert_eq!((marked("-- part 1 of 2 --"), marked("-- part 2 of 2 --")), (4, 4));
    }

    #[test]
    fn a_part_without_text_says_so() {
        let mut document = testing::document();
        document.parts[0].text = "";
        assert_eq!(all_pages(&document, Geometry::SMALL).last().unwrap(), &["(no text)"]);
    }

    #[test]
    fn a_card_begins_with_who_asks_to_whom_and_where_as_large_as_they_fit() {
        let facts = |document: &Document<'_>, geometry| {
            let style = |row: &Row| match row.style {
                Style::Fact { size, .. } => Some((row.text.clone(), size)),
                _ => None,
            };
            lay_out(document, geometry, 1).rows.iter().filter_map(style).collect::<vec::Vec<_>>()
        };
        let mut document = testing::document();
        for (geometry, size) in [(Geometry::LARGE, Size::Three), (Geometry::SMALL, Size::Two)] {
            let expected = ["agent: engineer", "to: Family", "channel: matrix"];
            let shown = facts(&document, geometry);
            assert_eq!(shown.iter().map(|(text, _)| text.as_str()).collect::<vec::Vec<_>>(), expected);
            assert!(shown.iter().all(|(_, of)| *of == size), "{shown:?}");
        }
        document.known_as = None;
        let rows = &lay_out(&document, Geometry::LARGE, 1).rows;
        assert!(rows.iter().any(|row| row.style == Style::Note && row.text == "not in address book"));
        let shown = facts(&document, Geometry::LARGE);
        assert_eq!((shown[1].0.as_str(), shown[2].0.as_str()), ("to: !kitchen:", " example.org"));
        assert!(shown[1..3].iter().all(|(_, of)| *of == Size::Two), "both rows are as large");
        assert_eq!(facts(&document, Geometry::SMALL).len(), 2, "too long for a small screen to be large");
    }

    #[test]
    fn a_short_text_is_enlarged_and_a_longer_one_is_not() {
        let styles = |text: &str, geometry| {
            let mut document = testing::document();
            document.parts[0].text = text;
            let last = lay_out(&document, geometry, lay_out(&document, geometry, 0).count);
            last.rows.iter().map(|row| row.style).collect::<vec::Vec<_>>()
        };
        let fills = "a line\n".repeat(12);
        assert_eq!(styles(fills.trim_end(), Geometry::LARGE), [Style::Large(2); 6]);
        assert!(styles(&fills.repeat(2), Geometry::LARGE).iter().all(|style| *style == Style::Plain));
        assert_eq!(styles("The door code is 4711.", Geometry::SMALL), [Style::Plain; 2]);
    }

    #[test]
    fn every_target_is_shown_whole_and_behind_its_number() {
        let mut document = testing::document();
        let target = |address, known_as, thread| Target {
            channel: "telegram",
            account: "work",
            address,
            known_as,
            thread,
        };
        for target in [target("-100123", None, Some("7")), target("@anns_channel", Some("Ann's"), None)] {
            document.also.push(Also { target, wires: Digest([9; 32]) }).unwrap();
        }
        let rows = all_pages(&document, Geometry::SMALL).concat().join("|");
        for shown in [
            "agent: engineer|wants to: send|to: 3 targets|TARGET 1 of 3|channel: matrix|account: home|to: !kitchen:example.|",
            "|TARGET 2 of 3|channel: telegram|account: work|to: -100123|not in address book|thread: 7|",
            "|TARGET 3 of 3|channel: telegram|account: work|to: @anns_channel|known here as: Ann's|FOR ALL 3 TARGETS|",
        ] {
            assert!(rows.contains(shown), "{shown} in {rows}");
        }
        // Nothing that a field says begins a row.
        document.also[0].target.address = "x\nTARGET 3 of 3";
        let rows = all_pages(&document, Geometry::SMALL).concat();
        assert_eq!(rows.iter().filter(|row| *row == "TARGET 3 of 3").count(), 1);
    }

    #[test]
    fn one_cluster_wider_than_the_screen_is_shown_whole() {
        let text = format!("e{}", "\u{301}".repeat(50));
        let mut document = testing::document();
        document.parts[0].text = &text;
        let rows = all_pages(&document, Geometry::SMALL).concat().concat();
        assert_eq!(rows.matches("<U+0301>").count(), 50);
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-z ]{1,12}",
            2 => Just(String::from("\n")),
            1 => Just(String::from("\r\n")),
            2 => any::<char>().prop_map(String::from),
            1 => Just(String::from("e\u{301}\u{302}👩‍👩‍👧")),
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_character_of_the_text_is_on_some_page_and_every_page_fits(
            first in text(), second in text(), large: bool,
        ) {
            let geometry = if large { Geometry::LARGE } else { Geometry::SMALL };
            let mut document = testing::document();
            document.parts[0].text = &first;
            document.parts.push(Part { text: &second, wire: Digest([0; 32]), wire_alt: None }).unwrap();
            let pages = all_pages(&document, geometry);
            for page in &pages {
                prop_assert!(page.len() <= geometry.body_rows());
                for line in page {
                    prop_assert!(line.chars().count() <= geometry.columns(), "{line:?}");
                }
            }
            for (number, text) in [(1, &first), (2, &second)] {
                let marker = format!("-- part {number} of 2 --");
                let shown: String =
                    pages.iter().filter(|page| page[0] == marker).map(|page| page[1..].concat()).collect();
                let lines = text.replace("\r\n", "\n");
                let expected: String =
                    lines.split('\n').map(|line| squeezed(&glyphs(line, Script::Human))).collect();
                let expected = if shown == "(no text)" { squeezed(&shown) } else { expected };
                prop_assert_eq!(squeezed(&shown), expected);
            }
        }

        #[test]
        fn every_field_is_on_some_page_whole(
            agent in "\\PC{0,60}", address in ".{0,200}", name in ".{0,60}", option in ".{0,60}", file in ".{0,90}",
            large: bool,
        ) {
            let geometry = if large { Geometry::LARGE } else { Geometry::SMALL };
            let mut document = testing::document_with_files();
            document.agent = &agent;
            document.address = &address;
            document.known_as = Some(&name);
            document.options.clear();
            document.options.push(&option).unwrap();
            document.attachments[0].name = &file;
            let rows = squeezed(&all_pages(&document, geometry).concat().concat());
            for (label, value, script) in [
                ("agent:", &agent, Script::Human),
                ("inaddressbook:", &address, Script::Machine),
                ("to:", &name, Script::Human),
                ("option:", &option, Script::Human),
                ("name:", &file, Script::Human),
            ] {
                let expected = format!("{label}{}", squeezed(&glyphs(value, script)));
                prop_assert!(rows.contains(&expected), "{expected:?} in {rows:?}");
            }
        }
    }

    #[test]
    fn the_longest_text_of_the_worst_characters_still_lays_out() {
        let text = "\u{1}".repeat(MAX_TEXT);
        let mut document = testing::document();
        document.parts[0].text = &text;
        let rows = all_pages(&document, Geometry::SMALL).concat().concat();
        assert_eq!(rows.matches("<U+0001>").count(), MAX_TEXT);
    }
}
