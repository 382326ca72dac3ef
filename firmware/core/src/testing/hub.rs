//! A mock hub: its side of pairing and of sessions, without a broker in between.

use std::vec::Vec;

use gatepost_link::{
    decision::PublicKey,
    envelope::{self, MAX_FRAME, VERSION},
    frame,
    pairing::{self, Agreed, FromDevice, FromHub, Host},
    seal::{SealKey, SealSecret},
    session::{self, Arrived, Ends, Session},
};

use super::{HUB, TestRandom};

/// A hub that pairs with any device, and opens sessions with it.
pub(crate) struct MockHub {
    pub(crate) secret: SealSecret,
    random: TestRandom,
    host: Option<Host>,
    pub(crate) agreed: Option<Agreed>,
    pub(crate) session: Option<Session>,
}

/// What a device sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    First,
    Third,
    Paired(FromDevice),
    Open,
    Frame(frame::Up),
}

impl MockHub {
    pub(crate) fn new() -> Self {
        Self {
            secret: SealSecret([0x5e; 32]),
            random: TestRandom(1 << 32),
            host: None,
            agreed: None,
            session: None,
        }
    }

    /// Handles a payload of a device that is being paired; returns the answer.
    pub(crate) fn receive_pairing(&mut self, payload: &[u8]) -> (Sent, Option<Vec<u8>>) {
        match envelope::decode(payload, VERSION).unwrap() {
            pairing::Up::First { noise } => {
                let host = Host::answer(HUB, &self.secret, noise, &mut self.random).unwrap();
                let second = encoded(&pairing::Down::Second { noise: host.second() });
                self.host = Some(host);
                (Sent::First, Some(second))
            }
            pairing::Up::Third { noise } => {
                if let Ok(agreed) = self.host.as_mut().unwrap().third(noise) {
                    self.agreed = Some(agreed);
                }
                (Sent::Third, None)
            }
            pairing::Up::Sealed { number, bytes } => {
                let mut plain = [0; 64];
                let arrived = self.agreed.as_mut().unwrap().session.open(number, bytes, &mut plain).unwrap();
                let Arrived::Text(text) = arrived else { panic!("{arrived:?}") };
                (Sent::Paired(frame::decode(text).unwrap()), None)
            }
        }
    }

    /// Seals a message to a device that is being paired.
    pub(crate) fn seal_pairing(&mut self, message: &FromHub) -> Vec<u8> {
        let (mut plain, mut sealed) = ([0; 256], [0; 256]);
        let text = frame::encode(message, &mut plain).unwrap();
        let (number, bytes) = self.agreed.as_mut().unwrap().session.seal(text, &mut sealed).unwrap();
        encoded(&pairing::Down::Sealed { number, bytes })
    }

    /// The person at the hub confirms.
    pub(crate) fn confirm(&mut self) -> Vec<u8> {
        let login = |text: &str| text.try_into().unwrap();
        self.seal_pairing(&FromHub::Paired { user: login("device-7"), password: login("word") })
    }

    /// Handles a payload of a paired device with these keys; returns the answer.
    pub(crate) fn receive(
        &mut self,
        device: (PublicKey, SealKey),
        payload: &[u8],
    ) -> (Sent, Option<Vec<u8>>) {
        match envelope::decode(payload, VERSION).unwrap() {
            envelope::Up::Open { noise } => {
                let ends = Ends::new(HUB, device.0);
                let (session, noise) =
                    session::answer(&ends, &self.secret, &device.1, noise, &mut self.random).unwrap();
                self.session = Some(session);
                (Sent::Open, Some(encoded(&envelope::Down::Opened { noise: &noise })))
            }
            envelope::Up::Sealed { number, bytes } => {
                let mut plain = [0; MAX_FRAME];
                let arrived = self.session.as_mut().unwrap().open(number, bytes, &mut plain).unwrap();
                let Arrived::Text(text) = arrived else { panic!("{arrived:?}") };
                (Sent::Frame(frame::decode(text).unwrap()), None)
            }
        }
    }

    /// Seals a frame in the session.
    pub(crate) fn seal(&mut self, down: &frame::Down<'_>) -> Vec<u8> {
        let (mut plain, mut sealed) = ([0; MAX_FRAME], [0; MAX_FRAME]);
        let text = frame::encode(down, &mut plain).unwrap();
        let (number, bytes) = self.session.as_mut().unwrap().seal(text, &mut sealed).unwrap();
        encoded(&envelope::Down::Sealed { number, bytes })
    }
}

fn encoded(envelope: &impl serde::Serialize) -> Vec<u8> {
    envelope::encode(envelope, &mut [0; MAX_FRAME]).unwrap().to_vec()
}
