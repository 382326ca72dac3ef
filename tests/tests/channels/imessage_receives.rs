//! What a hub hears on iMessage, before a double of a BlueBubbles server: none runs without a Mac.

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, database, eventually, secret},
    mocks::{
        MockServer,
        bluebubbles::{
            self,
            mac::{Mac, Trouble},
        },
    },
};
use serde_json::{Value, json};

use crate::turns;

const ANN: &str = "+4915112345679";
const CHAT: &str = "any;-;+4915112345679";
const PORT: &str = "/v1/platform/imessage/mac";

fn hub(server: &MockServer, secrets: &std::path::Path) -> Result<SpawnedHub> {
    let webhook = secret(secrets, "webhook", "the webhook_secret")?;
    let account = bluebubbles::account(server, secrets)?;
    SpawnedHub::start(&format!(
        "[agents.engineer]\nallow = [\"imessage:*\"]\ncross_context = \"allow\"\n[people.ann]\nids = [\"imessage:{ANN}\"]\n\
         scope = \"owner\"\n[routes.engineer]\nfrom = [\"imessage:*\"]\nagent = \"engineer\"\n\
         {account}receive = true\nwebhook_secret = {webhook}\n"
    ))
}

fn answer(agent: &Client, turn: &Value, words: &str) -> Result<()> {
    let answer =
        json!({"turn": turn["turn"], "lease": turn["lease"], "context": turn["context"], "text": words});
    let replied = agent.post("/v1/reply", &answer)?;
    ensure!(replied.status < 300, "{replied:?}");
    Ok(())
}

fn wake(hub: &SpawnedHub) -> Result<()> {
    let ((name, proof), body) = Mac::webhook("the webhook_secret", "new-message");
    let status = hub.anybody(None).raw("POST", PORT, &[(name, &proof)], &body)?.status;
    ensure!(status == 200, "{status}");
    Ok(())
}

fn items(turn: &Value) -> &[Value] {
    turn["items"].as_array().map_or(&[][..], Vec::as_slice)
}

/// It asks for what is there, and waits.
fn reads(server: &MockServer) -> Result<()> {
    eventually("it asks", || {
        let asked = server.heard().iter().filter(|one| one.path.ends_with("/message/query")).count();
        Ok((asked >= 3).then_some(()))
    })
}

#[test]
fn a_message_becomes_a_turn_at_a_webhook_and_after_a_stop_what_came_meanwhile_does() -> Result<()> {
    let ((server, mac), secrets) = (bluebubbles::start_with()?, tempfile::tempdir()?);
    mac.writes(CHAT, ANN, "Before the hub.");
    let mut hub = hub(&server, secrets.path())?;
    let agent = hub.agent("engineer")?;
    reads(&server)?;
    let asked = mac.sends_file(CHAT, ANN, ("list.txt", "text/plain"), b"hello", "Is it green?");
    for forged in ["another", "", "bluebubbles-password"] {
        let ((name, proof), body) = Mac::webhook(forged, "new-message");
        let status = hub.anybody(None).raw("POST", PORT, &[(name, &proof)], &body)?.status;
        ensure!(status == 401, "{forged}: {status}");
    }
    wake(&hub)?;
    let turn = turns::take(&agent)?;
    let item = &items(&turn)[0];
    ensure!(
        items(&turn).len() == 1 && item["text"] == "Is it green?" && item["message_id"] == asked,
        "{turn}"
    );
    ensure!(
        item["sender"]["id"] == format!("imessage:{ANN}") || item["sender"]["id"] == format!("phone:{ANN}"),
        "{turn}"
    );
    ensure!(item["files"][0]["name"] == "list.txt" && item["files"][0]["size"] == 5, "{turn}");
    ensure!(turn["conversation"]["target"] == format!("imessage:{ANN}"), "{turn}");
    answer(&agent, &turn, "All green.")?;
    eventually("the answer arrives", || {
        Ok(mac.sent_to(CHAT).iter().any(|sent| sent.text.contains("All green.")).then_some(()))
    })?;
    let signs = server.heard();
    ensure!(signs.iter().any(|one| one.path.ends_with("/typing")), "she sees that an answer is written");
    let said = hub.operator()?.get("/v1/channels?fresh=true")?.body;
    ensure!(text(&said["channels"][0], "said").contains("receives"), "{said}");

    // What came while it was away comes; what it had, and what Messages tells again, does not.
    hub.kill()?;
    mac.replays(&asked);
    mac.turns(true);
    mac.writes(CHAT, ANN, "And now?");
    mac.is_in(Some(Trouble::Says(500)));
    hub.run()?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    mac.is_in(None);
    let turn = turns::take(&agent)?;
    ensure!(items(&turn).len() == 1 && items(&turn)[0]["text"] == "And now?", "{turn}");
    Ok(())
}

/// What was received, in its order: its kind, and the message that it is or is about.
fn rows(hub: &SpawnedHub) -> Result<Vec<(String, String)>> {
    let db = database::open(&hub.data_dir())?;
    let mut rows =
        db.prepare("SELECT kind, coalesce(platform_id, facts ->> '$.about') FROM inbound ORDER BY seq")?;
    let rows =
        rows.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<_>>(1)?.unwrap_or_default())))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[test]
fn what_becomes_of_a_message_is_a_row_of_its_own() -> Result<()> {
    let ((server, mac), secrets) = (bluebubbles::start_with()?, tempfile::tempdir()?);
    let hub = hub(&server, secrets.path())?;
    let agent = hub.agent("engineer")?;
    reads(&server)?;
    let asked = mac.writes(CHAT, ANN, "Tea at five?");
    wake(&hub)?;
    let turn = turns::take_and_end(&agent)?;
    ensure!(items(&turn)[0]["text"] == "Tea at five?", "{turn}");
    let sent = agent.send_and_wait(&json!({"to": format!("imessage:{ANN}"), "message": "Yes."}))?;
    let own = text(&sent["parts"][0], "platform_id").to_owned();
    mac.edits(&asked, "Tea at six?");
    mac.reacts(CHAT, ANN, &own, "love");
    mac.writes(CHAT, ANN, "Well?");
    wake(&hub)?;
    let all = eventually("all of it is received", || {
        let rows = rows(&hub)?;
        Ok((rows.len() >= 4).then_some(rows))
    })?;
    for (kind, id) in [("message", &asked), ("edit", &asked), ("reaction", &own)] {
        ensure!(
            all.iter().filter(|one| **one == (kind.to_owned(), id.clone())).count() == 1,
            "{kind}: {all:?}"
        );
    }
    ensure!(all.len() == 4, "{all:?}");
    Ok(())
}
