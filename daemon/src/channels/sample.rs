//! What adapters are handed, for their tests.

use gatepost_link::Digest;
use tempfile::TempDir;

use super::{OperationRequest, OutgoingPart, PartKey, Source};
use crate::{
    files::kept::Kept,
    message::{
        attachment::Attachment,
        operation::{Extras, Operation},
    },
    render::Part,
    store::Store,
};

/// A message's id, of 2026-11-23T12:00:00Z.
pub(super) const MESSAGE_ID: &str = "m01a20846fe007000800000000000000a";

/// A part of plain text.
pub(super) fn part(text: &str) -> Part {
    let units = text.encode_utf16().count();
    Part { text: text.into(), html: None, styles: vec![], units, shown: text.into(), preview: None }
}

/// A part with its markup.
pub(super) fn marked(html: &str, text: &str) -> Part {
    Part { html: Some(html.into()), ..part(text) }
}

/// The only part of a message.
pub(super) fn outgoing<'a>(address: &'a str, part: &'a Part) -> OutgoingPart<'a> {
    OutgoingPart {
        address,
        thread: None,
        reply_to: None,
        quoted: None,
        silent: false,
        headline: "Hello",
        source: Source { id: Some(MESSAGE_ID), agent: "courier", markdown: "**Hello**" },
        part,
        files: &[],
        extras: Extras::NONE,
        index: 0,
        of: 1,
    }
}

/// An operation.
pub(super) fn op<'a>(
    address: &'a str,
    operation: &'a Operation,
    part: Option<&'a Part>,
) -> OperationRequest<'a> {
    OperationRequest { address, thread: None, reply_to: None, silent: false, operation, part }
}

/// A part's key.
pub(super) fn key() -> PartKey {
    PartKey("00112233445566778899aabbccddeeff".into())
}

/// A file that nobody staged.
pub(super) fn file(name: &str, kind: &str, bytes: &[u8]) -> Attachment {
    Attachment {
        sha256: Digest::of(bytes),
        name: name.into(),
        kind: kind.into(),
        said_to_be: None,
        size: bytes.len() as u64,
        caption: None,
        voice: false,
        spoken: None,
    }
}

/// Staged files, in a folder that lasts as long as this.
pub(super) struct Files {
    _folder: TempDir,
    store: Store,
}

impl Files {
    /// None yet.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self { _folder: folder, store }
    }

    /// Stages one.
    pub(super) fn add(&self, name: &str, kind: &str, bytes: &[u8]) -> Attachment {
        let file = file(name, kind, bytes);
        std::fs::create_dir_all(self.folder()).unwrap();
        std::fs::write(self.folder().join(file.sha256.to_string()), bytes).unwrap();
        file
    }

    /// Where they are.
    pub(super) fn folder(&self) -> std::path::PathBuf {
        self.store.directory().join("files")
    }

    /// Takes them all away.
    pub(super) fn clear(&self) {
        std::fs::remove_dir_all(self.folder()).unwrap();
    }

    /// Where an adapter reads them.
    pub(super) fn kept(&self) -> Kept {
        Kept::of(&self.store)
    }
}
