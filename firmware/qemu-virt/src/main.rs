//! The companion on QEMU's riscv32 board `virt`: the same application, network stack and storage as on an ESP32, with a
//! virtio device for each part of the board.
//!
//! It exists so that everything but a soldering iron can be tested: a screen whose pixels a test compares, two keys that
//! it presses and releases, a flash that outlives a `kill -9`. Nothing is decided here.
//!
//! - [`clock`]: time and timers; [`uart`]: the log;
//! - [`board`]: keys, screen and random numbers, as the application asks for them; [`net`], [`flash`]: one device each.
#![no_std]
#![no_main]
#![warn(missing_docs)]

mod board;
mod clock;
mod flash;
mod net;
mod uart;

use board::{Board, HardwareRandom};
use embassy_executor::Spawner;
use gatepost_companion::{
    Companion, Geometry, Hub, Network, Settings, Storage as _, event_loop,
    flash::{blocks::Blocks, storage::FlashStorage},
};
use gatepost_link::seal::Random as _;
use gatepost_net::{
    Connector,
    card::{self, Port},
};
use gatepost_virtio as virtio;
use virtio_drivers::transport::DeviceType;

/// Where QEMU's user network has its host, and a broker's port: for a device that was told nothing else.
const HOST: (&str, u16) = ("10.0.2.2", 1883);
/// For the few things that allocate: a handshake, and virtio's buffers.
const HEAP: usize = 64 * 1024;

#[global_allocator]
static ALLOCATOR: embedded_alloc::LlffHeap = embedded_alloc::LlffHeap::empty();

#[embassy_executor::task]
async fn network(port: Port<net::Virtio>) -> ! {
    port.run(|address| log!("address: {address}")).await
}

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    // SAFETY: the first and only call, before anything allocates.
    unsafe {
        embedded_alloc::init!(ALLOCATOR, HEAP);
    }
    clock::start();
    log!("boot");

    let mut random = HardwareRandom(virtio::take(DeviceType::EntropySource, virtio::Entropy::new));
    let disk = flash::Board(virtio::take(DeviceType::Block, virtio::Disk::new));
    let mut storage = FlashStorage::new(Blocks(disk));
    let known = storage.load_network().unwrap_or_else(|error| panic!("the storage: {error}"));
    let hub = known.as_ref().and_then(Network::hub);
    let hub = hub.unwrap_or_else(|| Hub { host: HOST.0.try_into().expect("it is short"), port: HOST.1 });
    log!("hub: {hub}");

    let card =
        net::Virtio(virtio::take(DeviceType::Network, |slot| virtio::Network::new(slot, virtio::PACKET)));
    let (stack, port) = card::start(card, random.number());
    spawner.spawn(network(port).expect("spawned once"));

    let keys = virtio::take(DeviceType::Input, virtio::Input::new);
    let mut board = Board::new(keys, virtio::Slot::with(DeviceType::GPU));
    let companion = Companion::new(storage, random, Geometry::LARGE, Settings::default());
    let mut companion = companion.unwrap_or_else(|error| panic!("the storage: {error}"));
    log!("device: {}", gatepost_link::topic::name(companion.device()));
    event_loop::run(&mut companion, &mut board, &mut Connector::new(stack, || Some(hub.clone()))).await
}
