//! Every kind of screen against its golden file. `GATEPOST_GOLDEN=write` writes the files anew, for review in the
//! diff.

use gatepost_link::frame::Down;
use std::{format, path::PathBuf, string::String, vec::Vec};

use crate::{
    Button, Edge, Geometry, Settings, View,
    testing::{Bench, Memory, document, document_with_files, framed},
};

fn golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("GATEPOST_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; GATEPOST_GOLDEN=write writes it", path.display()));
    assert_eq!(actual, expected, "{name}: GATEPOST_GOLDEN=write takes the new screen");
}

fn both(name: &str, screens: impl Fn(Geometry) -> String) {
    for geometry in [Geometry::SMALL, Geometry::LARGE] {
        golden(&format!("{name}-{}x{}.txt", geometry.columns(), geometry.rows()), &screens(geometry));
    }
}

/// All pages of the open card, one below the other.
fn every_page(bench: &mut Bench) -> String {
    let mut pages = Vec::new();
    while let View::Card(card) = bench.screen().view {
        pages.push(framed(&bench.screen()));
        if card.page == card.pages {
            break;
        }
        bench.press(Button::Approve, 100);
    }
    pages.join("\n")
}

#[test]
fn idle() {
    both("idle", |geometry| {
        let mut bench = Bench::online(geometry);
        bench.down(&Down::Status { held: 0, queued: 2, sent: 1_234 });
        framed(&bench.screen())
    });
}

#[test]
fn offline() {
    both("offline", |geometry| framed(&Bench::new(geometry).screen()));
}

#[test]
fn a_card_from_header_to_text() {
    both("card", |geometry| every_page(&mut Bench::with_card(geometry, &document())));
}

#[test]
fn a_card_with_parts_and_files() {
    both("files", |geometry| every_page(&mut Bench::with_card(geometry, &document_with_files())));
}

#[test]
fn a_hold_that_will_approve() {
    both("hold", |geometry| {
        let mut bench = Bench::with_card(geometry, &document());
        bench.read();
        bench.edge(Button::Approve, Edge::Pressed);
        bench.wait(900);
        framed(&bench.screen())
    });
}

#[test]
fn a_card_without_a_link() {
    both("card-offline", |geometry| {
        let mut bench = Bench::with_card(geometry, &document());
        bench.disconnect();
        framed(&bench.screen())
    });
}

#[test]
fn a_decision_sent_and_confirmed() {
    both("approved", |geometry| {
        let mut bench = Bench::with_card(geometry, &document());
        bench.read();
        bench.press(Button::Approve, 1_500);
        let sending = framed(&bench.screen());
        bench.down(&Down::Consumed { request: document().request });
        format!("{sending}\n{}", framed(&bench.screen()))
    });
}

#[test]
fn a_counter_that_cannot_be_stored() {
    both("fault", |geometry| {
        let counter = Memory { broken: true, ..Memory::default() };
        let mut bench = Bench::with(geometry, counter, Settings::default());
        bench.connect();
        bench.offer(&document());
        framed(&bench.screen())
    });
}
