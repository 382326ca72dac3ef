//! The approval document: what is shown is what is signed, and what is sent.
//!
//! The hub writes it when it holds a message. The companion hashes the bytes as it received them, shows every field
//! that is not a hash, and signs the hash. Each part carries `wire`, the hash of the canonical platform request that
//! the part will become; the hub recomputes it when it releases the message. A document never changes: a
//! changed message needs a new one.

use heapless::Vec;
use serde::{Deserialize, Serialize};

use crate::{Digest, RequestId};

/// How many parts a document can list.
pub const MAX_PARTS: usize = 16;
/// How many options a document can list.
pub const MAX_OPTIONS: usize = 8;
/// How many attachments a document can list: the 8 files that a message may have by default, and recordings that the hub makes
/// of its text.
pub const MAX_ATTACHMENTS: usize = 12;
/// Bytes of visible text, over all parts, that a person is asked to approve on the device.
///
/// People approve longer text without reading it; another approver with a larger screen may decide on it.
pub const MAX_TEXT: usize = 4096;
/// How many targets a document can list. More targets need more documents.
pub const MAX_TARGETS: usize = 16;
/// Bytes of the longest encoded document: the text, and ample room for all other fields.
pub const MAX_DOCUMENT: usize = 8192;

/// Everything a person must know to decide on one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document<'a> {
    /// The request that this document belongs to.
    pub request: RequestId,
    /// The head of the hub's audit chain when the message was held, so that the log cannot be rewritten behind it.
    pub audit_head: Digest,
    /// The agent that wants to send.
    pub agent: &'a str,
    /// The conversation from which the agent's turn came, as `channel:address`; `None` for a turn outside any conversation.
    pub origin: Option<&'a str>,
    /// What it wants to do, such as `send`.
    pub action: &'a str,
    /// The channel, such as `matrix`.
    pub channel: &'a str,
    /// The hub's account on that channel.
    pub account: &'a str,
    /// The raw address on the platform.
    pub address: &'a str,
    /// Our own address book's name for that address.
    pub known_as: Option<&'a str>,
    /// The thread in the target conversation.
    pub thread: Option<&'a str>,
    /// The platform id of the message that this one answers.
    pub reply_to: Option<&'a str>,
    /// Options that change how the message arrives, as short words: `silent`, `effect confetti`.
    #[serde(borrow)]
    pub options: Vec<&'a str, MAX_OPTIONS>,
    /// The parts, in the order in which they will be sent.
    #[serde(borrow)]
    pub parts: Vec<Part<'a>, MAX_PARTS>,
    /// The message's files.
    #[serde(borrow)]
    pub attachments: Vec<Attachment<'a>, MAX_ATTACHMENTS>,
    /// Further targets of the same message: one decision is about all of them. They are encoded after all other fields and only if
    /// there are any, so that every version of a companion can read a document with one target. A companion that does not know
    /// them rejects a document with several as malformed, and never shows it with the first target alone.
    #[serde(skip)]
    pub also: Vec<Also<'a>, { MAX_TARGETS - 1 }>,
}

/// A further target of a message, with the same visible texts and files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Also<'a> {
    /// Where it is.
    #[serde(borrow)]
    pub target: Target<'a>,
    /// SHA-256 over the SHA-256 of each of its parts' canonical requests, in their order: [`requests`].
    pub wires: Digest,
}

/// Where a message goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The hub's account on that channel.
    pub account: &'a str,
    /// The raw address on the platform.
    pub address: &'a str,
    /// Our own address book's name for that address.
    pub known_as: Option<&'a str>,
    /// The thread in the target conversation.
    pub thread: Option<&'a str>,
}

/// The digest of a message's requests at a further target; none of more than a document's parts.
pub fn requests(wires: impl Iterator<Item = Digest>) -> Option<Digest> {
    let mut all = Vec::<u8, { MAX_PARTS * 32 }>::new();
    for wire in wires {
        all.extend_from_slice(&wire.0).ok()?;
    }
    Some(Digest::of(&all))
}

/// One platform request that the message becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part<'a> {
    /// The visible text, each link followed by its real URL.
    pub text: &'a str,
    /// SHA-256 of the canonical request.
    pub wire: Digest,
    /// SHA-256 of the canonical request of a planned fallback, such as the same part as plain text.
    pub wire_alt: Option<Digest>,
}

/// A file of the message. The device names it but cannot show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment<'a> {
    /// The file name that the recipient will see.
    pub name: &'a str,
    /// The media type as sniffed from the content.
    pub kind: &'a str,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the content.
    pub digest: Digest,
}

/// Why a document cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentError {
    /// It does not fit in [`MAX_DOCUMENT`] bytes.
    TooLarge,
    /// Its bytes are not a document, or there are bytes after it.
    Malformed,
}

impl core::fmt::Display for DocumentError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the approval document is too large for a companion",
            Self::Malformed => "the approval document is malformed",
        })
    }
}

impl core::error::Error for DocumentError {}

impl<'a> Document<'a> {
    /// Writes the document into `buffer` and returns the bytes that are shown, hashed and signed.
    pub fn encode<'b>(&self, buffer: &'b mut [u8; MAX_DOCUMENT]) -> Result<&'b [u8], DocumentError> {
        let too_large = |_| DocumentError::TooLarge;
        let mut length = postcard::to_slice(self, &mut buffer[..]).map_err(too_large)?.len();
        if !self.also.is_empty() {
            length += postcard::to_slice(&self.also, &mut buffer[length..]).map_err(too_large)?.len();
        }
        Ok(&buffer[..length])
    }

    /// Reads a document that came from outside.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DocumentError> {
        if bytes.len() > MAX_DOCUMENT {
            return Err(DocumentError::TooLarge);
        }
        let malformed = |_| DocumentError::Malformed;
        let (mut document, rest) = postcard::take_from_bytes::<Self>(bytes).map_err(malformed)?;
        if !rest.is_empty() {
            let (also, rest) = postcard::take_from_bytes(rest).map_err(malformed)?;
            document.also = also;
            if document.also.is_empty() || !rest.is_empty() {
                return Err(DocumentError::Malformed);
            }
        }
        Ok(document)
    }

    /// Every target, in order.
    pub fn targets(&self) -> impl Iterator<Item = Target<'a>> {
        let first = Target {
            channel: self.channel,
            account: self.account,
            address: self.address,
            known_as: self.known_as,
            thread: self.thread,
        };
        core::iter::once(first).chain(self.also.iter().map(|also| also.target.clone()))
    }

    /// Bytes of visible text over all parts.
    pub fn text_len(&self) -> usize {
        self.parts.iter().map(|part| part.text.len()).sum()
    }
}
