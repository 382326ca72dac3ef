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
//! - a connection that speaks TLS ([`tls`]) is one like the others, its handshake a part of what must come in time.

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

pub(super) use self::body::{OverBudget, Unread, read};
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
    /// Requests that are being handled, of callers with a token.
    seats: usize,
    /// The same of one caller.
    per_caller: usize,
}

impl Bounds {
    /// For so many connections. A sixth is for those that are nobody's; of the others one caller has a quarter.
    pub fn of(connections: usize) -> Self {
        let pending = (connections / 6).max(1);
        let seats = (connections - pending.min(connections)).max(1);
        Self { pending, seats, per_caller: (seats / 4).max(1) }
    }
}

/// What connections share.
struct Shared {
    endpoint: Endpoint,
    routes: Router,
    pending: Pending,
    seats: Seats,
    bytes: Bytes,
    load: Load,
}

/// Serves until `stop` says so or its sender is gone, then lets the requests end that are being handled. All bounds are for both
/// listeners together.
pub async fn serve(
    listener: TcpListener,
    secured: Option<Secured>,
    endpoint: Endpoint,
    bounds: Bounds,
    mut stop: watch::Receiver<bool>,
) {
    let load = endpoint.load().clone();
    let shared = Arc::new(Shared {
        routes: endpoint.clone().routes(),
        pending: Pending::new(bounds.pending),
        seats: Seats::new(bounds.seats, bounds.per_caller),
        bytes: Bytes::new(endpoint.0.max_body),
        load: load.clone(),
        endpoint,
    });
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = async { shared.pending.room().await; accept(&listener, secured.as_ref()).await } => accepted,
            Some(_) = connections.join_next() => continue,
            // The sender going away means the same as its word.
            _ = stop.changed() => break,
        };
        let ((stream, peer), tls) = match accepted {
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
        let serving = connection::serve(stream, tls, peer.ip(), Arc::clone(&shared), stop.clone());
        connections.spawn(async move {
            serving.await;
            drop(open);
        });
    }
    drop((listener, secured));
    while connections.join_next().await.is_some() {}
}

/// The next connection, and by what it is secured.
async fn accept(
    listener: &TcpListener,
    secured: Option<&Secured>,
) -> io::Result<((TcpStream, SocketAddr), Option<TlsAcceptor>)> {
    let by_tls = async {
        match secured {
            Some(secured) => Ok((secured.listener.accept().await?, Some(secured.tls.acceptor()))),
            None => pending().await,
        }
    };
    tokio::select! {
        accepted = listener.accept() => Ok((accepted?, None)),
        accepted = by_tls => accepted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_all_that_one_may_have_leaves_room_for_others() {
        for connections in [16, 128, 512] {
            let Bounds { pending, seats, per_caller } = Bounds::of(connections);
            assert!(pending + seats <= connections && per_caller * 4 <= seats && pending >= 2);
        }
        assert_eq!(Bounds::of(512), Bounds { pending: 85, seats: 427, per_caller: 106 });
    }
}
