//! What time it is, for everything that the queue compares.
//!
//! Deadlines are promises of a length of time, and wall clocks jump: a board without a battery begins in the past until
//! somebody tells it the time, and a burst of stale messages went out elsewhere when it did. So within a boot this is the
//! clock that counts from the boot, sleep included, whatever the wall clock does; across boots it goes on from the wall
//! clock, and never from before the last time that was written down. After a boot with a clock that nobody vouches for,
//! what was waiting goes on waiting until the time is set, for at most [`PATIENCE`]; deadlines and due times from before
//! the boot are not judged meanwhile.

use std::{
    fs,
    sync::atomic::{AtomicI64, Ordering},
};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// How long a boot waits for somebody to set the clock. Milliseconds.
pub const PATIENCE: i64 = 120_000;
/// A wall clock that moved by this against the boot's was set by somebody. Milliseconds; slewing is far slower.
const SET: i64 = 1_000;

/// Milliseconds from the boot's clock to this one; unset until somebody asks.
static OFFSET: AtomicI64 = AtomicI64::new(UNSET);
const UNSET: i64 = i64::MIN;

/// Milliseconds since 1970: the unit of every time in the database.
pub fn now_ms() -> i64 {
    let offset = match OFFSET.load(Ordering::Relaxed) {
        UNSET => raise(wall() - boot()),
        offset => offset,
    };
    boot() + offset
}

/// The nearest time from 1970 on that RFC 3339 can write, whose years have four digits. A platform may say any number, and whoever
/// reads what the hub wrote must find a time.
pub fn writable(ms: i64) -> i64 {
    timestamp(ms).as_millisecond()
}

fn timestamp(ms: i64) -> jiff::Timestamp {
    // Its greatest is the end of 9999-12-30, so that any offset still writes a year of four digits.
    jiff::Timestamp::from_millisecond(ms.max(0)).unwrap_or(jiff::Timestamp::MAX)
}

/// A time of [`now_ms`] as RFC 3339, UTC, always to the millisecond: so written, times sort as texts. What cannot be written is the
/// nearest that [can](writable).
pub fn rfc3339(ms: i64) -> String {
    format!("{:.3}", timestamp(ms))
}

/// The same to the second, as people read times.
pub fn to_the_second(ms: i64) -> String {
    format!("{:.0}", timestamp(ms))
}

/// A time of [`now_ms`] in an answer or a listing, where every time is written as [`rfc3339`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub i64);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Self(time.as_millisecond()))
    }
}

/// The time of day where the hub stands, in seconds since midnight: for people's eyes, nothing is judged by it.
pub fn local_s() -> u32 {
    let time = jiff::Zoned::now().time();
    let part = |part: i8| u32::try_from(part).expect("a time of day has no negative parts");
    (part(time.hour()) * 60 + part(time.minute())) * 60 + part(time.second())
}

/// What the system says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The wall clock, in milliseconds since 1970.
    pub wall: i64,
    /// Since the boot, sleep included. Milliseconds.
    pub boot: i64,
    /// Which boot this is.
    pub boot_id: Option<String>,
    /// Whether something vouches for the wall clock.
    pub trusted: bool,
}

impl Facts {
    /// As they are now.
    pub fn now() -> Self {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        // The kernel set the time from a clock with a battery, or systemd-timesyncd has heard it from a server.
        let battery = fs::read_to_string("/sys/class/rtc/rtc0/hctosys").is_ok_and(|text| text.trim() == "1");
        let trusted = battery || fs::exists("/run/systemd/timesync/synchronized").unwrap_or(false);
        Self { wall: wall(), boot: boot(), boot_id: boot_id.map(|id| id.trim().to_owned()), trusted }
    }
}

/// What an earlier process wrote down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// The boot that it ran in.
    pub boot_id: Option<String>,
    /// Milliseconds from that boot's clock to this one.
    pub offset: Option<i64>,
    /// The last time that was written down.
    pub last: Option<i64>,
}

/// How the boot's clock becomes this one, and whether it is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    offset: i64,
    waiting: Option<Waiting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    /// The boot's clock then.
    since: i64,
    /// What the wall clock was ahead of it then.
    wall: i64,
}

impl Clock {
    /// Goes on from what was written down.
    pub fn resume(stored: &Stored, facts: &Facts) -> Self {
        if let (Some(offset), true) =
            (stored.offset, stored.boot_id.is_some() && stored.boot_id == facts.boot_id)
        {
            return Self { offset, waiting: None };
        }
        let wall = facts.wall - facts.boot;
        let last = stored.last.unwrap_or(i64::MIN);
        let trusted = stored.last.is_none() || (facts.trusted && facts.wall >= last);
        let waiting = (!trusted).then_some(Waiting { since: facts.boot, wall });
        Self { offset: facts.wall.max(last) - facts.boot, waiting }
    }

    /// The time, when the boot's clock says `boot`.
    pub const fn at(&self, boot: i64) -> i64 {
        boot + self.offset
    }

    /// Milliseconds from the boot's clock to this one.
    pub const fn offset(&self) -> i64 {
        self.offset
    }

    /// Whether times from before the boot may be judged.
    pub const fn is_settled(&self) -> bool {
        self.waiting.is_none()
    }

    /// Looks whether somebody has set the time, or nobody will; the clock that then counts. It never goes back.
    #[must_use]
    pub fn look(self, facts: &Facts) -> Self {
        let Some(waiting) = self.waiting else { return self };
        let wall = facts.wall - facts.boot;
        let set = facts.trusted || (wall - waiting.wall).abs() >= SET;
        match set {
            true => Self { offset: self.offset.max(wall), waiting: None },
            false if facts.boot - waiting.since >= PATIENCE => Self { waiting: None, ..self },
            false => self,
        }
    }

    /// Makes this the clock of the whole process.
    pub fn install(&self) {
        raise(self.offset);
    }
}

/// Within a process the clock only goes forward.
fn raise(offset: i64) -> i64 {
    OFFSET.fetch_max(offset, Ordering::Relaxed).max(offset)
}

fn wall() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn boot() -> i64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_number_it_is_written_as_a_time() {
        assert_eq!(rfc3339(1_772_366_400_000), "2026-03-01T12:00:00.000Z");
        for far in [i64::MIN, -1, 253_402_300_799_000, 253_402_300_800_000, i64::MAX] {
            let text = rfc3339(far);
            let read: Time = serde_json::from_value(text.as_str().into()).unwrap();
            assert_eq!((read.0, text.len()), (writable(far), 24), "{text}");
            assert_eq!(to_the_second(far).len(), 20);
        }
    }

    #[test]
    fn the_time_of_day_is_one() {
        assert!(local_s() < gatepost_link::frame::DAY_S);
    }

    const DAY: i64 = 86_400_000;
    /// Some day in 2026.
    const THEN: i64 = 1_790_000_000_000;

    fn facts(boot_id: &str, boot: i64, wall: i64, trusted: bool) -> Facts {
        Facts { wall, boot, boot_id: Some(boot_id.into()), trusted }
    }

    fn stored(boot_id: &str, offset: i64, last: i64) -> Stored {
        Stored { boot_id: Some(boot_id.into()), offset: Some(offset), last: Some(last) }
    }

    #[test]
    fn within_a_boot_the_wall_clock_may_jump_as_it_likes() {
        let first = Clock::resume(&Stored::default(), &facts("a", 1_000, THEN, false));
        assert!(first.is_settled(), "there is nothing from before");
        assert_eq!(first.at(1_000), THEN);
        for wall in [THEN - 400 * DAY, THEN + 400 * DAY] {
            assert_eq!(first.look(&facts("a", 61_000, wall, true)).at(61_000), THEN + 60_000);
            let again = Clock::resume(&stored("a", first.offset(), THEN), &facts("a", 61_000, wall, false));
            assert_eq!((again.at(61_000), again.is_settled()), (THEN + 60_000, true), "a restart neither");
        }
    }

    #[test]
    fn across_boots_time_never_goes_below_the_last_that_was_written_down() {
        let earlier = stored("a", THEN, THEN + DAY);
        let clock = Clock::resume(&earlier, &facts("b", 10, 0, true));
        assert_eq!((clock.at(10), clock.is_settled()), (THEN + DAY, false));
        let clock = Clock::resume(&earlier, &facts("b", 10, THEN + 3 * DAY, true));
        assert_eq!((clock.at(10), clock.is_settled()), (THEN + 3 * DAY, true));
    }

    #[test]
    fn a_boot_with_a_clock_that_nobody_vouches_for_waits_until_it_is_set() {
        // A file gave it the time of the last shutdown; two days have passed since.
        let clock = Clock::resume(&stored("a", 0, THEN), &facts("b", 10_000, THEN + 5_000, false));
        assert!(!clock.is_settled());
        let later = clock.look(&facts("b", 40_000, THEN + 35_000, false));
        assert!(!later.is_settled());
        let set = later.look(&facts("b", 50_000, THEN + 2 * DAY, false));
        assert_eq!((set.at(50_000), set.is_settled()), (THEN + 2 * DAY, true));
        let clock = later.look(&facts("b", 50_000, THEN + 45_010, true));
        assert_eq!((clock.at(50_000), clock.is_settled()), (THEN + 45_010, true));
    }

    #[test]
    fn after_two_minutes_the_boot_goes_on_with_the_time_that_it_has() {
        let clock = Clock::resume(&stored("a", 0, THEN), &facts("b", 10_000, 0, false));
        assert!(!clock.look(&facts("b", 129_999, 119_999, false)).is_settled());
        let settled = clock.look(&facts("b", 130_000, 120_000, false));
        assert_eq!((settled.at(130_000), settled.is_settled()), (THEN + 120_000, true));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_take_time_back() {
        let clock = Clock::resume(&stored("a", 0, THEN), &facts("b", 0, THEN + DAY, false));
        let set = clock.look(&facts("b", 1_000, THEN + 60_000, true));
        assert_eq!((set.at(1_000), set.is_settled()), (THEN + DAY + 1_000, true));
    }

    #[test]
    fn this_machines_time_is_the_wall_clocks_to_begin_with() {
        assert!((now_ms() - wall()).abs() < 60_000);
        let facts = Facts::now();
        assert!(facts.boot > 0 && facts.boot_id.is_some());
    }
}
