//! A companion whose screen nobody can have read: what its terminal did not show is not approved.

use std::time::Duration;

use anyhow::{Result, ensure};
use gatepost_companion::{Button, Edge, NotShown, Screen, View, buttons};
use gatepost_tests::{
    hub::{Client, TestHub, client::text, eventually},
    main_job::{CONFIG, report},
};
use serde_json::json;
use tokio::sync::watch;

/// A terminal in a test's hands: draws every screen, and says that it is shown while it is there.
fn terminal(fixture: &TestHub) -> Result<watch::Sender<bool>> {
    let (there, is_there) = watch::channel(false);
    let (mut screens, drawings) = (fixture.companion()?.screens(), fixture.companion()?.drawings());
    tokio::spawn(async move {
        screens.mark_changed();
        while screens.changed().await.is_ok() {
            let screen: Screen = screens.borrow_and_update().clone();
            let taken = if *is_there.borrow() { Ok(()) } else { Err(NotShown) };
            if drawings.send((screen, taken)).await.is_err() {
                return;
            }
        }
    });
    Ok(there)
}

async fn press(fixture: &TestHub, button: Button, long: u64) -> Result<()> {
    let buttons = fixture.companion()?.buttons();
    buttons.send((button, Edge::Pressed)).await?;
    tokio::time::sleep(Duration::from_millis(long)).await;
    buttons.send((button, Edge::Released)).await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(())
}

async fn presses_blindly(fixture: &TestHub) -> Result<()> {
    for _ in 0..5 {
        press(fixture, Button::Approve, 100).await?;
    }
    press(fixture, Button::Approve, buttons::HOLD + 500).await
}

/// A hub whose companion's screens are drawn by a terminal that is not there yet, and its agent.
async fn fixture() -> Result<(TestHub, Client, watch::Sender<bool>)> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.report_drawings();
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    let terminal = terminal(&fixture)?;
    Ok((fixture, agent, terminal))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_terminal_did_not_take_is_not_approved_and_the_hub_says_so() -> Result<()> {
    let (fixture, agent, terminal) = fixture().await?;
    let unable = fixture.listed_as_able("test", false)?;
    ensure!(text(&unable, "unable_because").contains("display"), "{unable}");
    // A session that a busy machine broke is made anew, and then the hub is told again.
    eventually("the shell says that it has no display", || {
        let listed = fixture.cli(&["companion", "list"])?.well()?;
        Ok(listed.contains("no display").then_some(()))
    })?;
    ensure!(fixture.operator()?.figure("gatepost_companions_able")? == Some(0.0));

    let held = agent.send(&json!({"to": "local:team", "message": report()}))?;
    let id = text(&held, "id");
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    presses_blindly(&fixture).await?;
    let first = |screen: &Screen| matches!(screen.view, View::Card(card) if card.page == 1 && !card.armed);
    fixture.screen("the first page", first)?;
    ensure!(agent.message(id)?["state"] == "held" && fixture.arrived("team")?.is_empty());

    // It is there, and every page is shown; it goes before the hold, and in the hold.
    terminal.send(true)?;
    fixture.listed_as_able("test", true)?;
    let mut page = 0;
    while let View::Card(card) = fixture.screen("a page", |screen| matches!(screen.view, View::Card(_)))?.view
    {
        if card.armed {
            break;
        }
        if card.page > page {
            page = card.page;
            press(&fixture, Button::Approve, 100).await?;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    terminal.send(false)?;
    presses_blindly(&fixture).await?;
    ensure!(agent.message(id)?["state"] == "held");
    terminal.send(true)?;
    fixture.screen("it is shown again", |screen| matches!(screen.view, View::Card(card) if card.armed))?;
    press(&fixture, Button::Approve, buttons::HOLD + 500).await?;
    agent.ended(id, "sent")?;

    let told = fixture.audit("device.display")?;
    ensure!(
        told.len() >= 3 && told[0].detail["works"] == false && told[1].detail["works"] == true,
        "{told:?}"
    );
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_display_a_person_can_still_say_no() -> Result<()> {
    let (fixture, agent, _terminal) = fixture().await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(card) if card.deniable))?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    press(&fixture, Button::Deny, 100).await?;
    agent.ended(text(&held, "id"), "denied")?;
    fixture.audit_is_whole().await
}
