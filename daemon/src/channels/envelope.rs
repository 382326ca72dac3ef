//! How a part's request is stored: the channel's own JSON in an envelope with a version, and beside it what goes instead if
//! the platform refuses that one for good.
//!
//! The envelope is the hub's, the request in it its channel's. An approval is bound to the bytes that are stored, so rows
//! of earlier releases stay as they are, without an envelope, and are read as what they were: version 0.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is written.
const VERSION: u8 = 1;

/// What goes instead of a request that its platform refuses for good. It was planned with it, so it is approved with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// Another request, of the same channel: the words of a recording.
    Request(Value),
    /// Nothing: the text that goes before it says the same.
    TextBefore,
}

/// A stored request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The request, which its channel reads.
    pub request: Value,
    /// What goes instead of it.
    pub fallback: Option<Fallback>,
}

/// Why a stored request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is damaged.
    #[error("the stored request cannot be read: {0}")]
    Damaged(String),
    /// A later release wrote it.
    #[error(
        "the stored request has version {0}, which this release does not know: start the one that wrote it, or a later one"
    )]
    Later(u64),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    envelope: u8,
    request: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback: Option<Fallback>,
}

impl Envelope {
    /// The bytes that are stored, and that an approval is bound to.
    pub fn to_text(&self) -> String {
        let Self { request, fallback } = self.clone();
        serde_json::to_string(&Stored { envelope: VERSION, request, fallback }).unwrap_or_default()
    }

    /// Reads what [`to_text`](Self::to_text) wrote, or an earlier release.
    ///
    /// # Errors
    /// It is neither.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let damaged = |error: serde_json::Error| Unreadable::Damaged(error.to_string());
        let stored: Value = serde_json::from_str(text).map_err(damaged)?;
        match stored.get("envelope").and_then(Value::as_u64) {
            None => Ok(Self::version_0(stored)),
            Some(version) if version > u64::from(VERSION) => Err(Unreadable::Later(version)),
            Some(_) => {
                let Stored { request, fallback, .. } = serde_json::from_value(stored).map_err(damaged)?;
                Ok(Self { request, fallback })
            }
        }
    }

    /// Until November 2026 a request was stored as its channel made it, or, for a recording, as the member `recording` with
    /// `or_words` or `or_text_before` beside it.
    fn version_0(stored: Value) -> Self {
        let member = |name: &str| stored.get(name).cloned();
        match (member("recording"), member("or_words"), member("or_text_before")) {
            (Some(request), Some(words), None) => Self { request, fallback: Some(Fallback::Request(words)) },
            (Some(request), None, Some(_)) => Self { request, fallback: Some(Fallback::TextBefore) },
            _ => Self { request: stored, fallback: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for fallback in [None, Some(Fallback::Request(json!({"b": 2}))), Some(Fallback::TextBefore)] {
            let envelope = Envelope { request: json!({"a": 1}), fallback };
            let text = envelope.to_text();
            assert!(text.starts_with(r#"{"envelope":1,"#), "{text}");
            assert_eq!(Envelope::read(&text), Ok(envelope));
        }
    }

    #[test]
    fn what_earlier_releases_wrote_is_read() {
        let read = |text: &str| Envelope::read(text).unwrap();
        let bare = |request| Envelope { request, fallback: None };
        assert_eq!(read(r#"{"method":"sendVoice"}"#), bare(json!({"method": "sendVoice"})));
        assert_eq!(read(r#""text""#), bare(json!("text")));
        assert_eq!(read(r#"{"recording":1}"#), bare(json!({"recording": 1})), "that is its channel's own");
        let words = Envelope { request: json!({"a": 1}), fallback: Some(Fallback::Request(json!({"b": 2}))) };
        assert_eq!(read(r#"{"recording":{"a":1},"or_words":{"b":2}}"#), words);
        let before = Envelope { request: json!({"a": 1}), fallback: Some(Fallback::TextBefore) };
        assert_eq!(read(r#"{"recording":{"a":1},"or_text_before":true}"#), before);
    }

    #[test]
    fn what_no_release_wrote_is_an_error_that_says_so() {
        assert!(matches!(Envelope::read("{"), Err(Unreadable::Damaged(_))));
        assert!(matches!(Envelope::read(r#"{"envelope":1}"#), Err(Unreadable::Damaged(_))));
        assert!(matches!(
            Envelope::read(r#"{"envelope":1,"request":{},"more":1}"#),
            Err(Unreadable::Damaged(_))
        ));
        assert_eq!(Envelope::read(r#"{"envelope":2,"what":1}"#), Err(Unreadable::Later(2)));
    }
}
