//! Updates of the firmware itself, in QEMU with two slots: offered by a hub, fetched, asked about, tried, confirmed, given up.
//!
//! What an update takes is measured elsewhere, alone: `qemu_update`.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{
    Button, Edge, buttons,
    slots::{Slot, flat::Flaw},
};
use gatepost_link::frame::{Progress, State};
use gatepost_tests::{
    hub::{UpdatingBoard, updating::within_long},
    peers::qemu::firmware::{Firmware, Made, release_after_built},
    release::Release,
};

/// Boards that are updated at the same time.
const BOARDS: u64 = 8;
/// Cuts of the power over all of them.
const CUTS: usize = 40;
/// Firmware that fails is given so many seconds in each of its starts.
const SHORT_TRIAL_S: u16 = 5;

/// When the power is cut.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// Soon after the start.
    Start,
    /// While the image is fetched.
    Fetch,
    /// When all of it is there, while it is hashed and asked about.
    Whole,
    /// Around the end of the hold that installs it.
    Install,
    /// While it is on trial.
    Trial,
}

/// Numbers that look random, the same at each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        // Marsaglia's xorshift (https://www.jstatsoft.org/article/view/v008i14).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn milliseconds(&mut self, end: u64) -> Duration {
        Duration::from_millis(self.below(end))
    }
}

/// Lets the board live until this moment, and cuts its power.
fn live_until(
    moment: Moment,
    board: &mut UpdatingBoard,
    release: &Release,
    numbers: &mut Numbers,
) -> Result<()> {
    board.switch_on()?;
    let size = release.manifest().size;
    let is_on = |board: &UpdatingBoard| Ok(matches!(board.state(), Some(State::Trial(_))));
    match moment {
        Moment::Start => thread::sleep(numbers.milliseconds(2_000)),
        Moment::Fetch => {
            let to = numbers.below(size.into()) as u32;
            board.goes_on_until("it fetches", |board| {
                Ok(board.hub.asked_to() >= to || board.told(Progress::Asking) || is_on(board)?)
            })?;
            thread::sleep(numbers.milliseconds(30));
        }
        Moment::Whole => {
            board.goes_on_until("all of it is there", |board| {
                Ok(board.hub.asked_to() + 2_048 >= size || board.told(Progress::Asking) || is_on(board)?)
            })?;
            thread::sleep(numbers.milliseconds(1_000));
        }
        Moment::Install => {
            within_long("it asks", || Ok((board.asks()? || is_on(board)?).then_some(())))?;
            board.qemu()?.button(Button::Approve, Edge::Pressed)?;
            thread::sleep(Duration::from_millis(buttons::HOLD - 50) + numbers.milliseconds(400));
        }
        Moment::Trial => {
            board.goes_on_until("it is on trial", is_on)?;
            thread::sleep(numbers.milliseconds(9_000));
        }
    }
    board.cut_power()
}

/// Brings a board to the release through these cuts; how many there were.
fn through(moments: &[Moment], seed: u64, release: &Release) -> Result<usize> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (seed << 32 | seed));
    let mut board = UpdatingBoard::new(release)?;
    for moment in moments {
        live_until(*moment, &mut board, release, &mut numbers).with_context(|| format!("{moment:?}"))?;
    }
    board.switch_on()?;
    let version = release.manifest().version;
    board.goes_on_until("the release is confirmed", |board| {
        let running = board.hub.running();
        Ok(running.is_some_and(|running| running.version == version && running.state == State::Settled))
    })?;
    board.cut_power()?;
    board.is_whole()?;
    Ok(moments.len())
}

#[test]
fn an_update_comes_to_its_end_through_forty_power_cuts() -> Result<()> {
    use Moment::{Fetch, Install, Start, Trial, Whole};
    let release = &release_after_built(Made::default())?;
    let began = Instant::now();
    let cuts = thread::scope(|scope| {
        let boards: Vec<_> = (1..=BOARDS)
            .map(|seed| {
                let second = if seed % 2 == 0 { Whole } else { Fetch };
                let moments = [Fetch, second, Install, Trial, Start];
                scope.spawn(move || through(&moments, seed, release).with_context(|| format!("board {seed}")))
            })
            .collect();
        boards.into_iter().map(|board| board.join().expect("it does not panic")).sum::<Result<usize>>()
    })?;
    println!("{cuts} power cuts on {BOARDS} boards, {} s", began.elapsed().as_secs());
    ensure!(cuts == CUTS);
    Ok(())
}

/// Installs firmware that fails so, and waits until the one before is back.
fn comes_back(flaw: Flaw) -> Result<String> {
    let release = release_after_built(Made { flaw, trial_s: SHORT_TRIAL_S, ..Made::default() })?;
    let mut board = UpdatingBoard::new(&release)?;
    board.flash().fetched(&release)?;
    board.switch_on()?;
    board.goes_on_until("it is installed", |board| Ok(board.log()?.contains(" restart\n")))?;
    let restarted = Instant::now();
    let back = State::WentBack(release.image_id());
    let running = within_long("the hub hears that it went back", || {
        Ok(board.hub.running().filter(|running| running.state == back))
    });
    let running = running.with_context(|| board.log().unwrap_or_default())?;
    let took = restarted.elapsed();
    ensure!(running.version == Firmware::built()?.header()?.version, "{running:?}");

    let log = board.log()?;
    let starts = |version| log.matches(&format!("boot: version {version} ")).count();
    let tried = starts(release.manifest().version);
    ensure!((1..=3).contains(&tried) && starts(running.version) == 2, "{tried} starts:\n{log}");
    ensure!(!log.contains("confirmed"), "{log}");
    // It is a companion as before: a card comes, and is denied.
    let request = board.hub.ask()?;
    within_long("the card", || Ok(board.view()?.contains("deniable: true").then_some(())))?;
    thread::sleep(Duration::from_millis(400));
    board.qemu()?.press(Button::Deny, Duration::from_millis(120))?;
    within_long("the decision", || Ok(board.hub.decision(request)))?;
    board.cut_power()?;
    board.is_whole()?;
    Ok(format!("{flaw:?}: back after {tried} starts, {} ms", took.as_millis()))
}

#[test]
fn firmware_that_fails_on_trial_goes_back_by_itself_and_the_hub_is_told() -> Result<()> {
    let told = thread::scope(|scope| {
        let boards = [Flaw::Hangs, Flaw::Panics, Flaw::NoNetwork, Flaw::NoDisplay]
            .map(|flaw| scope.spawn(move || comes_back(flaw).with_context(|| format!("{flaw:?}"))));
        boards.map(|board| board.join().expect("it does not panic"))
    });
    for told in told {
        println!("{}", told?);
    }
    Ok(())
}

#[test]
fn an_image_that_is_damaged_gives_way_to_the_one_in_the_other_slot() -> Result<()> {
    let release = release_after_built(Made::default())?;
    let mut board = UpdatingBoard::new(&release)?;
    board.flash().fetched(&release)?;
    board.flash().damage(Slot::Ota0)?;
    board.switch_on()?;
    let version = board.qemu()?.says("boot: version ")?;
    ensure!(version.starts_with(&format!("{} in Ota1", release.manifest().version)), "{version}");
    ensure!(board.log()?.contains("no image that verifies in ota_0"), "{}", board.log()?);
    ensure!(version.ends_with("DEV KEYS"), "{version}: whoever trusts everybody's keys says so");
    Ok(())
}
