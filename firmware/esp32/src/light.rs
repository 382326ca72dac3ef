//! The light that burns while a card waits: a WS2812 of three colours, as most boards have on GPIO8, or without the feature
//! `rgb` a plain LED.

#[cfg(not(feature = "rgb"))]
pub use plain::Light;
#[cfg(feature = "rgb")]
pub use rgb::Light;

#[cfg(feature = "rgb")]
mod rgb {
    use esp_hal::{
        Blocking,
        gpio::{Level, interconnect::PeripheralOutput},
        peripherals::RMT,
        rmt::{Channel, PulseCode, Rmt, Tx, TxChannelConfig, TxChannelCreator as _},
        time::Rate,
    };
    use gatepost_companion::light;

    /// A tick of this clock is an eightieth of a microsecond.
    const CLOCK: Rate = Rate::from_mhz(80);
    /// A bit's levels, high and low, in ticks: 0.4 µs and 0.85 µs for a zero, 0.8 µs and 0.45 µs for a one (WS2812B's data
    /// sheet, "data transfer time").
    const ZERO: PulseCode = PulseCode::new(Level::High, 32, Level::Low, 68);
    const ONE: PulseCode = PulseCode::new(Level::High, 64, Level::Low, 36);

    /// The light.
    pub struct Light {
        channel: Option<Channel<'static, Blocking, Tx>>,
        burns: Option<bool>,
    }

    impl Light {
        /// On this pin.
        pub fn new(rmt: RMT<'static>, pin: impl PeripheralOutput<'static>) -> Self {
            let config = TxChannelConfig::default().with_clk_divider(1).with_idle_output(true);
            let channel = Rmt::new(rmt, CLOCK).and_then(|rmt| rmt.channel0.configure_tx(&config));
            Self { channel: channel.ok().map(|channel| channel.with_pin(pin)), burns: None }
        }

        /// Whether it burns. It keeps its colour by itself, so only a change is told to it.
        pub fn burn(&mut self, burns: bool) {
            if self.burns == Some(burns) {
                return;
            }
            let Some(channel) = self.channel.take() else { return };
            let colour = if burns { light::WAITING } else { light::DARK };
            let mut pulses = [PulseCode::end_marker(); light::BITS + 1];
            for (pulse, one) in pulses.iter_mut().zip(light::bits(colour)) {
                *pulse = if one { ONE } else { ZERO };
            }
            let said = match channel.transmit(&pulses) {
                Ok(transmission) => transmission.wait(),
                Err(failed) => Err(failed),
            };
            let (channel, burns) = match said {
                Ok(channel) => (channel, Some(burns)),
                Err((_, channel)) => (channel, None),
            };
            (self.channel, self.burns) = (Some(channel), burns);
        }
    }
}

#[cfg(not(feature = "rgb"))]
mod plain {
    use esp_hal::{
        gpio::{Level, Output, OutputConfig, OutputPin},
        peripherals::RMT,
    };

    /// The light.
    pub struct Light(Output<'static>);

    impl Light {
        /// On this pin.
        pub fn new(_: RMT<'static>, pin: impl OutputPin + 'static) -> Self {
            Self(Output::new(pin, Level::Low, OutputConfig::default()))
        }

        /// Whether it burns.
        pub fn burn(&mut self, burns: bool) {
            self.0.set_level(burns.into());
        }
    }
}
