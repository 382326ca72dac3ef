//! The wire format, byte by byte: `fixtures` holds every envelope, every frame and a document as hexadecimal
//! digits.
//!
//! They are a promise to devices in the field, and change only with [`crate::envelope::VERSION`].
//! `GATEPOST_GOLDEN=write cargo test -p gatepost-link wire` writes them anew and fails: look at them, and run it again.

use std::{collections::BTreeSet, env, fs, path::PathBuf, string::String, vec::Vec};

use crate::{
    Digest, RequestId,
    decision::{Decision, SignatureBytes, Verdict},
    document::{self, Also, Attachment, Document, MAX_DOCUMENT, Part, Target},
    envelope::{self, MAX_FRAME, VERSION},
    frame::{self, Down, Health, NotTaken, Offer, Progress, Refusal, Report, Running, State, Up, Withdrawal},
    pairing::{self, FromDevice, FromHub},
    testing,
    update::{Label, Manifest, Signed, Version, rule::Unfit, signed},
};

const REQUEST: RequestId = RequestId([0xab; 16]);

struct Fixtures {
    folder: PathBuf,
    write: bool,
    named: BTreeSet<String>,
    differ: Vec<String>,
}

impl Fixtures {
    fn new(kind: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(kind);
        let write = env::var("GATEPOST_GOLDEN").is_ok_and(|mode| mode == "write");
        Self { folder, write, named: BTreeSet::new(), differ: Vec::new() }
    }

    /// The bytes that are kept under this name; these, if they are written anew.
    fn kept(&mut self, name: &str, bytes: &[u8]) -> Vec<u8> {
        let file = std::format!("{name}.hex");
        let path = self.folder.join(&file);
        assert!(self.named.insert(file), "two fixtures are named {name}");
        if self.write {
            fs::create_dir_all(&self.folder).unwrap();
            fs::write(&path, testing::lines(bytes)).unwrap();
        }
        let kept = testing::bytes(&fs::read_to_string(path).unwrap_or_default());
        if kept != bytes {
            self.differ.push(name.into());
        }
        kept
    }

    fn check(self) {
        assert!(
            !self.write,
            "the fixtures are written: look at them, and run the tests without GATEPOST_GOLDEN"
        );
        assert!(self.differ.is_empty(), "other bytes than in the fixtures: {:?}", self.differ);
        let there = fs::read_dir(&self.folder).unwrap();
        let there: BTreeSet<String> =
            there.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(there, self.named, "every fixture is of something that there is");
    }
}

/// Compares a value with its fixture, in both directions.
macro_rules! fixture {
    ($fixtures:expr, $codec:ident($($more:expr)?), $name:expr, $type:ty, $value:expr) => {{
        let value: $type = $value;
        let mut buffer = [0; MAX_FRAME];
        let kept = $fixtures.kept($name, $codec::encode(&value, &mut buffer).unwrap());
        assert_eq!($codec::decode::<$type>(&kept $(, $more)?), Ok(value), "{}", $name);
    }};
}

#[test]
fn every_envelope_has_the_bytes_that_devices_in_the_field_know() {
    let mut fixtures = Fixtures::new("envelopes");
    let (noise, bytes) = (&[0xa0; 48][..], &[0xb0; 17][..]);
    fixture!(fixtures, envelope(VERSION), "up-open", envelope::Up<'_>, envelope::Up::Open { noise });
    let sealed = envelope::Up::Sealed { number: 300, bytes };
    fixture!(fixtures, envelope(VERSION), "up-sealed", envelope::Up<'_>, sealed);
    let opened = envelope::Down::Opened { noise };
    fixture!(fixtures, envelope(VERSION), "down-opened", envelope::Down<'_>, opened);
    let sealed = envelope::Down::Sealed { number: u64::MAX, bytes };
    fixture!(fixtures, envelope(VERSION), "down-sealed", envelope::Down<'_>, sealed);
    fixture!(fixtures, envelope(VERSION), "down-greet", envelope::Down<'_>, envelope::Down::Greet);

    let first = pairing::Up::First { noise: &[1; pairing::FIRST] };
    fixture!(fixtures, envelope(VERSION), "pairing-up-first", pairing::Up<'_>, first);
    let third = pairing::Up::Third { noise: &[3; pairing::THIRD] };
    fixture!(fixtures, envelope(VERSION), "pairing-up-third", pairing::Up<'_>, third);
    let sealed = pairing::Up::Sealed { number: 0, bytes };
    fixture!(fixtures, envelope(VERSION), "pairing-up-sealed", pairing::Up<'_>, sealed);
    let second = pairing::Down::Second { noise: &[2; pairing::SECOND] };
    fixture!(fixtures, envelope(VERSION), "pairing-down-second", pairing::Down<'_>, second);
    let sealed = pairing::Down::Sealed { number: 1, bytes };
    fixture!(fixtures, envelope(VERSION), "pairing-down-sealed", pairing::Down<'_>, sealed);
    fixtures.check();
}

#[test]
fn every_frame_has_the_bytes_that_devices_in_the_field_know() {
    let mut fixtures = Fixtures::new("frames");
    fixture!(fixtures, frame(), "up-ready", Up, Up::Ready);
    fixture!(fixtures, frame(), "up-fetch", Up, Up::Fetch { request: REQUEST, piece: 300 });
    for (name, verdict) in [("approve", Verdict::Approve), ("deny", Verdict::Deny)] {
        let decision =
            Decision { request: REQUEST, verdict, counter: 1 << 40, signature: SignatureBytes([7; 64]) };
        fixture!(fixtures, frame(), &std::format!("up-decision-{name}"), Up, Up::Decision(decision));
    }
    for (name, reason) in
        [("busy", Refusal::Busy), ("too-long", Refusal::TooLong), ("malformed", Refusal::Malformed)]
    {
        let refuse = Up::Refuse { request: REQUEST, reason };
        fixture!(fixtures, frame(), &std::format!("up-refuse-{name}"), Up, refuse);
    }
    for (name, works) in [("works", true), ("out", false)] {
        fixture!(fixtures, frame(), &std::format!("up-display-{name}"), Up, Up::Display { works });
    }

    let offer = Offer { request: REQUEST, document: Digest([0xd0; 32]), length: 2_500, expires_ms: 600_000 };
    fixture!(fixtures, frame(), "down-offer", Down<'_>, Down::Offer(offer));
    let piece = Down::Piece { request: REQUEST, piece: 2, bytes: b"the end" };
    fixture!(fixtures, frame(), "down-piece", Down<'_>, piece);
    fixture!(fixtures, frame(), "down-consumed", Down<'_>, Down::Consumed { request: REQUEST });
    for (name, reason) in [
        ("cancelled", Withdrawal::Cancelled),
        ("expired", Withdrawal::Expired),
        ("elsewhere", Withdrawal::DecidedElsewhere),
        ("rejected", Withdrawal::Rejected),
    ] {
        let withdraw = Down::Withdraw { request: REQUEST, reason };
        fixture!(fixtures, frame(), &std::format!("down-withdraw-{name}"), Down<'_>, withdraw);
    }
    let report = Report { held: 1, queued: 300, sent: 2, last_s: Some(5), clock_s: None };
    fixture!(fixtures, frame(), "down-status", Down<'_>, Down::Status(report));
    for (name, last_channel) in [("delivered", Some("matrix")), ("new", None)] {
        let health = Health { takes_messages: true, paused: 2, last_channel };
        fixture!(fixtures, frame(), &std::format!("down-health-{name}"), Down<'_>, Down::Health(health));
    }
    fixture!(fixtures, frame(), "down-revoked", Down<'_>, Down::Revoked);
    let manifest = Manifest {
        product: Label::new("companion").unwrap(),
        board: Label::new("esp32c3").unwrap(),
        version: Version { major: 1, minor: 4, patch: 300 },
        floor: Version { major: 1, minor: 2, patch: 0 },
        size: 900_000,
        image: Digest([0x11; 32]),
        block: 4_096,
        blocks: Digest([0x22; 32]),
        expires: 1_800_000_000,
    };
    fixtures.kept("manifest-signed-bytes", &manifest.to_bytes());
    let signed = Signed::new(manifest, &[(1, SignatureBytes([0x33; 64]))]).unwrap();
    let mut buffer = [0; signed::MAX_SIGNED_BYTES];
    let offer = Down::Manifest { signed: signed.to_bytes(&mut buffer), utc: 1_790_000_000, again: true };
    fixture!(fixtures, frame(), "down-manifest", Down<'_>, offer);
    fixture!(fixtures, frame(), "down-root", Down<'_>, Down::Root(b"a root's bytes"));
    let block = Down::Block { part: frame::Part::Image, offset: 409_600, bytes: b"a block" };
    fixture!(fixtures, frame(), "down-block", Down<'_>, block);
    fixture!(fixtures, frame(), "down-no-update", Down<'_>, Down::NoUpdate);
    fixture!(fixtures, frame(), "up-mute", Up, Up::Mute { request: REQUEST });
    frames_of_an_update(&mut fixtures);

    let login = |text: &str| text.try_into().unwrap();
    let paired = FromHub::Paired { user: login("device-0123456789abcdef"), password: login("secret") };
    fixture!(fixtures, frame(), "pairing-paired", FromHub, paired);
    fixture!(fixtures, frame(), "pairing-done", FromHub, FromHub::Done);
    fixture!(fixtures, frame(), "pairing-hub-declined", FromHub, FromHub::Declined);
    let about = FromDevice::About { program: true };
    fixture!(fixtures, frame(), "pairing-about", FromDevice, about);
    fixture!(fixtures, frame(), "pairing-kept", FromDevice, FromDevice::Kept);
    fixture!(fixtures, frame(), "pairing-device-declined", FromDevice, FromDevice::Declined);
    fixtures.check();
}

fn frames_of_an_update(fixtures: &mut Fixtures) {
    let image = [0x44; 8];
    for (name, state) in
        [("settled", State::Settled), ("trial", State::Trial(image)), ("went-back", State::WentBack(image))]
    {
        let version = Version { major: 1, minor: 4, patch: 300 };
        let running =
            Running { board: Label::new("esp32c3").unwrap(), version, floor: version, root: 2, state };
        fixture!(fixtures, frame(), &std::format!("up-running-{name}"), Up, Up::Running(running));
    }
    for (name, part) in [("list", frame::Part::List), ("image", frame::Part::Image)] {
        let fetch = Up::FetchBlock { part, offset: 409_600, length: 2_048 };
        fixture!(fixtures, frame(), &std::format!("up-fetch-{name}"), Up, fetch);
    }
    for (name, progress) in [
        ("taking", Progress::Taking { done: 4_096, of: 900_000 }),
        ("asking", Progress::Asking),
        ("declined", Progress::Declined),
        ("installing", Progress::Installing),
        ("refused-signature", Progress::Refused(NotTaken::Signature)),
        ("refused-expired", Progress::Refused(NotTaken::Unfit(Unfit::Expired))),
        ("refused-other-version", Progress::Refused(NotTaken::Unfit(Unfit::OtherVersion))),
        ("refused-flash", Progress::Refused(NotTaken::Flash)),
    ] {
        fixture!(fixtures, frame(), &std::format!("up-update-{name}"), Up, Up::Update { image, progress });
    }
}

#[test]
fn an_approval_document_has_the_bytes_that_devices_in_the_field_know() {
    let mut fixtures = Fixtures::new("documents");
    let mut document = Document {
        request: REQUEST,
        audit_head: Digest([1; 32]),
        agent: "engineer",
        origin: Some("local:ann"),
        action: "send",
        channel: "matrix",
        account: "home",
        address: "!kitchen:example.org",
        known_as: Some("Family"),
        thread: None,
        reply_to: None,
        options: Default::default(),
        parts: Default::default(),
        attachments: Default::default(),
        also: Default::default(),
    };
    document.options.push("silent").unwrap();
    document
        .parts
        .push(Part { text: "Grüße", wire: Digest([2; 32]), wire_alt: Some(Digest([3; 32])) })
        .unwrap();
    let file = Attachment { name: "a.pdf", kind: "application/pdf", size: 48_213, digest: Digest([4; 32]) };
    document.attachments.push(file).unwrap();
    let mut buffer = [0; MAX_DOCUMENT];
    let kept = fixtures.kept("whole", document.encode(&mut buffer).unwrap());
    assert_eq!(Document::decode(&kept), Ok(document.clone()));

    // Further targets stand behind what a document with one has.
    let mut one = [0; MAX_DOCUMENT];
    let one = document.encode(&mut one).unwrap();
    for (address, thread) in [("777", None), ("-100123", Some("5"))] {
        let target = Target { channel: "telegram", account: "home", address, known_as: None, thread };
        let wires = document::requests(document.parts.iter().map(|part| part.wire)).unwrap();
        document.also.push(Also { target, wires }).unwrap();
    }
    let kept = fixtures.kept("several-targets", document.encode(&mut buffer).unwrap());
    assert!(kept.starts_with(one));
    assert_eq!(Document::decode(&kept), Ok(document));
    // Bytes behind them, and none of them, are no document.
    assert!(Document::decode(&[&kept[..], &[0]].concat()).is_err());
    assert!(Document::decode(&[one, &[0]].concat()).is_err());
    assert!(Document::decode(&kept[..kept.len() - 1]).is_err());
    fixtures.check();
}
