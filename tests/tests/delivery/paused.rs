//! A platform that asks to be left alone for a week is obeyed, and everybody can see it.

use std::{
    fs,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{COURIER, Client, SpawnedHub, client::text, eventually, webhook},
    mocks::{Answer, MockServer},
};
use serde_json::{Value, json};
use tempfile::TempDir;

const WEEK: f64 = 604_800.0;
const ASKED: &str = "the platform asked to wait until ";
const PAUSED_UNTIL: &str = "gatepost_paused_until_seconds{channel=\"webhook\",account=\"home\"}";

fn config(secrets: &TempDir, url: &str) -> Result<String> {
    Ok(format!("{COURIER}{}", webhook(secrets.path(), url)?))
}

/// Sends a message that is answered "not before then"; its id.
fn refused(server: &MockServer, agent: &Client, retry_after: &'static str) -> Result<String> {
    server.next([Answer::With(429, retry_after, json!({"error": "too much of Ann's tea"}))]);
    let sent = agent.send(&json!({"to": "webhook:kitchen", "message": "Tea?"}))?;
    let id = text(&sent, "id").to_owned();
    eventually("the hub has heard it", || Ok(agent.message(&id)?["paused_until"].is_string().then_some(())))?;
    Ok(id)
}

/// The account's line in what is said of channels.
fn said_to(asks: &Client) -> Result<Value> {
    let said = asks.get("/v1/channels")?.taken()?;
    let accounts = said["channels"].as_array().context("channels")?;
    accounts.iter().find(|one| one["channel"] == "webhook").cloned().context("the webhook")
}

/// In how many seconds the platform takes something again, as the metrics have it.
fn paused_for(hub: &SpawnedHub) -> Result<Option<f64>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(hub.operator()?.figure(PAUSED_UNTIL)?.map(|until| until - now.as_secs_f64()))
}

#[test]
fn a_pause_of_a_week_is_told_to_whoever_waits_or_looks() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    let mut hub = SpawnedHub::start(&config(&secrets, &server.url())?)?;
    let (agent, operator) = (hub.agent("courier")?, hub.operator()?);
    ensure!(said_to(&agent)?["ready"] == true && paused_for(&hub)?.is_none());
    let asked_before = server.heard().len();
    let first = refused(&server, &agent, "Retry-After: 604800")?;

    // Whoever was refused hears the platform's words, everybody else only until when.
    let waits = agent.message(&first)?;
    let reason = text(&waits, "reason");
    ensure!(waits["state"] == "ready" && reason.starts_with(ASKED), "{waits}");
    ensure!(reason.contains("it expires at ") && reason.contains("429"), "{waits}");
    ensure!(reason.contains("too much of Ann's tea"), "{waits}");
    let second = agent.send(&json!({"to": "webhook:cellar", "message": "Wine?"}))?;
    let reason = text(&second, "reason");
    ensure!(second["state"] == "ready" && reason.starts_with(ASKED), "{second}");
    ensure!(reason.contains("it expires at ") && !reason.contains("Ann"), "{second}");
    ensure!(text(&second, "hint").contains("will not be sent"), "{second}");
    let until = text(&second, "paused_until");
    let seen = agent.message(text(&second, "id"))?;
    ensure!(seen["paused_until"] == until && seen["due_at"] == until, "{seen}");
    for line in agent.queue()? {
        ensure!(text(&line, "reason").starts_with(ASKED) && line["paused_until"] == until, "{line}");
    }
    let shown = hub.cli(&["queue", "show", text(&second, "id")])?.well()?;
    ensure!(shown.contains(ASKED) && shown.contains("it expires at "), "{shown}");
    let listed = hub.cli(&["queue", "list"])?.well()?;
    ensure!(listed.matches(ASKED).count() == 2, "{listed}");
    // Another channel goes on.
    let local = agent.send_and_wait(&json!({"to": "local:ann", "message": "Water?"}))?;
    ensure!(local["state"] == "sent" && local["paused_until"].is_null(), "{local}");

    let (to_agent, to_operator) = (said_to(&agent)?, said_to(&operator)?);
    for said in [&to_agent, &to_operator] {
        ensure!(said["ready"] == false && said["paused_until"] == until, "{said}");
        ensure!(text(said, "said").starts_with(ASKED), "{said}");
    }
    ensure!(!text(&to_agent, "said").contains("Ann"), "{to_agent}");
    ensure!(text(&to_operator, "said").contains("Ann"), "{to_operator}");
    let checked = hub.cli(&["check"])?;
    ensure!(checked.stdout.contains("NOT READY") && checked.stdout.contains(ASKED), "{checked:?}");
    ensure!(
        server.heard().len() == asked_before + 1,
        "the platform was asked meanwhile: {:?}",
        server.heard()
    );

    let left = paused_for(&hub)?.context("no figure")?;
    ensure!((WEEK - 60.0..=WEEK + 1.0).contains(&left), "{left}");
    let log = hub.log()?;
    ensure!(log.matches("the platform asked to wait").count() == 1, "{log}");

    hub.kill()?;
    hub.run()?;
    let again = agent.message(&first)?;
    ensure!(again["state"] == "ready" && again["paused_until"] == until, "{again}");
    ensure!(said_to(&agent)?["paused_until"] == until && paused_for(&hub)?.is_some());
    Ok(())
}

#[test]
fn a_pause_that_ends_before_the_deadline_does_not_say_that_the_message_expires() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    let hub = SpawnedHub::start(&config(&secrets, &server.url())?)?;
    let agent = hub.agent("courier")?;
    let id = refused(&server, &agent, "Retry-After: 3")?;
    let waits = agent.message(&id)?;
    ensure!(
        text(&waits, "reason").starts_with(ASKED) && !waits["reason"].to_string().contains("expires"),
        "{waits}"
    );
    ensure!(text(&waits, "hint").contains("do not send it a second time"), "{waits}");
    let sent = agent.ended(&id, "sent")?;
    ensure!(sent["paused_until"].is_null() && sent["reason"].is_null(), "{sent}");
    let log = hub.log()?;
    ensure!(!log.contains("the platform asked to wait"), "{log}");
    Ok(())
}

#[test]
fn a_message_whose_time_is_over_during_a_pause_says_what_it_waited_for() -> Result<()> {
    let (server, secrets) = (MockServer::saying(json!({}))?, tempfile::tempdir()?);
    let hub = SpawnedHub::start(&config(&secrets, &server.url())?)?;
    let agent = hub.agent("courier")?;
    refused(&server, &agent, "Retry-After: 604800")?;
    let sent = agent.send(&json!({"to": "webhook:cellar", "message": "Wine?", "ttlSeconds": 2}))?;
    let since = Instant::now();
    let expired = agent.ended(text(&sent, "id"), "failed")?;
    ensure!(expired["code"] == "expired" && text(&expired, "error").contains(ASKED), "{expired}");
    ensure!(since.elapsed() < Duration::from_secs(30), "it ended long after its time: {expired}");
    Ok(())
}

#[test]
fn a_pause_is_for_the_server_that_asked_and_for_no_other_that_the_account_is_led_to() -> Result<()> {
    let (old, new) = (MockServer::saying(json!({}))?, MockServer::saying(json!({}))?);
    let secrets = tempfile::tempdir()?;
    let mut hub = SpawnedHub::start(&config(&secrets, &old.url())?)?;
    let agent = hub.agent("courier")?;
    let first = refused(&old, &agent, "Retry-After: 604800")?;
    let second = agent.send(&json!({"to": "webhook:cellar", "message": "Wine?"}))?;
    ensure!(second["paused_until"].is_string(), "{second}");

    // A new secret makes nobody else of it.
    fs::write(secrets.path().join("secret"), "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3")?;
    hub.cli(&["reload"])?.well()?;
    ensure!(said_to(&agent)?["ready"] == false && paused_for(&hub)?.is_some());

    hub.configure(&config(&secrets, &new.url())?)?;
    hub.cli(&["reload"])?.well()?;
    for id in [&first, text(&second, "id")] {
        ensure!(agent.ended(id, "failed")?["code"] == "account_changed");
    }
    let sent = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "Tea, there?"}))?;
    ensure!(sent["state"] == "sent" && sent["paused_until"].is_null(), "{sent}");
    ensure!(said_to(&agent)?["ready"] == true && paused_for(&hub)?.is_none());

    // The other one has not taken back what it said.
    hub.configure(&config(&secrets, &old.url())?)?;
    hub.kill()?;
    hub.run()?;
    ensure!(said_to(&agent)?["ready"] == false && paused_for(&hub)?.is_some());
    let waits = agent.send(&json!({"to": "webhook:kitchen", "message": "Tea, here?"}))?;
    ensure!(waits["paused_until"].is_string(), "{waits}");
    ensure!(old.heard().iter().filter(|request| request.method == "POST").count() == 1, "{:?}", old.heard());

    // As after a restart.
    hub.configure(&config(&secrets, &new.url())?)?;
    hub.kill()?;
    hub.run()?;
    ensure!(agent.ended(text(&waits, "id"), "failed")?["code"] == "account_changed");
    Ok(())
}
