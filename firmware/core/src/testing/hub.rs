//! A hub's side of pairing and of sessions, without a broker between.

use std::vec::Vec;

use gatepost_link::{
    decision::PublicKey,
    envelope::{self, MAX_FRAME, VERSION},
    frame,
    pairing::{self, Agreed, FromDevice, FromHub, Host},
    seal::{SealKey, SealSecret},
    session::{self, Arrived, Ends, Session},
};

use super::{Dice, HUB};

/// A hub that pairs with whoever asks, and opens sessions with it.
pub(crate) struct Hub {
    pub(crate) secret: SealSecret,
    dice: Dice,
    host: Option<Host>,
    pub(crate) agreed: Option<Agreed>,
    pub(crate) session: Option<Session>,
}

/// What a device said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    First,
    Third,
    Paired(FromDevice),
    Open,
    Frame(frame::Up),
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { secret: SealSecret([0x5e; 32]), dice: Dice(1 << 32), host: None, agreed: None, session: None }
    }

    /// Takes a payload of a device that is being paired; what to say to it.
    pub(crate) fn pair(&mut self, payload: &[u8]) -> (Said, Option<Vec<u8>>) {
        match envelope::decode(payload, VERSION).unwrap() {
            pairing::Up::First { noise } => {
                let host = Host::answer(HUB, &self.secret, noise, &mut self.dice).unwrap();
                let second = written(&pairing::Down::Second { noise: host.second() });
                self.host = Some(host);
                (Said::First, Some(second))
            }
            pairing::Up::Third { noise } => {
                if let Ok(agreed) = self.host.as_mut().unwrap().third(noise) {
                    self.agreed = Some(agreed);
                }
                (Said::Third, None)
            }
            pairing::Up::Sealed { number, bytes } => {
                let mut plain = [0; 64];
                let arrived = self.agreed.as_mut().unwrap().session.open(number, bytes, &mut plain).unwrap();
                let Arrived::Text(text) = arrived else { panic!("{arrived:?}") };
                (Said::Paired(frame::decode(text).unwrap()), None)
            }
        }
    }

    /// Says something to a device that is being paired.
    pub(crate) fn tell(&mut self, told: &FromHub) -> Vec<u8> {
        let (mut plain, mut sealed) = ([0; 256], [0; 256]);
        let text = frame::encode(told, &mut plain).unwrap();
        let (number, bytes) = self.agreed.as_mut().unwrap().session.seal(text, &mut sealed).unwrap();
        written(&pairing::Down::Sealed { number, bytes })
    }

    /// The person at the hub says yes.
    pub(crate) fn yes(&mut self) -> Vec<u8> {
        let login = |text: &str| text.try_into().unwrap();
        self.tell(&FromHub::Paired { user: login("device-7"), password: login("word") })
    }

    /// Takes a payload of a device with these keys in its sessions; what to say to it.
    pub(crate) fn hear(&mut self, device: (PublicKey, SealKey), payload: &[u8]) -> (Said, Option<Vec<u8>>) {
        match envelope::decode(payload, VERSION).unwrap() {
            envelope::Up::Open { noise } => {
                let ends = Ends::new(HUB, device.0);
                let (session, noise) =
                    session::answer(&ends, &self.secret, &device.1, noise, &mut self.dice).unwrap();
                self.session = Some(session);
                (Said::Open, Some(written(&envelope::Down::Opened { noise: &noise })))
            }
            envelope::Up::Sealed { number, bytes } => {
                let mut plain = [0; MAX_FRAME];
                let arrived = self.session.as_mut().unwrap().open(number, bytes, &mut plain).unwrap();
                let Arrived::Text(text) = arrived else { panic!("{arrived:?}") };
                (Said::Frame(frame::decode(text).unwrap()), None)
            }
        }
    }

    /// Says something in the session.
    pub(crate) fn say(&mut self, down: &frame::Down<'_>) -> Vec<u8> {
        let (mut plain, mut sealed) = ([0; MAX_FRAME], [0; MAX_FRAME]);
        let text = frame::encode(down, &mut plain).unwrap();
        let (number, bytes) = self.session.as_mut().unwrap().seal(text, &mut sealed).unwrap();
        written(&envelope::Down::Sealed { number, bytes })
    }
}

fn written(envelope: &impl serde::Serialize) -> Vec<u8> {
    envelope::encode(envelope, &mut [0; MAX_FRAME]).unwrap().to_vec()
}
