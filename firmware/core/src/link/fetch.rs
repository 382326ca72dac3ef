//! A document fetched piece by piece.
//!
//! The pieces are requested one at a time and in order, so that a document needs one buffer and a lost answer costs one
//! more request. The document's hash is checked once, when all bytes have arrived.

use gatepost_link::{
    document::MAX_DOCUMENT,
    frame::{Offer, PIECE, Refusal, Up},
};
use heapless::Vec;

use super::retry::Retry;
use crate::Millis;

/// The bytes of a document. The application has room for one.
pub type Buffer = Vec<u8, MAX_DOCUMENT>;

/// A document that is being fetched.
#[derive(Debug)]
pub struct Fetch {
    /// What was offered.
    pub offer: Offer,
    /// When it expires.
    pub deadline: Millis,
    retry: Retry,
}

/// What a piece led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It was not the requested piece; nothing changed.
    Ignored,
    /// Send this request for the next piece.
    Request(Up),
    /// All bytes have arrived.
    Complete,
}

/// Whether an offer's document can be fetched at all.
pub fn admissible(offer: &Offer) -> Result<(), Refusal> {
    match usize::try_from(offer.length) {
        Ok(0) => Err(Refusal::Malformed),
        Ok(length) if length <= MAX_DOCUMENT => Ok(()),
        _ => Err(Refusal::TooLong),
    }
}

impl Fetch {
    /// Empties `buffer` and starts; send the returned request. The offer must be [`admissible`].
    pub fn start(now: Millis, offer: Offer, deadline: Millis, buffer: &mut Buffer) -> (Self, Up) {
        buffer.clear();
        let fetch = Self { offer, deadline, retry: Retry::new(now) };
        let first = fetch.request(buffer);
        (fetch, first)
    }

    /// Handles piece number `piece`.
    pub fn piece_arrived(&mut self, now: Millis, piece: u16, bytes: &[u8], buffer: &mut Buffer) -> Progress {
        let length = self.offer.length as usize;
        let expected = PIECE.min(length.saturating_sub(buffer.len()));
        if usize::from(piece) != buffer.len() / PIECE
            || bytes.len() != expected
            || buffer.extend_from_slice(bytes).is_err()
        {
            return Progress::Ignored;
        }
        if buffer.len() == length {
            return Progress::Complete;
        }
        self.retry = Retry::new(now);
        Progress::Request(self.request(buffer))
    }

    /// The request to send again, if it is time to.
    pub fn tick(&mut self, now: Millis, buffer: &Buffer) -> Option<Up> {
        self.retry.is_due(now).then(|| self.request(buffer))
    }

    /// When [`Fetch::tick`] will repeat the request.
    pub fn next_tick(&self) -> Millis {
        self.retry.due_at()
    }

    fn request(&self, buffer: &Buffer) -> Up {
        let piece = u16::try_from(buffer.len() / PIECE).expect("MAX_DOCUMENT has few pieces");
        Up::Fetch { request: self.offer.request, piece }
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::{Digest, RequestId};
    use proptest::prelude::*;

    use super::*;

    const REQUEST: RequestId = RequestId([1; 16]);

    fn offer(length: u32) -> Offer {
        Offer { request: REQUEST, document: Digest([0; 32]), length, expires_ms: 1 }
    }

    fn ask(piece: u16) -> Up {
        Up::Fetch { request: REQUEST, piece }
    }

    #[test]
    fn pieces_are_asked_for_one_after_the_other_until_all_bytes_are_there() {
        let mut buffer = Buffer::new();
        let (mut fetch, first) = Fetch::start(Millis(0), offer(2_500), Millis(9), &mut buffer);
        assert_eq!(first, ask(0));
        assert_eq!(fetch.piece_arrived(Millis(1), 0, &[1; PIECE], &mut buffer), Progress::Request(ask(1)));
        assert_eq!(fetch.piece_arrived(Millis(2), 1, &[2; PIECE], &mut buffer), Progress::Request(ask(2)));
        assert_eq!(fetch.piece_arrived(Millis(3), 2, &[3; 452], &mut buffer), Progress::Complete);
        assert_eq!((buffer[0], buffer[1_024], buffer[2_499]), (1, 2, 3));
    }

    #[test]
    fn a_document_of_whole_pieces_has_no_empty_last_one() {
        let mut buffer = Buffer::new();
        let (mut fetch, _) = Fetch::start(Millis(0), offer(PIECE as u32), Millis(9), &mut buffer);
        assert_eq!(fetch.piece_arrived(Millis(1), 0, &[1; PIECE], &mut buffer), Progress::Complete);
    }

    #[test]
    fn another_piece_or_another_length_is_ignored() {
        let mut buffer = Buffer::new();
        let (mut fetch, _) = Fetch::start(Millis(0), offer(2_500), Millis(9), &mut buffer);
        assert_eq!(fetch.piece_arrived(Millis(1), 1, &[1; PIECE], &mut buffer), Progress::Ignored);
        assert_eq!(fetch.piece_arrived(Millis(1), 0, &[1; PIECE - 1], &mut buffer), Progress::Ignored);
        assert_eq!(fetch.piece_arrived(Millis(1), 0, &[], &mut buffer), Progress::Ignored);
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_question_without_an_answer_is_asked_again() {
        let mut buffer = Buffer::new();
        let (mut fetch, _) = Fetch::start(Millis(0), offer(10), Millis(9), &mut buffer);
        assert_eq!(fetch.tick(Millis(299), &buffer), None);
        assert_eq!(fetch.tick(Millis(300), &buffer), Some(ask(0)));
        assert_eq!(fetch.tick(Millis(899), &buffer), None);
        assert_eq!(fetch.tick(Millis(900), &buffer), Some(ask(0)));
    }

    #[test]
    fn a_document_of_impossible_length_is_refused_before_it_is_fetched() {
        assert_eq!(admissible(&offer(0)), Err(Refusal::Malformed));
        assert_eq!(admissible(&offer(8_192)), Ok(()));
        assert_eq!(admissible(&offer(8_193)), Err(Refusal::TooLong));
        assert_eq!(admissible(&offer(u32::MAX)), Err(Refusal::TooLong));
    }

    proptest! {
        #[test]
        fn no_pieces_overrun_the_buffer(
            length in 1..=MAX_DOCUMENT as u32,
            pieces in proptest::collection::vec((0..10u16, 0..2_000usize), 0..30),
        ) {
            let mut buffer = Buffer::new();
            let (mut fetch, _) = Fetch::start(Millis(0), offer(length), Millis(9), &mut buffer);
            for (piece, size) in pieces {
                let _ = fetch.piece_arrived(Millis(0), piece, &std::vec![0; size], &mut buffer);
                prop_assert!(buffer.len() <= length as usize);
            }
        }
    }
}
