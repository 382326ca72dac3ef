//! Buttons, display, light, clock and dice, as the application asks for them.

use display_interface::DisplayError;
use embassy_time::Delay;
use esp_hal::{Blocking, gpio::Input, i2c::master::I2c, rng::Rng};
use esp_println::println;
use gatepost_companion::{
    Button, Edge, Millis, NotShown, Panel, Screen,
    contacts::Contacts,
    light, mqtt,
    panel::{self, Rectangle},
};
use gatepost_link::seal::Random;
use gatepost_net::now;
use ssd1306::{
    I2CDisplayInterface, Ssd1306, mode::BufferedGraphicsMode, prelude::*, size::DisplaySize128x64,
};

use crate::light::Light;

type Bus = I2CInterface<I2c<'static, Blocking>>;
type Oled = Ssd1306<Bus, DisplaySize128x64, BufferedGraphicsMode<DisplaySize128x64>>;

/// What a person touches and sees.
pub struct Board {
    contacts: Contacts<Input<'static>, Input<'static>, Delay>,
    panel: Panel<Display>,
    light: Light,
}

/// The display.
struct Display(Oled);

impl panel::Display for Display {
    type Target = Oled;
    type Fault = DisplayError;

    fn start(&mut self) -> Result<(), DisplayError> {
        self.0.init()
    }

    fn target(&mut self) -> &mut Oled {
        &mut self.0
    }

    fn flush(&mut self, _: Rectangle) -> Result<(), DisplayError> {
        // With nothing to send the driver asks nobody, and would not see that the display is gone.
        self.0.set_display_on(true)?;
        self.0.flush()
    }
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
        Self { contacts, panel: Panel::new(Display(display)), light }
    }
}

impl mqtt::Board for Board {
    fn now(&self) -> Millis {
        now()
    }

    async fn event(&mut self, until: Millis) -> Option<(Button, Edge)> {
        self.contacts.event(now, until).await
    }

    fn show(&mut self, screen: &Screen) -> Result<(), NotShown> {
        self.light.burn(light::burns(&screen.view));
        self.panel.show(now(), screen, |news| println!("{news}"))
    }

    fn note(&mut self, note: mqtt::Note) {
        println!("{note}");
    }
}
