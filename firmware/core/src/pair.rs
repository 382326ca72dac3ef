//! The device's side of pairing: from the first message to the bond in its flash.
//!
//! Both persons must say yes, and in either order: what the hub gives before the person here has confirmed is kept in
//! memory and counts for nothing until then. The person here can say so only while the display has taken the number. One attempt ends in a bond or in nothing. A bond is stored before the hub
//! is told so, and not before the person held Approve on the number.

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

use crate::{
    Bond, Keys, Millis, Settings, View,
    buttons::{Button, Buttons, Edge, Gesture},
    sealed::{Payload, payload},
};

/// How often what the hub has not answered is said again, in milliseconds.
pub const SAY_AGAIN: u64 = 2_000;
/// A hub that does not say that it is done is taken to be, after so many milliseconds: the bond is stored on both sides or
/// will be refused by the hub.
pub const DONE: u64 = 10_000;
/// How long a failure stays on the screen, in milliseconds.
pub const FAILED: u64 = 5_000;
/// How often [`Pairing::tick`] must be called while a button is down, in milliseconds.
const WATCH: u64 = crate::app::WATCH;

/// One attempt to be paired.
pub struct Pairing {
    attempt: Attempt,
    candidate: Candidate,
    program: bool,
    buttons: Buttons,
    stage: Stage,
    out: Deque<Payload, 4>,
    online: bool,
    again: Millis,
}

enum Stage {
    /// Says the first message until a hub answers.
    Calling,
    /// Shows the number.
    Asking {
        agreed: Agreed,
        third: [u8; THIRD],
        /// Whether the display has taken the number: nobody compares what is not shown.
        shown: bool,
        confirmed: bool,
        given: Option<Bond>,
        deadline: Millis,
    },
    /// The bond is stored; the hub is told until it says that it is done.
    Kept {
        agreed: Agreed,
        bond: Bond,
        until: Millis,
    },
    Failed {
        until: Millis,
    },
}

/// What an attempt has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet.
    Going,
    /// Store this bond, and say with [`Pairing::stored`] whether it is.
    Store(Bond),
    /// The device is paired.
    Paired(Bond),
    /// Nothing came of it; another attempt may begin.
    Over,
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
        /// Until when.
        deadline: Millis,
        /// How far a hold that will confirm has come, 0 to 100.
        hold: Option<u8>,
    },
    /// Nothing came of it.
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
            again: Millis(0),
        }
    }

    /// What the device goes by meanwhile.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Millis) {
        self.online = true;
        self.again = now;
    }

    /// The connection is gone; the attempt goes on with the next one.
    pub fn disconnected(&mut self) {
        self.online = false;
        self.out.clear();
    }

    /// Takes a payload from the hub. It may hold anything.
    pub fn received(&mut self, now: Millis, bytes: &[u8]) {
        let Ok(down) = envelope::decode::<Down<'_>>(bytes, 0) else { return };
        match (down, &mut self.stage) {
            (Down::Second { noise }, Stage::Calling) => {
                if let Ok((third, agreed)) = self.candidate.second(noise) {
                    self.buttons.spend();
                    let deadline = now.after(CONFIRM);
                    let (shown, confirmed, given) = (false, false, None);
                    self.stage = Stage::Asking { agreed, third, shown, confirmed, given, deadline };
                    self.again = now;
                }
            }
            (Down::Sealed { number, bytes }, Stage::Asking { agreed, given, .. }) => {
                match opened(agreed, number, bytes) {
                    Some(FromHub::Paired { user, password }) => {
                        let (hub, seal) = (agreed.sign, agreed.seal);
                        *given = Some(Bond { hub, seal, user, password, version: VERSION });
                    }
                    Some(FromHub::Declined) => self.fail(now),
                    Some(FromHub::Done) | None => {}
                }
            }
            (Down::Sealed { number, bytes }, Stage::Kept { agreed, until, .. }) => {
                let done = opened(agreed, number, bytes) == Some(FromHub::Done);
                *until = if done { now } else { *until };
            }
            _ => {}
        }
    }

    /// A button went down or came up.
    pub fn button(&mut self, now: Millis, button: Button, edge: Edge) {
        let may_confirm = matches!(self.stage, Stage::Asking { shown: true, confirmed: false, .. });
        let gesture = self.buttons.edge(now, button, edge, may_confirm);
        self.act(now, gesture);
    }

    /// What became of a screen with this view: whether the display has taken it.
    pub fn drawn(&mut self, view: &View, taken: bool) {
        if !taken {
            self.buttons.spend_approve();
        }
        if let Stage::Asking { agreed, shown, .. } = &mut self.stage {
            let is_code = matches!(view, View::Pairing { code, .. } if *code == agreed.code.number());
            *shown = taken && (*shown || is_code);
        }
    }

    /// Lets time pass, and says what the attempt has come to.
    pub fn tick(&mut self, now: Millis) -> Step {
        let gesture = self.buttons.tick(now);
        self.act(now, gesture);
        match &self.stage {
            // Nobody has said that the number is another one; the hub has a clock of its own.
            Stage::Asking { deadline, .. } if now >= *deadline => self.fail(now),
            Stage::Asking { confirmed: true, given: Some(bond), .. } => return Step::Store(bond.clone()),
            Stage::Kept { bond, until, .. } if now >= *until => return Step::Paired(bond.clone()),
            Stage::Failed { until } if now >= *until => return Step::Over,
            _ => {}
        }
        if self.online && now >= self.again {
            self.again = now.after(SAY_AGAIN);
            self.say();
        }
        Step::Going
    }

    /// Whether the bond that [`Step::Store`] asked for is stored.
    pub fn stored(&mut self, now: Millis, stored: bool) {
        if !stored {
            return self.decline(now);
        }
        match core::mem::replace(&mut self.stage, Stage::Calling) {
            Stage::Asking { agreed, given: Some(bond), .. } => {
                self.stage = Stage::Kept { agreed, bond, until: now.after(DONE) };
                if self.online {
                    self.again = now.after(SAY_AGAIN);
                    self.say();
                }
            }
            other => self.stage = other,
        }
    }

    /// When [`Pairing::tick`] has something to do, or the screen something new to show.
    pub fn next_tick(&self, now: Millis) -> Option<Millis> {
        let press = self.buttons.busy().then(|| now.after(WATCH));
        let again = match self.stage {
            Stage::Failed { .. } => None,
            _ => self.online.then_some(self.again),
        };
        let stage = match &self.stage {
            Stage::Calling => None,
            Stage::Asking { deadline, .. } => Some(now.next_second(*deadline)),
            Stage::Kept { until, .. } | Stage::Failed { until } => Some(*until),
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
            Stage::Asking { agreed, confirmed, deadline, .. } => Shown::Code {
                code: agreed.code,
                confirmed: *confirmed,
                deadline: *deadline,
                hold: self.buttons.progress(now).filter(|_| !confirmed),
            },
            Stage::Kept { agreed, until, .. } => {
                Shown::Code { code: agreed.code, confirmed: true, deadline: *until, hold: None }
            }
            Stage::Failed { .. } => Shown::Failed,
        }
    }

    fn act(&mut self, now: Millis, gesture: Option<Gesture>) {
        match (&mut self.stage, gesture) {
            (Stage::Asking { confirmed, .. }, Some(Gesture::Hold)) => *confirmed = true,
            (Stage::Asking { .. }, Some(Gesture::Deny { .. })) => self.decline(now),
            _ => {}
        }
    }

    fn decline(&mut self, now: Millis) {
        if let Stage::Asking { agreed, .. } = &mut self.stage
            && let Some(payload) = sealed(agreed, FromDevice::Declined)
        {
            self.push(payload);
        }
        self.fail(now);
    }

    fn fail(&mut self, now: Millis) {
        self.stage = Stage::Failed { until: now.after(FAILED) };
    }

    /// Says what the hub has not answered.
    fn say(&mut self) {
        let (first, second) = match &mut self.stage {
            Stage::Calling => (Some(payload(&Up::First { noise: self.candidate.first() })), None),
            Stage::Asking { agreed, third, given: None, .. } => {
                let about = FromDevice::About { program: self.program };
                (Some(payload(&Up::Third { noise: third })), sealed(agreed, about))
            }
            Stage::Kept { agreed, .. } => (sealed(agreed, FromDevice::Kept), None),
            Stage::Asking { .. } | Stage::Failed { .. } => (None, None),
        };
        [first, second].into_iter().flatten().for_each(|payload| self.push(payload));
    }

    fn push(&mut self, payload: Payload) {
        // One that finds no room is said again, or was a refusal that the hub's time decides.
        let _ = self.out.push_back(payload);
    }
}

fn opened(agreed: &mut Agreed, number: u64, bytes: &[u8]) -> Option<FromHub> {
    let mut plain = [0; 256];
    match agreed.session.open(number, bytes, &mut plain).ok()? {
        Arrived::Text(text) => frame::decode(text).ok(),
        Arrived::Again => None,
    }
}

fn sealed(agreed: &mut Agreed, said: FromDevice) -> Option<Payload> {
    let (mut plain, mut sealed) = ([0; 8], [0; 32]);
    let text = frame::encode(&said, &mut plain).ok()?;
    let (number, bytes) = agreed.session.seal(text, &mut sealed).ok()?;
    Some(payload(&Up::Sealed { number, bytes }))
}
