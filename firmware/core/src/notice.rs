//! Screens on which the device speaks for itself: a word or a number to be read across the room, and a sentence or two.
//!
//! Nothing of a document is on them. What comes from elsewhere all the same, a version's name, is escaped and cut.

use core::fmt::Write as _;

use crate::{
    Millis,
    escape::Script,
    row::{Line, Row},
    screen::{Fault, Geometry, Screen, View},
};

/// Rows from which on a screen has room for larger titles.
const TALL: usize = 12;
/// A code for pairing has six digits.
const CODES: u32 = 1_000_000;
/// Cells of a version's name, beside our own word in the header of the smallest screen.
const MAX_VERSION: usize = 12;

/// Puts a title and what it means in the middle of the screen.
pub fn say(screen: &mut Screen, title: &str, words: &[&str]) {
    let geometry = screen.geometry;
    let scale = if geometry.rows() >= TALL { 3 } else { 2 };
    centre(screen, Row::big(geometry, title, scale), words);
}

/// Puts `title` with `words` below it in the middle of the screen.
fn centre(screen: &mut Screen, title: Row, words: &[&str]) {
    let geometry = screen.geometry;
    let height = title.height() + words.len();
    let between = usize::from(!words.is_empty() && height < geometry.body_rows());
    let spare = geometry.body_rows().saturating_sub(height + between);
    // Without keys the footer's row is free as well.
    let above = if screen.footer.text.is_empty() { spare.div_ceil(2) } else { spare / 2 };
    (0..above).for_each(|_| screen.push(Row::default()));
    screen.push(title);
    (0..between).for_each(|_| screen.push(Row::default()));
    words.iter().for_each(|words| screen.push(Row::centred(geometry, words)));
}

/// The device is paired with no hub.
pub fn unpaired(geometry: Geometry) -> Screen {
    let mut screen = Screen::new(geometry, View::Unpaired);
    screen.set_header("gatepost", "");
    say(&mut screen, "not paired", &["At the hub, run", "gatepost companion", "pair"]);
    screen
}

/// The number that both sides of a pairing show, to be confirmed before `deadline`. Of `code` the last six digits count.
pub fn pairing(geometry: Geometry, code: u32, now: Millis, deadline: Millis) -> Screen {
    let mut screen = Screen::new(geometry, View::Pairing { code: code % CODES, confirmed: false });
    screen.set_footer("hold: yes", "no");
    number(&mut screen, code, "The same at the hub?", &countdown(deadline, now));
    screen
}

/// The same, confirmed here: the hub is waited for.
pub fn confirmed(geometry: Geometry, code: u32, now: Millis, deadline: Millis) -> Screen {
    let mut screen = Screen::new(geometry, View::Pairing { code: code % CODES, confirmed: true });
    number(&mut screen, code, "Now say so there.", &countdown(deadline, now));
    screen
}

fn number(screen: &mut Screen, code: u32, words: &str, left: &str) {
    let code = code % CODES;
    screen.set_header("pairing", left);
    let mut digits = Line::new();
    write!(digits, "{:03} {:03}", code / 1_000, code % 1_000).expect("seven characters fit a line");
    let scale = if screen.geometry.rows() >= TALL { 5 } else { 3 };
    let digits = Row::big(screen.geometry, &digits, scale);
    centre(screen, digits, &[words]);
}

/// New firmware is being written.
pub fn updating(geometry: Geometry, version: &str, percent: u8) -> Screen {
    let percent = percent.min(100);
    let mut screen = Screen::new(geometry, View::Updating { percent });
    let mut name = Line::new();
    let mut used = 0;
    for glyph in version.chars().map(|c| Script::Machine.glyph(c)) {
        used += glyph.width();
        if used > MAX_VERSION {
            break;
        }
        write!(name, "{glyph}").expect("cells within the columns fit a line");
    }
    screen.set_header("update", &name);
    let mut done = Line::new();
    write!(done, "{percent} %").expect("a number fits a line");
    say(&mut screen, &done, &["", "", "Leave it plugged in."]);
    // In the first of the three rows below the number.
    if let Some(row) = screen.body.iter_mut().rev().nth(2) {
        *row = Row::meter(geometry, "", percent);
    }
    screen
}

/// The device cannot do what it is for.
pub fn fault(geometry: Geometry, fault: Fault) -> Screen {
    let mut screen = Screen::new(geometry, View::Fault(fault));
    screen.set_header("gatepost", "error");
    let words: &[&str] = match fault {
        Fault::Storage => &["Its keys cannot be", "read or stored.", "Set it up anew."],
        Fault::Pairing => &["Not paired. Begin", "again at the hub."],
        Fault::Login => &["The hub lets it in no", "more. Hold both keys", "10 s to forget it."],
        Fault::Update => &["The update failed.", "The firmware is", "still the old one."],
    };
    say(&mut screen, "error", words);
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
    fn a_version_from_outside_cannot_turn_or_flood_the_screen() {
        for version in ["1.4\u{202e}0", &"9".repeat(500)] {
            let screen = updating(Geometry::SMALL, version, 200);
            assert!(screen.cells().iter().all(|line| line.chars().count() <= 21));
            assert!(!screen.cells().concat().contains('\u{202e}'));
        }
    }
}
