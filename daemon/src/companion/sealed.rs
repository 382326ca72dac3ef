//! The hub's side of one companion's sealed sessions. No I/O.
//!
//! A handshake's first message can be replayed, so a session is the present one only when something sealed in it has
//! arrived; until then the one before goes on. Of the one before that something is kept as well: what is validly sealed
//! in it and was never seen can only come from a second device with the same keys. That is a [`Fault::Cloned`], and ends
//! both sessions.
//!
//! Anybody on the broker can speak in a companion's name. What they say changes nothing but a counter of faults, and
//! makes the hub ask for a new session once a second at most.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use gatepost_link::{
    envelope::{self, Down, FrameError, MAX_FRAME, OLDEST, Up, VERSION},
    frame,
    seal::{Random, SealError, SealKey, SealSecret, TAG},
    session::{self, Arrived, Ends, Session, SessionHash},
};
use serde::Serialize;

/// A companion that asks for sessions more often than this is not answered.
const BETWEEN_OPENS: Duration = Duration::from_millis(200);
/// A companion is asked for a new session no more often than this.
const BETWEEN_GREETS: Duration = Duration::from_secs(1);
/// A session in which something was heard so recently is not given up for what cannot be opened.
const LIVELY: Duration = Duration::from_secs(10);
/// So many beginnings are remembered, to know them when they come again.
const OPENS: usize = 16;

/// The operating system's randomness.
pub(super) struct System;

impl Random for System {
    fn fill(&mut self, bytes: &mut [u8]) {
        bytes
            .chunks_mut(32)
            .for_each(|chunk| chunk.copy_from_slice(&crate::random::bytes::<32>()[..chunk.len()]));
    }
}

/// Why a payload was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is none of this version.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// It was made by somebody else, or changed on its way.
    #[error("not sealed by this companion in its session: somebody else made it, or changed it on its way")]
    Forged,
    /// It opened a session long ago.
    #[error("the beginning of an earlier session, said again by somebody else")]
    Replayed,
    /// Something before it is missing.
    #[error("what the companion sealed before it did not arrive, or in another order: the session is over")]
    Gap,
    /// Two devices have the same keys.
    #[error("two sessions at once: a second device has this companion's keys; revoke it and pair it anew")]
    Cloned,
}

/// What a payload came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing to act on.
    Nothing,
    /// A frame.
    Frame {
        /// In this session.
        session: SessionHash,
        /// The first that arrived in it: whatever came before is void.
        begins: bool,
        /// The frame.
        text: Vec<u8>,
    },
}

/// The sessions with one companion.
#[derive(Debug)]
pub(super) struct Sealed {
    ends: Ends,
    secret: SealSecret,
    device: SealKey,
    /// The highest version of the link that the companion has spoken.
    seen: u8,
    candidate: Option<Candidate>,
    current: Option<Session>,
    /// The version that is spoken in the present session.
    version: u8,
    previous: Option<Session>,
    heard: Option<Instant>,
    opens: VecDeque<Vec<u8>>,
    opened: Option<Instant>,
    greeted: Option<Instant>,
    out: VecDeque<Vec<u8>>,
}

/// A session in which nothing has arrived yet.
#[derive(Debug)]
struct Candidate {
    session: Session,
    version: u8,
    answer: Vec<u8>,
}

impl Sealed {
    pub(super) fn new(ends: Ends, secret: SealSecret, device: SealKey, seen: u8) -> Self {
        Self {
            ends,
            secret,
            device,
            seen,
            candidate: None,
            current: None,
            version: VERSION,
            previous: None,
            heard: None,
            opens: VecDeque::new(),
            opened: None,
            greeted: None,
            out: VecDeque::new(),
        }
    }

    /// Whether there is a session.
    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// The version of the link that the companion speaks in this session.
    pub(super) fn version(&self) -> u8 {
        self.version
    }

    /// Takes a payload from the companion, or from anybody.
    pub(super) fn received(&mut self, now: Instant, payload: &[u8]) -> Result<Heard, Fault> {
        let up = envelope::decode(payload, self.seen)?;
        let version = payload.first().copied().unwrap_or(VERSION);
        match up {
            Up::Open { noise } => self.open(now, version, noise).map(|()| Heard::Nothing),
            Up::Sealed { number, bytes } => self.sealed(now, number, bytes),
        }
    }

    fn open(&mut self, now: Instant, version: u8, noise: &[u8]) -> Result<(), Fault> {
        if self.opens.back().is_some_and(|last| last == noise) {
            // Delivered twice, or its answer was lost.
            if let Some(candidate) = &self.candidate {
                self.out.push_back(candidate.answer.clone());
            }
            return Ok(());
        }
        if self.opens.iter().any(|open| open == noise) {
            return Err(Fault::Replayed);
        }
        if self.opened.is_some_and(|last| now.duration_since(last) < BETWEEN_OPENS) {
            return Ok(());
        }
        self.opened = Some(now);
        // The version is in the prologue: another than the companion's own comes to nothing.
        let ends = Ends { version, ..self.ends };
        let answered = session::answer(&ends, &self.secret, &self.device, noise, &mut System);
        let (session, message) = answered.map_err(|_| Fault::Forged)?;
        if self.opens.len() == OPENS {
            self.opens.pop_front();
        }
        self.opens.push_back(noise.to_vec());
        let answer = written_as(version, &Down::Opened { noise: &message });
        self.out.push_back(answer.clone());
        self.candidate = Some(Candidate { session, version, answer });
        Ok(())
    }

    fn sealed(&mut self, now: Instant, number: u64, bytes: &[u8]) -> Result<Heard, Fault> {
        let mut plain = [0; MAX_FRAME];
        if let Some(candidate) = &mut self.candidate {
            match candidate.session.open(number, bytes, &mut plain) {
                Ok(Arrived::Text(text)) => {
                    let text = text.to_vec();
                    return Ok(self.begin(now, text));
                }
                // It is kept, so that whatever else is sealed in it is known for that, and asks for another session again.
                Err(SealError::Gap) => {
                    self.greet(now);
                    return Err(Fault::Gap);
                }
                // Of the session that goes on until then.
                Ok(Arrived::Again) | Err(_) => {}
            }
        }
        if let Some(current) = &mut self.current {
            match current.open(number, bytes, &mut plain) {
                Ok(Arrived::Text(text)) => {
                    self.heard = Some(now);
                    let (session, text) = (current.hash(), text.to_vec());
                    return Ok(Heard::Frame { session, begins: false, text });
                }
                Ok(Arrived::Again) => return Ok(Heard::Nothing),
                Err(SealError::Gap | SealError::UsedUp) => {
                    self.close();
                    self.greet(now);
                    return Err(Fault::Gap);
                }
                Err(SealError::Forged | SealError::Length) => {}
            }
        }
        match self.previous.as_mut().map(|previous| previous.open(number, bytes, &mut plain)) {
            Some(Ok(Arrived::Text(_)) | Err(SealError::Gap)) => {
                self.close();
                self.greet(now);
                return Err(Fault::Cloned);
            }
            Some(Ok(Arrived::Again)) => return Ok(Heard::Nothing),
            Some(Err(_)) | None => {}
        }
        if self.current.is_none() && self.candidate.is_none() {
            // Most likely sealed in a session that the hub has forgotten, by a restart for one.
            self.greet(now);
            return Ok(Heard::Nothing);
        }
        if self.heard.is_none_or(|heard| now.duration_since(heard) >= LIVELY) {
            self.greet(now);
        }
        Err(Fault::Forged)
    }

    /// The candidate is the present session.
    fn begin(&mut self, now: Instant, text: Vec<u8>) -> Heard {
        let Candidate { session, version, .. } = self.candidate.take().expect("it was just opened in");
        let hash = session.hash();
        self.previous = self.current.replace(session);
        self.heard = Some(now);
        self.version = version;
        self.seen = self.seen.max(version);
        // What still waits was sealed in another.
        self.out.clear();
        Heard::Frame { session: hash, begins: true, text }
    }

    /// All sessions are over.
    pub(super) fn close(&mut self) {
        self.candidate = None;
        self.current = None;
        self.previous = None;
        self.out.clear();
    }

    /// Asks a companion that may believe in an older session for a new one.
    pub(super) fn greet(&mut self, now: Instant) {
        if self.greeted.is_none_or(|last| now.duration_since(last) >= BETWEEN_GREETS) {
            self.greeted = Some(now);
            // In every version that it may speak: which one, its answer says.
            for version in self.seen.clamp(OLDEST, VERSION)..=VERSION {
                self.out.push_back(written_as(version, &Down::Greet));
            }
        }
    }

    /// Seals a frame; without a session it is said to nobody.
    pub(super) fn say(&mut self, down: &frame::Down<'_>) {
        let Some(session) = &mut self.current else { return };
        let (mut plain, mut sealed) = ([0; MAX_FRAME], [0; MAX_FRAME + TAG]);
        let text = frame::encode(down, &mut plain).expect("every frame of the hub fits");
        match session.seal(text, &mut sealed) {
            Ok((number, bytes)) => {
                self.out.push_back(written_as(self.version, &Down::Sealed { number, bytes }))
            }
            Err(_) => self.close(),
        }
    }

    /// The next payload to publish.
    pub(super) fn next_payload(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }
}

/// A payload of the hub's, to a companion that it knows or to one that is being paired.
pub(super) fn written(envelope: &impl Serialize) -> Vec<u8> {
    written_as(VERSION, envelope)
}

fn written_as(version: u8, envelope: &impl Serialize) -> Vec<u8> {
    let mut buffer = [0; MAX_FRAME];
    envelope::encode_as(version, envelope, &mut buffer).expect("every payload of the hub fits").to_vec()
}

#[cfg(test)]
mod tests;
