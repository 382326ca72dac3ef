//! What does not fit, each named so that somebody can look there.

use std::fmt;

use serde::Serialize;

/// What does not fit. Rows are the audit's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// Messages are stored, and the audit does not know that they were accepted.
    Unaccepted {
        /// How many.
        messages: u64,
        /// The first of them.
        first: String,
    },
    /// What was accepted is not what is stored.
    Content {
        /// Of which message.
        message: String,
        /// The row that has its hash.
        row: i64,
    },
    /// The requests of a message, or their texts, are not those that it was released or ended with.
    Parts {
        /// Of which message.
        message: String,
        /// The row that has their hash.
        row: i64,
    },
    /// A message is stored in another state than it came to.
    State {
        /// Which.
        message: String,
        /// The state that is stored.
        stored: String,
        /// The last row.
        row: i64,
        /// The state that this row says.
        recorded: String,
    },
    /// A message has another code or reason than it came to its state with.
    Why {
        /// Which.
        message: String,
        /// The row that has them.
        row: i64,
    },
    /// What an operator has said or done about parts is not what stands in the receipt.
    History {
        /// Of which message.
        message: String,
        /// The last row that belongs in it, or that of its acceptance.
        row: i64,
    },
    /// The states of parts, or their platform's ids, are not those of a message that was sent.
    Delivery {
        /// Of which message.
        message: String,
        /// The row in which it was sent.
        row: i64,
    },
    /// How a message ended, or what became of its parts, is not what was hashed at its end.
    Outcome {
        /// Which.
        message: String,
        /// The row that has the hash.
        row: i64,
    },
    /// A row should have a hash of its message, and has none.
    Unhashed {
        /// Which.
        row: i64,
        /// Of which message.
        message: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unaccepted { messages: 1, first } => {
                write!(f, "message {first} is stored, and the audit has no row of its acceptance")
            }
            Self::Unaccepted { messages, first } => write!(
                f,
                "{messages} messages are stored of whose acceptance the audit has no row, the first of them {first}"
            ),
            Self::Content { message, row } => {
                write!(
                    f,
                    "message {message}: its text, target or files are not what row {row} says was accepted"
                )
            }
            Self::Parts { message, row } => {
                write!(f, "message {message}: its requests or their texts are not those of row {row}")
            }
            Self::State { message, stored, row, recorded } => {
                write!(f, "message {message} is stored as {stored}, and by row {row} it is {recorded}")
            }
            Self::Why { message, row } => {
                write!(f, "message {message}: its code or its reason is not that of row {row}")
            }
            Self::History { message, row } => {
                write!(f, "message {message}: its history is not what the audit says up to row {row}")
            }
            Self::Delivery { message, row } => write!(
                f,
                "message {message}: the states or the platform's ids of its parts are not those of row {row}"
            ),
            Self::Outcome { message, row } => write!(
                f,
                "message {message}: how it ended (its reason, history and times, what became of its parts and whom they \
                 reached) is not what row {row} says"
            ),
            Self::Unhashed { row, message } => {
                write!(
                    f,
                    "row {row} has no hash of message {message}, and every row of its kind there has one"
                )
            }
        }
    }
}
