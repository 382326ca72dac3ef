//! The name by which somebody reaches the hub.
//!
//! A page of anybody's can point a name of its own at this machine (DNS rebinding), and its scripts then speak to the hub as to their own
//! server. So the hub answers only to names that cannot be somebody else's: `localhost`, any address, and those of `[hub] hosts`.
//! (An address needs no entry, for no name leads to it: a page that was loaded from one came from that machine.)

use std::net::IpAddr;

use axum::http::{HeaderMap, Version, header, uri};

use super::query::clip;
use crate::{
    approval::passkeys::assertion::Site,
    message::refusal::{Code, Refusal},
};

/// By this a proxy says how it was reached (the last of several is the nearest one's word).
const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// Browsers send it where the address is one that they trust: over TLS, or on this machine
/// (<https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header>).
pub(super) const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// A host and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authority {
    /// In lower case; an IPv6 address without brackets.
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// As it stands in `Host` (RFC 9110, 7.2).
    pub(super) fn parse(text: &str) -> Option<Self> {
        let authority: uri::Authority = text.parse().ok().filter(|_| !text.contains('@'))?;
        let host = authority.host();
        let port = match text.get(host.len()..)? {
            "" => None,
            rest => Some(rest.strip_prefix(':')?.parse().ok()?),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        (!host.is_empty()).then_some(Self { host, port })
    }

    /// The one that a request names.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(header::HOST)?.to_str().ok()?)
    }

    /// The host without its port.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether it is this machine, as seen from itself.
    pub(super) fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.address().is_some_and(|address| address.to_canonical().is_loopback())
    }

    /// The port, if it goes without saying in a URL of this scheme.
    pub(super) fn port_or(&self, default: u16) -> u16 {
        self.port.unwrap_or(default)
    }

    /// Whether both are the same in URLs of one scheme.
    pub(super) fn is(&self, other: &Self, default: u16) -> bool {
        self.host == other.host && self.port_or(default) == other.port_or(default)
    }
}

impl Authority {
    /// Where a browser has passkeys for the hub's page: at a name, on this machine or over TLS. An address has none.
    fn site(&self) -> Option<Site> {
        let (scheme, default) = if self.is_loopback() { ("http", 80) } else { ("https", 443) };
        let port = match self.port_or(default) {
            port if port == default => String::new(),
            port => format!(":{port}"),
        };
        let name = self.host.clone();
        self.address().is_none().then(|| Site { origin: format!("{scheme}://{name}{port}"), rp_id: name })
    }
}

/// Where passkeys may be used, by the configuration alone: what a request says only chooses among these.
#[derive(Debug, Clone)]
pub(super) struct Sites(Vec<Site>);

impl Sites {
    /// On this machine at the port that the hub listens on, and by the names of `[hub] hosts`: one without a port also at that where the
    /// hub itself speaks TLS.
    pub(super) fn new(hosts: &Hosts, port: u16, tls: Option<u16>) -> Self {
        let local = Authority { host: "localhost".into(), port: Some(port) };
        let nameless = hosts.0.iter().filter(|host| host.port.is_none() && tls.is_some());
        let own = nameless.map(|host| Authority { port: tls, ..host.clone() });
        let own: Vec<Site> = own.filter_map(|host| host.site()).collect();
        let mut all: Vec<Site> =
            std::iter::once(&local).chain(&hosts.0).filter_map(Authority::site).collect();
        all.extend(own);
        Self(all)
    }

    /// The one that a request came from.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<&Site> {
        match headers.get(header::ORIGIN) {
            Some(origin) => self.0.iter().find(|site| origin == site.origin.as_str()),
            None => {
                let site = Authority::of(headers)?.site()?;
                self.0.iter().find(|known| **known == site)
            }
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Site] {
        &self.0
    }
}

/// The names of `[hub] hosts`.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts(Vec<Authority>);

impl Hosts {
    /// As they are written: a name, or a name with a port.
    pub(super) fn new(names: &[String]) -> Self {
        let parsed = names.iter().filter_map(|name| {
            let parsed = Authority::parse(name);
            if parsed.is_none() {
                tracing::warn!(name, "[hub] hosts has what is no name of a host: it is left out");
            }
            parsed
        });
        Self(parsed.collect())
    }

    /// Whether it is one of these.
    pub(super) fn know(&self, authority: &Authority) -> bool {
        let same_port = |known: &Authority| known.port.is_none() || known.port == authority.port;
        self.0.iter().any(|known| known.host == authority.host && same_port(known))
    }

    /// Refuses a request that came under a name that is none of the hub's.
    pub(super) fn check(&self, version: Version, uri: &uri::Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut given = headers.get_all(header::HOST).iter();
        let (first, more) = (given.next(), given.next());
        // A proxy is asked so; what stands there would count for the one in `Host` (RFC 9112, 3.2.2).
        let asked = uri.authority().map(uri::Authority::as_str);
        let Some(host) = first else {
            // Probes of load balancers, which are no browsers.
            return match version == Version::HTTP_10 && asked.is_none() {
                true => Ok(()),
                false => Err(nameless("the request has no Host")),
            };
        };
        if more.is_some() {
            return Err(nameless("the request has two Hosts"));
        }
        for text in [Some(host.to_str().unwrap_or_default()), asked].into_iter().flatten() {
            let known = Authority::parse(text).is_some_and(|authority| {
                authority.is_loopback() || authority.address().is_some() || self.know(&authority)
            });
            if !known {
                return Err(unknown(text));
            }
        }
        Ok(())
    }

    /// Whether a browser that reaches the hub so may be given the page: on its own machine, or over TLS. That is known of a connection that
    /// the hub itself secures (`by_tls`); of one by a proxy, as far as can be seen.
    pub(super) fn are_safe(&self, headers: &HeaderMap, by_tls: bool) -> bool {
        let Some(authority) = Authority::of(headers) else { return false };
        let last =
            |value: &str| value.rsplit(',').next().map(|word| word.trim().eq_ignore_ascii_case("https"));
        let proto = headers.get(FORWARDED_PROTO).and_then(|value| value.to_str().ok()).and_then(last);
        match by_tls || authority.is_loopback() {
            true => true,
            false => self.know(&authority) && proto.unwrap_or_else(|| headers.contains_key(SEC_FETCH_SITE)),
        }
    }
}

/// Whether a refusal is about the name.
pub(super) fn is_misdirected(refusal: &Refusal) -> bool {
    refusal.reason == Some(MISDIRECTED)
}

const MISDIRECTED: &str = "host";

fn unknown(name: &str) -> Refusal {
    let name: String = clip(name).chars().filter(|char| !char.is_control()).collect();
    let error = format!("{name:?} is no name of this hub");
    let hint = "reach it as localhost or by its address; or, if this is its name behind your proxy or in your network, write that name \
                into [hub] hosts and restart the hub";
    Refusal::new(Code::Forbidden, error, hint).because(MISDIRECTED)
}

fn nameless(error: &str) -> Refusal {
    Refusal::input(error, "send one Host, as HTTP/1.1 has it").because("host_header")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
    }

    fn check(hosts: &[&str], host: &str) -> Result<(), Refusal> {
        let hosts = Hosts::new(&hosts.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        hosts.check(Version::HTTP_11, &"/".parse().unwrap(), &headers(&[("host", host)]))
    }

    #[test]
    fn names_that_can_be_nobody_elses_are_answered_and_others_are_misdirected() {
        for own in [
            "localhost",
            "localhost:8787",
            "LOCALHOST.",
            "127.0.0.1:8787",
            "127.9.9.9",
            "[::1]:8787",
            "192.0.2.7:8787",
            "[2001:db8::1]",
        ] {
            check(&[], own).unwrap();
        }
        for other in [
            "evil.example",
            "localhost.evil.example",
            "x.localhost",
            "127.0.0.1.evil.example",
            "evil.example:8787",
            "hub",
        ] {
            let refusal = check(&["hub.example.org", "hub:9"], other).unwrap_err();
            assert!(is_misdirected(&refusal) && refusal.hint.contains("[hub] hosts"), "{refusal}");
        }
        for odd in ["", "localhost:", "localhost:99999", "a@localhost", "local host", "localhost/x", "[::1"] {
            assert!(check(&[], odd).is_err(), "{odd:?}");
        }
        for known in ["hub.example.org", "HUB.example.org:443", "hub:9"] {
            check(&["Hub.example.org", "hub:9"], known).unwrap();
        }
        assert!(check(&["hub:9"], "hub:10").is_err());
    }

    #[test]
    fn passkeys_are_for_the_names_of_the_configuration_and_no_others() {
        let hosts = ["hub.example.org", "Hub.lan:8443", "localhost:9000", "192.0.2.7"].map(str::to_owned);
        let own = Sites::new(&Hosts::new(&hosts), 8787, Some(8444));
        assert_eq!(own.all().last().map(|site| site.origin.as_str()), Some("https://hub.example.org:8444"));
        let sites = Sites::new(&Hosts::new(&hosts), 8787, None);
        let origins: Vec<&str> = sites.all().iter().map(|site| site.origin.as_str()).collect();
        let localhost = ["http://localhost:8787", "http://localhost:9000"];
        assert_eq!(origins, [localhost[0], "https://hub.example.org", "https://hub.lan:8443", localhost[1]]);
        for (pairs, name) in [
            (vec![("host", "localhost:8787")], Some("localhost")),
            (vec![("host", "localhost:9000"), ("origin", "http://localhost:9000")], Some("localhost")),
            (vec![("host", "hub.example.org")], Some("hub.example.org")),
            (vec![("host", "127.0.0.1:8787"), ("origin", "https://hub.lan:8443")], Some("hub.lan")),
            (vec![("host", "127.0.0.1:8787")], None),
            (vec![("host", "localhost:3000")], None),
            (vec![("host", "localhost:8787"), ("origin", "http://localhost:3000")], None),
            (vec![("host", "hub.lan")], None),
            (vec![("host", "evil.example")], None),
            (vec![], None),
        ] {
            assert_eq!(sites.of(&headers(&pairs)).map(|site| site.rp_id.as_str()), name, "{pairs:?}");
        }
    }

    #[test]
    fn one_request_has_one_name() {
        let (hosts, local) = (Hosts::default(), ("host", "localhost"));
        let check = |version, uri: &str, pairs: &[(&'static str, &str)]| {
            hosts.check(version, &uri.parse().unwrap(), &headers(pairs))
        };
        assert!(check(Version::HTTP_11, "/", &[]).is_err());
        assert!(check(Version::HTTP_10, "/", &[]).is_ok());
        let mut two = headers(&[local]);
        two.append("host", "localhost".parse().unwrap());
        assert!(hosts.check(Version::HTTP_11, &"/".parse().unwrap(), &two).is_err());
        assert!(check(Version::HTTP_11, "http://evil.example/", &[local]).is_err());
        assert!(check(Version::HTTP_11, "http://localhost/", &[local]).is_ok());
    }

    #[test]
    fn the_page_is_for_this_machine_and_for_tls() {
        let hosts = Hosts::new(&["hub.example.org".to_owned()]);
        let hub = ("host", "hub.example.org");
        for (pairs, safe) in [
            (vec![("host", "localhost:8787")], true),
            (vec![("host", "127.0.0.1")], true),
            (vec![("host", "192.0.2.7")], false),
            (vec![("host", "192.0.2.7"), ("x-forwarded-proto", "https")], false),
            (vec![hub], false),
            (vec![hub, ("x-forwarded-proto", "https")], true),
            (vec![hub, ("x-forwarded-proto", "https, http"), (SEC_FETCH_SITE, "none")], false),
            (vec![hub, (SEC_FETCH_SITE, "none")], true),
            (vec![], false),
        ] {
            assert_eq!(hosts.are_safe(&headers(&pairs), false), safe, "{pairs:?}");
            // Whatever a header says, the connection is what it is.
            assert_eq!(hosts.are_safe(&headers(&pairs), true), !pairs.is_empty(), "{pairs:?}");
        }
    }
}
