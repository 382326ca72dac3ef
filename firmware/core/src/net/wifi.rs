//! The wireless network: joined as soon as it is known, joined again whenever it is lost, and changed by the set-up.
//!
//! Two tasks of one executor share a [`Wifi`]: one runs [`Wifi::run`] and owns the radio, the other runs the set-up and
//! sends it requests. A requested network replaces the known one only once it was joined, so that a mistyped password
//! changes nothing.
//!
//! Every request is answered, in order and in bounded time: an attempt to rejoin the known network is cancelled for it, and
//! every operation of the radio ends after [`RADIO_TIMEOUT_MS`]. The radio alone says whether the device is in a network.

use core::{
    cell::{Cell, RefCell},
    fmt,
};

use embassy_futures::select::{Either, Either3, select, select3};
use embassy_sync::{
    blocking_mutex::raw::NoopRawMutex,
    channel::{Channel, TrySendError},
    signal::Signal,
};
use embedded_hal_async::delay::DelayNs;
use heapless::Vec;

use super::radio::{MAX_SCANNED, Radio, RadioEvent, RadioRequest, ScannedNetwork};
use crate::storage::network::{Hub, Network, Security};

/// The time between two attempts to join.
pub const RETRY_INTERVAL_MS: u32 = 5_000;
/// How long one attempt to join may take, and every other operation of the radio.
pub const RADIO_TIMEOUT_MS: u32 = 20_000;
/// How often the radio is asked whether it is still in its network, because its report of a loss may be missed.
pub const CHECK_INTERVAL_MS: u32 = 3_000;
/// How many requests can wait, and how many answers.
pub const MAX_QUEUED: usize = 4;

/// A board's radio. All waiting is safe to cancel.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Station {
    /// Why a network was not joined.
    type Error: fmt::Debug;

    /// Joins a network with at least this protection.
    async fn join(&mut self, network: &Network, security: Security) -> Result<(), Self::Error>;

    /// Whether it is in a network.
    fn is_joined(&self) -> bool;

    /// Waits until it is in no network.
    async fn wait_for_loss(&mut self);

    /// Leaves its network, if it is in one.
    async fn leave(&mut self);

    /// The networks in reach.
    async fn scan(&mut self) -> Vec<ScannedNetwork, MAX_SCANNED>;

    /// Logs the result of an attempt to join.
    fn log(&mut self, ssid: &str, result: JoinResult<Self::Error>);
}

/// The result of an attempt to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinResult<E> {
    /// The device is in the network.
    Joined,
    /// The network refused it.
    Refused(E),
    /// Nobody answers.
    NoAnswer,
    /// No protected network can have such a password.
    InvalidPassword,
}

impl<E: fmt::Debug> fmt::Display for JoinResult<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("joined"),
            Self::Refused(error) => write!(f, "cannot be joined (WPA2 or open, not WPA3 alone): {error:?}"),
            Self::NoAnswer => f.write_str("does not answer"),
            Self::InvalidPassword => f.write_str("cannot have such a password"),
        }
    }
}

/// What the two tasks share.
pub struct Wifi {
    known: RefCell<Option<Network>>,
    requests: Channel<NoopRawMutex, RadioRequest, MAX_QUEUED>,
    answers: Channel<NoopRawMutex, RadioEvent, MAX_QUEUED>,
    /// Whether the radio was in a network when it was last asked.
    joined: Cell<bool>,
    /// Signals every change of `joined`.
    joined_changed: Signal<NoopRawMutex, bool>,
}

impl Wifi {
    /// For a device that knows this network, or none.
    pub fn new(known: Option<Network>) -> Self {
        Self {
            known: RefCell::new(known),
            requests: Channel::new(),
            answers: Channel::new(),
            joined: Cell::new(false),
            joined_changed: Signal::new(),
        }
    }

    /// The known network.
    pub fn known(&self) -> Option<Network> {
        self.known.borrow().clone()
    }

    /// Where the hub is, if it was set up.
    pub fn hub(&self) -> Option<Hub> {
        self.known.borrow().as_ref().and_then(Network::hub)
    }

    /// Stays in the known network, and handles requests.
    pub async fn run(&self, station: &mut impl Station, mut delay: impl DelayNs) -> ! {
        loop {
            self.update_joined(station);
            let request = match self.known().filter(|network| !network.ssid.is_empty()) {
                None => self.requests.receive().await,
                Some(network) => match self.stay_in(&network, station, &mut delay).await {
                    Some(request) => request,
                    None => continue,
                },
            };
            let answer = match request {
                RadioRequest::Join(network) => {
                    RadioEvent::Joined(self.change_to(network, station, &mut delay).await)
                }
                RadioRequest::Scan => match select(station.scan(), delay.delay_ms(RADIO_TIMEOUT_MS)).await {
                    Either::First(networks) => RadioEvent::Scanned(networks),
                    Either::Second(()) => RadioEvent::Scanned(Vec::new()),
                },
                // It took effect when it was requested.
                RadioRequest::Keep(_) => continue,
            };
            self.answers.send(answer).await;
        }
    }

    /// Leaves the current network and joins this one; returns whether it was joined.
    async fn change_to(
        &self,
        network: Network,
        station: &mut impl Station,
        delay: &mut impl DelayNs,
    ) -> bool {
        // A radio that does not leave in time is asked to join all the same.
        let _ = select(station.leave(), delay.delay_ms(RADIO_TIMEOUT_MS)).await;
        self.update_joined(station);
        let joined = join(station, &network, delay).await;
        if joined {
            self.keep(network);
        }
        self.update_joined(station);
        joined
    }

    /// Joins a network, and waits until it is lost or must be checked again. A request cancels this and is returned.
    async fn stay_in(
        &self,
        network: &Network,
        station: &mut impl Station,
        delay: &mut impl DelayNs,
    ) -> Option<RadioRequest> {
        if !station.is_joined() {
            let joined = match select(self.requests.receive(), join(station, network, delay)).await {
                Either::First(request) => return Some(request),
                Either::Second(joined) => joined,
            };
            self.update_joined(station);
            if !joined {
                return match select(self.requests.receive(), delay.delay_ms(RETRY_INTERVAL_MS)).await {
                    Either::First(request) => Some(request),
                    Either::Second(()) => None,
                };
            }
        }
        let check = delay.delay_ms(CHECK_INTERVAL_MS);
        match select3(self.requests.receive(), station.wait_for_loss(), check).await {
            Either3::First(request) => Some(request),
            Either3::Second(()) | Either3::Third(()) => None,
        }
    }

    /// Asks the radio whether it is in a network, and signals a change.
    fn update_joined(&self, station: &impl Station) {
        let joined = station.is_joined();
        if self.joined.replace(joined) != joined {
            self.joined_changed.signal(joined);
        }
    }

    /// Makes this the known network. The hub's address may have been set since the request.
    fn keep(&self, network: Network) {
        let mut known = self.known.borrow_mut();
        let hub = known.as_ref().map(|known| (known.host.clone(), known.port));
        let (host, port) = hub.unwrap_or((network.host.clone(), network.port));
        *known = Some(Network { host, port, ..network });
    }
}

/// For a device that knows no network.
impl Default for Wifi {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Radio for &Wifi {
    fn request(&mut self, request: RadioRequest) -> Result<(), RadioRequest> {
        match request {
            // The network itself is the known one; only the hub's address may be new. It need not wait for its turn.
            RadioRequest::Keep(network) => {
                self.known.replace(Some(network));
                Ok(())
            }
            request => self.requests.try_send(request).map_err(|TrySendError::Full(request)| request),
        }
    }

    async fn event(&mut self) -> RadioEvent {
        // The new state comes before the answer to the request that led to it.
        match select(self.joined_changed.wait(), self.answers.receive()).await {
            Either::First(joined) => RadioEvent::Online(joined),
            Either::Second(answer) => answer,
        }
    }
}

async fn join<S: Station>(station: &mut S, network: &Network, delay: &mut impl DelayNs) -> bool {
    let result = match network.security() {
        None => JoinResult::InvalidPassword,
        Some(security) => {
            match select(station.join(network, security), delay.delay_ms(RADIO_TIMEOUT_MS)).await {
                Either::First(Ok(())) => JoinResult::Joined,
                Either::First(Err(error)) => JoinResult::Refused(error),
                Either::Second(()) => JoinResult::NoAnswer,
            }
        }
    };
    let joined = matches!(result, JoinResult::Joined);
    station.log(&network.ssid, result);
    joined
}

#[cfg(test)]
mod tests;
