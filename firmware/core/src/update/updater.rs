//! The updates of a device with two slots.

mod offer;
mod trial;

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::{
    frame::{Down, NotTaken, Progress, Running, State, Up},
    update::{ImageId, Version, image::HEAD_BYTES},
};
use heapless::Deque;

use super::{
    Firmware, Moment, Updates,
    taking::{Release, Step, Taking},
    trust::Trust,
};
use crate::{
    Millis,
    slots::{Parts, Slot, Slots, Start, Whole},
};

/// A trial is over, and the device restarts, if the firmware has not confirmed itself by then. A watchdog of the board's, which nobody
/// feeds, does the same for firmware that hangs.
pub const TRIAL_MS: u64 = 180_000;
/// Firmware on trial is good once everything has worked for so long.
pub const PROOF_MS: u64 = 10_000;
/// A flash that did not take the confirmation is tried again after so long.
const CONFIRM_RETRY_MS: u64 = 1_000;
/// Between the hold of Approve and the restart: the hub hears of it, and a person sees it.
const FAREWELL_MS: u64 = 1_000;
/// The image on trial when its record cannot be read.
const UNKNOWN_IMAGE: ImageId = [0; 8];
/// Frames that wait to be sent.
const QUEUE: usize = 4;

/// What a start of the device came to.
#[derive(Debug)]
// It exists once; a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum Started<F> {
    /// Go on with this.
    Run(Updater<F>),
    /// Reset the device now: the firmware before is started.
    Restart,
}

/// What is under way.
#[derive(Debug)]
// It exists once; a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
enum Stage<F> {
    Nothing,
    Taking(Taking<F>),
    /// A person is asked.
    Asking(Release, Whole),
    /// The next start is a trial.
    Installing {
        restart_at: Millis,
    },
}

/// The updates of a device with two slots.
#[derive(Debug)]
pub struct Updater<F> {
    slots: Slots<F>,
    trust: Trust<F>,
    firmware: Firmware,
    state: State,
    stage: Stage<F>,
    /// When what is under way expires. [`None`] unless the hub has offered it in this session: what it took back while there was no
    /// session is neither asked about nor installed.
    offered_until: Option<Millis>,
    /// A person said no to this image: not asked again unless the hub says that somebody wants it.
    declined: Option<ImageId>,
    outbound: Deque<Up, QUEUE>,
    /// The hub has answered since it heard in this session what runs.
    answered: bool,
    /// Since when everything has worked that firmware on trial must show.
    works_since: Option<Millis>,
}

impl<F: NorFlash + Clone> Updater<F> {
    /// Counts this start. The first thing that a device does; `running` is the slot that it knows itself to be in.
    pub fn start(parts: Parts<F>, running: Slot, firmware: Firmware) -> Started<F> {
        let trust = Trust::new(parts.storage.clone(), firmware.root);
        let mut slots = Slots::new(parts, running);
        let state = match slots.at_start() {
            Ok(Start::Restart) => return Started::Restart,
            Ok(Start::WentBack(image)) => State::WentBack(image),
            Ok(Start::Trial { image, .. }) => State::Trial(image),
            Ok(Start::Settled) => State::Settled,
            // A start that could not be counted is one of a trial all the same, and so is one of which nothing can be read.
            Err(_) => State::Trial(UNKNOWN_IMAGE),
        };
        let mut updater = Self {
            slots,
            trust,
            firmware,
            state,
            stage: Stage::Nothing,
            offered_until: None,
            declined: None,
            outbound: Deque::new(),
            answered: false,
            works_since: None,
        };
        updater.look_again();
        // What fails here is done at the next start, and before anything new is taken.
        let _ = updater.catch_up();
        Started::Run(updater)
    }

    fn say(&mut self, frame: Up) {
        if self.outbound.is_full() {
            self.outbound.pop_front();
        }
        let _ = self.outbound.push_back(frame);
    }

    fn say_progress(&mut self, image: ImageId, progress: Progress) {
        self.say(Up::Update { image, progress });
    }

    fn running(&mut self) -> Running {
        let Firmware { board, version, .. } = self.firmware;
        let root = self.trust.root().ok().flatten().map_or(0, |root| root.version());
        let floor = self.trust.floor().unwrap_or_default();
        Running { board, version, floor, root, state: self.state }
    }

    fn act_on(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Say(frame) => self.say(frame),
            Step::Whole => self.ask(),
            Step::Failed(why) => self.give_up(why),
        }
    }

    fn give_up(&mut self, why: NotTaken) {
        let under_way = match &self.stage {
            Stage::Taking(taking) => Some(taking.release.image),
            Stage::Asking(release, _) => Some(release.image),
            Stage::Nothing | Stage::Installing { .. } => None,
        };
        if let Some(image) = under_way {
            self.say_progress(image, Progress::Refused(why));
        }
        self.drop_offer();
    }

    /// All of the image is there: a person is asked.
    fn ask(&mut self) {
        let Stage::Taking(taking) = core::mem::replace(&mut self.stage, Stage::Nothing) else { return };
        let release = taking.release;
        let asks = match taking.into_whole() {
            Some(whole) => self.fits(&whole, release.version).map(|()| whole),
            None => Err(NotTaken::Flash),
        };
        match asks {
            Ok(whole) => {
                self.stage = Stage::Asking(release, whole);
                self.say_progress(release.image, Progress::Asking);
            }
            Err(why) => self.say_progress(release.image, Progress::Refused(why)),
        }
    }

    /// Whether the image is one for this board, and of this version.
    fn fits(&mut self, whole: &Whole, version: Version) -> Result<(), NotTaken> {
        let mut head = [0; HEAD_BYTES];
        self.slots.read_head(whole, &mut head).map_err(|_| NotTaken::Flash)?;
        self.firmware.image.fits(&head, version).map_err(NotTaken::Unfit)
    }

    fn install(&mut self, now: Millis, release: Release, whole: Whole) {
        let prepared = self.trust.prepare(release.image, release.floor, self.firmware.version);
        if prepared.and_then(|()| self.slots.switch(whole)).is_err() {
            self.drop_offer();
            return self.say_progress(release.image, Progress::Refused(NotTaken::Flash));
        }
        self.say_progress(release.image, Progress::Installing);
        self.stage = Stage::Installing { restart_at: now.after(FAREWELL_MS) };
    }
}

impl<F: NorFlash + Clone> Updates for Updater<F> {
    fn begin_session(&mut self, _now: Millis) -> Option<Running> {
        self.outbound.clear();
        self.answered = false;
        self.offered_until = None;
        self.look_again();
        if let Stage::Taking(taking) = &mut self.stage {
            taking.end_session();
        }
        Some(self.running())
    }

    fn received(&mut self, now: Millis, frame: &Down<'_>, moment: Moment) {
        match *frame {
            Down::Status(_) => self.answered = true,
            Down::Root(file) => {
                // Whether it was taken is told by its version. It does not vouch for what the one before did. If the flash failed it may
                // be the one that counts at the next look.
                if !matches!(self.trust.take_root(file), Ok(false)) {
                    self.drop_offer();
                }
                let running = self.running();
                self.say(Up::Running(running));
            }
            Down::Manifest { signed, utc, again } => self.offered(now, signed, utc, again),
            Down::Block { part, offset, bytes } => {
                // One that comes while the device has no time for it is asked for again.
                let Stage::Taking(taking) = &mut self.stage else { return };
                if moment.is_quiet(now) {
                    let step = taking.arrived(part, offset, bytes);
                    self.act_on(step);
                }
            }
            Down::NoUpdate => self.drop_offer(),
            _ => {}
        }
    }

    fn tick(&mut self, now: Millis, moment: Moment) {
        self.prove(now, moment);
        self.expire(now);
        if moment.is_ready
            && self.offered_until.is_some()
            && moment.is_quiet(now)
            && let Stage::Taking(taking) = &mut self.stage
        {
            let step = taking.step(now);
            self.act_on(step);
        }
    }

    fn next_tick(&self, now: Millis, moment: Moment) -> Option<Millis> {
        let work = match &self.stage {
            Stage::Taking(taking) if moment.is_ready && self.offered_until.is_some() => {
                moment.quiet_at.map(|quiet| quiet.max(taking.next_step(now)))
            }
            Stage::Asking(..) => self.offered_until,
            Stage::Installing { restart_at } => Some(*restart_at),
            _ => None,
        };
        [work, self.next_proof(now, moment)].into_iter().flatten().min()
    }

    fn next_frame(&mut self) -> Option<Up> {
        self.outbound.pop_front()
    }

    fn question(&self) -> Option<Version> {
        match &self.stage {
            Stage::Asking(release, _) if self.offered_until.is_some() => Some(release.version),
            _ => None,
        }
    }

    fn answer(&mut self, now: Millis, install: bool) {
        self.expire(now);
        if self.question().is_none() {
            return;
        }
        match core::mem::replace(&mut self.stage, Stage::Nothing) {
            Stage::Asking(release, whole) if install => self.install(now, release, whole),
            Stage::Asking(release, _) => {
                self.declined = Some(release.image);
                self.say_progress(release.image, Progress::Declined);
            }
            stage => self.stage = stage,
        }
    }

    fn percent(&self) -> Option<u8> {
        match &self.stage {
            Stage::Taking(taking) if self.offered_until.is_some() => Some(taking.percent()),
            _ => None,
        }
    }

    fn is_installing(&self) -> bool {
        matches!(self.stage, Stage::Installing { .. })
    }

    fn is_on_trial(&self) -> bool {
        matches!(self.state, State::Trial(_))
    }

    fn restarts(&self, now: Millis) -> bool {
        match self.stage {
            Stage::Installing { restart_at } => now >= restart_at,
            _ => self.is_on_trial() && now >= Millis(TRIAL_MS),
        }
    }
}
