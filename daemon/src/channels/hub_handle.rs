//! The hub, as an account sees it that hears from its platform by a connection of its own.
//!
//! An adapter knows nothing of the queue, and a platform that speaks first asks for what only the queue knows. So it is
//! handed this: a few questions about the account's own messages, and no other's.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::{io::AsyncRead, sync::OwnedSemaphorePermit};

use super::{
    PartKey,
    received::{Batch, Received, Seen},
};
use crate::message::{
    action::Action,
    attachment::Attachment,
    form::{Entry, Taken},
};

/// The bytes of a file, as they come.
pub type FileStream<'a> = Box<dyn AsyncRead + Send + Unpin + 'a>;

/// A place in which files are fetched. It is free again when this is dropped; somebody known needs none.
#[derive(Debug, Default)]
pub struct FilePlace(pub Option<OwnedSemaphorePermit>);

/// Why a file is missing that there was no such place for.
pub const NO_PLACE: &str = "too many files of people who are not known came at once: ask for it again";

/// Something that is asked of a composed request.
pub type OfRequest<'a> = &'a (dyn Fn(&Value) -> bool + Send + Sync);

/// Why a file that somebody sent is not kept, in words for whoever reads the message that it came with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotKept(pub String);

/// The hub cannot say now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hub cannot use its database")]
pub struct Unavailable;

/// What an account may ask the hub.
#[async_trait]
pub trait HubHandle: Send + Sync {
    /// The composed request of the newest of the account's messages with this action that was sent; none where there is
    /// none, or its retention is over.
    async fn newest(&self, _action: Action) -> Option<Value> {
        None
    }

    /// The composed request of one of the account's parts; none where it is another's, or gone.
    ///
    /// # Errors
    /// Nobody can say now.
    async fn request(&self, _key: &PartKey) -> Result<Option<Value>, Unavailable> {
        Ok(None)
    }

    /// Writes down what somebody entered into a form of one of the account's parts, once for each `id` of the platform's, and
    /// tells the message's agent. When this returns, it is on disk.
    ///
    /// # Errors
    /// It is not written down.
    async fn entered(&self, _key: &PartKey, _id: &str, _entry: Entry) -> Result<Taken, Unavailable> {
        Err(Unavailable)
    }

    /// Writes down what the platform told, and where the account goes on after it, in one transaction. When this returns, it is on
    /// disk, and may be acknowledged. What came before is found and not written twice.
    ///
    /// # Errors
    /// Nothing is written down: the account acknowledges nothing, and comes again.
    async fn receive(&self, _batch: Batch) -> Result<(), Unavailable> {
        Err(Unavailable)
    }

    /// Takes that messages of the account's came, or were read. It is written down within a minute and not before this returns, for it
    /// is worth no write of its own: a hub that is killed meanwhile forgets it.
    fn seen(&self, _seen: Seen) {}

    /// Where the account goes on in a stream of its platform's; none if it never read it.
    ///
    /// # Errors
    /// Nobody can say now.
    async fn position(&self, _stream: &str) -> Result<Option<String>, Unavailable> {
        Err(Unavailable)
    }

    /// Whether a message in a conversation is one that the account itself sent: by the platform's id of it or, while nobody knows
    /// under which id a part arrived, by the request of that part, at which `is` looks.
    ///
    /// # Errors
    /// Nobody can say now.
    async fn is_own(&self, _address: &str, _id: &str, _is: OfRequest<'_>) -> Result<bool, Unavailable> {
        Err(Unavailable)
    }

    /// A place in which the files of an event are fetched while whoever tells it waits; nothing if those who are not known have all of
    /// theirs, or nobody reads what they write there: nobody known is to wait for strangers' slow files.
    async fn place_for_files(&self, _of: &Received) -> Option<FilePlace> {
        Some(FilePlace::default())
    }

    /// Keeps a file that somebody sent, for the [batch](Batch) that names it next. What it is, its content tells before `kind` does.
    ///
    /// # Errors
    /// It is too large, empty, or there is no room; the message goes without it.
    async fn keep_file(
        &self,
        _name: Option<&str>,
        _kind: Option<&str>,
        _bytes: FileStream<'_>,
    ) -> Result<Attachment, NotKept> {
        Err(NotKept("files are not kept here".into()))
    }

    /// Waits so long, or until somebody has the configuration read anew: people do that once they have mended what a listener waits for.
    async fn rest(&self, wait: Duration) {
        tokio::time::sleep(wait).await;
    }

    /// Returns once the hub stops: whoever waits for a file gives it up then, for the hub does not wait as long as a file may take.
    async fn stops(&self) {
        std::future::pending().await
    }
}
