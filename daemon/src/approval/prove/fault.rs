//! What does not fit between the audit, the decisions in it, and what is stored.

use std::fmt;

use serde::Serialize;

/// What does not fit. Rows are the audit's, messages and devices are named as everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// A row says that somebody decided, and holds no decision.
    Unsigned {
        /// Which.
        row: i64,
        /// On what.
        message: String,
    },
    /// Whoever decided was not registered by then.
    Stranger {
        /// The decision's row.
        row: i64,
        /// On what.
        message: String,
        /// The key that signed, in hexadecimal.
        device: String,
    },
    /// Whoever decided had been revoked by then.
    Revoked {
        /// The decision's row.
        row: i64,
        /// On what.
        message: String,
        /// The device's key, in hexadecimal.
        device: String,
    },
    /// The signature is not the device's over this decision.
    Signature {
        /// The decision's row.
        row: i64,
        /// On what.
        message: String,
        /// The key that should have signed, in hexadecimal.
        device: String,
    },
    /// The device's counter did not rise: a replayed decision, or a cloned device.
    Counter {
        /// The decision's row.
        row: i64,
        /// On what.
        message: String,
        /// The device's key, in hexadecimal.
        device: String,
    },
    /// The registered counter is lower than that of a decision, which could so count again.
    SetBack {
        /// The device's key, in hexadecimal.
        device: String,
    },
    /// The registered counter is higher than that of the device's last decision in an audit of which nothing was purged: later
    /// decisions are missing, for counter and row are written together.
    Ahead {
        /// The device's key, in hexadecimal.
        device: String,
    },
    /// The key by which a passkey is verified is not the one that it was added with.
    KeyExchanged {
        /// What stands for the passkey, in hexadecimal.
        passkey: String,
    },
    /// What is stored of a decision is not what the audit says.
    Exchanged {
        /// The audit's row.
        row: i64,
        /// On what.
        message: String,
        /// What differs.
        what: &'static str,
    },
    /// A stored approval says that somebody decided, and the audit knows nothing of it.
    Unrecorded {
        /// On what.
        message: String,
    },
    /// A message was approved by fewer than it was held for.
    Quorum {
        /// The row of the last approval.
        row: i64,
        /// Which.
        message: String,
        /// How many approved it, that one included.
        votes: u64,
        /// How many must.
        of: u64,
    },
    /// A message was decided by others than the rules have decide on it.
    Kind {
        /// The decision's row.
        row: i64,
        /// Which.
        message: String,
    },
    /// An approval is stored that was not the last, and the audit knows nothing of it.
    Counted {
        /// Of what.
        message: String,
        /// Whose it is said to be, in hexadecimal.
        device: String,
    },
    /// The audit knows of an approval that was not the last, and it is not stored.
    Uncounted {
        /// The audit's row.
        row: i64,
        /// Of what.
        message: String,
    },
    /// A message that was held has been released, and nobody approved it.
    Unasked {
        /// Which.
        message: String,
    },
    /// A message was held, and the document that it was held on is not there.
    Undocumented {
        /// The row that says so.
        row: i64,
        /// Which.
        message: String,
    },
    /// A message is not what its approval document shows.
    Differs {
        /// Which.
        message: String,
        /// What of it.
        what: String,
    },
    /// The audit before a held message is not the one that its document vouches for.
    Head {
        /// The last row before it.
        row: i64,
        /// The message.
        message: String,
    },
    /// Messages are not there, and no purge took them.
    Gone {
        /// How many.
        messages: i64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned { row, message } => {
                write!(f, "row {row}: the decision on message {message} carries no signature")
            }
            Self::Stranger { row, message, device } => write!(
                f,
                "row {row}: message {message} was decided by device {device}, which was not registered"
            ),
            Self::Revoked { row, message, device } => write!(
                f,
                "row {row}: message {message} was decided by device {device}, which had been revoked"
            ),
            Self::Signature { row, message, device } => {
                write!(f, "row {row}: device {device} did not sign this decision on message {message}")
            }
            Self::Counter { row, message, device } => write!(
                f,
                "row {row}: the counter of device {device} did not rise with its decision on message {message}"
            ),
            Self::SetBack { device } => {
                write!(f, "the registered counter of device {device} was set back behind its last decision")
            }
            Self::Ahead { device } => {
                write!(
                    f,
                    "device {device} has decided since its last decision here: later rows of the audit are missing"
                )
            }
            Self::KeyExchanged { passkey } => {
                write!(f, "the key of passkey {passkey} is not the one that it was added with")
            }
            Self::Exchanged { row, message, what } => {
                write!(
                    f,
                    "the {what} stored with the decision on message {message} is not the one in row {row}"
                )
            }
            Self::Unrecorded { message } => {
                write!(f, "message {message} is stored as decided, and the audit knows of no decision")
            }
            Self::Quorum { row, message, votes, of } => write!(
                f,
                "row {row}: message {message} went with {votes} approvals, and it was held for {of}"
            ),
            Self::Kind { row, message } => {
                write!(
                    f,
                    "row {row}: message {message} was decided by others than its rules have decide on it"
                )
            }
            Self::Counted { message, device } => write!(
                f,
                "message {message} is stored as approved by device {device}, and the audit knows nothing of that"
            ),
            Self::Uncounted { row, message } => {
                write!(f, "row {row}: this approval of message {message} is not stored any more")
            }
            Self::Unasked { message } => {
                write!(f, "message {message} was held and then released, and nobody approved it")
            }
            Self::Undocumented { row, message } => {
                write!(f, "message {message} was held in row {row}, and its approval document is not there")
            }
            Self::Differs { message, what } => {
                write!(f, "message {message}: {what} is not what its approval document shows")
            }
            Self::Head { row, message } => write!(
                f,
                "the approval document of message {message} vouches for another audit up to row {row}: that was written anew"
            ),
            Self::Gone { messages: 1 } => write!(f, "a message is gone, and no purge took it"),
            Self::Gone { messages } => write!(f, "{messages} messages are gone, and no purge took them"),
        }
    }
}
