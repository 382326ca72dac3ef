//! One companion's session: what it was offered, and what it may ask for. No I/O.
//!
//! A session begins with the companion's hello and ends with its next one. Nothing that was said before counts in it:
//! all that waits is offered again. A companion that sends nonsense is answered with silence, and after
//! [`MAX_FAULTS`] faults in a minute it is not listened to until that minute is over: anybody on the broker can speak
//! in its name, and must not be able to keep the hub busy or to fill the audit.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use gatepost_link::{
    Digest, RequestId,
    decision::{Decision, PublicKey},
    frame::{self, Down, FrameError, MAX_FRAME, Offer, PIECE, Refusal, Report, Up, Withdrawal},
    session::{Nonce, SessionHash},
};

use crate::approval::Waiting;

/// Faults in a minute after which a companion is not listened to.
pub const MAX_FAULTS: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Requests that a companion is offered at once; the others wait here.
pub const MAX_OFFERED: usize = 8;
/// A companion that says hello more often than this is not answered.
const MIN_BETWEEN_HELLOS: Duration = Duration::from_millis(200);

/// One companion's session.
#[derive(Debug)]
pub struct Session {
    hub: PublicKey,
    device: PublicKey,
    open: Option<SessionHash>,
    last_hello: Option<Instant>,
    faults: u32,
    faults_since: Option<Instant>,
    offered: HashMap<RequestId, Vec<u8>>,
    refused: Vec<RequestId>,
    out: VecDeque<Vec<u8>>,
}

/// What a frame asks of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Nothing more.
    Nothing,
    /// A new session began: offer what waits.
    Begun,
    /// Verify this decision, given in this session.
    Decide(SessionHash, Decision),
    /// The companion cannot show a request, for a reason that will not pass.
    CannotShow(RequestId, Refusal),
}

impl Session {
    /// No session yet.
    pub fn new(hub: PublicKey, device: PublicKey) -> Self {
        Self {
            hub,
            device,
            open: None,
            last_hello: None,
            faults: 0,
            faults_since: None,
            offered: HashMap::new(),
            refused: Vec::new(),
            out: VecDeque::new(),
        }
    }

    /// Takes a frame from the companion.
    pub fn received(&mut self, now: Instant, bytes: &[u8]) -> Result<Asked, FrameError> {
        if self.faults_since.is_none_or(|since| now - since >= MINUTE) {
            self.faults_since = Some(now);
            self.faults = 0;
        }
        if self.faults >= MAX_FAULTS && !matches!(frame::decode(bytes), Ok(Up::Hello { .. })) {
            return Ok(Asked::Nothing);
        }
        let up = frame::decode(bytes).inspect_err(|_| self.faults += 1)?;
        Ok(match (up, self.open) {
            (Up::Hello { nonce }, _) => self.hello(now, nonce),
            (_, None) => Asked::Nothing,
            (Up::Fetch { request, piece }, Some(_)) => {
                self.fetch(request, piece);
                Asked::Nothing
            }
            (Up::Decision(decision), Some(session)) => Asked::Decide(session, decision),
            (Up::Refuse { request, reason }, Some(_)) => {
                if self.offered.remove(&request).is_none() {
                    self.faults += 1;
                    return Ok(Asked::Nothing);
                }
                match reason {
                    // Offered again as soon as anything changes.
                    Refusal::Busy => Asked::Nothing,
                    Refusal::TooLong | Refusal::Malformed => {
                        self.refused.push(request);
                        Asked::CannotShow(request, reason)
                    }
                }
            }
        })
    }

    fn hello(&mut self, now: Instant, nonce: Nonce) -> Asked {
        if self.last_hello.is_some_and(|last| now - last < MIN_BETWEEN_HELLOS) {
            return Asked::Nothing;
        }
        self.last_hello = Some(now);
        let ours = Nonce(crate::random::bytes());
        self.open = Some(SessionHash::new(self.hub, self.device, nonce, ours));
        self.forget();
        self.push(&Down::Welcome { answers: nonce, nonce: ours });
        Asked::Begun
    }

    /// The connection is gone, and the session with it.
    pub fn close(&mut self) {
        self.open = None;
        self.forget();
    }

    fn forget(&mut self) {
        self.offered.clear();
        self.refused.clear();
        self.out.clear();
    }

    fn fetch(&mut self, request: RequestId, piece: u16) {
        let Some(document) = self.offered.get(&request) else {
            // Over before it was read; the companion need not ask again.
            self.faults += 1;
            self.push(&Down::Withdraw { request, reason: Withdrawal::Expired });
            return;
        };
        let start = usize::from(piece) * PIECE;
        match document.get(start..document.len().min(start + PIECE)) {
            Some(bytes) if !bytes.is_empty() => {
                let bytes = bytes.to_vec();
                self.push(&Down::Piece { request, piece, bytes: &bytes });
            }
            _ => self.faults += 1,
        }
    }

    /// Brings the companion up to date with what waits: withdraws what is over, offers what is new.
    ///
    /// `over` says why a request that was offered does not wait any more.
    pub fn update(&mut self, now_ms: i64, waiting: &[Waiting], over: impl Fn(RequestId) -> Withdrawal) {
        if self.open.is_none() {
            return;
        }
        let gone: Vec<RequestId> = self
            .offered
            .keys()
            .filter(|request| !waiting.iter().any(|waiting| waiting.request == **request))
            .copied()
            .collect();
        for request in gone {
            self.offered.remove(&request);
            self.push(&Down::Withdraw { request, reason: over(request) });
        }
        for waiting in waiting {
            let known =
                self.offered.contains_key(&waiting.request) || self.refused.contains(&waiting.request);
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
        }
    }

    /// The requests that the companion has been offered and that are not over.
    pub fn offered(&self) -> impl Iterator<Item = RequestId> {
        self.offered.keys().copied()
    }

    /// Tells the companion that its decision counts.
    pub fn consumed(&mut self, request: RequestId) {
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
        self.faults += 1;
        self.withdraw(request, Withdrawal::Rejected);
    }

    /// Tells the companion how the hub is.
    pub fn status(&mut self, report: Report) {
        if self.open.is_some() {
            self.push(&Down::Status(report));
        }
    }

    /// Asks a companion that may believe in an older session for a hello.
    pub fn greet(&mut self) {
        self.push(&Down::Greet);
    }

    /// The next frame to send.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    fn push(&mut self, down: &Down<'_>) {
        let mut buffer = [0; MAX_FRAME];
        let bytes = frame::encode(down, &mut buffer).expect("every frame of the hub fits");
        self.out.push_back(bytes.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(up: &Up) -> Vec<u8> {
        frame::encode(up, &mut [0; MAX_FRAME]).unwrap().to_vec()
    }

    fn session() -> Session {
        Session::new(PublicKey([1; 32]), PublicKey([2; 32]))
    }

    fn waiting(id: u8) -> Waiting {
        Waiting {
            request: RequestId([id; 16]),
            message: i64::from(id),
            document: vec![id; 1500],
            deadline: 5_000,
            voted: vec![],
        }
    }

    fn frames(session: &mut Session) -> Vec<String> {
        std::iter::from_fn(|| session.next_frame())
            .map(|bytes| format!("{:?}", frame::decode::<Down<'_>>(&bytes).unwrap()))
            .map(|text| text.split([' ', '(']).next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn nothing_is_said_before_the_companion_says_hello() {
        let mut session = session();
        session.update(0, &[waiting(1)], |_| Withdrawal::Expired);
        let fetch = encoded(&Up::Fetch { request: RequestId([1; 16]), piece: 0 });
        assert_eq!(session.received(Instant::now(), &fetch), Ok(Asked::Nothing));
        assert!(frames(&mut session).is_empty());
    }

    #[test]
    fn what_waits_is_offered_once_and_withdrawn_when_it_is_over() {
        let mut session = session();
        let hello = encoded(&Up::Hello { nonce: Nonce([3; 16]) });
        assert_eq!(session.received(Instant::now(), &hello), Ok(Asked::Begun));
        session.update(0, &[waiting(1), waiting(2)], |_| Withdrawal::Expired);
        session.update(0, &[waiting(1), waiting(2)], |_| Withdrawal::Expired);
        assert_eq!(frames(&mut session), ["Welcome", "Offer", "Offer"]);
        session.update(0, &[waiting(2)], |_| Withdrawal::Cancelled);
        assert_eq!(frames(&mut session), ["Withdraw"]);
    }

    #[test]
    fn only_offered_documents_can_be_fetched_and_only_in_their_bounds() {
        let mut session = session();
        session.received(Instant::now(), &encoded(&Up::Hello { nonce: Nonce([3; 16]) })).unwrap();
        session.update(0, &[waiting(1)], |_| Withdrawal::Expired);
        frames(&mut session);
        let (piece, withdraw): (&[&str], &[&str]) = (&["Piece"], &["Withdraw"]);
        for (request, number, answers) in
            [(1, 0, piece), (1, 1, piece), (1, 2, &[]), (1, u16::MAX, &[]), (9, 0, withdraw)]
        {
            let fetch = encoded(&Up::Fetch { request: RequestId([request; 16]), piece: number });
            session.received(Instant::now(), &fetch).unwrap();
            assert_eq!(frames(&mut session), answers, "{request} {number}");
        }
        assert_eq!(session.faults, 3);
    }

    #[test]
    fn how_the_hub_is_is_told_in_a_session_only() {
        let mut session = session();
        let report = Report { held: 1, queued: 2, sent: 3, last_s: None, clock_s: Some(50_700) };
        session.status(report);
        assert!(frames(&mut session).is_empty());
        session.received(Instant::now(), &encoded(&Up::Hello { nonce: Nonce([3; 16]) })).unwrap();
        frames(&mut session);
        session.status(report);
        let told = session.next_frame().unwrap();
        assert_eq!(frame::decode(&told), Ok(Down::Status(report)));
    }

    #[test]
    fn no_more_is_offered_than_a_companion_keeps() {
        let mut session = session();
        session.received(Instant::now(), &encoded(&Up::Hello { nonce: Nonce([3; 16]) })).unwrap();
        let all: Vec<Waiting> = (1..=12).map(waiting).collect();
        session.update(0, &all, |_| Withdrawal::Expired);
        assert_eq!(frames(&mut session).len(), 1 + MAX_OFFERED);
    }

    #[test]
    fn nonsense_is_heard_a_bounded_number_of_times() {
        let mut session = session();
        let now = Instant::now();
        session.received(now, &encoded(&Up::Hello { nonce: Nonce([3; 16]) })).unwrap();
        for _ in 0..MAX_FAULTS {
            assert!(session.received(now, &[frame::VERSION, 99]).is_err());
        }
        assert_eq!(session.received(now, &[frame::VERSION, 99]), Ok(Asked::Nothing));
        let hello = encoded(&Up::Hello { nonce: Nonce([4; 16]) });
        assert_eq!(session.received(now + Duration::from_secs(1), &hello), Ok(Asked::Begun));
        assert_eq!(
            session.received(now, &[frame::VERSION, 99]),
            Ok(Asked::Nothing),
            "a hello forgives nothing"
        );
        assert!(session.received(now + MINUTE, &[frame::VERSION, 99]).is_err(), "time does");
    }
}
