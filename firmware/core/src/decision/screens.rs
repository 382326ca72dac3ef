//! The application's state as a screen.
//!
//! A screen depends on nothing but the state and the time, so a runner may draw as often or as seldom as its display
//! allows.

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
        row::{Line, Row},
        screen::Screen,
        status::Status,
        view::{Ended, View},
    },
};

/// Columns of the hub's figures on the idle screen.
const FIGURE_COLUMNS: usize = 21;

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
                let words = &["waits for a decision.", "Fetching it ..."];
                self.notice(view, &countdown(fetch.deadline, now), "a message", words)
            }
            Stage::Open(card) => self.card(card, now),
            Stage::Deciding(pending) => {
                let (request, verdict) = (pending.offer.request, pending.verdict());
                let words: &[&str] = match verdict {
                    Verdict::Approve => &["Your approval is on", "its way to the hub."],
                    Verdict::Deny => &["Your denial is on", "its way to the hub."],
                };
                self.notice(View::Sending { request, verdict }, self.link_name(), "sending...", words)
            }
            Stage::Notice { request, end, .. } => {
                let request = *request;
                let (view, (title, words)) = match *end {
                    End::Decided(verdict) => (View::Done { request, verdict }, done(verdict)),
                    End::Closed(why) => (View::Closed { request, why }, closed(why)),
                };
                let mut screen = self.notice(view, self.link_name(), title, words);
                let waiting = self.waiting_line();
                if !waiting.is_empty() {
                    screen.push(Row::centred(self.geometry, &waiting));
                }
                screen
            }
        }
    }

    /// A screen with a message and `right` in the header.
    fn notice(&self, view: View, right: &str, title: &str, words: &[&str]) -> Screen {
        let mut screen = Screen::new(self.geometry, view);
        screen.set_header("gatepost", right);
        show_message(&mut screen, title, words);
        screen
    }

    /// Says how many cards wait behind this one; empty if none does.
    fn waiting_line(&self) -> Line {
        let mut line = Line::new();
        let written = match self.waiting {
            0 => Ok(()),
            MAX_WAITING.. => write!(line, "Busy: {MAX_WAITING} more wait."),
            1 => write!(line, "1 more waits."),
            count => write!(line, "{count} more wait."),
        };
        written.expect("a few words fit a line");
        line
    }

    fn no_card(&self, now: Millis) -> Screen {
        match self.link {
            LinkState::Down => {
                let words = &["There is no link to", "the hub. Nothing can", "be decided now."];
                self.notice(View::Offline, "", "✗ offline", words)
            }
            LinkState::Opening => {
                let words = &["Waiting for the hub", "to answer."];
                self.notice(View::Connecting, "", "connecting", words)
            }
            LinkState::Ready { .. } => self.idle(now),
        }
    }

    fn idle(&self, now: Millis) -> Screen {
        let Some(status) = self.status else {
            return self.notice(View::Idle, self.link_name(), "idle", &["Nothing to decide."]);
        };
        let mut screen = Screen::new(self.geometry, View::Idle);
        screen.set_header("gatepost", &self.link_or_update());
        let figures = [
            ("held", Some(status.report.held.into())),
            ("on the way", Some(status.report.queued.into())),
            ("sent", Some(status.report.sent)),
            ("last", None),
        ];
        let clock = status.clock(now);
        let tall = self.geometry.body_rows() > figures.len() + 4;
        if tall {
            screen.push(Row::default());
        }
        if let Some(clock) = &clock {
            screen.push(Row::big(self.geometry, clock, if tall { 3 } else { 2 }));
        }
        if tall || clock.is_none() {
            (0..usize::from(tall)).for_each(|_| screen.push(Row::default()));
            screen.push(Row::centred(self.geometry, "Nothing to decide."));
            screen.push(Row::default());
        }
        let indent = self.geometry.columns().saturating_sub(FIGURE_COLUMNS) / 2;
        for (label, count) in figures {
            let mut line = Line::new();
            let written = match count {
                Some(count) => write!(line, "{:indent$}{label:<11}{count}", ""),
                None => write!(line, "{:indent$}{label:<11}{}", "", status.last_delivery(now)),
            };
            written.expect("a label and a number fit a line");
            screen.push(Row { text: line, ..Row::default() });
        }
        screen
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
            let words = &["The counter cannot be", "stored: no decision", "on this device."];
            show_message(&mut screen, "fault", words);
            screen.set_footer("", "no decision");
            return screen;
        }
        let Ok(document) = Document::decode(self.document) else {
            return screen;
        };
        let sheet = lay_out(&document, self.geometry, card.page());
        let mut title = Line::new();
        write!(title, "{}/{} {}", view.page, view.pages, sheet.title).expect("a title fits a line");
        screen.set_header(&title, &self.clock_and_queue(&title, &left));
        screen.body = sheet.rows;
        match (self.is_ready(), card.offer_state) {
            (false, _) | (_, OfferState::Disconnected) => screen.set_footer("next", "OFFLINE"),
            (_, OfferState::Awaited { .. }) => screen.set_footer("next", "asking hub"),
            _ if view.unseen_files => screen.set_footer("next", "only deny"),
            _ if view.armed => screen.set_footer("hold: approve", "deny"),
            _ if card.is_read() => screen.set_footer("let go", "deny"),
            _ => screen.set_footer("next", "deny"),
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

/// A title, and the lines below it.
type Words = (&'static str, &'static [&'static str]);

fn done(verdict: Verdict) -> Words {
    match verdict {
        Verdict::Approve => ("✓ approved", &["The hub sends it."]),
        Verdict::Deny => ("✗ denied", &["It will not be sent."]),
    }
}

fn closed(why: Ended) -> Words {
    match why {
        Ended::Withdrawn(Withdrawal::Expired) => ("expired", &["Nobody decided", "in time."]),
        Ended::Withdrawn(Withdrawal::Cancelled) => ("cancelled", &["The message was", "taken back."]),
        Ended::Withdrawn(Withdrawal::DecidedElsewhere) => ("decided", &["by somebody else."]),
        Ended::Withdrawn(Withdrawal::Rejected) => ("rejected", &["The hub did not take", "the decision."]),
        Ended::NotConfirmed => ("no answer", &["Nobody confirmed", "your decision."]),
        Ended::NoLongerOffered => ("withdrawn", &["The hub does not", "ask any longer."]),
        Ended::NotShown(Refusal::TooLong) => ("refused", &["A message is too long", "to be read here."]),
        Ended::NotShown(Refusal::Malformed | Refusal::Busy) => ("refused", &["A request was", "damaged."]),
    }
}

#[cfg(test)]
mod tests;
