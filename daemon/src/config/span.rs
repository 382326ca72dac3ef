//! Lengths of time, as people write them.

use std::time::Duration;

use serde::Deserialize;

/// The longest that is taken: a year.
const LONGEST: Duration = Duration::from_hours(24 * 366);

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
        let span = text.parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
        match span.filter(|span| *span >= Duration::from_secs(1)) {
            Some(span) if span > LONGEST => Err(format!("{text:?} is too long: at most a year, \"8784h\"")),
            Some(span) => Ok(Self(span)),
            None => Err(format!(
                "{text:?} is not a length of time: write \"30s\", \"10m\", \"24h\", at least one second"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_not_called_no_length_of_time() {
        let refused = |text: &str| Span::try_from(text.to_owned()).unwrap_err();
        assert!(Span::try_from("8784h".to_owned()).is_ok());
        assert!(refused("9600h").contains("too long") && refused("9600h").contains("8784h"));
        assert!(refused("500ms").contains("at least one second"));
    }

    #[test]
    fn only_what_may_be_switched_off_may_be_nothing() {
        let window = |text: &str| Window::try_from(text.to_owned()).map(|Window(window)| window);
        assert_eq!(window("0s"), Ok(Duration::ZERO));
        assert_eq!(window("30s"), Ok(Duration::from_secs(30)));
        assert!(window("soon").is_err() && Span::try_from("0s".to_owned()).is_err());
    }
}
