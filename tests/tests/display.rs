//! A companion whose screen nobody can have read: what its terminal did not show is not approved.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Button, Edge, NotShown, Screen, View, buttons};
use gatepost_tests::{
    hub::{Client, TestHub, client::text, eventually},
    main_job::{CONFIG, report},
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// A terminal in a test's hands: draws every screen, and says that it is shown while it is there.
fn terminal(house: &TestHub) -> Result<watch::Sender<bool>> {
    let (there, is_there) = watch::channel(false);
    let (mut screens, drawings) = (house.companion()?.screens(), house.companion()?.drawings());
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

async fn press(house: &TestHub, button: Button, long: u64) -> Result<()> {
    let buttons = house.companion()?.buttons();
    buttons.send((button, Edge::Pressed)).await?;
    tokio::time::sleep(Duration::from_millis(long)).await;
    buttons.send((button, Edge::Released)).await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(())
}

async fn presses_blindly(house: &TestHub) -> Result<()> {
    for _ in 0..5 {
        press(house, Button::Approve, 100).await?;
    }
    press(house, Button::Approve, buttons::HOLD + 500).await
}

fn able(house: &TestHub, able: bool) -> Result<Value> {
    eventually("the list says whether somebody can be asked", || {
        let all = house.cli(&["companion", "list", "--json"])?.json()?;
        let one = all.as_array().and_then(|all| all.first()).cloned().context("it is listed")?;
        Ok(Some(one).filter(|one| one["online"] == true && one["able"] == able))
    })
}

/// A hub whose companion's screens are drawn by a terminal that is not there yet, and its agent.
async fn house() -> Result<(TestHub, Client, watch::Sender<bool>)> {
    let mut house = TestHub::start(CONFIG).await?;
    house.report_drawings();
    house.restart().await?;
    let agent = house.agent("engineer").await?;
    let terminal = terminal(&house)?;
    Ok((house, agent, terminal))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_terminal_did_not_take_is_not_approved_and_the_hub_says_so() -> Result<()> {
    let (house, agent, terminal) = house().await?;
    let unable = able(&house, false)?;
    ensure!(text(&unable, "unable_because").contains("display"), "{unable}");
    ensure!(house.cli(&["companion", "list"])?.well()?.contains("no display"));
    let figures = house.operator()?.get("/metrics")?;
    ensure!(figures.body.as_str().is_some_and(|all| all.contains("\ngatepost_companions_able 0\n")));

    let held = agent.send(&json!({"to": "local:team", "message": report()}))?;
    let id = text(&held, "id");
    house.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    presses_blindly(&house).await?;
    let first = |screen: &Screen| matches!(screen.view, View::Card(card) if card.page == 1 && !card.armed);
    house.screen("the first page", first)?;
    ensure!(agent.message(id)?["state"] == "held" && house.arrived("team")?.is_empty());

    // It is there, and every page is shown; it goes before the hold, and in the hold.
    terminal.send(true)?;
    able(&house, true)?;
    let mut page = 0;
    while let View::Card(card) = house.screen("a page", |screen| matches!(screen.view, View::Card(_)))?.view {
        if card.armed {
            break;
        }
        if card.page > page {
            page = card.page;
            press(&house, Button::Approve, 100).await?;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    terminal.send(false)?;
    presses_blindly(&house).await?;
    ensure!(agent.message(id)?["state"] == "held");
    terminal.send(true)?;
    house.screen("it is shown again", |screen| matches!(screen.view, View::Card(card) if card.armed))?;
    press(&house, Button::Approve, buttons::HOLD + 500).await?;
    agent.ended(id, "sent")?;

    let told = house.audit("device.display")?;
    ensure!(
        told.len() >= 3 && told[0].detail["works"] == false && told[1].detail["works"] == true,
        "{told:?}"
    );
    house.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_display_a_person_can_still_say_no() -> Result<()> {
    let (house, agent, _terminal) = house().await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    house.screen("the card", |screen| matches!(screen.view, View::Card(card) if card.deniable))?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    press(&house, Button::Deny, 100).await?;
    agent.ended(text(&held, "id"), "denied")?;
    house.audit_is_whole().await
}
