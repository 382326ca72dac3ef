//! The idle screen: the time, how the hub is, what waits, the last delivery.
//!
//! It hangs on a wall, so there is nothing on it that only some people may read: figures, times and a channel's picture.

use core::fmt::Write as _;

use super::Snapshot;
use crate::{
    Millis,
    ui::{
        pictogram::Pictogram,
        row::{Line, Row, Size, Style},
        screen::Screen,
        status::Status,
        view::View,
    },
};

/// With more rows than this between header and footer, there are free ones around the clock.
const ROOMY_ROWS: usize = 9;

impl Snapshot<'_> {
    /// The time; how the hub is; what waits; the last delivery.
    pub(super) fn idle(&self, now: Millis) -> Screen {
        let Some(status) = self.status else {
            let message = ("idle", Pictogram::GATE, "Nothing to decide.");
            return self.notice(View::Idle, self.link_name(), message);
        };
        let geometry = self.geometry;
        let large = geometry.is_large();
        let mut screen = Screen::new(geometry, View::Idle);
        screen.set_header("gatepost", &self.link_or_update());
        let roomy = geometry.body_rows() > ROOMY_ROWS;
        (0..usize::from(roomy)).for_each(|_| screen.push(Row::default()));
        screen.push(match status.clock(now) {
            Some(clock) => Row::big(geometry, &clock, if large { 5 } else { 2 }, None),
            None => Row::big(geometry, "gatepost", if large { 3 } else { 2 }, Some(Pictogram::GATE)),
        });
        (0..usize::from(roomy)).for_each(|_| screen.push(Row::default()));
        if let Some(health) = self.health {
            let mark = if health.is_well() { Pictogram::YES } else { Pictogram::ALERT };
            screen.push(self.figure(&health.words(), mark));
        }
        let mut held = Line::new();
        let written = match status.report.held {
            0 => held.write_str("nothing waits"),
            1 => held.write_str("1 waits"),
            count => write!(held, "{count} wait"),
        };
        written.expect("a few words fit a line");
        screen.push(self.figure(&held, Pictogram::HAND));
        screen.push(self.last_delivery(status, now));
        let (mut queued, mut sent) = (Line::new(), Line::new());
        write!(queued, "{} on the way", status.report.queued)
            .and_then(|()| write!(sent, "{} sent", status.report.sent))
            .expect("a few words fit a line");
        let both = queued.len() + 1 + sent.len() <= geometry.columns();
        let (left, right) = match status.report.queued {
            _ if both => (queued.as_str(), sent.as_str()),
            0 => (sent.as_str(), ""),
            _ => (queued.as_str(), ""),
        };
        screen.footer = Row::ends(geometry, left, right, Style::Quiet);
        screen
    }

    /// When a message was last delivered, behind the picture of its channel, whose name is drawn only where there are no pictures.
    fn last_delivery(&self, status: Status, now: Millis) -> Row {
        let mut words = Line::new();
        let age = status.last_delivery(now);
        let written = match (status.report.last_s, self.geometry.is_large()) {
            (Some(_), true) => write!(words, "sent {age}"),
            _ => words.write_str(&age),
        };
        written.expect("a word and an age fit a line");
        let Some(channel) = self.health.and_then(|health| health.last_channel) else {
            return self.fact("last ", &words, Pictogram::UP);
        };
        let mut label = Line::new();
        write!(label, "{} ", channel.channel()).expect("a channel's name fits a line");
        self.fact(&label, &words, channel)
    }

    /// How the hub is, or what waits: on a small screen a row of text.
    fn figure(&self, words: &str, pictogram: Pictogram) -> Row {
        match pictogram {
            _ if self.geometry.is_large() => self.fact("", words, pictogram),
            Pictogram::ALERT => Row { style: Style::Note, ..Row::plain(words) },
            _ => Row::plain(words),
        }
    }

    fn fact(&self, label: &str, words: &str, pictogram: Pictogram) -> Row {
        let all = Size::all(self.geometry);
        // Below a clock there is no room for the largest.
        let sizes = all.strip_prefix(&[Size::Three]).unwrap_or(all);
        Row::fact(sizes, self.geometry, label, words, Some(pictogram)).unwrap_or_else(|| {
            let text = label.chars().chain(words.chars()).take(self.geometry.columns()).collect();
            Row { text, style: Style::Plain }
        })
    }
}
