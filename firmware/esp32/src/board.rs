//! Buttons, display, light, clock and random numbers, as the application needs them.

use display_interface::DisplayError;
use embassy_time::Delay;
use esp_hal::{Blocking, gpio::Input, i2c::master::I2c, rng::Rng, system::software_reset};
use esp_println::println;
use gatepost_companion::{
    Button, Edge, Millis, NotShown, Panel, Screen,
    event_loop::{self, ConnectionEvent},
    ui::{
        debounce::Switches,
        light,
        panel::{self, Rectangle},
    },
};
use gatepost_esp::light::Light;
use gatepost_link::seal::Random;
use gatepost_net::now;
use ssd1306::{
    I2CDisplayInterface, Ssd1306, mode::BufferedGraphicsMode, prelude::*, size::DisplaySize128x64,
};

type Bus = I2CInterface<I2c<'static, Blocking>>;
type Oled = Ssd1306<Bus, DisplaySize128x64, BufferedGraphicsMode<DisplaySize128x64>>;

/// The buttons, the display and the light.
pub struct Board {
    switches: Switches<Input<'static>, Input<'static>, Delay>,
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
        // Without changes the driver sends nothing, and would not notice that the display is gone.
        self.0.set_display_on(true)?;
        self.0.flush()
    }
}

/// The hardware's random numbers. The radio's noise feeds them while it is on, which it is before any key is generated.
pub struct HardwareRandom(pub Rng);

impl Random for HardwareRandom {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.read(bytes);
    }
}

impl Board {
    /// Over these pins.
    pub fn new(
        switches: Switches<Input<'static>, Input<'static>, Delay>,
        bus: I2c<'static, Blocking>,
        light: Light,
    ) -> Self {
        let display =
            Ssd1306::new(I2CDisplayInterface::new(bus), DisplaySize128x64, DisplayRotation::Rotate0)
                .into_buffered_graphics_mode();
        Self { switches, panel: Panel::new(Display(display)), light }
    }
}

impl event_loop::Board for Board {
    fn now(&self) -> Millis {
        now()
    }

    async fn next_edge(&mut self, until: Millis) -> Option<(Button, Edge)> {
        self.switches.next_edge(now, until).await
    }

    fn show(&mut self, screen: &Screen) -> Result<(), NotShown> {
        self.light.set(light::is_on(&screen.view));
        self.panel.show(now(), screen, |event| println!("{event}"))
    }

    fn log(&mut self, event: ConnectionEvent) {
        println!("{event}");
    }

    fn restart(&mut self) {
        software_reset();
    }
}
