//! A document as pages of text cells: the request, then the text of each part, then the files.
//!
//! Every field except hashes appears in full on some page. One function both counts the pages and draws one, so every
//! page that is counted can be drawn. A field's content cannot imitate the labels that this module writes: a label
//! starts a row, while a continued field starts each further row with a space; a part's number is in the first row, where
//! the part's text never is.
//!
//! `gatepost_chunk` decides where lines break; this module makes sure that all of them are shown. A line that is too wide
//! continues in the next row, and a page that is too long continues on the next page.

use core::fmt::{self, Write as _};

use gatepost_link::document::{Document, Part};
use heapless::Vec;

use super::{
    escape::{self, Script},
    geometry::{Geometry, MAX_ROWS},
    row::{Line, Row, Style},
};

/// How many bytes of a file's hash are shown.
const SHOWN_HASH_BYTES: usize = 8;

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
        self.field("agent: ", document.agent, Script::Human);
        match document.origin {
            Some(origin) => self.field("from: ", origin, Script::Machine),
            None => self.label(format_args!("in no conversation")),
        }
        self.field("does: ", document.action, Script::Machine);
        let of = document.targets().count();
        for (target, number) in document.targets().zip(1..) {
            if of > 1 {
                self.note(format_args!("TARGET {number} of {of}"));
            }
            self.field("channel: ", target.channel, Script::Machine);
            self.field("account: ", target.account, Script::Machine);
            self.field("to: ", target.address, Script::Machine);
            match target.known_as {
                Some(name) => self.field("known here as: ", name, Script::Human),
                None => self.label(format_args!("not in address book")),
            }
            if let Some(thread) = target.thread {
                self.field("thread: ", thread, Script::Machine);
            }
        }
        if of > 1 {
            self.note(format_args!("FOR ALL {of} TARGETS"));
        }
        if let Some(message) = document.reply_to {
            self.field("answers: ", message, Script::Machine);
        }
        for option in &document.options {
            self.field("option: ", option, Script::Human);
        }
        self.label(format_args!("parts: {}", document.parts.len()));
        if !document.attachments.is_empty() {
            self.label(format_args!("files: {}", document.attachments.len()));
        }
    }

    fn part(&mut self, number: usize, of: usize, part: &Part<'_>) {
        let mut rows = self.geometry.body_rows();
        if of > 1 {
            let mut marker = Line::new();
            write!(marker, "-- part {number} of {of} --").expect("a marker fits a line");
            self.marker = Some(marker);
            rows -= 1;
        }
        let mut shown = false;
        for page in gatepost_chunk::pages(part.text, self.geometry.columns(), rows, escape::width) {
            shown = true;
            self.page("text");
            for line in page.lines() {
                self.flow("", line, Script::Human, "", Style::Plain);
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
        self.own(words, Style::Plain);
    }

    /// A highlighted row with our own words.
    fn note(&mut self, words: fmt::Arguments<'_>) {
        self.own(words, Style::Note);
    }

    fn own(&mut self, words: fmt::Arguments<'_>, style: Style) {
        let mut line = Line::new();
        line.write_fmt(words).expect("labels are short");
        self.flow("", &line, Script::Machine, " ", style);
    }

    /// A field of the document, after its label.
    fn field(&mut self, label: &str, value: &str, script: Script) {
        self.flow(label, value, script, " ", Style::Plain);
    }

    /// Writes `label` and `text`, glyph by glyph; each further row begins with `indent`.
    fn flow(&mut self, label: &str, text: &str, script: Script, indent: &str, style: Style) {
        let mut line = Line::new();
        line.push_str(label).expect("labels are short");
        let mut used = label.len();
        for glyph in text.chars().map(|c| script.glyph(c)) {
            if used + glyph.width() > self.geometry.columns() {
                self.row(core::mem::take(&mut line), style);
                line.push_str(indent).expect("an indent is short");
                used = indent.len();
            }
            used += glyph.width();
            write!(line, "{glyph}").expect("cells within the columns fit a line");
        }
        self.row(line, style);
    }

    fn row(&mut self, line: Line, style: Style) {
        if self.used == self.geometry.body_rows() {
            self.page(self.title);
        }
        self.used += 1;
        if self.sheet.count == self.wanted {
            self.sheet.rows.push(Row { text: line, style }).expect("a page has at most MAX_ROWS rows");
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
            self.row(marker, Style::Plain);
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
            "TARGET 1 of 3|channel: matrix|account: home|to: !kitchen:example.|",
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
        ) {
            let mut document = testing::document_with_files();
            document.agent = &agent;
            document.address = &address;
            document.known_as = Some(&name);
            document.options.clear();
            document.options.push(&option).unwrap();
            document.attachments[0].name = &file;
            let rows = squeezed(&all_pages(&document, Geometry::SMALL).concat().concat());
            for (label, value, script) in [
                ("agent:", &agent, Script::Human),
                ("to:", &address, Script::Machine),
                ("knownhereas:", &name, Script::Human),
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
