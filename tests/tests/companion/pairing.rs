//! A companion and a hub come to know each other over the embedded broker.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Button, Edge, Fault, View};
use gatepost_desktop::{Companion, person};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{PATIENCE, TestHub, client::text, eventually, program::program},
    main_job::{self, CONFIG},
};
use serde_json::json;

/// Waits until its screen is as wanted.
fn shows(companion: &Companion, what: &str, wanted: impl Fn(&View) -> bool) -> Result<View> {
    let screens = companion.screens();
    eventually(what, || Ok(Some(screens.borrow().view).filter(&wanted)))
        .with_context(|| format!("the screen shows {:?}", screens.borrow().view))
}

/// The number that it shows.
fn number(companion: &Companion) -> Result<u32> {
    match shows(companion, "the number", |view| matches!(view, View::Pairing { .. }))? {
        View::Pairing { code, .. } => Ok(code),
        view => anyhow::bail!("{view:?}"),
    }
}

/// The person at the device holds Approve.
async fn hold(companion: &Companion) -> Result<()> {
    let buttons = companion.buttons();
    buttons.send((Button::Approve, Edge::Pressed)).await?;
    tokio::time::sleep(Duration::from_millis(1_700)).await;
    buttons.send((Button::Approve, Edge::Released)).await?;
    Ok(())
}

/// A companion with the name `shelf` that was just paired, and is in a session.
async fn paired(fixture: &TestHub) -> Result<Companion> {
    let newcomer = fixture.newcomer("shelf")?;
    shows(&newcomer, "it is not paired", |view| *view == View::Unpaired)?;
    let (paired, shown) = thread::scope(|scope| {
        let shell = scope.spawn(|| fixture.cli_told(&["companion", "pair", "--name", "shelf"], b"yes\n"));
        let shown = number(&newcomer);
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(hold(&newcomer)))?;
        anyhow::Ok((shell.join().expect("it does not panic")?, shown?))
    })?;
    ensure!(paired.status == 0 && paired.stderr.contains("paired: shelf (software "), "{paired:?}");
    let said: u32 = paired.stdout.replace([' ', '\n'], "").parse()?;
    ensure!(said == shown, "{said} at the hub, {shown} at the device");
    shows(&newcomer, "it is in a session", |view| *view == View::Idle)?;
    Ok(newcomer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_companion_that_was_paired_over_the_broker_approves_a_message_and_remembers_the_hub() -> Result<()>
{
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let newcomer = paired(&fixture).await?;
    let added = fixture.audit("device.added")?.pop().context("a row")?;
    ensure!(added.detail["name"] == "shelf" && added.detail["software"] == true, "{added:?}");

    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    let seen = person::decide(&newcomer, Verdict::Approve, PATIENCE).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;

    // Both keep what they know.
    drop(newcomer);
    fixture.restart().await?;
    fixture.switch_off();
    let (again, agent) = (fixture.newcomer("shelf")?, fixture.agent("engineer").await?);
    shows(&again, "it is in a session", |view| *view == View::Idle)?;
    let held = agent.send(&json!({"to": "local:team", "message": "And now?"}))?;
    person::decide(&again, Verdict::Deny, PATIENCE).await?;
    agent.ended(text(&held, "id"), "denied")?;

    // A revoked one can be paired again, as another device.
    fixture.cli(&["companion", "revoke", "shelf"])?.well()?;
    shows(&again, "it has forgotten the hub", |view| *view == View::Unpaired)?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_companion_that_was_revoked_while_it_was_away_says_so_when_it_is_back() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let away = paired(&fixture).await?;
    drop(away);
    fixture.cli(&["companion", "revoke", "shelf"])?.well()?;
    let back = fixture.newcomer("shelf")?;
    shows(&back, "it is not let in", |view| *view == View::Fault(Fault::Login))?;
    // The broker is not the hub: nothing is forgotten by its word. The person at the device can.
    for button in [Button::Approve, Button::Deny] {
        back.buttons().send((button, Edge::Pressed)).await?;
    }
    shows(&back, "it has forgotten the hub", |view| *view == View::Unpaired)?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_on_either_side_pairs_nobody_and_is_written_down() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let before = fixture.audit("device.added")?.len();
    let newcomer = fixture.newcomer("shelf")?;
    for (typed, why) in [(&b"no\n"[..], "another one"), (b"", "another one"), (b"000000\n", "another one")] {
        let refused = fixture.cli_told(&["companion", "pair"], typed)?;
        ensure!(refused.status == 1 && refused.stderr.contains(why), "{refused:?}");
        shows(&newcomer, "it was not paired", |view| *view == View::Fault(Fault::Pairing))?;
        shows(&newcomer, "and says so no more", |view| *view == View::Unpaired)?;
    }
    ensure!(fixture.audit("device.added")?.len() == before && fixture.audit("pairing.failed")?.len() == 3);

    // The person at the device says that it is another number.
    let operator = fixture.operator()?;
    let shown = operator.post("/v1/pairing", &json!({}))?.taken()?;
    ensure!(text(&shown, "code").parse::<u32>()? == number(&newcomer)?, "{shown}");
    let busy = operator.post("/v1/pairing", &json!({}))?;
    ensure!(busy.status == 409 && text(&busy.body, "error").contains("already"), "{busy:?}");
    let buttons = newcomer.buttons();
    for edge in [Edge::Pressed, Edge::Released] {
        buttons.send((Button::Deny, edge)).await?;
    }
    let path = format!("/v1/pairing/{}", text(&shown, "code"));
    eventually("the attempt is over", || Ok(fixture.audit("pairing.failed")?.get(3).cloned()))?;
    let late = operator.post(&path, &json!({"same": true}))?;
    ensure!(late.status == 404, "{late:?}");
    ensure!(fixture.audit("device.added")?.len() == before);
    Ok(())
}

/// `gatepost companion pair` of a person who types nothing.
fn pairing(fixture: &TestHub) -> Result<Child> {
    let token = fs::read_to_string(fixture.data_dir().join("operator.token"))?;
    let command = &mut Command::new(program()?);
    command.args(["companion", "pair"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let hub = format!("http://{}", fixture.hub()?.address());
    Ok(command.env("GATEPOST_HUB", hub).env("GATEPOST_TOKEN", token.trim()).spawn()?)
}

/// Presses Ctrl-C, and waits for the end.
fn interrupt(child: Child) -> Result<std::process::Output> {
    let pid = child.id().to_string();
    ensure!(Command::new("kill").args(["-INT", &pid]).status()?.success());
    Ok(child.wait_with_output()?)
}

/// Waits until an attempt has failed for this reason, soon: a window that nobody shuts would stay open for a minute.
fn shut(fixture: &TestHub, why: &str) -> Result<()> {
    let start = Instant::now();
    let event = eventually("the window is shut", || Ok(fixture.audit("pairing.failed")?.pop()))?;
    ensure!(text(&event.detail, "why").contains(why), "{event:?}");
    ensure!(start.elapsed() < Duration::from_secs(2), "it took {:?}", start.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairing_that_is_broken_off_before_a_companion_comes_leaves_no_window_open() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let mut shell = pairing(&fixture)?;
    let mut errors = BufReader::new(shell.stderr.take().context("a pipe")?);
    let mut line = String::new();
    errors.read_line(&mut line)?;
    ensure!(line.starts_with("waiting for a companion"), "{line}");
    // Long enough for its call to be at the hub.
    thread::sleep(Duration::from_secs(1));
    let ended = interrupt(shell)?;
    line.clear();
    errors.read_line(&mut line)?;
    ensure!(ended.status.code() == Some(1) && line == "stopped\n", "{ended:?} {line}");
    shut(&fixture, "closed the connection")?;
    // The next attempt begins at once.
    drop(paired(&fixture).await?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairing_that_is_broken_off_at_its_number_leaves_no_window_open() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let newcomer = fixture.newcomer("shelf")?;
    let mut shell = pairing(&fixture)?;
    let mut shown = String::new();
    BufReader::new(shell.stdout.take().context("a pipe")?).read_line(&mut shown)?;
    ensure!(shown.trim().replace(' ', "").parse::<u32>()? == number(&newcomer)?, "{shown}");
    let ended = interrupt(shell)?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    ensure!(
        ended.status.code() == Some(1) && errors.contains("stopped") && errors.contains("nothing was paired"),
        "{errors}"
    );
    shut(&fixture, "nothing was paired")?;
    shows(&newcomer, "it was not paired", |view| *view == View::Fault(Fault::Pairing))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairing_that_is_broken_off_before_the_person_at_the_companion_confirms_pairs_nobody() -> Result<()>
{
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.switch_off();
    let newcomer = fixture.newcomer("shelf")?;
    let mut shell = pairing(&fixture)?;
    number(&newcomer)?;
    shell.stdin.take().context("a pipe")?.write_all(b"yes\n")?;
    // Long enough for the answer to be at the hub; the companion's person never confirms.
    thread::sleep(Duration::from_secs(1));
    ensure!(fixture.audit("pairing.failed")?.is_empty());
    let ended = interrupt(shell)?;
    ensure!(ended.status.code() == Some(1), "{ended:?}");
    shut(&fixture, "closed the connection")?;
    shows(&newcomer, "it was not paired", |view| *view == View::Fault(Fault::Pairing))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_pairs_nobody() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    for path in ["/v1/pairing", "/v1/pairing/0"] {
        let refused = agent.post(path, &json!({"same": true}))?;
        ensure!(refused.status == 403, "{refused:?}");
    }
    Ok(())
}
