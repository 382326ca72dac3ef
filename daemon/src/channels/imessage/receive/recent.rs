//! The last rows, which are asked for again.
//!
//! Messages gives a row its number before it says to which conversation it belongs: a moment before, and on a busy Mac some seconds. Until
//! then a BlueBubbles server does not hand the row over, and `imsg` hands it over without a conversation. Whoever asked only behind the last
//! row that was read, or only once more, never read it if others came meanwhile. So a place is left behind only after a round through the
//! rows that began some time after the place was reached.
//!
//! How many rows that are is bounded: where more come in that time, the first of them are left behind earlier.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::source::Mark;

/// Rows that are asked for again, at most: the keys of what is told already are remembered of more.
const MOST_ROWS: usize = 500;

/// Up to where no row is asked for again, and the places behind it.
#[derive(Debug, Default)]
pub(super) struct Recent {
    settled: Mark,
    reached: VecDeque<Reached>,
}

#[derive(Debug)]
struct Reached {
    place: Mark,
    /// Rows between it and the place before.
    rows: usize,
    when: Instant,
}

/// One way through the rows, from the first that is asked for again to the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// How far it is.
    pub(super) at: Mark,
    /// Rows up to here are asked for a last time.
    pub(super) last: Mark,
}

impl Recent {
    /// Nothing before `settled` is asked for again, and `place` is reached now.
    pub(super) fn new(settled: Mark, place: Mark) -> Self {
        let mut recent = Self { settled, ..Self::default() };
        recent.reach(place, 0);
        recent
    }

    /// Behind this place rows are asked for again.
    pub(super) const fn settled(&self) -> Mark {
        self.settled
    }

    /// A round that begins now. What was reached `late` ago or before, it asks for a last time.
    pub(super) fn round(&self, late: Duration) -> Round {
        let last = self.reached.iter().rev().find(|reached| reached.when.elapsed() >= late);
        Round { at: self.settled, last: last.map_or(self.settled, |reached| reached.place) }
    }

    /// So many more rows are read, at least one, up to this place.
    pub(super) fn reach(&mut self, place: Mark, rows: usize) {
        if self.reached.back().map_or(self.settled, |last| last.place) >= place {
            return;
        }
        self.reached.push_back(Reached { place, rows, when: Instant::now() });
        let mut all: usize = self.reached.iter().map(|reached| reached.rows).sum();
        while all > MOST_ROWS
            && let Some(first) = self.reached.pop_front()
        {
            all -= first.rows;
            self.settled = first.place;
        }
    }

    /// A round is over that asked for the rows up to this place a last time.
    pub(super) fn settle(&mut self, last: Mark) {
        while let Some(first) = self.reached.pop_front_if(|first| first.place <= last) {
            self.settled = first.place;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LATE: Duration = Duration::from_mins(1);

    fn rounds(recent: &mut Recent) -> (i64, i64) {
        let round = recent.round(LATE);
        recent.settle(round.last);
        (round.at.row, round.last.row)
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_left_behind_after_a_round_that_began_a_time_after_it_was_reached() {
        let mut recent = Recent::new(Mark::behind(7), Mark::behind(9));
        assert_eq!(rounds(&mut recent), (7, 7), "what was read before a stop is asked for again as well");
        advance(LATE / 2).await;
        recent.reach(Mark::behind(12), 3);
        recent.reach(Mark::behind(12), 3);
        assert_eq!(rounds(&mut recent), (7, 7));
        advance(LATE / 2).await;
        assert_eq!(rounds(&mut recent), (7, 9), "however long that is, it is asked for once more");
        assert_eq!(rounds(&mut recent), (9, 9));
        advance(10 * LATE).await;
        assert_eq!((rounds(&mut recent), rounds(&mut recent)), ((9, 12), (12, 12)));
        assert!(recent.reached.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_flood_the_last_rows_are_asked_for_again() {
        let mut recent = Recent::default();
        for row in 1..10_000 {
            recent.reach(Mark::behind(row), 1);
        }
        assert_eq!((recent.reached.len(), recent.settled.row), (MOST_ROWS, 9_999 - 500));
        for row in 10_000..10_010 {
            recent.reach(Mark::behind(row), MOST_ROWS / 2);
        }
        assert_eq!((recent.reached.len(), recent.settled.row), (2, 10_007));
        advance(LATE).await;
        assert_eq!(rounds(&mut recent).1, 10_009);
        assert_eq!(rounds(&mut recent), (10_009, 10_009));
    }
}
