//! A dry run says exactly what would be sent and what the policy makes of it, shows no secret, and sends nothing.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{Client, TestHub, client::text, secret},
    mocks::MockServer,
};
use serde_json::{Value, json};

const AGENTS: &str = r#"
[agents.courier]
allow = ["*"]
cross_context = "allow"
decorate = false

[agents.careful]
allow = ["telegram:5"]
hold = ["telegram:6"]
cross_context = "deny"
attach_urls = ["127.0.0.1"]

[channels.local.home]
"#;

/// In every secret, and in nothing else.
const NEEDLE: &str = "NeedleNeedleNeedle";

/// A channel's account with a secret, and an address on it.
fn channels(folder: &Path, platform: &str) -> Result<(String, Vec<(&'static str, &'static str)>)> {
    let key = |name: &str| secret(folder, name, &format!("{NEEDLE}-{name}"));
    let space = format!("{platform}/v1/spaces/AAAABBBB/messages?key={NEEDLE}&token={NEEDLE}");
    let workflow = format!("{platform}/workflows/1?sig={NEEDLE}");
    let config = [
        format!(
            "[channels.telegram.home]\ntoken = {}\nbase_url = \"{platform}\"",
            secret(folder, "telegram", &format!("123456789:{NEEDLE}{NEEDLE}"))?
        ),
        format!("[channels.discord.home]\ntoken = {}\nbase_url = \"{platform}/api/v10\"", key("discord")?),
        format!("[channels.slack.home]\ntoken = {}\nbase_url = \"{platform}/api\"", key("slack")?),
        format!("[channels.matrix.home]\ntoken = {}\nhomeserver = \"{platform}\"", key("matrix")?),
        format!(
            "[channels.email.home]\nhost = \"127.0.0.1\"\nport = 1\nfrom = \"hub@hub.test\"\nuser = \"hub@hub.test\"\npassword = {}",
            key("email")?
        ),
        format!("[channels.googlechat.home]\nwebhook = {}", secret(folder, "googlechat", &space)?),
        format!("[channels.teams.home]\nwebhook = {}", secret(folder, "teams", &workflow)?),
        format!(
            "[channels.whatsapp.home]\nphone_number_id = \"106540352242922\"\ntoken = {}\ngraph_url = \"{platform}/v24.0\"\napp_secret = {}\nverify_token = {}",
            key("whatsapp")?,
            key("whatsapp-app")?,
            key("whatsapp-verify")?
        ),
        format!("[channels.imessage.home]\nurl = \"{platform}\"\npassword = {}", key("bluebubbles")?),
        format!(
            "[channels.webhook.home]\nurl = \"{platform}/hook\"\nsecret = {}",
            secret(folder, "webhook", &format!("whsec_{NEEDLE}AAAAAAAAAAAAAA"))?
        ),
        format!("[channels.ntfy.home]\nurl = \"{platform}\"\ntoken = {}", key("ntfy")?),
    ];
    let addresses = vec![
        ("telegram", "-1001234567890"),
        ("discord", "1234567890123456789"),
        ("slack", "C012AB3CD"),
        ("matrix", "!abcdef:hub.test"),
        ("email", "ann@hub.test"),
        ("googlechat", "spaces/AAAABBBB"),
        ("teams", "webhook"),
        ("whatsapp", "+4915112345678"),
        ("imessage", "+4915112345678"),
        ("webhook", "kitchen"),
        ("ntfy", "kitchen"),
    ];
    ensure!(config.len() == addresses.len(), "an address for each");
    Ok((config.join("\n"), addresses))
}

fn dry(agent: &Client, call: &Value) -> Result<Value> {
    let mut call = call.clone();
    call["dryRun"] = true.into();
    let said = agent.post("/v1/messages", &call)?;
    ensure!(said.status == 200 && said.body["dry_run"] == true, "{said:?}");
    Ok(said.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_of_every_channel_is_shown_without_its_secret_and_nothing_is_sent() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let platform = MockServer::saying(json!({}))?;
    let (config, addresses) = channels(folder.path(), &platform.url())?;
    let mut fixture = TestHub::start(&format!("{AGENTS}{config}\n")).await?;
    let agent = fixture.agent("courier").await?;
    for (channel, address) in addresses {
        let to = format!("{channel}:{address}");
        let said = dry(&agent, &json!({"to": to, "message": "The **oven** is on."}))?;
        ensure!(said["ok"] == true && said["verdict"] == "allow", "{channel}: {said}");
        let parts = said["parts"].as_array().context("parts")?;
        ensure!(parts.len() == 1 && text(&parts[0], "shown").contains("oven"), "{channel}: {said}");
        ensure!(parts[0]["request"].to_string().contains("oven"), "{channel}: {said}");
        ensure!(!said.to_string().contains(NEEDLE), "{channel} shows its secret: {said}");
    }
    ensure!(agent.queue()?.is_empty(), "something is in the queue");
    // Whose a number on Discord is, only Discord knows: a channel's, or the conversation with a person.
    let whose = |request: &gatepost_tests::mocks::Request| {
        request.method == "GET" && request.path == "/api/v10/channels/1234567890123456789"
    };
    ensure!(platform.heard().iter().all(whose), "a platform was asked: {:?}", platform.heard());
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_policy_refuses_is_shown_with_its_verdict_and_why() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let platform = MockServer::saying(json!({}))?;
    let (config, _) = channels(folder.path(), &platform.url())?;
    let mut fixture = TestHub::start(&format!("{AGENTS}{config}\n")).await?;
    let (careful, ghost) = (fixture.agent("careful").await?, fixture.agent("ghost").await?);
    let says = |agent: &Client, to: &str| dry(agent, &json!({"to": to, "message": "The **oven** is on."}));
    for (agent, to, code, why, hint) in [
        (&careful, "telegram:9", "input_invalid", "is not among this agent's allowed targets", "operator"),
        (&careful, "telegram:5", "forbidden", "its turn is in no conversation", "cross_context"),
        (&ghost, "telegram:5", "input_invalid", "Allowed: (none)", "[agents.ghost]"),
    ] {
        let said = says(agent, to)?;
        ensure!(said["ok"] == false && said["verdict"] == "deny" && said["code"] == code, "{to}: {said}");
        ensure!(text(&said, "reason").contains(why) && text(&said, "hint").contains(hint), "{to}: {said}");
        let part = &said["parts"][0];
        ensure!(text(part, "shown").ends_with("The oven is on."), "{to}: {said}");
        ensure!(text(&part["request"]["body"], "text").contains("<b>oven</b>"), "{to}: {said}");
        ensure!(!said.to_string().contains(NEEDLE), "{to}: {said}");
    }
    let held = says(&careful, "telegram:6")?;
    ensure!(held["ok"] == true && held["verdict"] == "hold" && held["code"].is_null(), "{held}");
    // For what goes nowhere nothing is fetched.
    let url = format!("{}/a.png", platform.url());
    let said = dry(&careful, &json!({"to": "telegram:9", "message": "See.", "attachments": [{"url": url}]}))?;
    ensure!(said["verdict"] == "deny" && said["parts"] == json!([]), "{said}");
    ensure!(platform.heard().is_empty(), "it was fetched: {:?}", platform.heard());
    // One of several that is refused is one that failed.
    let call = json!({"action": "broadcast", "targets": ["telegram:9", "telegram:6"], "message": "Tea?", "dryRun": true});
    let said = careful.post("/v1/messages", &call)?.body;
    ensure!(said["ok"] == false && said["failed"] == 1, "{said}");
    ensure!(said["targets"][0]["verdict"] == "deny" && said["targets"][1]["verdict"] == "hold", "{said}");
    // The shell's exit status says it too.
    let cli = fixture.cli(&["send", "--to", "telegram:5", "--dry-run", "Hello"])?;
    ensure!(cli.status == 1 && cli.stdout.contains("\"verdict\": \"deny\""), "{} {}", cli.stdout, cli.stderr);
    ensure!(careful.queue()?.is_empty() && platform.heard().is_empty());
    fixture.stop().await;
    Ok(())
}
