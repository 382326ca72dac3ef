//! The light that is on while a card waits: a WS2812, as most boards have on GPIO8, or without the feature `rgb` a plain
//! LED.

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
    use gatepost_companion::ui::light;

    /// A tick of this clock is an eightieth of a microsecond.
    const CLOCK: Rate = Rate::from_mhz(80);
    /// A bit's levels, high and low, in ticks: 0.4 µs and 0.85 µs for a zero, 0.8 µs and 0.45 µs for a one (WS2812B's data
    /// sheet, "data transfer time").
    const ZERO: PulseCode = PulseCode::new(Level::High, 32, Level::Low, 68);
    const ONE: PulseCode = PulseCode::new(Level::High, 64, Level::Low, 36);

    /// The light.
    pub struct Light {
        channel: Option<Channel<'static, Blocking, Tx>>,
        is_on: Option<bool>,
    }

    impl Light {
        /// On this pin.
        pub fn new(rmt: RMT<'static>, pin: impl PeripheralOutput<'static>) -> Self {
            let config = TxChannelConfig::default().with_clk_divider(1).with_idle_output(true);
            let channel = Rmt::new(rmt, CLOCK).and_then(|rmt| rmt.channel0.configure_tx(&config));
            Self { channel: channel.ok().map(|channel| channel.with_pin(pin)), is_on: None }
        }

        /// Switches it on or off. It keeps its colour by itself, so only changes are sent.
        pub fn set(&mut self, on: bool) {
            if self.is_on == Some(on) {
                return;
            }
            let Some(channel) = self.channel.take() else { return };
            let colour = if on { light::CARD_WAITING } else { light::OFF };
            let mut pulses = [PulseCode::end_marker(); light::COLOUR_BITS + 1];
            for (pulse, one) in pulses.iter_mut().zip(light::bits(colour)) {
                *pulse = if one { ONE } else { ZERO };
            }
            let sent = match channel.transmit(&pulses) {
                Ok(transmission) => transmission.wait(),
                Err(failed) => Err(failed),
            };
            let (channel, is_on) = match sent {
                Ok(channel) => (channel, Some(on)),
                Err((_, channel)) => (channel, None),
            };
            (self.channel, self.is_on) = (Some(channel), is_on);
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

        /// Switches it on or off.
        pub fn set(&mut self, on: bool) {
            self.0.set_level(on.into());
        }
    }
}
