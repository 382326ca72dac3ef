//! What every request passes before its handler, whoever sends it: it comes under a name of the hub's, and its answer says to a browser
//! that it is nothing else than what it is called.

use std::net::{IpAddr, Ipv4Addr};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};

use super::{Endpoint, host, page, problem};

/// By this a proxy says for whom it asks; the last of several is who asked the nearest one.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The connection by which a request comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// The address at its other end.
    pub address: IpAddr,
    /// Whether the hub itself secures it.
    pub by_tls: bool,
}

/// Lets a request pass that comes under a name of the hub's.
pub(super) async fn pass(State(endpoint): State<Endpoint>, request: Request, next: Next) -> Response {
    let checked = endpoint.0.hosts.check(request.version(), request.uri(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            endpoint.0.refused.note(None, "Host", &refusal).await;
            let status = match host::is_misdirected(&refusal) {
                true => StatusCode::MISDIRECTED_REQUEST,
                false => StatusCode::BAD_REQUEST,
            };
            match page::is_for_a_person(request.headers()) {
                true => page::in_words(&refusal, status),
                false => problem::with_status(&refusal, status),
            }
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // What a login reads is for nobody who comes to this browser later.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// From where a request comes: the other end of its connection, or from a proxy on this machine what that says. For people's eyes, and to
/// tell guessers apart; no right hangs on it.
pub(super) fn came_from(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.address);
    let forwarded = request.headers().get_all(FORWARDED_FOR).iter().next_back();
    let forwarded = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    forwarded.filter(|_| peer.to_canonical().is_loopback()).unwrap_or(peer).to_canonical()
}

/// Whether a request comes by a connection that the hub itself secures. No header says so.
pub(super) fn is_by_tls(request: &Request) -> bool {
    request.extensions().get::<Peer>().is_some_and(|peer| peer.by_tls)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_a_proxy_on_this_machine_says_for_whom_it_asks() {
        for (peer, forwarded, from) in [
            ("192.0.2.1", None, "192.0.2.1"),
            ("::ffff:192.0.2.1", None, "192.0.2.1"),
            ("127.0.0.1", Some("198.51.100.1, 192.0.2.9"), "192.0.2.9"),
            ("::1", Some("no address"), "::1"),
            ("192.0.2.1", Some("192.0.2.9"), "192.0.2.1"),
        ] {
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(Peer { address: peer.parse().unwrap(), by_tls: false });
            if let Some(forwarded) = forwarded {
                request.headers_mut().insert(FORWARDED_FOR, forwarded.parse().unwrap());
            }
            assert_eq!(came_from(&request).to_string(), from);
        }
    }
}
