//! How long to wait before something is tried again.

use std::time::Duration;

use crate::random;

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
    fn a_pause_grows_up_to_its_bound_and_is_never_short_of_half() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        for (failures, whole) in [(0, 1), (1, 2), (5, 32), (6, 60), (u32::MAX, 60)] {
            let waits = pause(first, longest, failures).as_secs_f64();
            let whole = f64::from(whole);
            assert!(waits >= whole / 2.0 && waits <= whole, "{failures}: {waits}");
        }
    }
}
