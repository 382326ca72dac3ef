//! Button edges to gestures; nothing else in the crate looks at presses.
//!
//! The rules were bought elsewhere: a hold that confirmed without being held, a 30 ms chord that confirmed, presses
//! from before the card that counted, one press that answered two cards. Here a press counts only while it is the
//! only one, began when every button was up, and is watched to its end; whatever else happens, it is spent, and
//! nothing counts again before all buttons are released.

use crate::Millis;

/// A release before this many milliseconds makes an Approve press short, unless the runner says otherwise: it turns
/// the page.
pub const SHORT_APPROVE: u64 = 500;
/// A release before this many milliseconds makes a Deny press short: it denies.
pub const SHORT_DENY: u64 = 1_000;
/// An Approve press of this many milliseconds is a hold.
pub const HOLD: u64 = 1_500;
/// A hold that nobody looked at for more than this many milliseconds is spent: its release may have been missed.
pub const WATCH_GAP: u64 = 500;

/// One of the two buttons. Their roles never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// Turns the page; held, approves.
    Approve,
    /// Denies.
    Deny,
}

/// What happened to a button, bounces and key repeats already removed.
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
        /// When it began.
        began: Millis,
    },
    /// Approve was held, in a press that began when approving was possible.
    Hold,
}

#[derive(Debug, Clone, Copy)]
struct Press {
    button: Button,
    began: Millis,
    watched: Millis,
    may_approve: bool,
}

/// The state of both buttons.
#[derive(Debug)]
pub struct Buttons {
    short_approve: u64,
    approve_down: bool,
    deny_down: bool,
    /// The one press that still counts.
    press: Option<Press>,
}

impl Default for Buttons {
    fn default() -> Self {
        Self::new(SHORT_APPROVE)
    }
}

impl Buttons {
    /// Both up. An Approve press released before `short_approve` milliseconds is short; never one of
    /// [`SHORT_DENY`] or longer.
    pub fn new(short_approve: u64) -> Self {
        let short_approve = short_approve.min(SHORT_DENY);
        Self { short_approve, approve_down: false, deny_down: false, press: None }
    }

    /// Takes an edge. `may_approve` says whether a hold that begins now approves; it is asked at the press only.
    pub fn edge(&mut self, now: Millis, button: Button, edge: Edge, may_approve: bool) -> Option<Gesture> {
        let was_free = self.all_up();
        let down = match button {
            Button::Approve => &mut self.approve_down,
            Button::Deny => &mut self.deny_down,
        };
        let was_down = core::mem::replace(down, edge == Edge::Pressed);
        match edge {
            // A second press without a release between: the release was lost, and with it how long it was held.
            Edge::Pressed if was_down => self.spend(),
            Edge::Pressed => {
                self.press = was_free.then_some(Press { button, began: now, watched: now, may_approve });
            }
            Edge::Released => {
                let press = self.press.take_if(|press| press.button == button)?;
                let held = now.since(press.began);
                return match button {
                    Button::Approve if held < self.short_approve => Some(Gesture::Page),
                    Button::Deny if held < SHORT_DENY => Some(Gesture::Deny { began: press.began }),
                    _ => None,
                };
            }
        }
        None
    }

    /// Watches a press go on; a hold is recognised here and nowhere else.
    pub fn tick(&mut self, now: Millis) -> Option<Gesture> {
        let press = self.press.as_mut()?;
        if now.since(press.watched) > WATCH_GAP {
            self.spend();
            return None;
        }
        press.watched = now;
        if press.button == Button::Approve && press.may_approve && now.since(press.began) >= HOLD {
            self.spend();
            return Some(Gesture::Hold);
        }
        None
    }

    /// Whatever is pressed now no longer counts.
    pub fn spend(&mut self) {
        self.press = None;
    }

    /// A press of Approve no longer counts: the display does not show what for. One of Deny does, which is always safe.
    pub fn spend_approve(&mut self) {
        self.press.take_if(|press| press.button == Button::Approve);
    }

    /// Whether no button is pressed.
    pub fn all_up(&self) -> bool {
        !self.approve_down && !self.deny_down
    }

    /// Whether a press is under way that still counts.
    pub fn busy(&self) -> bool {
        self.press.is_some()
    }

    /// When a hold that will approve is long enough.
    pub fn hold_ends(&self) -> Option<Millis> {
        let press = self.press.filter(|press| press.button == Button::Approve && press.may_approve)?;
        Some(press.began.after(HOLD))
    }

    /// How far a hold that will approve has come, 0 to 100.
    pub fn progress(&self, now: Millis) -> Option<u8> {
        let press = self.press.filter(|press| press.button == Button::Approve && press.may_approve)?;
        Some((now.since(press.began).min(HOLD) * 100 / HOLD) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Button::{Approve, Deny};
    use Edge::{Pressed, Released};

    /// Watches every 50 ms from `from` to `to`.
    fn watch(buttons: &mut Buttons, from: u64, to: u64) -> Option<Gesture> {
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
        assert_eq!(watch(&mut buttons, 0, 1_450), None);
        assert_eq!(buttons.edge(Millis(1_499), Approve, Released, true), None);
    }

    #[test]
    fn a_hold_is_recognised_while_it_lasts_and_only_once() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.hold_ends(), Some(Millis(HOLD)));
        assert_eq!(watch(&mut buttons, 0, 1_450), None);
        assert_eq!(buttons.progress(Millis(750)), Some(50));
        assert_eq!(buttons.tick(Millis(1_500)), Some(Gesture::Hold));
        assert_eq!(watch(&mut buttons, 1_550, 5_000), None);
        assert_eq!(buttons.edge(Millis(5_000), Approve, Released, true), None);
    }

    #[test]
    fn a_hold_that_began_when_approving_was_impossible_does_nothing() {
        let mut buttons = Buttons::default();
        buttons.edge(Millis(0), Approve, Pressed, false);
        assert_eq!(buttons.progress(Millis(700)), None);
        assert_eq!(watch(&mut buttons, 0, 5_000), None);
    }

    #[test]
    fn a_hold_that_nobody_watched_is_not_a_hold() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.tick(Millis(2_000)), None);
        assert_eq!(watch(&mut buttons, 2_050, 5_000), None);
    }

    #[test]
    fn a_release_that_comes_late_is_no_hold() {
        let mut buttons = pressed(Approve);
        assert_eq!(buttons.edge(Millis(2_000), Approve, Released, true), None);
        assert_eq!(watch(&mut buttons, 2_000, 5_000), None);
    }

    #[test]
    fn the_other_button_cancels_a_hold_and_neither_counts_until_both_are_up() {
        let mut buttons = pressed(Approve);
        assert_eq!(watch(&mut buttons, 0, 1_000), None);
        assert_eq!(buttons.edge(Millis(1_000), Deny, Pressed, true), None);
        assert_eq!(buttons.progress(Millis(1_000)), None);
        assert_eq!(buttons.edge(Millis(1_030), Deny, Released, true), None);
        assert_eq!(watch(&mut buttons, 1_050, 4_000), None);
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
        assert_eq!(watch(&mut buttons, 0, 1_000), None);
        assert_eq!(buttons.edge(Millis(1_000), Approve, Pressed, true), None);
        assert_eq!(watch(&mut buttons, 1_000, 4_000), None);
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
