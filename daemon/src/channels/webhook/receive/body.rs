//! What is posted, as a text: a member of it, all of it in JSON, or as it came.
//!
//! Whatever it is, it is data. It is clipped as any text is, and marked as a program's; nothing in it is followed.

use std::{fmt, io};

use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::Serialize as _;
use serde_json::{Map, Value};

use super::proof::one;
use crate::channels::received::MAX_TEXT_CHARS;

/// Most fields of a form.
const MAX_FIELDS: usize = 1_000;
/// The most that is written for people to read, in bytes: a deep structure grows by its indentation, some hundredfold. Past this it stays
/// in one line.
const MAX_PRETTY_BYTES: usize = 4 * MAX_TEXT_CHARS;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// JSON, also under a name of its own (`application/cloudevents+json`).
    Json,
    /// A text.
    Text,
    /// The fields of a form.
    Form,
}

impl Media {
    /// As the headers say.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let value = one(headers, CONTENT_TYPE.as_str())?;
        let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "application/json" => Some(Self::Json),
            "text/plain" => Some(Self::Text),
            "application/x-www-form-urlencoded" => Some(Self::Form),
            other if other.starts_with("application/") && other.ends_with("+json") => Some(Self::Json),
            _ => None,
        }
    }
}

/// Where the text stands in a structure (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(String);

/// What is no pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a JSON pointer, such as \"/data/message\"")]
pub struct NoPointer;

impl Pointer {
    /// Reads one.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, NoPointer> {
        // `~` stands for nothing by itself (RFC 6901, 3).
        let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        (text.starts_with('/') && escapes).then(|| Self(text.to_owned())).ok_or(NoPointer)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a body says; nothing if it is not what it is called, or empty. What is not where `at` points is shown whole: a program that
/// changes its form is to be seen, and not lost.
pub fn text(media: Media, body: &[u8], at: Option<&Pointer>) -> Option<String> {
    let value = match media {
        Media::Text => {
            let text = std::str::from_utf8(body).ok()?;
            return (!text.trim().is_empty()).then(|| text.to_owned());
        }
        Media::Json => serde_json::from_slice(body).ok()?,
        Media::Form => form(std::str::from_utf8(body).ok()?)?,
    };
    let said = match at.and_then(|at| value.pointer(&at.0)) {
        Some(Value::Null) | None => shown(&value),
        Some(other) => shown(other),
    };
    (!said.trim().is_empty()).then_some(said)
}

/// The fields of a form, the last of each name (<https://url.spec.whatwg.org/#urlencoded-parsing>).
fn form(body: &str) -> Option<Value> {
    let word = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8().ok().map(String::from)
    };
    let mut fields = Map::new();
    for (count, pair) in body.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        if count == MAX_FIELDS {
            return None;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        fields.insert(word(name)?, word(value)?.into());
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// A value as people read it: a text as it is, else in JSON.
fn shown(value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    let mut pretty = Bounded(Vec::new());
    match value.serialize(&mut serde_json::Serializer::pretty(&mut pretty)) {
        Ok(()) => String::from_utf8(pretty.0).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

/// Takes so many bytes, and no more.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_PRETTY_BYTES {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
