//! What is offered, and until when that counts: in one session, by the root and the time of now.

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::{
    frame::{NotTaken, Progress},
    update::{Manifest, Signed, image_id, rule},
};

use super::{Stage, Updater};
use crate::{
    Millis,
    slots::{self, StoreError},
    storage::flash::FlashError,
    update::{
        Updates as _,
        taking::{Release, Taking},
    },
};

impl<F: NorFlash + Clone> Updater<F> {
    /// A release is offered: takes it, or says why not. What is under way is judged again: root and time may be others now.
    pub(super) fn offered(&mut self, now: Millis, signed: &[u8], utc: u64, again: bool) {
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
    pub(super) fn drop_offer(&mut self) {
        if !self.is_installing() {
            self.stage = Stage::Nothing;
            self.offered_until = None;
        }
    }

    /// Drops what has expired since it was offered.
    pub(super) fn expire(&mut self, now: Millis) {
        if self.offered_until.is_some_and(|until| now >= until) {
            self.give_up(NotTaken::Unfit(rule::Unfit::Expired));
        }
    }
}
