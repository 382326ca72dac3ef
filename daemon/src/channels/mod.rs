//! Channels: how a message leaves the house.
//!
//! An [`Adapter`] is one account on one platform. It knows its platform and nothing of the queue: `compose` turns a
//! rendered part into the platform's request without credentials, and `deliver` performs exactly that request. Between
//! the two the request is stored, hashed into the approval document and shown to a person; that is why they are apart,
//! and why `deliver` must not change what it is given.
//!
//! A new channel is a file or folder here, a line in [`registry`], its ways with text in [`formats`], and how fast it
//! takes messages in [`limits`]. One that speaks HTTP does so by [`http`], which reads the platform's limits from its
//! answers.

pub mod account;
pub mod email;
pub mod formats;
pub mod heard;
pub mod http;
pub mod limits;
pub mod local;
pub mod matrix;
pub mod registry;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    message::attachment::Attachment,
    render::{Flavour, Part},
};

/// What a platform can do, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The channel's name in targets and configuration.
    pub channel: &'static str,
    /// Whether conversations have threads within them.
    pub threads: bool,
    /// Whether a message can answer another one.
    pub replies: bool,
    /// Whether a message can arrive without a notification.
    pub silent: bool,
    /// How an address looks, for error messages.
    pub address_hint: &'static str,
    /// What it takes of files; nothing, where a message with files is refused when it is handed in.
    pub files: Option<FileRules>,
}

/// What a platform takes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRules {
    /// Bytes of one file.
    pub max_size: u64,
    /// Bytes of all files of a message.
    pub max_together: u64,
    /// How files stand to the text.
    pub form: FileForm,
}

/// How files stand to the text of their message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    /// All in one request with the text, behind it; captions become paragraphs of the text.
    Together,
    /// Each in a request of its own after the text, and its caption with it where that is one part.
    Captioned,
}

/// One rendered part and where it goes.
#[derive(Debug, Clone, Copy)]
pub struct Letter<'a> {
    /// The address, as [`Adapter::resolve`] returned it.
    pub address: &'a str,
    /// The thread within the conversation.
    pub thread: Option<&'a str>,
    /// The platform id of the message being answered. Given for the first part only.
    pub reply_to: Option<&'a str>,
    /// Without a notification.
    pub silent: bool,
    /// The message's first visible line, for platforms with a subject.
    pub headline: &'a str,
    /// The part itself; without text only where files go along.
    pub part: &'a Part,
    /// Files that go along with it: none, one, or all of them, as [`FileRules`] says.
    pub files: &'a [Attachment],
    /// Which part it is, counted from zero.
    pub index: usize,
    /// How many parts the message has.
    pub of: usize,
}

/// Names one part for good: the same at every attempt. 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartKey(pub String);

/// Whether a request may be sent again when nobody knows if the first one arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redelivery {
    /// The platform recognises the part's key and delivers it once, for this long.
    Keyed(Duration),
    /// It would arrive twice.
    Never,
}

/// Why a part did not arrive, sorted by what the queue may do about it. Holds the platform's own words, no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It did not arrive, and may later: no connection, a temporary refusal.
    #[error("{0}")]
    Retry(String),
    /// The platform said when to come back. Spends no attempt.
    #[error("{why} (come back in {} s)", after.as_secs())]
    Wait {
        /// How long to wait at least.
        after: Duration,
        /// The platform's words.
        why: String,
    },
    /// It did not arrive and never will.
    #[error("{0}")]
    Permanent(String),
    /// The request may have arrived; no answer came.
    #[error("{0}")]
    Unknown(String),
}

/// Why a target is not one on this channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} is not an address on {channel}: {hint}")]
pub struct TargetError {
    /// The channel.
    pub channel: &'static str,
    /// What was given.
    pub address: String,
    /// What to write instead.
    pub hint: &'static str,
}

/// Why a channel is not ready, in words for the person who set it up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(pub String);

/// One account on one platform.
#[async_trait]
pub trait Adapter: Send + Sync + 'static {
    /// What the platform can do.
    fn capabilities(&self) -> &'static Capabilities;

    /// How text is rendered and split for this account.
    fn flavour(&self) -> Flavour;

    /// Checks an address and returns its one canonical spelling, under which it is stored, shown and compared.
    fn resolve(&self, address: &str) -> Result<String, TargetError>;

    /// The platform request that a part becomes: all of it but credentials and the part's key. A file stands in it by its
    /// [reference](Attachment::reference).
    fn compose(&self, letter: &Letter<'_>) -> Value;

    /// Performs a composed request; returns the platform's id of what arrived. What the platform says of its limits beyond
    /// this one request goes to [`heard`]; the shared client ([`http`]) sees to it.
    ///
    /// `wire` is a value that [`compose`](Self::compose) made, maybe before a restart.
    async fn deliver(&self, wire: &Value, key: &PartKey) -> Result<String, Failure>;

    /// Whether the same key makes a second delivery harmless.
    fn redelivery(&self) -> Redelivery;

    /// Asks the platform whether this account could send now; says as what.
    async fn check_ready(&self) -> Result<String, NotReady>;
}
