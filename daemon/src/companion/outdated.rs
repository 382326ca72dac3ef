//! What a companion with older firmware is shown instead of messages: that it must be updated, and how.
//!
//! Such firmware knows no screen for this, so it gets a card. It may show nothing while it approves (firmware that speaks version 3
//! of the link approved without a display), so no message is offered to it, and what is decided on this card is nothing.

use gatepost_link::{
    Digest, RequestId,
    document::{Document, MAX_DOCUMENT, Part},
};

use crate::approval::Waiting;

/// What the card says.
const TEXT: &str = "The firmware of this companion is too old for its hub. No message is shown here, and nothing can be \
                    approved here, until it is updated: flash new firmware by cable, as firmware/README.md says. The \
                    pairing stays. Press Deny to close this card.";

/// Whether the card was shown in a session, where it is shown once.
#[derive(Debug, Default)]
pub(super) enum Notice {
    /// Not yet.
    #[default]
    Due,
    /// It is shown.
    Shown(Waiting),
    /// It was read.
    Read,
}

impl Notice {
    /// Whether the card that is shown is this request.
    pub(super) fn is(&self, request: RequestId) -> bool {
        matches!(self, Self::Shown(card) if card.request == request)
    }

    /// It was read.
    pub(super) fn read(&mut self) {
        *self = Self::Read;
    }

    /// All that is offered to such firmware: the card, until it is read.
    pub(super) fn waiting(&mut self, now_ms: i64) -> Vec<Waiting> {
        if matches!(self, Self::Due) {
            *self = Self::Shown(card(now_ms));
        }
        match self {
            Self::Shown(card) => vec![card.clone()],
            Self::Due | Self::Read => vec![],
        }
    }
}

/// The card. It waits for as long as a card can.
fn card(now_ms: i64) -> Waiting {
    let request = RequestId(crate::random::bytes());
    let mut document = Document {
        request,
        audit_head: Digest([0; 32]),
        agent: "gatepost",
        origin: None,
        action: "update",
        channel: "companion",
        account: "this one",
        address: "firmware",
        known_as: None,
        thread: None,
        reply_to: None,
        options: heapless::Vec::new(),
        parts: heapless::Vec::new(),
        attachments: heapless::Vec::new(),
        also: heapless::Vec::new(),
    };
    let part = Part { text: TEXT, wire: Digest::of(TEXT.as_bytes()), wire_alt: None };
    document.parts.push(part).expect("a document has room for a part");
    let mut buffer = [0; MAX_DOCUMENT];
    let document = document.encode(&mut buffer).expect("the card is short").to_vec();
    // No message has this number: they are counted from 1.
    Waiting { request, message: 0, document, deadline: now_ms + i64::from(u32::MAX), voted: vec![] }
}
