//! Hooks around a tool: none is run that a hook refuses, whichever interface it comes by, and what was done is not lost by one that
//! fails.
//!
//! Installed by `tests/run --setup-only`: the protocol's client.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{TestHub, client::text, eventually},
    peers::McpClient,
};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[agents.shell]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[voice]
enabled = false

[channels.local.home]
"#;

const PASS: &str = r#"echo "{\"action\": \"pass\"}""#;

fn hook(name: &str, on: &str, more: &str, script: &str) -> String {
    format!("[hooks.{name}]\non = \"{on}\"\n{more}\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n")
}

fn asked(log: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_door_asks_before_a_tool_is_run_and_tells_what_it_answered() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let notes = format!("(cat; echo) >> {}; {PASS}", log.display());
    let hooks = [hook("a", "before_tool_call", "", &notes), hook("b", "tool_result", "", &notes)].concat();
    let mut fixture = TestHub::start(&format!("{CONFIG}{hooks}")).await?;
    let agent = fixture.agent("engineer").await?;
    let context = fixture.bridge("porch").await?.heard("engineer", "ann")?;
    let to_ann = |message: &str| json!({"to": "local:ann", "message": message});
    let sent = agent.send_and_wait(&to_ann("One."))?;
    agent.tool("message", &to_ann("Two."))?;
    agent.tool("send_message", &json!({"platform": "local", "target": "ann", "body": "Three."}))?;
    agent.tool("receipt", &json!({"id": sent["id"]}))?;
    agent.post("/v1/reply", &json!({"context": context, "text": "Four."}))?.taken()?;
    agent.tool("reply", &json!({"context": context, "text": "Five."}))?;
    let cli = fixture.cli(&["send", "--to", "local:ann", "Six."])?;
    ensure!(cli.status == 0, "{}", cli.stderr);
    for (port, mut client) in McpClient::at_both_doors(&agent)? {
        let simple = json!({"platform": "local", "target": "ann", "body": format!("Eight by {port}.")});
        client.step(&json!({"call": "message", "arguments": to_ann(&format!("Seven by {port}."))}))?;
        client.step(&json!({"call": "send_message", "arguments": simple}))?;
    }

    let asked = asked(&log)?;
    let seen: Vec<(&str, &str, &str)> =
        asked.iter().map(|facts| (text(facts, "hook"), text(facts, "agent"), text(facts, "tool"))).collect();
    let mut wanted = Vec::new();
    for (agent, tool) in [
        ("engineer", "message"),
        ("engineer", "message"),
        ("engineer", "send_message"),
        ("engineer", "receipt"),
        ("engineer", "reply"),
        ("engineer", "reply"),
        ("shell", "message"),
        ("engineer", "message"),
        ("engineer", "send_message"),
        ("engineer", "message"),
        ("engineer", "send_message"),
    ] {
        wanted.extend([("before_tool_call", agent, tool), ("tool_result", agent, tool)]);
    }
    ensure!(seen == wanted, "{seen:?}");
    ensure!(asked[0]["arguments"] == to_ann("One.") && asked[0]["id"] == asked[1]["id"], "{:?}", asked[0]);
    ensure!(asked[0]["id"] != asked[2]["id"] && asked[1]["result"]["id"] == sent["id"], "{:?}", asked[1]);
    // A hook is told of the end that the agent is told of.
    for told in asked[15..].iter().step_by(2) {
        ensure!(told["result"]["state"] == "sent" && told["arguments"]["wait"].is_null(), "{told}");
    }
    ensure!(asked[9]["result"]["sent"][0]["id"].is_string(), "{:?}", asked[9]);
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_changes_what_is_asked_for_or_refuses_it_and_nothing_is_done() -> Result<()> {
    let script = r#"
facts=$(cat)
case $facts in
  *please*) echo '{"action": "rewrite", "arguments": {"to": "local:ann", "message": "Changed."}}' ;;
  *wrongly*) echo '{"action": "rewrite", "arguments": {"to": "local:ann", "mesage": "x"}}' ;;
  *never*) echo '{"action": "cancel", "reason": "not today"}' ;;
  *babble*) echo 'yes' ;;
  *break*) exit 3 ;;
  *sleep*) sleep 30 ;;
  *) echo '{"action": "pass"}' ;;
esac"#;
    let hook = hook("h", "before_tool_call", "timeout = \"2s\"\ntools = [\"message\"]", script);
    let mut fixture = TestHub::start(&format!("{CONFIG}{hook}")).await?;
    let agent = fixture.agent("engineer").await?;
    let changed = agent.tool("message", &json!({"to": "local:bob", "message": "Change it, please."}))?;
    ensure!(changed["to"] == "local:ann" && fixture.arrived("ann")? == ["Changed."], "{changed}");
    for (word, status, why) in [
        // What a hook makes of a call is read as strictly as what an agent does.
        ("wrongly", 400, "mesage"),
        ("never", 403, "the hook h refused the call: not today"),
        ("babble", 502, "nothing was done: its answer is not"),
        ("break", 502, "exit status: 3"),
        ("sleep", 502, "did not answer within 2 s"),
    ] {
        for path in ["/v1/messages", "/v1/tools/message"] {
            let refused = agent.post(path, &json!({"to": "local:bob", "message": word}))?;
            ensure!(refused.status == status && refused.body["ok"] != true, "{word} at {path}: {refused:?}");
            ensure!(refused.body.to_string().contains(why), "{word} at {path}: {refused:?}");
        }
    }
    ensure!(agent.queue()?.len() == 1 && fixture.arrived("bob")?.is_empty(), "something was done");
    // It is asked about the tools that it names, and about no other.
    let other = json!({"platform": "local", "target": "bob", "body": "never"});
    ensure!(agent.tool("send_message", &other)?["state"] == "sent");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_is_answered_without_asking_its_hook_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    // It lets a call pass once, and makes another one of it.
    let script = format!(
        r#"
facts=$(cat)
echo "$facts" >> {0}
case $facts in
  *please*) echo '{{"action": "rewrite", "arguments": {{"to": "local:ann", "message": "Changed."}}}}' ;;
  *) echo '{{"action": "cancel", "reason": "not this one"}}' ;;
esac"#,
        log.display()
    );
    let hooks = [
        hook("h", "before_tool_call", "", &script),
        hook("r", "tool_result", "", r#"echo '{"action": "annotate", "note": "Seen."}'"#),
    ];
    let mut fixture = TestHub::start(&format!("{CONFIG}{}", hooks.concat())).await?;
    let agent = fixture.agent("engineer").await?;
    let post = |key: &str, message: &str| {
        let call = json!({"to": "local:bob", "message": message}).to_string();
        agent.raw("POST", "/v1/messages?wait=20", &[("idempotency-key", key)], call.as_bytes())
    };
    let first = post("monday", "Change it, please.")?;
    ensure!(first.status == 200 && first.body["to"] == "local:ann", "{first:?}");
    let again = post("monday", "Change it, please.")?;
    ensure!(again.status == 200 && again.body["id"] == first.body["id"], "{again:?} after {first:?}");
    // What it answers is for the other hooks to see, as it was.
    ensure!(again.body["state"] == "sent" && again.body["notes"] == json!(["Seen."]), "{again:?}");
    ensure!(asked(&log)?.len() == 1, "it was asked about the repetition: {:?}", asked(&log)?);
    // The key stands for what the caller wrote, whatever became of that.
    let other = post("monday", "Changed.")?;
    ensure!(other.status == 409 && asked(&log)?.len() == 1, "{other:?}");
    // Nothing was taken of a call that was refused: made again, it is judged again.
    for asked_so_far in [2, 3] {
        let refused = post("tuesday", "Quietly.")?;
        ensure!(refused.status == 403 && asked(&log)?.len() == asked_so_far, "{refused:?}");
    }
    ensure!(fixture.arrived("ann")? == ["Changed."] && fixture.arrived("bob")?.is_empty());
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_added_to_or_changed_and_a_hook_that_fails_loses_nothing_of_it() -> Result<()> {
    let script = r#"
facts=$(cat)
case $facts in
  *aside*) echo '{"action": "annotate", "note": "Say no more."}' ;;
  *other*) echo '{"action": "rewrite", "result": {"ok": true, "state": "sent", "id": "hidden"}}' ;;
  *break*) exit 3 ;;
  *) echo '{"action": "pass"}' ;;
esac"#;
    let hook = hook("h", "tool_result", "", script);
    let mut fixture = TestHub::start(&format!("{CONFIG}{hook}")).await?;
    let agent = fixture.agent("engineer").await?;
    let say = |path: &str, word: &str| {
        let message = format!("{word} by {path}");
        agent.post(path, &json!({"to": "local:ann", "message": message, "wait": 20}))?.taken()
    };
    for path in ["/v1/messages", "/v1/tools/message"] {
        let noted = say(path, "aside")?;
        ensure!(noted["notes"] == json!(["Say no more."]) && noted["state"] == "sent", "{path}: {noted}");
        let changed = say(path, "other")?;
        ensure!(changed["id"] == "hidden" && changed["to"].is_null(), "{path}: {changed}");
        let failed = say(path, "break")?;
        ensure!(failed["state"] == "sent" && failed["ok"] == true, "{path}: {failed}");
        ensure!(failed["notes"].to_string().contains("the hook h failed"), "{path}: {failed}");
        ensure!(say(path, "plain")?["notes"].is_null());
    }
    ensure!(fixture.arrived("ann")?.len() == 8, "{:?}", fixture.arrived("ann")?);
    for (port, mut client) in McpClient::at_both_doors(&agent)? {
        let mut say = |word: &str| {
            let arguments = json!({"to": "local:ann", "message": format!("{word} by {port}")});
            let answer = client.step(&json!({"call": "message", "arguments": arguments}))?;
            Ok::<_, anyhow::Error>(answer["answer"].clone())
        };
        let noted = say("aside")?;
        ensure!(noted["notes"] == json!(["Say no more."]) && noted["state"] == "sent", "{port}: {noted}");
        // What a hook takes out of an answer stays out of it, however long the message was followed.
        let changed = say("other")?;
        ensure!(changed["id"] == "hidden" && changed["to"].is_null(), "{port}: {changed}");
        ensure!(say("break")?["notes"].to_string().contains("the hook h failed"), "{port}");
        ensure!(say("plain")?["notes"].is_null(), "{port}");
    }
    let simple = json!({"platform": "local", "target": "ann", "body": "aside, simply"});
    let simple = agent.tool("send_message", &simple)?;
    ensure!(simple["notes"] == json!(["Say no more."]) && simple.to_string().len() <= 1024, "{simple}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_after_a_message_is_no_call_of_a_tool_and_no_hook_stands_in_its_way() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let script = format!(
        r#"
facts=$(cat)
echo "$facts" >> {}
case $facts in
  *'"tool":"message"'*) echo '{{"action": "pass"}}' ;;
  *) echo '{{"action": "cancel", "reason": "not this one"}}' ;;
esac"#,
        log.display()
    );
    let asker = "[agents.asker]\nallow = [\"local:*\"]\n[approval]\nallow_software_companion = true\n";
    let hook = hook("h", "before_tool_call", "", &script);
    let mut fixture = TestHub::start(&format!("{CONFIG}{asker}{hook}")).await?;
    let agent = fixture.agent("asker").await?;
    let others = McpClient::at_both_doors(&agent)?;
    for ((port, mut client), (_, mut other)) in McpClient::at_both_doors(&agent)?.into_iter().zip(others) {
        let say = |word: &str, wait: u64| {
            let message = format!("{word} by {port}");
            json!({"call": "message", "arguments": {"to": "local:ann", "message": message, "wait": wait}})
        };
        let begun = Instant::now();
        let held = client.step(&say("May I?", 5))?;
        ensure!(begun.elapsed() >= Duration::from_secs(5), "{port}: it gave up early: {held}");
        ensure!(held["is_error"] == false && held["answer"]["state"] == "held", "{port}: {held}");
        ensure!(held["progress"].as_array().is_some_and(|said| said.len() >= 3), "{port}: {held}");

        let mut own = say("Never mind", 60);
        own["cancel"] = 3.into();
        ensure!(client.step(&own)?["cancelled"] == true);
        eventually("what was given up is taken back", || {
            // The client goes on with what it has begun when it is given something to do.
            let queue = client.step(&json!({"read": "gatepost://queue"}))?;
            let newest = &queue["contents"][0]["messages"][0];
            let gone = newest["state"] == "cancelled" && newest["id"] != held["answer"]["id"];
            Ok(gone.then_some(()))
        })?;
        // Whoever gives up a repetition takes nothing of the first call back.
        let mut repeated = say("May I?", 60);
        repeated["cancel"] = 3.into();
        ensure!(other.step(&repeated)?["cancelled"] == true);
        other.step(&json!({"read": "gatepost://queue"}))?;
        std::thread::sleep(Duration::from_secs(2));
        let first = agent.message(text(&held["answer"], "id"))?;
        ensure!(first["state"] == "held", "{port}: {first}");
        let receipt = json!({"call": "receipt", "arguments": {"id": held["answer"]["id"]}});
        let refused = client.step(&receipt)?;
        ensure!(refused["answer"].to_string().contains("not this one"), "{port}: {refused}");
    }
    let asked = asked(&log)?;
    let tools: Vec<&str> = asked.iter().map(|facts| text(facts, "tool")).collect();
    let each = ["message", "message", "message", "receipt"];
    ensure!(tools == [each, each].concat(), "{tools:?}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_is_a_hook_that_can_be_switched_off() -> Result<()> {
    let hello = |n: u32| json!({"to": "local:ann", "message": format!("Hello {n}.")});
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    ensure!(agent.tool("message", &hello(0))?["guide"].is_string(), "it is there without a section");
    ensure!(agent.tool("message", &hello(1))?["guide"].is_null(), "and said once");
    fixture.stop().await;
    let section = "[hooks.guide]\non = \"tool_result\"\nbuiltin = \"guide\"\n";
    for (more, is_on) in [("", true), ("enabled = false\n", false), ("tools = [\"send_message\"]\n", false)] {
        let mut fixture = TestHub::start(&format!("{CONFIG}{section}{more}")).await?;
        let agent = fixture.agent("engineer").await?;
        ensure!(agent.tool("message", &hello(2))?["guide"].is_string() == is_on, "{more}");
        fixture.stop().await;
    }
    Ok(())
}
