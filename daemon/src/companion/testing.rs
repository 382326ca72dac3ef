//! The companion's side of sessions, for this folder's tests: the very code that runs on a device.

use gatepost_companion::{
    Millis,
    session::{HubSession, Received},
};
use gatepost_link::{
    decision::PublicKey,
    envelope::{MAX_FRAME, VERSION},
    frame::{self, Up},
    seal::{SealKey, SealSecret},
    session::Ends,
};

use super::sealed::System;

pub(super) const ENDS: Ends = Ends::new(PublicKey([1; 32]), PublicKey([2; 32]));
pub(super) const HUB: SealSecret = SealSecret([3; 32]);
const DEVICE: SealSecret = SealSecret([4; 32]);

/// The device's public key.
pub(super) fn device() -> SealKey {
    DEVICE.public()
}

/// A device with the keys of the one companion; two of these are a device and its clone.
pub(super) struct Device {
    device_session: HubSession,
    version: u8,
    now: u64,
}

impl Device {
    pub(super) fn new() -> Self {
        Self::speaking(VERSION)
    }

    /// The same with firmware that speaks this version.
    pub(super) fn speaking(version: u8) -> Self {
        Self {
            device_session: HubSession::new(Ends { version, ..ENDS }, DEVICE, HUB.public()),
            version,
            now: 0,
        }
    }

    /// Begins a session; the payload that says so.
    pub(super) fn open(&mut self) -> Vec<u8> {
        self.now += 10_000;
        self.device_session.connected(Millis(self.now), &mut System);
        self.device_session.handshake_message(Millis(self.now)).unwrap().to_vec()
    }

    /// Hears a payload: a frame's text, if it is one.
    pub(super) fn hear(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut plain = [0; MAX_FRAME];
        match self.device_session.received(Millis(self.now), payload, self.version, &mut plain, &mut System) {
            Received::Frame(text) => Some(text.to_vec()),
            Received::Opened(_) | Received::Duplicate | Received::Lost | Received::Ignored => None,
        }
    }

    pub(super) fn say(&mut self, up: &Up) -> Vec<u8> {
        self.device_session.seal(up).expect("a session").to_vec()
    }

    /// Hears a payload that is a frame: its kind.
    pub(super) fn kind(&mut self, payload: &[u8]) -> String {
        let text = self.hear(payload).expect("a frame in this session");
        let frame = format!("{:?}", frame::decode::<frame::Down<'_>>(&text).unwrap());
        frame.split([' ', '(']).next().unwrap().to_owned()
    }
}
