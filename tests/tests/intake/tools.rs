//! The tools that agents hold: described for who asks, the same message once, a receipt for every target, names, and how
//! much an agent may hand in.
//!
//! Installed by `tests/run --setup-only`: the protocol's client.

use anyhow::{Context as _, Result, ensure};
use gatepost_link::{decision::Verdict, document::Document};
use gatepost_tests::{
    hub::{Client, TestHub, client::text, secret},
    peers::McpClient,
};
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

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_described_for_who_asks() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let tools = |agent: &Client| -> Result<Vec<Value>> {
        let answer = agent.get("/v1/tools")?.taken()?;
        Ok(answer["tools"].as_array().context("tools")?.clone())
    };
    let engineer = tools(&fixture.agent("engineer").await?)?;
    let names: Vec<&str> = engineer.iter().map(|tool| text(tool, "name")).collect();
    ensure!(names == crate::TOOLS, "{names:?}");
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
    let mute = tools(&fixture.agent("mute").await?)?;
    ensure!(text(&mute[0], "description").contains("No target is allowed to you"), "{mute:?}");
    ensure!(mute[0]["inputSchema"]["properties"]["action"].is_null(), "{mute:?}");
    // Who may write nowhere has no turns to hand in, and nobody writes to the shell.
    for other in [mute, tools(&fixture.operator()?)?] {
        ensure!(!other.iter().any(|tool| tool["name"] == "reply"), "{other:?}");
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_message_again_is_answered_with_the_first_receipt_and_says_so() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let say = json!({"platform": "local", "target": "ann", "body": "**Green**"});
    let first = agent.tool("send_message", &say)?;
    ensure!(first["ok"] == true && first["state"] == "sent" && first["deduplicated"].is_null(), "{first}");
    ensure!(
        text(&first, "guide").contains("Markdown"),
        "the first use of a channel brings its guide: {first}"
    );
    let again = agent.tool("send_message", &say)?;
    ensure!(again["id"] == first["id"] && again["deduplicated"] == true, "{again}");
    ensure!(again["guide"].is_null(), "a guide is given once: {again}");
    ensure!(fixture.arrived("ann")?.len() == 1, "it was sent twice");
    // Another thread, another word or a name of its own for the call is another message.
    let other = agent.tool("message", &json!({"to": "local:ann", "message": "**Green** again"}))?;
    ensure!(other["id"] != first["id"], "{other}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_given_a_channels_guide_once_in_whichever_turn() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("porch").await?);
    let turn = |session: &str, message: &str| -> Result<Value> {
        let report = json!({"agent": "engineer", "channel": "local", "peer": "ann", "session": session, "text": "And?"});
        let context = bridge.post("/v1/inbound", &report)?.taken()?["context"].clone();
        agent.tool("message", &json!({"to": "current", "context": context, "message": message}))
    };
    ensure!(turn("s1", "One.")?["guide"].is_string(), "the first use in a session");
    ensure!(turn("s1", "Two.")?["guide"].is_null(), "another turn of the same session");
    ensure!(turn("s2", "Three.")?["guide"].is_string(), "another session");
    // It is there before the first message, by the tool and in the description of a turn; the turn's results need no second one.
    let asked = agent.tool("guide", &json!({"channel": "local"}))?;
    ensure!(
        text(&asked, "guide").contains("Markdown") && text(&asked, "guide").contains("`voice`"),
        "{asked}"
    );
    let report =
        json!({"agent": "engineer", "channel": "local", "peer": "ann", "session": "s3", "text": "And?"});
    let context = bridge.post("/v1/inbound", &report)?.taken()?["context"].clone();
    let described =
        agent.get(&format!("/v1/tools?context={}", context.as_str().context("context")?))?.taken()?;
    let description = text(&described["tools"][0], "description");
    let guide = text(&asked, "guide").trim_end();
    ensure!(description.contains(&format!("How to write there:\n{guide}")), "{description}");
    ensure!(description.contains("call `guide`, or read gatepost://guide/CHANNEL"), "{description}");
    ensure!(turn("s3", "Four.")?["guide"].is_null(), "it came with the description");
    let nowhere = agent.post("/v1/tools/guide", &json!({"channel": "pigeon"}))?;
    ensure!(nowhere.status == 404 && text(&nowhere.body, "hint").contains("telegram"), "{nowhere:?}");
    // The same for a call of several targets, and for callers that name their session themselves.
    let tea = |session: &str, n: u32| -> Result<Value> {
        let tea = json!({"action": "broadcast", "targets": ["local:ann", "local:team"], "message": format!("Tea {n}?")});
        let headers = [("gatepost-session", session), ("content-type", "application/json")];
        agent.raw("POST", "/v1/tools/message", &headers, tea.to_string().as_bytes())?.taken()
    };
    ensure!(tea("a", 1)?["guide"].is_string() && tea("a", 2)?["guide"].is_null());
    ensure!(tea("b", 3)?["guide"].is_string(), "another session");
    let nameless = agent.raw("POST", "/v1/tools/inbox", &[("gatepost-session", "")], b"{}")?;
    ensure!(nameless.status == 400 && nameless.body["reason"] == "session", "{nameless:?}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_simple_tool_does_one_thing_and_answers_within_its_bound() -> Result<()> {
    let targets: Vec<String> = (0..90).map(|n| format!("\"telegram:-100{n:010}\"")).collect();
    let many = format!("[agents.many]\nallow = [\"local:ann\", {}]\n", targets.join(", "));
    let mut fixture = TestHub::start(&format!("{CONFIG}{many}")).await?;
    let (agent, many) = (fixture.agent("engineer").await?, fixture.agent("many").await?);
    let post = |arguments: &Value| agent.post("/v1/tools/send_message", arguments);
    let whole = json!({"platform": "local", "target": "ann", "body": "Hi"});
    // Whatever else `message` can do is not to be had by this way round its hooks.
    for (name, value) in [("action", json!("delete")), ("messageId", json!("5")), ("dryRun", json!(true))] {
        let mut more = whole.clone();
        more[name] = value;
        let refused = post(&more)?;
        ensure!(refused.status == 400 && refused.body["reason"] == "unknown_parameter", "{refused:?}");
        ensure!(text(&refused.body, "hint").contains("call message"), "{refused:?}");
    }
    ensure!(agent.queue()?.is_empty(), "something was done");
    let empty = post(&json!({"platform": "local", "target": "ann"}))?;
    ensure!(empty.body["error"] == "platform, target, and body are required", "{empty:?}");
    ensure!(empty.body["hint"] == "body is missing or empty", "{empty:?}");

    let mut refusals = vec![
        many.post("/v1/tools/send_message", &json!({"platform": "local", "target": "bob", "body": "Hi"}))?
            .body,
    ];
    for (_, mut client) in McpClient::at_both_doors(&many)? {
        let call = json!({"call": "send_message", "arguments": {"platform": "local", "target": "bob", "body": "Hi"}});
        refusals.push(client.step(&call)?["answer"].clone());
    }
    for refusal in refusals {
        ensure!(
            refusal.to_string().chars().count() <= 1024,
            "{} characters: {refusal}",
            refusal.to_string().len()
        );
        // The words that agents know, and how many of the list are left out.
        let error = text(&refusal, "error");
        let words = "Target \"local:bob\" is not in the personality's allowed messaging targets. Allowed: local:ann, ";
        ensure!(error.starts_with(words) && error.ends_with(" more") && error.contains(" … and "), "{error}");
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broadcast_has_a_receipt_for_each_target_and_tells_what_failed() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let broadcast = json!({"action": "broadcast", "targets": ["local:ann", "local:bob", "colleagues"], "message": "Tea?"});
    let told = agent.tool("message", &broadcast)?;
    ensure!(told["ok"] == false && told["failed"] == 1, "{told}");
    let targets = told["targets"].as_array().context("targets")?;
    ensure!(targets[0]["state"] == "sent" && targets[2]["state"] == "sent", "{told}");
    ensure!(targets[1]["reason"] == "not_allowed" && targets[1]["to"] == "local:bob", "{told}");
    ensure!(fixture.arrived("ann")?.len() == 1 && fixture.arrived("team")?.len() == 1, "{told}");
    let dry = json!({"action": "broadcast", "targets": ["local:ann"], "message": "Tea?", "dryRun": true});
    let dry = agent.tool("message", &dry)?;
    ensure!(dry["targets"][0]["verdict"] == "allow" && fixture.arrived("ann")?.len() == 1, "{dry}");
    let asker = fixture.agent("asker").await?;
    let waiting = json!({
        "action": "broadcast", "targets": ["colleagues", "local:bob"], "message": "Or coffee?", "wait": 1,
    });
    let first = asker.tool("message", &waiting)?;
    ensure!(
        first["targets"][0]["state"] == "held" && first["targets"][0]["deduplicated"].is_null(),
        "{first}"
    );
    let again = asker.tool("message", &waiting)?;
    for n in [0, 1] {
        let (first, again) = (&first["targets"][n], &again["targets"][n]);
        ensure!(again["id"] == first["id"] && again["deduplicated"] == true, "also after a wait: {again}");
    }
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_an_account_of_its_own_writes_from_no_other() -> Result<()> {
    let own = CONFIG.replace("decorate = false\n", "decorate = false\naccounts = { local = \"home\" }\n");
    let mut fixture = TestHub::start(&(own + "\n[channels.local.work]\n")).await?;
    let agent = fixture.agent("engineer").await?;
    let from = |account: &str| {
        let say = json!({"to": "local:ann", "accountId": account, "message": format!("From {account}.")});
        agent.post("/v1/tools/message", &say)
    };
    let refused = from("work")?;
    ensure!(refused.status == 403 && refused.body["reason"] == "not_its_account", "{refused:?}");
    let sent = from("home")?.taken()?;
    ensure!(sent["state"] == "sent" && fixture.arrived("ann")?.len() == 1, "{sent}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_runs_an_agent_can_ask_whether_its_channels_are_ready() -> Result<()> {
    let nobody = format!("http://127.0.0.1:{}", gatepost_tests::peers::free_port()?);
    let signal = format!("[channels.signal.home]\nurl = \"{nobody}\"\naccount = \"+4915112345678\"\n");
    let mut fixture = TestHub::start(&format!("{CONFIG}{signal}")).await?;
    let ready = |asks: &Client| asks.get("/v1/channels")?.taken();
    let engineer = ready(&fixture.agent("engineer").await?)?;
    let local = json!([{"channel": "local", "account": "home", "mode": "direct", "ready": true, "said": engineer["channels"][0]["said"],
        "limits": "text of any length, files of any size", "receives": false}]);
    ensure!(engineer == json!({"ok": true, "channels": local}), "it may write nowhere else: {engineer}");
    let all = ready(&fixture.operator()?)?;
    let signal = &all["channels"][1];
    ensure!(all["ok"] == false && signal["channel"] == "signal" && signal["ready"] == false, "{all}");
    ensure!(signal["mode"] == "gateway" && text(signal, "said").contains("a program in between"), "{all}");
    ensure!(text(signal, "said").contains("signal-cli"), "whoever set it up knows what to do: {all}");
    ensure!(ready(&fixture.agent("mute").await?)? == json!({"ok": true, "channels": []}));
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_approves_sees_the_name_and_the_target_behind_it() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("asker").await?;
    let held = agent.tool("message", &json!({"to": "colleagues", "message": "Tea?", "wait": 0}))?;
    ensure!(held["ok"] == true && held["state"] == "held" && held["to"] == "local:team", "{held}");
    let stored: Vec<u8> =
        fixture.database()?.query_row("SELECT document FROM approvals", [], |row| row.get(0))?;
    let document = Document::decode(&stored).context("the document")?;
    ensure!((document.known_as, document.address) == (Some("colleagues"), "team"), "{document:?}");
    fixture.decide(Verdict::Approve).await?;
    let sent = agent.tool("receipt", &json!({"id": held["id"], "wait": 20}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let inbox = agent.tool("inbox", &json!({}))?;
    let told = &inbox["notices"][0]["receipt"];
    ensure!(
        told["id"] == held["id"] && told["state"] == "sent",
        "whoever heard \"held\" hears the end: {inbox}"
    );
    let gone = agent.tool("message", &json!({"to": "colleagues", "message": "Or coffee?", "wait": 0}))?;
    let cancelled = agent.tool("cancel", &json!({"id": gone["id"]}))?;
    ensure!(cancelled["state"] == "cancelled", "{cancelled}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hands_in_too_much_is_told_to_wait() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("hasty").await?;
    let say = |n: u32| json!({"to": "local:ann", "message": format!("{n}"), "wait": 0});
    for n in 0..3 {
        agent.tool("message", &say(n))?;
    }
    let refused = agent.post("/v1/tools/message", &say(3))?;
    ensure!(refused.status == 429 && refused.body["reason"] == "agent_rate", "{refused:?}");
    ensure!(text(&refused.body, "hint").contains("wait"), "{refused:?}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_context_says_how_the_results_of_tools_are_written_there() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let token = secret(folder.path(), "token", "a-token")?;
    let discord = format!("[channels.discord.home]\ntoken = {token}\n");
    let mut fixture = TestHub::start(&format!("{CONFIG}{discord}")).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("porch").await?);
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
    fixture.stop().await;
    Ok(())
}
