//! Days, as people write them, and seconds since 1970, UTC, as roots and manifests have them.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// A text is no day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a day is written as 2027-11-26, and not before 1970")]
pub struct NoDay;

/// The first second of a day such as `2027-11-26`, in UTC.
///
/// # Errors
///
/// It is not written so, there is no such day, or it is before 1970.
pub fn parse(text: &str) -> Result<u64, NoDay> {
    let day: Date = text.parse().map_err(|_| NoDay)?;
    // jiff also reads times and ignores them.
    if day.to_string() != text {
        return Err(NoDay);
    }
    let begin = day.to_zoned(TimeZone::UTC).map_err(|_| NoDay)?;
    u64::try_from(begin.timestamp().as_second()).map_err(|_| NoDay)
}

/// The day of a moment; with the time, if it is not the day's first second.
pub fn words(utc: u64) -> String {
    let Some(moment) = i64::try_from(utc).ok().and_then(|utc| Timestamp::from_second(utc).ok()) else {
        return "after the year 9999".to_owned();
    };
    let text = moment.to_string();
    text.strip_suffix("T00:00:00Z").map(str::to_owned).unwrap_or(text)
}

/// What this machine's clock says.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_its_first_second_and_back() {
        assert_eq!(parse("2027-11-26"), Ok(1_827_187_200));
        assert_eq!(words(1_827_187_200), "2027-11-26");
        assert_eq!(words(1_827_187_201), "2027-11-26T00:00:01Z");
        assert_eq!(words(u64::MAX), "after the year 9999");
        assert_eq!(parse("1970-01-01"), Ok(0));
    }

    #[test]
    fn what_is_written_otherwise_is_no_day() {
        for text in
            ["", "2027-11-31", "2027-13-01", "26.11.2027", "2027-11-26T10:00", "1969-12-31", "20271126"]
        {
            assert_eq!(parse(text), Err(NoDay), "{text}");
        }
    }
}
