//! What a board shows, as it says on its serial line, and pictures of that.
//!
//! The firmware writes each new [`View`](gatepost_companion::View) there in the words of its `Debug`. What is read of it
//! serves to wait and to press; whether anything was approved, the hub says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gatepost_link::decision::Verdict;

use super::BoardError;

/// What was seen last.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) screen: Screen,
    /// How the last card ended, and its request. It stays when the screen goes on.
    pub(super) ended: Option<(String, End)>,
}

/// A screen, as far as a demo needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Screen {
    #[default]
    Other,
    Unpaired,
    Pairing {
        code: u32,
        confirmed: bool,
    },
    Idle,
    Card(Card),
    Ended(String, End),
}

/// An open card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) request: String,
    pub(super) page: u16,
    pub(super) armed: bool,
    pub(super) deniable: bool,
}

/// How a card ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Decided(Verdict),
    Closed(String),
}

impl Seen {
    /// The board shows this now.
    pub(super) fn becomes(&mut self, screen: Screen) {
        if let Screen::Ended(request, end) = &screen {
            self.ended = Some((request.clone(), end.clone()));
        }
        self.screen = screen;
    }
}

impl Screen {
    pub(super) fn card(&self) -> Option<&Card> {
        match self {
            Self::Card(card) => Some(card),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Pairing { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What a picture of it is called; [`None`] where it is not worth one.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Other => return None,
            Self::Unpaired => "unpaired".into(),
            Self::Pairing { confirmed: false, .. } => "pairing".into(),
            Self::Pairing { confirmed: true, .. } => "confirmed".into(),
            Self::Idle => "idle".into(),
            Self::Card(card) => format!("page-{}", card.page),
            Self::Ended(_, End::Decided(Verdict::Approve)) => "approved".into(),
            Self::Ended(_, End::Decided(Verdict::Deny)) => "denied".into(),
            Self::Ended(_, End::Closed(_)) => "closed".into(),
        })
    }
}

/// Reads a line; [`None`] where it names no screen.
pub(super) fn read(line: &str) -> Option<Screen> {
    let (_, view) = line.split_once("screen: ")?;
    let view = view.trim_end();
    let kind = view.split([' ', '(']).next()?;
    let known = match kind {
        "Unpaired" => Some(Screen::Unpaired),
        "Idle" => Some(Screen::Idle),
        "Pairing" => pairing(view),
        "Card" => card(view).map(Screen::Card),
        "Done" => match member(view, "verdict") {
            Some("Approve") => ended(view, End::Decided(Verdict::Approve)),
            Some("Deny") => ended(view, End::Decided(Verdict::Deny)),
            _ => None,
        },
        "Closed" => {
            let why = view.split_once("why: ").map_or("", |(_, why)| why);
            ended(view, End::Closed(why.trim_end_matches([' ', '}']).to_owned()))
        }
        _ => None,
    };
    Some(known.unwrap_or_default())
}

fn pairing(view: &str) -> Option<Screen> {
    let code = member(view, "code")?.parse().ok()?;
    Some(Screen::Pairing { code, confirmed: member(view, "confirmed")? == "true" })
}

fn card(view: &str) -> Option<Card> {
    Some(Card {
        request: member(view, "request")?.to_owned(),
        page: member(view, "page")?.parse().ok()?,
        armed: member(view, "armed")? == "true",
        deniable: member(view, "deniable")? == "true",
    })
}

fn ended(view: &str, end: End) -> Option<Screen> {
    Some(Screen::Ended(member(view, "request")?.to_owned(), end))
}

/// The value of a member in the words of a derived `Debug`, where that is one word.
fn member<'v>(view: &'v str, name: &str) -> Option<&'v str> {
    let (_, behind) = view.split_once(&format!(" {name}: "))?;
    behind.split([',', ' ', '}']).next()
}

/// Where pictures are kept, numbered as they come.
pub(super) struct Camera {
    folder: PathBuf,
    taken: u32,
    last: Option<String>,
}

impl Camera {
    pub(super) fn new(folder: &Path) -> Result<Self, BoardError> {
        let failed = |error| BoardError::File(folder.to_owned(), error);
        fs::create_dir_all(folder).map_err(failed)?;
        // QEMU writes them, and knows no folder of ours.
        let folder = std::path::absolute(folder).map_err(failed)?;
        Ok(Self { folder, taken: 0, last: None })
    }

    /// The file for a picture of this screen, if it is another one than the last.
    pub(super) fn next(&mut self, screen: &Screen) -> Option<PathBuf> {
        let name = screen.name()?;
        if self.last.as_ref() == Some(&name) {
            return None;
        }
        self.taken += 1;
        let file = self.folder.join(format!("{:02}-{name}.png", self.taken));
        self.last = Some(name);
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use gatepost_companion::{CardView, Ended, View};
    use gatepost_link::{RequestId, frame::Withdrawal};

    use super::*;

    /// As the firmware writes it.
    fn said(view: View) -> Screen {
        read(&format!("    1234 screen: {view:?}\r\n")).unwrap()
    }

    #[test]
    fn what_the_firmware_says_of_its_screen_is_understood() {
        let request = RequestId([0xab; 16]);
        let id = request.to_string();
        let view = CardView {
            request,
            page: 3,
            pages: 12,
            armed: true,
            deniable: false,
            unseen_files: false,
            fault: false,
        };
        let card = Card { request: id.clone(), page: 3, armed: true, deniable: false };
        assert_eq!(said(View::Card(view)), Screen::Card(card));
        assert_eq!(said(View::Unpaired), Screen::Unpaired);
        assert_eq!(said(View::Idle), Screen::Idle);
        assert_eq!(said(View::Offline), Screen::Other);
        assert_eq!(said(View::Fetching { request }), Screen::Other);
        assert_eq!(said(View::Pairing { code: 42, confirmed: false }).number(), Some(42));
        let done = |verdict| said(View::Done { request, verdict });
        assert_eq!(done(Verdict::Approve), Screen::Ended(id.clone(), End::Decided(Verdict::Approve)));
        assert_eq!(done(Verdict::Deny), Screen::Ended(id.clone(), End::Decided(Verdict::Deny)));
        let closed = said(View::Closed { request, why: Ended::Withdrawn(Withdrawal::Expired) });
        assert_eq!(closed, Screen::Ended(id, End::Closed("Withdrawn(Expired)".into())));
    }

    #[test]
    fn a_line_that_names_no_screen_is_none_and_one_that_is_damaged_is_another_screen() {
        assert_eq!(read("       3 boot"), None);
        for view in [
            "",
            "Card(CardView { request: ",
            "Pairing { code: x, confirmed: true }",
            "Done { verdict: Approve }",
        ] {
            assert_eq!(read(&format!("1 screen: {view}")), Some(Screen::Other), "{view}");
        }
    }

    #[test]
    fn a_cards_end_is_known_after_the_screen_went_on() {
        let mut seen = Seen::default();
        let end = End::Decided(Verdict::Deny);
        seen.becomes(Screen::Ended("one".into(), end.clone()));
        seen.becomes(Screen::Idle);
        assert_eq!(seen.ended, Some(("one".into(), end)));
    }

    #[test]
    fn each_new_screen_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut camera = Camera::new(&folder.path().join("new")).unwrap();
        let mut page = Card { request: "r".into(), page: 1, armed: false, deniable: false };
        assert!(camera.next(&Screen::Idle).unwrap().ends_with("new/01-idle.png"));
        assert_eq!(camera.next(&Screen::Other), None);
        assert!(camera.next(&Screen::Card(page.clone())).unwrap().ends_with("02-page-1.png"));
        page.deniable = true;
        assert_eq!(camera.next(&Screen::Card(page)), None);
    }
}
