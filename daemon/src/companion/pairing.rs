//! The hub's side of pairing a companion. No I/O.
//!
//! A window is open for one attempt: the first device that begins is the one, whatever comes of it. Nothing is registered
//! before the person at the hub has said that both numbers are the same, the person at the device has, and the device has
//! answered that it keeps what it was given. Whoever stands between makes the numbers differ, or the attempt fail; both
//! are said, and the next attempt is a person's to begin.
//!
//! - [`order`]: what a person at the hub wants, is shown and is told;
//! - `stage`: how far an attempt has come;
//! - [`Window`]: the attempt itself.

mod order;
mod stage;

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use gatepost_link::{
    Digest,
    decision::PublicKey,
    envelope::{self, FrameError, MAX_FRAME, VERSION},
    frame,
    pairing::{Down, FromDevice, FromHub, Host, PAIRING_USER, PairingError, Up},
    seal::SealSecret,
    session::Arrived,
    topic::Attempt,
};

pub(super) use order::Order;
use order::Reply;
pub use order::{CONFIRM, PairError, Shown, WAIT};
use stage::Stage;

use super::{
    logins,
    sealed::{System, written},
};
use crate::approval::{device::Device, registry::DeviceError};

/// How often a device is given its login again, until it answers.
const GIVE_INTERVAL: Duration = Duration::from_secs(2);
/// Messages that are none after which an attempt is given up: each costs the hub a handshake.
const MAX_FAULTS: u32 = 20;

/// One window.
pub(super) struct Window {
    hub: PublicKey,
    secret: SealSecret,
    programs: bool,
    /// The broker takes a login that the hub makes.
    logins: bool,
    stage: Stage,
    /// Why it failed, if it did.
    failed: Option<String>,
    until: Instant,
    faults: u32,
    out: VecDeque<(Attempt, Vec<u8>)>,
    /// Who waits for the number to compare.
    number_reply: Option<Reply<Shown>>,
    /// Who waits for the outcome.
    outcome_reply: Option<Reply<Device>>,
}

impl Window {
    /// Opens a window for the hub with these keys. `programs` may be paired or not; with `logins` a device gets its own
    /// login, without it keeps the one by which it came.
    pub(super) fn open(
        now: Instant,
        (hub, secret): (PublicKey, SealSecret),
        programs: bool,
        logins: bool,
        number_reply: Reply<Shown>,
    ) -> Self {
        Self {
            hub,
            secret,
            programs,
            logins,
            failed: None,
            stage: Stage::Waiting,
            until: now + WAIT,
            faults: 0,
            out: VecDeque::new(),
            number_reply: Some(number_reply),
            outcome_reply: None,
        }
    }

    /// Takes a device's message. A device that has stored its login is returned, to be registered; the result goes to
    /// [`Window::registered`].
    pub(super) fn received(&mut self, now: Instant, attempt: Attempt, payload: &[u8]) -> Option<Device> {
        let up = match envelope::decode::<Up<'_>>(payload, VERSION) {
            Ok(up) => up,
            Err(error) => {
                tracing::warn!(%error, "not a message of a pairing");
                if matches!(error, FrameError::Downgrade { .. }) && matches!(self.stage, Stage::Waiting) {
                    self.end(PairError::Firmware);
                }
                return None;
            }
        };
        match (up, &mut self.stage) {
            (Up::First { noise }, Stage::Waiting) => {
                let host = match Host::answer(self.hub, &self.secret, noise, &mut System) {
                    Ok(host) => host,
                    Err(error) => {
                        self.fault(error);
                        return None;
                    }
                };
                self.say(attempt, &Down::Second { noise: host.second() });
                self.stage = Stage::Greeted { attempt, first: noise.to_vec(), host: Box::new(host) };
            }
            (Up::First { noise }, Stage::Greeted { attempt: known, first, host })
                if attempt == *known && noise == first =>
            {
                let second = written(&Down::Second { noise: host.second() });
                self.out.push_back((attempt, second));
            }
            (Up::Third { noise }, Stage::Greeted { attempt: known, host, .. }) if attempt == *known => {
                match host.third(noise) {
                    Ok(agreed) => {
                        self.until = now + CONFIRM;
                        self.stage = Stage::Agreed { attempt, agreed };
                    }
                    Err(PairingError::Commitment) => self.end(PairError::Between(PairingError::Commitment)),
                    Err(error) => self.fault(error),
                }
            }
            (Up::Sealed { number, bytes }, _) => return self.sealed(attempt, number, bytes),
            (Up::First { .. } | Up::Third { .. }, _) => {
                tracing::debug!("a message of another attempt to be paired");
            }
        }
        None
    }

    fn sealed(&mut self, from: Attempt, number: u64, bytes: &[u8]) -> Option<Device> {
        let (attempt, agreed) = self.stage.agreed()?;
        if from != attempt {
            return None;
        }
        let mut plain = [0; MAX_FRAME];
        let message = match agreed.session.open(number, bytes, &mut plain) {
            Ok(Arrived::Text(text)) => frame::decode::<FromDevice>(text).ok()?,
            Ok(Arrived::Again) => return None,
            Err(error) => {
                self.fault(error.into());
                return None;
            }
        };
        match message {
            FromDevice::About { program } => self.about(program),
            FromDevice::Declined => self.end(PairError::Declined),
            FromDevice::Kept => {
                if let Stage::Given { device, .. } = &self.stage {
                    return Some(device.clone());
                }
            }
        }
        None
    }

    fn about(&mut self, program: bool) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Agreed { attempt, agreed } if program && !self.programs => {
                self.stage = Stage::Agreed { attempt, agreed };
                self.end(PairError::Program);
            }
            Stage::Agreed { attempt, agreed } => {
                let shown = Shown { code: agreed.code, device: agreed.sign, program };
                self.stage = Stage::Shown { attempt, agreed, program };
                if self.number_reply.take().is_none_or(|reply| reply.send(Ok(shown)).is_err()) {
                    // The caller has gone: nobody can compare numbers.
                    self.end(PairError::Late);
                }
            }
            other => self.stage = other,
        }
    }

    /// The device whose number is shown, if this is the number.
    pub(super) fn shows(&self, code: u32) -> Option<PublicKey> {
        match &self.stage {
            Stage::Shown { agreed, .. } if agreed.code.number() == code => Some(agreed.sign),
            _ => None,
        }
    }

    /// What became of it, if it was not well.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The person at the hub says that the numbers are the same: gives the device its login, under this name.
    pub(super) fn give(&mut self, now: Instant, name: String, outcome_reply: Reply<Device>) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Shown { attempt, agreed, program } => {
                let short = "a login is short";
                let (user, password) = match self.logins {
                    true => (logins::user(agreed.sign), crate::random::hex::<16>()),
                    false => (PAIRING_USER.to_owned(), String::new()),
                };
                let login = FromHub::Paired {
                    user: user.as_str().try_into().expect(short),
                    password: password.as_str().try_into().expect(short),
                };
                let device = Device {
                    key: agreed.sign,
                    seal: agreed.seal,
                    name,
                    software: program,
                    login: self.logins.then(|| Digest::of(password.as_bytes())),
                    version: VERSION,
                };
                self.stage = Stage::Given { attempt, agreed, device, login, again: now };
                self.outcome_reply = Some(outcome_reply);
                self.tick(now);
            }
            other => {
                self.stage = other;
                // The caller may have gone.
                let _ = outcome_reply.send(Err(PairError::Unknown));
            }
        }
    }

    /// Sets the caller that waits for the outcome.
    pub(super) fn answer(&mut self, outcome_reply: Reply<Device>) {
        self.outcome_reply = Some(outcome_reply);
    }

    /// Takes the result of registering the device.
    pub(super) fn registered(&mut self, registered: Result<Device, DeviceError>) {
        match registered {
            Ok(device) => {
                self.tell(&FromHub::Done);
                self.stage = Stage::Over;
                if let Some(outcome_reply) = self.outcome_reply.take() {
                    let _ = outcome_reply.send(Ok(device));
                }
            }
            Err(error) => self.end(error.into()),
        }
    }

    /// Ends the attempt without a pairing, and tells the device and the caller that waits.
    pub(super) fn end(&mut self, why: PairError) {
        tracing::warn!(%why, "no companion was paired");
        self.failed = Some(why.to_string());
        self.tell(&FromHub::Declined);
        self.stage = Stage::Over;
        // The caller may have gone.
        match (self.outcome_reply.take(), self.number_reply.take()) {
            (Some(outcome_reply), _) => drop(outcome_reply.send(Err(why))),
            (None, Some(reply)) => drop(reply.send(Err(why))),
            (None, None) => {}
        }
    }

    /// Returns when the caller that waits for this window has closed its connection; never while no caller waits.
    pub(super) async fn left(&mut self) {
        match (&mut self.number_reply, &mut self.outcome_reply) {
            (Some(reply), _) => reply.closed().await,
            (None, Some(outcome_reply)) => outcome_reply.closed().await,
            (None, None) => std::future::pending().await,
        }
    }

    /// Lets time pass. Call it when [`Window::next_tick`] says, and when [`Window::left`] returns.
    pub(super) fn tick(&mut self, now: Instant) {
        let left = self.number_reply.as_ref().is_some_and(Reply::is_closed)
            || self.outcome_reply.as_ref().is_some_and(Reply::is_closed);
        if left && !self.is_over() {
            return self.end(PairError::Left);
        }
        if now >= self.until && !self.is_over() {
            return self.end(match self.stage {
                Stage::Waiting | Stage::Greeted { .. } => PairError::Nobody,
                _ => PairError::Late,
            });
        }
        if let Stage::Given { login, again, .. } = &mut self.stage
            && now >= *again
        {
            *again = now + GIVE_INTERVAL;
            let login = login.clone();
            self.tell(&login);
        }
    }

    /// When [`Window::tick`] has something to do.
    pub(super) fn next_tick(&self) -> Instant {
        match &self.stage {
            Stage::Given { again, .. } => self.until.min(*again),
            _ => self.until,
        }
    }

    /// Whether the attempt is over.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// The next payload to publish, and whose `down` topic it is for.
    pub(super) fn next_payload(&mut self) -> Option<(Attempt, Vec<u8>)> {
        self.out.pop_front()
    }

    fn fault(&mut self, error: PairingError) {
        tracing::warn!(%error, "not a message of this pairing");
        self.faults += 1;
        if self.faults >= MAX_FAULTS {
            self.end(PairError::Disturbed);
        }
    }

    fn tell(&mut self, message: &FromHub) {
        let Some((attempt, agreed)) = self.stage.agreed() else { return };
        let (mut plain, mut sealed) = ([0; MAX_FRAME], [0; MAX_FRAME]);
        let text = frame::encode(message, &mut plain).expect("what is told is short");
        if let Ok((number, bytes)) = agreed.session.seal(text, &mut sealed) {
            self.out.push_back((attempt, written(&Down::Sealed { number, bytes })));
        }
    }

    fn say(&mut self, attempt: Attempt, down: &Down<'_>) {
        self.out.push_back((attempt, written(down)));
    }
}

#[cfg(test)]
mod tests;
