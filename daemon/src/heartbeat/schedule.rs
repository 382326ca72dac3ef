//! When heartbeats are due: every so often, within the active hours of a time zone.
//!
//! The interval is a length of time, and the hours are what a clock on the wall says. On the day that loses an hour there are fewer
//! heartbeats in a window across that hour, on the one that gains an hour more; a day has no more than [`MAX_A_DAY`].
//!
//! [`MAX_A_DAY`]: super::MAX_A_DAY

use std::time::Duration;

use jiff::{Timestamp, ToSpan as _, civil, tz::TimeZone};

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// The hours of each day in which there are heartbeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    zone: TimeZone,
    /// From and until, in minutes since midnight; until the next day if the end is the earlier one. All day if nothing stands here.
    window: Option<(u16, u16)>,
}

/// What is wrong with active hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHours {
    /// Two times.
    #[error("write from and until, such as \"07:00-22:00\"; \"22:00-06:00\" goes on into the next day")]
    Form,
    /// A window of nothing.
    #[error("from and until are the same: leave the key out for the whole day")]
    Empty,
}

impl Hours {
    /// All day, with days of this time zone.
    pub const fn all_day(zone: TimeZone) -> Self {
        Self { zone, window: None }
    }

    /// Reads `07:00-22:00`.
    ///
    /// # Errors
    /// It is not that.
    pub fn parse(text: &str, zone: TimeZone) -> Result<Self, BadHours> {
        let (from, until) = text.split_once('-').ok_or(BadHours::Form)?;
        let (from, until) = (minutes(from)?, minutes(until)?);
        if from == DAY {
            return Err(BadHours::Form);
        }
        if from == until {
            return Err(BadHours::Empty);
        }
        Ok(Self { zone, window: Some((from, until)) })
    }

    /// Whether a time, in milliseconds since 1970, is within them.
    pub fn contain(&self, at: i64) -> bool {
        let Some((from, until)) = self.window else { return true };
        let time = self.zone.to_datetime(timestamp(at)).time();
        let minute =
            u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).unwrap_or_default();
        match from < until {
            true => (from..until).contains(&minute),
            false => minute >= from || minute < until,
        }
    }

    /// The first time from `at` on that is within them. Times in milliseconds since 1970.
    pub fn first_from(&self, at: i64) -> i64 {
        let Some((from, _)) = self.window.filter(|_| !self.contain(at)) else { return at };
        let today = self.zone.to_datetime(timestamp(at)).date();
        // Today's opening is over, or to come; in the hour that a day loses, the clock shows the next one that there is.
        let opens = (0_i64..=2).filter_map(|days| {
            let opening = today.checked_add(days.days()).ok()?.to_datetime(time_of(from));
            Some(self.zone.to_timestamp(opening).ok()?.as_millisecond())
        });
        let mut opens = opens.filter(|opens| *opens > at && self.contain(*opens));
        // A day without its opening does not exist: a gap is shorter than any window in whole minutes that begins in it.
        opens.next().unwrap_or(at + 3_600_000)
    }

    /// The day of a time, such as `2026-03-29`.
    pub fn day(&self, at: i64) -> String {
        self.zone.to_datetime(timestamp(at)).date().to_string()
    }

    /// When the heartbeat after the one of `due` is due: an interval later, or, if that is over, an interval from `now`. What was
    /// missed while the hub was off is not made up for.
    pub fn after(&self, due: i64, now: i64, every: Duration) -> i64 {
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
        let next = due.saturating_add(every);
        self.first_from(if next > now { next } else { now.saturating_add(every) })
    }
}

fn minutes(text: &str) -> Result<u16, BadHours> {
    let (hour, minute) = text.trim().split_once(':').ok_or(BadHours::Form)?;
    let number = |digits: &str| match digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse::<u16>().map_err(|_| BadHours::Form),
        false => Err(BadHours::Form),
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let whole = hour * 60 + minute;
    if minute > 59 || whole > DAY {
        return Err(BadHours::Form);
    }
    Ok(whole)
}

fn time_of(minutes: u16) -> civil::Time {
    let part = |part: u16| i8::try_from(part).unwrap_or_default();
    civil::Time::new(part(minutes / 60), part(minutes % 60), 0, 0).unwrap_or(civil::Time::midnight())
}

fn timestamp(at: i64) -> Timestamp {
    Timestamp::from_millisecond(at).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_HOUR: Duration = Duration::from_mins(30);

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    fn at(text: &str) -> i64 {
        let time: civil::DateTime = text.parse().unwrap();
        berlin().to_timestamp(time).unwrap().as_millisecond()
    }

    /// All that are due within a day, by the clock on the wall.
    fn of_day(hours: &Hours, day: &str) -> Vec<String> {
        let mut due = hours.first_from(at(&format!("{day}T00:00")));
        let mut found = vec![];
        while hours.day(due) == day {
            found.push(berlin().to_datetime(timestamp(due)).time().to_string());
            due = hours.after(due, due, HALF_HOUR);
        }
        found
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in
            ["", "7-22", "07:00", "07:00-07:00", "7:00-22:00", "07:60-22:00", "24:00-06:00", "07:00-24:01"]
        {
            assert!(Hours::parse(text, TimeZone::UTC).is_err(), "{text:?}");
        }
        assert!(Hours::parse("00:00-24:00", TimeZone::UTC).is_ok());
    }

    #[test]
    fn the_first_is_when_the_window_opens_and_none_is_outside() {
        let hours = Hours::parse("07:00-22:00", berlin()).unwrap();
        let day = of_day(&hours, "2026-06-01");
        assert_eq!((day.len(), day[0].as_str(), day[29].as_str()), (30, "07:00:00", "21:30:00"));
        assert_eq!(hours.first_from(at("2026-06-01T22:00")), at("2026-06-02T07:00"));
    }

    #[test]
    fn a_window_may_go_on_into_the_next_day() {
        let hours = Hours::parse("22:00-06:00", berlin()).unwrap();
        assert!(hours.contain(at("2026-06-01T23:59")) && hours.contain(at("2026-06-02T05:59")));
        assert!(!hours.contain(at("2026-06-02T06:00")) && !hours.contain(at("2026-06-02T21:59")));
        assert_eq!(hours.first_from(at("2026-06-02T06:00")), at("2026-06-02T22:00"));
    }

    #[test]
    fn a_day_that_loses_or_gains_an_hour_keeps_its_window() {
        let day = Hours::parse("07:00-22:00", berlin()).unwrap();
        for changes in ["2026-03-29", "2026-10-25"] {
            assert_eq!(of_day(&day, changes).len(), 30, "{changes}");
        }
        let night = Hours::parse("01:00-05:00", berlin()).unwrap();
        for (changes, beats) in [("2026-03-28", 8), ("2026-03-29", 6), ("2026-10-25", 10)] {
            assert_eq!(of_day(&night, changes).len(), beats, "{changes}");
        }
    }

    #[test]
    fn a_window_that_opens_in_the_hour_that_is_lost_opens_when_the_clock_goes_on() {
        let hours = Hours::parse("02:30-05:00", berlin()).unwrap();
        assert_eq!(hours.first_from(at("2026-03-29T01:00")), at("2026-03-29T03:30"));
        let lost = Hours::parse("02:00-02:30", berlin()).unwrap();
        assert_eq!(
            lost.first_from(at("2026-03-29T01:00")),
            at("2026-03-30T02:00"),
            "there is no such hour that day"
        );
    }

    #[test]
    fn what_was_missed_is_not_made_up_for() {
        let hours = Hours::all_day(berlin());
        let due = at("2026-06-01T12:00");
        assert_eq!(hours.after(due, due + 5, HALF_HOUR), at("2026-06-01T12:30"), "no drift");
        assert_eq!(hours.after(due, at("2026-06-03T12:10"), HALF_HOUR), at("2026-06-03T12:40"));
    }
}
