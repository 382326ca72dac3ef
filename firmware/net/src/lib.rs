//! The way from a board to its hub's broker: time, network stack and connection, the same on every board that has
//! embassy's executor.
//!
//! [`card`]: a network card that is asked for its packets.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod card;

use core::net::Ipv4Addr;

use embassy_net::{
    Config, IpAddress, Runner, Stack, StackResources,
    dns::DnsQueryType,
    driver::Driver,
    tcp::{ConnectError, TcpSocket},
};
use embassy_time::Instant;
use embedded_io_async::ErrorKind;
use gatepost_companion::{Hub, Millis, event_loop};
use static_cell::{ConstStaticCell, StaticCell};

/// Bytes on their way from the broker: a payload of the hub's, and its packet around it.
const RECEIVE: usize = 4608;
/// Bytes on their way to the broker: a segment. A companion has little to say, and waits for room.
const SEND: usize = 1460;

/// A TCP connection's memory.
struct Buffers {
    receive: [u8; RECEIVE],
    send: [u8; SEND],
}

/// Milliseconds since the start.
pub fn now() -> Millis {
    Millis(Instant::now().as_millis())
}

/// A network whose address is given to it, and what moves its packets. `seed` is another at each start. Once.
pub fn start<D: Driver>(driver: D, seed: u64) -> (Stack<'static>, Runner<'static, D>) {
    /// Sockets: the connection to the broker, and what asks for addresses and names.
    static RESOURCES: StaticCell<StackResources<4>> = StaticCell::new();
    let resources = RESOURCES.init(StackResources::new());
    embassy_net::new(driver, Config::dhcpv4(Default::default()), resources, seed)
}

/// Connects to the hub's broker, once the network has an address and somebody has said where the hub is.
pub struct Connector<H> {
    stack: Stack<'static>,
    hub: H,
    buffers: &'static mut Buffers,
}

impl<H: Fn() -> Option<Hub>> Connector<H> {
    /// Over this network; `hub` is asked at every attempt. Once.
    pub fn new(stack: Stack<'static>, hub: H) -> Self {
        static BUFFERS: ConstStaticCell<Buffers> =
            ConstStaticCell::new(Buffers { receive: [0; RECEIVE], send: [0; SEND] });
        Self { stack, hub, buffers: BUFFERS.take() }
    }

    async fn address(&self, host: &str) -> Result<IpAddress, ErrorKind> {
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Ok(address.into());
        }
        let found = self.stack.dns_query(host, DnsQueryType::A).await.map_err(|_| ErrorKind::NotFound)?;
        found.first().copied().ok_or(ErrorKind::NotFound)
    }
}

impl<H: Fn() -> Option<Hub>> event_loop::Connector for Connector<H> {
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
