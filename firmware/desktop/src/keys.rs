//! Key events as button edges. Pure: the caller passes the time.
//!
//! A terminal with the kitty keyboard protocol reports when a key is released. Other terminals repeat a held key and do not
//! report its release, so a key counts as released there when its repeats stop. This estimate must never lengthen a hold
//! by more than [`AFTER_REPEAT`].
//!
//! Silence must not lengthen a hold either: over ssh a release may arrive late, so in both kinds of terminal a key counts
//! as down only as long as its repeats arrive. In a terminal without key repeats nothing can be approved.

use std::time::{Duration, Instant};

use gatepost_companion::{Button, Edge, buttons};

/// How long a key counts as down after its first event: longer than the delay before keyboards repeat.
pub const AFTER_FIRST: Duration = Duration::from_millis(700);
/// How long a key counts as down after a repeat: longer than the pause between two.
pub const AFTER_REPEAT: Duration = Duration::from_millis(150);

/// Which key events the terminal reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Presses, repeats and releases.
    Releases,
    /// Presses and repeats, which look the same.
    Repeats,
}

impl Protocol {
    /// How short a press of Approve turns the page: for `gatepost_companion::Settings::short_approve`.
    pub fn short_approve(self) -> u64 {
        match self {
            Self::Releases => buttons::SHORT_APPROVE_MS,
            // A tap counts as down for AFTER_FIRST; the rest is for threads that wake up late.
            Self::Repeats => AFTER_FIRST.as_millis() as u64 + 200,
        }
    }
}

/// A key event of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// It went down, or it repeated, if the terminal does not distinguish them.
    Press,
    /// It is still down.
    Repeat,
    /// It came up.
    Release,
}

/// The button of a character: `a` approves, `d` denies, in either case.
pub fn button(key: char) -> Option<Button> {
    match key.to_ascii_lowercase() {
        'a' => Some(Button::Approve),
        'd' => Some(Button::Deny),
        _ => None,
    }
}

/// The keys that are down.
#[derive(Debug)]
pub struct Keys {
    protocol: Protocol,
    /// The buttons that are down; and when each counts as released, if nothing more is heard of it.
    down: Vec<(Button, Instant)>,
}

impl Keys {
    /// None down.
    pub fn new(protocol: Protocol) -> Self {
        Self { protocol, down: Vec::new() }
    }

    /// Takes a key event. Call [`Keys::tick`] first: a repeat after the release is a new press.
    pub fn stroke(&mut self, now: Instant, button: Button, stroke: Stroke) -> Option<(Button, Edge)> {
        let known = self.down.iter().position(|(down, _)| *down == button);
        match (stroke, known) {
            (Stroke::Release, Some(index)) => {
                self.down.swap_remove(index);
                Some((button, Edge::Released))
            }
            (Stroke::Release, None) => None,
            (_, Some(index)) => {
                self.down[index].1 = now + AFTER_REPEAT;
                None
            }
            // A repeat without a press: the key was down before this began.
            (Stroke::Repeat, None) if self.protocol == Protocol::Releases => None,
            (_, None) => {
                self.down.push((button, now + AFTER_FIRST));
                Some((button, Edge::Pressed))
            }
        }
    }

    /// Releases what counts as released by now.
    pub fn tick(&mut self, now: Instant) -> Vec<(Button, Edge)> {
        let over = self.down.extract_if(.., |(_, until)| *until <= now);
        match self.protocol {
            Protocol::Repeats => over.map(|(button, _)| (button, Edge::Released)).collect(),
            // Its release was lost or comes later. The length of the press is unknown, so it does not count.
            Protocol::Releases => over.flat_map(|(button, _)| discarded(button)).collect(),
        }
    }

    /// The window lost the keyboard, and with it all releases: every key that is down is pressed once more, which discards
    /// the press, and released.
    pub fn lost(&mut self) -> Vec<(Button, Edge)> {
        let down = self.down.drain(..);
        down.flat_map(|(button, _)| discarded(button)).collect()
    }
}

/// The edges that discard a press.
fn discarded(button: Button) -> [(Button, Edge); 2] {
    [(button, Edge::Pressed), (button, Edge::Released)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use Button::{Approve, Deny};
    use Edge::{Pressed, Released};

    fn at(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_terminal_that_tells_releases_is_taken_at_its_word() {
        let start = Instant::now();
        let mut keys = Keys::new(Protocol::Releases);
        assert_eq!(keys.stroke(start, Approve, Stroke::Press), Some((Approve, Pressed)));
        for now in (500..5_000).step_by(40) {
            assert_eq!(keys.tick(at(start, now)), []);
            assert_eq!(keys.stroke(at(start, now), Approve, Stroke::Repeat), None);
        }
        assert_eq!(keys.stroke(at(start, 5_000), Approve, Stroke::Release), Some((Approve, Released)));
        assert_eq!(keys.stroke(at(start, 5_001), Approve, Stroke::Release), None);
        assert_eq!(keys.stroke(at(start, 5_002), Approve, Stroke::Repeat), None, "not a press");
    }

    /// A tap, and a connection that stands still before it brings the release.
    #[test]
    fn a_key_that_nothing_is_heard_of_is_no_hold_however_late_its_release_comes() {
        let start = Instant::now();
        let mut keys = Keys::new(Protocol::Releases);
        assert_eq!(keys.stroke(start, Approve, Stroke::Press), Some((Approve, Pressed)));
        assert_eq!(keys.tick(at(start, 699)), []);
        assert_eq!(keys.tick(at(start, 700)), [(Approve, Pressed), (Approve, Released)], "spent");
        assert_eq!(keys.stroke(at(start, 2_000), Approve, Stroke::Repeat), None, "too late");
        assert_eq!(keys.stroke(at(start, 2_000), Approve, Stroke::Release), None);
        // In the middle of a hold as well.
        keys.stroke(at(start, 3_000), Approve, Stroke::Press);
        keys.stroke(at(start, 3_500), Approve, Stroke::Repeat);
        assert_eq!(keys.tick(at(start, 3_650)), [(Approve, Pressed), (Approve, Released)]);
    }

    #[test]
    fn a_key_without_repeats_counts_as_released_after_its_time() {
        let start = Instant::now();
        let mut keys = Keys::new(Protocol::Repeats);
        assert_eq!(keys.stroke(start, Deny, Stroke::Press), Some((Deny, Pressed)));
        assert_eq!(keys.tick(at(start, 699)), []);
        assert_eq!(keys.tick(at(start, 700)), [(Deny, Released)]);
        assert!(700 < Protocol::Repeats.short_approve());
    }

    #[test]
    fn a_key_that_repeats_is_held_until_the_repeats_stay_out() {
        let start = Instant::now();
        let mut keys = Keys::new(Protocol::Repeats);
        keys.stroke(start, Approve, Stroke::Press);
        for now in (500..2_000).step_by(40) {
            assert_eq!(keys.tick(at(start, now)), []);
            assert_eq!(keys.stroke(at(start, now), Approve, Stroke::Press), None);
        }
        assert_eq!(keys.tick(at(start, 2_129)), []);
        assert_eq!(keys.tick(at(start, 2_130)), [(Approve, Released)]);
    }

    #[test]
    fn a_key_that_is_let_go_soon_after_its_first_repeat_is_released_soon() {
        let start = Instant::now();
        let mut keys = Keys::new(Protocol::Repeats);
        keys.stroke(start, Approve, Stroke::Press);
        keys.stroke(at(start, 250), Approve, Stroke::Press);
        assert_eq!(keys.tick(at(start, 400)), [(Approve, Released)]);
    }

    #[test]
    fn two_keys_are_released_each_in_its_time() {
        let start = Instant::now();
        let mut keys = Keys::new(Protocol::Repeats);
        keys.stroke(start, Approve, Stroke::Press);
        keys.stroke(at(start, 100), Deny, Stroke::Press);
        assert_eq!(keys.tick(at(start, 700)), [(Approve, Released)]);
        assert_eq!(keys.tick(at(start, 800)), [(Deny, Released)]);
    }

    #[test]
    fn a_hold_does_not_outlive_the_focus() {
        let mut keys = Keys::new(Protocol::Releases);
        keys.stroke(Instant::now(), Approve, Stroke::Press);
        assert_eq!(keys.lost(), [(Approve, Pressed), (Approve, Released)]);
        assert_eq!(keys.lost(), []);
    }

    #[test]
    fn the_two_keys_are_a_and_d() {
        assert_eq!(
            ['a', 'A', 'd', 'D', 'x'].map(button),
            [Some(Approve), Some(Approve), Some(Deny), Some(Deny), None]
        );
    }
}
