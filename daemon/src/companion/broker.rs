//! The embedded MQTT broker.
//!
//! It carries frames and is trusted with nothing. Its commit log is kept small: frames are not stored for anybody, a
//! companion that was away is told everything anew when it says hello.

use std::{
    collections::HashMap,
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use rumqttd::{ConnectionSettings, RouterConfig, ServerSettings};

use super::logins::Logins;
use crate::settings::secret::Secret;

/// How long the broker may take to listen.
const START: Duration = Duration::from_secs(5);
/// The largest payload: a frame and its topic, generously.
const MAX_PAYLOAD: usize = 8 * 1024;

/// Where the hub and its companions meet.
#[derive(Debug, Clone)]
pub struct Address {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User name and password, where the broker wants them.
    pub login: Option<(String, Secret)>,
}

/// Why there is no broker.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The port is taken, or not ours to take.
    #[error("the MQTT broker cannot listen on {0}: {1} (set [broker] listen to another port)")]
    Listen(SocketAddr, std::io::Error),
    /// It stopped before it listened.
    #[error("the MQTT broker did not start listening on {0} within {START:?}")]
    Start(SocketAddr),
    /// Not an address of a broker.
    #[error("{0:?} is not the address of a broker: write \"mqtt://host:port\"")]
    Url(String),
}

/// Starts the embedded broker for whom `logins` admits. It runs until the process ends: the library knows no other end.
pub fn start(listen: SocketAddr, logins: Logins) -> Result<(), BrokerError> {
    // The broker only logs that it cannot listen; asking first turns that into an error.
    drop(TcpListener::bind(listen).map_err(|error| BrokerError::Listen(listen, error))?);
    let mut connections = ConnectionSettings {
        connection_timeout_ms: 5_000,
        max_payload_size: MAX_PAYLOAD,
        max_inflight_count: 100,
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    connections
        .set_auth_handler(move |_client, user, password| std::future::ready(logins.admit(&user, &password)));
    let settings =
        ServerSettings { name: "broker".into(), listen, tls: None, next_connection_delay_ms: 1, connections };
    let config = rumqttd::Config {
        router: RouterConfig {
            max_connections: 64,
            max_outgoing_packet_count: 200,
            max_segment_size: 64 * 1024,
            max_segment_count: 4,
            ..RouterConfig::default()
        },
        v4: Some(HashMap::from([("1".into(), settings)])),
        ..rumqttd::Config::default()
    };
    thread::Builder::new()
        .name("broker".into())
        .spawn(move || {
            if let Err(error) = rumqttd::Broker::new(config).start() {
                tracing::error!(%error, "the MQTT broker stopped");
            }
        })
        .map_err(|error| BrokerError::Listen(listen, error))?;
    let started = Instant::now();
    while started.elapsed() < START {
        if TcpStream::connect_timeout(&listen, Duration::from_millis(200)).is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(BrokerError::Start(listen))
}

/// Reads the address of a broker that somebody runs.
pub fn parse_url(url: &str, login: Option<(String, Secret)>) -> Result<Address, BrokerError> {
    let refused = || BrokerError::Url(url.chars().take(80).collect());
    let rest = url.strip_prefix("mqtt://").ok_or_else(refused)?.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| refused())?),
        None => (rest, 1883),
    };
    if host.is_empty() || host.contains(['/', '@']) {
        return Err(refused());
    }
    Ok(Address { host: host.to_owned(), port, login })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_that_cannot_listen_is_an_error_and_not_a_line_in_the_log() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = start(taken.local_addr().unwrap(), Logins::default()).unwrap_err();
        assert!(error.to_string().contains("cannot listen"), "{error}");
    }

    #[test]
    fn addresses_of_brokers_are_read() {
        let address = parse_url("mqtt://broker.home:1884/", None).unwrap();
        assert_eq!((address.host.as_str(), address.port), ("broker.home", 1884));
        assert_eq!(parse_url("mqtt://broker.home", None).unwrap().port, 1883);
        for url in ["broker.home", "mqtts://broker.home", "mqtt://", "mqtt://a:b@c", "mqtt://h:port"] {
            assert!(parse_url(url, None).is_err(), "{url}");
        }
    }
}
