//! The wireless network: joined as soon as it is known, and again whenever it is lost.

use core::cell::RefCell;

use embassy_futures::select::{Either, select};
use embassy_sync::{
    blocking_mutex::{Mutex, raw::CriticalSectionRawMutex},
    signal::Signal,
};
use embassy_time::{Duration, Timer};
use esp_println::println;
use esp_radio::wifi::{
    AuthenticationMethod, AuthenticationMethodConfig, Config, WifiController, scan::ScanConfig,
    sta::StationConfig,
};
use gatepost_companion::{
    Network,
    setup::{
        Wish,
        serve::{Done, MAX_SEEN, Seen},
    },
    storage::Security,
};
use gatepost_net::Hub;

/// Between attempts to join.
const AGAIN: Duration = Duration::from_secs(5);
/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(20);
static KNOWN: Mutex<CriticalSectionRawMutex, RefCell<Option<Network>>> = Mutex::new(RefCell::new(None));
/// What the set-up wants, one after the other, and what became of it.
pub static WISHES: Signal<CriticalSectionRawMutex, Wish> = Signal::new();
pub static DONE: Signal<CriticalSectionRawMutex, Done> = Signal::new();

/// The network to stay in from here on.
pub fn know(network: Option<Network>) {
    KNOWN.lock(|known| known.replace(network));
}

fn known() -> Option<Network> {
    KNOWN.lock(|known| known.borrow().clone()).filter(|network| !network.ssid.is_empty())
}

/// Where the hub is, if anybody has said so.
pub fn hub() -> Option<Hub> {
    let network = KNOWN.lock(|known| known.borrow().clone())?;
    (!network.host.is_empty()).then_some(Hub { host: network.host, port: network.port })
}

/// Stays in the network that is known, and does what the set-up wants.
#[embassy_executor::task]
pub async fn stay(mut radio: WifiController<'static>) -> ! {
    loop {
        let wish = match known() {
            None => WISHES.wait().await,
            Some(network) => {
                let joined = radio.is_connected() || join(&mut radio, &network).await;
                let lost = async {
                    match joined {
                        true => _ = radio.wait_for_disconnect_async().await,
                        false => Timer::after(AGAIN).await,
                    }
                };
                match select(WISHES.wait(), lost).await {
                    Either::First(wish) => wish,
                    Either::Second(()) => continue,
                }
            }
        };
        match wish {
            Wish::Join(network) => {
                let _ = radio.disconnect_async().await;
                let joined = join(&mut radio, &network).await;
                if joined {
                    know(Some(network));
                }
                DONE.signal(Done::Joined(joined));
            }
            Wish::Scan => DONE.signal(Done::Scanned(scan(&mut radio).await)),
            Wish::Keep(network) => know(Some(network)),
        }
    }
}

async fn join(radio: &mut WifiController<'static>, network: &Network) -> bool {
    let Network { ssid, password, .. } = network;
    let (Ok(name), Ok(secret)) = (ssid.as_str().try_into(), password.as_str().try_into()) else {
        return false;
    };
    // The radio takes this as the least. It knows no SAE (esp-radio 1.0.0-beta.1): a network that takes WPA3 as well is
    // joined with WPA2, one that takes WPA3 alone is not joined.
    let authentication = match network.security() {
        Some(Security::Open) => AuthenticationMethodConfig::Open,
        Some(Security::Wpa2) => AuthenticationMethodConfig::Wpa2Personal(secret),
        None => return false,
    };
    let station = StationConfig::default().with_ssid(name).with_authentication(authentication);
    if let Err(error) = radio.set_config(&Config::Station(station)) {
        println!("wifi: {error:?}");
        return false;
    }
    match select(radio.connect_async(), Timer::after(PATIENCE)).await {
        Either::First(Ok(_)) => {
            println!("wifi: in {ssid}");
            true
        }
        Either::First(Err(error)) => {
            println!("wifi: cannot join {ssid} (WPA2 or open, not WPA3 alone): {error:?}");
            false
        }
        Either::Second(()) => {
            println!("wifi: {ssid} does not answer");
            false
        }
    }
}

async fn scan(radio: &mut WifiController<'static>) -> heapless::Vec<Seen, MAX_SEEN> {
    let found = radio.scan_async(&ScanConfig::default().with_max(MAX_SEEN)).await.unwrap_or_default();
    let seen = found.iter().filter(|found| !found.ssid.is_empty()).filter_map(|found| {
        Some(Seen {
            ssid: found.ssid.as_str().try_into().ok()?,
            rssi: found.signal_strength,
            is_open: found.auth_method == Some(AuthenticationMethod::None),
        })
    });
    seen.take(MAX_SEEN).collect()
}
