//! A decision, as the audit has it and as it is stored beside its document.

use gatepost_link::{
    Digest, RequestId,
    decision::{PublicKey, SignatureBytes, Statement, Verdict},
    session::SessionHash,
};
use rusqlite::Row;
use serde_json::Value;

use crate::{
    approval::{
        passkeys::{
            self,
            assertion::{self, Assertion},
            statement::{self, NONCE},
        },
        quorum::VOTE,
    },
    audit::checkpoint::{bytes_from_hex, from_hex},
    message::state::{Event, State},
};

/// All that was signed, but the hub, which is the same for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) request: RequestId,
    pub(super) verdict: Verdict,
    pub(super) document: Digest,
    /// Who decided: a device's key, or what stands for a passkey.
    pub(super) device: [u8; 32],
    pub(super) counter: i64,
    pub(super) how: How,
}

/// By what it was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// A device, in a session.
    Device { session: SessionHash, signature: SignatureBytes },
    /// A passkey, with a number that was given out for this once.
    Passkey { nonce: [u8; NONCE], assertion: Assertion },
}

impl How {
    /// As it is stored: whose it is, the length of what makes it good once says.
    pub(super) fn stored(session: &[u8], signature: &[u8]) -> Option<Self> {
        match session.try_into() {
            Ok(nonce) => Some(Self::Passkey { nonce, assertion: Assertion::read(signature)? }),
            Err(_) => Some(Self::Device {
                session: SessionHash(session.try_into().ok()?),
                signature: SignatureBytes(signature.try_into().ok()?),
            }),
        }
    }

    fn recorded(facts: &Value) -> Option<Self> {
        let bytes = |name: &str| bytes_from_hex(facts[name].as_str()?);
        if facts["passkey"].is_string() {
            let (client_data, authenticator_data) = (bytes("client_data")?, bytes("authenticator_data")?);
            let assertion = Assertion { client_data, authenticator_data, signature: bytes("signature")? };
            return Some(Self::Passkey { nonce: bytes("nonce")?.try_into().ok()?, assertion });
        }
        Self::stored(&bytes("session")?, &bytes("signature")?).filter(|how| !how.is_of_passkey())
    }

    pub(super) fn is_of_passkey(&self) -> bool {
        matches!(self, Self::Passkey { .. })
    }

    /// As it is stored: what makes it good once, and the signature.
    fn to_stored(&self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Self::Device { session, signature } => (session.0.to_vec(), signature.0.to_vec()),
            Self::Passkey { nonce, assertion } => (nonce.to_vec(), assertion.to_bytes()),
        }
    }
}

impl Decision {
    /// The decision in a row of the audit.
    pub(super) fn recorded(detail: &Value) -> Option<Self> {
        let facts = &detail["facts"];
        let text = |name: &str| facts[name].as_str();
        let how = How::recorded(facts)?;
        let device = if how.is_of_passkey() { "passkey" } else { "device" };
        Some(Self {
            request: RequestId(from_hex(text("request")?)?),
            verdict: match detail["event"].as_str()? {
                VOTE => Verdict::Approve,
                word => verdict(word)?,
            },
            document: Digest(from_hex(text("document")?)?),
            device: from_hex(text(device)?)?,
            counter: facts["counter"].as_i64()?,
            how,
        })
    }

    /// An approval, as it is stored by its parts.
    pub(super) fn approval(
        request: RequestId,
        document: Digest,
        device: [u8; 32],
        counter: i64,
        how: How,
    ) -> Self {
        Self { request, verdict: Verdict::Approve, document, device, counter, how }
    }

    pub(super) fn is_approval(&self) -> bool {
        self.verdict == Verdict::Approve
    }

    /// In what it is not this decision of the same device on the same request.
    pub(super) fn differences(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        let ((session, signature), (other_session, other_signature)) =
            (self.how.to_stored(), other.how.to_stored());
        [
            ("document", self.document == other.document),
            ("counter", self.counter == other.counter),
            ("session", session == other_session),
            ("signature", signature == other_signature),
        ]
        .into_iter()
        .filter_map(|(what, same)| (!same).then_some(what))
    }

    /// Whether its counter is as it must be after that of the decision before it.
    pub(super) fn follows(&self, before: i64) -> bool {
        match self.how {
            How::Device { .. } => self.counter > before,
            How::Passkey { .. } => passkeys::rises(before, self.counter),
        }
    }

    /// The bytes that were signed for this hub; of a passkey, those of which it signed the hash.
    pub(super) fn signed_bytes(&self, hub: PublicKey) -> Vec<u8> {
        match self.how {
            How::Device { session, .. } => self.by_device(hub, session).to_bytes().to_vec(),
            How::Passkey { nonce, .. } => self.by_passkey(hub, nonce).to_bytes(),
        }
    }

    fn by_device(&self, hub: PublicKey, session: SessionHash) -> Statement {
        Statement {
            hub,
            device: PublicKey(self.device),
            request: self.request,
            document: self.document,
            verdict: self.verdict,
            counter: u64::try_from(self.counter).unwrap_or(u64::MAX),
            session,
        }
    }

    fn by_passkey(&self, hub: PublicKey, nonce: [u8; NONCE]) -> statement::Statement {
        statement::Statement {
            hub,
            passkey: self.device,
            request: self.request,
            document: self.document,
            verdict: self.verdict,
            nonce,
        }
    }

    /// Whether it was signed for this hub. `passkey`: the key of the passkey that is said to have done it.
    pub(super) fn is_signed_for(&self, hub: PublicKey, passkey: Option<&assertion::PublicKey>) -> bool {
        match (&self.how, passkey) {
            (How::Device { session, signature }, None) => self.by_device(hub, *session).verify(signature),
            (How::Passkey { nonce, assertion }, Some(key)) => {
                let challenge = self.by_passkey(hub, *nonce).challenge();
                let counter =
                    assertion.verify(key, &challenge, |origin| assertion::belongs(origin, &key.rp_id));
                counter.is_ok_and(|counter| i64::from(counter) == self.counter)
            }
            _ => false,
        }
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
    session: Option<Vec<u8>>,
    signature: Option<Vec<u8>>,
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
            session: row.get(5)?,
            signature: row.get(6)?,
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
            how: How::stored(self.session.as_deref()?, self.signature.as_deref()?)?,
        })
    }

    /// In what it is not this decision.
    pub(super) fn differences(&self, decision: &Decision) -> impl Iterator<Item = &'static str> {
        let said = self.verdict.as_deref().and_then(verdict);
        let (session, signature) = decision.how.to_stored();
        [
            ("document", Digest::of(&self.document) == decision.document),
            ("verdict", said == Some(decision.verdict)),
            ("device", self.device == Some(decision.device)),
            ("counter", self.counter == Some(decision.counter)),
            ("session", self.session.as_ref() == Some(&session)),
            ("signature", self.signature.as_ref() == Some(&signature)),
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
