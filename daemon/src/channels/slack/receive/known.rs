//! How far an account has read: the last message of each conversation and thread, after which a gap is asked for.
//!
//! While a gap in one is not filled, what is new there does not move its place: a hub that is killed meanwhile asks again. It waits
//! (`held`) until that is filled.

use tokio::time::sleep;

use super::{Tempo, draft::Ts};
use crate::channels::{
    hub_handle::HubHandle,
    received::{MAX_POSITION_BYTES, Position},
};

const STREAM: &str = "conversations";

/// So many are known, those where something was said last: 63 bytes each at most, in one position.
const MOST: usize = 64;

/// A conversation, or a thread in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) channel: String,
    pub(super) thread: Option<Ts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    spot: Spot,
    /// All up to here is read.
    last: Ts,
    /// The newest that was heard.
    newest: Ts,
    /// The gap that is not filled yet.
    behind: Option<u64>,
}

/// The places, the one where something was said last at the end.
#[derive(Debug, Default)]
pub(super) struct Known {
    places: Vec<Place>,
    gaps: u64,
    moved: bool,
}

impl Known {
    /// Those of an earlier start, once the hub can say.
    pub(super) async fn read(hub: &dyn HubHandle, tempo: Tempo) -> Self {
        let mut failures = 0;
        loop {
            if let Ok(stored) = hub.position(STREAM).await {
                return Self { places: parse(&stored.unwrap_or_default()), ..Self::default() };
            }
            sleep(tempo.pause(failures)).await;
            failures += 1;
        }
    }

    /// This was said.
    pub(super) fn said(&mut self, channel: &str, thread: Option<Ts>, ts: Ts) {
        let spot = Spot { channel: channel.to_owned(), thread };
        let at = self.places.iter().position(|place| place.spot == spot);
        let mut place = match at {
            Some(at) => self.places.remove(at),
            None => Place { spot, last: ts, newest: ts, behind: None },
        };
        place.newest = place.newest.max(ts);
        if place.behind.is_none() {
            place.last = place.newest;
        }
        self.push(place);
    }

    /// A conversation is heard of for the first time. What was said before this may have been lost.
    pub(super) fn begins(&mut self, spot: Spot, ts: Ts) {
        if self.places.iter().all(|place| place.spot != spot) {
            self.gaps += 1;
            let before = Ts(ts.0.saturating_sub(1));
            self.push(Place { spot, last: before, newest: before, behind: Some(self.gaps) });
        }
    }

    fn push(&mut self, place: Place) {
        if self.places.len() >= MOST {
            self.places.remove(0);
        }
        self.places.push(place);
        self.moved = true;
    }

    /// Something may have been said everywhere that was not heard.
    pub(super) fn all_are_behind(&mut self) {
        self.gaps += 1;
        let gap = Some(self.gaps);
        self.places.iter_mut().for_each(|place| place.behind = gap);
    }

    /// Something was said there that was not taken, after what is asked for now.
    pub(super) fn is_behind_again(&mut self, spot: &Spot) {
        self.gaps += 1;
        let gap = Some(self.gaps);
        self.places.iter_mut().filter(|place| place.spot == *spot).for_each(|place| place.behind = gap);
    }

    /// If this place is behind, up to where it is read, and the gap.
    pub(super) fn behind(&self, spot: &Spot) -> Option<(Spot, Ts, u64)> {
        let place = self.places.iter().find(|place| place.spot == *spot)?;
        Some((place.spot.clone(), place.last, place.behind?))
    }

    /// A place that is behind, up to where it is read, and the gap.
    pub(super) fn next_behind(&self) -> Option<(Spot, Ts, u64)> {
        self.places.iter().rev().find_map(|place| self.behind(&place.spot))
    }

    /// The gap is filled there, unless there is another one by now.
    pub(super) fn is_filled(&mut self, spot: &Spot, gap: u64) {
        let place = self.places.iter_mut().find(|place| place.spot == *spot && place.behind == Some(gap));
        if let Some(place) = place {
            (place.behind, place.last) = (None, place.newest);
            self.moved = true;
        }
    }

    /// Nothing can be asked there any more.
    pub(super) fn forget(&mut self, spot: &Spot) {
        self.places.retain(|place| place.spot != *spot);
        self.moved = true;
    }

    pub(super) fn have_moved(&self) -> bool {
        self.moved
    }

    /// Where it goes on.
    pub(super) fn position(&self) -> Position {
        let place = |place: &Place| match place.spot.thread {
            Some(thread) => format!("{}/{}:{}", place.spot.channel, thread.0, place.last.0),
            None => format!("{}:{}", place.spot.channel, place.last.0),
        };
        let mut places: Vec<String> = self.places.iter().map(place).collect();
        // Of an id that is longer than any known there may be too many.
        while places.iter().map(|place| place.len() + 1).sum::<usize>() > MAX_POSITION_BYTES {
            places.remove(0);
        }
        Position { stream: STREAM.into(), value: places.join(" ") }
    }

    /// The position is on disk.
    pub(super) fn is_written(&mut self) {
        self.moved = false;
    }
}

fn parse(text: &str) -> Vec<Place> {
    let place = |text: &str| {
        let (spot, last) = text.split_once(':')?;
        let (channel, thread) = match spot.split_once('/') {
            Some((channel, thread)) => (channel, Some(Ts(thread.parse().ok()?))),
            None => (spot, None),
        };
        let last = Ts(last.parse().ok()?);
        let is_id =
            !channel.is_empty() && channel.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let spot = Spot { channel: channel.to_owned(), thread };
        is_id.then_some(Place { spot, last, newest: last, behind: None })
    };
    text.split(' ').filter_map(place).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "C012AB3CD";

    fn ts(seconds: u64) -> Ts {
        Ts(seconds * 1_000_000)
    }

    #[test]
    fn a_position_is_read_as_it_was_written_and_the_widest_fits() {
        let mut known = Known::default();
        for n in 0..200_u64 {
            known.said(&format!("C{n:023}"), Some(Ts(u64::MAX)), Ts(u64::MAX));
        }
        known.said(A, None, ts(1_700_000_000));
        // What came late takes nothing back.
        known.said(A, None, ts(1));
        let position = known.position();
        assert!(position.value.len() <= MAX_POSITION_BYTES);
        assert!(position.value.ends_with(" C012AB3CD:1700000000000000"), "{}", position.value);
        let read = parse(&position.value);
        assert_eq!(read[..], known.places[known.places.len() - read.len()..]);
        assert!(read.len() > 40);
        for other in ["", " ", "C1", "C1:", ":1", "C1:x", "c1:1", "C1/x:1", "C1/1:", "C1:-1"] {
            assert_eq!(parse(other), [], "{other}");
        }
    }

    #[test]
    fn a_new_conversation_is_behind_until_it_was_asked_and_one_that_lost_more_is_again() {
        let mut known = Known::default();
        let spot = Spot { channel: A.into(), thread: None };
        known.begins(spot.clone(), ts(900));
        assert_eq!(known.position().value, "C012AB3CD:899999999");
        let (_, _, gap) = known.behind(&spot).unwrap();
        known.is_behind_again(&spot);
        known.is_filled(&spot, gap);
        let (_, last, gap) = known.behind(&spot).unwrap();
        known.said(A, None, ts(900));
        known.is_filled(&spot, gap);
        assert_eq!((known.behind(&spot), last), (None, Ts(899_999_999)));
        // It is not new twice.
        known.begins(spot.clone(), ts(500));
        assert_eq!(known.behind(&spot), None);
        assert_eq!(known.position().value, "C012AB3CD:900000000");
    }

    #[test]
    fn what_is_new_moves_no_place_whose_gap_is_not_filled() {
        let mut known = Known { places: parse("C012AB3CD:100000000"), ..Known::default() };
        assert_eq!(known.next_behind(), None);
        known.all_are_behind();
        known.said(A, None, ts(900));
        assert!(known.position().value.ends_with(":100000000"));
        let (spot, last, gap) = known.next_behind().unwrap();
        assert_eq!(last, ts(100));
        // Another gap, before the first is filled.
        known.all_are_behind();
        known.is_filled(&spot, gap);
        assert!(known.position().value.ends_with(":100000000"));
        let (spot, _, gap) = known.next_behind().unwrap();
        known.is_filled(&spot, gap);
        assert!(known.position().value.ends_with(":900000000"));
        assert_eq!(known.next_behind(), None);
        known.forget(&spot);
        assert_eq!(known.position().value, "");
    }
}
