//! What is installed where: the port that the board is on, and the address at which it finds the hub.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, UdpSocket},
    path::{Path, PathBuf},
};

use crate::{cli::Failed, client::Place, companion::broker::parse_url, config::Config};

/// Where udev has serial ports by what is plugged in.
const PORTS: &str = "/dev/serial/by-id";
/// An address that is nobody's (RFC 5737): the way there begins at this machine's address. Nothing is sent.
const ELSEWHERE: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);

/// The port that is given, or the only one that there is.
pub(super) fn port(given: Option<&Path>) -> Result<PathBuf, Failed> {
    match given {
        Some(port) => Ok(port.into()),
        None => only(Path::new(PORTS)),
    }
}

fn only(folder: &Path) -> Result<PathBuf, Failed> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ports: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    ports.sort();
    match &ports[..] {
        [one] => Ok(one.clone()),
        [] => Err(Failed::Usage(
            "no board is plugged in: use a cable that carries data, or say --port PORT. If there is a port and it is not seen, hold BOOT \
             while you plug it in"
                .into(),
        )),
        many => {
            let list: Vec<String> = many.iter().map(|port| format!("  --port {}", port.display())).collect();
            Err(Failed::Usage(format!("several serial ports are there; say which:\n{}", list.join("\n"))))
        }
    }
}

/// Where a board finds the hub's broker.
pub(super) fn hub(place: &Place, given: Option<&str>) -> Result<String, Failed> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let config = Config::load(&place.config).map_err(Failed::refused)?;
    address(config.broker.url.as_deref(), config.broker.listen.ip(), config.broker.listen.port(), || {
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
) -> Result<String, Failed> {
    let give = |why: &str| Failed::Usage(format!("{why}; say where the board finds it: --broker HOST:PORT"));
    if let Some(url) = url {
        let url = parse_url(url).map_err(Failed::refused)?;
        return match url.secure {
            true => Err(give(
                "[broker] url is mqtts, which boards do not speak: it needs a listener without TLS too",
            )),
            false => Ok(format!("{}:{}", url.host, url.port)),
        };
    }
    match listen {
        ip if ip.is_loopback() => Err(Failed::Usage(format!(
            "the hub's broker listens on {ip} alone, where no board reaches it: set [broker] listen = \"0.0.0.0:{port}\" and restart the \
             hub, or say --broker HOST:PORT"
        ))),
        ip if ip.is_unspecified() => match own() {
            Some(IpAddr::V4(ip)) if !ip.is_loopback() => Ok(format!("{ip}:{port}")),
            _ => Err(give("this machine has no IPv4 address in a network")),
        },
        IpAddr::V4(ip) => Ok(format!("{ip}:{port}")),
        IpAddr::V6(_) => Err(give("the hub's broker listens on IPv6, which boards do not speak")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_port_is_taken_and_of_several_none() {
        let folder = tempfile::tempdir().unwrap();
        let none = only(&folder.path().join("none")).unwrap_err().to_string();
        assert!(none.contains("no board is plugged in"), "{none}");
        let first = folder.path().join("usb-Espressif_USB_JTAG-if00");
        fs::write(&first, "").unwrap();
        assert_eq!(only(folder.path()).unwrap(), first);
        fs::write(folder.path().join("usb-1a86-port0"), "").unwrap();
        let several = only(folder.path()).unwrap_err().to_string();
        assert!(several.contains("--port") && several.contains("usb-1a86-port0"), "{several}");
    }

    #[test]
    fn a_board_is_told_an_address_that_it_can_reach() {
        let own = || Some(IpAddr::from([192, 168, 1, 20]));
        let of = |url, listen: [u8; 4], own: fn() -> Option<IpAddr>| address(url, listen.into(), 1883, own);
        assert_eq!(of(None, [0, 0, 0, 0], own).unwrap(), "192.168.1.20:1883");
        assert_eq!(of(None, [192, 168, 1, 7], own).unwrap(), "192.168.1.7:1883");
        assert_eq!(of(Some("mqtt://broker.home"), [127, 0, 0, 1], own).unwrap(), "broker.home:1883");
        let said = |result: Result<String, Failed>| result.unwrap_err().to_string();
        assert!(said(of(None, [127, 0, 0, 1], own)).contains("listen = \"0.0.0.0:1883\""));
        assert!(said(of(None, [0, 0, 0, 0], || None)).contains("--broker"));
        assert!(said(of(Some("mqtts://broker.home"), [0, 0, 0, 0], own)).contains("mqtts"));
    }
}
