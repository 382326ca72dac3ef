//! How a part's request is stored: the channel's own JSON in an envelope with a version, and beside it what goes instead if
//! the platform refuses that one for good.
//!
//! The envelope is the hub's, the request in it its channel's. An approval is bound to the bytes that are stored, so rows
//! of earlier releases stay as they are, without an envelope, and are read as what they were: version 0.
//!
//! A channel's own fallbacks stay members of its request (`plain` and `instead` on Telegram, `outside_window` and `otherwise` on
//! WhatsApp), because most change one member of that request and several may be needed one after the other: in the envelope,
//! every combination would be a whole request. Approved rows have those members and must be read as they are in any case, so
//! only the type is shared: each of these members is a [`Fallback`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is written.
const VERSION: u8 = 1;

/// What goes instead of a request that is certain not to have arrived, for the one reason that this was planned for: a refusal,
/// or a way that is not ready. It was planned with the request, so it is stored and approved with it.
///
/// As a member of a request it has the attribute `#[serde(default, skip_serializing_if = "Fallback::is_none")]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fallback<T>(Option<T>);

impl<T> Default for Fallback<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<Option<T>> for Fallback<T> {
    fn from(planned: Option<T>) -> Self {
        Self(planned)
    }
}

impl<T> Fallback<T> {
    /// This goes instead.
    pub fn planned(instead: T) -> Self {
        Self(Some(instead))
    }

    /// Whether nothing was planned.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// What goes instead.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Takes what goes instead, if it is for this refusal: at most once.
    pub fn take_if(&mut self, is_for_this: impl FnOnce(&T) -> bool) -> Option<T> {
        self.0.take_if(|instead| is_for_this(instead))
    }

    /// The same, read as something else.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> Fallback<U> {
        Fallback(self.0.map(read))
    }
}

/// What goes instead of a request that is refused for good, whatever its channel. `R` is a request of the same channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Substitute<R = Value> {
    /// Another request: the words of a recording.
    Request(R),
    /// Nothing: the text that goes before it says the same.
    TextBefore,
}

/// A stored request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The request, which its channel reads.
    pub request: Value,
    /// What goes instead of it.
    pub fallback: Fallback<Substitute>,
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
    #[serde(default, skip_serializing_if = "Fallback::is_none")]
    fallback: Fallback<Substitute>,
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
            (Some(request), Some(words), None) => {
                Self { request, fallback: Fallback::planned(Substitute::Request(words)) }
            }
            (Some(request), None, Some(_)) => {
                Self { request, fallback: Fallback::planned(Substitute::TextBefore) }
            }
            _ => Self { request: stored, fallback: Fallback::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for substitute in [None, Some(Substitute::Request(json!({"b": 2}))), Some(Substitute::TextBefore)] {
            let envelope = Envelope { request: json!({"a": 1}), fallback: substitute.into() };
            let text = envelope.to_text();
            assert!(text.starts_with(r#"{"envelope":1,"#), "{text}");
            assert_eq!(Envelope::read(&text), Ok(envelope));
        }
    }

    #[test]
    fn what_earlier_releases_wrote_is_read() {
        let read = |text: &str| Envelope::read(text).unwrap();
        let bare = |request| Envelope { request, fallback: Fallback::default() };
        let with =
            |substitute| Envelope { request: json!({"a": 1}), fallback: Fallback::planned(substitute) };
        assert_eq!(read(r#"{"method":"sendVoice"}"#), bare(json!({"method": "sendVoice"})));
        assert_eq!(read(r#""text""#), bare(json!("text")));
        assert_eq!(read(r#"{"recording":1}"#), bare(json!({"recording": 1})), "that is its channel's own");
        let words = with(Substitute::Request(json!({"b": 2})));
        assert_eq!(read(r#"{"recording":{"a":1},"or_words":{"b":2}}"#), words);
        let before = with(Substitute::TextBefore);
        assert_eq!(read(r#"{"recording":{"a":1},"or_text_before":true}"#), before);
    }

    #[test]
    fn a_row_of_the_first_envelope_has_the_same_bytes_again() {
        for row in [
            r#"{"envelope":1,"request":{"a":1}}"#,
            r#"{"envelope":1,"request":{"a":1},"fallback":{"request":{"b":2}}}"#,
            r#"{"envelope":1,"request":{"a":1},"fallback":"text_before"}"#,
        ] {
            assert_eq!(Envelope::read(row).unwrap().to_text(), row);
        }
    }

    #[test]
    fn a_fallback_goes_for_its_own_refusal_and_only_once() {
        let mut plain = Fallback::planned("Hello");
        assert_eq!(plain.take_if(|_| false), None);
        assert_eq!(plain.take_if(|_| true), Some("Hello"));
        assert_eq!((plain.take_if(|_| true), plain.is_none()), (None, true));
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
