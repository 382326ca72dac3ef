//! What is installed where: the port that the board is on, and the address at which it finds the hub.

use std::{
    ffi::OsStr,
    fs,
    net::{IpAddr, Ipv4Addr, UdpSocket},
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

use crate::{companion::broker::parse_url, config::Broker};

/// Where udev has serial ports by what is plugged in.
const PORTS: &str = "/dev/serial/by-id";
/// An address that is nobody's (RFC 5737): the way there begins at this machine's address. Nothing is sent.
const ELSEWHERE: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);

/// The serial ports that something is plugged in at.
pub fn ports() -> Vec<PathBuf> {
    ports_in(Path::new(PORTS))
}

fn ports_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ports: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    ports.sort();
    ports
}

/// Whether this is a serial port, or leads to one: a device with a port's name, which a console (`tty0`) and the rest of /dev have not; or a
/// pseudo-terminal.
pub fn is_port(path: &Path) -> bool {
    let Ok(device) = fs::canonicalize(path) else { return false };
    let name = device.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let begins = |name: &str, is: fn(&char) -> bool| name.chars().next().is_some_and(|first| is(&first));
    let is_named = match device.parent().and_then(Path::to_str) {
        Some("/dev") => name.strip_prefix("tty").is_some_and(|rest| begins(rest, char::is_ascii_alphabetic)),
        Some("/dev/pts") => begins(name, char::is_ascii_digit),
        _ => false,
    };
    is_named && fs::metadata(device).is_ok_and(|device| device.file_type().is_char_device())
}

/// Why nobody can say where a board finds the hub's broker.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The URL of somebody's broker is no URL.
    #[error("{0}")]
    Url(String),
    /// That broker is spoken to by TLS.
    #[error("[broker] url is mqtts, which boards do not speak: it needs a listener without TLS too")]
    Secure,
    /// The hub's own is this machine's alone.
    #[error(
        "the hub's broker listens on {0} alone, where no board reaches it: set [broker] listen = \"0.0.0.0:{1}\" and restart the hub"
    )]
    Loopback(IpAddr, u16),
    /// This machine is in no network.
    #[error("this machine has no IPv4 address in a network")]
    NoNetwork,
    /// The hub's own listens on IPv6.
    #[error("the hub's broker listens on IPv6, which boards do not speak")]
    Ipv6,
}

/// Where a board finds the hub's broker, as the configuration has it.
///
/// # Errors
/// Nowhere.
pub fn broker(config: &Broker) -> Result<String, AddressError> {
    address(config.url.as_deref(), config.listen.ip(), config.listen.port(), || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect(ELSEWHERE).ok()?;
        Some(socket.local_addr().ok()?.ip())
    })
}

fn address(
    url: Option<&str>,
    listen: IpAddr,
    port: u16,
    own: impl FnOnce() -> Option<IpAddr>,
) -> Result<String, AddressError> {
    if let Some(url) = url {
        let url = parse_url(url).map_err(|error| AddressError::Url(error.to_string()))?;
        return match url.secure {
            true => Err(AddressError::Secure),
            false => Ok(format!("{}:{}", url.host, url.port)),
        };
    }
    match listen {
        ip if ip.is_loopback() => Err(AddressError::Loopback(ip, port)),
        ip if ip.is_unspecified() => match own() {
            Some(IpAddr::V4(ip)) if !ip.is_loopback() => Ok(format!("{ip}:{port}")),
            _ => Err(AddressError::NoNetwork),
        },
        IpAddr::V4(ip) => Ok(format!("{ip}:{port}")),
        IpAddr::V6(_) => Err(AddressError::Ipv6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_are_those_that_something_is_plugged_in_at() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ports_in(&folder.path().join("none")).is_empty());
        let names = ["usb-1a86-port0", "usb-Espressif_USB_JTAG-if00"].map(|name| folder.path().join(name));
        names.iter().for_each(|name| fs::write(name, "").unwrap());
        assert_eq!(ports_in(folder.path()), names);
    }

    #[test]
    fn a_board_is_told_an_address_that_it_can_reach() {
        let own = || Some(IpAddr::from([192, 168, 1, 20]));
        let of = |url, listen: [u8; 4], own: fn() -> Option<IpAddr>| address(url, listen.into(), 1883, own);
        assert_eq!(of(None, [0, 0, 0, 0], own).unwrap(), "192.168.1.20:1883");
        assert_eq!(of(None, [192, 168, 1, 7], own).unwrap(), "192.168.1.7:1883");
        assert_eq!(of(Some("mqtt://broker.home"), [127, 0, 0, 1], own).unwrap(), "broker.home:1883");
        let said = |result: Result<String, AddressError>| result.unwrap_err().to_string();
        assert!(said(of(None, [127, 0, 0, 1], own)).contains("listen = \"0.0.0.0:1883\""));
        assert_eq!(of(None, [0, 0, 0, 0], || None), Err(AddressError::NoNetwork));
        assert!(said(of(Some("mqtts://broker.home"), [0, 0, 0, 0], own)).contains("mqtts"));
    }
}
