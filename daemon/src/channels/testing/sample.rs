//! What adapters are handed, for their tests.

use async_trait::async_trait;
use gatepost_link::Digest;
use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::channels::{
    Attempt, Delivered, ErasedSender, Failure, OperationRequest, OutgoingPart, PartKey, RateHints,
    Redelivery, Refused, Source, limits::Allowance,
};
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
pub(in crate::channels) const MESSAGE_ID: &str = "m01a20846fe007000800000000000000a";

/// A part of plain text.
pub(in crate::channels) fn part(text: &str) -> Part {
    let units = text.encode_utf16().count();
    Part { text: text.into(), html: None, styles: vec![], units, shown: text.into(), ..Part::default() }
}

/// A part with its markup.
pub(in crate::channels) fn marked(html: &str, text: &str) -> Part {
    Part { html: Some(html.into()), ..part(text) }
}

/// The only part of a message.
pub(in crate::channels) fn outgoing<'a>(address: &'a str, part: &'a Part) -> OutgoingPart<'a> {
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
pub(in crate::channels) fn op<'a>(
    address: &'a str,
    operation: &'a Operation,
    part: Option<&'a Part>,
) -> OperationRequest<'a> {
    OperationRequest { address, thread: None, reply_to: None, silent: false, operation, part }
}

/// A part's key.
pub(in crate::channels) fn key() -> PartKey {
    PartKey("00112233445566778899aabbccddeeff".into())
}

/// A file that nobody staged.
pub(in crate::channels) fn file(name: &str, kind: &str, bytes: &[u8]) -> Attachment {
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
pub(in crate::channels) struct Files {
    _folder: TempDir,
    store: Store,
}

impl Files {
    /// None yet.
    pub(in crate::channels) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self { _folder: folder, store }
    }

    /// Stages one.
    pub(in crate::channels) fn add(&self, name: &str, kind: &str, bytes: &[u8]) -> Attachment {
        let file = file(name, kind, bytes);
        std::fs::create_dir_all(self.folder()).unwrap();
        std::fs::write(self.folder().join(file.sha256.to_string()), bytes).unwrap();
        file
    }

    /// Where they are.
    pub(in crate::channels) fn folder(&self) -> std::path::PathBuf {
        self.store.directory().join("files")
    }

    /// Takes them all away.
    pub(in crate::channels) fn clear(&self) {
        std::fs::remove_dir_all(self.folder()).unwrap();
    }

    /// Where an adapter reads them.
    pub(in crate::channels) fn kept(&self) -> Kept {
        Kept::of(&self.store)
    }
}

/// What was composed, as JSON: `{"refused": why}` if nothing was.
pub(in crate::channels) fn json_of(made: Result<impl Serialize, Refused>) -> Value {
    match made {
        Ok(request) => json!(request),
        Err(Refused(why)) => json!({ "refused": why }),
    }
}

/// Requests as JSON, as the queue stores them, for tests that look into them and keep them in hand between two calls.
#[async_trait]
pub(crate) trait AsJson: ErasedSender {
    /// See [`json_of`].
    fn composed(&self, outgoing: &OutgoingPart<'_>) -> Value {
        json_of(self.plan(outgoing).map(|composed| composed.request))
    }

    fn composed_operation(&self, operation: &OperationRequest<'_>) -> Option<Value> {
        Some(json_of(self.plan_operation(operation, None)?.map(|composed| composed.request)))
    }

    /// An edit of what was made by this request.
    fn composed_edit(&self, operation: &OperationRequest<'_>, made_by: &Value) -> Value {
        json_of(self.plan_operation(operation, Some(made_by)).unwrap().map(|composed| composed.request))
    }

    fn refusal(&self, made: &Value) -> Option<String> {
        made["refused"].as_str().map(str::to_owned)
    }

    /// What was refused does not leave, for the reason that it was refused for.
    async fn delivered(&self, request: &Value, key: &PartKey) -> Result<String, Failure> {
        self.delivered_hearing(request, key).await.0
    }

    /// The same, and what was heard of limits.
    async fn delivered_hearing(
        &self,
        request: &Value,
        key: &PartKey,
    ) -> (Result<String, Failure>, Vec<Allowance>) {
        if let Some(why) = self.refusal(request) {
            return (Err(Failure::Permanent(why)), vec![]);
        }
        let mut hints = RateHints::default();
        let sent = self.read(request).deliver(key, &mut hints).await.map(|delivered| delivered.id);
        (sent, hints.into_allowances())
    }

    async fn delivered_in_full(&self, request: &Value, key: &PartKey) -> Result<Delivered, Failure> {
        self.read(request).deliver(key, &mut RateHints::default()).await
    }

    fn redelivery_of(&self, request: &Value) -> Redelivery {
        self.read(request).redelivery()
    }

    fn route_of(&self, outgoing: &OutgoingPart<'_>) -> Option<&'static str> {
        self.plan(outgoing).ok()?.route
    }

    fn remark_on(&self, request: &Value) -> Option<&'static str> {
        self.read(request).remark()
    }

    async fn position_before(&self, request: &Value) -> Result<Option<String>, Failure> {
        self.read(request).position(&mut RateHints::default()).await
    }

    async fn found(&self, request: &Value, attempt: &Attempt<'_>) -> Result<Option<String>, Failure> {
        self.read(request).find(attempt, &mut RateHints::default()).await
    }
}

impl<S: ErasedSender + ?Sized> AsJson for S {}
