//! What the set-up asks of the radio, and what it answers.

use heapless::{String, Vec};

use crate::storage::network::{MAX_SSID, Network};

/// How many networks a scan returns.
pub const MAX_SCANNED: usize = 16;

/// What the radio is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RadioRequest {
    /// Join this network, and report the result with [`RadioEvent::Joined`].
    Join(Network),
    /// Use this network, which is joined already or still has no name, and the hub in it. It is not answered.
    Keep(Network),
    /// Report the networks in reach with [`RadioEvent::Scanned`].
    Scan,
}

/// What happened at the radio.
// There is one at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RadioEvent {
    /// Whether the requested network was joined.
    Joined(bool),
    /// The networks in reach.
    Scanned(Vec<ScannedNetwork, MAX_SCANNED>),
    /// Without a request: whether the radio is in a network now.
    Online(bool),
}

/// A network in reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedNetwork {
    /// Its name.
    pub ssid: String<MAX_SSID>,
    /// Its signal strength in dBm.
    pub rssi: i8,
    /// Whether it needs no password.
    pub is_open: bool,
}

/// A radio that handles one request after the other.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Radio {
    /// Queues a request; returns it if too many are waiting.
    #[allow(
        clippy::result_large_err,
        reason = "without an allocator there is no box, and it is moved once a setup"
    )]
    fn request(&mut self, request: RadioRequest) -> Result<(), RadioRequest>;

    /// Waits for the next event. Safe to cancel.
    async fn event(&mut self) -> RadioEvent;
}
