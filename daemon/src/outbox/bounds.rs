//! How much may be under way at once.
//!
//! Every bound here ends in an answer that its caller can act upon, and the hub goes on: a queue without one took the whole
//! machine along elsewhere. The counts are kept by the database, in the transaction that changes them, so that a bound
//! costs one small row however long the queue is.

use rusqlite::Connection;

use crate::store::{Room, StoreError};

/// The most that may be under way: accepted, and not yet at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Messages.
    pub messages: u64,
    /// Bytes of their texts.
    pub bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { messages: 200_000, bytes: 256 * 1024 * 1024 }
    }
}

/// Why there is no room for another message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Too many.
    #[error("{0} messages are under way, and the queue takes no more")]
    Messages(u64),
    /// Too long, all together.
    #[error("the messages that are under way have {0} bytes of text, and the queue takes no more")]
    Bytes(u64),
    /// The disk.
    #[error("{0}")]
    Disk(Room),
}

impl Full {
    /// The finer word beside `queue_full`.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Messages(_) => "messages",
            Self::Bytes(_) => "bytes",
            Self::Disk(Room::Unwritable) => "disk_unwritable",
            Self::Disk(_) => "disk_full",
        }
    }

    /// What the caller can do.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Messages(_) | Self::Bytes(_) => {
                "nothing was taken; wait until some of it has arrived and send it again (the operator's bounds are \
                 [queue] max_messages and max_bytes)"
            }
            Self::Disk(_) => {
                "nothing was taken; send it again later (the operator makes room on the hub's disk, and it goes on by \
                 itself)"
            }
        }
    }
}

impl Bounds {
    /// Whether a text of `bytes` finds room.
    pub(super) fn check(self, db: &Connection, bytes: usize) -> Result<Result<(), Full>, StoreError> {
        let (messages, held): (i64, i64) = db
            .prepare_cached("SELECT messages, bytes FROM depth")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (messages, held) = (u64::try_from(messages).unwrap_or(0), u64::try_from(held).unwrap_or(0));
        Ok(if messages >= self.messages {
            Err(Full::Messages(messages))
        } else if held.saturating_add(bytes as u64) > self.bytes {
            Err(Full::Bytes(held))
        } else {
            Ok(())
        })
    }
}
