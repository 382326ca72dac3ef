//! Two keys of an emulated board's keyboard as buttons: `a` approves, `d` denies, as on the desktop.
//!
//! Events are those of Linux (input-event-codes.h), which every emulator's keyboard uses. A repeat of a held key is no
//! edge, whether its event says "repeated" or, in QEMU's window, "pressed" again.

use super::buttons::{Button, Edge};

/// The event type of keys.
const EV_KEY: u16 = 1;
/// The two keys.
const KEY_A: u16 = 30;
const KEY_D: u16 = 32;
/// The values of a key's event; 2 is a repeat.
const RELEASED: u32 = 0;
const PRESSED: u32 = 1;

/// Which of the two keys are down.
#[derive(Debug, Default)]
pub struct Keyboard {
    approve: bool,
    deny: bool,
}

impl Keyboard {
    /// The edge of an event, if it is one.
    fn edge(&mut self, kind: u16, code: u16, value: u32) -> Option<(Button, Edge)> {
        let (button, down) = match (kind, code) {
            (EV_KEY, KEY_A) => (Button::Approve, &mut self.approve),
            (EV_KEY, KEY_D) => (Button::Deny, &mut self.deny),
            _ => return None,
        };
        let edge = match value {
            PRESSED if !*down => Edge::Pressed,
            RELEASED => Edge::Released,
            _ => return None,
        };
        *down = edge == Edge::Pressed;
        Some((button, edge))
    }

    /// Takes waiting events, each as kind, code and value, up to the first edge. Later events stay in the queue.
    pub fn next(&mut self, mut event: impl FnMut() -> Option<(u16, u16, u32)>) -> Option<(Button, Edge)> {
        loop {
            let (kind, code, value) = event()?;
            if let Some(edge) = self.edge(kind, code, value) {
                return Some(edge);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_are_the_buttons_and_nothing_else_is() {
        let mut keys = Keyboard::default();
        assert_eq!(keys.edge(EV_KEY, KEY_A, 1), Some((Button::Approve, Edge::Pressed)));
        assert_eq!(keys.edge(EV_KEY, KEY_D, 0), Some((Button::Deny, Edge::Released)));
        let (mark, other_key, moved) = (keys.edge(0, 0, 0), keys.edge(EV_KEY, 31, 1), keys.edge(2, KEY_D, 1));
        assert_eq!([mark, other_key, moved], [None; 3]);
    }

    #[test]
    fn each_edge_is_taken_in_its_turn() {
        let mut waiting = [(0, 0, 0), (EV_KEY, KEY_A, 1), (EV_KEY, KEY_A, 1), (EV_KEY, KEY_A, 0)].into_iter();
        let mut keys = Keyboard::default();
        assert_eq!(keys.next(|| waiting.next()), Some((Button::Approve, Edge::Pressed)));
        assert_eq!(waiting.len(), 2, "what comes after an edge waits");
        assert_eq!(keys.next(|| waiting.next()), Some((Button::Approve, Edge::Released)));
        assert_eq!(keys.next(|| waiting.next()), None);
    }

    #[test]
    fn a_key_that_is_held_is_pressed_once() {
        let mut keys = Keyboard::default();
        assert_eq!(keys.edge(EV_KEY, KEY_A, 1), Some((Button::Approve, Edge::Pressed)));
        assert_eq!([keys.edge(EV_KEY, KEY_A, 1), keys.edge(EV_KEY, KEY_A, 2)], [None; 2]);
        assert_eq!(keys.edge(EV_KEY, KEY_D, 1), Some((Button::Deny, Edge::Pressed)), "each has its own");
        assert_eq!(keys.edge(EV_KEY, KEY_A, 0), Some((Button::Approve, Edge::Released)));
        assert_eq!(keys.edge(EV_KEY, KEY_A, 1), Some((Button::Approve, Edge::Pressed)));
    }
}
