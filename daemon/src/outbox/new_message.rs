//! A message on its way into the queue.

use crate::{
    message::{
        MessageId, attachment::Attachment, fingerprint::Fingerprint, operation::Operation, target::Target,
    },
    policy::{LeastTrusted, Origin, Provenance, Touched},
    sessions::place::Place,
};

/// The agent's session that a message is said in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaidIn {
    /// That of its turn: it stays in the conversation that the turn came from.
    Turn(Option<String>),
    /// That of its destination, which is `opened` if the agent has none there: what is answered lands in it.
    Destination {
        /// The conversation that it goes to.
        place: Place,
        /// The session that is opened there.
        opened: String,
    },
    /// None: it says nothing to anybody.
    None,
}

/// A message that passed the checks on admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Its id, if it is not the same as one before.
    pub id: MessageId,
    /// Whose it is.
    pub agent: String,
    /// What was asked for, by its word.
    pub action: &'static str,
    /// What is done.
    pub operation: Operation,
    /// Where it goes: its address is an identity, as far as that is known.
    pub target: Target,
    /// The address as it was written, where that is another.
    pub written_as: Option<String>,
    /// Why nobody knows whose address it is.
    pub unidentified: Option<String>,
    /// The account it goes from.
    pub account: String,
    /// Who that account is: it goes from no other that takes the name.
    pub account_is: Option<Fingerprint>,
    /// The name in the address book under which the target was meant.
    pub known_as: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// Without a notification.
    pub silent: bool,
    /// The conversation its turn came from.
    pub origin: Option<Origin>,
    /// The turn that it may be from, although its context does not say so.
    pub least_trusted: Option<LeastTrusted>,
    /// The session that it is said in.
    pub said_in: SaidIn,
    /// What the agent wrote.
    pub text: String,
    /// Files that go along. Their callers keep them from being swept until this is on disk.
    pub attachments: Vec<Attachment>,
    /// Milliseconds since 1970.
    pub deadline: i64,
    /// The caller's own name for this call.
    pub idempotency_key: Option<String>,
    /// SHA-256 of the call; zeros without a name.
    pub fingerprint: [u8; 32],
    /// Whether it is dropped where it would have to wait.
    pub best_effort: bool,
    /// Whether a part goes again, and may arrive twice, when nobody knows if it arrived.
    pub resend: bool,
    /// The messages that it names, and where they are.
    pub touched: Vec<Touched>,
    /// Whether a person has to be asked about it, as policy said on admission.
    pub asks: bool,
}

impl NewMessage {
    /// Where it comes from, to judge by.
    pub fn provenance(&self) -> Provenance<'_> {
        Provenance { origin: self.origin.as_ref(), least_trusted: self.least_trusted.as_ref() }
    }
}

#[cfg(test)]
impl NewMessage {
    /// One of `a`'s to `local:ann`, which has all the time there is.
    pub(crate) fn example(text: impl Into<String>) -> Self {
        Self {
            id: MessageId::new(),
            agent: "a".into(),
            action: "send",
            operation: Operation::default(),
            target: Target { channel: "local".into(), address: "ann".into(), thread: None },
            written_as: None,
            unidentified: None,
            account: "home".into(),
            account_is: None,
            known_as: None,
            reply_to: None,
            silent: false,
            origin: None,
            least_trusted: None,
            said_in: SaidIn::None,
            text: text.into(),
            attachments: vec![],
            deadline: i64::MAX,
            idempotency_key: None,
            fingerprint: [0; 32],
            best_effort: false,
            resend: false,
            touched: vec![],
            asks: false,
        }
    }
}
