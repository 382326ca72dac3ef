//! What is to be told now, and when to look again. No clock, no database: the same question has the same answer.

use std::collections::BTreeMap;

use super::{GAP_MS, RETRY_MS, Waiting};
use crate::heartbeat::schedule::Hours;

/// What was told before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// When something was told last, in milliseconds since 1970; long ago, if nothing was.
    pub last: i64,
    /// Whether that reached nobody: then what it told of is not among the requests.
    pub in_vain: bool,
    /// The requests that were, and whether also shortly before their deadline.
    pub requests: BTreeMap<[u8; 16], bool>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Tell of these; by their places in what waits.
    Tell(Vec<usize>),
    /// Look again at this time, or at any change before it.
    Wait(i64),
    /// Look again at any change.
    Rest,
}

/// What to do now, with all that people are asked.
pub(super) fn step(waiting: &[Waiting], told: &Told, hours: &Hours, now: i64) -> Step {
    let due = |one: &Waiting| match told.requests.get(&one.request) {
        None => Some(one.asked_at),
        Some(false) => Some(one.again_at()),
        Some(true) => None,
    };
    let open = || waiting.iter().enumerate().filter(|(_, one)| one.deadline > now);
    let Some(first) = open().filter_map(|(_, one)| due(one)).min() else { return Step::Rest };
    // A clock that was set back does not silence it for good.
    let gap = if told.in_vain { RETRY_MS } else { GAP_MS };
    let gap_ends = if told.last > now { now } else { told.last.saturating_add(gap) };
    let at = hours.first_from(first.max(gap_ends).max(now));
    match at <= now {
        true => Step::Tell(
            open().filter(|(_, one)| due(one).is_some_and(|at| at <= now)).map(|(at, _)| at).collect(),
        ),
        false => Step::Wait(at),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;

    fn one(number: u8, asked_at: i64, deadline: i64) -> Waiting {
        Waiting {
            request: [number; 16],
            asked_at,
            deadline,
            agent: "a".into(),
            target: "local:x".into(),
            text: String::new(),
        }
    }

    fn told(last: i64, requests: &[(u8, bool)]) -> Told {
        let requests = requests.iter().map(|(number, again)| ([*number; 16], *again)).collect();
        Told { last, in_vain: false, requests }
    }

    fn any_time() -> Hours {
        Hours::all_day(TimeZone::UTC)
    }

    #[test]
    fn what_is_new_is_told_at_once_and_not_again_until_a_quarter_of_the_time_is_left() {
        let all = [one(1, HOUR, 5 * HOUR)];
        assert_eq!(step(&all, &Told::default(), &any_time(), HOUR), Step::Tell(vec![0]));
        let once = told(HOUR, &[(1, false)]);
        assert_eq!(step(&all, &once, &any_time(), HOUR), Step::Wait(4 * HOUR));
        assert_eq!(step(&all, &once, &any_time(), 4 * HOUR), Step::Tell(vec![0]));
        assert_eq!(step(&all, &told(4 * HOUR, &[(1, true)]), &any_time(), 4 * HOUR), Step::Rest);
        assert_eq!(step(&[], &Told::default(), &any_time(), HOUR), Step::Rest);
    }

    #[test]
    fn what_comes_soon_after_a_notification_is_told_together_two_minutes_after_it() {
        let all = [one(1, HOUR, 5 * HOUR), one(2, HOUR + 1, 5 * HOUR), one(3, HOUR + 9, 5 * HOUR)];
        let once = told(HOUR, &[(1, false)]);
        assert_eq!(step(&all, &once, &any_time(), HOUR + 10), Step::Wait(HOUR + 2 * MINUTE));
        assert_eq!(step(&all, &once, &any_time(), HOUR + 2 * MINUTE), Step::Tell(vec![1, 2]));
    }

    #[test]
    fn a_flood_is_one_notification_in_two_minutes() {
        let (mut told, mut now, mut count) = (Told::default(), HOUR, 0);
        while now < 2 * HOUR {
            let number = |at: i64| u8::try_from((at - HOUR) / 15_000).unwrap();
            let all: Vec<Waiting> = (0..=number(now))
                .map(|number| one(number, HOUR + i64::from(number) * 15_000, 9 * HOUR))
                .collect();
            if let Step::Tell(which) = step(&all, &told, &any_time(), now) {
                count += 1;
                told.last = now;
                told.requests.extend(which.iter().map(|at| (all[*at].request, false)));
            }
            now += 15_000;
        }
        assert_eq!(count, 30);
    }

    #[test]
    fn in_quiet_hours_nothing_is_told_and_after_them_what_still_waits() {
        // From seven to ten in the evening it may be.
        let hours = Hours::parse("07:00-22:00", TimeZone::UTC).unwrap();
        let all = [one(1, 23 * HOUR, 30 * HOUR), one(2, 23 * HOUR, 40 * HOUR)];
        assert_eq!(step(&all, &Told::default(), &hours, 23 * HOUR), Step::Wait(31 * HOUR));
        assert_eq!(step(&all, &Told::default(), &hours, 31 * HOUR), Step::Tell(vec![1]));
    }

    #[test]
    fn what_reached_nobody_is_told_again_ten_minutes_later() {
        let all = [one(1, HOUR, 9 * HOUR)];
        let in_vain = Told { in_vain: true, ..told(HOUR, &[]) };
        assert_eq!(step(&all, &in_vain, &any_time(), HOUR + 2 * MINUTE), Step::Wait(HOUR + 10 * MINUTE));
        assert_eq!(step(&all, &in_vain, &any_time(), HOUR + 10 * MINUTE), Step::Tell(vec![0]));
    }

    #[test]
    fn what_is_past_its_deadline_is_not_told_and_a_clock_set_back_does_not_silence_it() {
        assert_eq!(step(&[one(1, 0, HOUR)], &Told::default(), &any_time(), HOUR), Step::Rest);
        let all = [one(2, HOUR, 9 * HOUR)];
        assert_eq!(step(&all, &told(7 * HOUR, &[]), &any_time(), HOUR), Step::Tell(vec![0]));
    }
}
