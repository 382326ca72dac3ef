//! The MCP door, as another stack sees it: the protocol's own client does the main job over HTTP and over stdio.

use std::thread;

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{SpawnedHub, TestHub, client::text, eventually, program},
    peers::McpClient,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:team"]

[approval]
allow_software_companion = true

[channels.local.home]
"#;

fn message(text: &str) -> Value {
    json!({"call": "message", "arguments": {"to": "local:team", "message": text, "wait": 60}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocols_own_client_does_the_main_job_over_http() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("engineer").await?;
    let mut client = McpClient::at(agent.base(), agent.token())?;
    let tools = client.step(&json!({"tools": true}))?;
    let names: Vec<&str> =
        tools["tools"].as_array().context("tools")?.iter().map(|t| text(t, "name")).collect();
    ensure!(names == ["message", "send_message", "reply", "receipt", "cancel", "inbox"], "{names:?}");

    // Held, told so while it waits, approved, and sent before the call is answered.
    let call = thread::spawn(move || (client.step(&message("**Ready** to deploy.")), client));
    house.decide(Verdict::Approve).await?;
    let (sent, mut client) = call.join().expect("the client does not panic");
    let sent = sent?;
    ensure!(sent["is_error"] == false && sent["answer"]["state"] == "sent", "{sent}");
    ensure!(sent["progress"].to_string().contains("held: a person is being asked"), "{sent}");
    ensure!(house.arrived("team")?.concat().contains("Ready to deploy."), "{:?}", house.arrived("team")?);

    let call = thread::spawn(move || (client.step(&message("Anything else?")), client));
    house.decide(Verdict::Deny).await?;
    let (denied, mut client) = call.join().expect("the client does not panic");
    let denied = denied?;
    ensure!(denied["is_error"] == true && denied["answer"]["code"] == "denied", "{denied}");

    // What is cancelled is taken back.
    let mut given_up = message("Never mind.");
    given_up["cancel"] = 3.into();
    let given_up = client.step(&given_up)?;
    ensure!(given_up["cancelled"] == true, "{given_up}");
    eventually("it is taken back", || {
        let queue = client.step(&json!({"read": "gatepost://queue"}))?;
        let newest = queue["contents"][0]["messages"][0].clone();
        Ok((newest["state"] == "cancelled").then_some(()))
    })?;

    let wrong =
        client.step(&json!({"call": "message", "arguments": {"to": "local:bob", "message": "Hi"}}))?;
    ensure!(wrong["is_error"] == true && wrong["answer"]["reason"] == "not_allowed", "{wrong}");
    let guide = client.step(&json!({"read": "gatepost://guide/telegram"}))?;
    ensure!(text(&guide["contents"][0], "guide").contains("4,096"), "{guide}");
    ensure!(
        client.step(&json!({"read": "gatepost://elsewhere"}))?["error"].is_string(),
        "a resource too many"
    );
    drop(client);
    house.stop().await;
    Ok(())
}

#[test]
fn the_same_door_stands_in_a_program_that_agents_start() -> Result<()> {
    let mut hub = SpawnedHub::start(
        "[agents.engineer]\nallow = [\"local:team\"]\ncross_context = \"allow\"\ndecorate = false\n[channels.local.home]\n",
    )?;
    let agent = hub.agent("engineer")?;
    let environment = [("GATEPOST_HUB", agent.base()), ("GATEPOST_TOKEN", agent.token())];
    let mut client = McpClient::starting(program()?, &environment)?;
    let say = |body: &str| json!({"call": "send_message", "arguments": {"platform": "local", "target": "team", "body": body}});
    let sent = client.step(&say("Over stdio."))?;
    ensure!(sent["is_error"] == false && sent["answer"]["state"] == "sent", "{sent}");
    ensure!(sent["answer"].to_string().len() <= 1024, "{sent}");
    hub.terminate()?;
    let nobody = client.step(&say("Anybody there?"))?;
    // The words that agents know.
    ensure!(
        nobody["answer"]["error"] == "Gateway not active — send_message requires gateway mode",
        "{nobody}"
    );
    ensure!(
        nobody["is_error"] == true && text(&nobody["answer"], "hint").contains("gatepost run"),
        "{nobody}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_in_a_browser_and_nobody_without_a_token_gets_in() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("engineer").await?;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    }});
    let hello = hello.to_string();
    let accept = ("accept", "application/json, text/event-stream");
    let knock = |client: &gatepost_tests::hub::Client, more: &[(&str, &str)]| -> Result<u16> {
        let headers: Vec<(&str, &str)> = [accept].iter().chain(more).copied().collect();
        Ok(client.raw("POST", "/mcp", &headers, hello.as_bytes())?.status)
    };
    ensure!(knock(&agent, &[])? == 200, "the agent is not let in");
    ensure!(knock(&house.anybody(None)?, &[])? == 401, "without a token");
    ensure!(knock(&house.anybody(Some("gp_00"))?, &[])? == 401, "with a token of nobody's");
    ensure!(knock(&house.bridge("porch").await?, &[])? == 403, "with a bridge's");
    ensure!(knock(&agent, &[("host", "evil.example")])? == 403, "under another name");
    ensure!(knock(&agent, &[("origin", "https://evil.example")])? == 403, "from a page");
    house.stop().await;
    Ok(())
}
