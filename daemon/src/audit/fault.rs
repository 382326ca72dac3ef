//! What can be wrong with the chain.

use std::fmt;

use serde::Serialize;

/// What does not fit. Rows are named by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// Rows are not there, and no checkpoint says that they were purged.
    Removed {
        /// The first of them.
        first: i64,
        /// The last of them.
        last: i64,
    },
    /// A row is not what its hash was made of.
    Changed {
        /// Which.
        row: i64,
    },
    /// A row stands in another's place.
    Reordered {
        /// Which.
        row: i64,
        /// Where it belongs.
        belongs: i64,
    },
    /// The end is missing.
    CutOff {
        /// The last row that is there.
        last: i64,
        /// The last row that was signed.
        signed: i64,
    },
    /// The chain was computed anew: it fits, but not what was signed.
    Rewritten {
        /// The last signed row before it that still fits, or 0.
        after: i64,
        /// The first signed row that does not.
        row: i64,
    },
    /// A purge leaves a row, and there is none.
    Emptied {
        /// The last row that was purged.
        purged: i64,
    },
    /// The row with which the hashes begin, or the first checkpoint, at that row, is not there.
    Unbegun,
    /// Messages were accepted, and there is no checkpoint at all.
    Unsigned,
    /// The hub did not sign this checkpoint.
    Forged {
        /// The row that it speaks of.
        row: i64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Removed { first, last } if first == last => write!(f, "row {first} was removed"),
            Self::Removed { first, last } => write!(f, "rows {first} to {last} were removed"),
            Self::Changed { row } => {
                write!(f, "row {row} was changed, or the one before it together with its hash")
            }
            Self::Reordered { row, belongs } => {
                write!(f, "row {row} belongs at {belongs}: rows were reordered")
            }
            Self::CutOff { last, signed } => {
                write!(f, "the end is cut off: rows {} to {signed} were signed and are missing", last + 1)
            }
            Self::Rewritten { after, row } => {
                write!(f, "rows {} to {row} were written anew: they are not what was signed", after + 1)
            }
            Self::Emptied { purged } => {
                write!(f, "the end is cut off: a purge up to row {purged} left a row, and there is none")
            }
            Self::Unbegun => f.write_str(
                "the beginning is missing: the row from which on messages have hashes, or the checkpoint that signs it",
            ),
            Self::Unsigned => f.write_str(
                "the first checkpoint is missing: messages were accepted, and a hub signs the audit before that",
            ),
            Self::Forged { row } => write!(f, "the checkpoint at row {row} was not signed by this hub"),
        }
    }
}
