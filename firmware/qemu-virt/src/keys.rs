//! The keyboard as two buttons: `a` approves, `d` denies, as on the desktop.

use embassy_time::Timer;
use gatepost_companion::{Button, Edge, Millis};

use crate::{clock, dma::Input};

/// Linux' number for what a key does (input-event-codes.h), and for the two keys.
const EV_KEY: u16 = 1;
const KEY_A: u16 = 30;
const KEY_D: u16 = 32;
/// How often the keyboard is asked, in milliseconds.
const LOOK: u64 = 2;

/// The keyboard.
pub struct Keys {
    device: Input,
}

impl Keys {
    /// Takes the device.
    pub fn new(device: Input) -> Self {
        Self { device }
    }

    /// Waits for an edge, at most until then.
    pub async fn event(&mut self, until: Millis) -> Option<(Button, Edge)> {
        loop {
            self.device.ack_interrupt();
            while let Some(event) = self.device.pop_pending_event() {
                let button = match event.code {
                    KEY_A => Button::Approve,
                    KEY_D => Button::Deny,
                    _ => continue,
                };
                match (event.event_type, event.value) {
                    (EV_KEY, 0) => return Some((button, Edge::Released)),
                    (EV_KEY, 1) => return Some((button, Edge::Pressed)),
                    // A key that repeats, and the marks between events.
                    _ => {}
                }
            }
            if clock::now() >= until {
                return None;
            }
            Timer::after_millis(LOOK).await;
        }
    }
}
