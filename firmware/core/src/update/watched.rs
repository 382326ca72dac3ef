//! Updates of a board whose watchdog runs while new firmware is on trial.
//!
//! Nobody feeds it: firmware that works well enough to feed a watchdog may still not do its work. It is stopped once, when the
//! firmware has confirmed itself.

use gatepost_link::{
    frame::{Down, Running, Up},
    update::Version,
};

use super::{Moment, Updates};
use crate::Millis;

/// Updates that stop the board's watchdog when the trial is over.
#[derive(Debug)]
pub struct Watched<U, F> {
    updates: U,
    stop: Option<F>,
}

impl<U: Updates, F: FnOnce()> Watched<U, F> {
    /// `stop` is called when the trial is over, and never if this start is not one of a trial.
    pub fn new(updates: U, stop: F) -> Self {
        let stop = updates.is_on_trial().then_some(stop);
        Self { updates, stop }
    }
}

impl<U: Updates, F: FnOnce()> Updates for Watched<U, F> {
    fn begin_session(&mut self, now: Millis) -> Option<Running> {
        self.updates.begin_session(now)
    }

    fn received(&mut self, now: Millis, frame: &Down<'_>, moment: Moment) {
        self.updates.received(now, frame, moment);
    }

    fn tick(&mut self, now: Millis, moment: Moment) {
        self.updates.tick(now, moment);
        if !self.updates.is_on_trial()
            && let Some(stop) = self.stop.take()
        {
            stop();
        }
    }

    fn next_tick(&self, now: Millis, moment: Moment) -> Option<Millis> {
        self.updates.next_tick(now, moment)
    }

    fn next_frame(&mut self) -> Option<Up> {
        self.updates.next_frame()
    }

    fn question(&self) -> Option<Version> {
        self.updates.question()
    }

    fn answer(&mut self, now: Millis, install: bool) {
        self.updates.answer(now, install);
    }

    fn percent(&self) -> Option<u8> {
        self.updates.percent()
    }

    fn is_on_trial(&self) -> bool {
        self.updates.is_on_trial()
    }

    fn is_installing(&self) -> bool {
        self.updates.is_installing()
    }

    fn restarts(&self, now: Millis) -> bool {
        self.updates.restarts(now)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// On trial for so many ticks.
    struct OnTrial(u8);

    impl Updates for OnTrial {
        fn begin_session(&mut self, _: Millis) -> Option<Running> {
            None
        }

        fn received(&mut self, _: Millis, _: &Down<'_>, _: Moment) {}

        fn tick(&mut self, _: Millis, _: Moment) {
            self.0 = self.0.saturating_sub(1);
        }

        fn next_tick(&self, _: Millis, _: Moment) -> Option<Millis> {
            None
        }

        fn next_frame(&mut self) -> Option<Up> {
            None
        }

        fn question(&self) -> Option<Version> {
            None
        }

        fn answer(&mut self, _: Millis, _: bool) {}

        fn percent(&self) -> Option<u8> {
            None
        }

        fn is_on_trial(&self) -> bool {
            self.0 > 0
        }

        fn is_installing(&self) -> bool {
            false
        }

        fn restarts(&self, _: Millis) -> bool {
            false
        }
    }

    #[test]
    fn the_watchdog_is_stopped_once_and_not_before_the_trial_is_over() {
        let moment = Moment { is_ready: true, quiet_at: None, display_works: true };
        for (ticks, stopped) in [(3, [0, 0, 1, 1]), (0, [0; 4])] {
            let count = Cell::new(0);
            let mut watched = Watched::new(OnTrial(ticks), || count.set(count.get() + 1));
            for stopped in stopped {
                watched.tick(Millis(0), moment);
                assert_eq!(count.get(), stopped);
            }
        }
    }
}
