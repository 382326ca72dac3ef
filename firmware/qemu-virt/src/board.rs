//! The keyboard as two buttons, and QEMU's graphics card as a display of 320×240 pixels.

use embassy_time::Timer;
use gatepost_companion::{
    Button, Edge, Millis, NotShown, Panel, View,
    event_loop::{self, ConnectionEvent},
    ui::{framebuffer::FramebufferDisplay, keyboard::Keyboard},
};
use gatepost_net::now;
use gatepost_virtio::{Input, Slot, display::Card, machine};

use crate::log;

const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;
/// How often the keyboard is polled.
const POLL_INTERVAL_MS: u64 = 2;

/// The buttons and the display.
pub struct Board {
    keys: Input,
    keyboard: Keyboard,
    panel: Panel<FramebufferDisplay<Card>>,
    shown: Option<View>,
}

impl Board {
    /// Takes the devices; there may be no graphics card.
    pub fn new(keys: Input, slot: Option<Slot>) -> Self {
        let display = FramebufferDisplay::new(Card::new(slot, WIDTH, HEIGHT), WIDTH, HEIGHT);
        Self { keys, keyboard: Keyboard::default(), panel: Panel::new(display), shown: None }
    }
}

impl event_loop::Board for Board {
    fn now(&self) -> Millis {
        now()
    }

    async fn next_edge(&mut self, until: Millis) -> Option<(Button, Edge)> {
        loop {
            self.keys.ack_interrupt();
            let keys =
                || self.keys.pop_pending_event().map(|event| (event.event_type, event.code, event.value));
            let edge = self.keyboard.next(keys);
            if edge.is_some() || now() >= until {
                return edge;
            }
            Timer::after_millis(POLL_INTERVAL_MS).await;
        }
    }

    /// Draws what has changed, and logs the new view.
    fn show(&mut self, screen: &gatepost_companion::Screen) -> Result<(), NotShown> {
        let shown = self.panel.show(now(), screen, |event| log!("{event}"));
        if self.shown.replace(screen.view) != Some(screen.view) {
            log!("screen: {:?}", screen.view);
        }
        shown
    }

    fn log(&mut self, event: ConnectionEvent) {
        log!("{event}");
    }

    fn restart(&mut self) {
        log!("restart");
        machine::reset();
    }
}
