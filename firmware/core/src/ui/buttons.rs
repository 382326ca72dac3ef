//! Turns button edges into gestures; nothing else in the crate interprets presses.
//!
//! The rules come from other products' failures: a hold that confirmed without being held, a 30 ms chord that confirmed,
//! presses from before the card that counted, one press that answered two cards. Here a press counts only if it is the
//! only one, began when every button was up, and is observed until its end. Otherwise it is discarded, and nothing counts
//! until all buttons are released.

use crate::Millis;

/// An Approve press shorter than this turns the page, unless the runner sets another limit.
pub const SHORT_APPROVE_MS: u64 = 500;
/// A Deny press shorter than this denies.
pub const SHORT_DENY_MS: u64 = 1_000;
/// A press of this many milliseconds is a hold: of Approve it approves, of Deny behind a denial it mutes.
pub const HOLD: u64 = 1_500;
/// A press that [`Buttons::tick`] did not observe for longer than this is discarded: its release may have been missed.
pub const MAX_TICK_GAP_MS: u64 = 500;
/// How often the application must be ticked while a button is down.
pub const PRESS_TICK_MS: u64 = 50;

/// One of the two buttons. Their roles are fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// Turns the page; held, approves.
    Approve,
    /// Denies; held behind a denial, mutes.
    Deny,
}

/// A change of a button, without bounces and key repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// It went down.
    Pressed,
    /// It came up.
    Released,
}

/// What a person did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gesture {
    /// A short press of Approve ended.
    Page,
    /// A short press of Deny ended.
    Deny {
        /// When the press began.
        began: Millis,
    },
    /// Approve was held, in a press that began when approving was possible.
    Hold,
    /// Deny was held, in a press that began when muting was possible.
    Mute,
}

#[derive(Debug, Clone, Copy)]
struct Press {
    button: Button,
    began: Millis,
    observed: Millis,
    may_hold: bool,
}

/// The state of both buttons.
#[derive(Debug)]
pub struct Buttons {
    short_approve: u64,
    approve_down: bool,
    deny_down: bool,
    /// The one press that counts.
    press: Option<Press>,
}

impl Default for Buttons {
    fn default() -> Self {
        Self::new(SHORT_APPROVE_MS)
    }
}

impl Buttons {
    /// Both up. An Approve press shorter than `short_approve` milliseconds turns the page; the limit is capped at
    /// [`SHORT_DENY_MS`].
    pub fn new(short_approve: u64) -> Self {
        let short_approve = short_approve.min(SHORT_DENY_MS);
        Self { short_approve, approve_down: false, deny_down: false, press: None }
    }

    /// Handles an edge. `may_hold` says whether a hold of this button that begins now counts; it is used at the press only.
    pub fn edge(&mut self, now: Millis, button: Button, edge: Edge, may_hold: bool) -> Option<Gesture> {
        let was_free = self.all_up();
        let down = match button {
            Button::Approve => &mut self.approve_down,
            Button::Deny => &mut self.deny_down,
        };
        let was_down = core::mem::replace(down, edge == Edge::Pressed);
        match edge {
            // A second press without a release in between: the release was lost, so the length of the press is unknown.
            Edge::Pressed if was_down => self.discard(),
            Edge::Pressed => {
                self.press = was_free.then_some(Press { button, began: now, observed: now, may_hold });
            }
            Edge::Released => {
                let press = self.press.take_if(|press| press.button == button)?;
                let held = now.since(press.began);
                return match button {
                    Button::Approve if held < self.short_approve => Some(Gesture::Page),
                    Button::Deny if held < SHORT_DENY_MS => Some(Gesture::Deny { began: press.began }),
                    _ => None,
                };
            }
        }
        None
    }

    /// Observes the current press. A hold is recognised here and nowhere else.
    pub fn tick(&mut self, now: Millis) -> Option<Gesture> {
        let press = self.press.as_mut()?;
        if now.since(press.observed) > MAX_TICK_GAP_MS {
            self.discard();
            return None;
        }
        press.observed = now;
        if press.may_hold && now.since(press.began) >= HOLD {
            let gesture = match press.button {
                Button::Approve => Gesture::Hold,
                Button::Deny => Gesture::Mute,
            };
            self.discard();
            return Some(gesture);
        }
        None
    }

    /// Discards the current press.
    pub fn discard(&mut self) {
        self.press = None;
    }

    /// Discards a press of Approve, because the display does not show what it would approve. A press of Deny still counts,
    /// as denying is always safe.
    pub fn discard_approve(&mut self) {
        self.press.take_if(|press| press.button == Button::Approve);
    }

    /// Whether no button is pressed.
    pub fn all_up(&self) -> bool {
        !self.approve_down && !self.deny_down
    }

    /// Whether a press is in progress that still counts.
    pub fn is_pressed(&self) -> bool {
        self.press.is_some()
    }

    /// When the current hold will count, if it can.
    pub fn hold_completes_at(&self) -> Option<Millis> {
        let press = self.press.filter(|press| press.may_hold)?;
        Some(press.began.after(HOLD))
    }

    /// Progress of a hold that will count, 0 to 100.
    pub fn hold_progress(&self, now: Millis) -> Option<u8> {
        let press = self.press.filter(|press| press.may_hold)?;
        Some((now.since(press.began).min(HOLD) * 100 / HOLD) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Button::{Approve, Deny};
    use Edge::{Pressed, Released};

    /// Ticks every 50 ms from `from` to `to`.
    fn tick_until(buttons: &mut Buttons, from: u64, to: u64) -> Option<Gesture> {
        (from..=to).step_by(50).find_map(|now| buttons.tick(Millis(now)))
    }

    fn pressed(button: Button) -> Buttons {
        let mut buttons = Buttons::default();
        assert_eq!(buttons.edge(Millis(0), button, Pressed, true), None);
        buttons
    }

    #[test]
    fn a_short_approve_press_turns_the_page_when_it_ends() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.edge(Millis(499), Approve, Released, true), Some(Gesture::Page));
    }

    #[test]
    fn a_press_between_short_and_hold_does_nothing() {
        let mut buttons = pressed(Approve);
        assert_eq!(tick_until(&mut buttons, 0, 1_450), None);
        assert_eq!(buttons.edge(Millis(1_499), Approve, Released, true), None);
    }

    #[test]
    fn a_hold_is_recognised_while_it_lasts_and_only_once() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.hold_completes_at(), Some(Millis(HOLD)));
        assert_eq!(tick_until(&mut buttons, 0, 1_450), None);
        assert_eq!(buttons.hold_progress(Millis(750)), Some(50));
        assert_eq!(buttons.tick(Millis(1_500)), Some(Gesture::Hold));
        assert_eq!(tick_until(&mut buttons, 1_550, 5_000), None);
        assert_eq!(buttons.edge(Millis(5_000), Approve, Released, true), None);
    }

    #[test]
    fn a_hold_that_began_when_approving_was_impossible_does_nothing() {
        let mut buttons = Buttons::default();
        buttons.edge(Millis(0), Approve, Pressed, false);
        assert_eq!(buttons.hold_progress(Millis(700)), None);
        assert_eq!(tick_until(&mut buttons, 0, 5_000), None);
    }

    #[test]
    fn a_hold_that_was_not_observed_is_not_a_hold() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.tick(Millis(2_000)), None);
        assert_eq!(tick_until(&mut buttons, 2_050, 5_000), None);
    }

    #[test]
    fn a_release_that_comes_late_is_no_hold() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.edge(Millis(2_000), Approve, Released, true), None);
        assert_eq!(tick_until(&mut buttons, 2_000, 5_000), None);
    }

    #[test]
    fn the_other_button_cancels_a_hold_and_neither_counts_until_both_are_up() {
        let mut buttons = pressed(Approve);
        assert_eq!(tick_until(&mut buttons, 0, 1_000), None);
        assert_eq!(buttons.edge(Millis(1_000), Deny, Pressed, true), None);
        assert_eq!(buttons.hold_progress(Millis(1_000)), None);
        assert_eq!(buttons.edge(Millis(1_030), Deny, Released, true), None);
        assert_eq!(tick_until(&mut buttons, 1_050, 4_000), None);
        assert_eq!(buttons.edge(Millis(4_000), Deny, Pressed, true), None);
        assert_eq!(buttons.edge(Millis(4_010), Approve, Released, true), None);
        assert_eq!(buttons.edge(Millis(4_020), Approve, Pressed, true), None, "Deny is still down");
        assert_eq!(buttons.edge(Millis(4_030), Deny, Released, true), None);
        assert_eq!(buttons.edge(Millis(4_040), Approve, Released, true), None);
        assert!(buttons.all_up());
        assert_eq!(buttons.edge(Millis(4_050), Deny, Pressed, true), None);
        assert!(buttons.edge(Millis(4_060), Deny, Released, true).is_some());
    }

    #[test]
    fn a_chord_of_thirty_milliseconds_does_nothing() {
        let mut buttons = pressed(Deny);
        assert_eq!(buttons.edge(Millis(10), Approve, Pressed, true), None);
        assert_eq!(buttons.edge(Millis(30), Deny, Released, true), None);
        assert_eq!(buttons.edge(Millis(30), Approve, Released, true), None);
    }

    #[test]
    fn a_press_whose_release_was_lost_does_not_become_a_hold() {
        let mut buttons = pressed(Approve);
        assert_eq!(tick_until(&mut buttons, 0, 1_000), None);
        assert_eq!(buttons.edge(Millis(1_000), Approve, Pressed, true), None);
        assert_eq!(tick_until(&mut buttons, 1_000, 4_000), None);
    }

    #[test]
    fn a_deny_press_longer_than_a_second_does_nothing() {
        let mut buttons = pressed(Deny);
        assert_eq!(buttons.edge(Millis(1_000), Deny, Released, true), None);
        buttons.edge(Millis(2_000), Deny, Pressed, true);
        assert_eq!(
            buttons.edge(Millis(2_999), Deny, Released, true),
            Some(Gesture::Deny { began: Millis(2_000) })
        );
    }

    #[test]
    fn a_release_without_a_press_does_nothing() {
        let mut buttons = Buttons::default();
        assert_eq!(buttons.edge(Millis(5), Deny, Released, true), None);
    }
}
