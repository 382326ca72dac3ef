//! What an update of the firmware takes: in a file of its own, so that no other test takes the processor meanwhile.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::Button;
use gatepost_link::frame::{Progress, State, Up};
use gatepost_tests::{
    hub::{UpdatingBoard, updating::within_long},
    peers::qemu::firmware::{Made, release_after_built},
};

/// Bytes of the image.
const IMAGE_BYTES: usize = 1_000_000;
/// From the first piece to the question, a card in between.
const FETCHED: Duration = Duration::from_secs(60);
/// From the offer of a card to the screen, and from the press to the hub.
const ANSWERED: Duration = Duration::from_secs(2);
/// From the restart on.
const CONFIRMED: Duration = Duration::from_secs(15);
/// After a card has opened Deny does nothing for 300 ms.
const GRACE: Duration = Duration::from_millis(400);

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

#[test]
fn a_megabyte_is_fetched_in_a_minute_a_card_answered_meanwhile_and_the_release_soon_confirmed() -> Result<()>
{
    let release = release_after_built(Made { bytes: IMAGE_BYTES, ..Made::default() })?;
    let mut board = UpdatingBoard::new(&release)?;
    board.switch_on()?;
    let (began, ()) =
        heard(&board, "the first piece", |up| matches!(up, Up::FetchBlock { .. }).then_some(()))?;
    within_long("a third is there", || Ok((board.hub.asked_to() as usize > IMAGE_BYTES / 3).then_some(())))?;
    let answered = deny_a_card(&mut board)?;
    let (asks, ()) = heard(&board, "the question", |up| {
        matches!(up, Up::Update { progress: Progress::Asking, .. }).then_some(())
    })?;
    let fetched = asks.duration_since(began);
    board.goes_on_until("it restarts", |board| Ok(board.log()?.contains(" restart\n")))?;
    let restarted = Instant::now();
    let confirmed = within_long("it is confirmed", || {
        let running = board.hub.running().filter(|running| running.version == release.manifest().version);
        Ok(running.filter(|running| running.state == State::Settled).map(|_| restarted.elapsed()))
    })?;
    println!(
        "{IMAGE_BYTES} bytes: fetched in {} ms, a card answered in {} ms, confirmed {} ms after the restart",
        fetched.as_millis(),
        answered.as_millis(),
        confirmed.as_millis()
    );
    ensure!(
        fetched <= FETCHED && answered <= ANSWERED && confirmed <= CONFIRMED,
        "too slow: {}",
        board.log()?
    );
    Ok(())
}
