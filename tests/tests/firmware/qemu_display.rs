//! The companion's firmware with its display gone: absent from the start, and lost while a card is open.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Button, buttons};
use gatepost_tests::{
    hub::{Board, TestHub, client::text, eventually},
    main_job::report,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]
[approval]
ttl = "10m"
[channels.local.home]
limit = 800
"#;
const SHORT: Duration = Duration::from_millis(120);
const GRACE: Duration = Duration::from_millis(400);

/// What the list says of the board.
fn listed(fixture: &TestHub) -> Result<Value> {
    let all = fixture.cli(&["companion", "list", "--json"])?.json()?;
    all.as_array().and_then(|all| all.first()).cloned().context("it is listed")
}

fn listed_as_able(fixture: &TestHub, able: bool) -> Result<Value> {
    eventually("the list says whether somebody can be asked", || {
        Ok(Some(listed(fixture)?).filter(|one| one["online"] == true && one["able"] == able))
    })
}

fn figure(fixture: &TestHub, name: &str) -> Result<String> {
    let answer = fixture.operator()?.get("/metrics")?;
    let figures = answer.body.as_str().context("a text")?.to_owned();
    let found =
        figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    found.with_context(|| format!("no {name} in {figures}"))
}

/// More short presses than the card has pages, and a hold.
fn presses_blindly(board: &mut Board) -> Result<()> {
    for _ in 0..6 {
        board.qemu()?.press(Button::Approve, SHORT)?;
        thread::sleep(SHORT);
    }
    board.qemu()?.press(Button::Approve, Duration::from_millis(buttons::HOLD + 700))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_without_a_display_approves_nothing_is_listed_as_unable_and_can_deny() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let mut board = fixture.board("board").await?;
    board.view("it is in a session", |view| view == "Idle")?;
    ensure!(listed_as_able(&fixture, true)?["unable_because"] == Value::Null);
    board.cut_power()?;
    board.switch_on_without_display()?;
    board.qemu()?.says("the display does not answer")?;
    let unable = listed_as_able(&fixture, false)?;
    ensure!(text(&unable, "unable_because").contains("display"), "{unable}");
    ensure!(fixture.cli(&["companion", "list"])?.well()?.contains("no display"));
    ensure!(figure(&fixture, "gatepost_companions_able")? == "0");
    ensure!(figure(&fixture, "gatepost_companions_online")? == "1");
    let told = fixture.audit("device.display")?;
    ensure!(told.len() == 1 && told[0].detail["works"] == false && told[0].detail["name"] == "board");

    let held = agent.send(&json!({"to": "local:team", "message": report()}))?;
    board.card()?;
    presses_blindly(&mut board)?;
    let view = board.view("the card", |view| view.starts_with("Card"))?;
    ensure!(view.contains("page: 1,") && view.contains("armed: false"), "{view}");
    ensure!(agent.message(text(&held, "id"))?["state"] == "held" && fixture.arrived("team")?.is_empty());
    thread::sleep(GRACE);
    board.deny()?;
    agent.ended(text(&held, "id"), "denied")?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_display_that_is_lost_with_a_card_open_is_started_anew_and_no_page_is_passed_over() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let mut board = fixture.board("board").await?;
    board.view("it is in a session", |view| view == "Idle")?;
    let held = agent.send(&json!({"to": "local:team", "message": report()}))?;
    let pages = board.card()?;
    ensure!(pages > 1, "{pages}");

    // As often as it comes back it is lost again, for as long as somebody presses.
    let count = |board: &mut Board, words: &str| anyhow::Ok(board.qemu()?.log().matches(words).count());
    for lost in 1..=3 {
        board.qemu()?.bus().reset_display()?;
        let out = Instant::now();
        eventually("it is noticed", || {
            Ok((count(&mut board, "the display does not answer")? == lost).then_some(()))
        })?;
        // Less than it takes to be started again.
        board.qemu()?.press(Button::Approve, SHORT)?;
        let view = board.view("the card", |view| view.starts_with("Card"))?;
        let back = count(&mut board, "the display works")? > lost;
        ensure!(back || out.elapsed() > Duration::from_secs(1) || view.contains("page: 1,"), "{view}");
        eventually("it is started again", || {
            Ok((count(&mut board, "the display works")? > lost).then_some(()))
        })?;
    }
    eventually("the hub is told", || Ok((fixture.audit("device.display")?.len() >= 2).then_some(())))?;
    listed_as_able(&fixture, true)?;

    // Lost in the hold: it ends.
    board.read()?;
    thread::scope(|scope| {
        let qemu = board.qemu()?;
        let bus = qemu.bus();
        let breaks = scope.spawn(move || {
            thread::sleep(Duration::from_millis(buttons::HOLD / 2));
            bus.reset_display()
        });
        qemu.press(Button::Approve, Duration::from_millis(buttons::HOLD + 700))?;
        breaks.join().expect("it does not panic")
    })?;
    ensure!(agent.message(text(&held, "id"))?["state"] == "held" && fixture.arrived("team")?.is_empty());
    board.approve()?;
    agent.ended(text(&held, "id"), "sent")?;
    fixture.audit_is_whole().await
}
