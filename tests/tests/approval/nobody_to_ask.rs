//! What callers are told of a held message that nobody can decide on, wherever they look: that nobody can be asked, why,
//! and until when it waits.

use anyhow::{Result, ensure};
use gatepost::clock::rfc3339;
use gatepost_companion::View;
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, client::text, eventually},
    main_job::CONFIG,
};
use serde_json::{Value, json};

const NOBODY: &str = "no companion is paired";

/// When the approval of a message is over, and when its own time is, as its receipt may say it.
fn deadlines(hub: &SpawnedHub, id: &str) -> Result<(String, String)> {
    let database = rusqlite::Connection::open(hub.data_dir().join("gatepost.db"))?;
    let sql = "SELECT approvals.deadline, messages.deadline FROM approvals JOIN messages ON seq = message WHERE id = ?";
    Ok(database.query_row(sql, [id], |row| Ok((rfc3339(row.get(0)?), rfc3339(row.get(1)?))))?)
}

#[test]
fn without_a_companion_every_door_says_that_nobody_can_be_asked_why_and_until_when() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let agent = hub.agent("engineer")?;
    let mut events = agent.listen(None)?;
    let call = json!({"to": "local:team", "message": "Hello."});
    let held = agent.post("/v1/messages", &call)?.taken()?;
    let hint = text(&held, "hint");
    ensure!(held["ok"] == true && held["state"] == "held", "{held}");
    ensure!(hint.contains("nobody can be asked") && hint.contains(NOBODY), "{held}");
    ensure!(!hint.contains("being asked") && hint.contains(&text(&held, "deadline")[..19]), "{held}");
    ensure!(held["asked"] == json!({"needed": 1, "able": 0, "problem": NOBODY}), "{held}");
    // The approval's ten minutes, and not the message's day.
    let id = text(&held, "id");
    let (approval, message) = deadlines(&hub, id)?;
    ensure!(held["deadline"] == approval && approval < message, "{approval}, {message}: {held}");

    let shown = agent.get(&format!("/v1/messages/{id}"))?.taken()?;
    ensure!(shown["deadline"] == held["deadline"] && shown["asked"] == held["asked"], "{shown}");
    for (tool, call) in [
        ("receipt", json!({"id": id})),
        ("message", json!({"to": "local:ann", "message": "Hello, Ann.", "wait": 1})),
    ] {
        let told = agent.tool(tool, &call)?;
        ensure!(
            text(&told, "hint").contains(NOBODY) && !text(&told, "deadline").is_empty(),
            "{tool}: {told}"
        );
    }

    let listed = hub.cli(&["queue", "list"])?.well()?;
    ensure!(listed.contains(&format!("nobody can be asked: {NOBODY}")), "{listed}");
    let listed = hub.cli(&["queue", "list", "--json"])?.json()?;
    let line = listed.as_array().into_iter().flatten().find(|line| line["id"] == id);
    ensure!(line.is_some_and(|line| line["asked"] == held["asked"]), "{listed}");

    let shell = hub.cli(&["queue", "show", id])?.well()?;
    for words in [
        "nobody can be asked: no companion is paired",
        "waits until 2",
        &format!("deadline: {}", text(&held, "deadline").split('.').next().unwrap_or_default()),
    ] {
        ensure!(shell.contains(words), "{words:?} is missing in:\n{shell}");
    }
    let event =
        events.until("it is held", |heard| heard.data["id"] == id && heard.name == "message.held")?.data;
    ensure!(event["deadline"] == held["deadline"] && text(&event, "hint").contains(NOBODY), "{event}");
    Ok(())
}

#[test]
fn a_shell_that_waited_for_what_is_still_held_ends_with_3() -> Result<()> {
    let hub = SpawnedHub::start(&format!("[agents.shell]\nallow = [\"local:*\"]\n{CONFIG}"))?;
    let send = |more: &[&str]| hub.cli(&[&["send", "--as-operator", "--to", "local:team"], more].concat());
    let taken = send(&["Only handed in."])?;
    ensure!(taken.status == 0 && taken.stdout.contains(NOBODY), "{taken:?}");
    let waited = send(&["--wait", "1", "Waited for."])?;
    ensure!(waited.status == 3 && waited.stdout.contains("held"), "{waited:?}");
    ensure!(waited.stdout.contains(NOBODY) && waited.stdout.contains("waits until 2"), "{waited:?}");
    let call = br#"{"to": "local:team", "message": "By a call."}"#;
    let waited = hub.cli_with(&["message", "--as-operator", "--wait", "1"], call, &[])?;
    ensure!(waited.status == 3, "{waited:?}");
    let refused = hub.cli(&["send", "--as-operator", "--to", "slack:C1", "--wait", "1", "Not allowed."])?;
    ensure!(refused.status == 1, "{refused:?}");
    for command in ["send", "message"] {
        let help = hub.cli(&[command, "--help"])?.well()?;
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(words.contains("3 with --wait"), "{help}");
    }
    Ok(())
}

#[test]
fn check_warns_where_messages_need_a_person_and_nobody_is_paired() -> Result<()> {
    let hub = SpawnedHub::start(CONFIG)?;
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(
        checked.status == 0 && checked.stderr.contains("warning: approval: no companion is paired"),
        "{checked:?}"
    );
    ensure!(hub.log()?.contains("no companion is paired"), "{}", hub.log()?);
    let nothing_waits =
        CONFIG.replace("allow = [\"local:*\"]", "allow = [\"local:*\"]\ncross_context = \"allow\"");
    let hub = SpawnedHub::start(&nothing_waits)?;
    let checked = hub.cli(&["check", "--offline"])?;
    ensure!(!checked.stderr.contains("companion"), "{checked:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_away_revoked_or_not_allowed_is_not_said_to_be_asked() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Hello."}))?;
    let id = text(&held, "id").to_owned();
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let told = agent.message(&id)?;
    ensure!(told["asked"] == json!({"needed": 1, "able": 1}), "{told}");
    ensure!(text(&told, "hint").starts_with("a person is being asked"), "{told}");

    fixture.switch_off();
    let away = "no companion can be asked: 1 is not connected";
    eventually("its last will is heard", || {
        Ok((agent.message(&id)?["asked"]["problem"] == away).then_some(()))
    })?;

    // Its key was taken by a hub that takes software; this one does not any more.
    fixture
        .restart_with(&CONFIG.replace("allow_software_companion = true", "allow_software_companion = false"))
        .await?;
    let agent = fixture.agent("engineer").await?;
    let why = "1 is software while [approval] allow_software_companion is off";
    let told = agent.message(&id)?;
    ensure!(
        text(&told["asked"], "problem").contains(why) && text(&told, "hint").contains("nobody can be asked"),
        "{told}"
    );
    let listed = fixture.cli(&["companion", "list"])?.well()?;
    ensure!(listed.contains("software  not allowed"), "{listed}");
    fixture.cli(&["companion", "revoke", "test"])?.well()?;
    ensure!(agent.message(&id)?["asked"]["problem"] == NOBODY);
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_companion_where_two_must_approve_is_nobody_and_the_second_makes_the_difference() -> Result<()> {
    let mut fixture = TestHub::start(&CONFIG.replace("[approval]", "[approval]\nquorum = 2")).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Hello."}))?;
    let id = text(&held, "id");
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let told = agent.message(id)?;
    ensure!(text(&told, "hint").contains("nobody can be asked: 1 of 2 companions"), "{told}");
    ensure!((&told["asked"]["needed"], &told["asked"]["able"]) == (&json!(2), &json!(1)), "{told}");

    let mut hall = fixture.join("hall").await?;
    hall.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let told = agent.message(id)?;
    ensure!(told["asked"] == json!({"needed": 2, "able": 2}), "{told}");
    hall.decide(Verdict::Approve).await?;
    hall.switch_off();
    // The one that has approved need not be there any more.
    let told = agent.message(id)?;
    ensure!(told["asked"] == json!({"needed": 1, "able": 1}), "{told}");
    fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(id, "sent")?;
    ensure!(sent["decided_by_software"] == true && sent["asked"] == Value::Null, "{sent}");
    fixture.audit_is_whole().await
}

#[test]
fn what_nobody_could_decide_on_says_so_when_it_has_expired() -> Result<()> {
    let hub = SpawnedHub::start(&CONFIG.replace("[approval]", "[approval]\nttl = \"1s\""))?;
    let agent = hub.agent("engineer")?;
    let expired = agent.post("/v1/messages?wait=20", &json!({"to": "local:team", "message": "Hello."}))?;
    ensure!(expired.body["state"] == "expired", "{expired:?}");
    ensure!(
        text(&expired.body, "error").contains("nobody decided in time: no companion is paired"),
        "{expired:?}"
    );
    Ok(())
}
