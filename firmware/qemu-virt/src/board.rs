//! The keyboard as two buttons, QEMU's graphics card as a display of 320×240 pixels, and random numbers fit for keys.

use embassy_time::Timer;
use embedded_graphics_core::geometry::Size;
use gatepost_companion::{
    Button, Edge, Millis, Painter, Screen, View, keyboard::Keyboard, mqtt, paint::Frame,
};
use gatepost_link::seal::Random;
use gatepost_net::now;

use crate::{
    dma::{Entropy, Gpu, Input},
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
    card: Gpu,
    frame: Frame<'static>,
    painter: Painter,
    shown: Option<View>,
}

impl Board {
    /// Takes the devices, and makes the card as small as a board's display.
    pub fn new(keys: Input, mut card: Gpu) -> Self {
        let memory: *mut [u8] = card.change_resolution(WIDTH, HEIGHT).expect("any card has 320×240 pixels");
        // SAFETY: the memory came from `dma`, which takes nothing back, and the card is kept beside its only user: its
        // driver reads and writes none of it, and the device reads it only while `flush` waits.
        let memory = unsafe { &mut *memory };
        let frame = Frame::new(memory, WIDTH, HEIGHT).expect("it is made for so many pixels");
        Self { keys, held: Keyboard::default(), card, frame, painter: Painter::new(), shown: None }
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
    fn show(&mut self, screen: &Screen) {
        match self.painter.paint(screen, &mut self.frame) {
            Ok(changed) if changed.size == Size::zero() => {}
            Ok(_) => self.card.flush().expect("the card answers"),
            Err(error) => panic!("{error}"),
        }
        if self.shown.replace(screen.view) != Some(screen.view) {
            log!("screen: {:?}", screen.view);
        }
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
