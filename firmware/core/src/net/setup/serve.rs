//! Runs the set-up: reads the serial line, writes the answers, and sends requests to the radio.
//!
//! A setting is stored before its success is reported: a device that says that it is set up still is after a power cut.

use embassy_futures::select::{Either, select};
use embedded_io_async::{Read, Write};

use super::provisioning::SetUp;
use crate::{
    Millis, Storage,
    net::radio::{Radio, RadioEvent, RadioRequest},
    storage::network::Network,
};

/// Runs until the line ends, which a board's line never does. Calls `on_error` if a setting could not be stored.
pub async fn serve<L: Read + Write, S: Storage>(
    set_up: &mut SetUp,
    line: &mut L,
    radio: &mut impl Radio,
    storage: &mut S,
    now: impl Fn() -> Millis,
    mut on_error: impl FnMut(S::Error),
) {
    let mut bytes = [0; 64];
    loop {
        match select(line.read(&mut bytes), radio.event()).await {
            Either::First(Ok(0)) => return,
            Either::First(Ok(count)) => {
                for byte in &bytes[..count] {
                    let Some(request) = set_up.received(now(), *byte) else { continue };
                    if let RadioRequest::Keep(network) = &request {
                        store(storage, network, &mut on_error);
                    }
                    match radio.request(request) {
                        Ok(()) | Err(RadioRequest::Keep(_)) => {}
                        Err(RadioRequest::Join(_)) => _ = set_up.joined(false),
                        Err(RadioRequest::Scan) => set_up.scan_done(),
                    }
                }
            }
            // Some bytes were lost: the client sends their packet again.
            Either::First(Err(_)) => {}
            Either::Second(RadioEvent::Joined(joined)) => {
                if let Some(network) = set_up.joined(joined) {
                    store(storage, &network, &mut on_error);
                }
            }
            Either::Second(RadioEvent::Online(online)) => set_up.online(online),
            Either::Second(RadioEvent::Scanned(networks)) => {
                networks
                    .iter()
                    .for_each(|network| set_up.scanned(&network.ssid, network.rssi, network.is_open));
                set_up.scan_done();
            }
        }
        while let Some(answer) = set_up.answer() {
            // Nobody may be there to read it.
            let _ = line.write_all(&answer).await;
        }
    }
}

fn store<S: Storage>(storage: &mut S, network: &Network, on_error: &mut impl FnMut(S::Error)) {
    if let Err(error) = storage.store_network(network) {
        on_error(error);
    }
}

#[cfg(test)]
mod tests {
    use core::{convert::Infallible, future::pending};
    use std::{cell::RefCell, string::String as Text, vec, vec::Vec as Many};

    use embassy_futures::{block_on, yield_now};
    use embedded_io_async::ErrorType;

    use heapless::Vec;

    use super::{
        super::{
            packet,
            provisioning::{About, tests as client},
        },
        *,
    };
    use crate::{
        net::radio::ScannedNetwork,
        storage::flash::{memory::Memory, storage::FlashStorage},
    };

    /// A line that delivers its input, pauses for a moment so that the radio has its turn, and ends.
    struct Line {
        input: Many<u8>,
        output: Many<u8>,
    }

    impl ErrorType for Line {
        type Error = Infallible;
    }

    impl Read for Line {
        async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
            if self.input.is_empty() {
                yield_now().await;
            }
            let count = buffer.len().min(self.input.len()).min(7);
            buffer[..count].copy_from_slice(&self.input[..count]);
            self.input.drain(..count);
            Ok(count)
        }
    }

    impl Write for Line {
        async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
            self.output.extend(bytes);
            Ok(bytes.len())
        }

        async fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    /// A radio that answers at once.
    #[derive(Default)]
    struct MockRadio {
        requests: RefCell<Many<RadioRequest>>,
        answered: usize,
    }

    impl Radio for MockRadio {
        fn request(&mut self, request: RadioRequest) -> Result<(), RadioRequest> {
            self.requests.borrow_mut().push(request);
            Ok(())
        }

        async fn event(&mut self) -> RadioEvent {
            let request = self.requests.borrow().get(self.answered).cloned();
            match request {
                Some(RadioRequest::Join(network)) => {
                    self.answered += 1;
                    RadioEvent::Joined(network.password == "tigertiger")
                }
                Some(RadioRequest::Scan) => {
                    self.answered += 1;
                    let network =
                        ScannedNetwork { ssid: "home".try_into().unwrap(), rssi: -50, is_open: false };
                    RadioEvent::Scanned(Vec::from_slice(&[network]).unwrap())
                }
                Some(RadioRequest::Keep(_)) | None => pending().await,
            }
        }
    }

    /// Serves these inputs; returns the output, the stored network and the requests to the radio.
    fn served(inputs: &[&[u8]]) -> (Text, Option<Network>, Many<RadioRequest>) {
        let mut storage = FlashStorage::new(Memory(vec![0xff; 64 * 1024]));
        let mut set_up = SetUp::new(About { version: "0.1.0", chip: "ESP32-C3" }, None);
        let mut radio = MockRadio::default();
        let mut output = Many::new();
        for input in inputs {
            let mut line = Line { input: input.to_vec(), output: Many::new() };
            block_on(serve(
                &mut set_up,
                &mut line,
                &mut radio,
                &mut storage,
                || Millis(0),
                |error| panic!("{error}"),
            ));
            output.extend(line.output);
        }
        (
            Text::from_utf8_lossy(&output).into_owned(),
            storage.load_network().unwrap(),
            radio.requests.into_inner(),
        )
    }

    #[test]
    fn a_network_that_is_joined_and_a_hubs_address_are_stored() {
        let (output, stored, requests) = served(&[&client::wifi("home", "tigertiger"), b"hub 10.0.0.1\r\n"]);
        let stored = stored.unwrap();
        assert_eq!(
            (stored.ssid.as_str(), stored.host.as_str(), stored.port),
            ("home", "10.0.0.1", 1883),
            "{output}"
        );
        assert!(matches!(requests[..], [RadioRequest::Join(_), RadioRequest::Keep(_)]), "{requests:?}");
        assert!(output.contains("the hub's address is kept"), "{output}");
    }

    #[test]
    fn a_network_that_is_not_joined_is_not_stored() {
        let (_, stored, requests) = served(&[&client::wifi("home", "another one")]);
        assert_eq!((stored, requests.len()), (None, 1));
    }

    #[test]
    fn networks_in_reach_are_reported() {
        let (output, ..) = served(&[&client::packet(3, &[packet::SCAN, 0])]);
        assert!(output.contains("home") && output.contains("-50") && output.contains("YES"), "{output}");
    }
}
