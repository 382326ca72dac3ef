//! The open card: which pages were shown, and what may be decided on it.
//!
//! A page counts as shown once the display has accepted it, and the next page can be reached only from a page that counts
//! as shown. A card is armed when its last page was shown and every button was released after that; as pages only go
//! forward, all pages were shown by then. Nothing can be approved while the display does not show the card: with the
//! display unplugged, people once approved what nobody could read. Denying is always safe and needs no display. A card
//! that was offered in an earlier session stays open, but nothing can be decided on it until the hub offers the same
//! document again.

use gatepost_link::{
    Digest,
    document::{Document, MAX_TEXT},
    frame::{Offer, Refusal},
};

use crate::{
    Millis,
    ui::{geometry::Geometry, pages::lay_out, view::CardView},
};

/// A Deny press that began sooner than this many milliseconds after the card opened was not meant for the card.
pub const GRACE: u64 = 300;
/// The time that the hub has in a new session to offer again what it still holds.
pub const REOFFER_TIMEOUT_MS: u64 = 3_000;

/// Whether the hub still holds what it offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferState {
    /// It was offered in this session.
    Current,
    /// The session in which it was offered is over.
    Disconnected,
    /// A new session began, in which the hub should offer it again.
    Awaited {
        /// How long to wait for that.
        until: Millis,
    },
}

/// What an open card must know of its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Pages to show.
    pub pages: u16,
    /// Whether the message has files.
    pub files: bool,
}

/// Checks fetched bytes against their offer. Only a document that passes is shown.
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
    /// Whether the hub still offers it.
    pub offer_state: OfferState,
    /// The counter reserved for its decision; `None` if it could not be stored.
    pub counter: Option<u64>,
    opened: Millis,
    facts: Facts,
    /// From 1.
    page: u16,
    /// Whether the display has accepted that page.
    shown: bool,
    /// Whether every page was shown.
    read: bool,
    armed: bool,
}

impl Card {
    /// Opens on the first page. The current press must have been discarded.
    pub fn open(now: Millis, offer: Offer, deadline: Millis, facts: Facts, counter: Option<u64>) -> Self {
        let offer_state = OfferState::Current;
        let (shown, read, armed) = (false, false, false);
        Self { offer, deadline, offer_state, counter, opened: now, facts, page: 1, shown, read, armed }
    }

    /// Goes one page forward if the display has accepted this one. The last page is followed by the first.
    pub fn next_page(&mut self) {
        if self.shown {
            self.page = if self.page >= self.facts.pages { 1 } else { self.page + 1 };
            self.shown = false;
        }
    }

    /// The display has accepted the page.
    pub fn mark_shown(&mut self) {
        self.shown = true;
        self.read |= self.page == self.facts.pages;
    }

    /// The display's content is unknown.
    pub fn mark_hidden(&mut self) {
        self.shown = false;
    }

    /// Whether the display has accepted the current page.
    pub fn is_shown(&self) -> bool {
        self.shown
    }

    /// Arms the card if it was read and every button is up.
    pub fn update_armed(&mut self, all_up: bool) {
        self.armed |= self.read && all_up;
    }

    /// Whether the hub would accept a decision on it.
    pub fn can_decide(&self) -> bool {
        self.offer_state == OfferState::Current && self.counter.is_some()
    }

    /// Whether a hold that begins now approves; `unseen_files` says whether files that cannot be shown may be approved.
    pub fn can_approve(&self, unseen_files: bool) -> bool {
        self.can_decide() && self.armed && self.shown && (unseen_files || !self.facts.files)
    }

    /// Whether a Deny press that began at `began` denies.
    pub fn can_deny(&self, began: Millis) -> bool {
        self.can_decide() && began.since(self.opened) >= GRACE
    }

    /// The number of the page on the screen, from 1.
    pub fn page(&self) -> u16 {
        self.page
    }

    /// Whether every page was shown.
    pub fn is_read(&self) -> bool {
        self.read
    }

    /// The card as part of a screen's structure.
    pub fn view(&self, unseen_files: bool) -> CardView {
        CardView {
            request: self.offer.request,
            page: self.page,
            pages: self.facts.pages,
            armed: self.can_approve(unseen_files),
            deniable: self.can_decide(),
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
        card.mark_shown();
        card.update_armed(true);
        card.next_page();
        card.mark_shown();
        card.update_armed(true);
        assert!(!card.can_approve(false), "the last page was not shown yet");
        card.next_page();
        card.update_armed(true);
        assert!(!card.can_approve(false), "the display has not taken the last page");
        card.mark_shown();
        assert!(!card.can_approve(false), "no release since");
        card.update_armed(false);
        assert!(!card.can_approve(false), "a button is down");
        card.update_armed(true);
        assert!(card.can_approve(false));
        card.next_page();
        card.mark_shown();
        assert_eq!((card.page(), card.can_approve(false)), (1, true), "armed stays armed on the first page");
    }

    #[test]
    fn a_page_that_the_display_did_not_take_is_not_turned_and_hides_what_could_be_approved() {
        let mut card = card(2, false);
        card.next_page();
        card.update_armed(true);
        assert_eq!((card.page(), card.is_read()), (1, false), "the first page was not shown");
        card.mark_shown();
        card.next_page();
        card.mark_shown();
        card.update_armed(true);
        assert!(card.can_approve(false));
        card.mark_hidden();
        assert!(!card.can_approve(true) && card.can_deny(Millis(9_000)), "to deny is always safe");
        card.next_page();
        assert_eq!(card.page(), 2);
        card.mark_shown();
        assert!(card.can_approve(false), "every page was read before");
    }

    #[test]
    fn a_card_with_files_is_approved_only_where_the_settings_allow_it() {
        let mut card = card(1, true);
        card.mark_shown();
        card.update_armed(true);
        assert!(!card.can_approve(false));
        assert!(card.can_approve(true));
        assert!(card.can_deny(Millis(2_000)));
    }

    #[test]
    fn a_deny_press_within_the_grace_does_not_deny() {
        let card = card(1, false);
        assert!(!card.can_deny(Millis(1_299)));
        assert!(card.can_deny(Millis(1_300)));
    }

    #[test]
    fn without_a_stored_counter_nothing_can_be_decided() {
        let mut card = card(1, false);
        card.mark_shown();
        card.update_armed(true);
        card.counter = None;
        assert!(!card.can_approve(true) && !card.can_deny(Millis(5_000)));
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
