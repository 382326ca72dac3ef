//! The question whether to install new firmware: like a card, it is answered only by who could read it.
//!
//! It is no decision on a message: nothing is signed. A hold of Approve counts once the display has accepted the question and every
//! button was up since; a short press of Deny counts once it has been there for a moment.

use gatepost_link::update::Version;

use super::card::GRACE;
use crate::{
    Millis,
    ui::{buttons::Gesture, view::View},
};

/// The question.
#[derive(Debug)]
pub struct Question {
    version: Version,
    asked: Millis,
    /// Whether the display has accepted it.
    shown: bool,
    armed: bool,
    answer: Option<bool>,
}

impl Question {
    /// Whether to install this version.
    pub fn new(now: Millis, version: Version) -> Self {
        Self { version, asked: now, shown: false, armed: false, answer: None }
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether this is on the screen.
    pub fn is_on(&self, view: &View) -> bool {
        matches!(view, View::Question { version, .. } if *version == self.version)
    }

    /// Reports a drawing: whether the display accepted this question.
    pub fn drawn(&mut self, shown: bool, all_up: bool) {
        self.shown = shown;
        self.update_armed(all_up);
    }

    /// Something else is on the screen: it must be read again.
    pub fn hide(&mut self) {
        (self.shown, self.armed) = (false, false);
    }

    /// Whether a hold that begins now installs.
    pub fn can_install(&self) -> bool {
        self.shown && self.armed
    }

    /// Handles what the buttons say.
    pub fn act_on(&mut self, gesture: Option<Gesture>, all_up: bool) {
        self.update_armed(all_up);
        match gesture {
            Some(Gesture::Hold) if self.can_install() => self.answer = Some(true),
            Some(Gesture::Deny { began }) if self.shown && began.since(self.asked) >= GRACE => {
                self.answer = Some(false);
            }
            _ => {}
        }
    }

    /// What was answered.
    pub fn answer(&self) -> Option<bool> {
        self.answer
    }

    fn update_armed(&mut self, all_up: bool) {
        self.armed |= self.shown && all_up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: Version = Version { major: 1, minor: 4, patch: 0 };

    #[test]
    fn a_hold_counts_once_the_question_was_seen_and_all_buttons_were_up() {
        let mut question = Question::new(Millis(0), VERSION);
        question.act_on(Some(Gesture::Hold), true);
        assert_eq!(question.answer(), None, "nobody has seen it");
        question.drawn(true, false);
        question.act_on(Some(Gesture::Hold), false);
        assert_eq!(question.answer(), None, "a button was down since before");
        question.act_on(None, true);
        assert!(question.can_install());
        question.hide();
        question.act_on(Some(Gesture::Hold), true);
        assert_eq!(question.answer(), None, "a card was in between");
        question.drawn(true, true);
        question.act_on(Some(Gesture::Hold), true);
        assert_eq!(question.answer(), Some(true));
    }

    #[test]
    fn a_press_of_deny_that_was_meant_for_something_else_is_no_answer() {
        let mut question = Question::new(Millis(1_000), VERSION);
        question.drawn(true, true);
        question.act_on(Some(Gesture::Deny { began: Millis(1_100) }), true);
        assert_eq!(question.answer(), None);
        question.act_on(Some(Gesture::Deny { began: Millis(1_000 + GRACE) }), true);
        assert_eq!(question.answer(), Some(false));
    }
}
