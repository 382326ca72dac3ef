//! What a person at the shell does to messages in the queue: takes them back, sends the rest of them again.

use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use gatepost_tests::hub::{Client, SpawnedHub, agents, client::text};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Parts so short that a message has several.
fn config() -> String {
    agents("limit = 100")
}

/// A message of several parts that arrived, and its row as if it had not: all parts after the first are in `state`.
fn cut_short(hub: &mut SpawnedHub, agent: &Client, state: &str) -> Result<Value> {
    let long = "One sentence of a message that takes more than a part. ".repeat(5);
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": long}))?;
    ensure!(
        sent["state"] == "sent" && sent["parts"].as_array().is_some_and(|parts| parts.len() > 2),
        "{sent}"
    );
    hub.kill()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("UPDATE messages SET state = ?", [state])?;
    db.execute("UPDATE parts SET state = ?, platform_id = NULL WHERE idx > 0", [state])?;
    db.execute("DELETE FROM local WHERE seq > 1", [])?;
    drop(db);
    hub.run()?;
    Ok(sent)
}

#[test]
fn a_failed_message_goes_on_at_its_first_part_that_did_not_arrive() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    let message = cut_short(&mut hub, &agent, "failed")?;
    let id = text(&message, "id");
    ensure!(hub.operator()?.arrived("team")?.len() == 1, "a restart sends nothing of it by itself");

    let retried = hub.cli(&["queue", "retry", id])?.well()?;
    ensure!(
        retried.starts_with(&format!("{id} ready")) || retried.starts_with(&format!("{id} sen")),
        "{retried}"
    );
    agent.ended(id, "sent")?;
    let arrived = hub.operator()?.arrived("team")?;
    let parts = message["parts"].as_array().map_or(0, Vec::len);
    ensure!(arrived.len() == parts, "{arrived:#?}");
    let again = hub.cli(&["queue", "retry", id])?;
    ensure!(again.status == 1 && again.stderr.contains("the message is sent"), "{again:?}");
    ensure!(hub.operator()?.arrived("team")?.len() == parts);
    Ok(())
}

#[test]
fn a_message_that_may_have_arrived_goes_again_only_if_it_may_duplicate() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    let message = cut_short(&mut hub, &agent, "unknown")?;
    let id = text(&message, "id");
    let refused = hub.cli(&["queue", "retry", id])?;
    ensure!(refused.status == 1 && refused.stderr.contains("may have arrived"), "{refused:?}");
    ensure!(hub.operator()?.arrived("team")?.len() == 1);
    hub.cli(&["queue", "retry", "--may-duplicate", id])?.well()?;
    let sent = agent.ended(id, "sent")?;
    ensure!(
        sent["history"][0].as_str().is_some_and(|line| line.contains("sent again by the operator")),
        "a clean `sent`: {sent}"
    );
    Ok(())
}

/// A message of several parts of which the second is uncertain and the rest unsent, as a crash leaves it.
fn cut_at_the_second(hub: &mut SpawnedHub, agent: &Client) -> Result<(String, usize)> {
    cut_at(hub, agent, 1..=1)
}

/// A message of several parts of which these, counted from zero, are uncertain and all behind them unsent.
fn cut_at(hub: &mut SpawnedHub, agent: &Client, uncertain: RangeInclusive<u32>) -> Result<(String, usize)> {
    let long = "One sentence of a message that takes more than a part. ".repeat(5);
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": long}))?;
    let parts = sent["parts"].as_array().map_or(0, Vec::len);
    ensure!(sent["state"] == "sent" && parts > 2, "{sent}");
    let id = text(&sent, "id").to_owned();
    hub.kill()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    db.execute("UPDATE messages SET state = 'unknown' WHERE id = ?", [&id])?;
    db.execute("UPDATE parts SET state = 'planned', platform_id = NULL WHERE idx > 0", [])?;
    let (first, last) = (uncertain.start(), uncertain.end());
    db.execute("UPDATE parts SET state = 'unknown' WHERE idx BETWEEN ? AND ?", [first, last])?;
    // Whether it arrived or not: what is sent from here on is seen.
    db.execute("DELETE FROM local WHERE seq > 1", [])?;
    drop(db);
    hub.run()?;
    Ok((id, parts))
}

#[test]
fn an_operator_says_whether_a_part_arrived_and_the_rest_goes_on_with_a_history() -> Result<()> {
    for (word, sent_now, says) in [
        ("--arrived", 2, "part 2: settled by the operator as arrived: Ann has seen it"),
        ("--not-arrived", 1, "part 2: settled by the operator as not arrived: Ann has seen it"),
    ] {
        let mut hub = SpawnedHub::start(&config())?;
        let agent = hub.agent("courier")?;
        let (id, parts) = cut_at_the_second(&mut hub, &agent)?;
        let reason = ["--reason", "Ann has seen it"];
        for usage in [vec![word], vec!["--reason", "x"], vec!["--arrived", "--not-arrived", "--reason", "x"]]
        {
            let wrong = hub.cli(&[&["queue", "settle", id.as_str()], usage.as_slice()].concat())?;
            ensure!(wrong.status == 2, "{usage:?} {wrong:?}");
        }
        let other = hub.cli(&[&["queue", "settle", &id, word, "--part", "3"], &reason[..]].concat())?;
        ensure!(other.status == 1 && other.stderr.contains("part 3"), "{other:?}");
        let by_agent =
            agent.post(&format!("/v1/messages/{id}/settle"), &json!({"arrived": true, "reason": "x"}))?;
        ensure!(by_agent.status == 403, "{by_agent:?}");
        ensure!(agent.message(&id)?["state"] == "unknown");
        let settled = hub.cli(&[&["queue", "settle", &id, word], &reason[..]].concat())?.well()?;
        ensure!(settled.contains(says), "{settled}");
        let sent = agent.ended(&id, "sent")?;
        ensure!(sent["history"] == json!([says]), "a clean `sent`: {sent}");
        ensure!(hub.operator()?.arrived("team")?.len() == parts + 1 - sent_now, "{word}");
        ensure!(agent.told_of(&id)?["history"] == json!([says]), "its agent is not told");
        let again = hub.cli(&[&["queue", "settle", &id, word], &reason[..]].concat())?;
        ensure!(again.status == 1 && again.stderr.contains("the message is sent"), "{again:?}");
        let shown = hub.cli(&["audit", "show", "--message", &id, "--json"])?.json()?;
        let row = shown.as_array().into_iter().flatten().find(|row| row["event"] == "part.settled");
        ensure!(row.is_some_and(|row| row["detail"]["reason"] == "Ann has seen it"), "{shown}");
        hub.cli(&["audit", "verify"])?.well()?;
    }
    Ok(())
}

#[test]
fn of_several_uncertain_parts_an_operator_names_one_after_the_other() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    // As a restored backup leaves it: whatever was not confirmed in it is uncertain.
    let (id, parts) = cut_at(&mut hub, &agent, 1..=2)?;
    let settle = |word: &[&str]| {
        hub.cli(&[&["queue", "settle", id.as_str()], word, &["--reason", "Ann has looked"]].concat())
    };
    for word in ["--arrived", "--not-arrived"] {
        let unnamed = settle(&[word])?;
        let says = |text: &str| unnamed.stderr.contains(text);
        ensure!(
            unnamed.status == 1
                && says("several parts may have arrived: 2, 3")
                && says("one after the other"),
            "{unnamed:?}"
        );
        ensure!(agent.message(&id)?["state"] == "unknown" && agent.message(&id)?["history"].is_null());
    }
    // One of them is settled, and the message still waits for a word on the other.
    let half = settle(&["--not-arrived", "--part", "3"])?.well()?;
    ensure!(half.starts_with(&format!("{id} unknown")) && half.contains("part 2: unknown"), "{half}");
    let again = settle(&["--arrived", "--part", "3"])?;
    ensure!(again.status == 1 && again.stderr.contains("part 3"), "{again:?}");
    ensure!(hub.operator()?.arrived("team")?.len() == 1, "something was sent meanwhile");
    settle(&["--arrived", "--part", "2"])?.well()?;
    let sent = agent.ended(&id, "sent")?;
    let says = [
        "part 3: settled by the operator as not arrived: Ann has looked",
        "part 2: settled by the operator as arrived: Ann has looked",
    ];
    ensure!(sent["history"] == json!(says), "{sent}");
    // All but the first, which was there, and the second, which is said to be.
    ensure!(hub.operator()?.arrived("team")?.len() == 1 + parts - 2);
    hub.cli(&["audit", "verify"])?.well()?;
    Ok(())
}

#[test]
fn who_settles_a_part_of_a_message_whose_time_is_over_is_told_that_nothing_more_is_sent() -> Result<()> {
    for word in ["--arrived", "--not-arrived"] {
        let mut hub = SpawnedHub::start(&config())?;
        let agent = hub.agent("courier")?;
        let (id, _) = cut_at_the_second(&mut hub, &agent)?;
        Connection::open(hub.data_dir().join("gatepost.db"))?
            .execute("UPDATE messages SET deadline = 1", [])?;
        let settled = hub.cli(&["queue", "settle", &id, word, "--reason", "Ann has looked"])?.well()?;
        ensure!(settled.starts_with(&format!("{id} failed")), "{settled}");
        for says in ["its time was over", "nothing more of it is sent", "Ann has looked"] {
            ensure!(settled.contains(says), "{settled}");
        }
        let failed = agent.ended(&id, "failed")?;
        ensure!(failed["code"] == "expired" && agent.told_of(&id)?["code"] == "expired", "{failed}");
        ensure!(hub.operator()?.arrived("team")?.len() == 1, "something was sent");
    }
    Ok(())
}

#[test]
fn a_message_whose_last_part_arrived_is_sent_at_once() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Short."}))?;
    let id = text(&sent, "id").to_owned();
    hub.kill()?;
    let db = Connection::open(hub.data_dir().join("gatepost.db"))?;
    // Also when its time is over: nothing of it has to be sent.
    db.execute("UPDATE messages SET state = 'unknown', deadline = 1", [])?;
    db.execute("UPDATE parts SET state = 'unknown', platform_id = NULL", [])?;
    drop(db);
    hub.run()?;
    let body = json!({"arrived": true, "reason": "it is there"});
    let settled = hub.operator()?.post(&format!("/v1/messages/{id}/settle"), &body)?.taken()?;
    ensure!(settled["state"] == "sent" && settled["history"][0].is_string(), "{settled}");
    ensure!(hub.operator()?.arrived("team")?.len() == 1);
    Ok(())
}

#[test]
fn only_what_has_not_left_can_be_taken_back_and_only_an_operator_retries() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("engineer")?;
    let held = agent.send(&json!({"to": "local:team", "message": "Hello"}))?;
    let id = text(&held, "id");
    ensure!(held["state"] == "held", "{held}");
    let retry = agent.post(&format!("/v1/messages/{id}/retry"), &json!({}))?;
    ensure!(retry.status == 403 && retry.body["code"] == "forbidden", "{retry:?}");
    let early = hub.cli(&["queue", "retry", id])?;
    ensure!(early.status == 1 && early.stderr.contains("the message is held"), "{early:?}");
    let cancelled = hub.cli(&["queue", "cancel", id])?.well()?;
    ensure!(cancelled.starts_with(&format!("{id} cancelled")), "{cancelled}");
    let twice = hub.cli(&["queue", "cancel", id])?;
    ensure!(twice.status == 1 && twice.stderr.contains("the message is cancelled"), "{twice:?}");
    ensure!(agent.told_of(id)?["state"] == "cancelled");
    ensure!(hub.operator()?.arrived("team")?.is_empty());
    Ok(())
}

#[test]
fn an_operator_lets_go_of_what_has_ended_and_of_nothing_else() -> Result<()> {
    let hub = SpawnedHub::start(&config())?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Sent."}))?;
    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    let (sent, held) = (text(&sent, "id"), text(&held, "id"));
    let all = hub.cli(&["queue", "purge"])?;
    ensure!(all.status == 2, "{all:?}");
    let live = hub.cli(&["queue", "purge", held])?;
    ensure!(live.status == 1 && live.stderr.contains("the message is held"), "{live:?}");
    let agent = courier.post("/v1/purge?state=sent", &json!({}))?;
    ensure!(agent.status == 403, "{agent:?}");
    ensure!(hub.cli(&["queue", "purge", "--older-than", "1h"])?.well()?.trim() == "0 purged");
    ensure!(hub.cli(&["queue", "purge", "--state", "sent"])?.well()?.trim() == "1 purged");
    ensure!(courier.get(&format!("/v1/messages/{sent}"))?.status == 404);
    ensure!(engineer.message(held)?["state"] == "held");
    let shown = hub.cli(&["audit", "show", "--message", sent, "--json"])?.json()?;
    let events: Vec<&str> = shown.as_array().into_iter().flatten().map(|row| text(row, "event")).collect();
    let expected = ["message.accepted", "message.ready", "message.sending", "message.sent", "queue.purged"];
    ensure!(events == expected, "{events:?}");
    Ok(())
}

#[test]
fn an_audit_that_somebody_touched_is_not_verified_and_the_row_is_named() -> Result<()> {
    let mut hub = SpawnedHub::start(&config())?;
    let agent = hub.agent("courier")?;
    for _ in 0..3 {
        agent.send_and_wait(&json!({"to": "local:team", "message": "Hello."}))?;
    }
    let running = hub.cli(&["audit", "verify"])?;
    ensure!(running.stderr.contains("the audit is whole"), "{running:?}");
    hub.terminate()?;
    let whole = hub.cli(&["audit", "verify", "--json"])?.json()?;
    ensure!(whole["ok"] == true && whole["signed_to"] == whole["last"], "a stop signs all of it: {whole}");
    let last = whole["last"].as_i64().unwrap_or(0);
    let database = hub.data_dir().join("gatepost.db");
    let key = text(&whole, "key").to_owned();
    let copy = hub.folder().path().join("copy.db");
    for (sql, said) in [
        ("UPDATE audit SET actor = 'agent:mallory' WHERE seq = 5".to_owned(), "row 5 was changed".to_owned()),
        ("DELETE FROM audit WHERE seq = 5".to_owned(), "row 5 was removed".to_owned()),
        (
            "UPDATE audit SET seq = -1 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 6;
             UPDATE audit SET seq = 6 WHERE seq = -1"
                .to_owned(),
            "row 6 belongs at 5".to_owned(),
        ),
        (
            format!("DELETE FROM audit WHERE seq = {last}"),
            format!("rows {last} to {last} were signed and are missing"),
        ),
    ] {
        std::fs::copy(&database, &copy)?;
        Connection::open(&copy)?.execute_batch(&sql)?;
        let path = copy.display().to_string();
        let verified = hub.cli(&["audit", "verify", "--database", &path, "--key", &key])?;
        ensure!(verified.status == 1 && verified.stdout.contains(&said), "{said}: {verified:?}");
    }
    let other = "00".repeat(32);
    let forged = hub.cli(&["audit", "verify", "--key", &other])?;
    ensure!(forged.status == 1 && forged.stdout.contains("was not signed by this hub"), "{forged:?}");
    Ok(())
}

#[test]
fn what_is_past_its_retention_goes_by_itself_and_leaves_a_line_in_the_audit() -> Result<()> {
    let hub = SpawnedHub::start(&format!("[queue]\nretention = \"1s\"\n{}", config()))?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let sent = courier.send_and_wait(&json!({"to": "local:team", "message": "Sent."}))?;
    let held = engineer.send(&json!({"to": "local:team", "message": "Held."}))?;
    gatepost_tests::hub::eventually("it is gone", || {
        Ok((courier.get(&format!("/v1/messages/{}", text(&sent, "id")))?.status == 404).then_some(()))
    })?;
    ensure!(engineer.message(text(&held, "id"))?["state"] == "held", "what is under way stays");
    let shown = hub.cli(&["audit", "show"])?.well()?;
    ensure!(shown.contains("queue.purged"), "{shown}");
    Ok(())
}
