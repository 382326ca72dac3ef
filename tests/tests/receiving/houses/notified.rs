//! The way from a platform to the hub that it notifies.

use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Result, ensure};
use gatepost_tests::hub::Client;

/// Where the hub is.
#[derive(Default)]
pub(crate) struct Notified(AtomicU16);

impl Notified {
    /// It is at this port from now on.
    pub(crate) fn is_at(&self, port: u16) {
        self.0.store(port, Ordering::Relaxed);
    }

    /// Posts JSON there, on a connection of its own.
    ///
    /// # Errors
    /// The hub did not take it.
    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<()> {
        let base = format!("http://127.0.0.1:{}", self.0.load(Ordering::Relaxed));
        let answer = Client::new(&base, None).raw("POST", path, headers, body)?;
        ensure!((200..300).contains(&answer.status), "{}: {}", answer.status, answer.body);
        Ok(())
    }
}
