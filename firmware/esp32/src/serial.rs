//! Set-up over the serial line. The log goes out there too, a line at a time; packets come between its lines.

use embassy_time::Instant;
use esp_hal::{Async, uart::Uart};
use esp_println::println;
use gatepost_companion::{
    Millis, Network,
    flash::storage::FlashStorage,
    setup::{
        About, SetUp, Wish,
        serve::{Done, Radio, serve},
    },
};

use crate::{flash::Partition, wifi};

#[cfg(feature = "esp32c3")]
const CHIP: &str = "ESP32-C3";
#[cfg(feature = "esp32c6")]
const CHIP: &str = "ESP32-C6";

/// The task of [`wifi`].
struct Wifi;

impl Radio for Wifi {
    fn wish(&mut self, wish: Wish) {
        wifi::WISHES.signal(wish);
    }

    async fn done(&mut self) -> Done {
        wifi::DONE.wait().await
    }
}

/// Listens, answers, and keeps what was set up.
#[embassy_executor::task]
pub async fn set_up(
    mut line: Uart<'static, Async>,
    known: Option<Network>,
    mut storage: FlashStorage<Partition>,
) {
    let about = About { version: env!("CARGO_PKG_VERSION"), chip: CHIP };
    let mut set_up = SetUp::new(about, known);
    let now = || Millis(Instant::now().as_millis());
    let lost = |error| println!("the network could not be kept: {error}");
    serve(&mut set_up, &mut line, &mut Wifi, &mut storage, now, lost).await;
}
