//! The life of a card as a person and a hub see it.

use gatepost_link::{Digest, document::Document};
use proptest::prelude::*;
use std::{vec, vec::Vec};

use super::*;
use crate::{
    Button::{Approve, Deny},
    Edge::{Pressed, Released},
    Screen, View,
    testing::{Bench, Memory, document, document_with_files, offered},
};

const SMALL: Geometry = Geometry::SMALL;

fn numbered(id: u8) -> Document<'static> {
    Document { request: RequestId([id; 16]), ..document() }
}

fn open_request(screen: &Screen) -> Option<RequestId> {
    match screen.view {
        View::Card(card) => Some(card.request),
        _ => None,
    }
}

fn closed(screen: &Screen) -> Option<Ended> {
    match screen.view {
        View::Closed { why, .. } => Some(why),
        _ => None,
    }
}

fn done(screen: &Screen) -> Option<Verdict> {
    match screen.view {
        View::Done { verdict, .. } => Some(verdict),
        _ => None,
    }
}

#[test]
fn the_application_fits_the_smallest_board() {
    assert!(size_of::<App<Memory>>() < 24 * 1024, "{}", size_of::<App<Memory>>());
}

#[test]
fn a_read_and_held_card_is_approved_with_a_signature_over_what_was_shown() {
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.read();
    bench.press(Approve, 1_500);
    let decisions = bench.decisions();
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].verdict, Verdict::Approve);
    assert!(bench.verifies(&decisions[0], &offer));
    assert!(
        matches!(bench.screen().view, View::Sending { .. }),
        "approved is shown only once the hub consumed it"
    );
    bench.down(&Down::Consumed { request: offer.request });
    assert_eq!(done(&bench.screen()), Some(Verdict::Approve));
    bench.wait(NOTICE_MS);
    assert_eq!(bench.screen().view, View::Idle);
}

#[test]
fn a_short_deny_press_denies_on_any_page() {
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.wait(300);
    bench.press(Deny, 100);
    let decisions = bench.decisions();
    assert_eq!(decisions[0].verdict, Verdict::Deny);
    assert!(bench.verifies(&decisions[0], &offer));
}

/// A card that was denied, and the hub has taken that.
fn denied() -> (Bench, Offer) {
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.wait(300);
    bench.press(Deny, 100);
    bench.down(&Down::Consumed { request: offer.request });
    assert_eq!(done(&bench.screen()), Some(Verdict::Deny));
    (bench, offer)
}

fn mutes(bench: &Bench) -> usize {
    bench.sent.iter().filter(|up| matches!(up, Up::Mute { .. })).count()
}

#[test]
fn behind_a_denial_a_hold_of_deny_mutes_and_is_told_until_the_hub_has_heard() {
    let (mut bench, offer) = denied();
    bench.wait(DENIED_MS - 100);
    bench.press(Deny, 1_600);
    assert!(bench.sent.contains(&Up::Mute { request: offer.request }));
    assert_eq!(bench.screen().view, View::Muted { request: offer.request });
    bench.wait(NOTICE_MS);
    assert_eq!(bench.screen().view, View::Idle);
    bench.wait(5_000);
    let told = mutes(&bench);
    assert!(told > 1, "{told}");
    bench.down(&Down::Status(gatepost_link::frame::Report {
        held: 0,
        queued: 0,
        sent: 0,
        last_s: None,
        clock_s: None,
    }));
    bench.wait(20_000);
    assert_eq!(mutes(&bench), told);
    assert_eq!(bench.decisions().len(), 1, "and nothing is decided by it");
}

#[test]
fn nothing_else_mutes() {
    for (button, length) in [(Deny, 300), (Deny, 1_400), (Approve, 1_600)] {
        let (mut bench, _) = denied();
        bench.press(button, length);
        bench.wait(5_000);
        assert_eq!(mutes(&bench), 0, "{button:?}, {length} ms");
    }
    // Not without a session, not in the next one, and not behind an approval.
    let (mut bench, _) = denied();
    bench.edge(Deny, Pressed);
    bench.disconnect();
    bench.wait(1_600);
    bench.edge(Deny, Released);
    bench.press(Deny, 1_600);
    assert_eq!(mutes(&bench), 0);
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.read();
    bench.press(Approve, 1_500);
    bench.down(&Down::Consumed { request: offer.request });
    bench.press(Deny, 1_600);
    assert_eq!(mutes(&bench), 0);
}

#[test]
fn a_deny_press_right_after_the_card_opened_does_not_count() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.wait(200);
    bench.press(Deny, 500);
    assert!(bench.decisions().is_empty());
}

#[test]
fn a_press_before_the_card_never_approves() {
    let mut bench = Bench::online(SMALL);
    bench.edge(Approve, Pressed);
    bench.offer(&document());
    bench.wait(5_000);
    bench.edge(Approve, Released);
    assert!(bench.decisions().is_empty());
    assert!(
        matches!(bench.screen().view, View::Card(card) if card.page == 1),
        "and it does not turn the page"
    );
}

#[test]
fn a_short_press_that_began_before_the_card_turns_no_page() {
    let mut bench = Bench::online(SMALL);
    bench.edge(Approve, Pressed);
    bench.offer(&document());
    bench.edge(Approve, Released);
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1));
}

#[test]
fn a_press_before_the_card_never_denies() {
    let mut bench = Bench::online(SMALL);
    bench.edge(Deny, Pressed);
    bench.offer(&document());
    bench.wait(400);
    bench.edge(Deny, Released);
    assert!(bench.decisions().is_empty());
}

#[test]
fn a_hold_before_the_last_page_was_shown_does_nothing() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.press(Approve, 3_000);
    assert!(bench.decisions().is_empty());
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1));
    assert_eq!(bench.screen().hold, None);
}

#[test]
fn a_hold_that_is_released_early_does_nothing() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.press(Approve, 1_450);
    assert!(bench.decisions().is_empty());
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == card.pages && card.armed));
}

#[test]
fn deny_during_a_hold_only_cancels_it() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.edge(Approve, Pressed);
    bench.wait(1_000);
    assert_eq!(bench.screen().hold, Some(66));
    bench.press(Deny, 100);
    assert_eq!(bench.screen().hold, None);
    bench.wait(3_000);
    bench.edge(Approve, Released);
    assert!(bench.decisions().is_empty());
    bench.press(Approve, 1_500);
    assert_eq!(bench.verdicts(), [Verdict::Approve], "a fresh hold counts");
}

#[test]
fn one_press_never_answers_two_cards() {
    let mut bench = Bench::online(SMALL);
    bench.offer(&numbered(1));
    bench.offer(&numbered(2));
    bench.read();
    bench.edge(Approve, Pressed);
    bench.wait(1_500);
    bench.down(&Down::Consumed { request: RequestId([1; 16]) });
    bench.wait(10_000);
    bench.edge(Approve, Released);
    assert_eq!(open_request(&bench.screen()), Some(RequestId([2; 16])));
    assert_eq!(bench.verdicts(), [Verdict::Approve]);
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1));
}

#[test]
fn after_the_last_page_comes_the_first_and_the_card_stays_armed() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.press(Approve, 100);
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1 && card.armed));
    bench.press(Approve, 1_500);
    assert_eq!(bench.verdicts(), [Verdict::Approve]);
}

#[test]
fn a_decision_is_sent_again_until_it_is_consumed() {
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.wait(300);
    bench.press(Deny, 100);
    bench.wait(6_000);
    let decisions = bench.decisions();
    assert!((4..=5).contains(&decisions.len()), "{}", decisions.len());
    assert!(decisions.iter().all(|again| *again == decisions[0]), "the same bytes each time");
    bench.down(&Down::Consumed { request: offer.request });
    bench.wait(6_000);
    assert_eq!(bench.decisions().len(), decisions.len());
}

#[test]
fn a_late_copy_of_a_decided_offer_opens_no_card() {
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.wait(300);
    bench.press(Deny, 100);
    bench.down(&Down::Consumed { request: offer.request });
    bench.down(&Down::Offer(offer));
    bench.wait(DENIED_MS);
    assert_eq!(bench.screen().view, View::Idle);
}

#[test]
fn a_withdrawn_card_closes_and_says_why() {
    for reason in
        [Withdrawal::Cancelled, Withdrawal::Expired, Withdrawal::DecidedElsewhere, Withdrawal::Rejected]
    {
        let mut bench = Bench::online(SMALL);
        let offer = bench.offer(&document());
        bench.down(&Down::Withdraw { request: offer.request, reason });
        assert_eq!(closed(&bench.screen()), Some(Ended::Withdrawn(reason)));
        bench.wait(NOTICE_MS);
        assert_eq!(bench.screen().view, View::Idle);
    }
}

#[test]
fn a_rejected_decision_is_never_shown_as_approved() {
    let mut bench = Bench::online(SMALL);
    let offer = bench.offer(&document());
    bench.read();
    bench.press(Approve, 1_500);
    bench.down(&Down::Withdraw { request: offer.request, reason: Withdrawal::Rejected });
    assert_eq!(closed(&bench.screen()), Some(Ended::Withdrawn(Withdrawal::Rejected)));
    bench.down(&Down::Consumed { request: offer.request });
    assert_eq!(done(&bench.screen()), None);
}

#[test]
fn a_card_closes_at_its_deadline() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.wait(300_000 - (bench.now - 1_000) - 500);
    bench.edge(Approve, Pressed);
    bench.wait(2_000);
    assert!(bench.decisions().is_empty(), "a hold that ends after the deadline does not count");
    assert_eq!(closed(&bench.screen()), Some(Ended::Withdrawn(Withdrawal::Expired)));
}

#[test]
fn eight_offers_wait_and_the_next_is_refused_as_busy() {
    let mut bench = Bench::online(SMALL);
    for id in 0..10 {
        bench.offer(&numbered(id));
    }
    let busy = Up::Refuse { request: RequestId([9; 16]), reason: Refusal::Busy };
    assert_eq!(bench.sent.iter().filter(|up| matches!(up, Up::Refuse { .. })).collect::<Vec<_>>(), [&busy]);
    for id in 0..9 {
        let request = RequestId([id; 16]);
        assert_eq!(open_request(&bench.screen()), Some(request));
        bench.wait(300);
        bench.press(Deny, 100);
        bench.down(&Down::Consumed { request });
        bench.wait(DENIED_MS);
    }
    assert_eq!(bench.screen().view, View::Idle);
}

#[test]
fn a_document_with_files_cannot_be_approved_unless_the_owner_allows_it() {
    let mut bench = Bench::with_card(SMALL, &document_with_files());
    bench.read();
    bench.press(Approve, 3_000);
    assert!(bench.decisions().is_empty());
    bench.press(Deny, 100);
    assert_eq!(bench.verdicts(), [Verdict::Deny]);

    let mut bench =
        Bench::with(SMALL, Memory::default(), Settings { approve_unseen_files: true, ..Settings::default() });
    bench.connect();
    bench.offer(&document_with_files());
    bench.read();
    bench.press(Approve, 1_500);
    assert_eq!(bench.verdicts(), [Verdict::Approve]);
}

#[test]
fn without_a_stored_counter_no_decision_leaves() {
    let mut bench = Bench::with(SMALL, Memory { broken: true, ..Memory::default() }, Settings::default());
    bench.connect();
    bench.offer(&document());
    bench.read();
    bench.press(Approve, 3_000);
    bench.press(Deny, 100);
    assert!(bench.decisions().is_empty());
    assert!(matches!(bench.screen().view, View::Card(card) if card.fault));
}

#[test]
fn a_damaged_or_foreign_document_is_refused() {
    let (offer, bytes) = offered(&document());
    let cases = [
        (Offer { document: Digest([0; 32]), ..offer }, Refusal::Malformed),
        (Offer { request: RequestId([9; 16]), ..offer }, Refusal::Malformed),
        (Offer { length: 0, ..offer }, Refusal::Malformed),
        (Offer { length: 8_193, ..offer }, Refusal::TooLong),
    ];
    for (offer, reason) in cases {
        let mut bench = Bench::online(SMALL);
        bench.down(&Down::Offer(offer));
        bench.down(&Down::Piece { request: offer.request, piece: 0, bytes: &bytes });
        assert_eq!(bench.sent.last(), Some(&Up::Refuse { request: offer.request, reason }));
        assert_eq!(open_request(&bench.screen()), None);
    }
}

#[test]
fn a_lost_piece_is_requested_again() {
    let mut bench = Bench::online(SMALL);
    let (offer, _) = offered(&document());
    bench.down(&Down::Offer(offer));
    bench.wait(4_000);
    let request = Up::Fetch { request: offer.request, piece: 0 };
    assert_eq!(
        bench.sent.iter().filter(|up| **up == request).count(),
        4,
        "at once, after 0.3, 0.9 and 2.1 s"
    );
}

#[test]
fn without_a_session_there_is_no_card() {
    let mut bench = Bench::new(SMALL);
    bench.app.opening(Millis(0));
    assert_eq!(bench.screen().view, View::Connecting);
    bench.offer(&document());
    assert_eq!(bench.screen().view, View::Connecting);
    assert_eq!(bench.app.ignored(), 1);
}

#[test]
fn frames_of_later_versions_and_updates_get_no_answer() {
    let mut bench = Bench::online(SMALL);
    let sent = bench.sent.len();
    bench.app.received(Millis(0), &[99, 1, 2, 3]);
    assert_eq!(bench.app.ignored(), 1);
    bench.flush();
    let offer = bench.offer(&document());
    assert!(bench.sent.len() > sent, "the session continues");
    assert_eq!(open_request(&bench.screen()), Some(offer.request));
}

#[test]
fn nothing_can_be_decided_offline() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.disconnect();
    bench.press(Approve, 3_000);
    bench.press(Deny, 100);
    assert!(bench.screen().footer.text.contains("OFFLINE"));
    bench.connect();
    bench.press(Approve, 2_000);
    assert!(bench.decisions().is_empty(), "not before the hub offers it again");
}

#[test]
fn a_hold_across_a_lost_link_does_not_count() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.edge(Approve, Pressed);
    bench.wait(1_000);
    bench.disconnect();
    bench.connect();
    bench.offer(&document());
    bench.wait(3_000);
    assert!(bench.decisions().is_empty());
}

#[test]
fn an_open_card_continues_in_the_next_session_and_its_pages_stay_read() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.disconnect();
    bench.wait(500);
    bench.connect();
    let offer = bench.offer(&document());
    bench.press(Approve, 1_500);
    let decisions = bench.decisions();
    assert_eq!(decisions.len(), 1);
    assert!(bench.verifies(&decisions[0], &offer), "signed for the new session");
}

#[test]
fn an_open_card_that_is_not_offered_again_closes() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.disconnect();
    bench.connect();
    bench.wait(REOFFER_TIMEOUT_MS);
    assert_eq!(closed(&bench.screen()), Some(Ended::NoLongerOffered));
}

#[test]
fn an_open_card_whose_document_changed_starts_over() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.disconnect();
    bench.connect();
    bench.offer(&Document { agent: "other", ..document() });
    bench.wait(NOTICE_MS);
    assert!(matches!(bench.screen().view, View::Card(card) if card.page == 1 && !card.armed));
    bench.press(Approve, 3_000);
    assert!(bench.decisions().is_empty());
}

#[test]
fn waiting_offers_are_dropped_with_their_session() {
    let mut bench = Bench::online(SMALL);
    bench.offer(&numbered(1));
    bench.offer(&numbered(2));
    bench.disconnect();
    bench.connect();
    bench.offer(&numbered(1));
    bench.wait(300);
    bench.press(Deny, 100);
    bench.down(&Down::Consumed { request: RequestId([1; 16]) });
    bench.wait(DENIED_MS);
    assert_eq!(bench.screen().view, View::Idle);
}

#[test]
fn an_unconfirmed_decision_is_signed_again_when_the_hub_offers_the_card_again() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.press(Approve, 1_500);
    let first = bench.decisions()[0];
    bench.disconnect();
    bench.wait(5_000);
    bench.connect();
    assert_eq!(bench.decisions().len(), 1, "nothing is sent before the hub offers it again");
    let offer = bench.offer(&document());
    let second = bench.decisions()[1];
    assert_eq!(second.verdict, Verdict::Approve);
    assert!(second.counter > first.counter);
    assert!(bench.verifies(&second, &offer) && !bench.verifies(&first, &offer));
    bench.down(&Down::Consumed { request: offer.request });
    assert_eq!(done(&bench.screen()), Some(Verdict::Approve));
}

#[test]
fn an_unconfirmed_decision_about_another_document_is_dropped() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.press(Approve, 1_500);
    bench.disconnect();
    bench.connect();
    bench.offer(&Document { agent: "other", ..document() });
    assert_eq!(closed(&bench.screen()), Some(Ended::NotConfirmed));
    bench.wait(NOTICE_MS);
    assert!(matches!(bench.screen().view, View::Card(card) if !card.armed), "the new document must be read");
    assert_eq!(bench.decisions().len(), 1);
}

#[test]
fn an_unconfirmed_decision_whose_card_is_not_offered_again_is_reported_as_such() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.wait(300);
    bench.press(Deny, 100);
    bench.disconnect();
    bench.connect();
    bench.wait(REOFFER_TIMEOUT_MS);
    assert_eq!(closed(&bench.screen()), Some(Ended::NotConfirmed));
}

#[test]
fn the_next_tick_is_never_later_than_the_next_change() {
    let mut bench = Bench::new(SMALL);
    assert_eq!(bench.app.next_tick(bench.millis()), None);
    bench.app.opening(bench.millis());
    assert_eq!(bench.app.next_tick(bench.millis()), None);
    let mut bench = Bench::online(SMALL);
    assert_eq!(bench.app.next_tick(bench.millis()), None, "an idle companion sleeps");
    bench.offer(&document());
    assert_eq!(bench.app.next_tick(bench.millis()), Some(Millis(2_000)), "the countdown");
    bench.edge(Approve, Pressed);
    assert_eq!(bench.app.next_tick(bench.millis()), Some(Millis(1_000 + PRESS_TICK_MS)));
}

/// Whoever sleeps until the moment that is announced sends an unanswered decision again then, and not a second later.
#[test]
fn an_unanswered_decision_is_announced_when_it_is_sent_again() {
    let mut bench = Bench::with_card(SMALL, &document());
    bench.read();
    bench.press(Approve, 1_500);
    let latest = bench.millis().after(crate::link::retry::FIRST_DELAY_MS);
    while bench.decisions().len() == 1 {
        let next = bench.app.next_tick(bench.millis()).unwrap();
        assert!(next > bench.millis() && next <= latest, "{next:?}");
        bench.now = next.0;
        bench.app.tick(next);
        bench.flush();
    }
    let decisions = bench.decisions();
    assert_eq!(decisions.len(), 2);
    assert_eq!(decisions[0], decisions[1], "the very same, for its counter is used");
    bench.disconnect();
    bench.wait(5_000);
    assert_eq!(bench.decisions().len(), 2);
    assert!(bench.app.next_tick(bench.millis()).unwrap() > bench.millis(), "nobody is there to be told");
}

/// An event.
#[derive(Debug, Clone)]
enum Event {
    Edge(Button, Edge),
    Wait(u64),
    /// Offers a document and serves its pieces. The second number selects the document's version.
    Offer(u8, u8),
    Consumed(u8),
    Withdraw(u8),
    Connect,
    Disconnect,
    Noise(Vec<u8>),
    /// Reads to the last page.
    Read,
    Hold(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let button = prop_oneof![3 => Just(Approve), 1 => Just(Deny)];
    let edge = prop_oneof![Just(Pressed), Just(Released)];
    prop_oneof![
        6 => (button, edge).prop_map(|(button, edge)| Event::Edge(button, edge)),
        4 => prop_oneof![0..400u64, 400..1_600u64].prop_map(Event::Wait),
        3 => (0..3u8, 0..2u8).prop_map(|(id, other)| Event::Offer(id, other)),
        1 => (0..3u8).prop_map(Event::Consumed),
        1 => (0..3u8).prop_map(Event::Withdraw),
        1 => Just(Event::Connect),
        1 => Just(Event::Disconnect),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Event::Noise),
        3 => Just(Event::Read),
        3 => (1_000..2_000u64).prop_map(Event::Hold),
    ]
}

/// What an observer records who sees only the screen and the buttons.
#[derive(Default)]
struct Observer {
    down: Vec<Button>,
    /// The pages seen of the open card, and whether all buttons were up once after the last was.
    seen: Option<(RequestId, Vec<u16>, bool)>,
    /// The armed card on which the only press down now began, and when.
    hold: Option<(RequestId, u64)>,
    /// Requests for which such a hold lasted long enough.
    held: Vec<RequestId>,
}

impl Observer {
    fn observe(&mut self, screen: &Screen, now: u64) {
        let View::Card(card) = screen.view else {
            // A closed card must be read again.
            self.seen = None;
            self.hold = None;
            return;
        };
        let (request, pages, released) = self.seen.get_or_insert_with(|| (card.request, vec![], false));
        if *request != card.request {
            (*request, *pages, *released) = (card.request, vec![], false);
            self.hold = None;
        }
        pages.push(card.page);
        let all = (1..=card.pages).all(|page| pages.contains(&page));
        *released |= all && self.down.is_empty();
        if let Some((request, since)) = self.hold
            && request == card.request
            && now >= since + 1_500
        {
            self.held.push(request);
        }
    }

    fn edge(&mut self, button: Button, edge: Edge, now: u64) {
        if edge == Released && !self.down.contains(&button) {
            // The button was already up.
            return;
        }
        self.down.retain(|down| *down != button);
        self.hold = None;
        if edge == Pressed {
            let alone = self.down.is_empty();
            self.down.push(button);
            if let Some((request, _, true)) = &self.seen
                && alone
                && button == Approve
            {
                self.hold = Some((*request, now));
            }
        }
    }
}

fn step(bench: &mut Bench, observer: &mut Observer, event: &Event) {
    let other = |id: u8, other: u8| match other {
        0 => numbered(id),
        _ => Document { agent: "other", ..numbered(id) },
    };
    match event {
        Event::Edge(button, edge) => {
            observer.edge(*button, *edge, bench.now);
            bench.edge(*button, *edge);
        }
        Event::Wait(milliseconds) => {
            for _ in 0..milliseconds / 50 {
                // The observer is updated just before the application, which may act on the hold at this moment.
                bench.now += 50;
                let before = bench.screen();
                observer.observe(&before, bench.now);
                bench.app.tick(bench.millis());
                bench.flush();
            }
        }
        Event::Offer(id, version) => {
            bench.offer(&other(*id, *version));
        }
        Event::Consumed(id) => bench.down(&Down::Consumed { request: RequestId([*id; 16]) }),
        Event::Withdraw(id) => {
            let reason = Withdrawal::Cancelled;
            bench.down(&Down::Withdraw { request: RequestId([*id; 16]), reason });
        }
        Event::Connect => bench.connect(),
        Event::Disconnect => bench.disconnect(),
        Event::Noise(bytes) => bench.app.received(bench.millis(), bytes),
        Event::Read => {
            for button in observer.down.clone() {
                step(bench, observer, &Event::Edge(button, Released));
            }
            for _ in 0..8 {
                step(bench, observer, &Event::Edge(Approve, Pressed));
                step(bench, observer, &Event::Wait(100));
                step(bench, observer, &Event::Edge(Approve, Released));
            }
        }
        Event::Hold(milliseconds) => {
            step(bench, observer, &Event::Edge(Approve, Pressed));
            step(bench, observer, &Event::Wait(*milliseconds));
            step(bench, observer, &Event::Edge(Approve, Released));
        }
    }
    let screen = bench.screen();
    observer.observe(&screen, bench.now);
}

fn approved(bench: &Bench) -> impl Iterator<Item = RequestId> {
    let approved = |decision: &gatepost_link::decision::Decision| decision.verdict == Verdict::Approve;
    bench
        .decisions()
        .into_iter()
        .filter(approved)
        .map(|decision| decision.request)
        .collect::<Vec<_>>()
        .into_iter()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn only_a_long_hold_on_an_armed_card_approves_in_any_sequence_of_events(
        events in proptest::collection::vec(event(), 1..50),
    ) {
        let mut bench = Bench::online(SMALL);
        let mut observer = Observer::default();
        for event in &events {
            step(&mut bench, &mut observer, event);
            for request in approved(&bench) {
                prop_assert!(observer.held.contains(&request), "{event:?}");
            }
        }
    }
}

#[test]
fn the_observer_of_the_property_sees_real_approvals() {
    let mut bench = Bench::online(SMALL);
    let mut observer = Observer::default();
    for event in [Event::Offer(1, 0), Event::Read, Event::Hold(1_600)] {
        step(&mut bench, &mut observer, &event);
    }
    assert_eq!(approved(&bench).collect::<Vec<_>>(), [RequestId([1; 16])]);
    assert_eq!(observer.held.first(), Some(&RequestId([1; 16])));
}
