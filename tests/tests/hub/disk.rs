//! Disks that are full, and what the hub makes of them. They are mounted for the test, which only root may do.

use std::{
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use gatepost_tests::hub::{SpawnedHub, agents, client::text, disk::SmallDisk, eventually};
use serde_json::json;

/// A mail server that is away.
fn config() -> String {
    agents(
        "limit = 2000\n[channels.email.away]\nhost = \"127.0.0.1\"\nport = 1\nfrom = \"hub@example.org\"\n",
    )
}

const MB: u64 = 1024 * 1024;

/// A hub whose data lie on a disk of 40 MB.
fn hub_on_a_small_disk() -> Result<Option<(SpawnedHub, SmallDisk)>> {
    let folder = Arc::new(tempfile::tempdir()?);
    let Some(disk) = SmallDisk::mount(&folder.path().join("data"), 40)? else { return Ok(None) };
    let mut hub = SpawnedHub::at_rest(folder, &config())?;
    hub.run()?;
    Ok(Some((hub, disk)))
}

#[test]
fn files_stop_before_they_fill_the_disk_and_messages_without_go_on() -> Result<()> {
    let Some((hub, disk)) = hub_on_a_small_disk()? else { return Ok(()) };
    let agent = hub.agent("courier")?;
    // Beside the reserve 24 MB are there, which is less than files leave free.
    let before = disk.free()?;
    let refused = agent.raw("POST", "/v1/files", &[], &vec![1; 4 * MB as usize])?;
    ensure!(refused.status == 503 && refused.body["reason"] == "disk_full", "{refused:?}");
    ensure!(!hub.data_dir().join("files").exists());
    ensure!(disk.free()? + MB > before, "{} were free, and {} are", before, disk.free()?);
    let sent = agent.send_and_wait(&json!({"to": "local:ann", "message": "Hello"}))?;
    ensure!(sent["state"] == "sent" && hub.data_dir().join("reserve").exists(), "{sent}");
    Ok(())
}

#[test]
fn a_full_disk_stops_accepting_first_loses_nothing_and_goes_on_by_itself() -> Result<()> {
    let Some((mut hub, disk)) = hub_on_a_small_disk()? else { return Ok(()) };
    let agent = hub.agent("courier")?;
    let reserve = hub.data_dir().join("reserve");
    ensure!(fs::metadata(&reserve)?.len() == 16 * MB);
    let text_of = |number: usize| format!("{number}: {}", "word ".repeat(15_000));
    let call =
        |number: usize| json!({"to": format!("local:lane-{}", number % 4), "message": text_of(number)});

    // Messages that are long enough to fill it by themselves.
    let mut accepted = vec![];
    let start = Instant::now();
    let refused = loop {
        let answer = agent.post("/v1/messages", &call(accepted.len()))?;
        if answer.status >= 400 {
            break answer;
        }
        accepted.push(text(&answer.body, "id").to_owned());
        ensure!(accepted.len() < 2_000, "the disk is not small");
    };
    ensure!(refused.status == 503 && refused.body["code"] == "queue_full", "{refused:?}");
    ensure!(refused.body["reason"] == "disk_full", "{refused:?}");
    ensure!(text(&refused.body, "hint").contains("nothing was taken"), "{refused:?}");
    ensure!(accepted.len() > 10, "{} were accepted in {:?}", accepted.len(), start.elapsed());
    ensure!(agent.get("/readyz")?.status == 503);
    ensure!(agent.get("/healthz")?.status == 200, "the hub lives");

    // What was accepted arrives.
    for id in &accepted {
        agent.ended(id, "sent")?;
    }

    // To the last byte: the reserve is given away.
    let ballast = disk.fill(0)?;
    eventually("the reserve is given away", || {
        let _ = agent.post("/v1/messages", &call(0))?;
        Ok((!reserve.exists()).then_some(()))
    })?;
    // And that as well: nothing leaves, the hub stays up, and can be asked.
    disk.fill(0)?;
    thread::sleep(Duration::from_millis(1_500));
    let answer = agent.post("/v1/messages", &call(0))?;
    ensure!(answer.body["code"] == "queue_full", "{answer:?}");
    ensure!(agent.message(&accepted[0])?["state"] == "sent");

    // A restart on the full disk loses nothing either.
    hub.kill()?;
    fs::remove_file(&ballast)?;
    let ballast = disk.fill(4 * MB)?;
    hub.run_without_waiting()?;
    eventually("it answers", || Ok(agent.get("/healthz").ok()))?;
    ensure!(agent.get("/readyz")?.status == 503);

    // What was accepted is all there, and nothing else.
    fs::remove_file(&ballast)?;
    for (number, id) in accepted.iter().enumerate() {
        let message = agent.message(id)?;
        ensure!(message["state"] == "sent", "{id} is {}", message["state"]);
        ensure!(text(&message, "message").trim() == text_of(number).trim(), "{id} has another text");
    }
    ensure!(agent.queue()?.len() == accepted.len());
    Ok(())
}

#[test]
fn while_the_disk_is_full_nothing_leaves_and_afterwards_everything_does() -> Result<()> {
    let Some((hub, disk)) = hub_on_a_small_disk()? else { return Ok(()) };
    let agent = hub.agent("courier")?;
    let reserve = hub.data_dir().join("reserve");
    let first = agent.send_and_wait(&json!({"to": "local:team", "message": "Before."}))?;
    ensure!(first["state"] == "sent", "{first}");

    // Its server is away, so it waits for its next attempt, in five seconds.
    let waits = agent.send(&json!({"to": "email:ann@example.org", "message": "Waits."}))?;
    let waits = text(&waits, "id");
    let attempts = || Ok::<_, anyhow::Error>(agent.message(waits)?["attempts"].as_u64().unwrap_or(0));
    eventually("the first attempt", || Ok((attempts()? == 1).then_some(())))?;

    let ballast = disk.fill(6 * MB)?;
    let refused = eventually("accepting stops", || {
        let answer = agent.post("/v1/messages", &json!({"to": "local:team", "message": "During."}))?;
        Ok((answer.status == 503).then_some(answer))
    })?;
    ensure!(refused.body["reason"] == "disk_full", "{refused:?}");
    ensure!(reserve.exists(), "accepting stops while the reserve is whole");
    disk.fill(0)?;
    eventually("the reserve is given away", || {
        let _ = agent.get("/readyz")?;
        Ok((!reserve.exists()).then_some(()))
    })?;
    // Room for a commit or two is left, but not for what might become of a request.
    disk.fill(MB / 2)?;
    thread::sleep(Duration::from_secs(7));
    ensure!(attempts()? == 1, "it was tried although its outcome could not be written down");
    ensure!(agent.message(waits)?["state"] == "ready");
    fs::remove_file(ballast)?;
    eventually("it is tried again", || Ok((attempts()? == 2).then_some(())))?;
    eventually("it takes messages again", || Ok((agent.get("/readyz")?.status == 200).then_some(())))?;
    ensure!(fs::metadata(&reserve)?.len() == 16 * MB, "the reserve is made anew");
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "After."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let arrived: Vec<_> =
        hub.operator()?.arrived("team")?.iter().map(|part| text(part, "text").to_owned()).collect();
    let during = arrived.iter().filter(|text| *text == "During.").count();
    let accepted = hub.operator()?.queue()?.len() - 3;
    ensure!(during == accepted, "{during} of {accepted}: {arrived:?}");
    Ok(())
}

#[test]
fn on_a_disk_that_turned_read_only_nothing_is_taken_nothing_leaves_and_nothing_is_lost() -> Result<()> {
    let folder = Arc::new(tempfile::tempdir()?);
    let image = folder.path().join("image");
    let Some(disk) = SmallDisk::that_can_fail(&folder.path().join("data"), &image, 96)? else {
        return Ok(());
    };
    let mut hub = SpawnedHub::at_rest(Arc::clone(&folder), &config())?;
    hub.run()?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Before."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    disk.fail()?;
    for _ in 0..3 {
        let refused = courier.post("/v1/messages", &json!({"to": "local:team", "message": "During."}))?;
        ensure!(refused.status == 503 && refused.body["code"] == "queue_full", "{refused:?}");
        ensure!(refused.body["reason"] == "disk_unwritable", "{refused:?}");
    }
    ensure!(courier.get("/healthz")?.status == 200, "the hub lives");
    ensure!(courier.get("/readyz")?.status == 503);
    ensure!(engineer.message(text(&held, "id"))?["state"] == "held", "it can be asked");
    hub.kill()?;
    disk.repair(&image)?;
    hub.run()?;
    let arrived = hub.operator()?.arrived("team")?;
    ensure!(arrived.len() == 1, "{arrived:?}");
    ensure!(engineer.message(text(&held, "id"))?["state"] == "held");
    ensure!(hub.cli(&["audit", "verify"])?.status == 0);
    let after = courier.send_and_wait(&json!({"to": "local:team", "message": "After."}))?;
    ensure!(after["state"] == "sent", "{after}");
    hub.kill()?;
    drop(disk);
    Ok(())
}
