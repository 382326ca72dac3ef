//! The way from a companion's network stack to its hub's broker, the same on every board.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use core::net::Ipv4Addr;

use embassy_net::{
    IpAddress, Stack,
    dns::DnsQueryType,
    tcp::{ConnectError, TcpSocket},
};
use embedded_io_async::ErrorKind;
use gatepost_companion::{mqtt, storage::MAX_HOST};
use heapless::String;

/// Bytes on their way from the broker: a payload of the hub's, and its packet around it.
const RECEIVE: usize = 4608;
/// Bytes on their way to the broker: a segment. A companion has little to say, and waits for room.
const SEND: usize = 1460;

/// A TCP connection's memory.
pub struct Buffers {
    receive: [u8; RECEIVE],
    send: [u8; SEND],
}

impl Buffers {
    /// Empty ones.
    pub const fn new() -> Self {
        Self { receive: [0; RECEIVE], send: [0; SEND] }
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new()
    }
}

/// The broker's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hub {
    /// Host name or address.
    pub host: String<MAX_HOST>,
    /// Port.
    pub port: u16,
}

/// Connects to the hub's broker, once the network has an address and somebody has said where the hub is.
pub struct Connector<'b, H> {
    stack: Stack<'static>,
    hub: H,
    buffers: &'b mut Buffers,
}

impl<'b, H: Fn() -> Option<Hub>> Connector<'b, H> {
    /// Over this network; `hub` is asked at every attempt.
    pub fn new(stack: Stack<'static>, buffers: &'b mut Buffers, hub: H) -> Self {
        Self { stack, hub, buffers }
    }

    async fn address(&self, host: &str) -> Result<IpAddress, ErrorKind> {
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Ok(address.into());
        }
        let found = self.stack.dns_query(host, DnsQueryType::A).await.map_err(|_| ErrorKind::NotFound)?;
        found.first().copied().ok_or(ErrorKind::NotFound)
    }
}

impl<H: Fn() -> Option<Hub>> mqtt::Connector for Connector<'_, H> {
    type Socket<'c>
        = TcpSocket<'c>
    where
        Self: 'c;

    async fn connect(&mut self) -> Result<TcpSocket<'_>, ErrorKind> {
        self.stack.wait_config_up().await;
        let Hub { host, port } = (self.hub)().ok_or(ErrorKind::AddrNotAvailable)?;
        let address = self.address(&host).await?;
        let mut socket = TcpSocket::new(self.stack, &mut self.buffers.receive, &mut self.buffers.send);
        match socket.connect((address, port)).await {
            Ok(()) => Ok(socket),
            Err(ConnectError::ConnectionReset) => Err(ErrorKind::ConnectionRefused),
            Err(ConnectError::TimedOut) => Err(ErrorKind::TimedOut),
            Err(_) => Err(ErrorKind::NotConnected),
        }
    }
}
