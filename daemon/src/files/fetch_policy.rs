//! Which addresses a file may be fetched from.
//!
//! An agent that can make the hub ask any address sees through the hub's eyes what only the house may see: the router, the
//! cloud's metadata, the hub itself. So an address must be public, unless the operator named it, and an agent may name only
//! hosts that the operator gave it: a request is a message too, to whoever reads the server's log.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Hosts that an agent may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

/// Hosts and networks inside the local network that may be fetched from all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Private {
    hosts: Vec<String>,
    nets: Vec<IpNet>,
}

impl Hosts {
    /// Reads a list: `example.org`, `*.example.org` for the hosts beneath it, or `*` for any public one.
    pub fn parse(entries: &[String]) -> Result<Self, String> {
        let read = |entry: &String| {
            let name = entry.strip_prefix("*.").unwrap_or(entry);
            match entry == "*" || is_host(name) {
                true => Ok(entry.to_ascii_lowercase()),
                false => {
                    Err(format!("{entry:?} is no host: write \"example.org\", \"*.example.org\" or \"*\""))
                }
            }
        };
        entries.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a host, in lower case, is among them.
    pub(super) fn contain(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.0.iter().any(|entry| match entry.strip_prefix('*') {
            Some("") => true,
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == entry,
        })
    }
}

impl Private {
    /// Reads a list: `nas.home`, `192.168.1.5`, `192.168.1.0/24`.
    pub fn parse(entries: &[String]) -> Result<Self, String> {
        let mut private = Self::default();
        for entry in entries {
            match (entry.parse::<IpNet>(), entry.parse::<IpAddr>()) {
                (Ok(net), _) => private.nets.push(net.trunc()),
                (_, Ok(address)) => private.nets.push(address.into()),
                _ if is_host(entry) => private.hosts.push(entry.to_ascii_lowercase()),
                _ => {
                    let problem = format!("{entry:?} is neither a host nor a network");
                    return Err(format!("{problem}: write \"nas.home\" or \"192.168.1.0/24\""));
                }
            }
        }
        Ok(private)
    }

    /// Whether what `host` leads to may be fetched from wherever it is.
    pub(super) fn names(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    /// Whether an address may be connected to.
    pub(super) fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address) || self.nets.iter().any(|net| net.contains(&address))
    }
}

fn is_host(text: &str) -> bool {
    text.len() <= 253
        && !text.is_empty()
        && text.split('.').all(|label| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        })
}

/// Whether an address is one that anybody on the internet could have: IANA's special-purpose registries
/// (<https://www.iana.org/assignments/iana-ipv4-special-registry>, `…/iana-ipv6-special-registry`) and multicast left out.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !PRIVATE_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => match through_nat64(address) {
            // What a network without IPv4 makes of a public address; it must not be a way round.
            Some(inner) => is_public(inner.into()),
            None => UNICAST_V6.contains(&address) && !PRIVATE_V6.iter().any(|net| net.contains(&address)),
        },
    }
}

/// The address behind the well-known prefix of NAT64, RFC 6052 §2.1.
fn through_nat64(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

const PRIVATE_V4: &[Ipv4Net] = &[
    v4(0, 0, 0, 8),       // "this network"
    v4(10, 0, 0, 8),      // private
    v4(100, 64, 0, 10),   // carriers' address translation
    v4(127, 0, 0, 8),     // loopback
    v4(169, 254, 0, 16),  // link-local, and the metadata of clouds
    v4(172, 16, 0, 12),   // private
    v4(192, 0, 0, 24),    // protocol assignments
    v4(192, 0, 2, 24),    // documentation
    v4(192, 88, 99, 24),  // relays of 6to4
    v4(192, 168, 0, 16),  // private
    v4(198, 18, 0, 15),   // benchmarks
    v4(198, 51, 100, 24), // documentation
    v4(203, 0, 113, 24),  // documentation
    v4(224, 0, 0, 4),     // multicast
    v4(240, 0, 0, 4),     // reserved, and broadcast
];

/// All that is assigned for everybody's use; link-local, site-local, unique local, multicast, loopback, the unspecified
/// one and discard lie outside.
const UNICAST_V6: Ipv6Net = v6(0x2000, 0, 3);
const PRIVATE_V6: &[Ipv6Net] = &[
    v6(0x2001, 0, 23),     // protocol assignments: Teredo, ORCHID, benchmarks
    v6(0x2001, 0xdb8, 32), // documentation
    v6(0x2002, 0, 16),     // 6to4: an IPv4 address of any kind
    v6(0x3fff, 0, 20),     // documentation
];

#[cfg(test)]
mod tests {
    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    #[test]
    fn only_what_anybody_could_have_is_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2001:200::1",
        ] {
            assert!(public(address), "{address}");
        }
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2001:10::1",
            "3fff::1",
            "100::1",
            "5f00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "2002:7f00:1::1",
            "2002:0101:0101::1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::1.1.1.1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn the_operator_names_what_inside_the_house_may_be_asked() {
        let entries = ["NAS.home", "192.168.1.7/24", "fd00::5"].map(str::to_owned);
        let private = Private::parse(&entries).unwrap();
        assert!(
            private.names("nas.home") && private.names("nas.home.") && !private.names("nas.home.evil.test")
        );
        for (address, permitted) in [
            ("192.168.1.200", true),
            ("::ffff:192.168.1.200", true),
            ("192.168.2.1", false),
            ("fd00::5", true),
            ("fd00::6", false),
            ("1.1.1.1", true),
        ] {
            assert_eq!(private.permits(address.parse().unwrap()), permitted, "{address}");
        }
        for wrong in ["", "http://nas.home", "a b", "192.168.1.0/33"] {
            assert!(Private::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_agent_names_hosts_that_it_was_given() {
        let hosts = Hosts::parse(&["files.example.org".into(), "*.cdn.test".into()]).unwrap();
        assert!(hosts.contain("files.example.org") && hosts.contain("files.example.org."));
        assert!(hosts.contain("a.b.cdn.test"));
        for other in ["example.org", "cdn.test", "evilcdn.test", "files.example.org.evil.test", "127.0.0.1"] {
            assert!(!hosts.contain(other), "{other}");
        }
        assert!(
            Hosts::parse(&["*".into()]).unwrap().contain("x.test") && !Hosts::default().contain("x.test")
        );
        assert!(Hosts::parse(&["https://x.test/".into()]).is_err());
    }
}
