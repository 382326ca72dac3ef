//! The tools that agents hold: described for who asks, the same message once, a receipt for every target, names, and how
//! much an agent may hand in.

use anyhow::{Context as _, Result, ensure};
use gatepost_link::{decision::Verdict, document::Document};
use gatepost_tests::hub::{Client, TestHub, client::text};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:team", "local:ann"]
cross_context = "allow"
decorate = false

[agents.asker]
allow = ["local:*"]

[agents.hasty]
allow = ["local:*"]
cross_context = "allow"
per_minute = 3

[agents.mute]
allow = []

[book]
colleagues = "local:team"

[approval]
allow_software_companion = true

[channels.local.home]
"#;

fn call(agent: &Client, tool: &str, arguments: &Value) -> Result<Value> {
    agent.post(&format!("/v1/tools/{tool}"), arguments)?.taken()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_described_for_who_asks() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let tools = |agent: &Client| -> Result<Vec<Value>> {
        let answer = agent.get("/v1/tools")?.taken()?;
        Ok(answer["tools"].as_array().context("tools")?.clone())
    };
    let engineer = tools(&house.agent("engineer").await?)?;
    let names: Vec<&str> = engineer.iter().map(|tool| text(tool, "name")).collect();
    ensure!(names == ["message", "send_message", "reply", "receipt", "cancel", "inbox"], "{names:?}");
    let message = &engineer[0];
    let description = text(message, "description");
    ensure!(description.contains("You may write to: local:team, local:ann."), "{description}");
    ensure!(description.contains("local supports: send, broadcast, reply"), "{description}");
    let parameters = &message["inputSchema"]["properties"];
    ensure!(parameters["channel"]["enum"] == json!(["local"]), "{parameters}");
    // The hub's own inbox has no polls, cards and effects.
    for absent in ["pollQuestion", "card", "buttons", "effect", "userId", "accountId"] {
        ensure!(parameters[absent].is_null(), "{absent}: {parameters}");
    }
    let mute = tools(&house.agent("mute").await?)?;
    ensure!(text(&mute[0], "description").contains("No target is allowed to you"), "{mute:?}");
    ensure!(mute[0]["inputSchema"]["properties"]["action"].is_null(), "{mute:?}");
    // Who may write nowhere has no turns to hand in, and nobody writes to the shell.
    for other in [mute, tools(&house.operator()?)?] {
        ensure!(!other.iter().any(|tool| tool["name"] == "reply"), "{other:?}");
    }
    house.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_message_again_is_answered_with_the_first_receipt_and_says_so() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("engineer").await?;
    let say = json!({"platform": "local", "target": "ann", "body": "**Green**"});
    let first = call(&agent, "send_message", &say)?;
    ensure!(first["ok"] == true && first["state"] == "sent" && first["deduplicated"].is_null(), "{first}");
    ensure!(
        text(&first, "guide").contains("Markdown"),
        "the first use of a channel brings its guide: {first}"
    );
    let again = call(&agent, "send_message", &say)?;
    ensure!(again["id"] == first["id"] && again["deduplicated"] == true, "{again}");
    ensure!(again["guide"].is_null(), "a guide is given once: {again}");
    ensure!(house.arrived("ann")?.len() == 1, "it was sent twice");
    // Another thread, another word or a name of its own for the call is another message.
    let other = call(&agent, "message", &json!({"to": "local:ann", "message": "**Green** again"}))?;
    ensure!(other["id"] != first["id"], "{other}");
    house.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broadcast_has_a_receipt_for_each_target_and_tells_what_failed() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("engineer").await?;
    let broadcast = json!({"action": "broadcast", "targets": ["local:ann", "local:bob", "colleagues"], "message": "Tea?"});
    let told = call(&agent, "message", &broadcast)?;
    ensure!(told["ok"] == false && told["failed"] == 1, "{told}");
    let targets = told["targets"].as_array().context("targets")?;
    ensure!(targets[0]["state"] == "sent" && targets[2]["state"] == "sent", "{told}");
    ensure!(targets[1]["reason"] == "not_allowed" && targets[1]["to"] == "local:bob", "{told}");
    ensure!(house.arrived("ann")?.len() == 1 && house.arrived("team")?.len() == 1, "{told}");
    let dry = json!({"action": "broadcast", "targets": ["local:ann"], "message": "Tea?", "dryRun": true});
    let dry = call(&agent, "message", &dry)?;
    ensure!(dry["verdict"] == "allow" && house.arrived("ann")?.len() == 1, "{dry}");
    house.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_approves_sees_the_name_and_the_target_behind_it() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("asker").await?;
    let held = call(&agent, "message", &json!({"to": "colleagues", "message": "Tea?", "wait": 0}))?;
    ensure!(held["ok"] == true && held["state"] == "held" && held["to"] == "local:team", "{held}");
    let stored: Vec<u8> =
        house.database()?.query_row("SELECT document FROM approvals", [], |row| row.get(0))?;
    let document = Document::decode(&stored).context("the document")?;
    ensure!((document.known_as, document.address) == (Some("colleagues"), "team"), "{document:?}");
    house.decide(Verdict::Approve).await?;
    let sent = call(&agent, "receipt", &json!({"id": held["id"], "wait": 20}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let gone = call(&agent, "message", &json!({"to": "colleagues", "message": "Or coffee?", "wait": 0}))?;
    let cancelled = call(&agent, "cancel", &json!({"id": gone["id"]}))?;
    ensure!(cancelled["state"] == "cancelled", "{cancelled}");
    house.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hands_in_too_much_is_told_to_wait() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("hasty").await?;
    let say = |n: u32| json!({"to": "local:ann", "message": format!("{n}"), "wait": 0});
    for n in 0..3 {
        call(&agent, "message", &say(n))?;
    }
    let refused = agent.post("/v1/tools/message", &say(3))?;
    ensure!(refused.status == 429 && refused.body["reason"] == "agent_rate", "{refused:?}");
    ensure!(text(&refused.body, "hint").contains("wait"), "{refused:?}");
    house.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_context_says_how_the_results_of_tools_are_written_there() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = folder.path().join("token");
    std::fs::write(&token, "a-token")?;
    let discord = format!("[channels.discord.home]\ntoken = \"file:{}\"\n", token.display());
    let mut house = TestHub::start(&format!("{CONFIG}{discord}")).await?;
    let (agent, bridge) = (house.agent("engineer").await?, house.bridge("porch").await?);
    for (channel, peer, format) in [("local", "ann", "plain"), ("discord", "1234567890123456789", "markdown")]
    {
        let report = json!({"agent": "engineer", "channel": channel, "peer": peer, "text": "Hello?"});
        let issued = bridge.post("/v1/inbound", &report)?.taken()?;
        ensure!(issued["tool_result_format"] == format, "{channel}: {issued}");
        let described = agent.get(&format!("/v1/tools?context={}", text(&issued, "context")))?.taken()?;
        ensure!(described["tool_result_format"] == format, "{channel}: {described}");
    }
    let nowhere = agent.get("/v1/tools")?.taken()?;
    ensure!(nowhere["tool_result_format"].is_null(), "there is no conversation: {nowhere}");
    house.stop().await;
    Ok(())
}
