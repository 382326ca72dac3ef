//! One companion's session: what it was offered, and what it may ask for. No I/O.
//!
//! What is lost on its way shows itself by the frame after it, and then a new session begins. So nothing stays the last frame
//! for long that somebody waits for: the companion asks again for what it was not answered, and the hub says how it is after
//! what it offered, until the companion fetches it.
//!
//! A session begins with the first frame that arrives in it. Nothing that was said before counts in it: all that waits is
//! offered again. A companion that sends nonsense is answered with silence, and after [`budget::MAX_FAULTS`] faults in a minute it
//! is not listened to until that minute is over. Those are its own, for they were sealed. What somebody else says in its
//! name ([`Fault`]) silences nobody, and is told [`budget::MAX_FAULTS`] times a minute: it must not fill the audit.

mod asked;
mod budget;
mod condition;
mod probe;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use gatepost_link::{
    Digest, RequestId,
    decision::Decision,
    frame::{self, Down, Offer, PIECE, Progress, Refusal, Report, Up, Withdrawal},
    seal::{SealKey, SealSecret},
    session::{Ends, SessionHash},
};

#[cfg(test)]
use self::budget::{MAX_FAULTS, MINUTE};
pub use self::{asked::Asked, condition::Condition};
use self::{budget::Budget, probe::Probe};
use super::{
    outdated::Notice,
    sealed::{Fault, Heard, Sealed},
};
use crate::approval::{Waiting, firmware::is_outdated};

/// A companion that says in a new session what it decided so shortly before has not heard that it counts.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How the hub is is told when a figure has changed, and otherwise no more often than this: clocks drift.
const TELL_INTERVAL: Duration = Duration::from_secs(45);
/// Requests that a companion is offered at once; the others wait here.
pub const MAX_OFFERED: usize = 8;

/// One companion's session.
#[derive(Debug)]
pub struct Session {
    sealed: Sealed,
    /// What the companion did wrong.
    faults: Budget,
    /// What was refused of what came in its name, and that there are two of it.
    refused: Budget,
    cloned: Budget,
    /// How often its display came and went.
    displays: Budget,
    /// How often it said something of its firmware that is written down.
    firmware: Budget,
    offered: HashMap<RequestId, Vec<u8>>,
    unshown: Vec<RequestId>,
    /// How the hub is, as it was told last in this session, and when.
    told: Option<(Instant, Report)>,
    /// What it was told last in this session of how the hub is beside its figures.
    condition: Option<Condition>,
    /// Something was said since whose loss nothing would show.
    unproven: bool,
    probe: Option<Probe>,
    /// The decision that was taken last, and when: the word of it may have been lost with its session.
    consumed: Option<(Instant, RequestId)>,
    /// The card that stands for all messages in this session, where the firmware is too old for them.
    notice: Notice,
    /// The request whose document the companion has fetched to its end, last in this session.
    fetched: Option<RequestId>,
}

impl Session {
    /// No session yet with the companion that has this key, and has spoken version `seen` of the link.
    pub fn new(ends: Ends, secret: SealSecret, device: SealKey, seen: u8) -> Self {
        Self {
            sealed: Sealed::new(ends, secret, device, seen),
            faults: Budget::default(),
            refused: Budget::default(),
            cloned: Budget::default(),
            displays: Budget::default(),
            firmware: Budget::default(),
            offered: HashMap::new(),
            unshown: Vec::new(),
            told: None,
            condition: None,
            unproven: false,
            probe: None,
            consumed: None,
            notice: Notice::default(),
            fetched: None,
        }
    }

    /// The request whose document the companion has fetched to its end, last in this session: its card is the one that it shows, as long
    /// as that waits.
    pub fn fetched(&self) -> Option<RequestId> {
        self.fetched
    }

    /// The version of the link that the companion speaks in this session.
    pub fn version(&self) -> u8 {
        self.sealed.version()
    }

    /// Whether the companion's firmware is too old to be asked anything.
    pub fn is_outdated(&self) -> bool {
        is_outdated(self.version())
    }

    /// Takes a payload from the companion, or from anybody who speaks in its name.
    ///
    /// What is refused is an error that the audit should know of; what is refused too often is not told any more.
    pub fn received(&mut self, now: Instant, payload: &[u8]) -> Result<Asked, Fault> {
        match self.sealed.received(now, payload) {
            Ok(Heard::Nothing) => Ok(Asked::Nothing),
            Ok(Heard::Frame { session, begins, text }) => {
                if begins {
                    self.forget();
                    if let Some((at, request)) = self.consumed
                        && now.duration_since(at) < REMEMBERED
                    {
                        self.push(&Down::Consumed { request });
                    }
                }
                let request = self.heard(now, session, begins, &text)?;
                // The first frame says nothing more than that.
                Ok(if begins && request == Asked::Nothing { Asked::Begun } else { request })
            }
            Err(fault) => {
                let budget = if fault == Fault::Cloned { &mut self.cloned } else { &mut self.refused };
                if !budget.is_left(now) {
                    return Ok(Asked::Nothing);
                }
                budget.spend();
                Err(fault)
            }
        }
    }

    fn heard(
        &mut self,
        now: Instant,
        session: SessionHash,
        begins: bool,
        text: &[u8],
    ) -> Result<Asked, Fault> {
        if !self.faults.is_left(now) && !matches!(frame::decode(text), Ok(Up::Ready)) {
            return Ok(Asked::Nothing);
        }
        let up = frame::decode(text).inspect_err(|_| self.faults.spend())?;
        Ok(match up {
            Up::Ready => {
                if !begins {
                    self.tell_again(now);
                }
                Asked::Nothing
            }
            Up::Fetch { request, piece } => {
                self.fetch(request, piece);
                Asked::Nothing
            }
            Up::Decision(Decision { request, .. }) if self.notice.is(request) => {
                // Whatever was decided on it is nothing; it was read, or pressed away blindly.
                self.notice.read();
                self.withdraw(request, Withdrawal::Cancelled);
                Asked::Nothing
            }
            Up::Decision(decision) => Asked::Decide(session, decision),
            // Only of what was decided there a moment ago, and once: it is repeated until it is answered.
            Up::Mute { request } => {
                self.tell_again(now);
                let known = self
                    .consumed
                    .take_if(|(at, last)| *last == request && now.duration_since(*at) < REMEMBERED);
                known.map_or(Asked::Nothing, |_| Asked::Mute(request))
            }
            // Firmware that may say so only when it changes is not believed to have a display that works.
            Up::Display { .. } if self.is_outdated() => Asked::Nothing,
            Up::Display { works } => {
                let tell = self.displays.is_left(now);
                self.displays.spend();
                self.tell_again(now);
                Asked::Display { works, tell }
            }
            // Blocks and bytes are neither written down nor counted here.
            Up::FetchBlock { part, offset, length } => Asked::FetchBlock { part, offset, length },
            Up::Update { progress: progress @ Progress::Taking { .. }, image } => {
                Asked::Update { image, progress }
            }
            // What else it says of its firmware is written down: not of one that says so all the time.
            Up::Running(_) | Up::Update { .. } if !self.firmware.is_left(now) => Asked::Nothing,
            Up::Running(running) => {
                self.firmware.spend();
                self.tell_again(now);
                Asked::Running(running)
            }
            Up::Update { image, progress } => {
                self.firmware.spend();
                Asked::Update { image, progress }
            }
            Up::Refuse { request, reason } => {
                if self.offered.remove(&request).is_none() {
                    self.faults.spend();
                    return Ok(Asked::Nothing);
                }
                match reason {
                    // Offered again as soon as anything changes.
                    Refusal::Busy => Asked::Nothing,
                    Refusal::TooLong | Refusal::Malformed => {
                        self.unshown.push(request);
                        Asked::CannotShow(request, reason)
                    }
                }
            }
        })
    }

    /// The connection is gone, and the session with it.
    pub fn close(&mut self) {
        self.sealed.close();
        self.forget();
    }

    fn forget(&mut self) {
        self.offered.clear();
        self.unshown.clear();
        (self.told, self.condition) = (None, None);
        self.probe = None;
        self.notice = Notice::default();
        self.fetched = None;
    }

    fn fetch(&mut self, request: RequestId, piece: u16) {
        let Some(document) = self.offered.get(&request) else {
            // Over before it was read; the companion need not ask again.
            self.faults.spend();
            self.push(&Down::Withdraw { request, reason: Withdrawal::Expired });
            return;
        };
        let start = usize::from(piece) * PIECE;
        self.probe.take_if(|probe| probe.ends_with(request));
        match document.get(start..document.len().min(start + PIECE)) {
            Some(bytes) if !bytes.is_empty() => {
                if start + bytes.len() == document.len() {
                    self.fetched = Some(request);
                }
                let bytes = bytes.to_vec();
                self.push(&Down::Piece { request, piece, bytes: &bytes });
            }
            _ => self.faults.spend(),
        }
    }

    /// Brings the companion up to date with what waits: withdraws what is over, offers what is new.
    ///
    /// `over` says why a request that was offered does not wait any more. A companion whose firmware is too old is offered one card
    /// that says so.
    pub fn update(
        &mut self,
        now: Instant,
        now_ms: i64,
        waiting: &[Waiting],
        over: impl Fn(RequestId) -> Withdrawal,
    ) {
        if !self.sealed.is_open() {
            return;
        }
        let notice = self.is_outdated().then(|| self.notice.waiting(now_ms));
        let waiting = notice.as_deref().unwrap_or(waiting);
        let gone: Vec<RequestId> = self
            .offered
            .keys()
            .filter(|request| !waiting.iter().any(|waiting| waiting.request == **request))
            .copied()
            .collect();
        for request in gone {
            self.offered.remove(&request);
            self.push(&Down::Withdraw { request, reason: over(request) });
            self.probe = Some(Probe::of_withdrawal(now));
        }
        for waiting in waiting {
            let known =
                self.offered.contains_key(&waiting.request) || self.unshown.contains(&waiting.request);
            if known || self.offered.len() >= MAX_OFFERED {
                continue;
            }
            let left = waiting.deadline - now_ms;
            self.push(&Down::Offer(Offer {
                request: waiting.request,
                document: Digest::of(&waiting.document),
                length: u32::try_from(waiting.document.len()).expect("a document has a few kilobytes"),
                expires_ms: u32::try_from(left.max(0)).unwrap_or(u32::MAX),
            }));
            self.offered.insert(waiting.request, waiting.document.clone());
            self.probe = Some(Probe::of_offer(now, waiting.request));
        }
    }

    /// The requests that the companion has been offered and that are not over.
    pub fn offered(&self) -> impl Iterator<Item = RequestId> {
        self.offered.keys().copied()
    }

    /// Tells the companion that its decision counts.
    pub fn consumed(&mut self, now: Instant, request: RequestId) {
        self.consumed = Some((now, request));
        self.offered.remove(&request);
        self.push(&Down::Consumed { request });
    }

    /// Tells the companion that a request is over.
    pub fn withdraw(&mut self, request: RequestId, reason: Withdrawal) {
        self.offered.remove(&request);
        self.push(&Down::Withdraw { request, reason });
    }

    /// Tells the companion that its decision does not count. The request still waits and is offered again.
    pub fn rejected(&mut self, request: RequestId) {
        self.faults.spend();
        self.withdraw(request, Withdrawal::Rejected);
    }

    /// Tells the companion how the hub is, unless it knows and there is nothing else whose loss this would show.
    pub fn status(&mut self, now: Instant, report: Report) {
        if !self.sealed.is_open() {
            return;
        }
        let figures = |report: Report| (report.held, report.queued, report.sent, report.clock_s.is_some());
        let known = self.told.is_some_and(|(at, reported)| {
            figures(reported) == figures(report) && now.duration_since(at) < TELL_INTERVAL
        });
        if known && !self.unproven {
            return;
        }
        self.told = Some((now, report));
        self.push(&Down::Status(report));
        self.unproven = false;
    }

    /// Tells the companion how the hub is beside its figures, unless it knows. [`Session::status`] comes after it.
    pub fn condition(&mut self, condition: &Condition) {
        if self.sealed.is_open() && self.condition.as_ref() != Some(condition) {
            self.condition = Some(condition.clone());
            self.push(&condition.frame());
            self.unproven = true;
        }
    }

    /// The same again: any answer will do.
    fn tell_again(&mut self, now: Instant) {
        if let Some((_, report)) = self.told {
            self.unproven = true;
            self.status(now, report);
        }
    }

    /// Lets time pass. Call it when [`Session::next_tick`] says.
    pub fn tick(&mut self, now: Instant) {
        let Some(probe) = self.probe.take_if(|probe| probe.is_due(now)) else { return };
        self.probe = probe.next(now);
        self.tell_again(now);
    }

    /// When [`Session::tick`] has something to do.
    pub fn next_tick(&self) -> Option<Instant> {
        self.probe.map(|probe| probe.at())
    }

    /// Tells the companion that the hub does not know it any more: it forgets the hub.
    pub fn revoke(&mut self) {
        self.push(&Down::Revoked);
    }

    /// Tells the companion something of a release.
    pub fn update_firmware(&mut self, now: Instant, down: &Down<'_>) {
        self.push(down);
        // A block is asked for again; of anything else the loss shows itself by the next frame.
        if !matches!(down, Down::Block { .. }) {
            self.tell_again(now);
        }
    }

    /// What the companion said in a frame cannot be.
    pub fn nonsense(&mut self) {
        self.faults.spend();
    }

    /// Asks a companion that may believe in an older session for a new one.
    pub fn greet(&mut self, now: Instant) {
        self.sealed.greet(now);
    }

    /// The next payload to send.
    pub fn next_payload(&mut self) -> Option<Vec<u8>> {
        self.sealed.next_payload()
    }

    fn push(&mut self, down: &Down<'_>) {
        // Pieces and blocks are asked for again.
        self.unproven |= !matches!(down, Down::Piece { .. } | Down::Block { .. });
        self.sealed.say(down);
    }
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;
