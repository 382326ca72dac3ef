//! The device's session with its hub: when it is opened, and when it is replaced.
//!
//! A handshake begins with every connection, after a gap in the numbering, when the hub reports that it knows no session,
//! and when the hub has been silent for longer than normal. It begins at most once per [`MIN_HANDSHAKE_INTERVAL_MS`],
//! whoever causes it: the hub's report is not sealed, and a handshake costs the device more than forging a report costs
//! an attacker.
//!
//! A payload that cannot be opened changes nothing. There is one session at a time; a new one invalidates the old one.

use gatepost_link::{
    envelope::{self, Down, MAX_UP, Up},
    frame,
    seal::{Random, SealError, SealKey, SealSecret},
    session::{Arrived, Ends, Opening, Session, SessionHash},
};

use super::payload::{Payload, payload_as};
use crate::Millis;

/// The handshake's message is sent again after this time without an answer, and then after twice as long each time.
pub const FIRST_RESEND_MS: u64 = 300;
/// The longest time before it is sent again.
pub const MAX_RESEND_MS: u64 = 5_000;
/// The shortest time between two handshakes. The same message may be sent again sooner, as that costs neither side a new
/// handshake.
pub const MIN_HANDSHAKE_INTERVAL_MS: u64 = 1_000;
/// A hub that has been silent for this long is gone or has another session: it reports every minute.
pub const MAX_SILENCE_MS: u64 = 150_000;

/// The session with one hub.
pub struct HubSession {
    ends: Ends,
    secret: SealSecret,
    hub: SealKey,
    state: State,
    /// When the handshake's message was last sent.
    sent_at: Option<Millis>,
    /// When to send it next.
    due: Option<Millis>,
    /// How long to wait after that before it is sent again.
    resend_after: u64,
}

// It exists once; a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
enum State {
    Down,
    Opening(Opening),
    Open { session: Session, last_received: Millis },
}

/// What a payload from the hub led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'b> {
    /// Nothing: it was damaged, of somebody else, or of no use now.
    Ignored,
    /// Nothing: it was delivered before.
    Duplicate,
    /// A session begins.
    Opened(SessionHash),
    /// The session is over; a new handshake will begin.
    Lost,
    /// A frame.
    Frame(&'b [u8]),
}

impl HubSession {
    /// No session yet, between the device with this secret and the hub with this key.
    pub fn new(ends: Ends, secret: SealSecret, hub: SealKey) -> Self {
        Self {
            ends,
            secret,
            hub,
            state: State::Down,
            sent_at: None,
            due: None,
            resend_after: FIRST_RESEND_MS,
        }
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Millis, random: &mut impl Random) {
        self.start_handshake(random);
        self.due = Some(now);
    }

    /// The connection is gone, and the session with it.
    pub fn disconnected(&mut self) {
        self.state = State::Down;
        self.due = None;
    }

    /// Handles a payload from the hub. It must be in the version of these ends, and not older than `seen`, the newest version
    /// that this hub has used. A frame is opened into `plain`.
    pub fn received<'b>(
        &mut self,
        now: Millis,
        bytes: &[u8],
        seen: u8,
        plain: &'b mut [u8],
        random: &mut impl Random,
    ) -> Received<'b> {
        let Ok(down) = envelope::decode::<Down<'_>>(bytes, seen) else { return Received::Ignored };
        if bytes.first() != Some(&self.ends.version) {
            return Received::Ignored;
        }
        match (down, &mut self.state) {
            (_, State::Down) => Received::Ignored,
            // The hub started after the message was sent, or has forgotten its answer.
            (Down::Greet, State::Opening(_)) => {
                self.due = self.due.min(Some(self.next_allowed(now)));
                Received::Duplicate
            }
            (Down::Greet, State::Open { .. }) => self.reopen(now, random),
            (Down::Opened { noise }, State::Opening(opening)) => match opening.finish(noise) {
                Ok(session) => {
                    let hash = session.hash();
                    self.state = State::Open { session, last_received: now };
                    self.due = None;
                    Received::Opened(hash)
                }
                Err(_) => Received::Ignored,
            },
            (Down::Opened { .. }, State::Open { .. }) | (Down::Sealed { .. }, State::Opening(_)) => {
                Received::Ignored
            }
            (Down::Sealed { number, bytes }, State::Open { session, last_received }) => {
                match session.open(number, bytes, plain) {
                    Ok(Arrived::Text(text)) => {
                        *last_received = now;
                        Received::Frame(text)
                    }
                    Ok(Arrived::Again) => Received::Duplicate,
                    Err(SealError::Gap | SealError::UsedUp) => self.reopen(now, random),
                    Err(SealError::Forged | SealError::Length) => Received::Ignored,
                }
            }
        }
    }

    /// Advances time. Returns `true` if the session was dropped because the hub has been silent.
    pub fn tick(&mut self, now: Millis, random: &mut impl Random) -> bool {
        let silent = matches!(&self.state, State::Open { last_received, .. } if now >= last_received.after(MAX_SILENCE_MS));
        if silent {
            self.reopen(now, random);
        }
        silent
    }

    /// When [`HubSession::tick`] or [`HubSession::handshake_message`] has something to do.
    pub fn next_tick(&self) -> Option<Millis> {
        match &self.state {
            State::Down => None,
            State::Opening(_) => self.due,
            State::Open { last_received, .. } => Some(last_received.after(MAX_SILENCE_MS)),
        }
    }

    /// The handshake's message, if it is to be sent now.
    pub fn handshake_message(&mut self, now: Millis) -> Option<Payload> {
        let State::Opening(opening) = &self.state else { return None };
        self.due.filter(|due| now >= *due)?;
        self.sent_at = Some(now);
        self.due = Some(now.after(self.resend_after));
        self.resend_after = MAX_RESEND_MS.min(self.resend_after * 2);
        Some(payload_as(self.ends.version, &Up::Open { noise: opening.message() }))
    }

    /// Seals a frame; [`None`] without a session.
    pub fn seal(&mut self, up: &frame::Up) -> Option<Payload> {
        let State::Open { session, .. } = &mut self.state else { return None };
        let (mut plain, mut sealed) = ([0; MAX_UP], [0; MAX_UP]);
        let frame = frame::encode(up, &mut plain).expect("every frame of the device fits");
        let (number, bytes) = session.seal(frame, &mut sealed).ok()?;
        Some(payload_as(self.ends.version, &Up::Sealed { number, bytes }))
    }

    fn reopen<'b>(&mut self, now: Millis, random: &mut impl Random) -> Received<'b> {
        self.start_handshake(random);
        self.due = Some(self.next_allowed(now));
        Received::Lost
    }

    fn start_handshake(&mut self, random: &mut impl Random) {
        self.resend_after = FIRST_RESEND_MS;
        self.state = State::Opening(Opening::start(&self.ends, &self.secret, &self.hub, random));
    }

    /// When the next handshake may begin.
    fn next_allowed(&self, now: Millis) -> Millis {
        self.sent_at.map_or(now, |sent_at| sent_at.after(MIN_HANDSHAKE_INTERVAL_MS).max(now))
    }
}

#[cfg(test)]
mod tests;
