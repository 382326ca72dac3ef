//! The set-up at work: bytes from the serial line, answers to it, and a radio that does what is wished.
//!
//! What was set up is stored before the radio is told of it: a device that says that it is set up is so after a power cut
//! as well.

use embassy_futures::select::{Either, select};
use embedded_io_async::{Read, Write};
use heapless::{String, Vec};

use super::{SetUp, Wish};
use crate::{
    Millis, Storage,
    storage::{MAX_SSID, Network},
};

/// Networks that a scan tells of.
pub const MAX_SEEN: usize = 16;

/// A network in reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its name.
    pub ssid: String<MAX_SSID>,
    /// How strong it is, in dBm.
    pub rssi: i8,
    /// Whether it asks for no password.
    pub is_open: bool,
}

/// What became of a wish.
// There is one at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The network was joined, or could not be.
    Joined(bool),
    /// These are in reach.
    Scanned(Vec<Seen, MAX_SEEN>),
    /// Nobody wished for it: the radio is in a network now, or in none.
    Online(bool),
}

/// What sees to wishes.
#[allow(async_fn_in_trait, reason = "one task runs it: it need not be Send")]
pub trait Radio {
    /// Sees to this in its turn; the wish comes back if too many wait.
    #[allow(
        clippy::result_large_err,
        reason = "without an allocator there is no box, and it is moved once a setup"
    )]
    fn wish(&mut self, wish: Wish) -> Result<(), Wish>;

    /// Waits for what becomes of the next wish, or for other news. Can be given up.
    async fn done(&mut self) -> Done;
}

/// Serves until the line ends, which a board's never does; [`None`] where it fails for good. Says by `lost` what could
/// not be stored.
pub async fn serve<L: Read + Write, S: Storage>(
    set_up: &mut SetUp,
    line: &mut L,
    radio: &mut impl Radio,
    storage: &mut S,
    now: impl Fn() -> Millis,
    mut lost: impl FnMut(S::Error),
) {
    let mut bytes = [0; 64];
    loop {
        match select(line.read(&mut bytes), radio.done()).await {
            Either::First(Ok(0)) => return,
            Either::First(Ok(count)) => {
                for byte in &bytes[..count] {
                    let Some(wish) = set_up.received(now(), *byte) else { continue };
                    if let Wish::Keep(network) = &wish {
                        keep(storage, network, &mut lost);
                    }
                    match radio.wish(wish) {
                        Ok(()) | Err(Wish::Keep(_)) => {}
                        Err(Wish::Join(_)) => _ = set_up.joined(false),
                        Err(Wish::Scan) => set_up.scanned(),
                    }
                }
            }
            // Bytes that were lost: their packet is sent again.
            Either::First(Err(_)) => {}
            Either::Second(Done::Joined(joined)) => {
                if let Some(network) = set_up.joined(joined) {
                    keep(storage, &network, &mut lost);
                }
            }
            Either::Second(Done::Online(online)) => set_up.online(online),
            Either::Second(Done::Scanned(seen)) => {
                seen.iter().for_each(|seen| set_up.seen(&seen.ssid, seen.rssi, seen.is_open));
                set_up.scanned();
            }
        }
        while let Some(answer) = set_up.answer() {
            // Nobody may be there to read it.
            let _ = line.write_all(&answer).await;
        }
    }
}

fn keep<S: Storage>(storage: &mut S, network: &Network, lost: &mut impl FnMut(S::Error)) {
    if let Err(error) = storage.store_network(network) {
        lost(error);
    }
}

#[cfg(test)]
mod tests {
    use core::{convert::Infallible, future::pending};
    use std::{cell::RefCell, string::String as Text, vec, vec::Vec as Many};

    use embassy_futures::{block_on, yield_now};
    use embedded_io_async::ErrorType;

    use super::{
        super::{About, tests::wifi},
        *,
    };
    use crate::{
        flash::{memory::Memory, storage::FlashStorage},
        setup::packet,
    };

    /// A line on which all of it is said; then it is silent for a moment, in which the radio is heard, and ends.
    struct Line {
        said: Many<u8>,
        heard: Many<u8>,
    }

    impl ErrorType for Line {
        type Error = Infallible;
    }

    impl Read for Line {
        async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
            if self.said.is_empty() {
                yield_now().await;
            }
            let count = buffer.len().min(self.said.len()).min(7);
            buffer[..count].copy_from_slice(&self.said[..count]);
            self.said.drain(..count);
            Ok(count)
        }
    }

    impl Write for Line {
        async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
            self.heard.extend(bytes);
            Ok(bytes.len())
        }

        async fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    /// One that does everything at once.
    #[derive(Default)]
    struct Double {
        wishes: RefCell<Many<Wish>>,
        told: usize,
    }

    impl Radio for Double {
        fn wish(&mut self, wish: Wish) -> Result<(), Wish> {
            self.wishes.borrow_mut().push(wish);
            Ok(())
        }

        async fn done(&mut self) -> Done {
            let wish = self.wishes.borrow().get(self.told).cloned();
            match wish {
                Some(Wish::Join(network)) => {
                    self.told += 1;
                    Done::Joined(network.password == "tigertiger")
                }
                Some(Wish::Scan) => {
                    self.told += 1;
                    let seen = Seen { ssid: "home".try_into().unwrap(), rssi: -50, is_open: false };
                    Done::Scanned(Vec::from_slice(&[seen]).unwrap())
                }
                Some(Wish::Keep(_)) | None => pending().await,
            }
        }
    }

    fn serves(said: &[&[u8]]) -> (Text, Option<Network>, Many<Wish>) {
        let mut storage = FlashStorage::new(Memory(vec![0xff; 64 * 1024]));
        let mut set_up = SetUp::new(About { version: "0.1.0", chip: "ESP32-C3" }, None);
        let mut radio = Double::default();
        let mut heard = Many::new();
        for said in said {
            let mut line = Line { said: said.to_vec(), heard: Many::new() };
            block_on(serve(
                &mut set_up,
                &mut line,
                &mut radio,
                &mut storage,
                || Millis(0),
                |error| panic!("{error}"),
            ));
            heard.extend(line.heard);
        }
        (
            Text::from_utf8_lossy(&heard).into_owned(),
            storage.load_network().unwrap(),
            radio.wishes.into_inner(),
        )
    }

    #[test]
    fn a_network_that_is_joined_and_a_hubs_address_are_stored() {
        let (said, kept, wishes) = serves(&[&wifi("home", "tigertiger"), b"hub 10.0.0.1\r\n"]);
        let kept = kept.unwrap();
        assert_eq!((kept.ssid.as_str(), kept.host.as_str(), kept.port), ("home", "10.0.0.1", 1883), "{said}");
        assert!(matches!(wishes[..], [Wish::Join(_), Wish::Keep(_)]), "{wishes:?}");
        assert!(said.contains("the hub's address is kept"), "{said}");
    }

    #[test]
    fn a_network_that_is_not_joined_is_not_stored() {
        let (_, kept, wishes) = serves(&[&wifi("home", "another one")]);
        assert_eq!((kept, wishes.len()), (None, 1));
    }

    #[test]
    fn networks_in_reach_are_told() {
        let (said, ..) = serves(&[&super::super::tests::packet(3, &[packet::SCAN, 0])]);
        assert!(said.contains("home") && said.contains("-50") && said.contains("YES"), "{said}");
    }
}
