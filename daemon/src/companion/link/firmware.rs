//! What companions are told of releases, and what they say of their firmware: between their sessions and [`crate::updates`], which
//! decides.

use std::time::Instant;

use gatepost_link::{
    frame::{Down, Part, Progress, Running},
    update::ImageId,
};

use super::Serving;
use crate::{
    companion::session::Session,
    store::now_ms,
    updates::{
        Unheard,
        serve::{Gets, Say, Serving as Served, Unserved},
    },
};

/// One companion's side of updates, on one connection to the broker.
#[derive(Debug, Default)]
pub(super) struct Side {
    serving: Served,
    /// It has said what it runs on this connection; if it says so in a new session, it went and came back.
    has_run: bool,
    /// A session has begun, and it has not said what it runs.
    is_new: bool,
}

impl Side {
    /// A session begins: nothing that was said before counts.
    pub(super) fn begin(&mut self) {
        self.serving = Served::default();
        self.is_new = true;
    }

    /// The companion says what it runs; whether it has restarted, as far as the hub could see.
    fn runs(&mut self, running: Running) -> bool {
        self.serving.running(running.root);
        let restarted = self.has_run && self.is_new;
        (self.has_run, self.is_new) = (true, false);
        restarted
    }

    /// The companion asks for a block.
    pub(super) fn asked(
        &mut self,
        session: &mut Session,
        now: Instant,
        part: Part,
        offset: u32,
        length: u16,
    ) {
        match self.serving.asked(now, part, offset, length) {
            Ok(()) => {}
            Err(Unserved::OutOfBounds) => session.nonsense(),
            // It may not have heard that the offer is over.
            Err(Unserved::NothingOffered) => {
                session.nonsense();
                session.update_firmware(now, &Down::NoUpdate);
            }
        }
    }

    /// Says the block that was asked for, if it may leave by now; whether one was said.
    pub(super) fn say_block(&mut self, session: &mut Session, now: Instant) -> bool {
        let Some((part, offset, bytes)) = self.serving.next_block(now) else { return false };
        session.update_firmware(now, &Down::Block { part, offset, bytes });
        true
    }

    /// When [`Self::say_block`] has one.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.serving.next_at()
    }

    /// The companion gets this now; what it was told that is to be written down.
    fn follow(&mut self, session: &mut Session, now: Instant, gets: &Gets) -> Option<(Say, i64)> {
        let mut told = None;
        while let Some(say) = self.serving.follow(gets.clone()) {
            match &say {
                Say::Root(file) => session.update_firmware(now, &Down::Root(file)),
                Say::Manifest { signed, again } => {
                    let utc = u64::try_from(now_ms() / 1000).unwrap_or(0);
                    session.update_firmware(now, &Down::Manifest { signed, utc, again: *again });
                }
                // What it may still ask from before is not what it is to have.
                Say::NoUpdate | Say::Stuck => session.update_firmware(now, &Down::NoUpdate),
            }
            told = Some(say);
        }
        match gets {
            Gets::This(offer) => Some((told?, offer.package.release)),
            Gets::Nothing | Gets::Soon(_) => None,
        }
    }
}

impl Serving {
    /// A companion says what it runs: it is written down, and the companion is told what it gets.
    pub(super) async fn runs(&mut self, topic: &str, running: Running) {
        let Some(companion) = self.companions.get_mut(topic) else { return };
        let (device, name) = (companion.device.key, companion.device.name.clone());
        let restarted = companion.firmware.runs(running);
        match self.updates.running(device, running, restarted).await {
            Ok(()) => {}
            Err(Unheard::Nonsense(error)) => {
                tracing::warn!(companion = name, %error, "a companion's firmware is not believed");
                companion.session.nonsense();
                companion.firmware.serving = Served::default();
                companion.session.update_firmware(Instant::now(), &Down::NoUpdate);
            }
            Err(Unheard::Store(error)) => {
                tracing::error!(companion = name, %error, "cannot write down what a companion runs");
            }
        }
        self.offer_firmware().await;
    }

    /// A companion says how far it is.
    pub(super) async fn reports(&mut self, topic: &str, image: ImageId, progress: Progress) {
        let Some(companion) = self.companions.get_mut(topic) else { return };
        let Some(release) = companion.firmware.serving.release(image) else {
            // It may not have heard that the offer is over.
            companion.session.nonsense();
            return;
        };
        match self.updates.reported(companion.device.key, release, progress).await {
            Ok(()) => {}
            Err(Unheard::Nonsense(_)) => companion.session.nonsense(),
            Err(Unheard::Store(error)) => {
                let name = companion.device.name.as_str();
                tracing::error!(companion = name, %error, "cannot write down how far an update is");
            }
        }
        if !matches!(progress, Progress::Taking { .. }) {
            self.offer_firmware().await;
        }
    }

    /// The same as [`Self::offer_firmware`], if anybody is offered anything: for what can only take an offer away.
    pub(super) async fn follow_offers(&mut self) {
        if self.companions.values().any(|companion| companion.firmware.serving.has_said()) {
            self.offer_firmware().await;
        }
    }

    /// Offers releases to the companions whose turn it is, and tells those whose turn it is not any more.
    pub(super) async fn offer_firmware(&mut self) {
        let mut offers = match self.updates.offers().await {
            Ok(offers) => offers,
            Err(error) => return tracing::error!(%error, "cannot read which releases are rolled out"),
        };
        let now = Instant::now();
        for companion in self.companions.values_mut() {
            let device = companion.device.key;
            let gets = offers.remove(&device).unwrap_or(Gets::Nothing);
            let said = companion.firmware.follow(&mut companion.session, now, &gets);
            let written = match said {
                Some((Say::Manifest { .. }, release)) => self.updates.offered(device, release).await,
                Some((Say::Stuck, release)) => self.updates.stuck(device, release).await,
                _ => Ok(()),
            };
            if let Err(error) = written {
                let name = companion.device.name.as_str();
                tracing::error!(companion = name, %error, "cannot write down what a companion was offered");
            }
        }
    }
}
