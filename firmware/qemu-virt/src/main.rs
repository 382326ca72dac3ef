//! The companion on QEMU's riscv32 board `virt`: the same application, network stack and storage as on an ESP32, with a
//! virtio device for each part of the board.
//!
//! It exists so that everything but a soldering iron can be tested: a screen whose pixels a test compares, two keys that
//! it presses and releases, a flash that outlives a `kill -9`, an update with a reset in the middle. Nothing is decided here.
//!
//! - [`clock`]: time and timers, and the watchdog of a trial; [`uart`]: the log;
//! - [`board`]: keys and screen, as the application asks for them;
//! - [`firmware`]: what runs here, and whose updates it takes.
//!
//! A loader of its own starts it, from one of two slots: `boot`, beside this folder.
#![no_std]
#![no_main]
#![warn(missing_docs)]

mod board;
mod clock;
mod firmware;
mod uart;

use core::cell::RefCell;

use board::Board;
use embassy_executor::Spawner;
use embassy_time::Delay;
use gatepost_companion::{
    Companion, Geometry, Settings, Storage as _, event_loop,
    flash::{blocks::Blocks, part::Part, storage::FlashStorage},
    net::{
        setup::{About, SetUp, serve::serve},
        wifi::Wifi,
    },
    slots::{flat::Flaw, partitions::parts},
    update::{Started, Updater, Updates as _, Watched},
};
use gatepost_link::seal::Random as _;
use gatepost_net::{
    Connector,
    card::{self, Port},
    now,
};
use gatepost_virtio::{
    self as virtio,
    flash::Flash,
    handover, machine, net,
    random::HardwareRandom,
    wire::{self, Line, Wire},
};
use heapless::String;
use static_cell::StaticCell;
use virtio_drivers::transport::DeviceType;

/// For the few things that allocate: a handshake, and virtio's buffers.
const HEAP: usize = 64 * 1024;

#[global_allocator]
static ALLOCATOR: embedded_alloc::LlffHeap = embedded_alloc::LlffHeap::empty();

#[embassy_executor::task]
async fn network(port: Port<net::Virtio>, flaw: Flaw) -> ! {
    port.run(|address| {
        log!("address: {address}");
        assert!(flaw != Flaw::Panics, "as its image's header wants it");
    })
    .await
}

/// A set-up over the serial line, between the lines of the log.
#[embassy_executor::task]
async fn set_up(
    mut wifi: &'static Wifi,
    version: &'static str,
    mut storage: FlashStorage<Part<'static, Blocks<Flash>>>,
) {
    let mut set_up = SetUp::new(About { version, chip: "QEMU virt" }, wifi.known());
    let on_error = |error| log!("the network could not be stored: {error}");
    serve(&mut set_up, &mut Line, &mut wifi, &mut storage, now, on_error).await;
}

#[embassy_executor::task]
async fn run_wire(wifi: &'static Wifi) -> ! {
    wifi.run(&mut Wire::new(|line| log!("{line}")), Delay).await
}

#[embassy_executor::main]
async fn main(spawner: Spawner) -> ! {
    // SAFETY: the first and only call, before anything allocates.
    unsafe {
        embedded_alloc::init!(ALLOCATOR, HEAP);
    }
    let (slot, header) =
        handover::read().expect("started by the board's loader: firmware/README.md says how");
    // Before all that may fail: what is on trial is counted.
    static FLASH: StaticCell<RefCell<Blocks<Flash>>> = StaticCell::new();
    let disk = Flash(virtio::take(DeviceType::Block, virtio::Disk::new));
    let parts = parts(FLASH.init(RefCell::new(Blocks(disk))));
    let storage = parts.storage.clone();
    let updates = match Updater::start(parts, slot, firmware::of(&header)) {
        Started::Run(updates) => updates,
        Started::Restart => {
            log!("the image in {slot:?} had its starts: back to the other");
            machine::reset()
        }
    };
    clock::start();
    if updates.is_on_trial() {
        clock::watch(header.trial_s);
    }
    log!("boot: version {} in {slot:?}{}", header.version, firmware::DEVELOPMENT);
    if header.flaw == Flaw::Hangs {
        loop {
            core::hint::spin_loop();
        }
    }

    let mut random = HardwareRandom(virtio::take(DeviceType::EntropySource, virtio::Entropy::new));
    let set_up_storage = FlashStorage::new(storage.clone());
    let mut storage = FlashStorage::new(storage);
    let known = storage.load_network().unwrap_or_else(|error| panic!("the storage: {error}"));
    static WIFI: StaticCell<Wifi> = StaticCell::new();
    let wifi: &Wifi = WIFI.init(Wifi::new(known));
    log!("hub: {}", wire::hub(wifi));
    static VERSION: StaticCell<String<16>> = StaticCell::new();
    let version = VERSION.init(heapless::format!("{}", header.version).expect("three numbers are short"));
    spawner.spawn(set_up(wifi, version, set_up_storage).expect("spawned once"));
    spawner.spawn(run_wire(wifi).expect("spawned once"));

    let card =
        net::Virtio(virtio::take(DeviceType::Network, |slot| virtio::Network::new(slot, virtio::PACKET)));
    let (stack, port) = card::start(card, random.number());
    if header.flaw != Flaw::NoNetwork {
        spawner.spawn(network(port, header.flaw).expect("spawned once"));
    }

    let keys = virtio::take(DeviceType::Input, virtio::Input::new);
    let display = virtio::Slot::with(DeviceType::GPU).filter(|_| header.flaw != Flaw::NoDisplay);
    let mut board = Board::new(keys, display);
    let updates = Watched::new(updates, || {
        clock::unwatch();
        log!("confirmed");
    });
    let companion = Companion::with_updates(storage, random, Geometry::LARGE, Settings::default(), updates);
    let mut companion = companion.unwrap_or_else(|error| panic!("the storage: {error}"));
    log!("device: {}", gatepost_link::topic::name(companion.device()));
    event_loop::run(&mut companion, &mut board, &mut Connector::new(stack, || Some(wire::hub(wifi)))).await
}
