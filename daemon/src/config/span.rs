//! Lengths of time, as people write them.

use std::time::Duration;

use serde::Deserialize;

/// A length of time, written as `10m`, `24h`, `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

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
