//! The application's state as a screen.
//!
//! A screen depends on nothing but the state and the time, so a runner may draw as often or as seldom as its display
//! allows.

mod idle;

use core::fmt::Write as _;

use gatepost_link::{
    decision::Verdict,
    document::Document,
    frame::{Refusal, Withdrawal},
};

use super::{
    card::{Card, OfferState},
    question::Question,
    stage::{End, LinkState, Stage},
    waiting::MAX_WAITING,
};
use crate::{
    Millis,
    ui::{
        geometry::Geometry,
        notice::{self, countdown, show_message},
        pages::lay_out,
        pictogram::Pictogram,
        row::Line,
        screen::Screen,
        status::{Health, Status},
        view::{CardView, Ended, View},
    },
};

/// The most pages that have a mark each in the header.
const MAX_MARKS: u16 = 8;

/// Everything of the application that its screen shows.
pub(super) struct Snapshot<'a> {
    pub(super) geometry: Geometry,
    pub(super) approve_unseen_files: bool,
    pub(super) link: LinkState,
    pub(super) stage: &'a Stage,
    /// The bytes of the open card's document.
    pub(super) document: &'a [u8],
    /// How many cards wait behind the open one.
    pub(super) waiting: usize,
    /// Whether to install new firmware.
    pub(super) question: Option<&'a Question>,
    /// How much of new firmware is there, in percent.
    pub(super) fetched: Option<u8>,
    pub(super) hold_progress: Option<u8>,
    pub(super) status: Option<Status>,
    pub(super) health: Option<Health>,
}

/// The first page of a document as a card shows it that nobody has paged through yet, for whoever looks on from elsewhere. The time left
/// is not in it: only the device counts that.
pub fn first_page(document: &Document<'_>, geometry: Geometry) -> Screen {
    let sheet = lay_out(document, geometry, 1);
    let view = CardView {
        request: document.request,
        page: 1,
        pages: sheet.count,
        armed: false,
        deniable: true,
        unseen_files: false,
        fault: false,
    };
    let mut screen = Screen::new(geometry, View::Card(view));
    screen.set_header(&page_title(geometry, 1, sheet.count, sheet.title), "");
    screen.body = sheet.rows;
    unread(&mut screen);
    screen
}

/// A page's number, a mark for each page if there is room, and what is on it: `2/3 ●●○ text`.
fn page_title(geometry: Geometry, page: u16, pages: u16, title: &str) -> Line {
    let mut line = Line::new();
    let mut written = write!(line, "{page}/{pages} ");
    if geometry.is_large() && (2..=MAX_MARKS).contains(&pages) {
        written = written
            .and_then(|()| {
                (1..=pages).try_for_each(|at| line.write_char(if at <= page { '●' } else { '○' }))
            })
            .and_then(|()| line.write_char(' '));
    }
    written.and_then(|()| line.write_str(title)).expect("a title fits a line");
    line
}

/// What the buttons do before the last page was shown.
fn unread(screen: &mut Screen) {
    screen.set_deciding_footer("next", false, "deny", true);
}

impl Snapshot<'_> {
    /// What to draw now.
    pub(super) fn screen(&self, now: Millis) -> Screen {
        match self.stage {
            Stage::Idle => match self.question {
                Some(question) => self.question(question),
                None => self.no_card(now),
            },
            Stage::Fetching(fetch) => {
                let view = View::Fetching { request: fetch.offer.request };
                let left = countdown(fetch.deadline, now);
                self.notice(
                    view,
                    &left,
                    ("a message", Pictogram::MAIL, "waits for a decision. Fetching it ..."),
                )
            }
            Stage::Open(card) => self.card(card, now),
            Stage::Deciding(pending) => {
                let (request, verdict) = (pending.offer.request, pending.verdict());
                let words = match verdict {
                    Verdict::Approve => "Your approval is on its way to the hub.",
                    Verdict::Deny => "Your denial is on its way to the hub.",
                };
                let message = ("sending...", Pictogram::UP, words);
                self.notice(View::Sending { request, verdict }, self.link_name(), message)
            }
            Stage::Notice { request, end, .. } => {
                let request = *request;
                let (view, message) = match *end {
                    End::Decided(verdict) => (View::Done { request, verdict }, done(verdict)),
                    End::Muted => (View::Muted { request }, MUTED),
                    End::Closed(why) => (View::Closed { request, why }, closed(why)),
                };
                let waiting = self.waiting_words();
                let right = if waiting.is_empty() { self.link_name() } else { &waiting };
                let mute = self.stage.can_mute() && self.is_ready();
                let mut screen = Screen::new(self.geometry, view);
                screen.set_header("gatepost", right);
                if mute {
                    screen.set_deciding_footer("", false, "hold: mute 1 hour", true);
                    screen.hold = self.hold_progress;
                }
                let (title, pictogram, words) = message;
                show_message(&mut screen, title, pictogram, words);
                screen
            }
        }
    }

    /// A screen with a message and `right` in the header.
    fn notice(&self, view: View, right: &str, (title, pictogram, words): Message) -> Screen {
        let mut screen = Screen::new(self.geometry, view);
        screen.set_header("gatepost", right);
        show_message(&mut screen, title, pictogram, words);
        screen
    }

    /// Says how many cards wait behind this one; empty if none does.
    fn waiting_words(&self) -> Line {
        let mut line = Line::new();
        let written = match self.waiting {
            0 => Ok(()),
            MAX_WAITING.. => write!(line, "busy, {MAX_WAITING} wait"),
            1 => write!(line, "1 more waits"),
            count => write!(line, "{count} more wait"),
        };
        written.expect("a few words fit a line");
        line
    }

    fn no_card(&self, now: Millis) -> Screen {
        match self.link {
            LinkState::Down => {
                let words = "There is no link to the hub. Nothing can be decided now.";
                self.notice(View::Offline, "", ("offline", Pictogram::PLUG, words))
            }
            LinkState::Opening => {
                let words = "Waiting for the hub to answer.";
                self.notice(View::Connecting, "", ("connecting", Pictogram::PLUG, words))
            }
            LinkState::Ready { .. } => self.idle(now),
        }
    }

    /// Whether to install new firmware. Without a session too: a hub that is away does not change what was verified.
    fn question(&self, question: &Question) -> Screen {
        let (version, armed) = (question.version(), question.can_install());
        let mut screen = notice::question(self.geometry, version, armed);
        if armed {
            screen.hold = self.hold_progress;
        }
        screen
    }

    fn card(&self, card: &Card, now: Millis) -> Screen {
        let mut view = card.view(self.approve_unseen_files);
        view.armed &= self.is_ready();
        view.deniable &= self.is_ready();
        let mut screen = Screen::new(self.geometry, View::Card(view));
        let left = countdown(card.deadline, now);
        if view.fault {
            screen.set_header("gatepost", &left);
            let words = "The counter cannot be stored: no decision on this device.";
            show_message(&mut screen, "fault", Pictogram::ALERT, words);
            screen.set_footer("", "no decision");
            return screen;
        }
        let Ok(document) = Document::decode(self.document) else {
            return screen;
        };
        let sheet = lay_out(&document, self.geometry, card.page());
        let title = page_title(self.geometry, view.page, view.pages, sheet.title);
        screen.set_header(&title, &self.clock_and_queue(&title, &left));
        screen.body = sheet.rows;
        match (self.is_ready(), card.offer_state) {
            (false, _) | (_, OfferState::Disconnected) => screen.set_footer("next", "OFFLINE"),
            (_, OfferState::Awaited { .. }) => screen.set_footer("next", "asking hub"),
            _ if view.unseen_files => screen.set_deciding_footer("next", false, "only deny", true),
            _ if view.armed => screen.set_deciding_footer("hold: approve", true, "deny", true),
            _ if card.is_read() => screen.set_deciding_footer("let go", false, "deny", true),
            _ => unread(&mut screen),
        }
        if view.armed {
            screen.hold = self.hold_progress;
        }
        screen
    }

    /// The time left and, if there is room, how many cards wait behind this one: `+2 4:59`, `busy 4:59`.
    fn clock_and_queue(&self, title: &str, left: &str) -> Line {
        let mut line = Line::new();
        let written = match self.waiting {
            0 => Ok(()),
            _ if self.geometry.is_large() => write!(line, "{}  ", self.waiting_words()),
            MAX_WAITING.. => write!(line, "busy "),
            count => write!(line, "+{count} "),
        };
        written.expect("a few characters fit a line");
        if title.chars().count() + 1 + line.len() + left.len() > self.geometry.columns() {
            line.clear();
        }
        line.push_str(left).expect("a duration fits a line");
        line
    }

    fn is_ready(&self) -> bool {
        matches!(self.link, LinkState::Ready { .. })
    }

    /// How much of new firmware is there, while it is fetched.
    fn link_or_update(&self) -> Line {
        let mut line = Line::new();
        let written = match self.fetched {
            Some(percent) => write!(line, "update {percent} %"),
            None => line.write_str(self.link_name()),
        };
        written.expect("a few words fit a line");
        line
    }

    fn link_name(&self) -> &'static str {
        match self.link {
            LinkState::Down => "offline",
            LinkState::Opening => "connecting",
            LinkState::Ready { .. } => "online",
        }
    }
}

/// A title, the pictogram beside it, and the words below it.
type Message = (&'static str, Pictogram, &'static str);

fn done(verdict: Verdict) -> Message {
    match verdict {
        Verdict::Approve => ("approved", Pictogram::YES, "The hub sends it."),
        Verdict::Deny => ("denied", Pictogram::NO, "It is not sent."),
    }
}

/// The hub keeps a muted agent's messages for an hour, and asks then.
const MUTED: Message = ("muted", Pictogram::CLOCK, "Its agent asks nothing for an hour.");

fn closed(why: Ended) -> Message {
    match why {
        Ended::Withdrawn(Withdrawal::Expired) => ("expired", Pictogram::CLOCK, "Nobody decided in time."),
        Ended::Withdrawn(Withdrawal::Cancelled) => {
            ("cancelled", Pictogram::BACK, "The message was taken back.")
        }
        Ended::Withdrawn(Withdrawal::DecidedElsewhere) => ("decided", Pictogram::HAND, "by somebody else."),
        Ended::Withdrawn(Withdrawal::Rejected) => {
            ("rejected", Pictogram::ALERT, "The hub did not take the decision.")
        }
        Ended::NotConfirmed => ("no answer", Pictogram::ALERT, "Nobody confirmed your decision."),
        Ended::NoLongerOffered => ("withdrawn", Pictogram::BACK, "The hub does not ask any longer."),
        Ended::NotShown(Refusal::TooLong) => {
            ("refused", Pictogram::ALERT, "A message is too long to be read here.")
        }
        Ended::NotShown(Refusal::Malformed | Refusal::Busy) => {
            ("refused", Pictogram::ALERT, "A request was damaged.")
        }
    }
}

#[cfg(test)]
mod tests;
