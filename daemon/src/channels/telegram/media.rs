//! Files: which of Telegram's methods shows one as what it is, and the form that brings it.
//!
//! The stored request names a file by its hash; its bytes are read, and compared, when it leaves. The upload is the message
//! itself here, so one whose answer was lost may have arrived.

use reqwest::multipart::{Form, Part};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    channels::{Failure, kit::http::Http},
    files::kept::{Checked, Kept},
    message::attachment::{Attachment, referred},
};

/// "10 MB max size for photos" (<https://core.telegram.org/bots/api#sending-files>).
const MAX_PHOTO: u64 = 10_000_000;

/// A file of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The method's parameter that takes it.
    pub(super) field: String,
    /// Its [reference](Attachment::reference).
    pub(super) source: String,
    /// Its name for the recipient.
    pub(super) name: String,
    /// Its media type.
    pub(super) kind: String,
}

/// Items of an album (<https://core.telegram.org/bots/api#sendmediagroup>): "must include 2-10 items".
const ALBUM: usize = 10;

/// What an album shows a file as; nothing, where it takes none of its kind.
fn shown_as(file: &Attachment) -> Option<&'static str> {
    match method(file).0 {
        "sendPhoto" => Some("photo"),
        "sendVideo" => Some("video"),
        "sendAudio" => Some("audio"),
        "sendDocument" => Some("document"),
        _ => None,
    }
}

/// Whether a file stands in an album with others: "Documents and audio files can be only grouped in an album with messages
/// of the same type".
pub(super) fn joins_album(files: &[Attachment], file: &Attachment) -> bool {
    let group = |file| match shown_as(file) {
        Some("photo" | "video") => Some("seen"),
        other => other,
    };
    files.len() < ALBUM && group(file).is_some() && files.iter().all(|other| group(other) == group(file))
}

/// The items of an album, and the files that they name.
pub(super) fn album(files: &[Attachment]) -> (Vec<Value>, Vec<File>) {
    let named = files.iter().enumerate().map(|(index, file)| {
        let field = format!("file{index}");
        let item =
            json!({"type": shown_as(file).unwrap_or("document"), "media": format!("attach://{field}")});
        (item, File { field, ..File::of(file).1 })
    });
    named.unzip()
}

impl File {
    /// A file, and the method that shows it as what it is.
    pub(super) fn of(file: &Attachment) -> (&'static str, Self) {
        let (method, field) = method(file);
        let (name, kind) = (file.name.clone(), file.kind.clone());
        (method, Self { field: field.into(), source: file.reference(), name, kind })
    }

    /// Reads it, all of it, and compares it with its hash.
    pub(super) async fn open(&self, kept: &Kept) -> Result<Checked, Failure> {
        let digest = referred(&self.source)
            .ok_or_else(|| Failure::Permanent("the stored request names its file by no hash".into()))?;
        kept.open(&digest).await.map_err(|error| Failure::Permanent(error.to_string()))
    }
}

/// The method for a file, and the parameter that takes it (<https://core.telegram.org/bots/api#sendphoto> and after it).
fn method(file: &Attachment) -> (&'static str, &'static str) {
    match file.kind.as_str() {
        // "in an .OGG file encoded with OPUS, or in .MP3 format, or in .M4A format".
        "audio/ogg" | "audio/mpeg" | "audio/mp4" | "audio/m4a" | "audio/x-m4a" if file.voice => {
            ("sendVoice", "voice")
        }
        // "in the .MP3 or .M4A format".
        "audio/mpeg" | "audio/mp4" | "audio/m4a" | "audio/x-m4a" => ("sendAudio", "audio"),
        "image/jpeg" | "image/png" | "image/webp" if file.size <= MAX_PHOTO => ("sendPhoto", "photo"),
        "image/gif" => ("sendAnimation", "animation"),
        // "Telegram clients support MPEG4 videos (other formats may be sent as Document)".
        "video/mp4" => ("sendVideo", "video"),
        _ => ("sendDocument", "document"),
    }
}

/// A request with its files, as a form: what is no text goes as JSON
/// (<https://core.telegram.org/bots/api#making-requests>).
pub(super) fn form(body: &Map<String, Value>, files: Vec<(&File, Checked)>) -> Result<Form, Failure> {
    let mut form = Form::new();
    for (name, value) in body {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        form = form.text(name.clone(), value);
    }
    for (file, bytes) in files {
        let size = bytes.size;
        let part = Part::stream_with_length(Http::body(bytes), size)
            .file_name(file.name.clone())
            .mime_str(&file.kind)
            .map_err(|_| Failure::Permanent("the stored request has a file of no media type".into()))?;
        form = form.part(file.field.clone(), part);
    }
    Ok(form)
}

#[cfg(test)]
mod tests {
    use gatepost_link::Digest;

    use super::*;

    #[test]
    fn what_is_seen_stands_together_and_what_is_read_or_heard_with_its_like() {
        let of = |kind: &str| crate::channels::testing::sample::file("a", kind, kind.as_bytes());
        let [png, mp4, pdf, mp3, gif] =
            ["image/png", "video/mp4", "application/pdf", "audio/mpeg", "image/gif"].map(of);
        let with = |one, other| joins_album(std::slice::from_ref(one), other);
        assert!(with(&png, &mp4) && joins_album(&[mp4.clone(), png.clone()], &png));
        assert!(with(&pdf, &pdf) && with(&mp3, &mp3));
        for (one, other) in [(&png, &pdf), (&pdf, &mp3), (&gif, &gif), (&png, &gif)] {
            assert!(!with(one, other), "{one:?} {other:?}");
        }
        assert!(joins_album(&vec![png.clone(); 9], &png) && !joins_album(&vec![png.clone(); 10], &png));
        let voice = Attachment { voice: true, ..mp3.clone() };
        assert!(!joins_album(&[mp3], &voice));
    }

    #[test]
    fn a_file_is_shown_as_what_it_is_and_all_else_is_a_document() {
        let file = |kind: &str, voice, size| Attachment {
            sha256: Digest([1; 32]),
            name: "a".into(),
            kind: kind.into(),
            said_to_be: None,
            size,
            caption: None,
            voice,
            spoken: None,
        };
        for (kind, voice, size, expected) in [
            ("image/png", false, 10_000_000, "sendPhoto"),
            ("image/png", false, 10_000_001, "sendDocument"),
            ("image/svg+xml", false, 10, "sendDocument"),
            ("image/gif", false, 10, "sendAnimation"),
            ("video/mp4", false, 10, "sendVideo"),
            ("video/webm", false, 10, "sendDocument"),
            ("audio/mpeg", false, 10, "sendAudio"),
            ("audio/ogg", false, 10, "sendDocument"),
            ("audio/ogg", true, 10, "sendVoice"),
            ("audio/mpeg", true, 10, "sendVoice"),
            ("audio/flac", true, 10, "sendDocument"),
            ("application/pdf", false, 10, "sendDocument"),
        ] {
            let (method, file) = File::of(&file(kind, voice, size));
            assert_eq!(method, expected, "{kind}");
            assert_eq!(method.to_lowercase(), format!("send{}", file.field));
        }
    }
}
