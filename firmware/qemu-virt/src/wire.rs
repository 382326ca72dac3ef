//! The network's cable in the place of a radio, and the serial line over which the set-up is told of it. The cable is always
//! plugged in; what is joined is a name.

use core::{convert::Infallible, future::pending};

use embassy_time::Timer;
use embedded_io_async::{ErrorType, Read, Write};
use gatepost_companion::{
    Network,
    net::{
        radio::{MAX_SCANNED, ScannedNetwork},
        wifi::{JoinResult, Station},
    },
    storage::Security,
};
use gatepost_virtio::machine::Uart;
use heapless::Vec;

use crate::log;

/// The only network in reach.
const NETWORK: &str = "QEMU";
/// How often the line is asked for a byte, in milliseconds.
const LOOK: u64 = 1;

/// The cable; whether it counts as joined.
#[derive(Default)]
pub struct Wire(bool);

impl Station for Wire {
    type Error = &'static str;

    async fn join(&mut self, network: &Network, _: Security) -> Result<(), &'static str> {
        self.0 = network.ssid == NETWORK;
        if self.0 { Ok(()) } else { Err("the only network here is QEMU") }
    }

    fn is_joined(&self) -> bool {
        self.0
    }

    async fn wait_for_loss(&mut self) {
        pending().await
    }

    async fn leave(&mut self) {
        self.0 = false;
    }

    async fn scan(&mut self) -> Vec<ScannedNetwork, MAX_SCANNED> {
        let ssid = NETWORK.try_into().expect("it is short");
        [ScannedNetwork { ssid, rssi: -40, is_open: false }].into_iter().collect()
    }

    fn log(&mut self, ssid: &str, result: JoinResult<&'static str>) {
        log!("wifi: {ssid} {result}");
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
