//! A wireless network, joined as soon as it is known and again whenever it is lost; and what the set-up wishes of it.
//!
//! Two tasks of one executor share an [`Air`]: [`stay`](Air::stay) has the radio, [`serve`](super::serve::serve) asks. A
//! network that was wished for is known from here on only once it was joined, so that a mistyped password leaves the
//! device where it was.

use core::{cell::RefCell, fmt};

use embassy_futures::select::{Either, select};
use embassy_sync::{blocking_mutex::raw::NoopRawMutex, signal::Signal};
use embedded_hal_async::delay::DelayNs;
use heapless::Vec;

use super::{
    Wish,
    serve::{Done, MAX_SEEN, Radio, Seen},
};
use crate::{
    Network,
    storage::{Hub, Security},
};

/// Between attempts to join, in milliseconds.
pub const AGAIN: u32 = 5_000;
/// How long one attempt may take, in milliseconds.
pub const PATIENCE: u32 = 20_000;

/// A board's radio. What waits can be given up.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Station {
    /// Why a network is not joined.
    type Error: fmt::Debug;

    /// Joins a network, with this protection at the least.
    async fn join(&mut self, network: &Network, security: Security) -> Result<(), Self::Error>;

    /// Whether it is in one.
    fn is_joined(&self) -> bool;

    /// Waits until it is in none.
    async fn lost(&mut self);

    /// Leaves the one that it is in, if any.
    async fn leave(&mut self);

    /// The networks in reach.
    async fn scan(&mut self) -> Vec<Seen, MAX_SEEN>;

    /// What a log should have.
    fn note(&mut self, ssid: &str, news: News<Self::Error>);
}

/// What became of an attempt to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News<E> {
    /// The device is in the network.
    Joined,
    /// It is not let in.
    Refused(E),
    /// Nobody answers.
    Silent,
    /// No protected network has such a password.
    NoPassword,
}

impl<E: fmt::Debug> fmt::Display for News<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("joined"),
            Self::Refused(error) => write!(f, "cannot be joined (WPA2 or open, not WPA3 alone): {error:?}"),
            Self::Silent => f.write_str("does not answer"),
            Self::NoPassword => f.write_str("cannot have such a password"),
        }
    }
}

/// What the two tasks share.
#[derive(Default)]
pub struct Air {
    known: RefCell<Option<Network>>,
    wishes: Signal<NoopRawMutex, Wish>,
    done: Signal<NoopRawMutex, Done>,
}

impl Air {
    /// Of a device that knows this network, or none.
    pub fn new(known: Option<Network>) -> Self {
        Self { known: RefCell::new(known), ..Self::default() }
    }

    /// The network that is known.
    pub fn known(&self) -> Option<Network> {
        self.known.borrow().clone()
    }

    /// Where the hub is, if anybody has said so.
    pub fn hub(&self) -> Option<Hub> {
        self.known.borrow().as_ref().and_then(Network::hub)
    }

    /// Stays in the network that is known, and does what is wished.
    pub async fn stay(&self, station: &mut impl Station, mut delay: impl DelayNs) -> ! {
        loop {
            let wish = match self.known().filter(|network| !network.ssid.is_empty()) {
                None => self.wishes.wait().await,
                Some(network) => {
                    let joined = station.is_joined() || join(station, &network, &mut delay).await;
                    let lost = async {
                        match joined {
                            true => station.lost().await,
                            false => delay.delay_ms(AGAIN).await,
                        }
                    };
                    match select(self.wishes.wait(), lost).await {
                        Either::First(wish) => wish,
                        Either::Second(()) => continue,
                    }
                }
            };
            match wish {
                Wish::Join(network) => {
                    station.leave().await;
                    let joined = join(station, &network, &mut delay).await;
                    if joined {
                        self.known.replace(Some(network));
                    }
                    self.done.signal(Done::Joined(joined));
                }
                Wish::Scan => self.done.signal(Done::Scanned(station.scan().await)),
                Wish::Keep(network) => _ = self.known.replace(Some(network)),
            }
        }
    }
}

impl Radio for &Air {
    fn wish(&mut self, wish: Wish) {
        self.wishes.signal(wish);
    }

    async fn done(&mut self) -> Done {
        self.done.wait().await
    }
}

async fn join<S: Station>(station: &mut S, network: &Network, delay: &mut impl DelayNs) -> bool {
    let news = match network.security() {
        None => News::NoPassword,
        Some(security) => match select(station.join(network, security), delay.delay_ms(PATIENCE)).await {
            Either::First(Ok(())) => News::Joined,
            Either::First(Err(error)) => News::Refused(error),
            Either::Second(()) => News::Silent,
        },
    };
    let joined = matches!(news, News::Joined);
    station.note(&network.ssid, news);
    joined
}

#[cfg(test)]
mod tests;
