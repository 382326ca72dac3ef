//! Whether Messages has another database: its newest row is below the place.
//!
//! One answer says nothing. A server that is starting, or that lost its leave to read, has no rows, or few; what believed it read years of
//! messages as new ones. So the same is to be said twice, as far apart as two questions are, and nothing at all is no answer.

use std::time::Duration;

use tokio::time::Instant;

/// What was said first of an end that is below the place.
#[derive(Debug, Default)]
pub(super) struct End {
    seen: Option<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    since: Instant,
    newest: i64,
    at: i64,
}

/// Where another database is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anew {
    /// Behind this row: what came after it was said first is read.
    pub(super) row: i64,
    /// What was written before is nobody's, in milliseconds: no number says any more what is known.
    pub(super) began: i64,
}

impl End {
    /// The place is no further than the newest row.
    pub(super) fn is_well(&mut self) {
        self.seen = None;
    }

    /// The newest row is this one, below `place`; where to go on, if that was so `apart` before.
    pub(super) fn is_below(&mut self, newest: i64, place: i64, now: i64, apart: Duration) -> Option<Anew> {
        // One that is being read in has more each time; one that has fewer than it had is not whole yet.
        if let Some(seen) = self.seen.filter(|seen| newest >= seen.newest) {
            let is_said_again = seen.newest > 0 && seen.since.elapsed() >= apart;
            if is_said_again {
                return Some(Anew { row: seen.newest, began: seen.at });
            }
            if seen.newest > 0 || newest == 0 {
                return None;
            }
        }
        if self.seen.is_none() {
            tracing::warn!(
                place,
                newest,
                "Messages has fewer messages than it had: if it says so again, it is read from there on. If the Mac has all of them, what \
                 reads them may lack Full Disk Access"
            );
        }
        self.seen = Some(Seen { since: Instant::now(), newest, at: now });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn another_database_is_believed_once_it_is_told_of_twice_and_none_never() {
        let mut end = End::default();
        let mut says = |newest: i64, now: i64| end.is_below(newest, 900, now, APART);
        for now in 0..5 {
            assert_eq!(says(0, now), None, "nothing is no answer");
            tokio::time::advance(APART).await;
        }
        assert_eq!(says(5, 10), None);
        tokio::time::advance(APART / 2).await;
        assert_eq!(says(6, 11), None, "too early");
        tokio::time::advance(APART / 2).await;
        assert_eq!(says(3, 12), None, "it has fewer again");
        tokio::time::advance(APART).await;
        assert_eq!(says(7, 13), Some(Anew { row: 3, began: 12 }));
        end.is_well();
        assert_eq!(end.is_below(7, 900, 14, APART), None);
    }
}
