//! What a companion is offered, and what it may ask for.

use gatepost_link::{
    decision::{SignatureBytes, Verdict},
    envelope::{FrameError, OLDEST, VERSION},
    frame::{Part, Running},
};

use super::*;
use crate::companion::testing::{Device, ENDS, HUB, device};

struct Table {
    session: Session,
    device: Device,
    now: Instant,
}

impl Table {
    fn new() -> Self {
        let session = Session::new(ENDS, HUB, device(), 0);
        Self { session, device: Device::new(), now: Instant::now() }
    }

    /// One with a session.
    fn open() -> Self {
        let mut table = Self::new();
        assert_eq!(table.begin(), Ok(Asked::Begun));
        table
    }

    fn begin(&mut self) -> Result<Asked, Fault> {
        self.now += Duration::from_secs(1);
        let open = self.device.open();
        self.session.received(self.now, &open)?;
        while let Some(payload) = self.session.next_payload() {
            self.device.hear(&payload);
        }
        self.say(&Up::Ready)
    }

    fn say(&mut self, up: &Up) -> Result<Asked, Fault> {
        let payload = self.device.say(up);
        self.session.received(self.now, &payload)
    }

    /// The frames that leave.
    fn frames(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.session.next_payload()).map(|payload| self.device.kind(&payload)).collect()
    }
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

#[test]
fn nothing_is_offered_before_there_is_a_session() {
    let mut table = Table::new();
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    assert_eq!(table.session.next_payload(), None);
}

#[test]
fn what_waits_is_offered_once_and_withdrawn_when_it_is_over() {
    let mut table = Table::open();
    table.session.update(table.now, 0, &[waiting(1), waiting(2)], |_| Withdrawal::Expired);
    table.session.update(table.now, 0, &[waiting(1), waiting(2)], |_| Withdrawal::Expired);
    assert_eq!(table.frames(), ["Offer", "Offer"]);
    table.session.update(table.now, 0, &[waiting(2)], |_| Withdrawal::Cancelled);
    assert_eq!(table.frames(), ["Withdraw"]);
    assert_eq!(table.begin(), Ok(Asked::Begun));
    table.session.update(table.now, 0, &[waiting(2)], |_| Withdrawal::Expired);
    assert_eq!(table.frames(), ["Offer"], "in another session it is offered again");
}

#[test]
fn only_offered_documents_can_be_fetched_and_only_in_their_bounds() {
    let mut table = Table::open();
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    table.frames();
    let (piece, withdraw): (&[&str], &[&str]) = (&["Piece"], &["Withdraw"]);
    for (request, number, answers) in
        [(1, 0, piece), (1, 1, piece), (1, 2, &[]), (1, u16::MAX, &[]), (9, 0, withdraw)]
    {
        table.say(&Up::Fetch { request: RequestId([request; 16]), piece: number }).unwrap();
        assert_eq!(table.frames(), answers, "{request} {number}");
    }
    assert_eq!(table.session.faults.spent, 3);
}

#[test]
fn how_the_hub_is_is_told_in_a_session_only() {
    let mut table = Table::new();
    let report = Report { held: 1, queued: 2, sent: 3, last_s: None, clock_s: Some(50_700) };
    table.session.status(table.now, report);
    assert_eq!(table.session.next_payload(), None);
    table.begin().unwrap();
    table.session.status(table.now, report);
    let payload = table.session.next_payload().unwrap();
    let text = table.device.hear(&payload).unwrap();
    assert_eq!(frame::decode(&text), Ok(Down::Status(report)));
}

#[test]
fn the_hubs_condition_is_told_once_a_session_and_when_it_changes_before_what_proves_it() {
    let mut table = Table::open();
    let report = Report { held: 0, queued: 0, sent: 0, last_s: None, clock_s: None };
    let mut condition = Condition { takes_messages: true, paused: 0, last_channel: None };
    let tell = |table: &mut Table, condition: &Condition| {
        table.session.condition(condition);
        table.session.status(table.now, report);
        table.frames()
    };
    assert_eq!(tell(&mut table, &condition), ["Health", "Status"]);
    assert_eq!(tell(&mut table, &condition), [""; 0]);
    condition.last_channel = Some("matrix".into());
    assert_eq!(tell(&mut table, &condition), ["Health", "Status"], "no figure of the report has changed");
    table.session.close();
    assert_eq!(tell(&mut table, &condition), [""; 0]);
    table.begin().unwrap();
    assert_eq!(tell(&mut table, &condition), ["Health", "Status"]);
}

#[test]
fn no_more_is_offered_than_a_companion_keeps() {
    let mut table = Table::open();
    let all: Vec<Waiting> = (1..=12).map(waiting).collect();
    table.session.update(table.now, 0, &all, |_| Withdrawal::Expired);
    assert_eq!(table.frames().len(), MAX_OFFERED);
}

#[test]
fn a_companions_nonsense_is_heard_a_bounded_number_of_times() {
    let mut table = Table::open();
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    table.frames();
    let nonsense = Up::Refuse { request: RequestId([9; 16]), reason: Refusal::Busy };
    let fetch = Up::Fetch { request: RequestId([1; 16]), piece: 0 };
    for _ in 0..MAX_FAULTS {
        table.say(&nonsense).unwrap();
    }
    table.say(&fetch).unwrap();
    assert_eq!(table.frames(), [] as [&str; 0]);
    assert_eq!(table.begin(), Ok(Asked::Begun), "a new session is heard");
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    table.frames();
    table.say(&fetch).unwrap();
    assert_eq!(table.frames(), [] as [&str; 0], "and forgives nothing");
    table.now += MINUTE;
    table.say(&fetch).unwrap();
    assert_eq!(table.frames(), ["Piece"], "time does");
}

#[test]
fn somebody_elses_nonsense_is_told_a_bounded_number_of_times_and_silences_nobody() {
    let mut table = Table::open();
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    table.frames();
    let mut faults = 0;
    for _ in 0..1_000 {
        faults += u32::from(table.session.received(table.now, b"nonsense").is_err());
    }
    assert_eq!(faults, MAX_FAULTS);
    table.say(&Up::Fetch { request: RequestId([1; 16]), piece: 0 }).unwrap();
    assert_eq!(table.frames(), ["Piece"]);
}

#[test]
fn a_clone_is_told_of_however_much_else_was_refused() {
    let mut table = Table::open();
    while table.session.received(table.now, b"nonsense").is_err() {}
    let mut clone = Device::new();
    std::mem::swap(&mut table.device, &mut clone);
    assert_eq!(table.begin(), Ok(Asked::Begun));
    assert_eq!(table.session.received(table.now, &clone.say(&Up::Ready)), Err(Fault::Cloned));
}

/// A table whose device speaks an older version of the link.
fn older() -> Table {
    let session = Session::new(ENDS, HUB, device(), OLDEST);
    Table { session, device: Device::speaking(OLDEST), now: Instant::now() }
}

#[test]
fn firmware_that_is_too_old_is_offered_a_card_that_says_so_and_no_message() {
    let mut table = older();
    assert_eq!(table.begin(), Ok(Asked::Begun));
    assert!(table.session.is_outdated());
    table.session.update(table.now, 0, &[waiting(1), waiting(2)], |_| Withdrawal::Expired);
    table.session.update(table.now, 0, &[waiting(1), waiting(2)], |_| Withdrawal::Expired);
    assert_eq!(table.frames(), ["Offer"]);
    let card = table.session.offered().next().unwrap();
    assert!(card != waiting(1).request && card != waiting(2).request);
    assert_eq!(table.say(&Up::Display { works: true }), Ok(Asked::Nothing), "it is not believed");
    assert_eq!(table.say(&Up::Fetch { request: waiting(1).request, piece: 0 }), Ok(Asked::Nothing));
    assert_eq!(table.frames(), ["Withdraw"], "no piece of a message");
    let signature = SignatureBytes([0; 64]);
    let decision = Decision { request: card, verdict: Verdict::Approve, counter: 1, signature };
    assert_eq!(table.say(&Up::Decision(decision)), Ok(Asked::Nothing));
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    assert_eq!(table.frames(), ["Withdraw"], "not again in this session");
    assert_eq!(table.begin(), Ok(Asked::Begun));
    table.session.update(table.now, 0, &[waiting(1)], |_| Withdrawal::Expired);
    assert_eq!(table.frames(), ["Offer"], "in the next one again");
}

#[test]
fn with_every_version_from_the_oldest_on_there_is_a_session() {
    for version in OLDEST..=VERSION {
        let session = Session::new(ENDS, HUB, device(), version);
        let mut table = Table { session, device: Device::speaking(version), now: Instant::now() };
        assert_eq!(table.begin(), Ok(Asked::Begun), "version {version}");
        assert_eq!((table.session.version(), table.session.is_outdated()), (version, version < VERSION));
    }
}

#[test]
fn who_has_spoken_the_present_version_speaks_no_older_one_any_more() {
    let mut table = older();
    table.begin().unwrap();
    table.device = Device::new();
    assert_eq!(table.begin(), Ok(Asked::Begun));
    assert!(!table.session.is_outdated());
    table.device = Device::speaking(OLDEST);
    let downgrade = FrameError::Downgrade { found: OLDEST, seen: VERSION };
    assert_eq!(table.begin(), Err(Fault::Frame(downgrade)));
}

#[test]
fn a_handshake_that_says_another_version_outside_than_inside_comes_to_nothing() {
    let mut table = older();
    table.now += Duration::from_secs(1);
    let mut open = Device::new().open();
    open[0] = OLDEST;
    assert_eq!(table.session.received(table.now, &open), Err(Fault::Forged));
}

fn running() -> Up {
    let board = gatepost_link::update::Label::new("esp32c3").unwrap();
    let version = gatepost_link::update::Version { major: 1, minor: 0, patch: 0 };
    Up::Running(Running { board, version, floor: version, root: 1, state: frame::State::Settled })
}

#[test]
fn what_a_companion_says_of_its_firmware_is_handed_on_and_not_without_an_end() {
    let mut table = Table::open();
    let mut heard = 0;
    for _ in 0..2 * MAX_FAULTS {
        heard += u32::from(matches!(table.say(&running()), Ok(Asked::Running(_))));
    }
    assert_eq!(heard, MAX_FAULTS);
    // Blocks and bytes are neither written down nor counted here.
    let block = Up::FetchBlock { part: Part::Image, offset: 2_048, length: 2_048 };
    let asked = Asked::FetchBlock { part: Part::Image, offset: 2_048, length: 2_048 };
    assert_eq!(table.say(&block), Ok(asked));
    let taking = Progress::Taking { done: 1, of: 2 };
    let report = |progress| Up::Update { image: [7; 8], progress };
    assert_eq!(table.say(&report(taking)), Ok(Asked::Update { image: [7; 8], progress: taking }));
    assert_eq!(table.say(&report(Progress::Asking)), Ok(Asked::Nothing));
    table.now += MINUTE;
    assert!(matches!(table.say(&running()), Ok(Asked::Running(_))));
}

#[test]
fn the_loss_of_an_offer_of_firmware_shows_itself_and_a_block_is_asked_for_again() {
    let mut table = Table::open();
    table.session.status(table.now, Report { held: 0, queued: 0, sent: 0, last_s: None, clock_s: None });
    assert_eq!(table.frames(), ["Status"]);
    table.session.update_firmware(table.now, &Down::Manifest { signed: &[7; 200], utc: 1, again: false });
    assert_eq!(table.frames(), ["Manifest", "Status"]);
    table
        .session
        .update_firmware(table.now, &Down::Block { part: Part::Image, offset: 0, bytes: &[7; 2_048] });
    assert_eq!(table.frames(), ["Block"]);
}
