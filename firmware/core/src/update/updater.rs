//! The updates of a device with two slots.

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::{
    frame::{Down, NotTaken, Progress, Running, State, Up},
    update::{ImageId, Manifest, Signed, Version, image::HEAD_BYTES, image_id, rule},
};
use heapless::Deque;

use super::{
    Firmware, Moment, Updates,
    taking::{Release, Step, Taking},
    trust::Trust,
};
use crate::{
    Millis,
    slots::{self, Parts, Slot, Slots, Start, StoreError, Whole},
    storage::flash::FlashError,
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

    /// Finds out which image is on trial, if it could not be read before.
    fn look_again(&mut self) {
        if self.state == State::Trial(UNKNOWN_IMAGE)
            && let Ok(on_trial) = self.slots.on_trial()
        {
            self.state = on_trial.map_or(State::Settled, State::Trial);
        }
    }

    /// Does what follows from the last trial, once more if the power was cut: the floor rises, what is below it is erased, and an image
    /// that went back is remembered.
    fn catch_up(&mut self) -> Result<(), FlashError<F::Error>> {
        match self.state {
            State::WentBack(image) => return self.trust.remember_failed(image),
            State::Trial(_) => return Ok(()),
            State::Settled => {}
        }
        let Some(image) = self.slots.confirmed()? else { return Ok(()) };
        let Some(is_below) = self.trust.confirm(image)? else { return Ok(()) };
        if is_below {
            self.slots.erase_other()?;
        }
        self.trust.finish()
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

    /// A release is offered: takes it, or says why not. What is under way is judged again: root and time may be others now.
    fn offered(&mut self, now: Millis, signed: &[u8], utc: u64, again: bool) {
        // What runs must be known for good before it is replaced: the other slot is its way back.
        if self.is_on_trial() || self.is_installing() {
            return;
        }
        let Some(signed) = Signed::from_bytes(signed) else { return };
        let image = signed.claimed_image();
        let admitted = self.admitted(&signed, now, utc);
        let progress = admitted.and_then(|(manifest, until)| {
            if self.declined == Some(image) && !again {
                self.drop_offer();
                return Ok(Progress::Declined);
            }
            self.declined.take_if(|declined| *declined == image);
            let progress = match &self.stage {
                Stage::Taking(taking) if taking.release == Release::of(&manifest) => taking.progress(),
                Stage::Asking(release, _) if *release == Release::of(&manifest) => Progress::Asking,
                _ => self.begin(&manifest, again)?,
            };
            self.offered_until = Some(until);
            Ok(progress)
        });
        if progress.is_err() {
            self.drop_offer();
        }
        self.say_progress(image, progress.unwrap_or_else(Progress::Refused));
    }

    /// The manifest, if the device takes it by its root and at this time, and when it expires.
    fn admitted(&mut self, signed: &Signed, now: Millis, utc: u64) -> Result<(Manifest, Millis), NotTaken> {
        let root = self.trust.root().map_err(|_| NotTaken::Flash)?.ok_or(NotTaken::Signature)?;
        let verified = signed.verified(&root).ok_or(NotTaken::Signature)?;
        let manifest = verified.manifest();
        let floor = self.trust.floor().map_err(|_| NotTaken::Flash)?;
        rule::admit(manifest, &root, &self.firmware.device(floor), utc).map_err(NotTaken::Unfit)?;
        let left = rule::expires(manifest, &root).saturating_sub(utc.max(self.firmware.built));
        Ok((*manifest, now.after(left.saturating_mul(1_000))))
    }

    /// Begins to take a release that was admitted.
    fn begin(&mut self, manifest: &Manifest, again: bool) -> Result<Progress, NotTaken> {
        self.catch_up().map_err(|_| NotTaken::Flash)?;
        if !again && self.has_failed(manifest).map_err(|_| NotTaken::Flash)? {
            return Err(NotTaken::WentBack);
        }
        let store = self.slots.store(slots::Release::from(manifest)).map_err(|error| match error {
            StoreError::Size => NotTaken::Unfit(rule::Unfit::TooLarge),
            _ => NotTaken::Flash,
        })?;
        let taking = Taking::new(Release::of(manifest), manifest.size, store);
        let progress = taking.progress();
        self.stage = Stage::Taking(taking);
        Ok(progress)
    }

    fn has_failed(&mut self, manifest: &Manifest) -> Result<bool, FlashError<F::Error>> {
        Ok(self.slots.went_back(&manifest.image)? || self.trust.has_failed(image_id(&manifest.image))?)
    }

    /// Nothing is offered any more. What lies in the slot stays there.
    fn drop_offer(&mut self) {
        if !self.is_installing() {
            self.stage = Stage::Nothing;
            self.offered_until = None;
        }
    }

    /// Drops what has expired since it was offered.
    fn expire(&mut self, now: Millis) {
        if self.offered_until.is_some_and(|until| now >= until) {
            self.give_up(NotTaken::Unfit(rule::Unfit::Expired));
        }
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

    fn all_works(&self, moment: Moment) -> bool {
        moment.is_ready && moment.display_works && self.answered
    }

    /// When firmware on trial must look at itself.
    fn next_proof(&self, now: Millis, moment: Moment) -> Option<Millis> {
        if !self.is_on_trial() {
            return None;
        }
        let end = Millis(TRIAL_MS).max(now.after(CONFIRM_RETRY_MS));
        if !self.all_works(moment) {
            return Some(end);
        }
        let proof = self.works_since.map_or(now, |since| since.after(PROOF_MS));
        // Past it, the flash did not take the confirmation.
        let is_late = self.works_since.is_some() && proof <= now;
        Some(end.min(if is_late { now.after(CONFIRM_RETRY_MS) } else { proof }))
    }

    /// Notes since when everything has worked that firmware on trial must show, and confirms the firmware in time.
    fn prove(&mut self, now: Millis, moment: Moment) {
        if !self.is_on_trial() {
            return;
        }
        if !self.all_works(moment) {
            self.works_since = None;
            return;
        }
        let since = *self.works_since.get_or_insert(now);
        if now.since(since) < PROOF_MS || self.slots.confirm().is_err() {
            return;
        }
        self.state = State::Settled;
        // If the flash fails here, the floor stays where it was until the next start.
        let _ = self.catch_up();
        let running = self.running();
        self.say(Up::Running(running));
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
