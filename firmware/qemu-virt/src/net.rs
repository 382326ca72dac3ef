//! The network: virtio's packets for embassy-net, and the way to the hub's broker.
//!
//! The device's interrupts are not used: a look every millisecond is soon enough for a person.

use core::{
    fmt,
    net::Ipv4Addr,
    task::{Context, Waker},
};

use alloc::vec::Vec;
use embassy_net::{
    Stack,
    dns::DnsQueryType,
    driver as port,
    tcp::{ConnectError, TcpSocket},
};
use embedded_io_async::ErrorKind;
use gatepost_companion::{Millis, mqtt, storage::Network};

use crate::{clock, dma, log};

/// Where QEMU's user network has its host.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const PORT: u16 = 1883;

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

/// Where the hub's broker is.
pub struct Hub(Option<Network>);

impl Hub {
    /// As the device was set up; else QEMU's host.
    pub fn new(network: Option<Network>) -> Self {
        Self(network)
    }

    fn port(&self) -> u16 {
        self.0.as_ref().map_or(PORT, |network| network.port)
    }
}

impl fmt::Display for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(network) => write!(f, "{}:{}", network.host, network.port),
            None => write!(f, "{HOST}:{PORT}"),
        }
    }
}

/// A TCP connection's memory: room for a frame each way.
pub struct Buffers {
    receive: [u8; 8192],
    send: [u8; 8192],
}

impl Buffers {
    /// Empty ones.
    pub const fn new() -> Self {
        Self { receive: [0; 8192], send: [0; 8192] }
    }
}

/// Connects to the hub's broker, once the network has an address.
pub struct Connector {
    stack: Stack<'static>,
    hub: Hub,
    buffers: &'static mut Buffers,
    address: Option<embassy_net::Ipv4Cidr>,
}

impl Connector {
    /// For this network and hub.
    pub fn new(stack: Stack<'static>, hub: Hub, buffers: &'static mut Buffers) -> Self {
        Self { stack, hub, buffers, address: None }
    }
}

impl mqtt::Connector for Connector {
    type Socket<'c> = TcpSocket<'c>;

    async fn connect(&mut self) -> Result<TcpSocket<'_>, ErrorKind> {
        self.stack.wait_config_up().await;
        let address = self.stack.config_v4().map(|config| config.address);
        if address != self.address {
            self.address = address;
            if let Some(address) = address {
                log!("address: {address}");
            }
        }
        let host = match &self.hub.0 {
            None => HOST.into(),
            Some(network) => match network.host.parse::<Ipv4Addr>() {
                Ok(host) => host.into(),
                Err(_) => {
                    let found = self.stack.dns_query(&network.host, DnsQueryType::A).await;
                    *found.ok().as_ref().and_then(|all| all.first()).ok_or(ErrorKind::NotFound)?
                }
            },
        };
        let port = self.hub.port();
        let mut socket = TcpSocket::new(self.stack, &mut self.buffers.receive, &mut self.buffers.send);
        match socket.connect((host, port)).await {
            Ok(()) => Ok(socket),
            Err(ConnectError::ConnectionReset) => Err(ErrorKind::ConnectionRefused),
            Err(ConnectError::TimedOut) => Err(ErrorKind::TimedOut),
            Err(_) => Err(ErrorKind::NotConnected),
        }
    }
}
