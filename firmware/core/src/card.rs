//! The open card: which pages were on the screen, and what may be decided on it.
//!
//! A page counts as shown only when the display has taken it, and only from a page that counts as shown can be gone on. A
//! card is armed once its last page was shown and every button was released after that; as pages only go forward, all
//! pages were shown then. While the display does not show the card nothing can be approved: a display that was pulled out
//! once left people approving what nobody could read. To deny is always safe, and needs no display. Where a card was offered in an earlier session it stays as it is, but nothing can be
//! decided on it until the hub offers the same document again.

use gatepost_link::{
    Digest,
    document::{Document, MAX_TEXT},
    frame::{Offer, Refusal},
};

use crate::{
    Millis,
    pages::lay_out,
    screen::{CardView, Geometry},
};

/// A Deny press that began less than this many milliseconds after the card opened was meant for something else.
pub const GRACE: u64 = 300;
/// After a new session began the hub has this many milliseconds to offer again what it still holds.
pub const OFFER_AGAIN: u64 = 3_000;

/// Whether the hub stands by an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was offered in this session.
    Offered,
    /// The session is over.
    Adrift,
    /// A new session began; the hub should offer it again until then.
    Awaited {
        /// When not to wait any longer.
        until: Millis,
    },
}

/// What a document means for its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Pages to show.
    pub pages: u16,
    /// Whether files go along.
    pub files: bool,
}

/// Checks fetched bytes against their offer. Only what passes is shown.
pub fn examine(bytes: &[u8], offer: &Offer, geometry: Geometry) -> Result<Facts, Refusal> {
    if Digest::of(bytes) != offer.document {
        return Err(Refusal::Malformed);
    }
    let document = Document::decode(bytes).map_err(|_| Refusal::Malformed)?;
    if document.request != offer.request {
        return Err(Refusal::Malformed);
    }
    if document.text_len() > MAX_TEXT {
        return Err(Refusal::TooLong);
    }
    Ok(Facts { pages: lay_out(&document, geometry, 0).count, files: !document.attachments.is_empty() })
}

/// An open card.
#[derive(Debug)]
pub struct Card {
    /// What was offered.
    pub offer: Offer,
    /// When it expires.
    pub deadline: Millis,
    /// Whether the hub stands by it.
    pub standing: Standing,
    /// The counter reserved for its decision; `None` if it could not be stored.
    pub counter: Option<u64>,
    opened: Millis,
    facts: Facts,
    /// From 1.
    page: u16,
    /// Whether the display has taken that page.
    shown: bool,
    read: bool,
    armed: bool,
}

impl Card {
    /// Opens on the first page. Whatever button is down now must already be spent.
    pub fn open(now: Millis, offer: Offer, deadline: Millis, facts: Facts, counter: Option<u64>) -> Self {
        let standing = Standing::Offered;
        let (shown, read, armed) = (false, false, false);
        Self { offer, deadline, standing, counter, opened: now, facts, page: 1, shown, read, armed }
    }

    /// Goes one page forward, if the display has taken this one; after the last comes the first.
    pub fn turn(&mut self) {
        if self.shown {
            self.page = if self.page >= self.facts.pages { 1 } else { self.page + 1 };
            self.shown = false;
        }
    }

    /// The display has taken the page.
    pub fn shown(&mut self) {
        self.shown = true;
        self.read |= self.page == self.facts.pages;
    }

    /// Nobody can say what is on the display.
    pub fn hidden(&mut self) {
        self.shown = false;
    }

    /// Whether the display has taken the page.
    pub fn is_shown(&self) -> bool {
        self.shown
    }

    /// Tells whether every button is up.
    pub fn observe(&mut self, all_up: bool) {
        self.armed |= self.read && all_up;
    }

    /// Whether anything can be decided on it at all.
    pub fn decidable(&self) -> bool {
        self.standing == Standing::Offered && self.counter.is_some()
    }

    /// Whether a hold that begins now approves.
    pub fn approvable(&self, unseen_files: bool) -> bool {
        self.decidable() && self.armed && self.shown && (unseen_files || !self.facts.files)
    }

    /// Whether a Deny press that began at `began` denies.
    pub fn deniable(&self, began: Millis) -> bool {
        self.decidable() && began.since(self.opened) >= GRACE
    }

    /// The page on the screen, from 1.
    pub fn page(&self) -> u16 {
        self.page
    }

    /// Whether every page was shown.
    pub fn read(&self) -> bool {
        self.read
    }

    /// The card as the screen's structure tells it.
    pub fn view(&self, unseen_files: bool) -> CardView {
        CardView {
            request: self.offer.request,
            page: self.page,
            pages: self.facts.pages,
            armed: self.approvable(unseen_files),
            deniable: self.decidable(),
            unseen_files: self.facts.files && !unseen_files,
            fault: self.counter.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::RequestId;

    use super::*;
    use crate::testing;

    fn card(pages: u16, files: bool) -> Card {
        let offer =
            Offer { request: RequestId([1; 16]), document: Digest([0; 32]), length: 1, expires_ms: 1 };
        Card::open(Millis(1_000), offer, Millis(9_000), Facts { pages, files }, Some(1))
    }

    #[test]
    fn a_card_is_armed_after_its_last_page_and_the_release_of_all_buttons() {
        let mut card = card(3, false);
        card.shown();
        card.observe(true);
        card.turn();
        card.shown();
        card.observe(true);
        assert!(!card.approvable(false), "the last page was not shown yet");
        card.turn();
        card.observe(true);
        assert!(!card.approvable(false), "the display has not taken the last page");
        card.shown();
        assert!(!card.approvable(false), "no release since");
        card.observe(false);
        assert!(!card.approvable(false), "a button is down");
        card.observe(true);
        assert!(card.approvable(false));
        card.turn();
        card.shown();
        assert_eq!((card.page(), card.approvable(false)), (1, true), "armed stays armed on the first page");
    }

    #[test]
    fn a_page_that_the_display_did_not_take_is_not_turned_and_hides_what_could_be_approved() {
        let mut card = card(2, false);
        card.turn();
        card.observe(true);
        assert_eq!((card.page(), card.read()), (1, false), "the first page was not shown");
        card.shown();
        card.turn();
        card.shown();
        card.observe(true);
        assert!(card.approvable(false));
        card.hidden();
        assert!(!card.approvable(true) && card.deniable(Millis(9_000)), "to deny is always safe");
        card.turn();
        assert_eq!(card.page(), 2);
        card.shown();
        assert!(card.approvable(false), "every page was read before");
    }

    #[test]
    fn a_card_with_files_is_approved_only_where_the_settings_allow_it() {
        let mut card = card(1, true);
        card.shown();
        card.observe(true);
        assert!(!card.approvable(false));
        assert!(card.approvable(true));
        assert!(card.deniable(Millis(2_000)));
    }

    #[test]
    fn a_deny_press_within_the_grace_does_not_deny() {
        let card = card(1, false);
        assert!(!card.deniable(Millis(1_299)));
        assert!(card.deniable(Millis(1_300)));
    }

    #[test]
    fn without_a_stored_counter_nothing_can_be_decided() {
        let mut card = card(1, false);
        card.shown();
        card.observe(true);
        card.counter = None;
        assert!(!card.approvable(true) && !card.deniable(Millis(5_000)));
    }

    #[test]
    fn bytes_that_are_not_the_offered_document_are_refused() {
        let document = testing::document();
        let (offer, bytes) = testing::offered(&document);
        assert!(examine(&bytes, &offer, Geometry::SMALL).is_ok());

        let mut other = bytes.clone();
        other[20] ^= 1;
        assert_eq!(examine(&other, &offer, Geometry::SMALL), Err(Refusal::Malformed));
        let foreign = Offer { request: RequestId([9; 16]), ..offer };
        assert_eq!(examine(&bytes, &foreign, Geometry::SMALL), Err(Refusal::Malformed));
        let garbage = Offer { document: Digest::of(b"not a document"), ..offer };
        assert_eq!(examine(b"not a document", &garbage, Geometry::SMALL), Err(Refusal::Malformed));
    }

    #[test]
    fn text_longer_than_a_person_should_read_here_is_refused() {
        let text = "a".repeat(MAX_TEXT + 1);
        let mut document = testing::document();
        document.parts[0].text = &text;
        let (offer, bytes) = testing::offered(&document);
        assert_eq!(examine(&bytes, &offer, Geometry::SMALL), Err(Refusal::TooLong));
    }
}
