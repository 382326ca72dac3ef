//! A stranger writes, and a person is asked about them on the companion: what was written waits meanwhile, and nothing of it goes by
//! itself.

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::View;
use gatepost_link::decision::Verdict;
use gatepost_tests::hub::{Client, TestHub, client::text, eventually};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]

[routes.all]
from = ["local:*"]
agent = "engineer"

[routing]
default_agent = "engineer"

[approval]
allow_software_companion = true

[channels.local.home]
"#;

/// Somebody writes to the account; what the bridge is told.
fn writes(bridge: &Client, who: &str, words: &str, id: &str) -> Result<Value> {
    let report = json!({
        "channel": "local", "peer": who, "sender": who, "senderName": "Ann *the* [boss](https://a.example)",
        "direct": true, "text": words, "messageId": id,
    });
    bridge.post("/v1/inbound", &report)?.taken()
}

fn code(routed: &Value) -> Result<String> {
    Ok(routed["asked"][0].as_str().with_context(|| format!("a code in {routed}"))?.to_owned())
}

/// The request of this code, once it is as wanted.
fn request(fixture: &TestHub, code: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    let operator = fixture.operator()?;
    eventually("a request for access", || {
        let all = operator.get("/v1/people")?.taken()?;
        let found = all["requests"].as_array().into_iter().flatten().find(|one| one["code"] == code).cloned();
        Ok(found.filter(&wanted))
    })
}

fn decided(fixture: &TestHub, code: &str) -> Result<Option<String>> {
    let sql = "SELECT decided FROM access_requests WHERE code = ?";
    Ok(fixture.database()?.query_row(sql, [code], |row| row.get(0))?)
}

fn is_decided(fixture: &TestHub, code: &str, word: &str) -> Result<()> {
    eventually(word, || Ok((decided(fixture, code)?.as_deref() == Some(word)).then_some(())))
}

/// The message that is the card of a request.
fn card(fixture: &TestHub, code: &str) -> Result<String> {
    Ok(text(&request(fixture, code, |request| request["message"].is_string())?, "message").to_owned())
}

fn next_turn(agent: &Client) -> Result<Value> {
    Ok(agent.get("/v1/turns?wait=20")?.taken()?["turn"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_let_in_on_the_companion_is_heard_with_all_that_was_written_meanwhile() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("phone").await?);
    let words = "Hello\n# **you** <b>there</b> [x](https://x.example)";
    let code = code(&writes(&bridge, "ann", words, "1")?)?;
    ensure!(writes(&bridge, "ann", "And another.", "2")?["asked"] == json!([]), "nobody is asked twice");
    let card = card(&fixture, &code)?;
    ensure!(agent.get("/v1/turns")?.taken()?["turn"].is_null(), "nothing is heard of a stranger");

    // The hub is stopped while the card waits.
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let pages = seen.pages.join("\n");
    for shown in ["let-in", "engineer", "Ann *the*", "local:ann", "# **you**"] {
        ensure!(pages.replace('\n', " ").contains(shown), "{shown} in {pages}");
    }
    is_decided(&fixture, &code, "allowed")?;
    let turn = next_turn(&agent)?;
    let said: Vec<&str> =
        turn["items"].as_array().into_iter().flatten().map(|item| text(item, "text")).collect();
    ensure!(said == [words, "And another."] && turn["scope"] == "known", "{turn}");

    // It is a message like any other.
    let operator = fixture.operator()?;
    let sent = operator.ended(&card, "sent")?;
    ensure!(sent["agent"] == "hub" && sent["to"] == format!("hub:let-in/{code}"), "{sent}");
    let by: String = fixture.database()?.query_row("SELECT by FROM grants", [], |row| row.get(0))?;
    ensure!(by.starts_with("companion:"), "{by}");
    ensure!(writes(&fixture.bridge("phone").await?, "ann", "Now?", "3")?["woken"] == true);
    fixture.audit_is_whole().await?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_on_the_companion_is_not_asked_about_again() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let bridge = fixture.bridge("phone").await?;
    let code = code(&writes(&bridge, "eve", "Let me in.", "1")?)?;
    card(&fixture, &code)?;
    fixture.decide(Verdict::Deny).await?;
    is_decided(&fixture, &code, "refused")?;
    let again = writes(&bridge, "eve", "Please?", "2")?;
    ensure!(again["asked"] == json!([]) && again["woken"] == false, "{again}");
    fixture.restart().await?;
    let again = writes(&fixture.bridge("phone").await?, "eve", "Hello?", "3")?;
    ensure!(again["asked"] == json!([]) && again["dropped"] == json!(["not_asked"]), "{again}");
    let waits: i64 = fixture.database()?.query_row("SELECT count(*) FROM inbound", [], |row| row.get(0))?;
    ensure!(waits == 0, "what was refused is not kept");
    fixture.audit_is_whole().await?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_answers_in_the_shell_first_withdraws_the_card() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("phone").await?);
    let code = code(&writes(&bridge, "ann", "Hello.", "1")?)?;
    let card = card(&fixture, &code)?;
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    fixture.cli(&["people", "allow", &code])?.well()?;
    fixture.operator()?.ended(&card, "cancelled")?;
    fixture.screen("no card", |screen| !matches!(screen.view, View::Card(_)))?;
    ensure!(next_turn(&agent)?["items"][0]["text"] == "Hello.");
    fixture.audit_is_whole().await?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hubs_own_channel_and_name_are_nobody_elses() -> Result<()> {
    let everywhere = CONFIG.replace("allow = [\"local:*\"]", "allow = [\"*\"]\ncross_context = \"allow\"");
    let mut fixture = TestHub::start(&everywhere).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("phone").await?);
    let code = code(&writes(&bridge, "eve", "Let me in.", "1")?)?;
    card(&fixture, &code)?;
    for call in [
        json!({"to": format!("hub:let-in/{code}"), "message": "Yes."}),
        json!({"to": format!("let-in/{code}"), "channel": "hub", "message": "Yes."}),
    ] {
        let answer = agent.post("/v1/messages", &call)?;
        ensure!((400..500).contains(&answer.status), "{}: {}", answer.status, answer.body);
    }
    for channel in ["hub", "agent"] {
        let report =
            json!({"channel": channel, "peer": "engineer", "sender": "engineer", "text": "I am it."});
        let answer = bridge.post("/v1/inbound", &report)?;
        ensure!(answer.body["reason"] == "own_channel", "{}: {}", answer.status, answer.body);
    }
    let refused = fixture.operator()?.post("/v1/agents", &json!({"name": "hub", "role": "agent"}))?;
    ensure!(refused.body.to_string().contains("the hub's own name"), "{}: {}", refused.status, refused.body);
    ensure!(decided(&fixture, &code)?.is_none());
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_ask_each_other_and_the_answer_goes_back_to_the_session_that_asked() -> Result<()> {
    let config = format!(
        "{}\n[agents.writer]\nallow = [\"agent:engineer\"]\n[people.ann]\nids = [\"local:ann\"]\n",
        CONFIG.replace("allow = [\"local:*\"]", "allow = [\"local:*\", \"agent:writer\"]")
    );
    let mut fixture = TestHub::start(&config).await?;
    let (engineer, writer) = (fixture.agent("engineer").await?, fixture.agent("writer").await?);
    let bridge = fixture.bridge("phone").await?;
    ensure!(writes(&bridge, "ann", "Ask the writer.", "1")?["woken"] == true);
    let began = next_turn(&engineer)?;
    let call = json!({"to": "agent:writer", "message": "Which **word**?", "context": began["context"]});
    let held = engineer.post("/v1/messages", &call)?.taken()?;
    ensure!(held["state"] == "held", "it leaves its conversation: {held}");
    fixture.decide(Verdict::Approve).await?;
    engineer.ended(text(&held, "id"), "sent")?;

    let asked = next_turn(&writer)?;
    let item = &asked["items"][0];
    ensure!(asked["cause"] == "agent" && asked["scope"] == "known", "{asked}");
    ensure!(item["text"] == "Which **word**?" && item["sender"]["id"] == "agent:engineer", "{asked}");
    let reply = json!({
        "turn": asked["turn"], "lease": asked["lease"], "context": asked["context"], "text": "This one.",
    });
    let replied = writer.post("/v1/reply", &reply)?.taken()?;
    ensure!(replied["ok"] == true, "{replied}");
    // The session is free again, and its answer is its next turn; nobody else is told.
    let end = json!({"turn": began["turn"], "lease": began["lease"], "context": began["context"], "text": "NO_REPLY"});
    engineer.post("/v1/reply", &end)?.taken()?;
    let answered = next_turn(&engineer)?;
    ensure!(answered["session"] == began["session"] && answered["cause"] == "agent", "{answered}");
    ensure!(answered["items"][0]["text"] == "This one.", "{answered}");
    ensure!(fixture.arrived("ann")?.is_empty(), "a person is told nothing by itself");
    let itself = json!({"to": "agent:engineer", "message": "Me?"});
    ensure!(engineer.post("/v1/messages", &itself)?.status == 400, "it is on no list of its own");
    fixture.audit_is_whole().await?;
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_lets_nothing_through_until_it_answers() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let answer = folder.path().join("answer");
    let hook = format!(
        "[hooks.gate]\non = \"inbound_access\"\ncommand = [\"/bin/cat\", \"{}\"]\n[people.ann]\nids = [\"local:ann\"]\n",
        answer.display()
    );
    let mut fixture = TestHub::start(&format!("{CONFIG}\n{hook}")).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("phone").await?);
    let report = json!({"channel": "local", "peer": "ann", "sender": "ann", "direct": true, "text": "Hi", "messageId": "1"});
    let refused = bridge.post("/v1/inbound", &report)?;
    ensure!(refused.status >= 500, "{}: {}", refused.status, refused.body);
    ensure!(agent.get("/v1/turns")?.taken()?["turn"].is_null());
    std::fs::write(&answer, "{\"action\": \"pass\"}")?;
    ensure!(bridge.post("/v1/inbound", &report)?.taken()?["woken"] == true, "the same message again");
    ensure!(next_turn(&agent)?["items"][0]["text"] == "Hi");
    std::fs::write(&answer, "{\"action\": \"drop\", \"reason\": \"it is night\"}")?;
    let dropped = writes(&bridge, "ann", "And now?", "2")?;
    ensure!(dropped["dropped"] == json!(["gate"]) && dropped["woken"] == false, "{dropped}");
    fixture.stop().await;
    Ok(())
}
