//! Every screen that a companion can show, once.

use std::{format, string::String, vec::Vec};

use gatepost_link::{
    Digest, RequestId,
    decision::Verdict,
    document::{Also, Document, MAX_TEXT, Target},
    frame::{Down, Health, Report, Withdrawal},
    update::Version,
};

use super::{Bench, Memory, document, document_with_files};
use crate::{
    Button, Edge, Ended, Fault, Geometry, Millis, Screen, Settings, View, decision::waiting::MAX_WAITING,
    ui::notice,
};

/// The report of a busy hub at five past two.
pub(crate) const REPORT: Report =
    Report { held: 1, queued: 2, sent: 1_234, last_s: Some(7 * 60), clock_s: Some(14 * 3_600 + 5 * 60) };

/// A hub that nobody need look after.
pub(crate) const WELL: Health<'static> =
    Health { takes_messages: true, paused: 0, last_channel: Some("matrix") };

/// Every screen and its name, on a display of this geometry.
pub(crate) fn all(geometry: Geometry) -> Vec<(String, Screen)> {
    let mut scenes = Scenes { geometry, all: Vec::new() };
    scenes.without_card();
    scenes.cards();
    scenes.decided();
    scenes.closed();
    scenes.notices();
    scenes.all
}

struct Scenes {
    geometry: Geometry,
    all: Vec<(String, Screen)>,
}

impl Scenes {
    fn add(&mut self, name: &str, screen: Screen) {
        self.all.push((name.into(), screen));
    }

    fn bench(&self) -> Bench {
        Bench::with_card(self.geometry, &document())
    }

    fn without_card(&mut self) {
        let mut bench = Bench::new(self.geometry);
        self.add("offline", bench.screen());
        bench.app.opening(bench.millis());
        self.add("connecting", bench.screen());
        let mut bench = Bench::online(self.geometry);
        self.add("idle-1-silent", bench.screen());
        bench.down(&Down::Status(Report { last_s: None, clock_s: None, ..REPORT }));
        self.add("idle-2-no-clock", bench.screen());
        bench.down(&Down::Status(REPORT));
        self.add("idle-3", bench.screen());
        bench.down(&Down::Health(WELL));
        bench.down(&Down::Status(Report { held: 0, queued: 0, ..REPORT }));
        self.add("idle-5-well", bench.screen());
        bench.down(&Down::Status(REPORT));
        let paused = Health { paused: 2, last_channel: Some("telegram"), ..WELL };
        bench.down(&Down::Health(paused));
        self.add("idle-6-paused", bench.screen());
        bench.down(&Down::Health(Health { takes_messages: false, ..paused }));
        self.add("idle-7-full", bench.screen());
        let most = Report {
            held: u16::MAX,
            queued: u16::MAX,
            sent: u32::MAX,
            last_s: Some(u32::MAX),
            clock_s: Some(0),
        };
        bench.down(&Down::Status(most));
        bench.down(&Down::Health(Health { paused: u16::MAX, last_channel: Some("googlechat"), ..WELL }));
        self.add("idle-4-most", bench.screen());
    }

    /// All pages of the open card.
    fn pages(&mut self, name: &str, bench: &mut Bench) {
        while let View::Card(card) = bench.screen().view {
            self.add(&format!("{name}-{}", card.page), bench.screen());
            if card.page == card.pages {
                break;
            }
            bench.press(Button::Approve, 100);
        }
    }

    fn cards(&mut self) {
        self.pages("card", &mut self.bench());
        self.pages("files", &mut Bench::with_card(self.geometry, &document_with_files()));
        self.pages("short", &mut Bench::with_card(self.geometry, &short()));
        self.pages("targets", &mut Bench::with_card(self.geometry, &several_targets()));
        let mut document = document();
        document.agent = "garçon-ß";
        document.known_as = Some("Ελένη & Юрій");
        document.parts[0].text = "Привіт! Ґанок, їжак.\nΚαλημέρα, κόσμε.\nZażółć gęślą jaźń.\n\
            ├─ 12 € → ½ ✓\n└─ pay\u{200b}pal \u{202e}txt.exe 日本 😀";
        let mut bench = Bench::with_card(self.geometry, &document);
        self.pages("letters", &mut bench);
        let mut bench = self.bench();
        bench.read();
        bench.edge(Button::Approve, Edge::Pressed);
        bench.wait(900);
        self.add("hold-60", bench.screen());
        bench.wait(550);
        self.add("hold-96", bench.screen());
        let mut bench = self.bench();
        bench.disconnect();
        self.add("card-offline", bench.screen());
        bench.connect();
        self.add("card-awaited", bench.screen());
        let broken = Memory { broken: true, ..Memory::default() };
        let mut bench = Bench::with(self.geometry, broken, Settings::default());
        bench.connect();
        bench.offer(&super::document());
        self.add("card-fault", bench.screen());
        let mut bench = self.bench();
        for count in 1..=MAX_WAITING {
            let mut next = super::document();
            next.request = RequestId([count as u8 + 10; 16]);
            bench.offer(&next);
            match count {
                1 => self.add("queue-1", bench.screen()),
                MAX_WAITING => self.add("queue-2-busy", bench.screen()),
                _ => {}
            }
        }
        bench.wait(400);
        bench.press(Button::Deny, 100);
        bench.down(&Down::Consumed { request: super::document().request });
        self.add("queue-3-busy-denied", bench.screen());
    }

    fn decided(&mut self) {
        for (verdict, name) in [(Verdict::Approve, "approved"), (Verdict::Deny, "denied")] {
            let mut bench = self.bench();
            bench.read();
            bench.wait(400);
            match verdict {
                Verdict::Approve => bench.press(Button::Approve, 1_500),
                Verdict::Deny => bench.press(Button::Deny, 100),
            }
            self.add(&format!("{name}-1-sending"), bench.screen());
            bench.down(&Down::Consumed { request: document().request });
            self.add(&format!("{name}-2"), bench.screen());
            if verdict == Verdict::Deny {
                bench.edge(Button::Deny, Edge::Pressed);
                bench.wait(900);
                self.add("denied-3-muting", bench.screen());
                bench.wait(700);
                self.add("denied-4-muted", bench.screen());
            }
        }
    }

    fn closed(&mut self) {
        for (reason, name) in [
            (Withdrawal::Cancelled, "cancelled"),
            (Withdrawal::Expired, "expired"),
            (Withdrawal::DecidedElsewhere, "elsewhere"),
            (Withdrawal::Rejected, "rejected"),
        ] {
            let mut bench = self.bench();
            bench.down(&Down::Withdraw { request: document().request, reason });
            self.add(&format!("closed-{name}"), bench.screen());
        }
        let mut bench = self.bench();
        bench.disconnect();
        bench.connect();
        bench.wait(3_050);
        self.add("closed-no-longer-offered", bench.screen());
        let mut bench = self.bench();
        bench.wait(400);
        bench.press(Button::Deny, 100);
        bench.disconnect();
        bench.connect();
        bench.wait(3_050);
        self.add("closed-not-confirmed", bench.screen());
        let long = "a".repeat(MAX_TEXT + 1);
        let mut document = document();
        document.parts[0].text = &long;
        self.add("closed-too-long", Bench::with_card(self.geometry, &document).screen());
    }

    fn notices(&mut self) {
        let mut bench = Bench::online(self.geometry);
        bench.silent = true;
        bench.offer(&document());
        self.add("fetching", bench.screen());
        self.add("pairing-0-unpaired", notice::unpaired(self.geometry));
        let pairing = notice::pairing(self.geometry, 40_217, Millis(0), Millis(60_000));
        self.add("pairing", pairing);
        let confirmed = notice::confirmed(self.geometry, 40_217, Millis(9_500), Millis(60_000));
        self.add("pairing-2-confirmed", confirmed);
        let version = Version { major: 1, minor: 4, patch: 0 };
        self.add("update-1-question", notice::question(self.geometry, version, false));
        self.add("update-2-armed", notice::question(self.geometry, version, true));
        let longest = Version { major: 65_535, minor: 65_535, patch: 65_535 };
        self.add("update-longest", notice::question(self.geometry, longest, true));
        self.add("update-3-installing", notice::installing(self.geometry));
        for (fault, name) in
            [(Fault::Storage, "storage"), (Fault::Pairing, "pairing"), (Fault::Login, "login")]
        {
            self.add(&format!("error-{name}"), notice::fault(self.geometry, fault));
        }
    }
}

/// A short message to somebody who is not in the address book.
fn short() -> Document<'static> {
    let mut document = document();
    (document.channel, document.account) = ("email", "work");
    (document.address, document.known_as) = ("ann.keller@example.org", None);
    document.parts[0].text = "The door code is 4711.";
    document
}

/// A message to three places at once.
fn several_targets() -> Document<'static> {
    let mut document = short();
    document.action = "broadcast";
    for (address, known_as) in [("-1001234567890", Some("Family")), ("@anns_channel", None)] {
        let target = Target { channel: "telegram", account: "home", address, known_as, thread: None };
        document.also.push(Also { target, wires: Digest([9; 32]) }).unwrap();
    }
    document
}

/// The name of a kind of view. A new kind does not compile until it has one.
fn kind(view: &View) -> &'static str {
    match view {
        View::Offline => "offline",
        View::Connecting => "connecting",
        View::Idle => "idle",
        View::Fetching { .. } => "fetching",
        View::Card(_) => "card",
        View::Sending { .. } => "sending",
        View::Done { .. } => "done",
        View::Muted { .. } => "muted",
        View::Closed { why, .. } => match why {
            Ended::Withdrawn(_) => "withdrawn",
            Ended::NotConfirmed => "not confirmed",
            Ended::NoLongerOffered => "no longer offered",
            Ended::NotShown(_) => "not shown",
        },
        View::Unpaired => "unpaired",
        View::Pairing { .. } => "pairing",
        View::Question { .. } => "question",
        View::Installing => "installing",
        View::Fault(_) => "fault",
    }
}

#[test]
fn every_kind_of_view_has_a_golden_screen() {
    for geometry in [Geometry::SMALL, Geometry::LARGE] {
        let mut kinds: Vec<&str> = all(geometry).iter().map(|(_, screen)| kind(&screen.view)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), 17, "{kinds:?}");
    }
}

#[test]
fn our_own_words_are_never_cut() {
    fn words(screen: &Screen) -> Vec<String> {
        let cells = screen.cells();
        cells.iter().flat_map(|line| line.split_whitespace()).map(String::from).collect()
    }
    let large = all(Geometry::LARGE);
    let own = |(_, screen): &(String, Screen)| !matches!(screen.view, View::Card(_));
    let mut compared = 0;
    for (name, screen) in all(Geometry::SMALL).iter().filter(|scene| own(scene)) {
        let (_, wide) = large.iter().find(|(other, _)| other == name).unwrap();
        for word in words(screen).iter().filter(|word| !word.starts_with('[')) {
            assert!(words(wide).contains(word), "{name}: {word}");
            compared += 1;
        }
        // Next to the clock there is no room to say that nothing waits; the figures say it.
        let kept = name.starts_with("idle") || words(screen).len() == words(wide).len();
        assert!(kept, "{name}: a word is left out on the small screen");
        assert!(
            screen.cells().iter().all(|line| line.chars().count() <= screen.geometry.columns()),
            "{name}"
        );
    }
    assert!(compared > 100, "{compared}");
}
