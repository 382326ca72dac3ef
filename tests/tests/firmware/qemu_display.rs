//! The companion's firmware with its display gone: absent from the start, and lost while a card is open.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Button, Edge, buttons};
use gatepost_tests::{
    hub::{Board, Client, board::with_board, client::text, engineer, eventually},
    main_job::report,
};
use serde_json::{Value, json};

/// Parts are so small that a report has several pages.
fn config() -> String {
    engineer("ttl = \"10m\"", "limit = 800")
}

const SHORT: Duration = Duration::from_millis(120);
const GRACE: Duration = Duration::from_millis(400);

/// What the board says of its display.
const OUT: &str = "the display does not answer";
const WORKS: &str = "the display works";

/// Holds a message, and waits for its card, which has several pages; the message's id.
fn ask(agent: &Client, board: &mut Board, number: usize) -> Result<String> {
    let held = agent.send(&json!({"to": "local:team", "message": format!("{number}. {}", report())}))?;
    let pages = board.card()?;
    ensure!(pages > 1, "{pages}");
    Ok(text(&held, "id").to_owned())
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
    let (fixture, agent, mut board) = with_board(&config()).await?;
    ensure!(fixture.listed_as_able("board", true)?["unable_because"] == Value::Null);
    board.cut_power()?;
    board.switch_on_without_display()?;
    board.qemu()?.says(OUT)?;
    let unable = fixture.listed_as_able("board", false)?;
    ensure!(text(&unable, "unable_because").contains("display"), "{unable}");
    ensure!(fixture.cli(&["companion", "list"])?.well()?.contains("no display"));
    ensure!(fixture.operator()?.figure("gatepost_companions_able")? == Some(0.0));
    ensure!(fixture.operator()?.figure("gatepost_companions_online")? == Some(1.0));
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
    let (fixture, agent, mut board) = with_board(&config()).await?;
    let mut held = ask(&agent, &mut board, 1)?;

    // Each time a new card, so that no earlier press can turn its page.
    for lost in 1..=3 {
        board.qemu()?.bus().reset_display()?;
        eventually("it is noticed", || Ok((board.qemu()?.log().matches(OUT).count() == lost).then_some(())))?;
        // Less than it takes to be started again.
        board.qemu()?.press(Button::Approve, SHORT)?;
        eventually("it is started again", || {
            Ok((board.qemu()?.log().matches(WORKS).count() > lost).then_some(()))
        })?;
        // Whenever the press came: by the order of the log, no page was turned before the display worked.
        let log = board.qemu()?.log();
        let out = log.split(OUT).nth(lost).and_then(|rest| rest.split(WORKS).next()).context("it was out")?;
        ensure!(out.lines().all(|line| !line.contains("Card") || line.contains("page: 1,")), "{out}");
        if lost < 3 {
            board.deny()?;
            agent.ended(&held, "denied")?;
            held = ask(&agent, &mut board, lost + 1)?;
        }
    }
    eventually("the hub is told", || Ok((fixture.audit("device.display")?.len() >= 2).then_some(())))?;
    fixture.listed_as_able("board", true)?;

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
    // A card that was reset between a command and its answer is waited for, and the board hears no button meanwhile.
    eventually("it is noticed, and started again", || {
        let log = board.qemu()?.log();
        Ok((log.matches(OUT).count() == 4 && log.matches(WORKS).count() > 4).then_some(()))
    })?;
    ensure!(agent.message(&held)?["state"] == "held" && fixture.arrived("team")?.is_empty());
    // QEMU keeps 32 events for a board that takes none, two for each repetition of a key, and drops what comes then:
    // perhaps the release. Whoever presses again has released.
    board.qemu()?.button(Button::Approve, Edge::Released)?;
    board.approve()?;
    agent.ended(&held, "sent")?;
    fixture.audit_is_whole().await
}
