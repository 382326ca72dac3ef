//! The whole way of new firmware: from a file that the operator adds, over a roll-out of the hub's, to a board in QEMU where somebody
//! holds Approve; and the hub that is told when the board went back.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use gatepost_build::development;
use gatepost_companion::slots::flat::Flaw;
use gatepost_tests::{
    hub::{Client, TestHub, board::Board, client::text, engineer, updating::within_long},
    peers::qemu::firmware::{Firmware, Made, release_after_built},
    release::Release,
};
use serde_json::{Value, json};

/// A hub that takes what the development root's key signed, its agent, and a board that was paired with it.
async fn with_board() -> Result<(TestHub, Client, Board)> {
    let root = development::path();
    let root = root.to_str().context("a path")?;
    let config = format!("{}\n[updates]\nroot = {root:?}\n", engineer("ttl = \"10m\"", ""));
    let mut hub = TestHub::start_in(Arc::new(tempfile::tempdir()?), &config).await?;
    hub.switch_off();
    let agent = hub.agent("engineer").await?;
    let mut board = hub.board("shelf").await?;
    board.view("it is in a session", |view| view == "Idle")?;
    Ok((hub, agent, board))
}

/// Adds the release, rolls it out, and holds Approve when the board asks.
fn installed(hub: &TestHub, board: &mut Board, release: &Release) -> Result<()> {
    let file = release.write(hub.folder(), development::RELEASE_SEED)?;
    hub.cli(&["ota", "add", file.to_str().context("a path")?])?.well()?;
    let version = release.version().to_string();
    hub.cli(&["ota", "roll-out", &version, "--now"])?.well()?;
    board.view_after_long("it asks", |view| view.starts_with("Question") && view.contains("armed: true"))?;
    let status = hub.cli(&["ota", "status"])?.well()?;
    ensure!(status.contains("asks on its screen since"), "{status}");
    board.qemu()?.hold()?;
    board.view("it installs", |view| view == "Installing")?;
    Ok(())
}

/// The board's entry in the hub's list of updates, once it is in this state.
fn update(hub: &TestHub, state: &str) -> Result<Value> {
    let operator = hub.operator()?;
    let all = || operator.get("/v1/updates")?.taken();
    let seen = within_long(&format!("the update is {state}"), || {
        let all = all()?;
        let board = all["companions"].as_array().context("a list")?.iter().find(|one| one["name"] == "shelf");
        Ok(board.filter(|board| board["update"]["state"] == state).cloned())
    });
    seen.with_context(|| all().unwrap_or_default().to_string())
}

/// A card comes to the board, and the approval of what stands on it is taken.
fn still_approves(agent: &Client, board: &mut Board) -> Result<()> {
    board.view_after_long("it is in a session", |view| view == "Idle")?;
    let held = agent.send(&json!({"to": "local:team", "message": "And now?"}))?;
    ensure!(held["state"] == "held", "{held}");
    board.approve()?;
    agent.ended(text(&held, "id"), "sent")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_goes_from_a_file_to_a_board_and_the_hub_knows_when_it_has_proved_itself() -> Result<()> {
    let (hub, agent, mut board) = with_board().await?;
    let release = release_after_built(Made::default())?;
    installed(&hub, &mut board, &release)?;
    let confirmed = update(&hub, "up_to_date")?;
    let version = release.version().to_string();
    ensure!(confirmed["firmware"]["version"] == version.as_str(), "{confirmed}");
    let listed = hub.cli(&["companion", "list"])?.well()?;
    ensure!(listed.contains(&format!("qemu-virt {version}")), "{listed}");
    for event in ["ota.added", "ota.rolled_out", "ota.offered", "ota.installed", "ota.confirmed"] {
        ensure!(hub.audit(event)?.len() == 1, "{event}");
    }
    still_approves(&agent, &mut board)?;
    hub.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_fails_on_a_board_is_listed_as_gone_back_and_rolled_out_no_further() -> Result<()> {
    let (hub, agent, mut board) = with_board().await?;
    let release = release_after_built(Made { flaw: Flaw::Panics, trial_s: 5, ..Made::default() })?;
    installed(&hub, &mut board, &release)?;
    let back = update(&hub, "went_back")?;
    ensure!(back["firmware"]["version"] == Firmware::built()?.header()?.version.to_string(), "{back}");
    let status = hub.cli(&["ota", "status"])?.well()?;
    ensure!(status.contains("went back"), "{status}");
    let listed = hub.cli(&["companion", "list"])?.well()?;
    ensure!(listed.contains("went back"), "{listed}");
    ensure!(hub.audit("ota.went_back")?.len() == 1 && hub.audit("ota.confirmed")?.is_empty());
    still_approves(&agent, &mut board)?;
    hub.audit_is_whole().await
}
