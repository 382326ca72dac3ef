//! The network's cable in the place of a radio, and the serial line over which the set-up is told of it. The cable is always
//! plugged in; what is joined is a name.

use core::{convert::Infallible, fmt, future::pending};

use embassy_time::Timer;
use embedded_io_async::{ErrorType, Read, Write};
use gatepost_companion::{
    Hub, Network,
    net::{
        radio::{MAX_SCANNED, ScannedNetwork},
        wifi::{JoinResult, Station, Wifi},
    },
    storage::Security,
};
use heapless::Vec;

use crate::machine::Uart;

/// The only network in reach.
const NETWORK: &str = "QEMU";
/// How often the line is asked for a byte, in milliseconds.
const LOOK: u64 = 1;

/// Where QEMU's user network has its host, and a broker's port: for a device that was told nothing else.
const HOST: (&str, u16) = ("10.0.2.2", 1883);

/// The hub that the set-up was told, or the emulator's host.
pub fn hub(wifi: &Wifi) -> Hub {
    wifi.hub().unwrap_or_else(|| Hub { host: HOST.0.try_into().expect("it is short"), port: HOST.1 })
}

/// The cable.
pub struct Wire {
    joined: bool,
    say: fn(fmt::Arguments<'_>),
}

impl Wire {
    /// One that is not joined, and says so in a log.
    pub fn new(say: fn(fmt::Arguments<'_>)) -> Self {
        Self { joined: false, say }
    }
}

impl Station for Wire {
    type Error = &'static str;

    async fn join(&mut self, network: &Network, _: Security) -> Result<(), &'static str> {
        self.joined = network.ssid == NETWORK;
        if self.joined { Ok(()) } else { Err("the only network here is QEMU") }
    }

    fn is_joined(&self) -> bool {
        self.joined
    }

    async fn wait_for_loss(&mut self) {
        pending().await
    }

    async fn leave(&mut self) {
        self.joined = false;
    }

    async fn scan(&mut self) -> Vec<ScannedNetwork, MAX_SCANNED> {
        let ssid = NETWORK.try_into().expect("it is short");
        [ScannedNetwork { ssid, rssi: -40, is_open: false }].into_iter().collect()
    }

    fn log(&mut self, ssid: &str, result: JoinResult<&'static str>) {
        (self.say)(format_args!("wifi: {ssid} {result}"));
    }
}

/// The serial line.
pub struct Line;

impl ErrorType for Line {
    type Error = Infallible;
}

impl Read for Line {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        loop {
            let mut count = 0;
            while count < buffer.len()
                && let Some(byte) = Uart::receive()
            {
                buffer[count] = byte;
                count += 1;
            }
            if count > 0 {
                return Ok(count);
            }
            Timer::after_millis(LOOK).await;
        }
    }
}

impl Write for Line {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Uart::send(bytes);
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
