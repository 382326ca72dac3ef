//! The signals by which somebody ends a command that has asked a question, or that leaves something half done.

use std::{future::poll_fn, task::Poll};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failed;

/// These signals, which end the program no more by themselves.
pub(super) struct Stop(Vec<Signal>);

impl Stop {
    /// Waits for signals of these kinds from now on.
    pub(super) fn on(kinds: &[SignalKind]) -> Result<Self, Failed> {
        let signals = kinds.iter().map(|kind| signal(*kind)).collect::<Result<_, _>>();
        signals.map(Self).map_err(|_| Failed::Refused("the system lets nobody wait for signals".into()))
    }

    /// One of them has come.
    pub(super) async fn asked(&mut self) {
        poll_fn(|context| match self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}
