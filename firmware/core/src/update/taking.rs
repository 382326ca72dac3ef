//! A release on its way into the other slot: which piece is asked for, and what its arrival means.

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::{
    frame::{NotTaken, Part, Progress, Up},
    update::{ImageId, Manifest, Version, image_id},
};

use crate::{
    Millis,
    link::retry::Retry,
    slots::{Next, Piece, Store, StoreError, Whole},
};

/// Faults of the link's other end, or of the flash, after which a release is given up: a block that differs is asked for again.
const MAX_FAULTS: u8 = 5;
/// The hub hears after so many bytes how far it is.
const REPORT_BYTES: u32 = 64 * 1024;

/// What a device keeps of the manifest of a release that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Its image.
    pub image: ImageId,
    /// Its version.
    pub version: Version,
    /// The floor that comes with it.
    pub floor: Version,
}

impl Release {
    /// That of this manifest.
    pub fn of(manifest: &Manifest) -> Self {
        Self { image: image_id(&manifest.image), version: manifest.version, floor: manifest.floor }
    }
}

/// What a step led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing to say.
    Nothing,
    /// A frame for the hub.
    Say(Up),
    /// All of it is there.
    Whole,
    /// It is given up.
    Failed(NotTaken),
}

/// A release on its way.
#[derive(Debug)]
pub struct Taking<F> {
    /// What is taken.
    pub release: Release,
    store: Store<F>,
    size: u32,
    asked: Option<(Piece, Retry)>,
    faults: u8,
    reported: u32,
}

impl<F: NorFlash> Taking<F> {
    /// Takes a release whose manifest was verified.
    pub fn new(release: Release, size: u32, store: Store<F>) -> Self {
        Self { release, store, size, asked: None, faults: 0, reported: 0 }
    }

    /// What was asked for was asked in a session that is over.
    pub fn end_session(&mut self) {
        self.asked = None;
    }

    /// How much of it is there, in percent.
    pub fn percent(&self) -> u8 {
        (u64::from(self.store.taken()) * 100 / u64::from(self.size.max(1))) as u8
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress::Taking { done: self.store.taken(), of: self.size }
    }

    /// Does one short step.
    pub fn step(&mut self, now: Millis) -> Step {
        match self.store.next() {
            Next::Whole => Step::Whole,
            Next::Work => {
                let worked = self.store.work();
                self.after(worked)
            }
            Next::Piece(piece) => self.ask(now, piece),
        }
    }

    /// When [`Taking::step`] has something to do, if the device has time for it.
    pub fn next_step(&self, now: Millis) -> Millis {
        match (self.store.next(), self.asked) {
            (Next::Piece(piece), Some((asked, retry))) if asked == piece => retry.due_at(),
            _ => now,
        }
    }

    /// Handles a piece. What was not asked for is ignored: the answer may be late.
    pub fn arrived(&mut self, part: Part, offset: u32, bytes: &[u8]) -> Step {
        let Some((piece, _)) = self.asked else { return Step::Nothing };
        let is_asked = (piece.part, piece.offset) == (part, offset) && bytes.len() == piece.length as usize;
        if !is_asked || self.store.next() != Next::Piece(piece) {
            return Step::Nothing;
        }
        self.asked = None;
        let taken = self.store.take(part, offset, bytes);
        let step = self.after(taken);
        let taken = self.store.taken();
        // After a fault less is there than was reported.
        self.reported = self.reported.min(taken);
        if step == Step::Nothing && taken - self.reported >= REPORT_BYTES {
            self.reported = taken;
            return Step::Say(Up::Update { image: self.release.image, progress: self.progress() });
        }
        step
    }

    /// The image as it lies in the slot; [`None`] unless [`Step::Whole`] was returned.
    pub fn into_whole(self) -> Option<Whole> {
        self.store.into_whole()
    }

    fn ask(&mut self, now: Millis, piece: Piece) -> Step {
        match &mut self.asked {
            Some((asked, retry)) if *asked == piece => {
                if !retry.is_due(now) {
                    return Step::Nothing;
                }
            }
            _ => self.asked = Some((piece, Retry::new(now))),
        }
        let Piece { part, offset, length } = piece;
        Step::Say(Up::FetchBlock { part, offset, length: length as u16 })
    }

    fn after(&mut self, outcome: Result<(), StoreError<F::Error>>) -> Step {
        let Err(error) = outcome else { return Step::Nothing };
        self.faults = self.faults.saturating_add(1);
        let failed = match error {
            StoreError::Unasked | StoreError::Wrong(_) | StoreError::WrongImage => NotTaken::Hash,
            StoreError::Flash(_) | StoreError::Size | StoreError::OnTrial => NotTaken::Flash,
        };
        let goes_on = error.is_transient() && self.faults < MAX_FAULTS;
        // A block that differs is asked for anew, and at once.
        self.asked = None;
        if goes_on { Step::Nothing } else { Step::Failed(failed) }
    }
}
