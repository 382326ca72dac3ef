//! Documents, a mock hub, a mock display and every screen, for this crate's tests.

pub(crate) mod display;
pub(crate) mod golden;
pub(crate) mod hub;
pub(crate) mod scenes;

use std::{format, string::String, vec::Vec};

use ed25519_dalek::SigningKey;
use gatepost_link::{
    Digest, RequestId,
    decision::{Decision, PublicKey, Statement, Verdict},
    document::{Attachment, Document, MAX_DOCUMENT, Part},
    envelope::MAX_FRAME,
    frame::{self, Down, Offer, PIECE, Up},
    seal::Random,
    session::SessionHash,
};

use crate::{
    App, Bond, Button, Counter, Edge, Geometry, Keys, Millis, Network, Panel, Screen, Settings, Storage,
    View, ui::buttons::PRESS_TICK_MS,
};
use display::MockDisplay;

pub(crate) const HUB: PublicKey = PublicKey([0x68; 32]);

/// A message of one part without files.
pub(crate) fn document() -> Document<'static> {
    let mut parts = heapless::Vec::new();
    let text = "Hello all,\nthe report for October is done; it is in the usual folder.\n\nSee you on Monday";
    parts.push(Part { text, wire: Digest([2; 32]), wire_alt: None }).unwrap();
    Document {
        request: RequestId([7; 16]),
        audit_head: Digest([1; 32]),
        agent: "engineer",
        origin: Some("telegram:user:42"),
        action: "send",
        channel: "matrix",
        account: "home",
        address: "!kitchen:example.org",
        known_as: Some("Family"),
        thread: None,
        reply_to: None,
        options: heapless::Vec::new(),
        parts,
        attachments: heapless::Vec::new(),
        also: Default::default(),
    }
}

/// The same with every optional field, two parts and two files.
pub(crate) fn document_with_files() -> Document<'static> {
    let mut document = document();
    document.origin = None;
    document.known_as = None;
    document.thread = Some("$thread:example.org");
    document.reply_to = Some("$event:example.org");
    document.options.push("silent").unwrap();
    document.options.push("effect confetti").unwrap();
    let second = Part { text: "P.S. \u{202e}sdrawkcab", wire: Digest([3; 32]), wire_alt: None };
    document.parts.push(second).unwrap();
    for (name, kind, size) in
        [("report.pdf", "application/pdf", 48_213), ("pho\u{200b}to.jpg", "image/jpeg", 1_048_576)]
    {
        document.attachments.push(Attachment { name, kind, size, digest: Digest([0xa7; 32]) }).unwrap();
    }
    document
}

/// The document's bytes and the offer for them; it expires after five minutes.
pub(crate) fn offered(document: &Document<'_>) -> (Offer, Vec<u8>) {
    let mut buffer = [0; MAX_DOCUMENT];
    let bytes = document.encode(&mut buffer).unwrap();
    let offer = Offer {
        request: document.request,
        document: Digest::of(bytes),
        length: bytes.len() as u32,
        expires_ms: 300_000,
    };
    (offer, bytes.to_vec())
}

/// A device's storage in memory, which can be made to fail.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) last: u64,
    pub(crate) broken: bool,
    pub(crate) keys: Option<Keys>,
    pub(crate) bond: Option<Bond>,
    pub(crate) network: Option<Network>,
}

impl Memory {
    fn write(&mut self, write: impl FnOnce(&mut Self)) -> Result<(), ()> {
        if self.broken {
            return Err(());
        }
        write(self);
        Ok(())
    }
}

impl Counter for Memory {
    type Error = ();

    fn reserve(&mut self) -> Result<u64, ()> {
        self.last += 1;
        if self.broken { Err(()) } else { Ok(self.last) }
    }
}

impl Storage for Memory {
    fn load_keys(&mut self) -> Result<Option<Keys>, ()> {
        Ok(self.keys.clone())
    }

    fn store_keys(&mut self, keys: &Keys) -> Result<(), ()> {
        self.write(|memory| memory.keys = Some(keys.clone()))
    }

    fn load_bond(&mut self) -> Result<Option<Bond>, ()> {
        Ok(self.bond.clone())
    }

    fn store_bond(&mut self, bond: &Bond) -> Result<(), ()> {
        self.write(|memory| memory.bond = Some(bond.clone()))
    }

    fn wipe_bond(&mut self) -> Result<(), ()> {
        self.write(|memory| memory.bond = None)
    }

    fn load_network(&mut self) -> Result<Option<Network>, ()> {
        Ok(self.network.clone())
    }

    fn store_network(&mut self, network: &Network) -> Result<(), ()> {
        self.write(|memory| memory.network = Some(network.clone()))
    }
}

/// An application with a clock and a hub that answers requests for pieces.
pub(crate) struct Bench {
    pub(crate) app: App<Memory>,
    pub(crate) now: u64,
    pub(crate) sent: Vec<Up>,
    /// Whether the hub leaves requests unanswered.
    pub(crate) silent: bool,
    /// Where its screens are drawn; without one, a display that accepts everything is assumed.
    pub(crate) panel: Option<Panel<MockDisplay>>,
    session: Option<SessionHash>,
    device: PublicKey,
    documents: Vec<(Offer, Vec<u8>)>,
    sessions: u8,
}

impl Bench {
    pub(crate) fn new(geometry: Geometry) -> Self {
        Self::with(geometry, Memory::default(), Settings::default())
    }

    pub(crate) fn with(geometry: Geometry, counter: Memory, settings: Settings) -> Self {
        let key = SigningKey::from_bytes(&[3; 32]);
        let device = PublicKey(key.verifying_key().to_bytes());
        let app = App::new(key, counter, geometry).with_settings(settings);
        Self {
            app,
            now: 1_000,
            sent: Vec::new(),
            silent: false,
            panel: None,
            session: None,
            device,
            documents: Vec::new(),
            sessions: 0,
        }
    }

    /// A bench with a session.
    pub(crate) fn online(geometry: Geometry) -> Self {
        let mut bench = Self::new(geometry);
        bench.connect();
        bench
    }

    /// A bench with an open card.
    pub(crate) fn with_card(geometry: Geometry, document: &Document<'_>) -> Self {
        let mut bench = Self::online(geometry);
        bench.offer(document);
        bench
    }

    pub(crate) fn millis(&self) -> Millis {
        Millis(self.now)
    }

    /// Starts a session.
    pub(crate) fn connect(&mut self) {
        self.sessions += 1;
        let session = SessionHash([self.sessions; 32]);
        self.app.opening(self.millis());
        let already_sent = self.sent.len();
        self.app.connected(self.millis(), HUB, session);
        self.flush();
        assert_eq!(self.sent.get(already_sent), Some(&Up::Ready));
        self.session = Some(session);
        // Any frame counts as an answer; the application ignores this one.
        self.down(&Down::Revoked);
    }

    pub(crate) fn disconnect(&mut self) {
        self.session = None;
        self.app.disconnected(self.millis());
    }

    /// Offers the document and answers the requests for its pieces.
    pub(crate) fn offer(&mut self, document: &Document<'_>) -> Offer {
        let (offer, bytes) = offered(document);
        self.documents.retain(|(known, _)| known.request != offer.request);
        self.documents.push((offer, bytes));
        self.down(&Down::Offer(offer));
        offer
    }

    pub(crate) fn down(&mut self, frame: &Down<'_>) {
        let mut buffer = [0; MAX_FRAME];
        let bytes = frame::encode(frame, &mut buffer).unwrap();
        self.app.received(Millis(self.now), bytes);
        self.flush();
    }

    /// Takes what the application sends, and answers its requests.
    pub(crate) fn flush(&mut self) {
        while let Some(up) = self.app.next_frame() {
            self.sent.push(up);
            if let (Up::Display { .. }, false) = (up, self.silent) {
                self.down(&Down::Revoked);
            }
            let Up::Fetch { request, piece } = up else { continue };
            if self.silent {
                continue;
            }
            let Some((_, document)) = self.documents.iter().find(|(offer, _)| offer.request == request)
            else {
                continue;
            };
            let bytes = document.chunks(PIECE).nth(piece.into()).unwrap().to_vec();
            self.down(&Down::Piece { request, piece, bytes: &bytes });
        }
        self.draw();
    }

    /// Draws as a board does after every event; returns whether the display accepted it.
    pub(crate) fn draw(&mut self) -> bool {
        let (now, screen) = (self.millis(), self.screen());
        let accepted = self.panel.as_mut().is_none_or(|panel| panel.show(now, &screen, |_| {}).is_ok());
        self.app.drawn(now, &screen, accepted);
        accepted
    }

    pub(crate) fn wait(&mut self, milliseconds: u64) {
        let until = self.now + milliseconds;
        while self.now < until {
            self.now = until.min(self.now + PRESS_TICK_MS);
            self.app.tick(Millis(self.now));
            self.flush();
        }
    }

    pub(crate) fn edge(&mut self, button: Button, edge: Edge) {
        self.app.button(self.millis(), button, edge);
        self.flush();
    }

    pub(crate) fn press(&mut self, button: Button, milliseconds: u64) {
        self.edge(button, Edge::Pressed);
        self.wait(milliseconds);
        self.edge(button, Edge::Released);
        self.wait(PRESS_TICK_MS);
    }

    /// Turns to the last page.
    pub(crate) fn read(&mut self) {
        while let View::Card(card) = self.screen().view {
            if card.page == card.pages {
                return;
            }
            self.press(Button::Approve, 100);
        }
    }

    pub(crate) fn screen(&self) -> Screen {
        self.app.screen(self.millis())
    }

    pub(crate) fn decisions(&self) -> Vec<Decision> {
        let decision = |up: &Up| match up {
            Up::Decision(decision) => Some(*decision),
            _ => None,
        };
        self.sent.iter().filter_map(decision).collect()
    }

    /// Whether `decision` is what the hub would consume now for `offer`.
    pub(crate) fn verifies(&self, decision: &Decision, offer: &Offer) -> bool {
        let statement = Statement {
            hub: HUB,
            device: self.device,
            request: offer.request,
            document: offer.document,
            verdict: decision.verdict,
            counter: decision.counter,
            session: self.session.unwrap(),
        };
        decision.request == offer.request && statement.verify(&decision.signature)
    }

    /// The verdicts sent so far.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        self.decisions().iter().map(|decision| decision.verdict).collect()
    }
}

/// The screen in a frame, as the golden files hold it.
pub(crate) fn framed(screen: &Screen) -> String {
    let width = screen.geometry.columns();
    let border = format!("+{}+\n", "-".repeat(width));
    let rows: String = screen.cells().iter().map(|row| format!("|{row:<width$}|\n")).collect();
    format!("{border}{rows}{border}")
}

/// Deterministic randomness.
pub(crate) struct TestRandom(pub(crate) u64);

impl Random for TestRandom {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            self.0 += 1;
            chunk.copy_from_slice(&Digest::of(&self.0.to_be_bytes()).0[..chunk.len()]);
        }
    }
}
