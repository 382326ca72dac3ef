//! The companion on QEMU's riscv32 board `virt`: the same application, network stack and storage as on an ESP32, with a
//! virtio device for each part of the board.
//!
//! It exists so that everything but a soldering iron can be tested: a screen whose pixels a test compares, two keys that
//! it presses and releases, a flash that outlives a `kill -9`. Nothing is decided here.
//!
//! - [`clock`]: time and timers; [`uart`]: the log;
//! - [`dma`]: memory for virtio's devices, and these as they are found;
//! - [`net`], [`screen`], [`keys`], [`flash`], [`dice`]: one device each, behind what the companion asks for.
#![no_std]
#![no_main]
#![warn(missing_docs)]

extern crate alloc;

mod clock;
mod dice;
mod dma;
mod flash;
mod keys;
mod net;
mod screen;
mod uart;

use embassy_executor::{Executor, Spawner};
use embassy_net::{Stack, StackResources};
use gatepost_companion::{
    Button, Companion, Edge, Geometry, Millis, Screen, Settings, Storage as _, flash::storage::FlashStorage,
    mqtt,
};
use gatepost_net::{Buffers, Connector, Hub};
use static_cell::StaticCell;

/// Where QEMU's user network has its host, and a broker's port: for a device that was told nothing else.
const HOST: (&str, u16) = ("10.0.2.2", 1883);
/// For the few things that allocate: a handshake, and virtio's buffers.
const HEAP: usize = 64 * 1024;

#[global_allocator]
static ALLOCATOR: embedded_alloc::LlffHeap = embedded_alloc::LlffHeap::empty();

/// What the companion asks of a board.
struct Board {
    keys: keys::Keys,
    screen: screen::Display,
    dice: dice::Dice,
}

impl mqtt::Board for Board {
    fn now(&self) -> Millis {
        clock::now()
    }

    async fn event(&mut self, until: Millis) -> Option<(Button, Edge)> {
        self.keys.event(until).await
    }

    fn show(&mut self, screen: &Screen) {
        self.screen.show(screen);
    }

    fn dice(&mut self) -> u32 {
        self.dice.number()
    }

    fn note(&mut self, note: mqtt::Note) {
        log!("{note}");
    }
}

#[embassy_executor::task]
async fn network(mut runner: net::Runner) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn address(stack: Stack<'static>) -> ! {
    loop {
        stack.wait_config_up().await;
        if let Some(config) = stack.config_v4() {
            log!("address: {}", config.address);
        }
        stack.wait_config_down().await;
    }
}

#[embassy_executor::task]
async fn companion(spawner: Spawner) -> ! {
    let found = dma::find();
    let mut dice = dice::Dice::new(found.entropy.expect("-device virtio-rng-device"));
    let mut storage = FlashStorage::new(flash::new(found.disk.expect("-device virtio-blk-device")));
    let hub = match storage.load_network() {
        Ok(Some(network)) => Hub { host: network.host, port: network.port },
        Ok(None) => Hub { host: HOST.0.try_into().expect("it is short"), port: HOST.1 },
        Err(error) => panic!("the storage: {error}"),
    };
    log!("hub: {}:{}", hub.host, hub.port);

    static RESOURCES: StaticCell<StackResources<4>> = StaticCell::new();
    let driver = net::Driver::new(found.network.expect("-device virtio-net-device"));
    let (stack, runner) = embassy_net::new(
        driver,
        embassy_net::Config::dhcpv4(Default::default()),
        RESOURCES.init(StackResources::new()),
        dice.seed(),
    );
    spawner.spawn(network(runner).expect("spawned once"));
    spawner.spawn(address(stack).expect("spawned once"));

    let random = dice.clone();
    let mut board = Board {
        keys: keys::Keys::new(found.keys.expect("-device virtio-keyboard-device")),
        screen: screen::Display::new(found.screen.expect("-device virtio-gpu-device")),
        dice,
    };
    static COMPANION: StaticCell<Companion<FlashStorage<flash::Flash>, dice::Dice>> = StaticCell::new();
    let companion = match Companion::new(storage, random, Geometry::LARGE, Settings::default()) {
        Ok(companion) => COMPANION.init(companion),
        Err(error) => panic!("the storage: {error}"),
    };
    log!("device: {}", gatepost_link::topic::name(companion.device()));
    static BUFFERS: StaticCell<Buffers> = StaticCell::new();
    let mut connector = Connector::new(stack, BUFFERS.init(Buffers::new()), || Some(hub.clone()));
    mqtt::run(companion, &mut board, &mut connector).await
}

#[riscv_rt::entry]
fn main() -> ! {
    static MEMORY: StaticCell<[u8; HEAP]> = StaticCell::new();
    let memory = MEMORY.init_with(|| [0; HEAP]);
    // SAFETY: the first and only call, before anything allocates, on memory that nothing else will ever use.
    unsafe { ALLOCATOR.init(memory.as_mut_ptr() as usize, HEAP) };
    clock::start();
    log!("boot");
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    EXECUTOR.init(Executor::new()).run(|spawner| spawner.spawn(companion(spawner).expect("spawned once")))
}
