//! A keyboard as two buttons, where a board is emulated: `a` approves, `d` denies, as on the desktop.
//!
//! Events are Linux' own, of which every emulator's keyboard speaks (input-event-codes.h). A key that repeats because it
//! is held is no further edge.

use crate::{Button, Edge};

/// That a key is pressed or released; there are events for other things.
const EV_KEY: u16 = 1;
/// The two keys.
const KEY_A: u16 = 30;
const KEY_D: u16 = 32;
/// What an event says of its key.
const RELEASED: u32 = 0;
const PRESSED: u32 = 1;

/// The edge that an event is, if it is one.
pub fn edge(kind: u16, code: u16, value: u32) -> Option<(Button, Edge)> {
    let button = match (kind, code) {
        (EV_KEY, KEY_A) => Button::Approve,
        (EV_KEY, KEY_D) => Button::Deny,
        _ => return None,
    };
    match value {
        PRESSED => Some((button, Edge::Pressed)),
        RELEASED => Some((button, Edge::Released)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_are_the_buttons_and_nothing_else_is() {
        assert_eq!(edge(EV_KEY, KEY_A, 1), Some((Button::Approve, Edge::Pressed)));
        assert_eq!(edge(EV_KEY, KEY_D, 0), Some((Button::Deny, Edge::Released)));
        let (repeated, mark, other_key, moved) =
            (edge(EV_KEY, KEY_A, 2), edge(0, 0, 0), edge(EV_KEY, 31, 1), edge(2, KEY_A, 1));
        assert_eq!([repeated, mark, other_key, moved], [None; 4]);
    }
}
