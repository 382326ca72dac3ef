//! Lengths of time, as people write them.

use std::time::Duration;

use serde::Deserialize;

/// A length of time, written as `10m`, `24h`, `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

/// The same, or `0s` where it is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Window(pub Duration);

impl TryFrom<String> for Window {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "0s" => Ok(Self(Duration::ZERO)),
            _ => Span::try_from(text).map(|Span(span)| Self(span)),
        }
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse::<jiff::SignedDuration>()
            .ok()
            .and_then(|span| Duration::try_from(span).ok())
            .filter(|span| (Duration::from_secs(1)..=Duration::from_hours(24 * 366)).contains(span))
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "{text:?} is not a length of time: write \"30s\", \"10m\", \"24h\", at least one second"
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_switched_off_may_be_nothing() {
        let window = |text: &str| Window::try_from(text.to_owned()).map(|Window(window)| window);
        assert_eq!(window("0s"), Ok(Duration::ZERO));
        assert_eq!(window("30s"), Ok(Duration::from_secs(30)));
        assert!(window("soon").is_err() && Span::try_from("0s".to_owned()).is_err());
    }
}
