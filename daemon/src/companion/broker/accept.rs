//! The embedded broker itself: it listens, and knows how many it has let in.
//!
//! It is our own because it has so little to do: the topics are known, nothing is retained, nothing outlives a connection. The
//! broker that was here before, rumqttd 0.20, keeps a log for every filter that was ever subscribed and an index of every topic
//! that was ever published to until the process ends (its `router/logs.rs`, `DataLog::next_native_offset` and `matches`), so that
//! no filter before it can bound its memory.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
};

use tokio::{net, task::JoinSet, time::sleep};

use super::{
    BrokerError, PAUSE,
    connection::{self, Shared},
    router::Router,
};
use crate::{
    companion::logins::Logins,
    connections::{load::Load, pending::Pending},
};

/// Connections that have not said CONNECT yet.
const MAX_PENDING: usize = 16;

/// The running broker. It ends with all its connections when dropped.
#[derive(Debug)]
pub struct Broker {
    serving: tokio::task::JoinHandle<()>,
    load: Load,
}

impl Broker {
    /// Starts it for whom `logins` admits, with `most` connections at once. To be called within a runtime.
    ///
    /// # Errors
    /// The port is taken, or not ours to take.
    pub fn start(listen: SocketAddr, logins: Logins, most: usize) -> Result<Self, BrokerError> {
        let failed = |error| BrokerError::Listen(listen, error);
        let listener = TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = net::TcpListener::from_std(listener).map_err(failed)?;
        let pending = Pending::new(MAX_PENDING.min(most / 4));
        let router = Router::new(most.saturating_sub(MAX_PENDING.min(most / 4)));
        let load = Load::new("broker");
        let shared = Shared { logins, router, load: load.clone() };
        Ok(Self { serving: tokio::spawn(accept(listener, pending, shared)), load })
    }

    /// How many connections it has, and what it turns away.
    pub fn load(&self) -> &Load {
        &self.load
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: net::TcpListener, pending: Pending, shared: Shared) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                shared.load.note("accept", &error.to_string());
                sleep(PAUSE).await;
                continue;
            }
        };
        // Frames are short, and people wait for them.
        let _ = stream.set_nodelay(true);
        let must_go = Arc::default();
        let (ticket, crowded) = pending.enter(peer.ip(), &must_go);
        if crowded {
            shared.load.note("pending", &peer.ip().to_string());
        }
        let (open, shared) = (shared.load.opened(), shared.clone());
        connections.spawn(async move {
            connection::serve(stream, (ticket, &must_go), shared).await;
            drop(open);
        });
    }
}
