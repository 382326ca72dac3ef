//! The radio, as the application needs it. The application decides when it joins which network.

use esp_println::println;
use esp_radio::wifi::{
    AuthenticationMethod, AuthenticationMethodConfig, Config, ConnectionError, WifiController,
    scan::ScanConfig, sta::StationConfig,
};
use gatepost_companion::{
    Network,
    net::{
        radio::{MAX_SCANNED, ScannedNetwork},
        wifi::{JoinResult, Station},
    },
    storage::Security,
};
use heapless::Vec;

/// The radio.
pub struct EspStation(pub WifiController<'static>);

impl Station for EspStation {
    type Error = ConnectionError;

    async fn join(&mut self, network: &Network, security: Security) -> Result<(), ConnectionError> {
        // The radio requires at least this. It does not support SAE (esp-radio 1.0.0-beta.1): a network with WPA2 and WPA3
        // is joined with WPA2, one with WPA3 alone is not joined.
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

    async fn wait_for_loss(&mut self) {
        let _ = self.0.wait_for_disconnect_async().await;
    }

    async fn leave(&mut self) {
        let _ = self.0.disconnect_async().await;
    }

    async fn scan(&mut self) -> Vec<ScannedNetwork, MAX_SCANNED> {
        let found = self.0.scan_async(&ScanConfig::default().with_max(MAX_SCANNED)).await.unwrap_or_default();
        let networks = found.iter().filter(|found| !found.ssid.is_empty()).filter_map(|found| {
            Some(ScannedNetwork {
                ssid: found.ssid.as_str().try_into().ok()?,
                rssi: found.signal_strength,
                is_open: found.auth_method == Some(AuthenticationMethod::None),
            })
        });
        networks.take(MAX_SCANNED).collect()
    }

    fn log(&mut self, ssid: &str, result: JoinResult<ConnectionError>) {
        println!("wifi: {ssid} {result}");
    }
}
