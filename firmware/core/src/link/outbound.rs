//! The frames that wait to be sent, in a bounded queue.
//!
//! Important frames are repeated until they are answered. So a frame that does not fit is dropped, and a frame that is
//! still in the queue is not added twice.

use gatepost_link::frame::Up;
use heapless::Deque;

/// How many frames fit.
const CAPACITY: usize = 16;
/// How many places are closed to refusals, which are never repeated and for which nobody waits.
const RESERVED: usize = 4;

/// The queue.
#[derive(Debug, Default)]
pub struct Outbound {
    frames: Deque<Up, CAPACITY>,
}

impl Outbound {
    /// Queues a frame.
    pub fn push(&mut self, frame: Up) {
        if matches!(frame, Up::Display { .. }) {
            // Only the latest state is of use.
            self.drop_displays();
        }
        let room = match frame {
            Up::Refuse { .. } => CAPACITY - RESERVED,
            _ => CAPACITY,
        };
        if self.frames.len() < room && !self.frames.iter().any(|queued| *queued == frame) {
            self.frames.push_back(frame).expect("the length was checked");
        }
    }

    fn drop_displays(&mut self) {
        for _ in 0..self.frames.len() {
            if let Some(frame) = self.frames.pop_front().filter(|frame| !matches!(frame, Up::Display { .. }))
            {
                self.frames.push_back(frame).expect("one was just taken out");
            }
        }
    }

    /// Takes the next frame.
    pub fn pop(&mut self) -> Option<Up> {
        self.frames.pop_front()
    }

    /// Drops all frames: their session is over.
    pub fn clear(&mut self) {
        self.frames.clear();
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::{RequestId, frame::Refusal};

    use super::*;

    #[test]
    fn a_frame_that_still_waits_is_not_queued_again() {
        let mut outbound = Outbound::default();
        let fetch = Up::Fetch { request: RequestId([1; 16]), piece: 0 };
        outbound.push(fetch);
        outbound.push(fetch);
        assert_eq!(outbound.pop(), Some(fetch));
        assert_eq!(outbound.pop(), None);
    }

    #[test]
    fn a_flood_of_refusals_leaves_room_for_what_matters() {
        let mut outbound = Outbound::default();
        for id in 0..100 {
            outbound.push(Up::Refuse { request: RequestId([id; 16]), reason: Refusal::Busy });
        }
        let fetch = Up::Fetch { request: RequestId([1; 16]), piece: 0 };
        outbound.push(fetch);
        let mut last = None;
        while let Some(frame) = outbound.pop() {
            last = Some(frame);
        }
        assert_eq!(last, Some(fetch));
    }
}
