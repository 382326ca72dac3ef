//! A wireless network, joined as soon as it is known and again whenever it is lost; and what the set-up wishes of it.
//!
//! Two tasks of one executor share an [`Air`]: [`stay`](Air::stay) has the radio, [`serve`](super::serve::serve) asks. A
//! network that was wished for is known from here on only once it was joined, so that a mistyped password leaves the
//! device where it was.
//!
//! Every wish is answered, in its turn and in bounded time: a try to stay in the known network is given up for it, and
//! whatever the radio is asked for ends after [`PATIENCE`]. Whether the device is in a network is what the radio says.

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
/// How long one attempt may take, in milliseconds, and anything else that the radio is asked for.
pub const PATIENCE: u32 = 20_000;
/// How often the radio is asked whether it is still in its network, in milliseconds: its word of a loss may be missed.
pub const LOOK: u32 = 3_000;
/// Wishes that wait for their turn, and answers that wait to be heard.
pub const WISHES: usize = 4;

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
pub struct Air {
    known: RefCell<Option<Network>>,
    wishes: Channel<NoopRawMutex, Wish, WISHES>,
    done: Channel<NoopRawMutex, Done, WISHES>,
    /// Whether the radio is in a network, as it said last, and where that is told.
    joined: Cell<bool>,
    state: Signal<NoopRawMutex, bool>,
}

impl Air {
    /// Of a device that knows this network, or none.
    pub fn new(known: Option<Network>) -> Self {
        Self {
            known: RefCell::new(known),
            wishes: Channel::new(),
            done: Channel::new(),
            joined: Cell::new(false),
            state: Signal::new(),
        }
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
            self.look(station);
            let wish = match self.known().filter(|network| !network.ssid.is_empty()) {
                None => self.wishes.receive().await,
                Some(network) => match self.stay_in(&network, station, &mut delay).await {
                    Some(wish) => wish,
                    None => continue,
                },
            };
            let done = match wish {
                Wish::Join(network) => {
                    // A radio that does not leave is asked to join all the same.
                    let _ = select(station.leave(), delay.delay_ms(PATIENCE)).await;
                    self.look(station);
                    let joined = join(station, &network, &mut delay).await;
                    if joined {
                        self.keep(network);
                    }
                    self.look(station);
                    Done::Joined(joined)
                }
                Wish::Scan => match select(station.scan(), delay.delay_ms(PATIENCE)).await {
                    Either::First(seen) => Done::Scanned(seen),
                    Either::Second(()) => Done::Scanned(Vec::new()),
                },
                // Done when it was wished.
                Wish::Keep(_) => continue,
            };
            self.done.send(done).await;
        }
    }

    /// Joins a network, waits until it is lost or it is time to look again; gives up for a wish.
    async fn stay_in(
        &self,
        network: &Network,
        station: &mut impl Station,
        delay: &mut impl DelayNs,
    ) -> Option<Wish> {
        if !station.is_joined() {
            let joined = match select(self.wishes.receive(), join(station, network, delay)).await {
                Either::First(wish) => return Some(wish),
                Either::Second(joined) => joined,
            };
            self.look(station);
            if !joined {
                return match select(self.wishes.receive(), delay.delay_ms(AGAIN)).await {
                    Either::First(wish) => Some(wish),
                    Either::Second(()) => None,
                };
            }
        }
        match select3(self.wishes.receive(), station.lost(), delay.delay_ms(LOOK)).await {
            Either3::First(wish) => Some(wish),
            Either3::Second(()) | Either3::Third(()) => None,
        }
    }

    /// Tells whoever asks what the radio says.
    fn look(&self, station: &impl Station) {
        let joined = station.is_joined();
        if self.joined.replace(joined) != joined {
            self.state.signal(joined);
        }
    }

    /// Knows this network from now on. Where the hub is may have been said since it was wished for.
    fn keep(&self, network: Network) {
        let mut known = self.known.borrow_mut();
        let hub = known.as_ref().map(|known| (known.host.clone(), known.port));
        let (host, port) = hub.unwrap_or((network.host.clone(), network.port));
        *known = Some(Network { host, port, ..network });
    }
}

/// Of a device that knows no network.
impl Default for Air {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Radio for &Air {
    fn wish(&mut self, wish: Wish) -> Result<(), Wish> {
        match wish {
            // The network is the one that is known; only where the hub is may be new. No turn is waited for.
            Wish::Keep(network) => {
                self.known.replace(Some(network));
                Ok(())
            }
            wish => self.wishes.try_send(wish).map_err(|TrySendError::Full(wish)| wish),
        }
    }

    async fn done(&mut self) -> Done {
        // What became of a wish comes with the state that it led to.
        match select(self.state.wait(), self.done.receive()).await {
            Either::First(joined) => Done::Online(joined),
            Either::Second(done) => done,
        }
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
