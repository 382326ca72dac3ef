//! The companion on an ESP32-C3, or on an ESP32-C6 by feature: a display on I²C, two buttons, Wi-Fi.
//!
//! Nothing is decided here. The runner passes the board's devices to the application, which drives them:
//!
//! - [`board`]: buttons, display and light, as the application needs them; the pin table is in `main`;
//! - [`wifi`]: the radio;
//! - `gatepost-esp`, beside this folder: flash, light, and what restarts the device.
#![no_std]
#![no_main]
#![warn(missing_docs)]

mod board;
mod wifi;

/// Which firmware this is, and whose releases it takes: written by the build script.
mod release {
    include!(concat!(env!("OUT_DIR"), "/release.rs"));
}

use board::{Board, HardwareRandom};
use embassy_executor::Spawner;
use embassy_time::Delay;
use esp_hal::{
    Async,
    clock::CpuClock,
    gpio::{Input, InputConfig, Pull},
    i2c::master::{Config as I2cConfig, I2c},
    peripherals::{FLASH, RTC_TIMER},
    rng::Rng,
    system::software_reset,
    time::Rate,
    timer::timg::TimerGroup,
    uart::{Config as UartConfig, Uart},
    usb::usb_serial_jtag::UsbSerialJtag,
};
use esp_println::println;
use esp_radio::wifi::{ControllerConfig, Interface, WifiController};
use gatepost_companion::{
    Companion, Geometry, Settings, Storage as _, event_loop,
    flash::storage::FlashStorage,
    net::{
        setup::{About, SetUp, lines::Lines, serve::serve},
        wifi::Wifi,
    },
    slots::partitions::SLOT_BYTES,
    ui::debounce::Switches,
    update::{Firmware, ImageKind, Started, Updater, Updates, Watched},
};
use gatepost_esp::{flash, light::Light, restart};
use gatepost_link::{seal::Random as _, update::Label};
use gatepost_net::{Connector, now};
use static_cell::StaticCell;
use wifi::EspStation;

// Of all this only the version is ours. A loader that counts secure versions is not asked to.
esp_bootloader_esp_idf::esp_app_desc!(
    release::VERSION_TEXT,
    env!("CARGO_PKG_NAME"),
    esp_bootloader_esp_idf::BUILD_TIME,
    esp_bootloader_esp_idf::BUILD_DATE,
    esp_bootloader_esp_idf::ESP_IDF_COMPATIBLE_VERSION,
    esp_bootloader_esp_idf::MMU_PAGE_SIZE,
    0,
    u16::MAX,
    esp_bootloader_esp_idf::SECURE_VERSION
);

/// The chip's name, the board's in releases, and the chip's number in images (`esp_chip_id_t`).
#[cfg(feature = "esp32c3")]
const CHIP: (&str, Option<Label>, u16) = ("ESP32-C3", Label::new("esp32c3"), 5);
#[cfg(feature = "esp32c6")]
const CHIP: (&str, Option<Label>, u16) = ("ESP32-C6", Label::new("esp32c6"), 13);

const FIRMWARE: Firmware = Firmware {
    board: CHIP.1.expect("a label"),
    version: release::VERSION,
    built: release::BUILT,
    slot: SLOT_BYTES,
    image: ImageKind::Esp { chip: CHIP.2 },
    root: Some(release::ROOT),
};

#[embassy_executor::task]
async fn network(mut runner: embassy_net::Runner<'static, Interface>) -> ! {
    runner.run().await
}

#[embassy_executor::task]
async fn run_wifi(wifi: &'static Wifi, mut station: EspStation) -> ! {
    wifi.run(&mut station, Delay).await
}

/// Set-up over the UART, where the log goes out too, a line at a time, and packets come between its lines; and over the chip's own USB.
#[embassy_executor::task]
async fn set_up(
    mut wifi: &'static Wifi,
    mut line: Lines<Uart<'static, Async>, UsbSerialJtag<'static, Async>, Delay>,
    mut storage: FlashStorage<flash::Partition>,
) {
    let about = About { version: release::VERSION_TEXT, chip: CHIP.0 };
    let mut set_up = SetUp::new(about, wifi.known());
    let on_error = |error| println!("the network could not be stored: {error}");
    serve(&mut set_up, &mut line, &mut wifi, &mut storage, now, on_error).await;
}

/// Counts this start, and puts new firmware on trial under a watchdog. The partition of the storage, and the updates.
// Not in `main`: what an async function has borrowed keeps its memory for good, even if it is moved on.
fn start(flash: FLASH<'static>, timer: RTC_TIMER<'static>) -> (flash::Partition, impl Updates) {
    let (parts, running) = flash::take(flash);
    let partition = parts.storage.clone();
    let Started::Run(updater) = Updater::start(parts, running, FIRMWARE) else {
        println!("this firmware did not prove itself: back to the one before");
        software_reset()
    };
    let watchdog = updater.is_on_trial().then(|| {
        println!("this firmware is on trial");
        restart::start_watchdog(timer)
    });
    let updates = Watched::new(updater, move || {
        if let Some(mut watchdog) = watchdog {
            watchdog.disable();
        }
    });
    (partition, updates)
}

#[esp_rtos::main]
async fn main(spawner: Spawner) -> ! {
    let pins = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    println!("gatepost companion {}", release::VERSION_TEXT);
    if release::HAS_DEVELOPMENT_KEYS {
        println!("DEV KEYS: anybody can sign firmware for this device");
    }
    let (partition, updates) = start(pins.FLASH, pins.RTC_TIMER);
    // The radio wants about 128 KB: what the bootloader has done with, and as much again.
    esp_alloc::heap_allocator!(#[unsafe(link_section = ".dram2_uninit")] size: 64 * 1024);
    esp_alloc::heap_allocator!(size: 64 * 1024);
    let timers = TimerGroup::new(pins.TIMG0);
    esp_rtos::start(timers.timer0, pins.FROM_CPU_INTR0);

    // ---- the pin table -------------------------------------------------------------------------------------------
    // Approve on GPIO3 and Deny on GPIO10, to ground. Never GPIO9: what holds it at the start decides what starts.
    let pulled_up = InputConfig::default().with_pull(Pull::Up);
    let approve = Input::new(pins.GPIO3, pulled_up);
    let deny = Input::new(pins.GPIO10, pulled_up);
    // The light.
    let light = Light::new(pins.RMT, pins.GPIO8);
    // SSD1306, 128×64, at 0x3C.
    let bus = I2cConfig::default().with_frequency(Rate::from_khz(400));
    let bus =
        I2c::new(pins.I2C0, bus).expect("a rate that the bus has").with_sda(pins.GPIO4).with_scl(pins.GPIO5);
    // The console, where the chip's own loader speaks too.
    let serial = Uart::new(pins.UART0, UartConfig::default()).expect("115,200 baud");
    #[cfg(feature = "esp32c3")]
    let serial = serial.with_rx(pins.GPIO20).with_tx(pins.GPIO21);
    #[cfg(feature = "esp32c6")]
    let serial = serial.with_rx(pins.GPIO17).with_tx(pins.GPIO16);
    // The chip's own USB, on pins that it has for nothing else.
    let usb = UsbSerialJtag::new(pins.USB_DEVICE);
    // --------------------------------------------------------------------------------------------------------------

    let mut storage = FlashStorage::new(partition.clone());
    let known = storage.load_network().unwrap_or_else(|error| {
        println!("the stored network cannot be read, set it up again: {error}");
        None
    });
    static WIFI: StaticCell<Wifi> = StaticCell::new();
    let wifi: &Wifi = WIFI.init(Wifi::new(known));

    let radio = WifiController::new(pins.WIFI, ControllerConfig::default()).expect("the radio starts");
    let mut random = HardwareRandom(Rng::new());
    let (stack, runner) = gatepost_net::start(Interface::station(), random.number());
    spawner.spawn(network(runner).expect("spawned once"));
    spawner.spawn(run_wifi(wifi, EspStation(radio)).expect("spawned once"));
    let set_up_storage = FlashStorage::new(partition);
    let lines = Lines::new(serial.into_async(), usb.into_async(), Delay);
    spawner.spawn(set_up(wifi, lines, set_up_storage).expect("spawned once"));

    let mut board = Board::new(Switches::new(approve, deny, Delay), bus, light);
    let companion = Companion::with_updates(storage, random, Geometry::SMALL, Settings::default(), updates);
    let mut companion = companion.unwrap_or_else(|error| panic!("the device's keys cannot be read: {error}"));
    println!("device {}", gatepost_link::topic::name(companion.device()));
    event_loop::run(&mut companion, &mut board, &mut Connector::new(stack, || wifi.hub())).await
}
