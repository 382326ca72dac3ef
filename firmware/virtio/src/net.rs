//! The network: virtio's packets.

use gatepost_net::card::{Card, FRAME};

use crate::Network;

/// The network card.
pub struct Virtio(pub Network);

impl Card for Virtio {
    fn address(&self) -> [u8; 6] {
        self.0.mac_address()
    }

    fn receive(&mut self, room: &mut [u8; FRAME]) -> Option<usize> {
        let buffer = self.0.receive().ok()?;
        let packet = buffer.packet();
        let length = packet.len().min(FRAME);
        room[..length].copy_from_slice(&packet[..length]);
        self.0.recycle_rx_buffer(buffer).ok()?;
        Some(length)
    }

    fn send(&mut self, packet: &[u8]) {
        let mut buffer = self.0.new_tx_buffer(packet.len());
        buffer.packet_mut().copy_from_slice(packet);
        let _ = self.0.send(buffer);
    }
}
