//! A companion that is a board: the firmware in QEMU, registered with a hub in this process.
//!
//! Its flash holds what set-up and pairing would have left there, or what set-up alone would. All that a test knows of it is its screen, its serial
//! line, on which it names every new view, and what it says to the hub.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost::approval::device::Device;
use gatepost_companion::{Button, CardView, Geometry, Keys, Screen, View, pages};
use gatepost_link::{RequestId, decision::PublicKey, document::Document, envelope::VERSION};

use super::{Client, TestHub, eventually, inside, updating::within_long};
use crate::peers::{
    Cable, Man,
    qemu::{
        Qemu,
        flash::{Flash, Kept},
        picture::Picture,
    },
};

/// A short press.
const SHORT: Duration = Duration::from_millis(120);
/// After a card has opened Deny does nothing for 300 ms.
const GRACE: Duration = Duration::from_millis(400);
/// Pixel rows of a large screen's head, and as many of its foot.
const EDGE: usize = 16;

/// A board.
pub struct Board {
    /// Those that its flash was given; none for a board that made its own.
    keys: Option<Keys>,
    flash: Flash,
    cable: Cable,
    qemu: Option<Qemu>,
}

impl TestHub {
    /// A board, registered with the running hub under this name and switched on.
    ///
    /// # Errors
    /// The hub is stopped, or the board does not start.
    pub async fn board(&self, name: &str) -> Result<Board> {
        let keys = inside::keys();
        let device = Device {
            key: inside::device(&keys),
            seal: keys.seal.public(),
            name: name.into(),
            software: false,
            login: None,
            version: VERSION,
        };
        self.hub()?.companions().add(device).await?;
        let cable = Cable::to(self.broker_port()?)?;
        let flash = Flash::paired(cable.port(), &keys, &self.bond(self.hub()?)?)?;
        let mut board = Board { keys: Some(keys), flash, cable, qemu: None };
        board.switch_on()?;
        Ok(board)
    }

    /// A board that knows no hub yet, switched on. Its cable's near end is for whoever tells it.
    ///
    /// # Errors
    /// The hub is stopped, or the board does not start.
    pub fn blank_board(&self) -> Result<Board> {
        let cable = Cable::to(self.broker_port()?)?;
        let mut board = Board { keys: None, flash: Flash::new()?, cable, qemu: None };
        board.switch_on()?;
        Ok(board)
    }

    /// A board that nobody has paired yet, switched on.
    ///
    /// # Errors
    /// The hub is stopped, or the board does not start.
    pub fn new_board(&self) -> Result<Board> {
        let cable = Cable::to(self.broker_port()?)?;
        let flash = Flash::set_up(cable.port())?;
        let mut board = Board { keys: None, flash, cable, qemu: None };
        board.switch_on()?;
        Ok(board)
    }
}

/// A hub, its agent `engineer`, and a board that waits for something to decide.
///
/// # Errors
/// One of them did not start.
pub async fn with_board(config: &str) -> Result<(TestHub, Client, Board)> {
    let mut hub = TestHub::start(config).await?;
    let agent = hub.agent("engineer").await?;
    let mut board = hub.board("board").await?;
    board.view("it is in a session", |view| view == "Idle")?;
    Ok((hub, agent, board))
}

impl Board {
    /// Its key.
    ///
    /// # Errors
    /// It made its keys itself.
    pub fn device(&self) -> Result<PublicKey> {
        Ok(inside::device(self.keys.as_ref().context("nobody knows its keys")?))
    }

    /// What it keeps. It must be switched off.
    ///
    /// # Errors
    /// The file system's, or something of it is damaged.
    pub fn kept(&self) -> Result<Kept> {
        self.flash.kept()
    }

    /// Where it finds its hub, as it must be told.
    pub fn hub_address(&self) -> String {
        format!("10.0.2.2:{}", self.cable.port())
    }

    /// Pulls its network cable.
    pub fn unplug(&self) {
        self.cable.pull();
    }

    /// Plugs it in at the hub's broker, wherever that listens now.
    ///
    /// # Errors
    /// The hub is stopped.
    pub fn plug(&self, hub: &TestHub) -> Result<()> {
        self.cable.plug(hub.broker_port()?);
        Ok(())
    }

    /// Plugs it in at a man who stands before the hub's broker.
    ///
    /// # Errors
    /// The hub is stopped, or there is no port for him.
    pub fn plug_before(&self, hub: &TestHub) -> Result<Man> {
        let man = Man::before(hub.broker_port()?)?;
        self.cable.plug(man.port());
        Ok(man)
    }

    /// The board itself.
    ///
    /// # Errors
    /// It is switched off.
    pub fn qemu(&mut self) -> Result<&mut Qemu> {
        self.qemu.as_mut().context("the board is switched off")
    }

    /// Switches it on, with the flash as it is.
    ///
    /// # Errors
    /// It does not start.
    pub fn switch_on(&mut self) -> Result<()> {
        self.qemu = Some(Qemu::start(&self.flash)?);
        Ok(())
    }

    /// Switches it on without a display.
    ///
    /// # Errors
    /// It does not start.
    pub fn switch_on_without_display(&mut self) -> Result<()> {
        self.qemu = Some(Qemu::start_without_display(&self.flash)?);
        Ok(())
    }

    /// Takes its power, without a warning.
    ///
    /// # Errors
    /// It is switched off.
    pub fn cut_power(&mut self) -> Result<()> {
        self.qemu.take().context("the board is switched off")?.kill()
    }

    /// Waits until it says that its view is as wanted, in the words of [`View`]'s `Debug`; returns that.
    ///
    /// # Errors
    /// It did not become so.
    pub fn view(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let qemu = self.qemu()?;
        eventually(what, || Ok(Some(qemu.view()).filter(|view| wanted(view))))
            .with_context(|| format!("the board said:\n{}", qemu.condition()))
    }

    /// The same of what takes long while several boards share the processor.
    ///
    /// # Errors
    /// It did not become so.
    pub fn view_after_long(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let qemu = self.qemu()?;
        within_long(what, || Ok(Some(qemu.view()).filter(|view| wanted(view))))
            .with_context(|| format!("the board said:\n{}", qemu.condition()))
    }

    /// Waits for a card that can be decided; returns the number of its pages.
    ///
    /// # Errors
    /// There was none.
    pub fn card(&mut self) -> Result<u16> {
        let view = self.view("a card", |view| view.starts_with("Card") && view.contains("deniable: true"))?;
        number(&view, "pages: ").context("pages")
    }

    /// Turns the pages from the one on the screen until all are read; returns a picture of each.
    ///
    /// # Errors
    /// There is no card, or a page did not turn.
    pub fn read(&mut self) -> Result<Vec<Picture>> {
        let pages = self.card()?;
        let mut pictures = Vec::new();
        loop {
            let view = self.view("a card", |view| view.starts_with("Card"))?;
            let page = number(&view, "page: ").context("a page")?;
            pictures.push(self.qemu()?.screen()?);
            if view.contains("armed: true") {
                return Ok(pictures);
            }
            if page == pages {
                self.view("all is read", |view| view.contains("armed: true"))?;
                return Ok(pictures);
            }
            self.qemu()?.press(Button::Approve, SHORT)?;
            let next = format!("page: {}, ", page + 1);
            self.view("the next page", |view| view.contains(&next))?;
        }
    }

    /// Reads the card and holds Approve; returns pictures of the pages.
    ///
    /// # Errors
    /// There was no card, or the hub did not take the decision.
    pub fn approve(&mut self) -> Result<Vec<Picture>> {
        let pictures = self.read()?;
        self.qemu()?.hold()?;
        self.view("the approval is taken", |view| view.starts_with("Done") && view.contains("Approve"))?;
        Ok(pictures)
    }

    /// Presses Deny on the card.
    ///
    /// # Errors
    /// There was none, or the hub did not take the decision.
    pub fn deny(&mut self) -> Result<()> {
        self.card()?;
        thread::sleep(GRACE);
        self.qemu()?.press(Button::Deny, SHORT)?;
        self.view("the denial is taken", |view| view.starts_with("Done") && view.contains("Deny"))?;
        Ok(())
    }
}

/// Checks that these pictures are the pages of a document, every pixel between head and foot, and returns the pages'
/// text, row after row.
///
/// # Errors
/// They are not.
pub fn shows_document(pictures: &[Picture], document: &[u8]) -> Result<String> {
    let document = Document::decode(document).map_err(|error| anyhow::anyhow!("{error}"))?;
    let (geometry, mut text) = (Geometry::LARGE, String::new());
    let pages = pages::lay_out(&document, geometry, 0).count;
    ensure!(usize::from(pages) == pictures.len(), "{} pictures of {pages} pages", pictures.len());
    for (page, picture) in (1..).zip(pictures) {
        let view = View::Card(CardView {
            request: RequestId([0; 16]),
            page,
            pages,
            armed: false,
            deniable: true,
            unseen_files: false,
            fault: false,
        });
        let mut screen = Screen::new(geometry, view);
        screen.body = pages::lay_out(&document, geometry, page).rows;
        let wanted = Picture::of(&screen)?;
        let lines = EDGE..wanted.height() - EDGE;
        ensure!(picture.lines(lines.clone()) == wanted.lines(lines), "page {page} is not as it should be");
        screen.body.iter().for_each(|row| text.extend([row.text.as_str(), "\n"]));
    }
    Ok(text)
}

fn number(view: &str, behind: &str) -> Option<u16> {
    view.split_once(behind)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
