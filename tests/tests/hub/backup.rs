//! A hub whose database was lost: what it says, and what a backup brings back.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::{RequestId, decision::Verdict};
use gatepost_tests::{
    hub::{Client, SpawnedHub, TestHub, agents, client::text, database, eventually},
    main_job,
};
use serde_json::{Value, json};

/// Backups every second, and a mail server that is away.
fn config() -> String {
    let away = "[channels.email.away]\nhost = \"127.0.0.1\"\nport = 1\nfrom = \"hub@example.org\"\n";
    format!("[queue]\nbackup_every = \"1s\"\nbackups = 2\n{}", agents(away))
}

#[test]
fn a_damaged_database_is_refused_and_its_backup_sends_nothing_until_an_operator_releases_it() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Arrived."}))?;
    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    let (sent, held) = (text(&sent, "id").to_owned(), text(&held, "id").to_owned());
    // Its server is away, so it waits for its next attempt.
    let waits = courier.send(&json!({"to": "email:ann@example.org", "message": "Waits."}))?;
    let waits = text(&waits, "id").to_owned();
    eventually("it waits", || {
        let message = courier.message(&waits)?;
        Ok((message["state"] == "ready" && message["attempts"] == 1).then_some(()))
    })?;

    let backups = hub.data_dir().join("backups");
    let count = || fs::read_dir(&backups).map_or(0, |files| files.count());
    let first = eventually("a backup", || newest(&hub))?;
    let newer = eventually("a newer one", || Ok(newest(&hub)?.filter(|newest| *newest > first)))?;
    eventually("one newer still", || Ok(newest(&hub)?.filter(|newest| *newest > newer)))?;
    ensure!(count() <= 3, "{} files", count());
    hub.kill()?;
    // What is in the write-ahead log alone is younger than the backup.
    for name in ["gatepost.db-wal", "gatepost.db-shm"] {
        fs::remove_file(hub.data_dir().join(name))?;
    }
    let database = hub.data_dir().join("gatepost.db");
    let keys = ["hub.key", "hub.seal"].map(|key| fs::read(hub.data_dir().join(key)));
    let newest = newest(&hub)?.context("a backup")?;
    let copy = fs::read(&newest)?;
    for key in keys {
        let key = key?;
        ensure!(!copy.windows(key.len()).any(|window| window == key), "a key of the hub's is in the backup");
    }
    fs::write(&database, b"scribble ".repeat(5_000))?;

    let refused = hub.run().expect_err("it started").to_string();
    ensure!(refused.contains("is damaged") && refused.contains("gatepost restore"), "{refused}");
    ensure!(refused.contains(&newest), "{refused}");
    ensure!(fs::read(&database)? == b"scribble ".repeat(5_000), "it is kept");

    let undecided = hub.cli(&["restore"])?;
    ensure!(undecided.status == 1 && undecided.stderr.contains("--access keep"), "{undecided:?}");
    ensure!(undecided.stderr.contains("the token of courier"), "{undecided:?}");
    ensure!(fs::read(&database)? == b"scribble ".repeat(5_000), "it is kept");
    let restored = hub.cli(&["restore", "--access", "keep"])?;
    ensure!(restored.stderr.contains("nothing of it is sent by itself"), "{restored:?}");
    restored.well()?;
    hub.run()?;
    let operator = hub.operator()?;
    ensure!(operator.message(&sent)?["state"] == "sent");
    for (agent, id) in [(&courier, &waits), (&engineer, &held)] {
        let message = agent.message(id)?;
        ensure!(message["state"] == "unknown" && message["code"] == "unknown_outcome", "{message}");
        ensure!(text(&message, "error").contains("restored from a backup"), "{message}");
        ensure!(agent.told_of(id)?["state"] == "unknown");
    }
    let refused = hub.cli(&["queue", "retry", &waits])?;
    ensure!(refused.status == 1, "{refused:?}");
    // What nobody had approved, nobody's release lets out: a person is asked anew.
    let before = request(&hub, &held)?;
    let released = hub.cli(&["queue", "retry", "--may-duplicate", &held])?.well()?;
    ensure!(released.starts_with(&format!("{held} held")), "{released}");
    ensure!(request(&hub, &held)? != before, "a decision on the old request would count");
    let again = hub.cli(&["queue", "retry", "--may-duplicate", &held])?;
    ensure!(again.status == 1 && again.stderr.contains("the message is held"), "{again:?}");
    hub.cli(&["queue", "retry", "--may-duplicate", &waits])?.well()?;
    eventually("it is tried again", || {
        let message = courier.message(&waits)?;
        Ok((message["state"] == "ready" && message["attempts"] == 2).then_some(()))
    })?;
    ensure!(operator.arrived("team")?.len() == 1, "nothing of it was sent by itself");
    ensure!(engineer.message(&held)?["state"] == "held");
    let verified = hub.cli(&["audit", "verify"])?;
    ensure!(verified.status == 0, "{verified:?}");
    // The hub runs: its database is not to be exchanged under it.
    let refused = hub.cli(&["restore"])?;
    ensure!(refused.status == 1 && refused.stderr.contains("in use by process"), "{refused:?}");
    Ok(())
}

#[test]
fn a_token_that_was_revoked_after_the_backup_is_not_valid_again() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    courier.send_and_wait(&json!({"to": "local:team", "message": "Before."}))?;
    let first = eventually("a backup", || newest(&hub))?;
    let backup = eventually("a newer one", || Ok(newest(&hub)?.filter(|newest| *newest > first)))?;
    let kept = hub.data_dir().join("kept.db");
    fs::copy(&backup, &kept)?;
    hub.cli(&["agent", "revoke", "engineer"])?.well()?;
    hub.kill()?;
    let restored = hub.cli(&["restore", kept.to_str().context("a path")?])?;
    ensure!(restored.stderr.contains("revoked: the token of engineer"), "{restored:?}");
    restored.well()?;
    hub.run()?;
    let refused = engineer.post("/v1/messages", &json!({"to": "local:team", "message": "Again."}))?;
    ensure!(refused.status == 401, "{}", refused.body);
    courier.send_and_wait(&json!({"to": "local:team", "message": "After."}))?;
    let shown = hub.cli(&["audit", "verify"])?;
    ensure!(shown.status == 0, "{shown:?}");
    Ok(())
}

/// A hook that says that it was asked, and answers as long as its file is there.
fn slow_hook(asked: &Path, closed: &Path) -> String {
    let answer =
        r#"sed -E "s/.*\"message\":\"([^\"]*)\".*/{\"action\": \"rewrite\", \"message\": \"\1 Hooked.\"}/""#;
    let script = format!(
        "echo asked >> {}; while test -e {}; do sleep 0.02; done; {answer}",
        asked.display(),
        closed.display()
    );
    format!(
        "[hooks.slow]\non = \"message_sending\"\ntimeout = \"60s\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_released_from_a_backup_goes_past_neither_hooks_nor_policy_nor_the_person() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let (asked, closed) = (folder.path().join("asked"), folder.path().join("closed"));
    let config = format!("{}{}", main_job::CONFIG, slow_hook(&asked, &closed));
    let hooks_asked = || fs::read_to_string(&asked).map_or(0, |asked| asked.lines().count());

    let mut fixture = TestHub::start_in(folder.clone(), &config).await?;
    let agent = fixture.agent("engineer").await?;
    let send = |agent: &Client, to: &str, message: &str| -> Result<String> {
        let receipt = agent.send(&json!({"to": to, "message": message}))?;
        Ok(text(&receipt, "id").to_owned())
    };
    let held = send(&agent, "local:team", "Held.")?;
    let moved = send(&agent, "local:office", "Held, and not allowed any more.")?;
    ensure!(agent.message(&held)?["state"] == "held" && agent.message(&moved)?["state"] == "held");
    fs::write(&closed, "")?;
    let accepted = send(&agent, "local:team", "Accepted.")?;
    ensure!(agent.message(&accepted)?["state"] == "accepted" && hooks_asked() == 3);
    fixture.stop().await;

    // Its database is behind the file beside it, as a backup's is.
    fs::write(fixture.data_dir().join("epoch"), "1000")?;
    fs::remove_file(&closed)?;
    fixture.restart_with(&config.replace("local:*", "local:team")).await?;
    let (agent, operator) = (fixture.agent("engineer").await?, fixture.operator()?);
    for id in [&held, &moved, &accepted] {
        ensure!(agent.message(id)?["state"] == "unknown");
        let refused = operator.post(&format!("/v1/messages/{id}/retry"), &json!({}))?;
        ensure!(refused.status == 409 && refused.body["reason"] == "unknown", "{refused:?}");
    }
    ensure!(hooks_asked() == 3, "a hook was asked before anybody released anything");
    let release = |id: &str| -> Result<Value> {
        Ok(operator.post(&format!("/v1/messages/{id}/retry?mayDuplicate=true"), &json!({}))?.body)
    };

    let refused = release(&moved)?;
    ensure!(refused["state"] == "failed" && text(&refused, "error").contains("allow"), "{refused}");
    for id in [&held, &accepted] {
        let again = release(id)?;
        ensure!(again["state"] == "held", "{again}");
    }
    ensure!(hooks_asked() == 4, "the hook was asked {} times", hooks_asked());
    let message = agent.message(&accepted)?;
    ensure!(message["message"] == "Accepted. Hooked." && message["written"] == "Accepted.", "{message}");
    ensure!(fixture.arrived("team")?.is_empty(), "nobody approved anything");

    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(&held, "sent")?;
    let arrived = main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;
    ensure!(arrived == ["[engineer] Held. Hooked."], "{arrived:?}");
    fixture.decide(Verdict::Deny).await?;
    agent.ended(&accepted, "denied")?;
    ensure!(fixture.arrived("team")? == arrived && fixture.arrived("office")?.is_empty());
    fixture.audit_is_whole().await
}

#[test]
fn the_first_backup_is_made_at_the_first_start_and_the_listing_says_when() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let mut hub = SpawnedHub::at_rest(folder, &agents(""))?;
    let none = hub.cli(&["restore", "--list"])?;
    ensure!(none.status == 0 && none.stdout.is_empty(), "{none:?}");
    ensure!(none.stderr.contains("no backup") && none.stderr.contains("as soon as the hub runs"), "{none:?}");
    hub.run()?;
    // A day lies between two by default.
    let path = eventually("a backup", || newest(&hub))?;
    let listed = hub.cli(&["restore", "--list"])?.well()?;
    let row = listed.lines().last().context("a row")?;
    let made = row.split_whitespace().next().context("a time")?;
    ensure!(
        made.len() == "2026-11-23T13:13:17Z".len() && made.ends_with('Z') && row.ends_with(&path),
        "{listed}"
    );
    Ok(())
}

/// The request that a message was last held on.
fn request(hub: &SpawnedHub, id: &str) -> Result<RequestId> {
    Ok(database::approval(&database::open(&hub.data_dir())?, id)?.request)
}

/// The newest backup in the listing, which has the time of each.
fn newest(hub: &SpawnedHub) -> Result<Option<String>> {
    let listed = hub.cli(&["restore", "--list", "--json"])?.json()?;
    let newest = listed.as_array().and_then(|listed| listed.last());
    Ok(newest.map(|newest| text(newest, "path").to_owned()))
}
