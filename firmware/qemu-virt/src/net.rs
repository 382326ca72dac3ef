//! The network: virtio's packets for embassy-net.
//!
//! The device's interrupts are not used: a look every millisecond is soon enough for a person.

use core::task::{Context, Waker};

use alloc::vec::Vec;
use embassy_net::driver as port;
use gatepost_companion::Millis;

use crate::{clock, dma};

/// The task that moves packets.
pub type Runner = embassy_net::Runner<'static, Driver>;

/// The network device.
pub struct Driver {
    device: dma::Network,
}

impl Driver {
    /// Takes the device.
    pub fn new(device: dma::Network) -> Self {
        Self { device }
    }
}

/// A packet that has arrived.
pub struct Received(Vec<u8>);

impl port::RxToken for Received {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, read: F) -> R {
        read(&mut self.0)
    }
}

/// Leave to send a packet.
pub struct Sending<'d>(&'d mut dma::Network);

impl port::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut buffer = self.0.new_tx_buffer(length);
        let written = write(buffer.packet_mut());
        // A packet that is not sent is a packet lost: TCP says it again.
        let _ = self.0.send(buffer);
        written
    }
}

impl port::Driver for Driver {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(Received, Sending<'_>)> {
        if !self.device.can_recv() {
            look_again(context.waker());
            return None;
        }
        let buffer = self.device.receive().ok()?;
        let packet = buffer.packet().to_vec();
        self.device.recycle_rx_buffer(buffer).ok()?;
        Some((Received(packet), Sending(&mut self.device)))
    }

    fn transmit(&mut self, context: &mut Context<'_>) -> Option<Sending<'_>> {
        if self.device.can_send() {
            return Some(Sending(&mut self.device));
        }
        look_again(context.waker());
        None
    }

    fn link_state(&mut self, _: &mut Context<'_>) -> port::LinkState {
        port::LinkState::Up
    }

    fn capabilities(&self) -> port::Capabilities {
        let mut capabilities = port::Capabilities::default();
        capabilities.max_transmission_unit = 1514;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> port::HardwareAddress {
        port::HardwareAddress::Ethernet(self.device.mac_address())
    }
}

fn look_again(waker: &Waker) {
    embassy_time_driver::schedule_wake(clock::ticks_at(Millis(clock::now().0 + 1)), waker);
}
