//! How far an account has read.
//!
//! The numbers of updates are an order only while they come: after a week without any the next is random
//! (<https://core.telegram.org/bots/api#update>, `update_id`), and may be lower than an `offset` that would acknowledge it unread. So
//! after six days the account asks without one, for what is not acknowledged yet; the keys tell what it has.

use crate::channels::received::Position;

/// The stream's name.
pub(super) const STREAM: &str = "updates";

/// Seconds after which the numbers may begin anew, a day early.
const STALE: i64 = 6 * 24 * 3600;

/// Where the account goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the next update, and when the last one came, in seconds since 1970.
    next: Option<(i64, i64)>,
}

impl Place {
    /// As it was stored: the number, and the time. What cannot be read is nowhere.
    pub(super) fn parse(stored: &str) -> Self {
        let (next, at) = stored.split_once(' ').unwrap_or((stored, "0"));
        Self { next: next.parse().ok().zip(at.parse().ok()) }
    }

    /// Behind this update.
    pub(super) fn behind(update: i64, now: i64) -> Self {
        Self { next: Some((update.saturating_add(1), now)) }
    }

    /// As it is stored.
    pub(super) fn position(self) -> Option<Position> {
        let (next, at) = self.next?;
        Some(Position { stream: STREAM.into(), value: format!("{next} {at}") })
    }

    /// What `getUpdates` is told, if anything.
    pub(super) fn offset(self, now: i64) -> Option<i64> {
        let (next, at) = self.next?;
        (now.abs_diff(at) < STALE.unsigned_abs()).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written_and_what_is_none_is_nowhere() {
        let place = Place::behind(41, 1_790_000_000);
        let position = place.position().unwrap();
        assert_eq!((position.stream.as_str(), position.value.as_str()), ("updates", "42 1790000000"));
        assert_eq!(Place::parse(&position.value), place);
        for other in ["", "x", "5 x", "99999999999999999999 5"] {
            assert_eq!(Place::parse(other), Place::default(), "{other:?}");
        }
        assert_eq!(Place::parse("42").offset(1_790_000_000), None, "nobody knows how old it is");
        assert_eq!(Place::behind(i64::MAX, 5).offset(5), Some(i64::MAX));
    }

    #[test]
    fn after_a_quiet_week_no_offset_acknowledges_what_was_not_read() {
        let place = Place::behind(41, 1_790_000_000);
        assert_eq!(place.offset(1_790_000_000 + STALE - 1), Some(42));
        assert_eq!(place.offset(1_790_000_000 + STALE), None);
        assert_eq!(place.offset(5), None, "a clock that nobody set");
    }
}
