//! A board in QEMU with a hub that offers it firmware, as a test drives it through an update.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost_link::frame::{Progress, State, Up};

use super::ReleasingHub;
use crate::{
    peers::qemu::{
        Qemu,
        flash::{Flash, Kept},
    },
    release::Release,
};

/// How long a step of an update may take while several boards share the processor.
pub const LONG: Duration = Duration::from_secs(240);
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until there is something to see, for at most [`LONG`].
///
/// # Errors
/// There was nothing, or looking failed.
pub fn within_long<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        ensure!(start.elapsed() < LONG, "{what}: not within {LONG:?}");
        thread::sleep(PAUSE);
    }
}

/// The board and its hub.
pub struct UpdatingBoard {
    /// The hub.
    pub hub: ReleasingHub,
    flash: Flash,
    before: Kept,
    qemu: Option<Qemu>,
}

impl UpdatingBoard {
    /// A board with the firmware as it is built, switched off. The hub offers it this release.
    ///
    /// # Errors
    /// The firmware does not build.
    pub fn new(release: &Release) -> Result<Self> {
        let hub = ReleasingHub::start()?;
        hub.offers(release);
        let flash = Flash::paired(hub.port(), hub.keys(), hub.bond())?;
        let before = flash.kept()?;
        Ok(Self { hub, flash, before, qemu: None })
    }

    /// The flash.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The board itself.
    ///
    /// # Errors
    /// It is switched off.
    pub fn qemu(&mut self) -> Result<&mut Qemu> {
        self.qemu.as_mut().context("the board is switched off")
    }

    /// Switches it on. What the hub heard before is forgotten.
    ///
    /// # Errors
    /// It does not start.
    pub fn switch_on(&mut self) -> Result<()> {
        self.hub.forget();
        self.qemu = Some(Qemu::start(&self.flash)?);
        Ok(())
    }

    /// Takes its power, without a warning.
    ///
    /// # Errors
    /// It is switched off.
    pub fn cut_power(&mut self) -> Result<()> {
        self.qemu.take().context("the board is switched off")?.kill()
    }

    /// What it said on its serial line since it was switched on.
    ///
    /// # Errors
    /// It is switched off.
    pub fn log(&self) -> Result<String> {
        Ok(self.qemu.as_ref().context("the board is switched off")?.log())
    }

    /// The last view that it named there.
    ///
    /// # Errors
    /// It is switched off.
    pub fn view(&self) -> Result<String> {
        Ok(self.qemu.as_ref().context("the board is switched off")?.view())
    }

    /// Whether a hold of Approve would install the release now.
    ///
    /// # Errors
    /// It is switched off.
    pub fn asks(&self) -> Result<bool> {
        let view = self.view()?;
        Ok(view.starts_with("Question") && view.contains("armed: true"))
    }

    /// Whether the hub heard in this life of the board how far the update is.
    pub fn told(&self, wanted: Progress) -> bool {
        let heard = self.hub.heard();
        heard.iter().any(|(_, up)| matches!(up, Up::Update { progress, .. } if *progress == wanted))
    }

    /// Where it stands with its firmware, as the hub last heard it in this life of the board.
    pub fn state(&self) -> Option<State> {
        self.hub.running().map(|running| running.state)
    }

    /// Waits until it is as wanted, and holds Approve whenever it asks for that meanwhile.
    ///
    /// # Errors
    /// It did not become so.
    pub fn goes_on_until(&mut self, what: &str, wanted: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while !wanted(self)? {
            if self.asks()? {
                self.qemu()?.hold()?;
            }
            if start.elapsed() > LONG {
                bail!("{what}: not within {LONG:?}; the board said:\n{}", self.log()?);
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Checks that it lost nothing that it keeps. It must be switched off.
    ///
    /// # Errors
    /// It did.
    pub fn is_whole(&self) -> Result<()> {
        let Kept { keys, bond, counter, .. } = self.flash.kept()?;
        ensure!(keys.as_ref() == Some(self.hub.keys()), "other keys");
        ensure!(bond.as_ref() == Some(self.hub.bond()), "another bond");
        ensure!(counter > self.before.counter, "the counter went back: {counter}");
        Ok(())
    }
}
