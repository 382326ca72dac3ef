//! The keyboard as two buttons, QEMU's graphics card as a display of 320×240 pixels, and random numbers fit for keys.

use embassy_time::Timer;
use gatepost_companion::{
    Button, Edge, Millis, NotShown, Panel, View,
    keyboard::Keyboard,
    mqtt,
    panel::{Card, Framed},
};
use gatepost_link::seal::Random;
use gatepost_net::now;
use gatepost_virtio::{Entropy, Gpu, Input, Slot};
use virtio_drivers::Error;

use crate::log;

const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;
/// How often the keyboard is asked, in milliseconds.
const LOOK: u64 = 2;

/// What a person touches and sees.
pub struct Board {
    keys: Input,
    held: Keyboard,
    panel: Panel<Framed<Screen>>,
    shown: Option<View>,
}

impl Board {
    /// Takes the devices; QEMU may have no graphics card.
    pub fn new(keys: Input, slot: Option<Slot>) -> Self {
        let display = Framed::new(Screen { slot, gpu: None }, WIDTH, HEIGHT);
        Self { keys, held: Keyboard::default(), panel: Panel::new(display), shown: None }
    }
}

/// The graphics card.
struct Screen {
    slot: Option<Slot>,
    gpu: Option<Gpu>,
}

impl Card for Screen {
    type Fault = Error;

    fn runs(&self) -> bool {
        self.gpu.is_some() && self.slot.as_ref().is_some_and(Slot::runs)
    }

    /// Makes the card as small as a board's display.
    fn start(&mut self) -> Result<&'static mut [u8], Error> {
        // Its memory goes back before the next one takes it.
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

    fn fault() -> Error {
        Error::NotReady
    }
}

impl mqtt::Board for Board {
    fn now(&self) -> Millis {
        now()
    }

    async fn event(&mut self, until: Millis) -> Option<(Button, Edge)> {
        loop {
            self.keys.ack_interrupt();
            let keys =
                || self.keys.pop_pending_event().map(|event| (event.event_type, event.code, event.value));
            let edge = self.held.next(keys);
            if edge.is_some() || now() >= until {
                return edge;
            }
            Timer::after_millis(LOOK).await;
        }
    }

    /// Draws what has changed, and then says what it is.
    fn show(&mut self, screen: &gatepost_companion::Screen) -> Result<(), NotShown> {
        let shown = self.panel.show(now(), screen, |news| log!("{news}"));
        if self.shown.replace(screen.view) != Some(screen.view) {
            log!("screen: {:?}", screen.view);
        }
        shown
    }

    fn note(&mut self, note: mqtt::Note) {
        log!("{note}");
    }
}

/// virtio's entropy device.
pub struct Dice(pub Entropy);

impl Random for Dice {
    fn fill(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self.0.request_entropy(rest).expect("the device answers");
            rest = &mut rest[count..];
        }
    }
}
