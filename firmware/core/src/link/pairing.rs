//! The device's side of pairing: from the first message to the bond in its flash.
//!
//! The person at the hub and the person at the device must both confirm, in any order. A bond that the hub sends first is
//! kept in memory and has no effect until the person here has confirmed too, which is possible only while the display
//! shows the number. An attempt ends with a bond or with nothing. A bond is stored after the person held Approve on the
//! number, and before the hub is told that it is stored.

use gatepost_link::{
    decision::PublicKey,
    envelope::{self, VERSION},
    frame,
    pairing::{Agreed, CONFIRM, Candidate, Code, Down, FromDevice, FromHub, THIRD, Up},
    seal::Random,
    session::Arrived,
    topic::Attempt,
};
use heapless::Deque;

use super::payload::{Payload, payload};
use crate::{
    Bond, Keys, Millis, Settings,
    ui::{
        buttons::{Button, Buttons, Edge, Gesture, PRESS_TICK_MS},
        view::View,
    },
};

/// What the hub has not answered is sent again at this interval.
pub const RESEND_INTERVAL_MS: u64 = 2_000;
/// If the hub does not say within this time that it is done, it is taken to be done: by now the bond is stored on both
/// sides, or the hub will refuse it.
pub const DONE_TIMEOUT_MS: u64 = 10_000;
/// How long a failure stays on the screen.
pub const FAILURE_SHOWN_MS: u64 = 5_000;

/// One attempt to be paired.
pub struct Pairing {
    attempt: Attempt,
    candidate: Candidate,
    program: bool,
    buttons: Buttons,
    stage: Stage,
    out: Deque<Payload, 4>,
    online: bool,
    /// When to send the current stage's messages again.
    resend_at: Millis,
}

enum Stage {
    /// Sends the first message until a hub answers.
    Calling,
    /// Shows the number.
    Confirming {
        agreed: Agreed,
        third: [u8; THIRD],
        /// Whether the display has accepted the number: nobody can compare a number that is not shown.
        shown: bool,
        confirmed: bool,
        /// The bond, once the hub has sent it.
        bond: Option<Bond>,
        deadline: Millis,
    },
    /// The bond is stored. The hub is told so until it says that it is done.
    Stored {
        agreed: Agreed,
        bond: Bond,
        until: Millis,
    },
    Failed {
        until: Millis,
    },
}

/// What the runner of an attempt must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Continue,
    /// Store this bond, and report with [`Pairing::stored`] whether that succeeded.
    Store(Bond),
    /// The device is paired.
    Paired(Bond),
    /// The attempt failed; another one may begin.
    Failed,
}

/// What to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// No hub has answered.
    Calling,
    /// The number, and whether the person here has confirmed it.
    Code {
        /// The number.
        code: Code,
        /// Whether it was confirmed here.
        confirmed: bool,
        /// When the attempt ends.
        deadline: Millis,
        /// Progress of a hold that will confirm, 0 to 100.
        hold: Option<u8>,
    },
    /// The attempt failed.
    Failed,
}

impl Pairing {
    /// An attempt of the device with these keys.
    pub fn new(sign: PublicKey, keys: &Keys, settings: &Settings, random: &mut impl Random) -> Self {
        let mut attempt = Attempt::default();
        random.fill(&mut attempt);
        Self {
            attempt,
            candidate: Candidate::start(sign, &keys.seal, random),
            program: settings.program,
            buttons: Buttons::new(settings.short_approve),
            stage: Stage::Calling,
            out: Deque::new(),
            online: false,
            resend_at: Millis(0),
        }
    }

    /// The name of the device during this attempt.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Millis) {
        self.online = true;
        self.resend_at = now;
    }

    /// The connection is gone. The attempt continues with the next one.
    pub fn disconnected(&mut self) {
        self.online = false;
        self.out.clear();
    }

    /// Handles a payload from the hub. It may contain anything.
    pub fn received(&mut self, now: Millis, bytes: &[u8]) {
        let Ok(down) = envelope::decode::<Down<'_>>(bytes, 0) else { return };
        match (down, &mut self.stage) {
            (Down::Second { noise }, Stage::Calling) => {
                if let Ok((third, agreed)) = self.candidate.second(noise) {
                    self.buttons.discard();
                    let deadline = now.after(CONFIRM);
                    let (shown, confirmed, bond) = (false, false, None);
                    self.stage = Stage::Confirming { agreed, third, shown, confirmed, bond, deadline };
                    self.resend_at = now;
                }
            }
            (Down::Sealed { number, bytes }, Stage::Confirming { agreed, bond, .. }) => {
                match open(agreed, number, bytes) {
                    Some(FromHub::Paired { user, password }) => {
                        let (hub, seal) = (agreed.sign, agreed.seal);
                        *bond = Some(Bond { hub, seal, user, password, version: VERSION });
                    }
                    Some(FromHub::Declined) => self.fail(now),
                    Some(FromHub::Done) | None => {}
                }
            }
            (Down::Sealed { number, bytes }, Stage::Stored { agreed, until, .. }) => {
                let done = open(agreed, number, bytes) == Some(FromHub::Done);
                *until = if done { now } else { *until };
            }
            _ => {}
        }
    }

    /// Handles a button that went down or came up.
    pub fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        let may_confirm = matches!(self.stage, Stage::Confirming { shown: true, confirmed: false, .. });
        let gesture = self.buttons.edge(now, button, edge, may_confirm);
        self.act_on(now, gesture);
    }

    /// Reports a drawing of a screen with this view: whether the display accepted it.
    pub fn drawn(&mut self, view: &View, accepted: bool) {
        if !accepted {
            self.buttons.discard_approve();
        }
        if let Stage::Confirming { agreed, shown, .. } = &mut self.stage {
            let is_code = matches!(view, View::Pairing { code, .. } if *code == agreed.code.number());
            *shown = accepted && (*shown || is_code);
        }
    }

    /// Advances time, and returns what the runner must do.
    pub fn tick(&mut self, now: Millis) -> Step {
        let gesture = self.buttons.tick(now);
        self.act_on(now, gesture);
        match &self.stage {
            // The hub is not told: nobody said that the numbers differ, and the hub has a timeout of its own.
            Stage::Confirming { deadline, .. } if now >= *deadline => self.fail(now),
            Stage::Confirming { confirmed: true, bond: Some(bond), .. } => return Step::Store(bond.clone()),
            Stage::Stored { bond, until, .. } if now >= *until => return Step::Paired(bond.clone()),
            Stage::Failed { until } if now >= *until => return Step::Failed,
            _ => {}
        }
        if self.online && now >= self.resend_at {
            self.resend_at = now.after(RESEND_INTERVAL_MS);
            self.send();
        }
        Step::Continue
    }

    /// Whether the bond that [`Step::Store`] asked for is stored.
    pub fn stored(&mut self, now: Millis, stored: bool) {
        if !stored {
            return self.decline(now);
        }
        match core::mem::replace(&mut self.stage, Stage::Calling) {
            Stage::Confirming { agreed, bond: Some(bond), .. } => {
                self.stage = Stage::Stored { agreed, bond, until: now.after(DONE_TIMEOUT_MS) };
                if self.online {
                    self.resend_at = now.after(RESEND_INTERVAL_MS);
                    self.send();
                }
            }
            other => self.stage = other,
        }
    }

    /// When [`Pairing::tick`] has something to do or the screen changes.
    pub fn next_tick(&self, now: Millis) -> Option<Millis> {
        let press = self.buttons.is_pressed().then(|| now.after(PRESS_TICK_MS));
        let again = match self.stage {
            Stage::Failed { .. } => None,
            _ => self.online.then_some(self.resend_at),
        };
        let stage = match &self.stage {
            Stage::Calling => None,
            Stage::Confirming { deadline, .. } => Some(now.next_second(*deadline)),
            Stage::Stored { until, .. } | Stage::Failed { until } => Some(*until),
        };
        [press, again, stage].into_iter().flatten().min()
    }

    /// The next payload to publish.
    pub fn next_payload(&mut self) -> Option<Payload> {
        self.out.pop_front()
    }

    /// What to show.
    pub fn shown(&self, now: Millis) -> Shown {
        match &self.stage {
            Stage::Calling => Shown::Calling,
            Stage::Confirming { agreed, confirmed, deadline, .. } => Shown::Code {
                code: agreed.code,
                confirmed: *confirmed,
                deadline: *deadline,
                hold: self.buttons.hold_progress(now).filter(|_| !confirmed),
            },
            Stage::Stored { agreed, until, .. } => {
                Shown::Code { code: agreed.code, confirmed: true, deadline: *until, hold: None }
            }
            Stage::Failed { .. } => Shown::Failed,
        }
    }

    fn act_on(&mut self, now: Millis, gesture: Option<Gesture>) {
        match (&mut self.stage, gesture) {
            (Stage::Confirming { confirmed, .. }, Some(Gesture::Hold)) => *confirmed = true,
            (Stage::Confirming { .. }, Some(Gesture::Deny { .. })) => self.decline(now),
            _ => {}
        }
    }

    fn decline(&mut self, now: Millis) {
        if let Stage::Confirming { agreed, .. } = &mut self.stage
            && let Some(payload) = seal(agreed, FromDevice::Declined)
        {
            self.push(payload);
        }
        self.fail(now);
    }

    fn fail(&mut self, now: Millis) {
        self.stage = Stage::Failed { until: now.after(FAILURE_SHOWN_MS) };
    }

    /// Sends what the hub has not answered yet.
    fn send(&mut self) {
        let (first, second) = match &mut self.stage {
            Stage::Calling => (Some(payload(&Up::First { noise: self.candidate.first() })), None),
            Stage::Confirming { agreed, third, bond: None, .. } => {
                let about = FromDevice::About { program: self.program };
                (Some(payload(&Up::Third { noise: third })), seal(agreed, about))
            }
            Stage::Stored { agreed, .. } => (seal(agreed, FromDevice::Kept), None),
            Stage::Confirming { .. } | Stage::Failed { .. } => (None, None),
        };
        [first, second].into_iter().flatten().for_each(|payload| self.push(payload));
    }

    fn push(&mut self, payload: Payload) {
        // A payload that does not fit is sent again later; a refusal is not, but then the hub's timeout ends the attempt.
        let _ = self.out.push_back(payload);
    }
}

/// The hub's message in a sealed payload.
fn open(agreed: &mut Agreed, number: u64, bytes: &[u8]) -> Option<FromHub> {
    let mut plain = [0; 256];
    match agreed.session.open(number, bytes, &mut plain).ok()? {
        Arrived::Text(text) => frame::decode(text).ok(),
        Arrived::Again => None,
    }
}

/// A sealed payload with this message.
fn seal(agreed: &mut Agreed, message: FromDevice) -> Option<Payload> {
    let (mut plain, mut sealed) = ([0; 8], [0; 32]);
    let text = frame::encode(&message, &mut plain).ok()?;
    let (number, bytes) = agreed.session.seal(text, &mut sealed).ok()?;
    Some(payload(&Up::Sealed { number, bytes }))
}
