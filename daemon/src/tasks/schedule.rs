//! When a task is due, read from what was written: a time, a length of time from now, or a pattern of crontab.
//!
//! Patterns have five fields (minute, hour, day, month, weekday) as `crontab(5)` has them, with `L`, `W` and `#` beside them, and the
//! nicknames `@hourly` to `@yearly`. None has seconds, so nothing is due more often than once a minute. They count in a time zone: an
//! hour that the clock skips in spring is due when the clock goes on, and one that comes twice in autumn is due once.

use croner::{
    Cron,
    parser::{CronParser, Seconds},
};
use jiff::{Span, Timestamp, Zoned, civil, tz::TimeZone};

/// The longest that may be written, in bytes.
const MAX_WRITTEN_BYTES: usize = 100;
/// The farthest time that a task waits for, in milliseconds: five years.
const FARTHEST_MS: i64 = 5 * 366 * 86_400_000;
/// A pattern is due again so long after a time that was late, in milliseconds.
const BREATH_MS: i64 = 60_000;
/// So little after its time, a task is still in step with its pattern, in milliseconds.
const IN_STEP_MS: i64 = 5_000;

/// When a task is due.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// As it was written.
    pub written: String,
    /// The time zone, if one was named; else it is the hub's.
    pub zone: Option<String>,
    /// When it is due first, in milliseconds since 1970.
    pub first: i64,
    /// Whether it is due again after that.
    pub recurs: bool,
}

/// Why a schedule cannot be used. Each text says what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It is empty or too long.
    #[error(
        "when is empty, or longer than {MAX_WRITTEN_BYTES} bytes: write a time, \"in 2h\", or a pattern of crontab such as \"0 9 * * 1-5\""
    )]
    Length,
    /// A time zone that this machine does not know.
    #[error(
        "there is no time zone {0:?} here: name one of the IANA database, such as \"Europe/Berlin\", or none for the hub's own"
    )]
    Zone(String),
    /// A length of time that cannot be read.
    #[error("{0:?} is no length of time: write \"in 2h\", \"in 90 minutes\" or \"in 3 days\"")]
    Span(String),
    /// A time that cannot be read.
    #[error(
        "{0:?} is no time: write it as RFC 3339 has it, such as \"2026-11-30T09:00:00Z\"; without an offset it is in the time zone"
    )]
    Time(String),
    /// It is over.
    #[error("{0} is over: name a time to come")]
    Over(String),
    /// It is too far away.
    #[error("{0:?} is more than five years away")]
    Far(String),
    /// RRULE.
    #[error(
        "a recurrence rule is written as a pattern of crontab here: FREQ=WEEKLY;BYDAY=MO;BYHOUR=9 is \"0 9 * * 1\""
    )]
    Rule,
    /// A pattern that cannot be read.
    #[error(
        "{written:?} is no pattern of crontab ({why}): write minute, hour, day, month and weekday, such as \"0 9 * * 1-5\""
    )]
    Pattern {
        /// What was written.
        written: String,
        /// What the parser says.
        why: String,
    },
    /// A pattern that fits no time.
    #[error("{0:?} never comes within five years")]
    Never(String),
}

impl Schedule {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, or names no time to come.
    pub fn read(written: &str, zone: Option<&str>, now: i64) -> Result<Self, ScheduleError> {
        let written = written.trim();
        if written.is_empty() || written.len() > MAX_WRITTEN_BYTES {
            return Err(ScheduleError::Length);
        }
        let at = zone_of(zone)?;
        let (first, recurs) = match kind(written) {
            Kind::In(length) => (later(length, written, &at, now)?, false),
            Kind::Time => (time(written, &at)?, false),
            Kind::Rule => return Err(ScheduleError::Rule),
            Kind::Pattern => (next(&pattern(written)?, written, &at, now)?, true),
        };
        if first <= now {
            return Err(ScheduleError::Over(written.to_owned()));
        }
        if first > now + FARTHEST_MS {
            return Err(ScheduleError::Far(written.to_owned()));
        }
        Ok(Self { written: written.to_owned(), zone: zone.map(str::to_owned), first, recurs })
    }
}

/// When a pattern that was due at `due`, and is dealt with at `now`, is due again. Times that passed meanwhile are not made up for.
///
/// # Errors
/// It cannot be read any more, or does not come again.
pub fn again(written: &str, zone: Option<&str>, due: i64, now: i64) -> Result<i64, ScheduleError> {
    let after = if now - due <= IN_STEP_MS { due } else { now + BREATH_MS };
    next(&pattern(written)?, written, &zone_of(zone)?, after.max(due))
}

enum Kind<'a> {
    In(&'a str),
    Time,
    Rule,
    Pattern,
}

fn kind(written: &str) -> Kind<'_> {
    let upper = written.to_ascii_uppercase();
    if upper.starts_with("IN ") {
        // ASCII, so the length is the same.
        return Kind::In(written[3..].trim());
    }
    if upper.contains("FREQ=") || upper.starts_with("RRULE") || upper.starts_with("DTSTART") {
        return Kind::Rule;
    }
    let bytes = written.as_bytes();
    let is_date = bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
    if is_date { Kind::Time } else { Kind::Pattern }
}

fn zone_of(zone: Option<&str>) -> Result<TimeZone, ScheduleError> {
    let Some(name) = zone else { return Ok(TimeZone::system()) };
    let short: String = name.chars().take(60).collect();
    TimeZone::get(&short).map_err(|_| ScheduleError::Zone(short))
}

fn at(ms: i64, zone: &TimeZone, written: &str) -> Result<Zoned, ScheduleError> {
    let time = Timestamp::from_millisecond(ms).map_err(|_| ScheduleError::Far(written.to_owned()))?;
    Ok(time.to_zoned(zone.clone()))
}

/// A day is one of the calendar, and not always 24 hours.
fn later(length: &str, written: &str, zone: &TimeZone, now: i64) -> Result<i64, ScheduleError> {
    let span: Span = length.parse().map_err(|_| ScheduleError::Span(length.to_owned()))?;
    let then =
        at(now, zone, written)?.checked_add(span).map_err(|_| ScheduleError::Far(written.to_owned()))?;
    Ok(then.timestamp().as_millisecond())
}

fn time(written: &str, zone: &TimeZone) -> Result<i64, ScheduleError> {
    if let Ok(time) = written.parse::<Timestamp>() {
        return Ok(time.as_millisecond());
    }
    let wrong = |_| ScheduleError::Time(written.to_owned());
    let time: civil::DateTime = written.parse().map_err(wrong)?;
    Ok(zone.to_timestamp(time).map_err(wrong)?.as_millisecond())
}

fn pattern(written: &str) -> Result<Cron, ScheduleError> {
    let fields = written.split_whitespace().count();
    if fields != 5 && !written.starts_with('@') {
        let why = format!("5 fields are needed, and it has {fields}");
        return Err(ScheduleError::Pattern { written: written.to_owned(), why });
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
    parser.parse(written).map_err(|error| ScheduleError::Pattern {
        written: written.to_owned(),
        why: error.to_string().chars().take(100).collect(),
    })
}

fn next(cron: &Cron, written: &str, zone: &TimeZone, after: i64) -> Result<i64, ScheduleError> {
    let never = || ScheduleError::Never(written.to_owned());
    let found = cron.find_next_occurrence(&at(after, zone, written)?, false).map_err(|_| never())?;
    let next = found.timestamp().as_millisecond();
    if next > after && next <= after + FARTHEST_MS { Ok(next) } else { Err(never()) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn ms(time: &str) -> i64 {
        time.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn told(ms: i64) -> String {
        Timestamp::from_millisecond(ms).unwrap().to_string()
    }

    fn first(written: &str, zone: Option<&str>, now: &str) -> Result<String, ScheduleError> {
        Schedule::read(written, zone, ms(now)).map(|schedule| told(schedule.first))
    }

    const NOW: &str = "2026-11-25T18:20:00Z";

    #[test]
    fn a_time_a_length_and_a_pattern_are_read_in_the_zone_that_is_named() {
        let berlin = Some("Europe/Berlin");
        for (written, zone, due) in [
            ("2026-11-30T09:00:00Z", berlin, "2026-11-30T09:00:00Z"),
            ("2026-11-30T09:00:00+01:00", None, "2026-11-30T08:00:00Z"),
            ("2026-11-30T09:00", berlin, "2026-11-30T08:00:00Z"),
            ("in 2h", berlin, "2026-11-25T20:20:00Z"),
            ("In 1 hour 30 minutes", berlin, "2026-11-25T19:50:00Z"),
            ("in 3 days", Some("UTC"), "2026-11-28T18:20:00Z"),
            ("0 9 * * 1-5", berlin, "2026-11-26T08:00:00Z"),
            ("0 9 * * MON", Some("UTC"), "2026-11-30T09:00:00Z"),
            ("@daily", Some("UTC"), "2026-11-26T00:00:00Z"),
            ("0 9 L * *", Some("UTC"), "2026-11-30T09:00:00Z"),
        ] {
            assert_eq!(first(written, zone, NOW).as_deref(), Ok(due), "{written}");
        }
        assert!(Schedule::read("0 9 * * *", None, ms(NOW)).unwrap().recurs);
        assert!(!Schedule::read("in 2h", None, ms(NOW)).unwrap().recurs);
    }

    #[test]
    fn what_is_none_is_refused_in_words_that_say_what_to_write() {
        for (written, zone, says) in [
            ("", None, "when is empty"),
            ("soon", None, "no pattern of crontab"),
            ("in a while", None, "no length of time"),
            ("in -2h", None, "is over"),
            ("in 90 years", None, "five years"),
            ("2026-13-30T09:00:00Z", None, "RFC 3339"),
            ("2020-01-01T00:00:00Z", None, "is over"),
            ("2036-01-01T00:00:00Z", None, "five years"),
            ("RRULE:FREQ=WEEKLY;BYDAY=MO", None, "pattern of crontab"),
            ("* * * * * *", None, "5 fields"),
            ("61 * * * *", None, "no pattern"),
            ("0 0 30 2 *", None, "never comes"),
            ("0 9 * * *", Some("Mars/Olympus"), "no time zone"),
            ("0 9 * * *", Some("../../etc/passwd"), "no time zone"),
            ("in é", None, "no length of time"),
        ] {
            let error = Schedule::read(written, zone, ms(NOW)).unwrap_err().to_string();
            assert!(error.contains(says), "{written}: {error}");
        }
        assert_eq!(first(&"* ".repeat(60), None, NOW), Err(ScheduleError::Length));
    }

    #[test]
    fn a_pattern_that_never_comes_is_found_out_fast() {
        let began = Instant::now();
        for written in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "59 23 31 11 *", "0 0 29 2 *"] {
            let _ = Schedule::read(written, Some("Europe/Berlin"), ms(NOW));
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn an_hour_that_the_clock_skips_is_due_once_and_so_is_one_that_comes_twice() {
        let berlin = Some("Europe/Berlin");
        let days = |from: &str| {
            let mut due = ms(from);
            let mut all = Vec::new();
            for _ in 0..3 {
                due = again("30 2 * * *", berlin, due, due).unwrap();
                all.push(told(due));
            }
            all
        };
        // 29 March 2026: from 02:00 to 03:00. 25 October 2026: 02:30 comes twice.
        let spring = days("2026-03-27T12:00:00Z");
        assert_eq!([&spring[0], &spring[2]], ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]);
        assert!(spring[1].starts_with("2026-03-29T01:"), "{spring:?}");
        let autumn = days("2026-10-23T12:00:00Z");
        assert_eq!([&autumn[0], &autumn[2]], ["2026-10-24T00:30:00Z", "2026-10-26T01:30:00Z"]);
    }

    #[test]
    fn what_was_missed_is_not_made_up_for_and_nothing_is_due_twice_a_minute() {
        let (utc, due) = (Some("UTC"), ms("2026-11-25T18:20:00Z"));
        let next = |pattern, now| told(again(pattern, utc, due, ms(now)).unwrap());
        assert_eq!(next("* * * * *", "2026-11-25T18:20:00.040Z"), "2026-11-25T18:21:00Z");
        assert_eq!(next("* * * * *", "2026-11-25T18:20:59Z"), "2026-11-25T18:22:00Z");
        assert_eq!(next("* * * * *", "2026-11-27T12:00:30Z"), "2026-11-27T12:02:00Z");
        assert_eq!(next("0 9 * * *", "2026-11-28T12:00:00Z"), "2026-11-29T09:00:00Z");
    }
}
