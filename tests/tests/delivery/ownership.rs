//! What is done to a message that is there already is judged by the conversation and thread in which that message is.
//!
//! An agent names the message by the platform's id. Some platforms take that id from anywhere that the account reaches, and
//! none of them knows which topic or thread an agent is bound to; so the hub proves where the message is before it judges.
//!
//! Installed by `tests/run --setup-only`: `emulate`, Discord's schemas.

use std::{sync::Arc, thread};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{
    hub::{
        Client, SpawnedHub,
        client::{id_of, text},
    },
    mocks::{MockServer, bluebubbles},
    peers::{Mock, Slack},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The context of a turn of `engineer` in this conversation.
fn turn(hub: &SpawnedHub, channel: &str, peer: &str, more: Value) -> Result<String> {
    let mut report = json!({"agent": "engineer", "channel": channel, "peer": peer, "text": "And?"});
    report.as_object_mut().context("an object")?.extend(more.as_object().context("an object")?.clone());
    let issued = hub.operator()?.post("/v1/inbound", &report)?.taken()?;
    Ok(text(&issued, "context").to_owned())
}

fn with(call: &Value, more: Value) -> Value {
    let mut call = call.clone();
    call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    call
}

/// Everything that can be done to a message on iMessage.
fn on_imessage(message: &str) -> [Value; 4] {
    [
        json!({"action": "edit", "messageId": message, "message": "Another text."}),
        json!({"action": "delete", "messageId": message}),
        json!({"action": "react", "messageId": message, "emoji": "👍"}),
        json!({"action": "reply", "replyTo": message, "message": "As you said."}),
    ]
}

fn imessage(server: &MockServer, agents: &str) -> Result<(TempDir, SpawnedHub)> {
    let secrets = tempfile::tempdir()?;
    let account = bluebubbles::account(server, secrets.path())?;
    Ok((secrets, SpawnedHub::start(&format!("{agents}{account}"))?))
}

const ANN: &str = "+4915112345679";
const BEN: &str = "+4915112345680";

/// The agent of Ann's conversation may write to her alone; the courier writes to both.
const TWO: &str = "
[agents.engineer]
allow = [\"imessage:+4915112345679\"]
[agents.courier]
allow = [\"imessage:*\"]
cross_context = \"allow\"
decorate = false
";

#[test]
fn a_message_of_another_conversation_is_not_touched_by_its_guid() -> Result<()> {
    // Ben's own, which nobody handed in: the server alone knows where it is.
    let server = bluebubbles::holding(&[(&format!("iMessage;-;{BEN}"), "BENS-1")])?;
    let (_secrets, hub) = imessage(&server, TWO)?;
    let (engineer, courier) = (hub.agent("engineer")?, hub.agent("courier")?);
    let to_ben =
        id_of(&courier.send_and_wait(&json!({"to": format!("imessage:{BEN}"), "message": "Buy."}))?, 0)?;
    let context = turn(&hub, "imessage", ANN, json!({}))?;
    let before = requests(&server);
    for message in [to_ben.as_str(), "BENS-1", "no-such-guid"] {
        for call in on_imessage(message) {
            let call = with(&call, json!({"to": "current", "context": context}));
            let answer = engineer.post("/v1/messages", &call)?;
            ensure!(answer.status >= 400, "it was taken: {call} {}", answer.body);
            ensure!(answer.body["reason"] == "message_elsewhere", "{}", answer.body);
            ensure!(!text(&answer.body, "hint").is_empty(), "{}", answer.body);
            ensure!(!answer.body.to_string().contains(BEN), "it tells whose it is: {}", answer.body);
            let dry = engineer.post("/v1/messages", &with(&call, json!({"dryRun": true})))?;
            ensure!(dry.body["ok"] == false, "a dry run allows it: {}", dry.body);
        }
    }
    ensure!(requests(&server) == before, "something was done: {:?}", requests(&server));
    Ok(())
}

#[test]
fn a_message_of_its_own_conversation_is_touched_without_asking_and_anothers_there_after_asking() -> Result<()>
{
    let chat = format!("iMessage;-;{ANN}");
    let server = bluebubbles::holding(&[(&chat, "ANNS-1"), (&chat, "HEARD-1")])?;
    let (_secrets, hub) = imessage(&server, TWO)?;
    let engineer = hub.agent("engineer")?;
    let context = turn(&hub, "imessage", ANN, json!({"messageId": "HEARD-1"}))?;
    let here = json!({"to": "current", "context": context});
    let own = id_of(&engineer.send_and_wait(&with(&here, json!({"message": "Hello."})))?, 0)?;
    for message in [own.as_str(), "HEARD-1"] {
        for call in on_imessage(message) {
            id_of(&engineer.send_and_wait(&with(&call, here.clone()))?, 0)?;
        }
    }
    ensure!(asked(&server) == 0, "the platform was asked of what the hub knows");
    for call in on_imessage("ANNS-1") {
        id_of(&engineer.send_and_wait(&with(&call, here.clone()))?, 0)?;
    }
    ensure!(asked(&server) > 0, "nobody asked");
    Ok(())
}

/// Requests that do something.
fn requests(server: &MockServer) -> Vec<String> {
    server
        .heard()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.path.clone())
        .collect()
}

/// Questions about one message.
fn asked(server: &MockServer) -> usize {
    let of_one = |path: &str| path.starts_with("/api/v1/message/");
    server.heard().iter().filter(|request| request.method == "GET" && of_one(&request.path)).count()
}

const FORUM: &str = "-1001000000001";

/// Everything that can be done to a message on Telegram and Slack; a removal last.
fn all(message: &str) -> [Value; 6] {
    [
        json!({"action": "edit", "messageId": message, "message": "Another text."}),
        json!({"action": "react", "messageId": message, "emoji": "👍"}),
        json!({"action": "react", "messageId": message, "emoji": "👍", "remove": true}),
        json!({"action": "pin", "messageId": message}),
        json!({"action": "unpin", "messageId": message}),
        json!({"action": "delete", "messageId": message}),
    ]
}

const BOUND: &str = "
[agents.engineer]
allow = [\"telegram:*\", \"slack:*\"]
[agents.courier]
allow = [\"telegram:*\", \"slack:*\"]
cross_context = \"allow\"
decorate = false
";

fn held_with(agent: &Client, call: &Value, words: &str) -> Result<()> {
    let held = agent.send(call)?;
    ensure!(held["state"] == "held", "it is not held: {call} {held}");
    ensure!(held.get("error").is_none() && text(&held, "reason").contains(words), "{held}");
    let shown = agent.message(text(&held, "id"))?;
    let shown = text(&shown["parts"][0], "text");
    ensure!(shown.contains("thread"), "a person is not shown where it is: {shown}");
    Ok(())
}

#[test]
fn a_turn_in_a_topic_touches_messages_of_that_topic_alone() -> Result<()> {
    let (mock, folder) = (Mock::telegram()?, Arc::new(tempfile::tempdir()?));
    let account = mock.account(folder.path(), mock.token())?;
    let hub = SpawnedHub::start(&format!("{BOUND}{account}"))?;
    let (engineer, courier) = (hub.agent("engineer")?, hub.agent("courier")?);
    let there = format!("telegram:{FORUM}");
    let topic = |name: &str| -> Result<String> {
        id_of(&courier.send_and_wait(&json!({"action": "thread", "to": there, "threadName": name}))?, 0)
    };
    let (june, july) = (topic("June")?, topic("July")?);
    let in_topic = |topic: &str| -> Result<String> {
        id_of(&courier.send_and_wait(&json!({"to": there, "threadId": topic, "message": "Here."}))?, 0)
    };
    let (of_june, of_july) = (in_topic(&june)?, in_topic(&july)?);
    let context = turn(&hub, "telegram", FORUM, json!({"threadId": june}))?;
    let here = json!({"to": "current", "context": context});
    let before = mock.heard()?.len();
    for call in all(&of_july) {
        held_with(&engineer, &with(&call, here.clone()), "another thread")?;
    }
    // Nobody can say in which topic a message is that the hub neither sent nor heard.
    held_with(&engineer, &with(&all("4711")[0], here.clone()), "not known")?;
    ensure!(mock.heard()?.len() == before, "something was done");
    for call in all(&of_june) {
        id_of(&engineer.send_and_wait(&with(&call, here.clone()))?, 0)?;
    }
    // Who is bound to the whole chat touches all of it.
    let context = turn(&hub, "telegram", FORUM, json!({}))?;
    let pin = json!({"action": "pin", "messageId": of_july, "to": "current", "context": context});
    id_of(&engineer.send_and_wait(&pin)?, 0)?;
    Ok(())
}

#[test]
fn a_turn_in_a_slack_thread_touches_messages_of_that_thread_alone() -> Result<()> {
    let slack = Slack::start(Slack::SCOPES)?;
    let kitchen = slack.channel("kitchen")?;
    let folder = tempfile::tempdir()?;
    let account = slack.account(folder.path())?;
    let hub = SpawnedHub::start(&format!("{BOUND}{account}"))?;
    let engineer = hub.agent("engineer")?;
    // None of these went through the hub.
    let says = |thread: Option<&str>| -> Result<String> {
        let mut call = json!({"channel": kitchen, "text": "Tea"});
        if let Some(thread) = thread {
            call["thread_ts"] = json!(thread);
        }
        // Slack tells messages apart by their time.
        thread::sleep(std::time::Duration::from_millis(2));
        Ok(text(&slack.call("chat.postMessage", Slack::BOT, &call)?, "ts").to_owned())
    };
    let (june, july) = (says(None)?, says(None)?);
    let (of_june, of_july) = (says(Some(&june))?, says(Some(&july))?);
    let context = turn(&hub, "slack", &kitchen, json!({"threadId": june}))?;
    let here = json!({"to": "current", "context": context});
    for message in [&of_july, &july] {
        for call in all(message) {
            held_with(&engineer, &with(&call, here.clone()), "another thread")?;
        }
    }
    for call in all(&of_june) {
        id_of(&engineer.send_and_wait(&with(&call, here.clone()))?, 0)?;
    }
    // The message that the thread began with is of it.
    let react = json!({"action": "react", "messageId": june, "emoji": "👍"});
    id_of(&engineer.send_and_wait(&with(&react, here))?, 0)?;
    Ok(())
}
