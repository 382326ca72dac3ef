//! How far an attempt to pair a companion has come.

use std::time::Instant;

use gatepost_link::{
    pairing::{Agreed, FromHub, Host},
    topic::Attempt,
};

use crate::approval::device::Device;

// There is one at a time.
#[allow(clippy::large_enum_variant)]
pub(super) enum Stage {
    Waiting,
    Greeted {
        attempt: Attempt,
        first: Vec<u8>,
        host: Box<Host>,
    },
    /// The number is known, the kind of device not yet.
    Agreed {
        attempt: Attempt,
        agreed: Agreed,
    },
    Shown {
        attempt: Attempt,
        agreed: Agreed,
        program: bool,
    },
    /// The login was given.
    Given {
        attempt: Attempt,
        agreed: Agreed,
        device: Device,
        login: FromHub,
        again: Instant,
    },
    Over,
}

impl Stage {
    /// What was agreed on with the device, once there is something.
    pub(super) fn agreed(&mut self) -> Option<(Attempt, &mut Agreed)> {
        match self {
            Self::Agreed { attempt, agreed }
            | Self::Shown { attempt, agreed, .. }
            | Self::Given { attempt, agreed, .. } => Some((*attempt, agreed)),
            Self::Waiting | Self::Greeted { .. } | Self::Over => None,
        }
    }
}
