//! What to draw, said twice: as structure, for those who act on it, and as rows of text cells, for those who draw.
//!
//! A screen is complete: whoever draws [`Screen::rows`] draws everything there is, each character in one cell. Pixels are
//! made from these cells and from nothing else, so what the pages count is what a person sees.

use gatepost_link::{
    RequestId,
    decision::Verdict,
    frame::{Refusal, Withdrawal},
};
use heapless::Vec;

use crate::row::{Line, Look, Row};

/// The most columns of any board.
pub const MAX_COLUMNS: usize = 40;
/// The most rows of any board.
pub const MAX_ROWS: usize = 15;
/// A screen's size in text cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    columns: u8,
    rows: u8,
}

impl Geometry {
    /// 128 × 64 pixels.
    pub const SMALL: Self = Self { columns: 21, rows: 8 };
    /// 320 × 240 pixels.
    pub const LARGE: Self = Self { columns: 40, rows: 15 };

    /// `columns` from 20 to [`MAX_COLUMNS`], `rows` from 5 to [`MAX_ROWS`]; the nearest of these is taken.
    pub fn new(columns: u8, rows: u8) -> Self {
        Self { columns: columns.clamp(20, MAX_COLUMNS as u8), rows: rows.clamp(5, MAX_ROWS as u8) }
    }

    /// Columns.
    pub fn columns(self) -> usize {
        usize::from(self.columns)
    }

    /// Rows.
    pub fn rows(self) -> usize {
        usize::from(self.rows)
    }

    /// Rows between header and footer.
    pub fn body_rows(self) -> usize {
        self.rows() - 2
    }
}

/// What the screen is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// There is no link.
    Offline,
    /// The link is up; the hub has not answered yet.
    Connecting,
    /// Nothing waits.
    Idle,
    /// A card's document is on its way.
    Fetching {
        /// The request that it belongs to.
        request: RequestId,
    },
    /// A card is open.
    Card(CardView),
    /// A decision is on its way to the hub.
    Sending {
        /// The request decided on.
        request: RequestId,
        /// What was decided.
        verdict: Verdict,
    },
    /// The hub has taken the decision.
    Done {
        /// The request decided on.
        request: RequestId,
        /// What was decided.
        verdict: Verdict,
    },
    /// A card closed without a decision that counts.
    Closed {
        /// Its request.
        request: RequestId,
        /// Why.
        why: Ended,
    },
    /// The device is paired with no hub.
    Unpaired,
    /// The device and a hub want to be paired: both show a number, and a person says whether it is the same.
    Pairing {
        /// Below 1,000,000.
        code: u32,
        /// Whether that was said here.
        confirmed: bool,
    },
    /// New firmware is being written.
    Updating {
        /// How much of it, 0 to 100.
        percent: u8,
    },
    /// The device itself has a fault.
    Fault(Fault),
}

/// An open card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardView {
    /// The request to decide on.
    pub request: RequestId,
    /// The page on the screen, from 1.
    pub page: u16,
    /// How many there are.
    pub pages: u16,
    /// Whether a hold that begins now approves.
    pub armed: bool,
    /// Whether a short press of Deny that begins now denies, but for the moment of grace after the card opened.
    pub deniable: bool,
    /// Whether files that the device cannot show forbid to approve.
    pub unseen_files: bool,
    /// Whether the counter could not be stored, so that nothing can be decided here.
    pub fault: bool,
}

/// Why a card closed without a decision that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The hub said so, or, for [`Withdrawal::Expired`], the time shown ran out.
    Withdrawn(Withdrawal),
    /// The decision left, the link broke, and the hub neither confirmed it nor asked again.
    NotConfirmed,
    /// The link broke, and afterwards the hub did not ask again.
    NoLongerOffered,
    /// The document cannot be shown.
    NotShown(Refusal),
}

/// What the device itself cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Its keys and counters can be neither read nor stored.
    Storage,
    /// It could not be paired.
    Pairing,
    /// The broker does not take its login: the hub has revoked it, or has lost it. Anybody who answers in the broker's
    /// place can say so, and nothing but this screen comes of it.
    Login,
    /// New firmware was refused or could not be written; the old one runs.
    Update,
}

/// The display has not taken a screen, or not all of it: nobody can have read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotShown;

impl core::fmt::Display for NotShown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the display did not take the screen; look after its cable")
    }
}

impl core::error::Error for NotShown {}

/// What a screen's colour says, where there are colours. Its words say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to do.
    Calm,
    /// A person is asked.
    Ask,
    /// It went as wished.
    Good,
    /// It did not, or was forbidden.
    Bad,
    /// Nobody is there.
    Away,
}

impl View {
    /// What its colour says.
    pub fn tone(&self) -> Tone {
        match self {
            Self::Offline | Self::Connecting | Self::Unpaired => Tone::Away,
            Self::Idle | Self::Sending { .. } | Self::Updating { .. } => Tone::Calm,
            Self::Card(CardView { fault: true, .. }) | Self::Fault(_) => Tone::Bad,
            Self::Fetching { .. } | Self::Card(_) | Self::Pairing { .. } => Tone::Ask,
            Self::Done { verdict: Verdict::Approve, .. } => Tone::Good,
            Self::Done { verdict: Verdict::Deny, .. } => Tone::Bad,
            Self::Closed { why, .. } => match why {
                Ended::Withdrawn(Withdrawal::Rejected) | Ended::NotConfirmed | Ended::NotShown(_) => {
                    Tone::Bad
                }
                Ended::Withdrawn(_) | Ended::NoLongerOffered => Tone::Away,
            },
        }
    }
}

/// Everything to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// The size that it was laid out for.
    pub geometry: Geometry,
    /// What it is about.
    pub view: View,
    /// The first row.
    pub header: Row,
    /// The rows below, together at most [`Geometry::body_rows`] high.
    pub body: Vec<Row, MAX_ROWS>,
    /// The last row: what the buttons do, Approve on the left, Deny on the right.
    pub footer: Row,
    /// How far a hold that will approve has come, 0 to 100. Drawn in place of the footer.
    pub hold: Option<u8>,
}

impl Screen {
    /// An empty screen.
    pub fn new(geometry: Geometry, view: View) -> Self {
        let row = |look| Row { look, ..Row::default() };
        let (header, footer) = (row(Look::Head), row(Look::Keys));
        Self { geometry, view, header, body: Vec::new(), footer, hold: None }
    }

    /// All rows, together exactly as high as the screen: header, body, and footer or progress bar.
    pub fn rows(&self) -> Vec<Row, MAX_ROWS> {
        let mut rows = Vec::new();
        let mut left = self.geometry.body_rows();
        let mut add = |row| rows.push(row).expect("a geometry has at most MAX_ROWS rows");
        add(self.header.clone());
        for row in &self.body {
            let Some(rest) = left.checked_sub(row.height()) else { break };
            left = rest;
            add(row.clone());
        }
        (0..left).for_each(|_| add(Row::default()));
        add(self.hold.map_or_else(|| self.footer.clone(), |done| Row::meter(self.geometry, "hold ", done)));
        rows
    }

    /// The same as text alone, exactly as many lines as the screen has rows.
    pub fn cells(&self) -> Vec<Line, MAX_ROWS> {
        let mut lines = Vec::new();
        for row in self.rows() {
            let text = match row.look {
                Look::Big(_) => Row::centred(self.geometry, &row.text).text,
                _ => row.text.clone(),
            };
            let below = core::iter::repeat_n(Line::new(), row.height() - 1);
            lines.extend(core::iter::once(text).chain(below));
        }
        lines
    }

    /// Sets the header; `left` is cut where both do not fit.
    pub fn set_header(&mut self, left: &str, right: &str) {
        self.header = Row::ends(self.geometry, left, right, Look::Head);
    }

    /// Sets the footer: what Approve does on the left, what Deny does on the right.
    pub fn set_footer(&mut self, approve: &str, deny: &str) {
        self.footer = Row::ends(self.geometry, approve, deny, Look::Keys);
    }

    /// Adds a row of our own to the body. One for which a very low screen has no room is left out; no field of a
    /// document comes this way.
    pub fn push(&mut self, row: Row) {
        let used: usize = self.body.iter().map(Row::height).sum();
        if used + row.height() <= self.geometry.body_rows() {
            self.body.push(row).expect("a body has at most MAX_ROWS rows");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometry_keeps_room_for_the_widest_escape_and_a_body() {
        let tiny = Geometry::new(0, 0);
        assert!(tiny.columns() > crate::escape::MAX_ESCAPE);
        assert_eq!(tiny.body_rows(), 3);
        let huge = Geometry::new(255, 255);
        assert_eq!((huge.columns(), huge.rows()), (MAX_COLUMNS, MAX_ROWS));
    }

    #[test]
    fn a_screen_has_as_many_rows_as_its_geometry() {
        for geometry in [Geometry::SMALL, Geometry::LARGE] {
            let mut screen = Screen::new(geometry, View::Idle);
            assert_eq!((screen.rows().len(), screen.cells().len()), (geometry.rows(), geometry.rows()));
            for _ in 0..geometry.rows() {
                screen.push(Row::big(geometry, "14:05", 2));
            }
            assert_eq!(screen.rows().iter().map(Row::height).sum::<usize>(), geometry.rows());
            assert_eq!(screen.cells().len(), geometry.rows());
        }
    }
}
