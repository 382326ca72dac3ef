//! New firmware over the air: what is taken, when, who is asked, and when it counts as good.
//!
//! The hub offers a release; the device judges it by its own root ([`trust`]), fetches it block by block while nobody needs
//! the screen ([`taking`]), and then asks a person with a card of its own: only a hold of Approve installs it, so that a hub in
//! hostile hands cannot restart an approver at will. It asks only in a session in which the hub has offered that image: what was paused, stopped
//! or replaced meanwhile is not installed. After the restart the new firmware is on trial until it has shown that it can
//! do its work ([`updater`]); else the device goes back, if need be by its watchdog ([`watched`]). The way of the bytes and of the trial through the flash is
//! [`slots`](crate::slots).
//!
//! Nothing that a trial writes is unreadable to the firmware before it: what rises for good, the floor and the version of the link,
//! rises when the trial is over.

pub mod taking;
pub mod trust;
pub mod updater;
pub mod watched;

use gatepost_link::{
    frame::{Down, Running, Up},
    update::{
        Label, Version,
        image::{self, ESP_MAGIC, FLAT_MAGIC, HEAD_BYTES},
        rule::{Device, Unfit},
    },
};

pub use self::{
    updater::{Started, Updater},
    watched::Watched,
};
use crate::{
    Millis,
    slots::{flat::Header, partitions::SLOT_BYTES},
};

/// What runs on this device, and what may run on it.
#[derive(Debug, Clone, Copy)]
pub struct Firmware {
    /// The board.
    pub board: Label,
    /// The version that runs.
    pub version: Version,
    /// When it was built, in seconds since 1970, UTC.
    pub built: u64,
    /// Bytes of a slot.
    pub slot: u32,
    /// What an image for this board begins with.
    pub image: ImageKind,
    /// The first root, a [`RootFile`](gatepost_link::update::root::RootFile); [`None`] for a device that takes no updates.
    pub root: Option<&'static [u8]>,
}

impl Firmware {
    /// The firmware of an emulated board whose image has this header; `root` is its first root.
    pub const fn emulated(board: Label, header: &Header, root: &'static [u8]) -> Self {
        let Header { version, built, .. } = *header;
        Self { board, version, built, slot: SLOT_BYTES, image: ImageKind::Flat, root: Some(root) }
    }

    /// The device, as the rule asks for it.
    fn device(&self, floor: Version) -> Device {
        let Self { board, version, built, slot, .. } = *self;
        Device { board, running: version, floor, slot, built }
    }
}

/// What an image begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// An image of ESP-IDF's: the byte 0xE9, and the chip's number at offset 12, little-endian
    /// (<https://docs.espressif.com/projects/esptool/en/latest/esp32c3/advanced-topics/firmware-image-format.html>).
    Esp {
        /// The chip's number: 5 for the ESP32-C3, 13 for the ESP32-C6.
        chip: u16,
    },
    /// An emulated board's ([`flat`](crate::slots::flat)).
    Flat,
}

impl ImageKind {
    /// Whether an image that begins so is for this board, and of this version. A signature says who made it, and not that it was the right
    /// file.
    pub fn fits(self, head: &[u8; HEAD_BYTES], version: Version) -> Result<(), Unfit> {
        let is_ours = match self {
            Self::Esp { chip } => head[0] == ESP_MAGIC && head[12..14] == chip.to_le_bytes(),
            Self::Flat => head.starts_with(&FLAT_MAGIC),
        };
        match image::version(head) {
            _ if !is_ours => Err(Unfit::NotForUs),
            Some(found) if found == version => Ok(()),
            _ => Err(Unfit::OtherVersion),
        }
    }
}

/// What the rest of the device is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// There is a session.
    pub is_ready: bool,
    /// From when on no card is open or waits, and nobody has touched a button for a while: then work may stall the chip for some 50 ms.
    /// [`None`] while one is.
    pub quiet_at: Option<Millis>,
    /// The display accepted the last drawing.
    pub display_works: bool,
}

impl Moment {
    /// Whether there is time for work.
    fn is_quiet(&self, now: Millis) -> bool {
        self.quiet_at.is_some_and(|at| now >= at)
    }
}

/// The updates of a device, as the companion drives them. [`NoUpdates`] if it takes none.
pub trait Updates {
    /// What to tell the hub when a session begins, before anything else of updates; [`None`] if the device takes none. What was
    /// offered, asked for, or asked about in an earlier session is void.
    fn begin_session(&mut self, now: Millis) -> Option<Running>;

    /// Handles a frame of the session. It may contain anything; what is not of updates is looked at for whether the hub answers.
    fn received(&mut self, now: Millis, frame: &Down<'_>, moment: Moment);

    /// Does the next short step, if it is time to: one sector is erased at most.
    fn tick(&mut self, now: Millis, moment: Moment);

    /// When [`Updates::tick`] has something to do.
    fn next_tick(&self, now: Millis, moment: Moment) -> Option<Millis>;

    /// The next frame to send.
    fn next_frame(&mut self) -> Option<Up>;

    /// The version whose installation a person is to decide on: one that the hub has offered in this session.
    fn question(&self) -> Option<Version>;

    /// A person decided on it: `true` after a hold of Approve.
    fn answer(&mut self, now: Millis, install: bool);

    /// How much of an image is there, in percent, while one is being fetched.
    fn percent(&self) -> Option<u8>;

    /// Whether what runs has still to show that it works. Nothing may be stored then that the firmware before cannot read.
    fn is_on_trial(&self) -> bool;

    /// Whether a person said yes, and the device restarts in a moment.
    fn is_installing(&self) -> bool;

    /// Whether the device is to be restarted now.
    fn restarts(&self, now: Millis) -> bool;
}

/// A device that takes no updates, such as the companion in a terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUpdates;

impl Updates for NoUpdates {
    fn begin_session(&mut self, _: Millis) -> Option<Running> {
        None
    }

    fn received(&mut self, _: Millis, _: &Down<'_>, _: Moment) {}

    fn tick(&mut self, _: Millis, _: Moment) {}

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
        false
    }

    fn is_installing(&self) -> bool {
        false
    }

    fn restarts(&self, _: Millis) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
