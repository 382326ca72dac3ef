//! One companion's session: what it is sent next of a release. No I/O.
//!
//! The companion asks and the hub answers, one question at a time: a newer question takes the place of one that was not answered
//! yet, so nothing piles up for a companion that asks too fast. Between two blocks there is a pause; what else is said to the
//! companion, above all its cards, goes in between.
//!
//! Nothing is remembered across sessions. A session begins with what the companion runs. The release is offered anew, or the companion
//! is told that nothing is: one that still asked a person from the session before installed what had been paused.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gatepost_link::{
    frame::Part,
    update::{FETCH_BYTES, ImageId},
};

use super::package::Package;

/// Between two blocks of one companion: a megabyte takes two seconds at most.
const PAUSE: Duration = Duration::from_millis(4);
/// How often a root is sent to a companion that goes on saying that it has the one before.
const MAX_ROOTS_SENT: u8 = 3;

/// A release, for one companion.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The release.
    pub package: Arc<Package>,
    /// Whether it is to be taken again where it went back.
    pub again: bool,
}

impl Offer {
    fn is(&self, other: &Self) -> bool {
        let same = self.package.release == other.package.release && self.again == other.again;
        same && self.package.signed() == other.package.signed()
    }

    fn is_signed_anew(&self, other: &Self) -> bool {
        self.package.image_id() == other.package.image_id() && self.package.signed() != other.package.signed()
    }
}

/// What a companion gets now.
#[derive(Debug, Clone)]
pub enum Gets {
    /// Nothing.
    Nothing,
    /// The release of this row, which is being read into memory.
    Soon(i64),
    /// This.
    This(Offer),
}

/// What to say to the companion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// The root after its own: these bytes.
    Root(Vec<u8>),
    /// The release: its signed manifest.
    Manifest {
        /// As it travels.
        signed: Vec<u8>,
        /// Whether it is to be taken again where it went back.
        again: bool,
    },
    /// Nothing is offered to it, or not any more.
    NoUpdate,
    /// Nothing: it does not come to the root that signed the release.
    Stuck,
}

/// A question that is not one of a companion in its right mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unserved {
    /// Nothing is offered to it now; it may not have heard so yet.
    NothingOffered,
    /// There is nothing at this place.
    OutOfBounds,
}

/// A block that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Question {
    part: Part,
    offset: u32,
    length: usize,
    /// When its answer may leave.
    at: Instant,
}

/// One session's side of updates.
#[derive(Debug, Default)]
pub struct Serving {
    /// What the companion said of its root in this session; [`None`] before it did.
    root: Option<u32>,
    /// What it was offered, and has not been told that it is not any more.
    offer: Option<Offer>,
    /// Whether it knows that nothing is offered, if nothing is.
    knows: bool,
    /// Whether the manifest was sent, and not just a root.
    manifest: bool,
    /// The root that it was sent last, and how often.
    sent: (u32, u8),
    question: Option<Question>,
    /// When the last block left.
    answered: Option<Instant>,
}

impl Serving {
    /// The companion has said what it runs, in this session.
    pub fn has_said(&self) -> bool {
        self.root.is_some()
    }

    /// The companion says which root it has. What it was told before is void: it is told again with the next [`Self::follow`].
    pub fn running(&mut self, root: u32) {
        self.root = Some(root);
        self.offer = None;
        self.knows = false;
        self.question = None;
        self.manifest = false;
    }

    /// The companion gets this now; what to tell it, if it does not know. Call it again until that is nothing.
    pub fn follow(&mut self, gets: Gets) -> Option<Say> {
        let root = self.root?;
        let offer = match gets {
            Gets::Nothing => None,
            // What it has been offered stays, and what it knows from before, until the release is there.
            Gets::Soon(release)
                if self.offer.as_ref().is_none_or(|known| known.package.release == release) =>
            {
                return None;
            }
            Gets::Soon(_) => None,
            Gets::This(offer) => Some(offer),
        };
        let offer = match (&self.offer, offer) {
            (None, None) if self.knows => return None,
            (Some(known), Some(wanted)) if known.is(&wanted) => {
                self.offer = Some(wanted);
                return None;
            }
            // A companion goes on with an image that it knows, by the manifest that it knows.
            (Some(known), Some(wanted)) if known.is_signed_anew(&wanted) => None,
            (_, offer) => offer,
        };
        self.question = None;
        self.manifest = false;
        self.knows = offer.is_none();
        self.offer = offer;
        let Some(Offer { package, again }) = &self.offer else { return Some(Say::NoUpdate) };
        if root < package.root {
            let next = root.checked_add(1).and_then(|next| package.root_file(next));
            let times = if self.sent.0 == root { self.sent.1 } else { 0 };
            let Some(next) = next.filter(|_| times < MAX_ROOTS_SENT) else { return Some(Say::Stuck) };
            self.sent = (root, times + 1);
            return Some(Say::Root(next.to_vec()));
        }
        self.manifest = true;
        Some(Say::Manifest { signed: package.signed().to_vec(), again: *again })
    }

    /// The row of the release that it was offered with this image.
    pub fn release(&self, image: ImageId) -> Option<i64> {
        let offered = self.offer.as_ref().filter(|_| self.manifest)?;
        (offered.package.image_id() == image).then_some(offered.package.release)
    }

    /// The companion asks for a block. It is answered when its turn comes: [`Self::next_block`].
    ///
    /// # Errors
    /// It cannot be.
    pub fn asked(&mut self, now: Instant, part: Part, offset: u32, length: u16) -> Result<(), Unserved> {
        let offered = self.offer.as_ref().filter(|_| self.manifest).ok_or(Unserved::NothingOffered)?;
        let length = usize::from(length);
        if !(1..=FETCH_BYTES).contains(&length) || offered.package.block(part, offset, length).is_none() {
            return Err(Unserved::OutOfBounds);
        }
        let at = self.answered.map_or(now, |answered| now.max(answered + PAUSE));
        self.question = Some(Question { part, offset, length, at });
        Ok(())
    }

    /// The answer to what was asked last, once, if it may leave by now: the part, where it begins, and its bytes.
    pub fn next_block(&mut self, now: Instant) -> Option<(Part, u32, &[u8])> {
        let Question { part, offset, length, .. } = self.question.take_if(|question| question.at <= now)?;
        self.answered = Some(now);
        let bytes = self.offer.as_ref()?.package.block(part, offset, length)?;
        Some((part, offset, bytes))
    }

    /// When [`Self::next_block`] has one.
    pub fn next_at(&self) -> Option<Instant> {
        self.question.map(|question| question.at)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::Fixture, *};

    fn offer(fixture: &Fixture) -> Offer {
        Offer { package: Arc::new(fixture.package(1)), again: false }
    }

    fn this(fixture: &Fixture) -> Gets {
        Gets::This(offer(fixture))
    }

    /// One that was offered a release.
    fn serving(fixture: &Fixture) -> Serving {
        let mut serving = Serving::default();
        serving.running(1);
        assert!(matches!(serving.follow(this(fixture)), Some(Say::Manifest { .. })));
        serving
    }

    #[test]
    fn a_companion_fetches_all_of_a_release_block_by_block() {
        let fixture = Fixture::new("1.1.0", 10_000);
        let (mut serving, mut now) = (serving(&fixture), Instant::now());
        for (part, whole) in [(Part::List, fixture.list()), (Part::Image, fixture.image().to_vec())] {
            let mut had = Vec::new();
            while had.len() < whole.len() {
                let at = u32::try_from(had.len()).unwrap();
                serving.asked(now, part, at, 2_048).unwrap();
                assert_eq!(serving.next_at(), Some(now), "whoever waits is answered at once");
                let (answered, offset, bytes) = serving.next_block(now).unwrap();
                assert_eq!((answered, offset), (part, at));
                had.extend_from_slice(bytes);
                now += PAUSE;
            }
            assert_eq!(had, whole);
        }
        assert_eq!(serving.next_block(now + PAUSE), None, "each question is answered once");
    }

    #[test]
    fn what_is_asked_again_is_answered_again_and_only_the_last_question_counts() {
        let fixture = Fixture::new("1.1.0", 10_000);
        let (mut serving, now) = (serving(&fixture), Instant::now());
        for offset in [0, 2_048, 4_096] {
            serving.asked(now, Part::Image, offset, 2_048).unwrap();
        }
        assert_eq!(serving.next_block(now).unwrap().1, 4_096);
        assert_eq!(serving.next_block(now), None);
        serving.asked(now, Part::Image, 4_096, 2_048).unwrap();
        assert_eq!(serving.next_block(now), None, "not at once");
        assert_eq!(serving.next_at(), Some(now + PAUSE));
        assert_eq!(serving.next_block(now + PAUSE).unwrap().1, 4_096);
    }

    #[test]
    fn what_is_not_there_is_not_served() {
        let fixture = Fixture::new("1.1.0", 10_000);
        let (mut serving, now) = (serving(&fixture), Instant::now());
        for (part, offset, length) in [
            (Part::Image, 0, 0),
            (Part::Image, 0, 2_049),
            (Part::Image, 0, u16::MAX),
            (Part::Image, 10_000, 1),
            (Part::Image, u32::MAX, 2_048),
            (Part::Image, u32::MAX - 2_047, 2_048),
            (Part::List, 96, 32),
            (Part::List, u32::MAX, 1),
        ] {
            assert_eq!(
                serving.asked(now, part, offset, length),
                Err(Unserved::OutOfBounds),
                "{offset} {length}"
            );
        }
        assert_eq!(serving.next_block(now), None);
        serving.asked(now, Part::Image, 9_999, 2_048).unwrap();
        assert_eq!(serving.next_block(now).unwrap().2, &fixture.image()[9_999..]);
        let mut without = Serving::default();
        assert_eq!(without.asked(now, Part::Image, 0, 1), Err(Unserved::NothingOffered));
        without.running(1);
        assert_eq!(without.asked(now, Part::Image, 0, 1), Err(Unserved::NothingOffered));
        assert_eq!((without.release(fixture.image_id()), serving.release([0; 8])), (None, None));
        assert_eq!(serving.release(fixture.image_id()), Some(1));
    }

    #[test]
    fn an_offer_is_made_once_in_a_session_until_the_companion_says_again_what_it_runs() {
        let fixture = Fixture::new("1.1.0", 10_000);
        let mut serving = Serving::default();
        assert_eq!(serving.follow(this(&fixture)), None, "it has not said what it runs");
        serving.running(1);
        assert_eq!(serving.follow(Gets::Soon(1)), None, "it is being read");
        assert!(matches!(serving.follow(this(&fixture)), Some(Say::Manifest { again: false, .. })));
        assert_eq!(serving.follow(this(&fixture)), None);
        let now = Instant::now();
        serving.asked(now, Part::Image, 0, 10).unwrap();
        assert_eq!(serving.follow(Gets::Nothing), Some(Say::NoUpdate));
        assert_eq!(serving.next_block(now + PAUSE), None, "what it asked for is void");
        assert_eq!(serving.asked(now, Part::Image, 0, 10), Err(Unserved::NothingOffered));
        let again = Offer { again: true, ..offer(&fixture) };
        assert!(matches!(serving.follow(Gets::This(again)), Some(Say::Manifest { again: true, .. })));
        serving.running(1);
        assert!(matches!(serving.follow(this(&fixture)), Some(Say::Manifest { .. })), "it may be lost");
    }

    #[test]
    fn a_companion_that_may_still_ask_from_before_is_told_once_that_nothing_is_offered() {
        let fixture = Fixture::new("1.1.0", 10_000);
        let mut serving = Serving::default();
        assert_eq!(serving.follow(Gets::Nothing), None, "it has not said what it runs");
        for _ in 0..2 {
            serving.running(1);
            assert_eq!(serving.follow(Gets::Nothing), Some(Say::NoUpdate));
            assert_eq!(serving.follow(Gets::Nothing), None);
        }
        assert!(matches!(serving.follow(this(&fixture)), Some(Say::Manifest { .. })));
        // Another release takes its place: nothing is asked until that is read.
        assert_eq!(serving.follow(Gets::Soon(1)), None);
        assert_eq!(serving.follow(Gets::Soon(2)), Some(Say::NoUpdate));
        assert_eq!(serving.follow(Gets::Soon(2)), None);
    }

    #[test]
    fn an_image_that_is_signed_anew_is_offered_anew() {
        let fixture = Fixture::new("1.1.0", 10_000);
        let mut serving = serving(&fixture);
        let anew = Fixture::new("1.1.0", 10_000).with(|manifest| manifest.expires += 1);
        assert_eq!(
            serving.follow(this(&anew)),
            Some(Say::NoUpdate),
            "what it has by the old manifest is void"
        );
        let signed = anew.package(1).signed().to_vec();
        assert_eq!(serving.follow(this(&anew)), Some(Say::Manifest { signed, again: false }));
        assert_eq!(serving.follow(this(&anew)), None);
    }

    #[test]
    fn roots_go_before_the_release_one_after_the_other() {
        let fixture = Fixture::new("1.1.0", 10_000).with_roots(3);
        let mut serving = Serving::default();
        let mut roots = Vec::new();
        for root in 1..3 {
            serving.running(root);
            match serving.follow(this(&fixture)) {
                Some(Say::Root(bytes)) => roots.push(bytes),
                other => panic!("{other:?}"),
            }
            assert_eq!(
                serving.asked(Instant::now(), Part::List, 0, 32),
                Err(Unserved::NothingOffered),
                "not before the release"
            );
        }
        assert_eq!(roots, fixture.root_files());
        serving.running(3);
        assert!(matches!(serving.follow(this(&fixture)), Some(Say::Manifest { .. })));
        serving.running(4);
        let later = serving.follow(this(&fixture));
        assert!(matches!(later, Some(Say::Manifest { .. })), "the device judges it by its own root");

        // One that does not take it is not sent it for ever, and none is sent out of order.
        let mut stubborn = Serving::default();
        for _ in 0..MAX_ROOTS_SENT {
            stubborn.running(1);
            assert!(matches!(stubborn.follow(this(&fixture)), Some(Say::Root(_))));
        }
        stubborn.running(1);
        assert_eq!(stubborn.follow(this(&fixture)), Some(Say::Stuck));
        let mut without = Serving::default();
        without.running(0);
        assert_eq!(without.follow(this(&fixture)), Some(Say::Stuck), "root 1 is not in the file");
    }
}
