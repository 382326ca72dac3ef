//! A decision, as the audit has it and as it is stored beside its document.

use gatepost_link::{
    Digest, RequestId,
    decision::{PublicKey, SignatureBytes, Statement, Verdict},
    session::SessionHash,
};
use rusqlite::Row;
use serde_json::Value;

use crate::{
    approval::quorum::VOTE,
    audit::checkpoint::from_hex,
    message::state::{Event, State},
};

/// All that a device signed, but the hub, which is the same for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) request: RequestId,
    verdict: Verdict,
    document: Digest,
    pub(super) device: [u8; 32],
    pub(super) counter: i64,
    session: [u8; 32],
    signature: [u8; 64],
}

impl Decision {
    /// The decision in a row of the audit.
    pub(super) fn recorded(detail: &Value) -> Option<Self> {
        let facts = &detail["facts"];
        let text = |name: &str| facts[name].as_str();
        Some(Self {
            request: RequestId(from_hex(text("request")?)?),
            verdict: match detail["event"].as_str()? {
                VOTE => Verdict::Approve,
                word => verdict(word)?,
            },
            document: Digest(from_hex(text("document")?)?),
            device: from_hex(text("device")?)?,
            counter: facts["counter"].as_i64()?,
            session: from_hex(text("session")?)?,
            signature: from_hex(text("signature")?)?,
        })
    }

    /// An approval, as it is stored by its parts.
    pub(super) fn approval(
        request: RequestId,
        document: Digest,
        device: [u8; 32],
        counter: i64,
        session: [u8; 32],
        signature: [u8; 64],
    ) -> Self {
        Self { request, verdict: Verdict::Approve, document, device, counter, session, signature }
    }

    pub(super) fn is_approval(&self) -> bool {
        self.verdict == Verdict::Approve
    }

    /// In what it is not this decision of the same device on the same request.
    pub(super) fn differences(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        [
            ("document", self.document == other.document),
            ("counter", self.counter == other.counter),
            ("session", self.session == other.session),
            ("signature", self.signature == other.signature),
        ]
        .into_iter()
        .filter_map(|(what, same)| (!same).then_some(what))
    }

    /// What the device signed for this hub.
    pub(super) fn statement(&self, hub: PublicKey) -> Statement {
        Statement {
            hub,
            device: PublicKey(self.device),
            request: self.request,
            document: self.document,
            verdict: self.verdict,
            counter: u64::try_from(self.counter).unwrap_or(u64::MAX),
            session: SessionHash(self.session),
        }
    }

    pub(super) fn signature(&self) -> SignatureBytes {
        SignatureBytes(self.signature)
    }

    pub(super) fn is_signed_for(&self, hub: PublicKey) -> bool {
        self.statement(hub).verify(&self.signature())
    }
}

pub(super) fn verdict(word: &str) -> Option<Verdict> {
    const APPROVE: &str = Event::Approve.word();
    const DENY: &str = Event::Deny.word();
    match word {
        APPROVE => Some(Verdict::Approve),
        DENY => Some(Verdict::Deny),
        _ => None,
    }
}

/// What [`Stored`] reads.
macro_rules! approvals {
    () => {
        "SELECT request, document, verdict, device, counter, approvals.session, signature, seq, id, state, quorum, decided_at
         FROM approvals JOIN messages ON seq = message"
    };
}
/// Of all messages.
pub(super) const APPROVALS: &str = concat!(approvals!(), " ORDER BY seq");
/// Of one, by its id.
pub(super) const APPROVAL: &str = concat!(approvals!(), " WHERE id = ?");

/// What is stored of a request: its document and, once it is decided, the decision. Somebody may have put anything there.
pub(super) struct Stored {
    pub(super) request: Option<RequestId>,
    pub(super) document: Vec<u8>,
    verdict: Option<String>,
    device: Option<[u8; 32]>,
    counter: Option<i64>,
    session: Option<[u8; 32]>,
    signature: Option<[u8; 64]>,
    pub(super) seq: i64,
    pub(super) message: String,
    state: String,
    /// How many must approve.
    pub(super) quorum: u64,
    /// When it was decided, in milliseconds since 1970.
    pub(super) decided_at: Option<i64>,
}

impl Stored {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            request: exactly(row, 0)?.map(RequestId),
            document: row.get(1)?,
            verdict: row.get(2)?,
            device: exactly(row, 3)?,
            counter: row.get(4)?,
            session: exactly(row, 5)?,
            signature: exactly(row, 6)?,
            seq: row.get(7)?,
            message: row.get(8)?,
            state: row.get(9)?,
            quorum: u64::try_from(row.get::<_, i64>(10)?).unwrap_or(0),
            decided_at: row.get(11)?,
        })
    }

    /// Whether it says that somebody decided.
    pub(super) fn is_decided(&self) -> bool {
        self.verdict.as_deref().and_then(verdict).is_some()
    }

    /// Whether it says that somebody approved, after others or alone.
    pub(super) fn is_approved(&self) -> bool {
        self.verdict.as_deref().and_then(verdict) == Some(Verdict::Approve)
    }

    /// Whether its message went on to its lane.
    pub(super) fn is_released(&self) -> bool {
        matches!(State::from_word(&self.state), Some(State::Ready | State::Sending | State::Sent))
    }

    /// The decision that it says was given, if that is all there.
    pub(super) fn decision(&self) -> Option<Decision> {
        Some(Decision {
            request: self.request?,
            verdict: self.verdict.as_deref().and_then(verdict)?,
            document: Digest::of(&self.document),
            device: self.device?,
            counter: self.counter?,
            session: self.session?,
            signature: self.signature?,
        })
    }

    /// In what it is not this decision.
    pub(super) fn differences(&self, decision: &Decision) -> impl Iterator<Item = &'static str> {
        let said = self.verdict.as_deref().and_then(verdict);
        [
            ("document", Digest::of(&self.document) == decision.document),
            ("verdict", said == Some(decision.verdict)),
            ("device", self.device == Some(decision.device)),
            ("counter", self.counter == Some(decision.counter)),
            ("session", self.session == Some(decision.session)),
            ("signature", self.signature == Some(decision.signature)),
        ]
        .into_iter()
        .filter_map(|(what, same)| (!same).then_some(what))
    }
}

/// Bytes of this number; none where there are others.
pub(super) fn exactly<const N: usize>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<[u8; N]>> {
    let bytes: Option<Vec<u8>> = row.get(column)?;
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()))
}
