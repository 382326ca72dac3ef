//! How long to wait before something is tried again.

use std::time::Duration;

use crate::{clock, random};

/// The longest that a listener waits because it was told to. Whoever sends obeys an order of any length, for it is the platform's; one
/// who listens may have been told by a proxy's maintenance page, and hears nothing until it asks again.
const LONGEST_ORDER: Duration = Duration::from_mins(5);
/// A wait of which people are told when it ends.
const TOLD: Duration = Duration::from_mins(1);

/// How long a listener waits that was told to for this reason, and the reason with the time at which it asks again.
pub(in crate::channels) fn ordered(after: Duration, why: String) -> (Duration, String) {
    let wait = after.min(LONGEST_ORDER);
    if wait < TOLD {
        return (wait, why);
    }
    let again = clock::now_ms().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
    (wait, format!("{why}; the hub asks again after {}", clock::rfc3339(again)))
}

/// The wait after so many failures: it lies somewhere between the half of what is [doubled] each time and all, so that not everybody
/// comes back at once.
pub(in crate::channels) fn pause(first: Duration, longest: Duration, failures: u32) -> Duration {
    doubled(first, longest, failures).mul_f64(0.5 + chance() / 2.0)
}

/// From `first`, twice as long after each failure, up to `longest`.
pub(in crate::channels) fn doubled(first: Duration, longest: Duration, failures: u32) -> Duration {
    first.saturating_mul(1 << failures.min(16)).min(longest)
}

/// From zero to one.
pub(in crate::channels) fn chance() -> f64 {
    f64::from(u32::from_le_bytes(random::bytes())) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_asks_again_within_minutes_and_says_when() {
        let brief = Duration::from_secs(7);
        assert_eq!(ordered(brief, "busy".into()), (brief, "busy".into()));
        for (told, waits) in [(90, 90), (7 * 86_400, 300), (u64::MAX, 300)] {
            let before = clock::now_ms();
            let (wait, why) = ordered(Duration::from_secs(told), "busy".into());
            assert_eq!(wait, Duration::from_secs(waits));
            let again = why.strip_prefix("busy; the hub asks again after ").unwrap();
            let again: jiff::Timestamp = again.parse().unwrap();
            let ahead = again.as_millisecond() - before;
            let waits = i64::try_from(waits * 1000).unwrap();
            assert!((waits - 1000..waits + 10_000).contains(&ahead), "{why}");
        }
    }

    #[test]
    fn a_pause_grows_up_to_its_bound_and_is_never_short_of_half() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        for (failures, whole) in [(0, 1), (1, 2), (5, 32), (6, 60), (u32::MAX, 60)] {
            let waits = pause(first, longest, failures).as_secs_f64();
            let whole = f64::from(whole);
            assert!(waits >= whole / 2.0 && waits <= whole, "{failures}: {waits}");
        }
    }
}
