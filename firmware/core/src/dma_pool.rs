//! Allocates pages of memory to a board's devices in runs, and reuses a freed run for a request of the same size.
//!
//! For devices that are found once and kept, and a few that are restarted. A freed run for which the list of free runs has
//! no place is lost.

/// How many free runs are remembered.
const MAX_FREE_RUNS: usize = 8;

/// The pages that were allocated, and the runs that were freed.
#[derive(Debug, Default)]
pub struct Pool {
    allocated: usize,
    /// First page and count of free runs; a count of 0 is an unused entry.
    free: [(usize, usize); MAX_FREE_RUNS],
}

impl Pool {
    /// A pool without allocations.
    pub const fn new() -> Self {
        Self { allocated: 0, free: [(0, 0); MAX_FREE_RUNS] }
    }

    /// Allocates pages, and returns the number of the first.
    pub fn allocate(&mut self, pages: usize) -> usize {
        match self.free.iter_mut().find(|(_, count)| *count == pages && pages > 0) {
            Some(place) => core::mem::take(place).0,
            None => {
                let first = self.allocated;
                self.allocated += pages;
                first
            }
        }
    }

    /// Frees pages.
    pub fn free(&mut self, first: usize, pages: usize) {
        if let Some(place) = self.free.iter_mut().find(|(_, count)| *count == 0) {
            *place = (first, pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_restarted_repeatedly_needs_no_more_memory() {
        let mut pool = Pool::new();
        assert_eq!(pool.allocate(2), 0, "of another device");
        let mut most = 0;
        for _ in 0..100 {
            let (frame, ring) = (pool.allocate(75), pool.allocate(1));
            most = most.max(frame + 75).max(ring + 1);
            assert!(frame >= 2 && ring >= 2 && !(frame..frame + 75).contains(&ring));
            pool.free(frame, 75);
            pool.free(ring, 1);
        }
        assert_eq!(most, 2 + 76);
    }

    #[test]
    fn runs_beyond_the_list_are_lost_and_no_page_is_allocated_twice() {
        let mut pool = Pool::new();
        let runs: std::vec::Vec<usize> = (0..MAX_FREE_RUNS + 2).map(|_| pool.allocate(1)).collect();
        runs.iter().for_each(|first| pool.free(*first, 1));
        let mut again: std::vec::Vec<usize> = (0..MAX_FREE_RUNS + 2).map(|_| pool.allocate(1)).collect();
        again.sort_unstable();
        again.dedup();
        assert_eq!(again.len(), MAX_FREE_RUNS + 2);
    }
}
