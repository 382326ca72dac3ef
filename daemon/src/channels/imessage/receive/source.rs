//! What the loop asks a program for: the rows of Messages' database, read.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{
    channels::{
        Failure,
        hub_handle::HubHandle,
        received::{Dropped, MAX_FILES, MORE_FILES, Received, Seen, missing, unreadable},
    },
    message::attachment::Attachment,
};

/// A place between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Mark {
    /// The number of the last row before it that can be read.
    pub(super) row: i64,
    /// Rows behind that one and before this place. Nobody can read them, so nobody knows their numbers.
    pub(super) passed: usize,
}

impl Mark {
    /// The place behind a row.
    pub(super) const fn behind(row: i64) -> Self {
        Self { row, passed: 0 }
    }
}

/// A file that came with a message and is still on the Mac.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// By what the program finds it.
    pub(super) at: String,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) voice: bool,
}

impl Sent {
    /// The line for one that could not be kept, and why.
    pub(super) fn missing(&self, why: &str) -> String {
        missing(self.name.as_deref().unwrap_or("file"), why)
    }
}

/// What a row says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The place behind it.
    pub(super) mark: Mark,
    /// What somebody did. Files are of the first.
    pub(super) received: Vec<Received>,
    pub(super) files: Vec<Sent>,
    /// Why it is none of that.
    pub(super) dropped: Option<Dropped>,
    /// Whether that is because it has no conversation: it may get one.
    pub(super) is_nowhere: bool,
    /// What became of a message of the account's own.
    pub(super) seen: Vec<Seen>,
}

impl Row {
    /// One that somebody's words make unreadable.
    pub(super) fn unreadable(mark: Mark) -> Self {
        Self { mark, dropped: Some(unreadable("message")), ..Self::default() }
    }

    /// The same within bounds, and with ids that are some.
    pub(super) fn bounded(mut self) -> Self {
        let kept = self.files.len().min(MAX_FILES);
        let more = self.files.split_off(kept).into_iter();
        let more = more.map(|file| file.missing(MORE_FILES));
        if let Some(words) = self.received.first_mut().and_then(|first| first.event.words_mut()) {
            words.missing.extend(more);
        }
        for received in std::mem::take(&mut self.received) {
            match received.bounded() {
                Ok(received) => self.received.push(received),
                Err(dropped) => self.dropped = Some(dropped),
            }
        }
        self
    }
}

/// Some rows, in their order.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) rows: Vec<Row>,
    /// The place behind all of them.
    pub(super) next: Mark,
    /// Whether there may be more behind it.
    pub(super) more: bool,
}

impl Page {
    /// Passes over the row behind it, which nobody can read.
    pub(super) fn pass(&mut self) {
        self.next.passed += 1;
        self.rows.push(Row::unreadable(self.next));
    }
}

/// Since when rows are looked at again, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    /// For what people changed.
    pub(super) edited: i64,
    /// For what they saw.
    pub(super) seen: i64,
}

/// A program that reads the database.
#[async_trait]
pub(super) trait Source: Send + Sync {
    /// The number of the newest row that can be read; 0 where there is none.
    async fn newest(&self) -> Result<i64, Failure>;

    /// When the latest message there was written that is not of later than `now`, by its writer's clock and in milliseconds since 1970;
    /// nothing if nobody can say.
    async fn latest(&self, now: i64) -> Result<Option<i64>, Failure>;

    /// The rows behind a place.
    async fn behind(&self, mark: Mark) -> Result<Page, Failure>;

    /// Rows of before that became something else; all of it was told before, perhaps.
    async fn changed(&self, since: Since) -> Result<Vec<Row>, Failure>;

    /// Gives a file to the hub, until then at the longest; else a line that says why not. One that is not on the Mac yet is asked for
    /// again after such a pause.
    async fn keep(
        &self,
        hub: &dyn HubHandle,
        sent: &Sent,
        until: Instant,
        pause: Duration,
    ) -> Result<Attachment, String>;

    /// Waits until the program says that something came. One that never says so waits for ever.
    async fn came(&self) {
        std::future::pending().await
    }
}
