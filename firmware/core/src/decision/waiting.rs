//! The offers that wait for the open card to close.
//!
//! The queue is bounded: an offer that does not fit is refused as busy, and the hub offers it again. A request is in the
//! queue at most once, however often it is offered.

use gatepost_link::{RequestId, frame::Offer};
use heapless::Deque;

use crate::Millis;

/// How many offers can wait.
pub const MAX_WAITING: usize = 8;

/// An offer and when it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// What was offered.
    pub offer: Offer,
    /// When it expires.
    pub deadline: Millis,
}

/// The queue, first in, first out.
#[derive(Debug, Default)]
pub struct Queue {
    offers: Deque<Waiting, MAX_WAITING>,
}

impl Queue {
    /// Adds an offer, or replaces the offer of the same request at its place. Returns `false` if there is no room.
    #[must_use]
    pub fn put(&mut self, waiting: Waiting) -> bool {
        if let Some(known) = self.offers.iter_mut().find(|known| known.offer.request == waiting.offer.request)
        {
            *known = waiting;
            return true;
        }
        self.offers.push_back(waiting).is_ok()
    }

    /// The next offer that has not expired. Expired ones are dropped.
    pub fn next(&mut self, now: Millis) -> Option<Waiting> {
        while let Some(waiting) = self.offers.pop_front() {
            if waiting.deadline > now {
                return Some(waiting);
            }
        }
        None
    }

    /// Removes a request. Returns `false` if it was not waiting.
    pub fn remove(&mut self, request: RequestId) -> bool {
        let before = self.offers.len();
        for _ in 0..before {
            if let Some(waiting) = self.offers.pop_front().filter(|waiting| waiting.offer.request != request)
            {
                self.offers.push_back(waiting).expect("one was just taken out");
            }
        }
        self.offers.len() < before
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.offers.clear();
    }

    /// The number of offers that wait.
    pub fn len(&self) -> usize {
        self.offers.len()
    }

    /// Whether no offer waits.
    pub fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::Digest;

    use super::*;

    fn waiting(id: u8, deadline: u64) -> Waiting {
        let offer =
            Offer { request: RequestId([id; 16]), document: Digest([id; 32]), length: 1, expires_ms: 0 };
        Waiting { offer, deadline: Millis(deadline) }
    }

    #[test]
    fn offers_leave_in_the_order_in_which_they_came() {
        let mut queue = Queue::default();
        assert!((0..8).all(|id| queue.put(waiting(id, 9))));
        assert!(!queue.put(waiting(8, 9)), "the ninth finds no room");
        assert!(queue.put(waiting(3, 10)), "one that waits already needs none");
        assert!(queue.remove(RequestId([1; 16])));
        assert!(!queue.remove(RequestId([1; 16])));
        let order: std::vec::Vec<u8> =
            core::iter::from_fn(|| queue.next(Millis(0))).map(|next| next.offer.request.0[0]).collect();
        assert_eq!(order, [0, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_offer_that_expired_while_it_waited_is_dropped() {
        let mut queue = Queue::default();
        assert!(queue.put(waiting(1, 100)) && queue.put(waiting(2, 200)));
        assert_eq!(queue.next(Millis(100)), Some(waiting(2, 200)));
        assert!(queue.is_empty());
    }
}
