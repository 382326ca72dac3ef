//! A network card that raises no interrupts: it is asked for its packets every millisecond, which is soon enough for a
//! person.
//!
//! What does not get through is lost: TCP says it again.

use embassy_futures::{
    join::join3,
    select::{Either, select},
};
use embassy_net::{Ipv4Cidr, Runner, Stack};
use embassy_net_driver_channel::{
    self as channel, Device, State,
    driver::{HardwareAddress, LinkState},
};
use embassy_time::Timer;
use static_cell::StaticCell;

/// Bytes of an Ethernet frame without its checksum.
pub const FRAME: usize = 1514;
/// How often the card is asked, in milliseconds.
const LOOK: u64 = 1;
/// Packets that wait for the network stack, and as many for the card.
const PACKETS: usize = 4;

/// The card.
pub trait Card {
    /// Its own address.
    fn address(&self) -> [u8; 6];

    /// Copies a packet that has arrived to the beginning of `room`, if there is one; how long it is.
    fn receive(&mut self, room: &mut [u8; FRAME]) -> Option<usize>;

    /// Sends a packet.
    fn send(&mut self, packet: &[u8]);
}

/// A card in its network.
pub struct Port<C> {
    card: C,
    way: channel::Runner<'static, FRAME>,
    runner: Runner<'static, Device<'static, FRAME>>,
    stack: Stack<'static>,
}

/// A network over a card. `seed` is another at each start. Once.
pub fn start<C: Card>(card: C, seed: u64) -> (Stack<'static>, Port<C>) {
    static STATE: StaticCell<State<FRAME, PACKETS, PACKETS>> = StaticCell::new();
    let address = HardwareAddress::Ethernet(card.address());
    let (way, device) = channel::new(STATE.init(State::new()), address);
    let (stack, runner) = crate::start(device, seed);
    (stack, Port { card, way, runner, stack })
}

impl<C: Card> Port<C> {
    /// Carries packets, both ways, and says each address that the network is given.
    pub async fn run(mut self, say: impl Fn(Ipv4Cidr)) -> ! {
        join3(carry(self.card, self.way), self.runner.run(), addresses(self.stack, say)).await.1
    }
}

async fn carry(mut card: impl Card, way: channel::Runner<'static, FRAME>) -> ! {
    let (link, mut inward, mut outward) = way.split();
    link.set_link_state(LinkState::Up);
    loop {
        while let Some(room) = inward.try_rx_buf() {
            let room = room.try_into().expect("a packet has room for a frame");
            let Some(length) = card.receive(room) else { break };
            inward.rx_done(length);
        }
        if let Either::First(packet) = select(outward.tx_buf(), Timer::after_millis(LOOK)).await {
            card.send(packet);
            outward.tx_done();
        }
    }
}

async fn addresses(stack: Stack<'static>, say: impl Fn(Ipv4Cidr)) -> ! {
    loop {
        stack.wait_config_up().await;
        if let Some(config) = stack.config_v4() {
            say(config.address);
        }
        stack.wait_config_down().await;
    }
}
