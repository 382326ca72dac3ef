//! The HTTP server before the handlers: who gets a connection, for how long, and how many bytes.
//!
//! Nobody who comes may take up memory or descriptors without a bound, or keep others out:
//!
//! - a connection of which nobody knows whose it is (before its first request with a valid token, between two requests, and
//!   during requests without a token) has a place among few, which the oldest gives up for a new one ([`Pending`]);
//! - a request with a token counts as its caller's while it is handled and its answer is sent, and a caller may have so many
//!   ([`seats`]); what waits for long (`?wait=`, streams) is bounded by this;
//! - bytes of bodies, received and sent, are counted over all connections and for each caller ([`bytes`], [`body`]);
//! - a head must come in time ([`connection`]), and answers must be read ([`stream`]);
//! - a connection that speaks TLS ([`tls`]) is one like the others, its handshake a part of what must come in time;
//! - a connection from outside, by a tunnel or a proxy, is nobody's whatever it says, and has places of its own: what comes from the
//!   internet cannot drive out who is at home.

mod authority;
mod body;
mod bytes;
mod certificate;
mod connection;
mod own;
mod seats;
mod stream;
mod tls;

use std::{future::pending, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::sleep,
};
use tokio_rustls::TlsAcceptor;

pub(super) use self::body::{OverBudget, Unread, read, read_as_it_comes};
use self::{bytes::Bytes, seats::Seats};
pub use self::{
    certificate::{Certificate, CertificateError},
    own::Own,
    tls::{Secured, Tls, now},
};
use super::Endpoint;
use crate::connections::{load::Load, pending::Pending};

/// After an error of the listening socket, such as no descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The bounds, from the number of connections that there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections of which nobody knows whose they are.
    pending: usize,
    /// Those from outside, who are never anybody's.
    outside: usize,
    /// Requests that are being handled, of callers with a token.
    seats: usize,
    /// The same of one caller.
    per_caller: usize,
}

impl Bounds {
    /// For so many connections, and whether there are some from outside. A sixth is for those that are nobody's, as many for those from
    /// outside; of the others one caller has a quarter.
    pub fn of(connections: usize, has_outside: bool) -> Self {
        let pending = (connections / 6).max(1);
        let outside = if has_outside { pending } else { 0 };
        let seats = (connections - (pending + outside).min(connections)).max(1);
        Self { pending, outside, seats, per_caller: (seats / 4).max(1) }
    }
}

/// Where the hub listens.
pub struct Listeners {
    /// For agents and the command line.
    pub own: TcpListener,
    /// The same over TLS.
    pub secured: Option<Secured>,
    /// For platforms and programs outside, and for nobody else.
    pub outside: Option<TcpListener>,
}

/// A way in: what is behind it, and the places before it.
struct Door {
    routes: Router,
    pending: Pending,
    /// Whether whoever comes may show who they are.
    knows_callers: bool,
}

/// What connections share.
struct Shared {
    endpoint: Endpoint,
    seats: Seats,
    bytes: Bytes,
    load: Load,
}

/// Serves until `stop` says so or its sender is gone, then lets the requests end that are being handled, and what platforms told be
/// written down. All bounds are for all listeners together.
pub async fn serve(
    listeners: Listeners,
    endpoint: Endpoint,
    bounds: Bounds,
    mut stop: watch::Receiver<bool>,
) {
    let load = endpoint.load().clone();
    let inside = Arc::new(Door {
        routes: endpoint.clone().routes(),
        pending: Pending::new(bounds.pending),
        knows_callers: true,
    });
    let outside = Arc::new(Door {
        routes: endpoint.clone().outside_routes(),
        pending: Pending::new(bounds.outside),
        knows_callers: false,
    });
    let shared = Arc::new(Shared {
        seats: Seats::new(bounds.seats, bounds.per_caller),
        bytes: Bytes::new(endpoint.0.max_body),
        load: load.clone(),
        endpoint,
    });
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = async { inside.pending.room().await; accept(&listeners).await } =>
                accepted.map(|accepted| (accepted, &inside)),
            // Nobody there is looked up, so that there always is one who can go.
            accepted = accept_outside(&listeners) => accepted.map(|stream| ((stream, None), &outside)),
            Some(_) = connections.join_next() => continue,
            // The sender going away means the same as its word.
            _ = stop.changed() => break,
        };
        let (((stream, peer), tls), door) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                load.note("accept", &error.to_string());
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Answers are short, and somebody waits for them.
        let _ = stream.set_nodelay(true);
        let open = load.opened();
        let at = (Arc::clone(door), Arc::clone(&shared));
        let serving = connection::serve(stream, tls, peer.ip(), at, stop.clone());
        connections.spawn(async move {
            serving.await;
            drop(open);
        });
    }
    drop(listeners);
    while connections.join_next().await.is_some() {}
    shared.endpoint.0.rooms.are_empty().await;
}

/// The next connection from inside, and by what it is secured.
async fn accept(listeners: &Listeners) -> io::Result<((TcpStream, SocketAddr), Option<TlsAcceptor>)> {
    let by_tls = async {
        match &listeners.secured {
            Some(secured) => Ok((secured.listener.accept().await?, Some(secured.tls.acceptor()))),
            None => pending().await,
        }
    };
    tokio::select! {
        accepted = listeners.own.accept() => Ok((accepted?, None)),
        accepted = by_tls => accepted,
    }
}

/// The next connection from outside.
async fn accept_outside(listeners: &Listeners) -> io::Result<(TcpStream, SocketAddr)> {
    match &listeners.outside {
        Some(listener) => listener.accept().await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_all_that_one_may_have_leaves_room_for_others() {
        for connections in [16, 128, 512] {
            for has_outside in [false, true] {
                let Bounds { pending, outside, seats, per_caller } = Bounds::of(connections, has_outside);
                assert!(pending + outside + seats <= connections && per_caller * 4 <= seats && pending >= 2);
            }
        }
        assert_eq!(Bounds::of(512, false), Bounds { pending: 85, outside: 0, seats: 427, per_caller: 106 });
        assert_eq!(Bounds::of(512, true), Bounds { pending: 85, outside: 85, seats: 342, per_caller: 85 });
    }
}
