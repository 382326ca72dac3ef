//! The keyboard as two buttons, QEMU's graphics card as a display of 320×240 pixels, and random numbers fit for keys.

use embassy_time::Timer;
use embedded_graphics_core::primitives::Rectangle;
use gatepost_companion::{
    Button, Edge, Millis, NotShown, Panel, Screen, View, keyboard::Keyboard, mqtt, paint::Frame, panel,
};
use gatepost_link::seal::Random;
use gatepost_net::now;

use virtio_drivers::Error;

use crate::{
    dma::{Entropy, Gpu, Input, Slot},
    log,
};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;
/// How often the keyboard is asked, in milliseconds.
const LOOK: u64 = 2;

/// What a person touches and sees.
pub struct Board {
    keys: Input,
    held: Keyboard,
    panel: Panel<Display>,
    shown: Option<View>,
}

impl Board {
    /// Takes the devices; QEMU may have no graphics card.
    pub fn new(keys: Input, slot: Option<Slot<Gpu>>) -> Self {
        let display = Display { slot, card: None, frame: nothing() };
        Self { keys, held: Keyboard::default(), panel: Panel::new(display), shown: None }
    }
}

/// The graphics card.
struct Display {
    slot: Option<Slot<Gpu>>,
    card: Option<Gpu>,
    /// Of the card's memory.
    frame: Frame<'static>,
}

fn nothing() -> Frame<'static> {
    Frame::new(&mut [], 0, 0).expect("no pixels need no memory")
}

impl Display {
    /// The card, unless it was reset behind our back: then it would be waited for without end.
    fn card(&mut self) -> Result<&mut Gpu, Error> {
        let runs = self.slot.as_ref().is_some_and(Slot::runs);
        self.card.as_mut().filter(|_| runs).ok_or(Error::NotReady)
    }
}

impl panel::Display for Display {
    type Target = Frame<'static>;
    type Fault = Error;

    /// Makes the card as small as a board's display.
    fn start(&mut self) -> Result<(), Error> {
        if self.card().is_ok() {
            return Ok(());
        }
        self.frame = nothing();
        // Its memory goes back before the next one takes it.
        self.card = None;
        let card = self.card.insert(self.slot.as_ref().ok_or(Error::NotReady)?.start()?);
        let memory: *mut [u8] = card.change_resolution(WIDTH, HEIGHT)?;
        // SAFETY: the memory stays the card's until the card is dropped, and the frame is taken from it before; its driver
        // reads and writes none of it, and the device reads it only while `flush` waits.
        let memory = unsafe { &mut *memory };
        self.frame = Frame::new(memory, WIDTH, HEIGHT).ok_or(Error::NotReady)?;
        Ok(())
    }

    fn target(&mut self) -> &mut Frame<'static> {
        &mut self.frame
    }

    fn flush(&mut self, changed: Rectangle) -> Result<(), Error> {
        let card = self.card()?;
        if changed.is_zero_sized() { Ok(()) } else { card.flush() }
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
    fn show(&mut self, screen: &Screen) -> Result<(), NotShown> {
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
