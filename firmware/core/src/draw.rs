//! The application's state as a screen.
//!
//! Drawing changes nothing: the same state at the same time gives the same screen, so a runner may draw as often or
//! as seldom as its display likes.

use core::fmt::Write as _;

use gatepost_link::{
    decision::Verdict,
    document::Document,
    frame::{Refusal, Withdrawal},
};

use crate::{
    Counter, Millis,
    app::{App, End, Link, Stage},
    card::{Card, Standing},
    pages::lay_out,
    screen::{Ended, Line, Screen, View},
};

impl<C: Counter> App<C> {
    /// What to draw now.
    pub fn screen(&self, now: Millis) -> Screen {
        match &self.stage {
            Stage::Idle => self.resting(),
            Stage::Fetching(fetch) => {
                let mut screen = Screen::new(self.geometry, View::Fetching { request: fetch.offer.request });
                screen.set_header("gatepost", &countdown(fetch.deadline, now));
                say(&mut screen, &["A message waits.", "Fetching it ..."]);
                screen
            }
            Stage::Open(card) => self.card(card, now),
            Stage::Deciding(pending) => {
                let (request, verdict) = (pending.offer.request, pending.verdict());
                let mut screen = Screen::new(self.geometry, View::Sending { request, verdict });
                screen.set_header("gatepost", self.link_word());
                let verdict = match verdict {
                    Verdict::Approve => "your approval",
                    Verdict::Deny => "your denial",
                };
                say(&mut screen, &["sending...", verdict]);
                screen
            }
            Stage::Notice { request, end, .. } => {
                let (view, words) = match *end {
                    End::Done(verdict) => (View::Done { request: *request, verdict }, done(verdict)),
                    End::Closed(why) => (View::Closed { request: *request, why }, closed(why)),
                };
                let mut screen = Screen::new(self.geometry, view);
                screen.set_header("gatepost", self.link_word());
                say(&mut screen, words);
                screen
            }
        }
    }

    fn resting(&self) -> Screen {
        let (view, words): (_, &[&str]) = match self.link {
            Link::Down => (View::Offline, &["No link to the hub.", "Nothing can be", "decided here now."]),
            Link::Greeting { .. } => (View::Connecting, &["Waiting for the hub", "to answer."]),
            Link::Ready { .. } => (View::Idle, &["Nothing to decide."]),
        };
        let mut screen = Screen::new(self.geometry, view);
        screen.set_header("gatepost", self.link_word());
        say(&mut screen, words);
        if let Some(status) = self.status.filter(|_| view == View::Idle) {
            let counts =
                [("held", status.held.into()), ("on the way", status.queued.into()), ("sent", status.sent)];
            push(&mut screen, Line::new());
            for (label, count) in counts {
                let mut line = Line::new();
                write!(line, "{label:<11}{count}").expect("a label and a number fit a line");
                push(&mut screen, line);
            }
        }
        screen
    }

    fn card(&self, card: &Card, now: Millis) -> Screen {
        let mut view = card.view(self.settings.approve_unseen_files);
        view.armed &= self.ready();
        view.deniable &= self.ready();
        let mut screen = Screen::new(self.geometry, View::Card(view));
        let left = countdown(card.deadline, now);
        if view.fault {
            screen.set_header("fault", &left);
            say(
                &mut screen,
                &["The counter cannot", "be stored. Nothing", "can be decided on", "this device."],
            );
            screen.set_footer("", "no decision");
            return screen;
        }
        let Ok(document) = Document::decode(&self.document) else {
            return screen;
        };
        let sheet = lay_out(&document, self.geometry, card.page());
        let mut title = Line::new();
        write!(title, "{}/{} {}", view.page, view.pages, sheet.title).expect("a title fits a line");
        screen.set_header(&title, &left);
        screen.lines = sheet.lines;
        match (self.ready(), card.standing) {
            (false, _) | (_, Standing::Adrift) => screen.set_footer("next", "OFFLINE"),
            (_, Standing::Awaited { .. }) => screen.set_footer("next", "asking hub"),
            _ if view.unseen_files => screen.set_footer("next", "only deny"),
            _ if view.armed => screen.set_footer("hold: approve", "deny"),
            _ if card.read() => screen.set_footer("let go", "deny"),
            _ => screen.set_footer("next", "deny"),
        }
        if view.armed {
            screen.hold = self.buttons.progress(now);
        }
        screen
    }

    fn link_word(&self) -> &'static str {
        match self.link {
            Link::Down => "offline",
            Link::Greeting { .. } => "connecting",
            Link::Ready { .. } => "online",
        }
    }
}

fn done(verdict: Verdict) -> &'static [&'static str] {
    match verdict {
        Verdict::Approve => &["approved"],
        Verdict::Deny => &["denied"],
    }
}

fn closed(why: Ended) -> &'static [&'static str] {
    match why {
        Ended::Withdrawn(Withdrawal::Expired) => &["expired", "Nobody decided", "in time."],
        Ended::Withdrawn(Withdrawal::Cancelled) => &["cancelled", "The message was", "taken back."],
        Ended::Withdrawn(Withdrawal::DecidedElsewhere) => &["decided elsewhere"],
        Ended::Withdrawn(Withdrawal::Rejected) => &["rejected", "The hub did not take", "the decision."],
        Ended::NotConfirmed => &["not confirmed", "Nobody confirmed", "your decision."],
        Ended::NoLongerOffered => &["withdrawn", "The hub does not", "ask any longer."],
        Ended::NotShown(Refusal::TooLong) => &["refused", "A message is too long", "to be read here."],
        Ended::NotShown(Refusal::Malformed | Refusal::Busy) => &["refused", "A request was", "damaged."],
    }
}

/// The time left: `4:59`, or `3h07m` from an hour on.
fn countdown(deadline: Millis, now: Millis) -> Line {
    let seconds = deadline.since(now).div_ceil(1_000);
    let mut line = Line::new();
    let written = match seconds {
        0..3_600 => write!(line, "{}:{:02}", seconds / 60, seconds % 60),
        _ => write!(line, "{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    };
    written.expect("a duration fits a line");
    line
}

fn say(screen: &mut Screen, words: &[&str]) {
    for row in words {
        let mut line = Line::new();
        line.push_str(row).expect("our own rows fit a line");
        push(screen, line);
    }
}

/// Rows that a very low screen has no room for are left out; no field of a document comes this way.
fn push(screen: &mut Screen, line: Line) {
    if screen.lines.len() < screen.geometry.body_rows() {
        screen.lines.push(line).expect("a body has at most MAX_ROWS rows");
    }
}

#[cfg(test)]
mod tests;
