//! Whether the firmware that runs is good, and what follows from that.

use embedded_storage::nor_flash::NorFlash;
use gatepost_link::frame::{State, Up};

use super::{CONFIRM_RETRY_MS, PROOF_MS, TRIAL_MS, UNKNOWN_IMAGE, Updater};
use crate::{
    Millis,
    storage::flash::FlashError,
    update::{Moment, Updates as _},
};

impl<F: NorFlash + Clone> Updater<F> {
    /// Finds out which image is on trial, if it could not be read before.
    pub(super) fn look_again(&mut self) {
        if self.state == State::Trial(UNKNOWN_IMAGE)
            && let Ok(on_trial) = self.slots.on_trial()
        {
            self.state = on_trial.map_or(State::Settled, State::Trial);
        }
    }

    /// Does what follows from the last trial, once more if the power was cut: the floor rises, what is below it is erased, and an image
    /// that went back is remembered.
    pub(super) fn catch_up(&mut self) -> Result<(), FlashError<F::Error>> {
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

    fn all_works(&self, moment: Moment) -> bool {
        moment.is_ready && moment.display_works && self.answered
    }

    /// When firmware on trial must look at itself.
    pub(super) fn next_proof(&self, now: Millis, moment: Moment) -> Option<Millis> {
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
    pub(super) fn prove(&mut self, now: Millis, moment: Moment) {
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
