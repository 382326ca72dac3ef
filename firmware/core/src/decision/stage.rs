//! What the application is busy with, and the state of its link to the hub.

use gatepost_link::{RequestId, decision::PublicKey, decision::Verdict, frame::Offer, session::SessionHash};

use super::{
    card::{Card, OfferState},
    pending::Pending,
};
use crate::{Millis, link::fetch::Fetch, ui::view::Ended};

/// The link to the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// There is no connection.
    Down,
    /// There is a connection and no session yet.
    Opening,
    /// There is a session.
    Ready { hub: PublicKey, session: SessionHash },
}

/// What the application is busy with.
pub(crate) enum Stage {
    Idle,
    Fetching(Fetch),
    Open(Card),
    Deciding(Pending),
    /// The end of a card stays on the screen for a moment.
    Notice {
        request: RequestId,
        end: End,
        until: Millis,
    },
}

/// How a card ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Decided(Verdict),
    /// It was denied, and its agent is not to ask for a while.
    Muted,
    Closed(Ended),
}

impl Stage {
    /// The offer that is not settled yet.
    pub(crate) fn offer(&self) -> Option<&Offer> {
        match self {
            Self::Fetching(Fetch { offer, .. })
            | Self::Open(Card { offer, .. })
            | Self::Deciding(Pending { offer, .. }) => Some(offer),
            Self::Idle | Self::Notice { .. } => None,
        }
    }

    /// Whether a person may mute whose message was denied just now.
    pub(crate) fn can_mute(&self) -> bool {
        matches!(self, Self::Notice { end: End::Decided(Verdict::Deny), .. })
    }

    /// Whether the hub still offers it.
    pub(crate) fn offer_state(&self) -> OfferState {
        match self {
            Self::Open(card) => card.offer_state,
            Self::Deciding(pending) => pending.offer_state,
            Self::Idle | Self::Fetching(_) | Self::Notice { .. } => OfferState::Current,
        }
    }

    /// The session is over. What is only being fetched is dropped; a card or a decision stays, in `state`.
    pub(crate) fn end_session(&mut self, state: OfferState) {
        match self {
            Self::Fetching(_) => *self = Self::Idle,
            Self::Open(card) => card.offer_state = state,
            Self::Deciding(pending) => pending.offer_state = state,
            Self::Idle | Self::Notice { .. } => {}
        }
    }

    /// When time changes something here, or on the screen. [`Stage::Idle`] does not know: it shows the hub's status.
    pub(crate) fn next_tick(&self, now: Millis) -> Option<Millis> {
        match self {
            Self::Idle => None,
            Self::Fetching(fetch) => Some(fetch.next_tick().min(fetch.deadline)),
            Self::Open(card) => Some(now.next_second(card.deadline)),
            Self::Deciding(pending) => {
                let second = now.next_second(pending.deadline);
                Some(pending.next_tick().map_or(second, |resend| resend.min(second)))
            }
            Self::Notice { until, .. } => Some(*until),
        }
    }
}
