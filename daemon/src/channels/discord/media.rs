//! Files: what a message says of them, and the form that brings it and them together.
//!
//! The stored request names files by their hashes; their bytes are read, and compared, when it leaves. A recording's length
//! is found then too, from those bytes.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::voice;
use crate::{
    channels::{Failure, kit::http::Http},
    files::kept::{Checked, Kept},
    message::attachment::{Attachment, referred},
};

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Its [reference](Attachment::reference).
    pub(super) source: String,
    /// Its name for the recipient.
    pub(super) name: String,
    /// Its media type.
    pub(super) kind: String,
}

impl From<&Attachment> for File {
    fn from(file: &Attachment) -> Self {
        Self { source: file.reference(), name: file.name.clone(), kind: file.kind.clone() }
    }
}

/// Reads files, all of them, and compares them with their hashes.
pub(super) async fn open(files: &[File], kept: &Kept) -> Result<Vec<Checked>, Failure> {
    let mut opened = Vec::new();
    for file in files {
        let digest = referred(&file.source)
            .ok_or_else(|| Failure::Permanent("the stored request names its file by no hash".into()))?;
        opened.push(kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))?);
    }
    Ok(opened)
}

/// How long a recording is, if it is one.
pub(super) async fn length(mut file: Checked) -> Result<(Checked, Option<Duration>), Failure> {
    let read = tokio::task::spawn_blocking(move || {
        let length = voice::length(&mut file.file);
        (file, length)
    });
    read.await.map_err(|error| Failure::Retry(format!("the recording was not read to its end: {error}")))
}

/// What a message says of its files (<https://docs.discord.com/developers/reference#uploading-files>).
pub(super) fn described(files: &[File]) -> Vec<Value> {
    let file = |(n, file): (usize, &File)| json!({"id": n.to_string(), "filename": file.name});
    files.iter().enumerate().map(file).collect()
}

/// A message with its files.
pub(super) fn form(body: &Map<String, Value>, files: &[File], bytes: Vec<Checked>) -> Result<Form, Failure> {
    let no_kind = |_| Failure::Permanent("the stored request has a file of no media type".into());
    let message = Value::Object(body.clone()).to_string();
    let message = Part::text(message).mime_str("application/json").map_err(no_kind)?;
    let mut form = Form::new().part("payload_json", message);
    for (n, (file, bytes)) in files.iter().zip(bytes).enumerate() {
        let size = bytes.size;
        let part = Part::stream_with_length(Http::body(bytes), size)
            .file_name(file.name.clone())
            .mime_str(&file.kind)
            .map_err(no_kind)?;
        form = form.part(format!("files[{n}]"), part);
    }
    Ok(form)
}
