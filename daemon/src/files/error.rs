//! Why a file was not taken, and what its caller can do.

use std::{io, net::IpAddr, time::Duration};

use crate::{
    message::refusal::{Code, Refusal},
    store::{Room, StoreError},
    voice::VoiceError,
};

/// Why a file was not taken. Nothing of its message was, either.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Too many.
    #[error("the message has {0} files, at most {1} are taken")]
    Count(usize, usize),
    /// Too large: beyond what is left for it.
    #[error("the file has more than {0} bytes, which is the most that is taken here")]
    TooLarge(u64),
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A voice message that is none.
    #[error("a voice message must be audio, and the file is {0}")]
    NotAudio(String),
    /// Words could not be spoken.
    #[error(transparent)]
    Voice(#[from] VoiceError),
    /// The agent has no folder.
    #[error("this agent may not attach files by their path")]
    NoFolder,
    /// The agent's folder itself cannot be used.
    #[error("the folder that this agent attaches from cannot be used: {0}")]
    Folder(io::Error),
    /// The path leads out of the folder, or over a link.
    #[error("the path leads out of the agent's folder, or over a link")]
    Outside,
    /// Nothing there.
    #[error("there is no such file in the agent's folder")]
    NotThere,
    /// A folder, a pipe, a device.
    #[error("the path names no regular file")]
    NotAFile,
    /// It has other names, which may be anywhere.
    #[error("the file has {0} names (hard links), so it may come from outside of the agent's folder")]
    Linked(u64),
    /// It belongs to somebody else.
    #[error(
        "the file belongs to user {file} and the agent's folder to user {folder}, so it may come from outside of it"
    )]
    Owner {
        /// The file's owner.
        file: u32,
        /// The folder's.
        folder: u32,
    },
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(io::Error),
    /// Not handed in by this caller, or too long ago, and not told to it.
    #[error("no such file was handed in by this caller within the last hour, or came in one of its turns")]
    NoUpload,
    /// Too many are handed in and not used.
    #[error("{0} files were handed in and not used yet, and no more are taken")]
    Uploads(u32),
    /// The body of an upload broke off.
    #[error("the file broke off: {0}")]
    Broken(String),
    /// Not an address that is fetched from.
    #[error("the address cannot be fetched: {0}")]
    Url(&'static str),
    /// A host that this agent has no leave for.
    #[error("this agent may not have files fetched from {0}")]
    Host(String),
    /// An address inside the local network, or of no public kind.
    #[error("{host} is not fetched from: {address} is not a public address")]
    Private {
        /// The host as the address names it.
        host: String,
        /// What it leads to.
        address: IpAddr,
    },
    /// The server said something else.
    #[error("the file cannot be fetched: {0}")]
    Fetch(String),
    /// It takes too long.
    #[error("the file did not come within {} s", .0.as_secs())]
    Slow(Duration),
    /// Too much at once.
    #[error("too many files are on their way at once")]
    Busy,
    /// The hub's own bound.
    #[error("the hub keeps {0} bytes of files already, and takes no more")]
    Stored(u64),
    /// The disk.
    #[error("{0}")]
    Disk(Room),
    /// The folder of staged files cannot be written.
    #[error("the hub cannot write its files: {0}")]
    Write(io::Error),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The HTTP client.
    #[error("cannot set up the HTTP client: {0}")]
    Http(#[from] reqwest::Error),
}

impl StageError {
    /// What writing a file came to.
    pub(super) fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Disk(Room::Short),
            _ => Self::Write(error),
        }
    }
}

impl From<StageError> for Refusal {
    fn from(error: StageError) -> Self {
        use StageError as E;
        let (code, reason, hint) = match &error {
            E::Count(..) | E::TooLarge(_) => {
                (Code::TooLarge, "files", "send less, or a link to it (the operator's bounds are [files])")
            }
            E::Empty | E::NotAudio(_) => (Code::InputInvalid, "file", "attach another file"),
            E::Voice(VoiceError::Long(..) | VoiceError::Large) => {
                (Code::TooLarge, "voice", "speak less of it, or send it as text")
            }
            E::Voice(VoiceError::Blank) => (Code::InputInvalid, "voice", "write what is to be spoken"),
            E::Voice(VoiceError::Off) => {
                (Code::ExecutionFailed, "voice", "send it as text; the operator sets one up in [voice]")
            }
            E::Voice(error) if error.may_pass() => {
                (Code::ExecutionFailed, "voice", "nothing was taken; try again later, or send it as text")
            }
            E::Voice(_) => (Code::ExecutionFailed, "voice", "send it as text, and tell the operator"),
            E::NoFolder => (
                Code::Forbidden,
                "attach_from",
                "hand it in (base64, or POST /v1/files), or ask the operator for attach_from in [agents.NAME]",
            ),
            E::Outside | E::NotThere | E::NotAFile => (
                Code::InputInvalid,
                "path",
                "give the path of a regular file relative to the agent's attach_from folder, without \"..\" and links",
            ),
            E::Linked(_) => (
                Code::Forbidden,
                "linked_file",
                "attach a copy of it (cp makes one), or ask the operator for allow_linked_files in [agents.NAME]",
            ),
            E::Owner { .. } => (
                Code::Forbidden,
                "file_owner",
                "attach a copy of your own (cp makes one), or ask the operator to give the file or the folder another \
                 owner (chown), or for allow_other_owners in [agents.NAME]",
            ),
            E::Folder(_) | E::Read(_) => (Code::ExecutionFailed, "path", "tell the operator"),
            E::NoUpload => (Code::InputInvalid, "file", "hand it in with POST /v1/files"),
            E::Uploads(_) | E::Busy => (Code::RateLimited, "files", "nothing was taken; try again later"),
            E::Broken(_) => (Code::InputInvalid, "broken_body", "send it again"),
            E::Url(_) => {
                (Code::InputInvalid, "url", "give an http or https address without name and password")
            }
            E::Host(_) => (
                Code::Forbidden,
                "attach_urls",
                "hand the file in, or ask the operator for attach_urls in [agents.NAME]",
            ),
            E::Private { .. } => (
                Code::Forbidden,
                "private_url",
                "hand the file in, or ask the operator for allow_private_urls in [files]",
            ),
            E::Fetch(_) | E::Slow(_) => {
                (Code::ExecutionFailed, "fetch", "nothing was taken; try again, or hand the file in")
            }
            E::Stored(_) => (
                Code::QueueFull,
                "files",
                "nothing was taken; send it again later (the operator's bound is [files] max_stored)",
            ),
            E::Disk(Room::Unwritable) => (Code::QueueFull, "disk_unwritable", LATER),
            E::Disk(_) => (Code::QueueFull, "disk_full", LATER),
            E::Write(_) | E::Store(_) | E::Http(_) => {
                tracing::error!(%error, "a file cannot be staged");
                (Code::ExecutionFailed, "files", "nothing was taken; try again later")
            }
        };
        Self::new(code, error.to_string(), hint).because(reason)
    }
}

const LATER: &str = "nothing was taken; send it again later (the operator makes room on the hub's disk)";
