//! Buttons, display, light, clock and dice, as the application asks for them.

use embassy_time::Delay;
use esp_hal::{Blocking, gpio::Input, i2c::master::I2c, rng::Rng};
use esp_println::println;
use gatepost_companion::{Button, Edge, Millis, Painter, Screen, contacts::Contacts, light, mqtt};
use gatepost_link::seal::Random;
use gatepost_net::now;
use ssd1306::{
    I2CDisplayInterface, Ssd1306, mode::BufferedGraphicsMode, prelude::*, size::DisplaySize128x64,
};

use crate::light::Light;

type Bus = I2CInterface<I2c<'static, Blocking>>;
type Display = Ssd1306<Bus, DisplaySize128x64, BufferedGraphicsMode<DisplaySize128x64>>;

/// What a person touches and sees.
pub struct Board {
    contacts: Contacts<Input<'static>, Input<'static>, Delay>,
    display: Display,
    painter: Painter,
    /// Whether the display has been started.
    lit: bool,
    light: Light,
}

/// The hardware's random numbers. While the radio is on, which is before anything is drawn for keys, noise feeds them.
pub struct Dice(pub Rng);

impl Random for Dice {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.read(bytes);
    }
}

impl Board {
    /// Over these pins.
    pub fn new(
        contacts: Contacts<Input<'static>, Input<'static>, Delay>,
        bus: I2c<'static, Blocking>,
        light: Light,
    ) -> Self {
        let display =
            Ssd1306::new(I2CDisplayInterface::new(bus), DisplaySize128x64, DisplayRotation::Rotate0)
                .into_buffered_graphics_mode();
        Self { contacts, display, painter: Painter::new(), lit: false, light }
    }

    /// Draws what has changed. A display that was unplugged is started again, with all of the picture.
    fn draw(&mut self, screen: &Screen) -> Result<(), display_interface::DisplayError> {
        if !self.lit {
            self.display.init()?;
            self.painter.forget();
            self.lit = true;
        }
        // Drawing is into memory; only the bus can fail.
        if let Err(error) = self.painter.paint(screen, &mut self.display) {
            panic!("{error}");
        }
        self.display.flush()
    }
}

impl mqtt::Board for Board {
    fn now(&self) -> Millis {
        now()
    }

    async fn event(&mut self, until: Millis) -> Option<(Button, Edge)> {
        self.contacts.event(now, until).await
    }

    fn show(&mut self, screen: &Screen) {
        self.light.burn(light::burns(&screen.view));
        if let Err(error) = self.draw(screen) {
            if self.lit {
                println!("the display does not answer: {error:?}");
            }
            self.lit = false;
        }
    }

    fn note(&mut self, note: mqtt::Note) {
        println!("{note}");
    }
}
