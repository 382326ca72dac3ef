//! The hub's latest report of its own state, and the parts of it that change with time: the clock and the age of the last
//! delivery.
//!
//! It is shown on a wall: figures, times and a channel's picture, no address and no text of a message. Of what the hub says
//! nothing else is kept.
//!
//! The device has no clock. While it has a session it shows the hub's, advanced by its own count of milliseconds; no
//! decision depends on it.

use core::fmt::Write as _;

use gatepost_link::frame::{self, DAY_S, Report};

use super::{pictogram::Pictogram, row::Line};
use crate::Millis;

/// A report of the hub, and when it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The report.
    pub report: Report,
    /// When it arrived.
    pub received_at: Millis,
}

/// What a hub says of itself beside its report; hubs of before do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    takes_messages: bool,
    paused: u16,
    /// The picture of the channel of the last delivery.
    pub last_channel: Option<Pictogram>,
}

impl From<frame::Health<'_>> for Health {
    fn from(said: frame::Health<'_>) -> Self {
        let frame::Health { takes_messages, paused, last_channel } = said;
        Self { takes_messages, paused, last_channel: last_channel.map(Pictogram::of_channel) }
    }
}

impl Health {
    /// Whether nobody need look after the hub.
    pub fn is_well(&self) -> bool {
        self.takes_messages && self.paused == 0
    }

    /// How the hub is, in at most 12 characters.
    pub fn words(&self) -> Line {
        let mut line = Line::new();
        let written = match (self.takes_messages, self.paused) {
            (false, _) => line.write_str("disk is full"),
            (true, 0) => line.write_str("all is well"),
            (true, paused) => write!(line, "{paused} paused"),
        };
        written.expect("a few words fit a line");
        line
    }
}

const MINUTE_MS: u64 = 60_000;

impl Status {
    /// The time of day, such as `14:05`; `None` if the hub does not know it.
    pub fn clock(&self, now: Millis) -> Option<Line> {
        let minutes = self.day_ms(now)? / MINUTE_MS;
        let mut line = Line::new();
        write!(line, "{:02}:{:02}", minutes / 60 % 24, minutes % 60).expect("a time fits a line");
        Some(line)
    }

    /// How long ago a message was last delivered, such as `7 min ago`.
    pub fn last_delivery(&self, now: Millis) -> Line {
        let mut line = Line::new();
        let written = match self.age_ms(now).map(|age| age / MINUTE_MS) {
            None => write!(line, "none yet"),
            Some(0) => write!(line, "just now"),
            Some(minutes @ 1..60) => write!(line, "{minutes} min ago"),
            Some(minutes) if minutes < 48 * 60 => write!(line, "{} h ago", minutes / 60),
            Some(minutes) => write!(line, "{} d ago", (minutes / (24 * 60)).min(9_999)),
        };
        written.expect("an age fits a line");
        line
    }

    /// When the clock or the age changes next.
    pub fn next_tick(&self, now: Millis) -> Millis {
        let to_next_minute = |at: Option<u64>| MINUTE_MS - at.unwrap_or(0) % MINUTE_MS;
        now.after(to_next_minute(self.day_ms(now)).min(to_next_minute(self.age_ms(now))))
    }

    fn day_ms(&self, now: Millis) -> Option<u64> {
        let day = u64::from(self.report.clock_s? % DAY_S) * 1_000;
        Some(day.saturating_add(now.since(self.received_at)))
    }

    fn age_ms(&self, now: Millis) -> Option<u64> {
        Some((u64::from(self.report.last_s?) * 1_000).saturating_add(now.since(self.received_at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(clock_s: Option<u32>, last_s: Option<u32>) -> Status {
        Status { report: Report { held: 0, queued: 0, sent: 0, last_s, clock_s }, received_at: Millis(500) }
    }

    #[test]
    fn the_clock_advances_by_itself_and_past_midnight() {
        let status = status(Some(DAY_S - 30), None);
        assert_eq!(status.clock(Millis(500)).unwrap(), "23:59");
        assert_eq!(status.next_tick(Millis(500)), Millis(30_500));
        assert_eq!(status.clock(Millis(30_500)).unwrap(), "00:00");
        assert_eq!(status.next_tick(Millis(30_500)), Millis(90_500));
    }

    #[test]
    fn an_impossible_time_of_day_wraps_to_a_possible_one() {
        assert_eq!(status(Some(u32::MAX), Some(u32::MAX)).clock(Millis(u64::MAX)).unwrap().len(), 5);
        assert_eq!(status(None, None).clock(Millis(9)), None);
    }

    #[test]
    fn an_age_fits_its_place_on_the_smallest_screen() {
        for (seconds, shown) in [
            (59, "just now"),
            (60, "1 min ago"),
            (3_599, "59 min ago"),
            (3_600, "1 h ago"),
            (172_800, "2 d ago"),
            (u32::MAX, "9999 d ago"),
        ] {
            assert_eq!(status(None, Some(seconds)).last_delivery(Millis(500)), shown);
            assert!(shown.len() <= 10, "{shown}");
        }
        assert_eq!(status(None, None).last_delivery(Millis(500)), "none yet");
    }

    #[test]
    fn what_needs_looking_after_is_said_first() {
        let health = |takes_messages, paused| {
            Health::from(frame::Health { takes_messages, paused, last_channel: Some("pager") })
        };
        for (health, is_well, words) in [
            (health(true, 0), true, "all is well"),
            (health(true, u16::MAX), false, "65535 paused"),
            (health(false, 3), false, "disk is full"),
        ] {
            assert_eq!((health.is_well(), health.words().as_str()), (is_well, words));
            assert!(words.len() <= 12, "{words}");
            assert_eq!(health.last_channel, Some(Pictogram::of_channel("")), "a bubble");
        }
    }
}
