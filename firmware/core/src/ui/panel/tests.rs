//! Cards and pairings on a display that is absent, fails at one flush or at all, and works again.

use std::{cell::RefCell, rc::Rc, vec, vec::Vec};

use embedded_graphics_core::geometry::Size;
use gatepost_link::{decision::Verdict, frame::Up, session::SessionHash};

use super::*;
use crate::{
    Button::{Approve, Deny},
    Edge::{Pressed, Released},
    Geometry, Settings,
    testing::{
        Bench, HUB, Memory,
        display::{Cable, MockDisplay},
        document,
    },
    ui::{
        buttons::HOLD,
        framebuffer::{FramebufferDisplay, GraphicsCard},
    },
};

/// Displays by their pixels, and the cells that fit on them: what boards have, odd sizes, and what a terminal gives from the
/// smallest that is taken to the largest.
fn panels() -> Vec<(Geometry, Size)> {
    let boards = [
        (Geometry::SMALL, Size::new(128, 64)),
        (Geometry::new(30, 8), Size::new(240, 135)),
        (Geometry::new(30, 15), Size::new(240, 240)),
        (Geometry::LARGE, Size::new(320, 240)),
    ];
    let odd = [
        (Geometry::new(23, 7), Size::new(143, 61)),
        (Geometry::new(37, 11), Size::new(301, 179)),
        (Geometry::new(21, 13), Size::new(169, 211)),
    ];
    let terminals = [(0, 0), (20, 15), (40, 5), (39, 14), (u8::MAX, u8::MAX)];
    let terminals = terminals.map(|(columns, rows)| Geometry::new(columns, rows));
    let pixels = |cells: Geometry| Size::new(cells.columns() as u32 * 8, cells.rows() as u32 * 16);
    let terminals = terminals.map(|geometry| (geometry, pixels(geometry)));
    boards.into_iter().chain(odd).chain(terminals).collect()
}

/// A device with an open card, and the cable of its display, which may be unplugged from the start.
fn fixture(geometry: Geometry, unplugged: bool) -> (Bench, Rc<RefCell<Cable>>) {
    let size = panels().into_iter().find(|(of, _)| *of == geometry).expect("a panel of this geometry").1;
    let (display, cable) = MockDisplay::sized(size);
    cable.borrow_mut().unplugged = unplugged;
    let mut bench = Bench::with(geometry, Memory::default(), Settings::default());
    bench.panel = Some(Panel::new(display));
    bench.draw();
    bench.connect();
    bench.offer(&document());
    bench.draw();
    (bench, cable)
}

/// Short presses, more than there are pages, and a hold.
fn press_blindly(bench: &mut Bench) {
    (0..6).for_each(|_| bench.press(Approve, 100));
    bench.press(Approve, 2 * HOLD);
}

fn displays(bench: &Bench) -> Vec<bool> {
    let said = |up: &Up| match up {
        Up::Display { works } => Some(*works),
        _ => None,
    };
    bench.sent.iter().filter_map(said).collect()
}

#[test]
fn without_a_display_nothing_is_approved_and_the_hub_is_told() {
    for (geometry, _) in panels() {
        let (mut bench, cable) = fixture(geometry, true);
        press_blindly(&mut bench);
        assert!(bench.decisions().is_empty());
        assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1 && !card.armed));
        assert_eq!(displays(&bench), [false], "once, and not with every attempt");
        let (took, starts) = (bench.now - 1_000, cable.borrow().starts as u64);
        assert!((2..=took / RESTART_INTERVAL_MS + 2).contains(&starts), "{starts} starts in {took} ms");

        bench.press(Deny, 100);
        assert_eq!(bench.verdicts(), [Verdict::Deny], "denying is always safe");
    }
}

#[test]
fn a_display_that_comes_back_is_started_and_shows_every_page_before_a_hold_counts() {
    for (geometry, _) in panels() {
        let (mut bench, cable) = fixture(geometry, true);
        press_blindly(&mut bench);
        cable.borrow_mut().unplugged = false;
        bench.wait(2 * RESTART_INTERVAL_MS);
        assert_eq!(displays(&bench), [false, true]);
        assert!(cable.borrow().seen.iter().any(|pixel| *pixel));
        let View::Card(card) = bench.screen().view else { panic!("the card is still open") };
        assert_eq!((card.page, card.armed), (1, card.pages == 1));
        bench.read();
        bench.press(Approve, HOLD);
        assert_eq!(bench.verdicts(), [Verdict::Approve]);
    }
}

/// Whichever flush fails, no page is passed over, and what is decided afterwards was shown afterwards.
#[test]
fn after_any_failed_flush_the_page_does_not_count_until_it_is_shown() {
    for (geometry, size) in panels() {
        let (mut whole, cable) = fixture(geometry, false);
        whole.read();
        let flushes = cable.borrow().flushes;
        for fails_at in 0..flushes {
            let (display, cable) = MockDisplay::sized(size);
            cable.borrow_mut().fails_at = Some(fails_at);
            let mut bench = Bench::new(geometry);
            bench.panel = Some(Panel::new(display));
            bench.draw();
            bench.connect();
            bench.offer(&document());
            let mut read = vec![];
            while let View::Card(card) = bench.screen().view {
                if bench.draw() {
                    read.push(card.page);
                } else {
                    bench.press(Approve, 100);
                    let still = matches!(bench.screen().view, View::Card(now) if now.page == card.page);
                    assert!(still || read.contains(&card.page), "flush {fails_at}: a page was passed over");
                    bench.wait(2 * RESTART_INTERVAL_MS);
                    continue;
                }
                if card.page == card.pages {
                    break;
                }
                bench.press(Approve, 100);
            }
            read.dedup();
            let View::Card(card) = bench.screen().view else { panic!("{fails_at}: no card") };
            let all: Vec<u16> = (1..=card.pages).collect();
            assert_eq!(read, all, "flush {fails_at}");
            bench.press(Approve, HOLD);
            assert_eq!(bench.verdicts(), [Verdict::Approve], "flush {fails_at}");
        }
    }
}

#[test]
fn a_display_that_is_unplugged_during_the_hold_ends_it() {
    for (geometry, _) in panels() {
        let (mut bench, cable) = fixture(geometry, false);
        bench.read();
        bench.edge(Approve, Pressed);
        bench.wait(HOLD - 200);
        assert!(bench.screen().hold.is_some());
        cable.borrow_mut().unplugged = true;
        bench.wait(5_000);
        bench.edge(Approve, Released);
        assert!(bench.decisions().is_empty());
        cable.borrow_mut().unplugged = false;
        bench.wait(2 * RESTART_INTERVAL_MS);
        bench.press(Approve, HOLD);
        assert_eq!(bench.verdicts(), [Verdict::Approve], "every page was read before");
    }
}

#[test]
fn a_press_that_began_while_nothing_was_shown_is_no_hold() {
    for (geometry, _) in panels() {
        let (mut bench, cable) = fixture(geometry, false);
        bench.read();
        cable.borrow_mut().unplugged = true;
        bench.wait(2_000);
        bench.edge(Approve, Pressed);
        cable.borrow_mut().unplugged = false;
        bench.wait(5_000);
        bench.edge(Approve, Released);
        assert!(bench.decisions().is_empty());
    }
}

#[test]
fn a_new_session_is_told_whether_the_display_works() {
    for (geometry, _) in panels() {
        let (mut bench, _) = fixture(geometry, true);
        bench.disconnect();
        bench.connect();
        assert_eq!(displays(&bench), [false, false]);
        let (mut bench, _) = fixture(geometry, false);
        bench.disconnect();
        bench.connect();
        assert_eq!(displays(&bench), [true, true]);
    }
}

#[test]
fn before_the_first_drawing_the_hub_is_not_told_of_the_display() {
    let mut bench = Bench::new(Geometry::SMALL);
    bench.app.opening(Millis(0));
    bench.app.connected(Millis(0), HUB, SessionHash([1; 32]));
    assert_eq!((bench.app.next_frame(), bench.app.next_frame()), (Some(Up::Ready), None));
    let screen = bench.screen();
    bench.app.drawn(Millis(1), &screen, true);
    assert_eq!(bench.app.next_frame(), Some(Up::Display { works: true }));
}

#[test]
fn another_screen_does_not_count_as_the_page() {
    let mut bench = Bench::online(Geometry::SMALL);
    let idle = bench.screen();
    bench.silent = true;
    bench.offer(&document());
    bench.app.drawn(bench.millis(), &idle, true);
    let mut other = bench.screen();
    bench.silent = false;
    bench.wait(3_000);
    let page = bench.screen();
    assert!(matches!(page.view, View::Card(_)));
    // A card of the same request with other rows, as an earlier one may have had.
    bench.app.drawn(bench.millis(), &page, false);
    other.view = page.view;
    bench.app.drawn(bench.millis(), &other, true);
    bench.app.button(bench.millis(), Approve, Pressed);
    bench.app.button(bench.millis().after(100), Approve, Released);
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1));
}

#[test]
fn a_display_too_small_for_the_screen_never_counts() {
    for (geometry, _) in panels() {
        // A pixel less than the smaller face's cells take, in either direction.
        let (width, height) = (geometry.columns() as u32 * 6, geometry.rows() as u32 * 8);
        for size in [Size::new(width - 1, 4 * height), Size::new(4 * width, height - 1)] {
            let (display, _) = MockDisplay::sized(size);
            let mut bench = Bench::new(geometry);
            bench.panel = Some(Panel::new(display));
            bench.connect();
            bench.offer(&document());
            press_blindly(&mut bench);
            assert!(bench.decisions().is_empty() && bench.app.display_out(), "{geometry:?} on {size}");
        }
    }
}

#[test]
fn a_display_is_started_for_every_page_in_case_it_was_plugged_in_again() {
    for (geometry, _) in panels() {
        let (mut bench, cable) = fixture(geometry, false);
        let before = cable.borrow().starts;
        bench.read();
        let View::Card(card) = bench.screen().view else { panic!("no card") };
        assert_eq!(cable.borrow().starts - before, usize::from(card.pages) - 1);
    }
}

#[test]
fn every_change_of_a_display_is_logged_once() {
    let (display, cable) = MockDisplay::new(Geometry::SMALL);
    let mut panel = Panel::new(display);
    let screen = Screen::new(Geometry::SMALL, View::Idle);
    let mut log = vec![];
    for now in 0..40 {
        cable.borrow_mut().unplugged = (10..30).contains(&now);
        if now % 4 == 0 {
            let _ = panel.show(Millis(now * 100), &screen, |news| log.push(std::format!("{news}")));
        }
    }
    let out = "the display does not answer: \"the write broke off\"";
    assert_eq!(log, ["the display works", out, "the display works"]);
}

/// A card that is reset, and counts.
#[derive(Default)]
struct Resettable {
    runs: bool,
    absent: bool,
    starts: usize,
    flushes: usize,
}

impl GraphicsCard for &RefCell<Resettable> {
    type Fault = &'static str;

    fn is_running(&self) -> bool {
        self.borrow().runs
    }

    fn start(&mut self) -> Result<&'static mut [u8], &'static str> {
        let mut card = self.borrow_mut();
        card.starts += 1;
        card.runs = !card.absent;
        if card.absent { Err("no card") } else { Ok(vec![0; 128 * 64 * 4].leak()) }
    }

    fn flush(&mut self) -> Result<(), &'static str> {
        self.borrow_mut().flushes += 1;
        Ok(())
    }

    fn not_running() -> &'static str {
        "it does not run"
    }
}

#[test]
fn a_graphics_card_that_is_not_running_is_started_and_not_used_before() {
    let card = RefCell::<Resettable>::default();
    let mut panel = Panel::new(FramebufferDisplay::new(&card, 128, 64));
    let screen = Screen::new(Geometry::SMALL, View::Idle);
    let mut show = |now, screen: &Screen| panel.show(Millis(now), screen, |_| {});
    card.borrow_mut().absent = true;
    assert_eq!(show(0, &screen), Err(NotShown));
    card.borrow_mut().absent = false;
    assert_eq!(show(RESTART_INTERVAL_MS, &screen), Ok(()));
    assert_eq!(show(RESTART_INTERVAL_MS + 1, &screen), Ok(()));
    assert_eq!((card.borrow().starts, card.borrow().flushes), (2, 1), "nothing has changed");
    card.borrow_mut().runs = false;
    assert_eq!(show(1_000, &screen), Err(NotShown), "though there is nothing to show");
    assert_eq!(show(1_000 + RESTART_INTERVAL_MS, &screen), Ok(()));
    assert_eq!((card.borrow().starts, card.borrow().flushes), (3, 2), "all of it again");
    let number = Screen::new(Geometry::SMALL, View::Pairing { code: 1, confirmed: false });
    assert_eq!(show(3_000, &number), Ok(()));
    assert_eq!(card.borrow().starts, 3, "one that runs is not started for what is to be read");
}
