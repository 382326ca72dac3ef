//! The MQTT broker at which the hub meets its companions: the embedded one, or one that somebody runs.
//!
//! It carries frames and is trusted with nothing. The embedded one keeps nothing for anybody who is not connected: a companion
//! that was away is told everything anew when it says hello.
//!
//! - [`accept`]: the embedded one itself;
//! - [`connection`]: one connection to it, from its first byte to its end, and [`packets`]: how much;
//! - [`router`]: who listens to what, and what waits for them;
//! - [`access`]: what a login may hear and say;
//! - here: where a broker is.

mod accept;
pub(super) mod access;
mod connection;
mod packets;
mod router;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rumqttc::{AsyncClient, Event, MqttOptions, Packet, TlsConfiguration, Transport};
use rustls::ClientConfig;

pub use self::accept::Broker;
use super::tls::{self, TlsError, Trust};
use crate::{cause::refused_address, settings::secret::Secret};

/// How long a broker may take to let somebody in.
const ASK: Duration = Duration::from_secs(15);
/// After an error of the listening socket, such as no descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// The keys of the configuration that say where a broker is: what an error names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// The section.
    pub section: &'static str,
    /// The key of the broker's URL in it.
    pub url: &'static str,
}

/// Those of the broker at which the hub meets its companions.
pub const MEETING: Named = Named { section: "broker", url: "url" };

/// Where a broker is, and how the hub is let in.
#[derive(Debug, Clone)]
pub struct Address {
    /// Where the configuration says so.
    pub named: Named,
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User name and password, where the broker wants them.
    pub login: Option<(String, Secret)>,
    /// How the connection is secured, if it is.
    pub tls: Option<Arc<ClientConfig>>,
    /// Whether the hub has a certificate of its own there.
    pub has_certificate: bool,
}

/// What the URL of a broker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether the connection is secured.
    pub secure: bool,
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// Why there is no broker.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The port is taken, or not ours to take.
    #[error("the MQTT broker cannot listen on {0}: {1} ({hint})", hint = refused_address("broker.listen", .0, .1))]
    Listen(SocketAddr, std::io::Error),
    /// Not an address of a broker.
    #[error(
        "{0:?} is not the address of a broker: write \"mqtts://host:port\", or \"mqtt://host:port\" where the net between is yours"
    )]
    Url(String),
    /// What the connection is to be secured with.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Reads the URL of a broker that somebody runs. Without a port it is the usual one, 1883 or, secured, 8883.
pub fn parse_url(url: &str) -> Result<Url, BrokerError> {
    let refused = || BrokerError::Url(url.chars().take(80).collect());
    let (secure, rest) = match (url.strip_prefix("mqtts://"), url.strip_prefix("mqtt://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(refused()),
    };
    let rest = rest.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| refused())?),
        None => (rest, if secure { 8883 } else { 1883 }),
    };
    // What is in brackets is an address, and a certificate is for a name.
    if host.is_empty() || host.contains(['/', '@']) || (secure && host.contains(['[', ']'])) {
        return Err(refused());
    }
    Ok(Url { secure, host: host.to_owned(), port })
}

impl Address {
    /// Of a broker that somebody runs.
    pub fn elsewhere(
        url: &str,
        login: Option<(String, Secret)>,
        files: Trust<'_>,
    ) -> Result<Self, BrokerError> {
        let Url { secure, host, port } = parse_url(url)?;
        let tls = secure.then(|| tls::client(files)).transpose()?;
        Ok(Self {
            named: files.named,
            host,
            port,
            login,
            tls,
            has_certificate: secure && files.own.is_some(),
        })
    }

    /// What is said of it when it cannot be spoken to.
    pub(super) fn peer(&self) -> tls::Peer<'_> {
        let &Self { named, ref host, port, ref tls, has_certificate, .. } = self;
        tls::Peer { named, host, port, by_tls: tls.is_some(), has_certificate }
    }

    /// How a client of this name connects to it.
    pub(crate) fn options(&self, client: String) -> MqttOptions {
        let mut options = MqttOptions::new(client, &self.host, self.port);
        if let Some((user, password)) = &self.login {
            options.set_credentials(user, password.expose());
        }
        if let Some(tls) = &self.tls {
            let tls = TlsConfiguration::Rustls(Arc::clone(tls));
            options.set_transport(Transport::tls_with_config(tls));
        }
        options
    }

    /// Connects once, to see whether the broker lets the hub in; what to do, if not.
    pub async fn ask(&self) -> Result<(), String> {
        let options = self.options(format!("gatepost-check-{}", crate::random::hex::<8>()));
        let (_client, mut events) = AsyncClient::new(options, 1);
        let connected = async {
            loop {
                match events.poll().await {
                    Ok(Event::Incoming(Packet::ConnAck(_))) => return Ok(()),
                    Ok(_) => {}
                    Err(error) => return Err(tls::explain(&error, self.peer())),
                }
            }
        };
        tokio::time::timeout(ASK, connected)
            .await
            .unwrap_or_else(|_| Err("the broker does not answer".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::companion::logins::Logins;

    #[tokio::test]
    async fn a_broker_that_cannot_listen_is_an_error_and_not_a_line_in_the_log() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let error = Broker::start(taken.local_addr().unwrap(), Logins::default(), 64).unwrap_err();
        assert!(error.to_string().contains("cannot listen"), "{error}");
    }

    #[test]
    fn addresses_of_brokers_are_read() {
        let read = |url| {
            let Url { secure, host, port } = parse_url(url).unwrap();
            (secure, host, port)
        };
        assert_eq!(read("mqtt://broker.home:1884/"), (false, "broker.home".into(), 1884));
        assert_eq!(read("mqtt://broker.home"), (false, "broker.home".into(), 1883));
        assert_eq!(read("mqtts://broker.home"), (true, "broker.home".into(), 8883));
        assert_eq!(read("mqtt://[::1]:1883"), (false, "[::1]".into(), 1883));
        for url in [
            "broker.home",
            "mqtts://",
            "ws://broker.home",
            "mqtt://",
            "mqtt://a:b@c",
            "mqtt://h:port",
            "mqtts://[::1]:1",
        ] {
            assert!(parse_url(url).is_err(), "{url}");
        }
    }
}
