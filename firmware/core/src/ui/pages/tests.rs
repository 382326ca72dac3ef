//! What is on the pages of documents: all of it, in the order of its weight, and nothing that passes for a label.

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
