//! A broadcast that people are asked about: a card for each text that differs, which lists all its targets.
//!
//! Installed by `tests/run --setup-only`: Telegram's parser.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::{
    decision::Verdict,
    document::{Document, MAX_TARGETS},
};
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, client::text},
    peers::Mock,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*", "telegram:*"]
hold = ["telegram:*", "local:team", "local:crew"]
cross_context = "allow"
decorate = false

[agents.asker]
allow = ["local:*"]

[approval]
allow_software_companion = true

[channels.local.home]
"#;

fn config(mock: &Mock, folder: &Path) -> Result<String> {
    Ok(format!("{CONFIG}{}", mock.account(folder, mock.token())?))
}

/// Each receipt of a broadcast, by its target.
fn receipts(all: &Value) -> Result<Vec<Value>> {
    Ok(all["targets"].as_array().context("targets")?.clone())
}

/// The documents that people are asked about, a row for each request.
fn documents(fixture: &TestHub) -> Result<Vec<Vec<u8>>> {
    let db = fixture.database()?;
    let mut rows = db.prepare("SELECT DISTINCT request, document FROM approvals WHERE decided_at IS NULL")?;
    let rows = rows.query_map([], |row| row.get(1))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn listed(document: &[u8]) -> Result<Vec<String>> {
    let document = Document::decode(document).context("a document")?;
    Ok(document.targets().map(|target| format!("{}:{}", target.channel, target.address)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_press_approves_a_text_for_all_targets_that_are_held_and_each_gets_it_once() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, tempfile::tempdir()?);
    let config = config(&mock, folder.path())?;
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("engineer").await?;
    let targets = ["local:ann", "local:team", "telegram:777", "telegram:-1001000000001"];
    let call = json!({"action": "broadcast", "targets": targets, "message": "The **door** is open."});
    let all = receipts(&agent.post("/v1/messages", &call)?.taken()?)?;
    let states: Vec<&str> = all[1..].iter().map(|receipt| text(receipt, "state")).collect();
    ensure!(states == ["held"; 3] && all[0]["to"] == "local:ann", "{all:?}");
    // Who is not held is not kept waiting.
    agent.ended(text(&all[0], "id"), "sent")?;
    let asked = documents(&fixture)?;
    ensure!(asked.len() == 1 && listed(&asked[0])? == targets[1..], "{asked:?}");
    let shown = fixture.cli(&["queue", "show", text(&all[2], "id")])?.well()?;
    ensure!(shown.contains("on one card with: local:team, telegram:-1001000000001"), "{shown}");

    // Telegram takes nothing for a while, so that the decision is there and the messages are not.
    let busy = json!({"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 3",
        "parameters": {"retry_after": 3}});
    let later = json!({"match": "sendMessage", "status": 429, "body": busy});
    mock.plan(json!([later]))?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let pages = seen.pages.join("\n");
    for row in
        ["TARGET 1 of 3", "to: team", "TARGET 2 of 3", "to: 777", "to: -1001000000001", "FOR ALL 3 TARGETS"]
    {
        ensure!(pages.contains(row), "{row} in {pages}");
    }
    agent.ended(text(&all[1], "id"), "sent")?;
    fixture.audit_is_whole().await?;
    let tokens = agent.token().to_owned();
    fixture.stop().await;

    // Killed before they are sent.
    let mut hub = SpawnedHub::at_rest(Arc::clone(fixture.folder()), &config)?;
    hub.run()?;
    hub.kill()?;
    hub.run()?;
    let agent = hub.anybody(Some(&tokens));
    for receipt in &all[2..] {
        let sent = agent.ended(text(receipt, "id"), "sent")?;
        ensure!(sent["sent"] == "1 of 1" && sent["to"] == receipt["to"], "{sent}");
    }
    let mut chats: Vec<String> =
        mock.done("/sendMessage")?.iter().map(|request| request["body"]["chat_id"].to_string()).collect();
    chats.sort();
    let chats: Vec<&str> = chats.iter().map(|chat| chat.trim_matches('"')).collect();
    ensure!(chats == ["-1001000000001", "777"], "{chats:?}");
    ensure!(hub.operator()?.arrived("team")?.len() == 1);
    hub.kill()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_press_denies_all_targets_and_one_that_was_cancelled_before_an_approval_is_not_sent() -> Result<()>
{
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("asker").await?;
    let broadcast = |message: &str| -> Result<Vec<Value>> {
        let targets = ["local:ann", "local:team", "local:crew"];
        let call = json!({"action": "broadcast", "targets": targets, "message": message});
        receipts(&agent.post("/v1/messages", &call)?.taken()?)
    };
    let denied = broadcast("Shall we?")?;
    fixture.decide(Verdict::Deny).await?;
    for receipt in &denied {
        agent.ended(text(receipt, "id"), "denied")?;
    }
    let some = broadcast("And now?")?;
    agent.post(&format!("/v1/messages/{}/cancel", text(&some[0], "id")), &json!({}))?.taken()?;
    fixture.decide(Verdict::Approve).await?;
    for receipt in &some[1..] {
        agent.ended(text(receipt, "id"), "sent")?;
    }
    ensure!(agent.message(text(&some[0], "id"))?["state"] == "cancelled");
    let arrived = |to: &str| fixture.operator()?.arrived(to);
    ensure!(arrived("ann")?.is_empty() && arrived("team")?.len() == 1 && arrived("crew")?.len() == 1);
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn more_targets_than_a_card_lists_are_several_cards_and_another_text_is_another_card() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("asker").await?;
    let targets: Vec<String> = (0..MAX_TARGETS + 3).map(|n| format!("local:peer-{n}")).collect();
    let call = json!({"action": "broadcast", "targets": targets, "message": "To all."});
    let all = receipts(&agent.post("/v1/messages", &call)?.taken()?)?;
    let asked = documents(&fixture)?;
    let mut sizes: Vec<usize> =
        asked.iter().map(|document| listed(document).map(|all| all.len())).collect::<Result<_>>()?;
    sizes.sort_unstable();
    ensure!(sizes == [3, MAX_TARGETS], "{sizes:?}");
    // The conversation of the turn is answered without a word of whose it is, and asks nobody.
    let context = fixture.bridge("porch").await?.heard("asker", "peer-0")?;
    let call = json!({"action": "broadcast", "targets": ["local:peer-0", "local:peer-1", "local:peer-2"], "message": "Again.", "context": context});
    let again = receipts(&agent.post("/v1/messages", &call)?.taken()?)?;
    agent.ended(text(&again[0], "id"), "sent")?;
    ensure!(documents(&fixture)?.len() == 3, "{again:?}");
    for _ in 0..3 {
        fixture.decide(Verdict::Approve).await?;
    }
    for receipt in all.iter().chain(&again) {
        agent.ended(text(receipt, "id"), "sent")?;
    }
    fixture.audit_is_whole().await
}
