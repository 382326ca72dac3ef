//! The radio, as the application asks for it. When it joins which network is decided there.

use esp_println::println;
use esp_radio::wifi::{
    AuthenticationMethod, AuthenticationMethodConfig, Config, ConnectionError, WifiController,
    scan::ScanConfig, sta::StationConfig,
};
use gatepost_companion::{
    Network,
    setup::{
        serve::{MAX_SEEN, Seen},
        stay::{News, Station},
    },
    storage::Security,
};
use heapless::Vec;

/// The radio.
pub struct Wifi(pub WifiController<'static>);

impl Station for Wifi {
    type Error = ConnectionError;

    async fn join(&mut self, network: &Network, security: Security) -> Result<(), ConnectionError> {
        // The radio takes this as the least. It knows no SAE (esp-radio 1.0.0-beta.1): a network that takes WPA3 as well
        // is joined with WPA2, one that takes WPA3 alone is not joined.
        let authentication = match security {
            Security::Open => AuthenticationMethodConfig::Open,
            Security::Wpa2 => AuthenticationMethodConfig::Wpa2Personal(network.password.as_str().try_into()?),
        };
        let station = StationConfig::default().with_ssid(network.ssid.as_str().try_into()?);
        let station = station.with_authentication(authentication);
        self.0.set_config(&Config::Station(station))?;
        self.0.connect_async().await.map(|_| ())
    }

    fn is_joined(&self) -> bool {
        self.0.is_connected()
    }

    async fn lost(&mut self) {
        let _ = self.0.wait_for_disconnect_async().await;
    }

    async fn leave(&mut self) {
        let _ = self.0.disconnect_async().await;
    }

    async fn scan(&mut self) -> Vec<Seen, MAX_SEEN> {
        let found = self.0.scan_async(&ScanConfig::default().with_max(MAX_SEEN)).await.unwrap_or_default();
        let seen = found.iter().filter(|found| !found.ssid.is_empty()).filter_map(|found| {
            Some(Seen {
                ssid: found.ssid.as_str().try_into().ok()?,
                rssi: found.signal_strength,
                is_open: found.auth_method == Some(AuthenticationMethod::None),
            })
        });
        seen.take(MAX_SEEN).collect()
    }

    fn note(&mut self, ssid: &str, news: News<ConnectionError>) {
        println!("wifi: {ssid} {news}");
    }
}
