//! By what a caller is recognised: a token in `Authorization`, or the cookie of a login. Never both: a program that sends a token has
//! no login, and nobody can say which of the two was meant.
//!
//! A browser sends the cookie with whatever asks for it, so a call by cookie must come from the hub's own page as well: [`is_own`].

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, Method, header};

use super::host::{Authority, Hosts, SEC_FETCH_SITE};
use crate::{
    agents::logins::IDLE_MS,
    message::refusal::{Code, Refusal},
};

/// The cookie over TLS. By this prefix a browser takes it only so, for this host alone and all of it
/// (<https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-the-__host-prefix>).
const SECURE_COOKIE: &str = "__Host-gatepost";
/// The cookie on this machine's own loopback, where not every browser takes a `Secure` one. Cookies know no ports: the port is in the name, so
/// that two hubs do not sign each other's people out.
const PLAIN_COOKIE: &str = "gatepost-";
/// The longest that is looked up; ours have 64 characters.
const MAX_SECRET_CHARS: usize = 128;
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// What a request shows.
#[derive(PartialEq, Eq)]
pub(super) enum Credential {
    /// A token.
    Token(String),
    /// The secret of a login.
    Cookie(String),
}

/// Says which it is, and nothing of it.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(***)",
            Self::Cookie(_) => "Cookie(***)",
        })
    }
}

impl Credential {
    /// The one that there is.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        match (token(headers), cookie(headers)) {
            (Some(_), Some(_)) => Err(both()),
            (Some(token), None) => Ok(Some(Self::Token(token))),
            (None, Some(secret)) => Ok(Some(Self::Cookie(secret))),
            (None, None) => Ok(None),
        }
    }
}

fn token(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let plain = Authority::of(headers).map(|host| plain_name(&host));
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs: Vec<(&str, &str)> =
        all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('=')).collect();
    let named = |wanted: &str| pairs.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let secret = named(SECURE_COOKIE).or_else(|| named(plain.as_deref()?))?;
    (!secret.is_empty() && secret.len() <= MAX_SECRET_CHARS).then(|| secret.to_owned())
}

fn plain_name(host: &Authority) -> String {
    format!("{PLAIN_COOKIE}{}", host.port_or(HTTP_PORT))
}

/// How a page of the hub's own reached it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// On this machine.
    Loopback,
    /// Over TLS.
    Tls,
}

/// The header that gives a browser the cookie with this secret, for as long as a login lasts; without one, that takes it back.
pub(super) fn set_cookie(scheme: Scheme, headers: &HeaderMap, secret: Option<&str>) -> HeaderValue {
    let name = match scheme {
        Scheme::Tls => SECURE_COOKIE.to_owned(),
        Scheme::Loopback => Authority::of(headers).as_ref().map(plain_name).unwrap_or_default(),
    };
    let (value, age) = secret.map_or(("", 0), |secret| (secret, IDLE_MS / 1000));
    let secure = if scheme == Scheme::Tls { " Secure;" } else { "" };
    let cookie = format!("{name}={value};{secure} HttpOnly; SameSite=Strict; Path=/; Max-Age={age}");
    let mut cookie = HeaderValue::from_str(&cookie).expect("names and secrets are letters and digits");
    cookie.set_sensitive(true);
    cookie
}

/// By which of both ways the cookie came.
pub(super) fn came_by(headers: &HeaderMap) -> Scheme {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let secure = |pair: &str| pair.trim().split_once('=').is_some_and(|(name, _)| name == SECURE_COOKIE);
    match all.flat_map(|line| line.split(';')).any(secure) {
        true => Scheme::Tls,
        false => Scheme::Loopback,
    }
}

/// Refuses a call by cookie that does not come from the hub's own page, or could.
///
/// What reads is sent by any page that names it, and changes nothing; where a browser says that another site asks, it is refused even so. What
/// changes something has the page's own `Origin`, and a body that no form can send.
pub(super) fn is_own(method: &Method, headers: &HeaderMap, hosts: &Hosts) -> Result<(), Refusal> {
    let site = headers.get(SEC_FETCH_SITE);
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(foreign("another page asks for this"));
    }
    match *method == Method::GET || *method == Method::HEAD {
        true => Ok(()),
        false => comes_from(headers, hosts).map(drop),
    }
}

/// That a call which changes something comes from the hub's own page, and how that reached it.
pub(super) fn comes_from(headers: &HeaderMap, hosts: &Hosts) -> Result<Scheme, Refusal> {
    let origin = headers.get(header::ORIGIN).ok_or_else(|| foreign("it has no Origin"))?;
    let scheme = origin
        .to_str()
        .ok()
        .zip(Authority::of(headers))
        .and_then(|(origin, host)| own_origin(origin, &host, hosts))
        .ok_or_else(|| foreign("this comes from another page, or from one without TLS"))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0")
        || headers.contains_key(header::TRANSFER_ENCODING);
    match has_body && !kind.eq_ignore_ascii_case("application/json") {
        true => Err(foreign("the body of a call by login is application/json")),
        false => Ok(scheme),
    }
}

/// An origin is own if a page of it was served by the hub: by the same host and port on this machine, or over TLS by a name of the hub's.
fn own_origin(origin: &str, host: &Authority, hosts: &Hosts) -> Option<Scheme> {
    let (scheme, authority) = origin.split_once("://")?;
    let authority = Authority::parse(authority)?;
    match scheme {
        "http" => (authority.is(host, HTTP_PORT) && host.is_loopback()).then_some(Scheme::Loopback),
        // Some proxies hand on another Host than the one that they were asked for.
        "https" => (authority.is(host, HTTPS_PORT) || hosts.know(&authority)).then_some(Scheme::Tls),
        _ => None,
    }
}

fn foreign(error: &str) -> Refusal {
    let hint = "a login is for the hub's own page, at http://localhost or over TLS by a name of [hub] hosts; programs send a token";
    Refusal::new(Code::Forbidden, error, hint).because("origin")
}

fn both() -> Refusal {
    let hint = "send the token alone; a login is for the hub's own page";
    Refusal::input("the call has a token and the cookie of a login", hint).because("credentials")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_call_has_a_token_or_a_cookie_and_never_both() {
        let host = ("host", "localhost:8787");
        let of = |pairs: &[(&'static str, &str)]| Credential::of(&headers(pairs));
        assert_eq!(
            of(&[host, ("authorization", "Bearer gp_1")]).unwrap(),
            Some(Credential::Token("gp_1".into()))
        );
        let cookie = ("cookie", "theme=dark; gatepost-8787=ab; gatepost-9=cd");
        assert_eq!(of(&[host, cookie]).unwrap(), Some(Credential::Cookie("ab".into())));
        assert_eq!(
            of(&[host, ("authorization", "Bearer x"), cookie]).unwrap_err().reason,
            Some("credentials")
        );
        // What a proxy asks for is none of ours.
        assert_eq!(
            of(&[host, ("authorization", "Basic eA=="), cookie]).unwrap(),
            Some(Credential::Cookie("ab".into()))
        );
        for none in ["", "gatepost-9=cd", "xgatepost-8787=ab", "gatepost-8787=", "gatepost-8787"] {
            assert_eq!(of(&[host, ("cookie", none)]).unwrap(), None, "{none}");
        }
        assert_eq!(of(&[host, ("cookie", &format!("gatepost-8787={}", "x".repeat(129)))]).unwrap(), None);
        let secure = [("host", "hub.example.org"), ("cookie", "__Host-gatepost=ef")];
        assert_eq!(of(&secure).unwrap(), Some(Credential::Cookie("ef".into())));
    }

    #[test]
    fn the_cookie_is_secure_wherever_it_leaves_the_machine() {
        let host = headers(&[("host", "localhost:8787")]);
        let text = |value: HeaderValue| value.to_str().unwrap().to_owned();
        assert_eq!(
            text(set_cookie(Scheme::Loopback, &host, Some("ab"))),
            "gatepost-8787=ab; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"
        );
        assert_eq!(
            text(set_cookie(Scheme::Tls, &host, None)),
            "__Host-gatepost=; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"
        );
    }

    #[test]
    fn what_changes_something_comes_from_the_page_itself() {
        let hosts = Hosts::new(&["hub.example.org".to_owned()]);
        let own = |pairs: &[(&'static str, &str)]| is_own(&Method::POST, &headers(pairs), &hosts);
        let json = ("content-type", "application/json; charset=utf-8");
        let long = ("content-length", "2");
        let local = ("host", "localhost:8787");
        for (host, origin) in [
            ("localhost:8787", "http://localhost:8787"),
            ("127.0.0.1:9", "http://127.0.0.1:9"),
            ("hub.example.org", "https://hub.example.org"),
            ("hub.example.org:443", "https://hub.example.org"),
            ("127.0.0.1:8787", "https://hub.example.org"),
        ] {
            own(&[("host", host), ("origin", origin), json, long]).unwrap();
        }
        for (host, origin) in [
            ("localhost:8787", "http://localhost:3000"),
            ("localhost:8787", "http://127.0.0.1:8787"),
            ("localhost:8787", "http://evil.example"),
            ("localhost:8787", "https://evil.example"),
            ("localhost:8787", "null"),
            ("192.0.2.7:8787", "http://192.0.2.7:8787"),
            ("hub.example.org", "http://hub.example.org"),
        ] {
            let refusal = own(&[("host", host), ("origin", origin), json, long]).unwrap_err();
            assert_eq!((refusal.code, refusal.reason), (Code::Forbidden, Some("origin")), "{origin}");
        }
        let origin = ("origin", "http://localhost:8787");
        assert!(own(&[local, json, long]).is_err(), "no Origin");
        assert!(own(&[local, origin]).is_ok(), "without a body");
        for kind in
            ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", "application/jsonp"]
        {
            assert!(own(&[local, origin, long, ("content-type", kind)]).is_err(), "{kind}");
        }
        assert!(own(&[local, origin, ("transfer-encoding", "chunked")]).is_err());
        // Sent by a page at another port of this machine, which counts as the same site.
        for (site, taken) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)]
        {
            let read = is_own(&Method::GET, &headers(&[local, (SEC_FETCH_SITE, site)]), &hosts);
            assert_eq!(read.is_ok(), taken, "{site}");
        }
        assert!(is_own(&Method::GET, &headers(&[local]), &hosts).is_ok());
    }
}
