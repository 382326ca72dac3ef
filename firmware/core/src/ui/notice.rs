//! Screens with the device's own messages: a large word or number that can be read across the room, and a sentence or
//! two.
//!
//! They show nothing of a document, and no text from outside.

use core::fmt::Write as _;

use gatepost_link::update::Version;

use super::{
    geometry::Geometry,
    row::{Line, Row},
    screen::Screen,
    view::{Fault, View},
};
use crate::Millis;

/// A screen of at least this many rows has room for larger titles.
const TALL_ROWS: usize = 12;
/// As many large letters are in a row of the smallest screen.
const MAX_LARGE: usize = 10;
/// A pairing code is below this: it has six digits.
const CODE_LIMIT: u32 = 1_000_000;

/// Puts a title and its explanation in the middle of the screen.
pub fn show_message(screen: &mut Screen, title: &str, words: &[&str]) {
    let geometry = screen.geometry;
    let scale = if geometry.rows() >= TALL_ROWS { 3 } else { 2 };
    centre(screen, Row::big(geometry, title, scale), words);
}

/// Puts `title` with `words` below it in the middle of the screen.
fn centre(screen: &mut Screen, title: Row, words: &[&str]) {
    let geometry = screen.geometry;
    let height = title.height() + words.len();
    let between = usize::from(!words.is_empty() && height < geometry.body_rows());
    let spare = geometry.body_rows().saturating_sub(height + between);
    // If the footer names no buttons, its row is free as well.
    let above = if screen.footer.text.is_empty() { spare.div_ceil(2) } else { spare / 2 };
    (0..above).for_each(|_| screen.push(Row::default()));
    screen.push(title);
    (0..between).for_each(|_| screen.push(Row::default()));
    words.iter().for_each(|words| screen.push(Row::centred(geometry, words)));
}

/// The screen of a device that is not paired.
pub fn unpaired(geometry: Geometry) -> Screen {
    let mut screen = Screen::new(geometry, View::Unpaired);
    screen.set_header("gatepost", "");
    show_message(&mut screen, "not paired", &["At the hub, run", "gatepost companion", "pair"]);
    screen
}

/// The number that both sides of a pairing show, to be confirmed before `deadline`. Only the last six digits of `code`
/// are used.
pub fn pairing(geometry: Geometry, code: u32, now: Millis, deadline: Millis) -> Screen {
    let mut screen = Screen::new(geometry, View::Pairing { code: code % CODE_LIMIT, confirmed: false });
    screen.set_footer("hold: yes", "no");
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
    let scale = if screen.geometry.rows() >= TALL_ROWS { 5 } else { 3 };
    let digits = Row::big(screen.geometry, &digits, scale);
    centre(screen, digits, &[words]);
}

/// The question whether to install new firmware; `armed` if a hold of Approve that begins now does.
pub fn question(geometry: Geometry, version: Version, armed: bool) -> Screen {
    let mut screen = Screen::new(geometry, View::Question { version, armed });
    screen.set_header("update", "");
    let mut name = Line::new();
    write!(name, "{version}").expect("three numbers fit a line");
    if name.len() <= MAX_LARGE {
        show_message(&mut screen, &name, &["The new firmware is", "checked. Install it?"]);
    } else {
        show_message(&mut screen, "update", &[&name, "is checked. Install?"]);
    }
    screen.set_footer(if armed { "hold: install" } else { "let go" }, "not now");
    screen
}

/// The screen of a device that restarts with new firmware.
pub fn installing(geometry: Geometry) -> Screen {
    let mut screen = Screen::new(geometry, View::Installing);
    screen.set_header("gatepost", "update");
    show_message(&mut screen, "restart", &["Leave it plugged in."]);
    screen
}

/// The screen of a device with a fault.
pub fn fault(geometry: Geometry, fault: Fault) -> Screen {
    let mut screen = Screen::new(geometry, View::Fault(fault));
    screen.set_header("gatepost", "error");
    let words: &[&str] = match fault {
        Fault::Storage => &["Its keys cannot be", "read or stored.", "Set it up anew."],
        Fault::Pairing => &["Not paired. Begin", "again at the hub."],
        Fault::Login => &["The hub lets it in no", "more. Hold both keys", "10 s to forget it."],
    };
    show_message(&mut screen, "error", words);
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
    fn the_longest_version_fits_the_smallest_screen() {
        let most = Version { major: 65_535, minor: 65_535, patch: 65_535 };
        for version in [most, Version { patch: 1, ..Version::default() }] {
            for geometry in [Geometry::SMALL, Geometry::LARGE] {
                let screen = question(geometry, version, true);
                let name = std::format!("{version}");
                assert!(screen.cells().iter().any(|line| line.trim() == name), "{:?}", screen.cells());
            }
        }
    }
}
