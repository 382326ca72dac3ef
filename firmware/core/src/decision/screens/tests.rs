//! Every screen as text against its golden file, and what changes by itself on a screen at rest.

use std::{string::String, vec::Vec};

use gatepost_link::frame::{Down, Health, Report};

use crate::{
    Geometry,
    testing::{
        self, Bench, framed, golden,
        scenes::{self, REPORT, WELL},
    },
};

#[test]
fn golden_text_of_every_screen() {
    let mut actual: Vec<(String, Vec<u8>)> = Vec::new();
    for geometry in [Geometry::SMALL, Geometry::LARGE, Geometry::TEXT] {
        let name = std::format!("screens-{}x{}", geometry.columns(), geometry.rows());
        let screens: Vec<String> = scenes::all(geometry)
            .iter()
            .map(|(name, screen)| std::format!("{name}\n{}", framed(screen)))
            .collect();
        actual.push((name, screens.join("\n").into_bytes()));
    }
    golden::check("txt", &actual, |golden, actual| golden == actual);
}

#[test]
fn the_clock_on_the_idle_screen_goes_on_with_the_hub_silent() {
    let mut bench = Bench::online(Geometry::SMALL);
    bench.down(&Down::Status(REPORT));
    let shown = |bench: &Bench, text: &str| bench.screen().cells().iter().any(|line| line.trim() == text);
    assert!(shown(&bench, "14:05") && shown(&bench, "last 7 min ago"));
    assert_eq!(bench.app.next_tick(bench.millis()), Some(bench.millis().after(60_000)));
    bench.wait(60_000);
    assert!(shown(&bench, "14:06") && shown(&bench, "last 8 min ago"));
}

#[test]
fn what_a_hub_said_of_itself_is_not_shown_of_the_next_session() {
    for geometry in [Geometry::SMALL, Geometry::LARGE] {
        let mut bench = Bench::online(geometry);
        bench.down(&Down::Status(REPORT));
        bench.down(&Down::Health(WELL));
        let says = |bench: &Bench, text: &str| bench.screen().cells().iter().any(|line| line.contains(text));
        assert!(says(&bench, "all is well") && says(&bench, "matrix") && says(&bench, "7 min ago"));
        bench.disconnect();
        bench.connect();
        assert!(!says(&bench, "all is well") && !says(&bench, "matrix"), "this hub may not tell");
        assert!(says(&bench, "last") && says(&bench, "7 min ago"));
    }
}

/// It hangs on a wall.
#[test]
fn of_what_a_hub_says_no_text_of_others_is_on_the_idle_screen() {
    let mut bench = Bench::online(Geometry::LARGE);
    bench.down(&Down::Status(REPORT));
    let before = bench.screen();
    bench.down(&Down::Health(Health { last_channel: Some("Ann <ann@example.org>"), ..WELL }));
    assert_ne!(bench.screen(), before);
    assert!(!bench.screen().cells().iter().any(|line| line.contains("nn")), "{:?}", bench.screen().cells());
}

#[test]
fn without_a_clock_of_the_hub_none_is_shown() {
    let mut bench = Bench::online(Geometry::SMALL);
    bench.down(&Down::Status(Report { clock_s: None, ..REPORT }));
    assert!(!bench.screen().cells().iter().any(|line| line.contains(':')));
    bench.disconnect();
    assert_eq!(
        bench.app.next_tick(bench.millis()),
        None,
        "nothing changes on the screen of a device offline"
    );
}

#[test]
fn the_first_page_is_the_cards_own_but_for_the_time_that_is_left() {
    for geometry in [Geometry::SMALL, Geometry::LARGE] {
        let document = testing::document();
        let first = super::first_page(&document, geometry);
        // A companion that has just opened its card shows the same rows, and says the same of its buttons.
        let is_own = |own: &crate::Screen| own.body == first.body && own.footer == first.footer;
        assert!(scenes::all(geometry).iter().any(|(_, screen)| is_own(screen)));
        let title = first.header.text.trim_end();
        assert!(title.starts_with("1/") && title.ends_with("request"), "{title}");
        assert!((2..=geometry.rows()).contains(&first.rows().len()), "{}", first.rows().len());
    }
}
