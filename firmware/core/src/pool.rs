//! Memory that a board's devices are lent page by page: given out in runs, and given again to whoever wants as many.
//!
//! For devices that are found once and kept, and few that are started again. What comes back and finds no place is lost.

/// Runs that can wait to be given again.
const KEPT: usize = 8;

/// How much was given out, and what came back.
#[derive(Debug, Default)]
pub struct Pool {
    given: usize,
    /// First page and count; nothing where the count is 0.
    back: [(usize, usize); KEPT],
}

impl Pool {
    /// Nothing given out yet.
    pub const fn new() -> Self {
        Self { given: 0, back: [(0, 0); KEPT] }
    }

    /// So many pages that nobody has: the number of the first.
    pub fn take(&mut self, pages: usize) -> usize {
        match self.back.iter_mut().find(|(_, count)| *count == pages && pages > 0) {
            Some(place) => core::mem::take(place).0,
            None => {
                let first = self.given;
                self.given += pages;
                first
            }
        }
    }

    /// These pages are nobody's any more.
    pub fn give_back(&mut self, first: usize, pages: usize) {
        if let Some(place) = self.back.iter_mut().find(|(_, count)| *count == 0) {
            *place = (first, pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_started_again_and_again_needs_no_more() {
        let mut pool = Pool::new();
        assert_eq!(pool.take(2), 0, "somebody else's");
        let mut most = 0;
        for _ in 0..100 {
            let (frame, ring) = (pool.take(75), pool.take(1));
            most = most.max(frame + 75).max(ring + 1);
            assert!(frame >= 2 && ring >= 2 && !(frame..frame + 75).contains(&ring));
            pool.give_back(frame, 75);
            pool.give_back(ring, 1);
        }
        assert_eq!(most, 2 + 76);
    }

    #[test]
    fn more_than_can_be_kept_is_lost_and_given_to_nobody_twice() {
        let mut pool = Pool::new();
        let runs: std::vec::Vec<usize> = (0..KEPT + 2).map(|_| pool.take(1)).collect();
        runs.iter().for_each(|first| pool.give_back(*first, 1));
        let mut again: std::vec::Vec<usize> = (0..KEPT + 2).map(|_| pool.take(1)).collect();
        again.sort_unstable();
        again.dedup();
        assert_eq!(again.len(), KEPT + 2);
    }
}
