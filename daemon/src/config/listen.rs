//! Addresses to listen at: an IP address and a port. A name is none, for the hub would have to ask who has it, and might hear at another
//! place than the one that is meant.

use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, de::Error};

/// One.
pub(super) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|_| D::Error::custom(problem(&text)))
}

/// One, of a key that may be left out.
pub(super) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    address(from).map(Some)
}

fn problem(text: &str) -> String {
    let write = |ip: &str, port: &str| {
        format!(
            "{text:?} is no address to listen at: write an IP address and a port, such as \"{ip}:{port}\""
        )
    };
    match text.rsplit_once(':') {
        Some(("localhost", port)) if port.parse::<u16>().is_ok() => write("127.0.0.1", port),
        Some((_, port)) if port.parse::<u16>().is_ok() => write("0.0.0.0", port),
        _ => write("127.0.0.1", "8791"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::Config;

    #[test]
    fn a_name_is_refused_with_the_address_to_write() {
        for (key, says) in [
            ("[hub]\nplatform_listen = \"localhost:8791\"", "such as \"127.0.0.1:8791\""),
            ("[hub]\nlisten = \"localhost:8787\"", "such as \"127.0.0.1:8787\""),
            ("[web]\nlisten = \"hub.local:8443\"", "such as \"0.0.0.0:8443\""),
            ("[broker]\nlisten = \"1883\"", "an IP address and a port"),
        ] {
            let error = Config::parse(key, Path::new("gatepost.toml")).unwrap_err().to_string();
            assert!(error.starts_with("gatepost.toml:2: ") && error.contains(says), "{error}");
        }
    }
}
