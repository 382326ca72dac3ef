//! The keyboard as two buttons, and QEMU's graphics card as a display of 320×240 pixels.

use embassy_time::Timer;
use gatepost_companion::{
    Button, Edge, Millis, NotShown, Panel, View,
    event_loop::{self, ConnectionEvent},
    ui::{
        framebuffer::{FramebufferDisplay, GraphicsCard},
        keyboard::Keyboard,
    },
};
use gatepost_net::now;
use gatepost_virtio::{Gpu, Input, Slot, machine};
use virtio_drivers::Error;

use crate::log;

const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;
/// How often the keyboard is polled.
const POLL_INTERVAL_MS: u64 = 2;

/// The buttons and the display.
pub struct Board {
    keys: Input,
    keyboard: Keyboard,
    panel: Panel<FramebufferDisplay<Screen>>,
    shown: Option<View>,
}

impl Board {
    /// Takes the devices; there may be no graphics card.
    pub fn new(keys: Input, slot: Option<Slot>) -> Self {
        let display = FramebufferDisplay::new(Screen { slot, gpu: None }, WIDTH, HEIGHT);
        Self { keys, keyboard: Keyboard::default(), panel: Panel::new(display), shown: None }
    }
}

/// The graphics card.
struct Screen {
    slot: Option<Slot>,
    gpu: Option<Gpu>,
}

impl GraphicsCard for Screen {
    type Fault = Error;

    fn is_running(&self) -> bool {
        self.gpu.is_some() && self.slot.as_ref().is_some_and(Slot::is_running)
    }

    /// Sets the card to the size of a board's display.
    fn start(&mut self) -> Result<&'static mut [u8], Error> {
        // Its memory must be freed before the next one is allocated.
        self.gpu = None;
        let gpu = self.gpu.insert(self.slot.as_ref().ok_or(Error::NotReady)?.start(Gpu::new)?);
        let memory: *mut [u8] = gpu.change_resolution(WIDTH, HEIGHT)?;
        // SAFETY: the memory is the card's until the card is dropped, and is in use no more then; its driver reads and
        // writes none of it, and the device reads it only while `flush` waits.
        Ok(unsafe { &mut *memory })
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.gpu.as_mut().ok_or(Error::NotReady)?.flush()
    }

    fn not_running() -> Error {
        Error::NotReady
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
