//! A companion over a flash in memory, with a hub that serves what it asks for.

use std::{boxed::Box, cell::RefCell, vec, vec::Vec};

use gatepost_link::{
    frame::{Down, Report, Up},
    seal::SealKey,
    update::Version,
};

use super::hub::{BUILT, NOW, Release, first_root, image, label, version};
use crate::{
    Bond, Button, Companion, Edge, Geometry, Keys, Millis, NotShown, Settings, Storage as _, View,
    flash::{
        FlashError,
        part::{Part, PartError},
        power_cut::{Fault, PowerCutFlash},
        storage::FlashStorage,
    },
    slots::{
        Parts, Slot,
        choose::{Loader, choose},
        entry::{ENTRY_BYTES, Entry},
    },
    testing::{
        HUB, TestRandom,
        hub::{MockHub, Sent},
    },
    update::{Firmware, ImageKind, Started, Updater},
};

const SECTOR: u32 = 4096;
pub(super) const SLOT: u32 = 0x2_0000;
const IMAGES: [u32; 2] = [2 * SECTOR, 2 * SECTOR + SLOT];
const STORAGE: u32 = 2 * SECTOR + 2 * SLOT;
const ALL: u32 = STORAGE + 16 * SECTOR;

type FlashPart<'f> = Part<'f, PowerCutFlash>;

/// A device's flash: version 1 in the first slot, and a bond with the hub.
pub(super) struct Flash {
    pub(super) whole: RefCell<PowerCutFlash>,
    root: Option<&'static [u8]>,
}

impl Flash {
    pub(super) fn new() -> Self {
        let mut whole = PowerCutFlash::blank(ALL, 1);
        whole.page = 256;
        let first = image(1);
        whole.bytes[IMAGES[0] as usize..][..first.len()].copy_from_slice(&first);
        let flash = Self { whole: RefCell::new(whole), root: Some(Box::leak(first_root().into())) };
        let mut storage = flash.storage();
        storage.store_keys(&Keys::generate(&mut TestRandom(3))).unwrap();
        let login = |text: &str| text.try_into().unwrap();
        let seal = MockHub::new().secret.public();
        let version = gatepost_link::envelope::VERSION;
        storage
            .store_bond(&Bond { hub: HUB, seal, user: login("device"), password: login("word"), version })
            .unwrap();
        flash
    }

    pub(super) fn without_root(self) -> Self {
        Self { root: None, ..self }
    }

    /// The same device, with a flash of its own.
    pub(super) fn copy(&self) -> Self {
        self.again(1)
    }

    /// The same with other dice.
    pub(super) fn again(&self, seed: u64) -> Self {
        Self { whole: RefCell::new(self.whole.borrow().with_seed(seed)), root: self.root }
    }

    /// Switches the power on; it is cut at this step.
    pub(super) fn power_on(&self, cut: Option<usize>) {
        self.whole.borrow_mut().power_on(cut);
    }

    fn part(&self, start: u32, size: u32) -> FlashPart<'_> {
        Part::new(&self.whole, start, size)
    }

    pub(super) fn storage(&self) -> FlashStorage<FlashPart<'_>> {
        FlashStorage::new(self.part(STORAGE, 16 * SECTOR))
    }

    /// As if the hub had not spoken the present version of the link before.
    pub(super) fn lower_link_version(&self) {
        let mut storage = self.storage();
        let bond = storage.load_bond().unwrap().unwrap();
        storage.store_bond(&Bond { version: bond.version - 1, ..bond }).unwrap();
    }

    /// Which version is in a slot.
    pub(super) fn image(&self, slot: Slot) -> Option<Version> {
        let whole = self.whole.borrow();
        let bytes = &whole.bytes[IMAGES[slot.index()] as usize..];
        let Version { major, .. } = gatepost_link::update::image::version(bytes)?;
        bytes.starts_with(&image(major)).then(|| version(major))
    }

    /// What a loader without rollback starts.
    pub(super) fn boot(&self) -> Option<(Slot, Version)> {
        let entry = |at: u32| {
            let bytes: [u8; ENTRY_BYTES] =
                self.whole.borrow().bytes[(at * SECTOR) as usize..][..ENTRY_BYTES].try_into().unwrap();
            Entry::from_bytes(&bytes)
        };
        let choice = choose([entry(0), entry(1)], Loader::Plain);
        [choice.first, choice.first.other()].into_iter().find_map(|slot| Some((slot, self.image(slot)?)))
    }
}

/// A device that runs, and its hub.
pub(super) struct Fixture<'f> {
    device: Companion<FlashStorage<FlashPart<'f>>, TestRandom, Updater<FlashPart<'f>>>,
    seal: SealKey,
    hub: MockHub,
    now: u64,
    pub(super) display_works: bool,
    pub(super) has_network: bool,
    pub(super) hub_answers: bool,
    /// Of the pieces asked for, which are lost and which are answered twice; 0 for none.
    pub(super) lose_every: usize,
    pub(super) repeat_every: usize,
    release: Option<Release>,
    /// The document of an open card.
    pub(super) document: Vec<u8>,
    /// What the hub heard.
    pub(super) sent: Vec<Up>,
}

impl<'f> Fixture<'f> {
    /// Starts the device; [`None`] if it wants to be restarted at once.
    pub(super) fn started(flash: &'f Flash) -> Option<Self> {
        Self::try_started(flash).unwrap()
    }

    /// The same, if its storage can be read.
    pub(super) fn try_started(flash: &'f Flash) -> Result<Option<Self>, FlashError<PartError<Fault>>> {
        let (running, version) = flash.boot().expect("something starts");
        let firmware = Firmware {
            board: label("test"),
            version,
            built: BUILT,
            slot: SLOT,
            image: ImageKind::Flat,
            root: flash.root,
        };
        let parts = Parts {
            otadata: flash.part(0, 2 * SECTOR),
            images: IMAGES.map(|start| flash.part(start, SLOT)),
            storage: flash.part(STORAGE, 16 * SECTOR),
        };
        let Started::Run(updates) = Updater::start(parts, running, firmware) else { return Ok(None) };
        let seal = flash.storage().load_keys()?.unwrap().seal.public();
        let storage = flash.storage();
        let device =
            Companion::with_updates(storage, TestRandom(7), Geometry::SMALL, Settings::default(), updates);
        Ok(Some(Self {
            device: device?,
            seal,
            hub: MockHub::new(),
            now: 500,
            display_works: true,
            has_network: true,
            hub_answers: true,
            lose_every: 0,
            repeat_every: 0,
            release: None,
            document: vec![],
            sent: vec![],
        }))
    }

    /// Starts the device, and opens a session.
    pub(super) fn online(flash: &'f Flash) -> Self {
        let mut fixture = Self::started(flash).expect("it runs");
        fixture.connect();
        fixture
    }

    /// Holds Approve on the question.
    pub(super) fn installing(mut self) -> Self {
        self.hold(crate::ui::buttons::HOLD + 100);
        assert_eq!(self.view(), View::Installing);
        self
    }

    pub(super) fn connect(&mut self) {
        if self.has_network {
            self.device.connected(Millis(self.now));
            self.pump();
        }
        self.draw();
    }

    /// The connection is gone.
    pub(super) fn disconnect(&mut self) {
        self.device.disconnected(Millis(self.now));
        self.draw();
    }

    pub(super) fn restarts(&self) -> bool {
        self.device.restarts(Millis(self.now))
    }

    pub(super) fn view(&self) -> View {
        self.device.screen(Millis(self.now)).view
    }

    pub(super) fn offer(&mut self, release: &Release) {
        self.offered(release, false);
    }

    pub(super) fn offer_again(&mut self, release: &Release) {
        self.offered(release, true);
    }

    /// Offers a release when the hub has this time.
    pub(super) fn offered_at(&mut self, release: &Release, utc: u64, again: bool) {
        self.release = Some(release.clone());
        self.sent.clear();
        self.down(&Down::Manifest { signed: &release.signed, utc, again });
    }

    fn offered(&mut self, release: &Release, again: bool) {
        self.offered_at(release, NOW, again);
    }

    /// How many pieces were asked for.
    pub(super) fn fetches(&self) -> usize {
        self.sent.iter().filter(|frame| matches!(frame, Up::FetchBlock { .. })).count()
    }

    pub(super) fn image_fetches(&self) -> usize {
        let part = gatepost_link::frame::Part::Image;
        self.sent
            .iter()
            .filter(|frame| matches!(frame, Up::FetchBlock { part: of, .. } if *of == part))
            .count()
    }

    /// The hub says something.
    pub(super) fn down(&mut self, frame: &Down<'_>) {
        let payload = self.hub.seal(frame);
        self.receive(&payload);
        self.pump();
        self.draw();
    }

    fn receive(&mut self, payload: &[u8]) {
        let down = self.device.access().unwrap().down.clone();
        self.device.received(Millis(self.now), &down, payload);
    }

    /// Takes what the device sends, and answers it.
    pub(super) fn pump(&mut self) {
        while let Some(payload) = self.device.next_payload(Millis(self.now)) {
            let keys = (self.device.device(), self.seal);
            let (sent, answer) = self.hub.receive(keys, &payload);
            answer.iter().for_each(|answer| self.receive(answer));
            if let Sent::Frame(up) = sent {
                self.sent.push(up);
                self.answer(up);
            }
        }
    }

    fn answer(&mut self, up: Up) {
        match up {
            Up::FetchBlock { part, offset, length } => {
                let count = self.fetches();
                let one_in = |every: usize| every > 0 && count.is_multiple_of(every);
                let Some(release) = self.release.clone().filter(|_| !one_in(self.lose_every)) else { return };
                let of = match part {
                    gatepost_link::frame::Part::List => &release.list,
                    gatepost_link::frame::Part::Image => &release.bytes,
                };
                let from = (offset as usize).min(of.len());
                let bytes = &of[from..(from + usize::from(length)).min(of.len())];
                for _ in 0..1 + usize::from(one_in(self.repeat_every)) {
                    let payload = self.hub.seal(&Down::Block { part, offset, bytes });
                    self.receive(&payload);
                }
            }
            Up::Fetch { request, piece } => {
                let bytes = self.document.clone();
                let payload = self.hub.seal(&Down::Piece { request, piece, bytes: &bytes });
                self.receive(&payload);
            }
            Up::Decision(decision) => {
                let payload = self.hub.seal(&Down::Consumed { request: decision.request });
                self.receive(&payload);
            }
            Up::Ready | Up::Display { .. } | Up::Running(_) if self.hub_answers => {
                let report = Report { held: 0, queued: 0, sent: 0, last_s: None, clock_s: None };
                let payload = self.hub.seal(&Down::Status(report));
                self.receive(&payload);
            }
            _ => {}
        }
    }

    fn draw(&mut self) {
        let screen = self.device.screen(Millis(self.now));
        let shown = if self.display_works { Ok(()) } else { Err(NotShown) };
        self.device.drawn(Millis(self.now), &screen, shown);
    }

    /// Time passes. The device is woken only when it asked for it, as by the event loop.
    pub(super) fn wait(&mut self, milliseconds: u64) {
        let end = self.now + milliseconds;
        while self.now < end {
            let next = self.device.next_tick(Millis(self.now)).map_or(end, |next| next.0.min(end));
            self.now = next.max(self.now + 1);
            self.device.tick(Millis(self.now));
            self.pump();
            self.draw();
        }
    }

    pub(super) fn edge(&mut self, button: Button, edge: Edge) {
        self.device.button(Millis(self.now), button, edge);
        self.pump();
        self.draw();
    }

    pub(super) fn hold(&mut self, milliseconds: u64) {
        self.edge(Button::Approve, Edge::Pressed);
        self.wait(milliseconds);
        self.edge(Button::Approve, Edge::Released);
    }
}
