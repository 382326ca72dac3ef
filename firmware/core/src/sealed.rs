//! The device's side of sealed sessions: when one is opened, and when another one.
//!
//! A handshake begins with every connection, after a gap, when the hub says that it knows of no session, and when it has
//! been silent for longer than it ever is. Not more often than once in [`BETWEEN`], whoever asks for it: the one word
//! that asks is not sealed, and a handshake costs the device more than it costs to ask for one.
//!
//! What cannot be opened is counted and changes nothing. There is one session at a time; with the next one all of the
//! last is void.

use gatepost_link::{
    envelope::{self, Down, MAX_UP, Up, VERSION},
    frame,
    seal::{Random, SealError, SealKey, SealSecret},
    session::{Arrived, Ends, Opening, Session, SessionHash},
};
use heapless::Vec;
use serde::Serialize;

use crate::Millis;

/// After this many milliseconds without an answer the handshake's message is said again, then after twice as many each time.
pub const OPEN_AGAIN: u64 = 300;
/// The longest pause before it is said again.
pub const OPEN_AGAIN_LAST: u64 = 5_000;
/// At least so many milliseconds lie between two handshakes. The same message may be said again sooner: it costs neither
/// side another.
pub const BETWEEN: u64 = 1_000;
/// A hub that has been silent for this long is gone, or has another session in mind: it reports every minute.
pub const SILENCE: u64 = 150_000;

/// What the device publishes.
pub type Payload = Vec<u8, MAX_UP>;

/// The sessions with one hub.
pub struct Sealed {
    ends: Ends,
    secret: SealSecret,
    hub: SealKey,
    state: State,
    /// When the handshake's message was last said.
    said: Option<Millis>,
    /// When it is to be said next.
    due: Option<Millis>,
    /// The pause before it is said again then.
    pause: u64,
}

// Exists once, where it is; a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
enum State {
    Down,
    Opening(Opening),
    Open { session: Session, heard: Millis },
}

/// What a payload from the hub came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard<'b> {
    /// Nothing: damaged, foreign, or of no use now.
    Ignored,
    /// Nothing new: it was delivered twice.
    Again,
    /// A session begins.
    Begun(SessionHash),
    /// The session is over; another one will begin.
    Lost,
    /// A frame.
    Frame(&'b [u8]),
}

impl Sealed {
    /// No session yet with the hub that has this key, for a device with this secret.
    pub fn new(ends: Ends, secret: SealSecret, hub: SealKey) -> Self {
        Self { ends, secret, hub, state: State::Down, said: None, due: None, pause: OPEN_AGAIN }
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Millis, random: &mut impl Random) {
        self.begin(random);
        self.due = Some(now);
    }

    /// The connection is gone, and the session with it.
    pub fn disconnected(&mut self) {
        self.state = State::Down;
        self.due = None;
    }

    /// Takes a payload from the hub, in the version of these ends, unless it has spoken a newer one, `seen`. `plain` is where a
    /// frame is opened.
    pub fn received<'b>(
        &mut self,
        now: Millis,
        bytes: &[u8],
        seen: u8,
        plain: &'b mut [u8],
        random: &mut impl Random,
    ) -> Heard<'b> {
        let Ok(down) = envelope::decode::<Down<'_>>(bytes, seen) else { return Heard::Ignored };
        if bytes.first() != Some(&self.ends.version) {
            return Heard::Ignored;
        }
        match (down, &mut self.state) {
            (_, State::Down) => Heard::Ignored,
            // The hub came after the message was said, or has forgotten what it answered.
            (Down::Greet, State::Opening(_)) => {
                self.due = self.due.min(Some(self.allowed(now)));
                Heard::Again
            }
            (Down::Greet, State::Open { .. }) => self.lost(now, random),
            (Down::Opened { noise }, State::Opening(opening)) => match opening.finish(noise) {
                Ok(session) => {
                    let hash = session.hash();
                    self.state = State::Open { session, heard: now };
                    self.due = None;
                    Heard::Begun(hash)
                }
                Err(_) => Heard::Ignored,
            },
            (Down::Opened { .. }, State::Open { .. }) | (Down::Sealed { .. }, State::Opening(_)) => {
                Heard::Ignored
            }
            (Down::Sealed { number, bytes }, State::Open { session, heard }) => {
                match session.open(number, bytes, plain) {
                    Ok(Arrived::Text(text)) => {
                        *heard = now;
                        Heard::Frame(text)
                    }
                    Ok(Arrived::Again) => Heard::Again,
                    Err(SealError::Gap | SealError::UsedUp) => self.lost(now, random),
                    Err(SealError::Forged | SealError::Length) => Heard::Ignored,
                }
            }
        }
    }

    /// Lets time pass; `true` if the session was given up because the hub has been silent.
    pub fn tick(&mut self, now: Millis, random: &mut impl Random) -> bool {
        let silent = matches!(&self.state, State::Open { heard, .. } if now >= heard.after(SILENCE));
        if silent {
            self.lost(now, random);
        }
        silent
    }

    /// When [`Sealed::tick`] or [`Sealed::opening`] has something to do.
    pub fn next_tick(&self) -> Option<Millis> {
        match &self.state {
            State::Down => None,
            State::Opening(_) => self.due,
            State::Open { heard, .. } => Some(heard.after(SILENCE)),
        }
    }

    /// The handshake's message, if it is to be said now.
    pub fn opening(&mut self, now: Millis) -> Option<Payload> {
        let State::Opening(opening) = &self.state else { return None };
        self.due.filter(|due| now >= *due)?;
        self.said = Some(now);
        self.due = Some(now.after(self.pause));
        self.pause = OPEN_AGAIN_LAST.min(self.pause * 2);
        Some(payload_as(self.ends.version, &Up::Open { noise: opening.message() }))
    }

    /// Seals a frame; [`None`] without a session.
    pub fn seal(&mut self, up: &frame::Up) -> Option<Payload> {
        let State::Open { session, .. } = &mut self.state else { return None };
        let (mut plain, mut sealed) = ([0; MAX_UP], [0; MAX_UP]);
        let frame = frame::encode(up, &mut plain).expect("no frame of the companion grows so large");
        let (number, bytes) = session.seal(frame, &mut sealed).ok()?;
        Some(payload_as(self.ends.version, &Up::Sealed { number, bytes }))
    }

    fn lost<'b>(&mut self, now: Millis, random: &mut impl Random) -> Heard<'b> {
        self.begin(random);
        self.due = Some(self.allowed(now));
        Heard::Lost
    }

    fn begin(&mut self, random: &mut impl Random) {
        self.pause = OPEN_AGAIN;
        self.state = State::Opening(Opening::start(&self.ends, &self.secret, &self.hub, random));
    }

    /// When the next message may be said.
    fn allowed(&self, now: Millis) -> Millis {
        self.said.map_or(now, |said| said.after(BETWEEN).max(now))
    }
}

/// A payload of the device's, to the hub that it knows or to one with which it is being paired.
pub(crate) fn payload(envelope: &impl Serialize) -> Payload {
    payload_as(VERSION, envelope)
}

fn payload_as(version: u8, envelope: &impl Serialize) -> Payload {
    let mut bytes = [0; MAX_UP];
    let bytes =
        envelope::encode_as(version, envelope, &mut bytes).expect("nothing of the companion grows so large");
    Payload::from_slice(bytes).expect("as large as the buffer")
}

#[cfg(test)]
mod tests;
