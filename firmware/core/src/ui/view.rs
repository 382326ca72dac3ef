//! What the screen is about, as structure: for lights, tests and whoever acts on it.

use gatepost_link::{
    RequestId,
    decision::Verdict,
    frame::{Refusal, Withdrawal},
    update::Version,
};

/// What the screen is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// There is no link.
    Offline,
    /// The link is up; the hub has not answered yet.
    Connecting,
    /// Nothing waits.
    Idle,
    /// A card's document is being fetched.
    Fetching {
        /// The request that it belongs to.
        request: RequestId,
    },
    /// A card is open.
    Card(CardView),
    /// A decision is being sent to the hub.
    Sending {
        /// The request decided on.
        request: RequestId,
        /// What was decided.
        verdict: Verdict,
    },
    /// The hub has taken the decision.
    Done {
        /// The request decided on.
        request: RequestId,
        /// What was decided.
        verdict: Verdict,
    },
    /// A card was denied, and its agent is not to ask for a while.
    Muted {
        /// The request that was denied.
        request: RequestId,
    },
    /// A card closed without a decision that counts.
    Closed {
        /// Its request.
        request: RequestId,
        /// Why.
        why: Ended,
    },
    /// The device is not paired with a hub.
    Unpaired,
    /// The device is being paired with a hub: both show a number, and a person confirms that they are equal.
    Pairing {
        /// The number, below 1,000,000.
        code: u32,
        /// Whether the person has confirmed it on this device.
        confirmed: bool,
    },
    /// New firmware is there, and a person is asked whether to install it.
    Question {
        /// Its version.
        version: Version,
        /// Whether a hold of Approve that begins now installs it.
        armed: bool,
    },
    /// The device restarts with new firmware.
    Installing,
    /// The device itself has a fault.
    Fault(Fault),
}

/// An open card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardView {
    /// The request to decide on.
    pub request: RequestId,
    /// The number of the page on the screen, from 1.
    pub page: u16,
    /// The number of pages.
    pub pages: u16,
    /// Whether a hold of Approve that begins now will approve.
    pub armed: bool,
    /// Whether a short press of Deny that begins now will deny, once the grace period after the card opened is over.
    pub deniable: bool,
    /// Whether approval is forbidden because the message has files that the device cannot show.
    pub unseen_files: bool,
    /// Whether the counter could not be stored. Nothing can be decided on this device then.
    pub fault: bool,
}

/// Why a card closed without a decision that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The hub withdrew it, or, for [`Withdrawal::Expired`], the time shown ran out.
    Withdrawn(Withdrawal),
    /// The decision was sent, the link broke, and the hub neither confirmed it nor offered the card again.
    NotConfirmed,
    /// The link broke, and the hub did not offer the card again afterwards.
    NoLongerOffered,
    /// The document cannot be shown.
    NotShown(Refusal),
}

/// A fault of the device itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Its keys or counter cannot be read or stored.
    Storage,
    /// Pairing failed.
    Pairing,
    /// The broker refuses its login: the hub has revoked or lost it. Anybody who impersonates the broker can cause
    /// this, so its only effect is this screen.
    Login,
}

/// The display has not accepted all of a screen, so nobody can have read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotShown;

impl core::fmt::Display for NotShown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the display did not accept the screen; check its cable")
    }
}

impl core::error::Error for NotShown {}

/// What a screen's colour means, on displays that have colours. The words on the screen say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to do.
    Calm,
    /// A person must act.
    Ask,
    /// Success.
    Good,
    /// Failure or denial.
    Bad,
    /// There is no hub.
    Away,
}

impl View {
    /// The tone of this view.
    pub fn tone(&self) -> Tone {
        match self {
            Self::Offline | Self::Connecting | Self::Unpaired => Tone::Away,
            Self::Idle | Self::Sending { .. } | Self::Muted { .. } | Self::Installing => Tone::Calm,
            Self::Card(CardView { fault: true, .. }) | Self::Fault(_) => Tone::Bad,
            Self::Fetching { .. } | Self::Card(_) | Self::Question { .. } | Self::Pairing { .. } => Tone::Ask,
            Self::Done { verdict: Verdict::Approve, .. } => Tone::Good,
            Self::Done { verdict: Verdict::Deny, .. } => Tone::Bad,
            Self::Closed { why, .. } => match why {
                Ended::Withdrawn(Withdrawal::Rejected) | Ended::NotConfirmed | Ended::NotShown(_) => {
                    Tone::Bad
                }
                Ended::Withdrawn(_) | Ended::NoLongerOffered => Tone::Away,
            },
        }
    }
}
