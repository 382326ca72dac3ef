//! What a person at the hub wants of a pairing, is shown, and is told.

use std::time::Duration;

use gatepost_link::{
    decision::PublicKey,
    pairing::{Code, PairingError},
};
use tokio::sync::oneshot;

use crate::approval::{device::Device, registry::DeviceError};

/// How long the hub waits for a device.
pub const WAIT: Duration = Duration::from_secs(60);
/// How long the number is shown, and both persons may take.
pub const CONFIRM: Duration = Duration::from_millis(gatepost_link::pairing::CONFIRM);

/// Why no companion was paired.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// Another pairing is under way.
    #[error("a companion is being paired already: wait a minute, or finish that first")]
    Busy,
    /// No device came.
    #[error(
        "no device asked to be paired within {} s: is it on, in the same network, and does it show \"not paired\"?",
        WAIT.as_secs()
    )]
    Nobody,
    /// A person took too long.
    #[error("nobody confirmed the number on both sides within {} s: pair again", CONFIRM.as_secs())]
    Late,
    /// The person at the device said no.
    #[error("the person at the device said that the number is another one: somebody may stand between")]
    Declined,
    /// The person at the hub said no, or stopped.
    #[error(
        "nothing was paired: nobody said that the number at the device is the same; if it was another one, somebody may stand between"
    )]
    Refused,
    /// The caller closed its connection while it waited for the device.
    #[error("the caller closed the connection before a companion was paired")]
    Left,
    /// The number given is not the one shown.
    #[error("no companion waits for this number")]
    Unknown,
    /// Somebody stands between.
    #[error(transparent)]
    Between(PairingError),
    /// Somebody disturbs.
    #[error(
        "the attempt was disturbed by messages that were not the device's: somebody is on the broker; pair again"
    )]
    Disturbed,
    /// It speaks an older version of the link.
    #[error(
        "the firmware of the device that asked to be paired is too old: update it by cable (firmware/README.md), then pair it"
    )]
    Firmware,
    /// It is a program, and those may not decide here.
    #[error(
        "this companion is software: set [approval] allow_software_companion = true and restart the hub, if it may decide"
    )]
    Program,
    /// It cannot be registered.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The connection to the broker broke, or the hub stops.
    #[error("the connection to the MQTT broker broke: pair again")]
    Broken,
}

/// What a person at the hub is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The number.
    pub code: Code,
    /// The device's key.
    pub device: PublicKey,
    /// Whether it is a program.
    pub program: bool,
}

/// The caller that waits for the outcome.
pub(super) type Reply<T> = oneshot::Sender<Result<T, PairError>>;

/// What a person at the hub wants.
pub(in crate::companion) enum Order {
    /// To pair a companion.
    Open(Reply<Shown>),
    /// To answer what was shown.
    Answer {
        /// The number that was shown.
        code: u32,
        /// Whether the device shows the same.
        same: bool,
        /// What to call it.
        name: Option<String>,
        /// The caller that waits.
        reply: Reply<Device>,
    },
}
