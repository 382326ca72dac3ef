//! Set-up over the serial line. The log goes out there too, a line at a time; packets come between its lines.

use embassy_futures::select::{Either, select};
use embassy_time::Instant;
use esp_hal::{Async, uart::Uart};
use esp_println::println;
use gatepost_companion::{
    Millis, Network, Storage as _,
    flash::storage::FlashStorage,
    setup::{About, SetUp, Wish},
};

use crate::{
    flash::Partition,
    wifi::{self, Done},
};

#[cfg(feature = "esp32c3")]
const CHIP: &str = "ESP32-C3";
#[cfg(feature = "esp32c6")]
const CHIP: &str = "ESP32-C6";

/// Listens, answers, and keeps what was set up.
#[embassy_executor::task]
pub async fn set_up(
    mut line: Uart<'static, Async>,
    known: Option<Network>,
    mut storage: FlashStorage<Partition>,
) -> ! {
    let about = About { version: env!("CARGO_PKG_VERSION"), chip: CHIP };
    let mut set_up = SetUp::new(about, known);
    let mut bytes = [0; 64];
    loop {
        let network = match select(line.read_async(&mut bytes), wifi::DONE.wait()).await {
            Either::First(Ok(count)) => {
                let now = Millis(Instant::now().as_millis());
                let mut kept = None;
                for wish in bytes[..count].iter().filter_map(|byte| set_up.received(now, *byte)) {
                    if let Wish::Keep(network) = &wish {
                        kept = Some(network.clone());
                    }
                    wifi::WISHES.signal(wish);
                }
                kept
            }
            // A byte that was lost: its packet is sent again.
            Either::First(Err(_)) => None,
            Either::Second(Done::Joined(joined)) => set_up.joined(joined),
            Either::Second(Done::Scanned(seen)) => {
                seen.iter().for_each(|seen| set_up.seen(&seen.ssid, seen.rssi, seen.is_open));
                set_up.scanned();
                None
            }
        };
        if let Some(network) = network
            && let Err(error) = storage.store_network(&network)
        {
            println!("the network could not be kept: {error}");
        }
        while let Some(answer) = set_up.answer() {
            let mut rest = &answer[..];
            while let Ok(count @ 1..) = line.write_async(rest).await {
                rest = &rest[count..];
            }
        }
    }
}
