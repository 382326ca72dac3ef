//! Screens with the device's own messages: a large word or number that can be read across the room, and a sentence or
//! two.
//!
//! They show nothing of a document, and no text from outside.

use core::fmt::Write as _;

use gatepost_link::update::Version;
use heapless::Vec;

use super::{
    geometry::{Geometry, MAX_ROWS},
    pictogram::Pictogram,
    row::{Line, Row, Style},
    screen::Screen,
    view::{Fault, View},
};
use crate::Millis;

/// As many large letters are in a row of the smallest screen.
const MAX_LARGE: usize = 10;
/// A pairing code is below this: it has six digits.
const CODE_LIMIT: u32 = 1_000_000;

/// Puts a title and its explanation in the middle of the screen.
pub fn show_message(screen: &mut Screen, title: &str, pictogram: Pictogram, words: &str) {
    let scale = if screen.geometry.is_large() { 3 } else { 2 };
    centre(screen, Row::big(screen.geometry, title, scale, Some(pictogram)), words);
}

/// Puts `title` with `words` below it in the middle of the screen.
fn centre(screen: &mut Screen, title: Row, words: &str) {
    let geometry = screen.geometry;
    let scale = if geometry.is_large() { 2 } else { 1 };
    let words = wrapped(words, geometry.columns() / usize::from(scale));
    let height = title.height() + words.len() * usize::from(scale);
    let between = usize::from(!words.is_empty() && height < geometry.body_rows());
    let spare = geometry.body_rows().saturating_sub(height + between);
    // If the footer names no buttons, its row is free as well.
    let above = if screen.footer.text.is_empty() { spare.div_ceil(2) } else { spare / 2 };
    (0..above).for_each(|_| screen.push(Row::default()));
    screen.push(title);
    (0..between).for_each(|_| screen.push(Row::default()));
    words.iter().for_each(|words| screen.push(Row { style: Style::Centred(scale), ..Row::plain(words) }));
}

/// Breaks our own words at spaces. None of them is wider than the smallest screen, and all fit the lowest but one row.
fn wrapped(words: &str, columns: usize) -> Vec<&str, MAX_ROWS> {
    let mut lines = Vec::new();
    let mut rest = words;
    while !rest.is_empty() {
        let end = match rest.get(..=columns) {
            Some(most) => most.rfind(' ').unwrap_or(columns),
            None => rest.len(),
        };
        let (line, behind) = rest.split_at(end);
        if lines.push(line).is_err() {
            break;
        }
        rest = behind.trim_start();
    }
    lines
}

/// The screen of a device that is not paired.
pub fn unpaired(geometry: Geometry) -> Screen {
    let mut screen = Screen::new(geometry, View::Unpaired);
    screen.set_header("gatepost", "");
    show_message(&mut screen, "not paired", Pictogram::DEVICE, "At the hub, run gatepost companion pair");
    screen
}

/// The number that both sides of a pairing show, to be confirmed before `deadline`. Only the last six digits of `code`
/// are used.
pub fn pairing(geometry: Geometry, code: u32, now: Millis, deadline: Millis) -> Screen {
    let mut screen = Screen::new(geometry, View::Pairing { code: code % CODE_LIMIT, confirmed: false });
    screen.set_deciding_footer("hold: yes", true, "no", true);
    show_number(&mut screen, code, "The same at the hub?", &countdown(deadline, now));
    screen
}

/// The same number after the person confirmed it on this device: the hub's confirmation is still missing.
pub fn confirmed(geometry: Geometry, code: u32, now: Millis, deadline: Millis) -> Screen {
    let mut screen = Screen::new(geometry, View::Pairing { code: code % CODE_LIMIT, confirmed: true });
    show_number(&mut screen, code, "Now say so there.", &countdown(deadline, now));
    screen
}

fn show_number(screen: &mut Screen, code: u32, words: &str, left: &str) {
    let code = code % CODE_LIMIT;
    screen.set_header("pairing", left);
    let mut digits = Line::new();
    write!(digits, "{:03} {:03}", code / 1_000, code % 1_000).expect("seven characters fit a line");
    let scale = if screen.geometry.is_large() { 5 } else { 3 };
    let digits = Row::big(screen.geometry, &digits, scale, None);
    centre(screen, digits, words);
}

/// The question whether to install new firmware; `armed` if a hold of Approve that begins now does.
pub fn question(geometry: Geometry, version: Version, armed: bool) -> Screen {
    let mut screen = Screen::new(geometry, View::Question { version, armed });
    screen.set_header("update", "");
    screen.set_deciding_footer(if armed { "hold: install" } else { "let go" }, armed, "not now", false);
    let mut name = Line::new();
    write!(name, "{version}").expect("three numbers fit a line");
    if name.len() <= MAX_LARGE {
        show_message(&mut screen, &name, Pictogram::UP, "The new firmware is checked. Install it?");
    } else {
        let mut words = Line::new();
        write!(words, "{name} is checked. Install?").expect("three numbers and a few words fit a line");
        show_message(&mut screen, "update", Pictogram::UP, &words);
    }
    screen
}

/// The screen of a device that restarts with new firmware.
pub fn installing(geometry: Geometry) -> Screen {
    let mut screen = Screen::new(geometry, View::Installing);
    screen.set_header("gatepost", "update");
    show_message(&mut screen, "restart", Pictogram::UP, "Leave it plugged in.");
    screen
}

/// The screen of a device with a fault.
pub fn fault(geometry: Geometry, fault: Fault) -> Screen {
    let mut screen = Screen::new(geometry, View::Fault(fault));
    screen.set_header("gatepost", "error");
    let words = match fault {
        Fault::Storage => "Its keys cannot be read or stored. Set it up anew.",
        Fault::Pairing => "Not paired. Begin again at the hub.",
        Fault::Login => "The hub lets it in no more. Hold both keys 10 s to forget it.",
    };
    show_message(&mut screen, "error", Pictogram::ALERT, words);
    screen
}

/// The time left: `4:59`, or `3h07m` from an hour on.
pub fn countdown(deadline: Millis, now: Millis) -> Line {
    let seconds = deadline.since(now).div_ceil(1_000);
    let mut line = Line::new();
    let written = match seconds {
        0..3_600 => write!(line, "{}:{:02}", seconds / 60, seconds % 60),
        _ => write!(line, "{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    };
    written.expect("a duration fits a line");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_keeps_its_leading_zeros() {
        let screen = pairing(Geometry::SMALL, 4_217, Millis(0), Millis(60_000));
        assert!(screen.cells().iter().any(|line| line.trim() == "004 217"), "{:?}", screen.cells());
    }

    #[test]
    fn our_words_break_at_spaces_and_are_all_there() {
        assert_eq!(wrapped("The hub lets it in no more.", 21), ["The hub lets it in no", "more."]);
        assert_eq!(wrapped("Nobody decided in time.", 19), ["Nobody decided in", "time."]);
        assert_eq!(wrapped("", 19), [""; 0]);
        assert_eq!(
            wrapped("65535.65535.65535", 10),
            ["65535.6553", "5.65535"],
            "wider than any screen's row"
        );
    }

    #[test]
    fn the_longest_version_fits_the_smallest_screen() {
        let most = Version { major: 65_535, minor: 65_535, patch: 65_535 };
        for version in [most, Version { patch: 1, ..Version::default() }] {
            for geometry in [Geometry::SMALL, Geometry::LARGE] {
                let screen = question(geometry, version, true);
                let name = std::format!("{version}");
                assert!(screen.cells().iter().any(|line| line.contains(&name)), "{:?}", screen.cells());
            }
        }
    }
}
