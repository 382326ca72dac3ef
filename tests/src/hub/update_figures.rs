//! What an update of a companion's firmware takes: a megabyte for a board in QEMU, a card in between.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use gatepost_companion::Button;
use gatepost_link::frame::{Progress, State, Up};

use super::{UpdatingBoard, updating::within_long};
use crate::peers::qemu::firmware::{Made, release_after_built};

/// Bytes of the image.
pub const IMAGE_BYTES: usize = 1_000_000;
/// After a card has opened Deny does nothing for 300 ms.
const GRACE: Duration = Duration::from_millis(400);

/// What it took, and what the board said of it.
#[derive(Debug)]
pub struct UpdateFigures {
    /// From the first piece to the question, a card in between.
    pub fetched: Duration,
    /// From the offer of the card to the screen, and from the press to the hub.
    pub answered: Duration,
    /// From the restart until the hub knows that the firmware has proved itself.
    pub confirmed: Duration,
    /// The board's serial line.
    pub log: String,
}

impl UpdateFigures {
    /// The most that each may take, in the order of their names here: fetched, answered, confirmed.
    pub const BUDGETS: [Duration; 3] =
        [Duration::from_secs(60), Duration::from_secs(2), Duration::from_secs(15)];

    /// Updates a board, and measures.
    ///
    /// # Errors
    /// The board does not start, or the update does not come to its end.
    pub fn measure() -> Result<Self> {
        let release = release_after_built(Made { bytes: IMAGE_BYTES, ..Made::default() })?;
        let mut board = UpdatingBoard::new(&release)?;
        board.switch_on()?;
        let (began, ()) =
            heard(&board, "the first piece", |up| matches!(up, Up::FetchBlock { .. }).then_some(()))?;
        let third = u32::try_from(IMAGE_BYTES / 3)?;
        within_long("a third is there", || Ok((board.hub.asked_to() > third).then_some(())))?;
        let answered = deny_a_card(&mut board)?;
        let (asks, ()) = heard(&board, "the question", |up| {
            matches!(up, Up::Update { progress: Progress::Asking, .. }).then_some(())
        })?;
        board.goes_on_until("it restarts", |board| Ok(board.log()?.contains(" restart\n")))?;
        let restarted = Instant::now();
        let confirmed = within_long("it is confirmed", || {
            let running = board.hub.running().filter(|running| running.version == release.version());
            Ok(running.filter(|running| running.state == State::Settled).map(|_| restarted.elapsed()))
        })?;
        Ok(Self { fetched: asks.duration_since(began), answered, confirmed, log: board.log()? })
    }

    /// Whether each is within its budget, in the same order.
    pub fn hold(&self) -> [bool; 3] {
        let figures = [self.fetched, self.answered, self.confirmed];
        std::array::from_fn(|at| figures[at] <= Self::BUDGETS[at])
    }
}

/// When the hub first heard what is looked for.
fn heard<T>(board: &UpdatingBoard, what: &str, find: impl Fn(&Up) -> Option<T>) -> Result<(Instant, T)> {
    within_long(what, || Ok(board.hub.heard().iter().find_map(|(at, up)| find(up).map(|found| (*at, found)))))
        .with_context(|| board.log().unwrap_or_default())
}

/// Denies a card while the image is fetched; how long board and hub took for it.
fn deny_a_card(board: &mut UpdatingBoard) -> Result<Duration> {
    let asked = Instant::now();
    let request = board.hub.ask()?;
    within_long("the card", || Ok(board.view()?.contains("deniable: true").then_some(())))?;
    let shown = asked.elapsed();
    thread::sleep(GRACE);
    let pressed = Instant::now();
    board.qemu()?.press(Button::Deny, Duration::from_millis(50))?;
    let (decided, _) = within_long("the decision", || Ok(board.hub.decision(request)))?;
    Ok(shown + decided.duration_since(pressed))
}
