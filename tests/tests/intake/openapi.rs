//! The HTTP interface is as `/openapi.json` says: somebody else's program reads it and makes up calls of its own.
//!
//! Installed by `tests/run --setup-only`: schemathesis.

use std::{path::Path, time::Instant};

use anyhow::{Context as _, Result, ensure};
use gatepost::message::schema::Message;
use gatepost_tests::{
    hub::{TestHub, client::text, secret},
    mocks::MockServer,
    peers::schemathesis,
};
use serde_json::{Value, json};

/// Nothing is held, so that nothing is waited for.
const CONFIG: &str = r#"
[agents.engineer]
allow = ["*"]
cross_context = "allow"
decorate = false
per_minute = 0

[agents.shell]
allow = ["*"]
cross_context = "allow"
decorate = false
per_minute = 0

[approval]
allow_software_companion = true

[channels.local.home]
"#;

/// Channels that can more than the hub's own, at a platform that agrees to everything.
fn channels(folder: &Path, platform: &MockServer) -> Result<String> {
    let at = platform.url();
    let bot = secret(folder, "telegram", "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")?;
    let any = secret(folder, "any", "a-token-of-no-one")?;
    let signing = secret(folder, "signing", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")?;
    Ok(format!(
        "[channels.telegram.home]\ntoken = {bot}\nbase_url = \"{at}\"\n\
         [channels.discord.home]\ntoken = {any}\nbase_url = \"{at}\"\n\
         [channels.slack.home]\ntoken = {any}\nbase_url = \"{at}\"\n\
         [channels.webhook.home]\nurl = \"{at}\"\nsecret = {signing}\n\
         [channels.ntfy.home]\nurl = \"{at}\"\n"
    ))
}

const CONVERSATIONS: [&str; 6] = [
    "local:team",
    "telegram:-1001234567890",
    "discord:1234567890123456789",
    "slack:C012AB3CD",
    "webhook:kitchen",
    "ntfy:kitchen",
];

/// Every action in every conversation, as examples to begin with: of calls that are made up nearly all contradict themselves,
/// or name nobody, and nothing behind the interface is seen of them. Nobody waits for their ends: platforms have their pace.
fn calls() -> Vec<Value> {
    let mut calls = Vec::new();
    for to in CONVERSATIONS {
        let id = if to.starts_with("slack") { "1503435956.000247" } else { "42" };
        let file = json!([{"base64": "aGVsbG8=", "name": "log.txt", "caption": "**The** log"}]);
        let buttons =
            json!([[{"text": "Yes", "callback_data": "y"}, {"text": "See", "url": "https://hub.test/"}]]);
        for (action, more) in [
            ("send", json!({"message": "# Tea\n\n| a | b |\n|---|---|\n| 1 | 2 |", "silent": true})),
            ("send", json!({"message": "Tea?", "buttons": buttons})),
            ("send", json!({"message": "Tea?", "attachments": file, "bestEffort": true})),
            ("reply", json!({"message": "Yes.", "replyToId": id})),
            ("thread-reply", json!({"message": "Yes.", "threadId": id})),
            ("thread", json!({"threadName": "Tea", "message": "About tea."})),
            ("react", json!({"messageId": id, "emoji": "👍"})),
            ("react", json!({"messageId": id, "emoji": "👍", "remove": true})),
            ("poll", json!({"pollQuestion": "Tea?", "pollOption": ["Yes", "No"], "pollMulti": true})),
            ("edit", json!({"messageId": id, "message": "Coffee."})),
            ("delete", json!({"messageId": id})),
            ("pin", json!({"messageId": id})),
            ("unpin", json!({"messageId": id})),
            ("timeout", json!({"userId": "7", "durationMinutes": 5, "reason": "spam"})),
            ("kick", json!({"userId": "7"})),
            ("ban", json!({"userId": "7"})),
            ("sendWithEffect", json!({"message": "Tea!", "effect": "slam"})),
            ("sendAttachment", json!({"attachments": file})),
            ("send", json!({"message": "Or coffee?", "dryRun": true})),
        ] {
            // A file takes its own way there, which would hold up all that is behind it: tests/slack.rs.
            if to.starts_with("slack") && !more["attachments"].is_null() {
                continue;
            }
            let mut call = json!({"action": action, "to": to, "wait": 0});
            if let (Some(call), Value::Object(more)) = (call.as_object_mut(), more) {
                call.extend(more);
            }
            calls.push(call);
        }
        let channel = to.split(':').next();
        calls.push(json!({"action": "setPresence", "channel": channel, "status": "away", "wait": 0}));
    }
    let message = "To all of you.";
    calls.push(json!({"action": "broadcast", "targets": CONVERSATIONS, "message": message, "wait": 1}));
    calls.push(json!({"action": "broadcast", "targets": CONVERSATIONS, "message": message, "dryRun": true}));
    calls
}

/// What the hub says of itself, with these calls among its examples.
fn with_examples(described: &mut Value) -> Result<()> {
    // The document says how a call is to be written; here it is held to all that is taken.
    described["components"]["schemas"]["Message"] = Message::taken();
    for path in ["/v1/messages", "/v1/tools/{tool}"] {
        let body = &mut described["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        ensure!(body["schema"].is_object(), "{path} takes no JSON");
        let body = body.as_object_mut().context("a body")?;
        body.remove("example");
        let examples = body.entry("examples").or_insert_with(|| json!({}));
        for (number, call) in calls().into_iter().enumerate() {
            examples[format!("call {number}")] = json!({"value": call});
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_somebody_else_makes_up_are_answered_as_the_description_says() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let platform = MockServer::open(|request| {
        // Discord is asked what a channel is; else by what each of the platforms names a message.
        let said = match request.path.strip_prefix("/channels/") {
            Some(id) if request.method == "GET" && !id.contains('/') => json!({"id": id, "type": 0}),
            _ => json!({
                "ok": true, "result": {"message_id": 42, "message_thread_id": 7}, "id": "42", "channel": "C012AB3CD",
                "ts": "1503435956.000247", "channel_id": "1234567890123456789",
            }),
        };
        (200, said)
    })?;
    let mut fixture = TestHub::start(&format!("{CONFIG}{}", channels(folder.path(), &platform)?)).await?;
    let (agent, operator) = (fixture.agent("engineer").await?, fixture.operator()?);
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "Here I am."}))?;
    let companions = operator.get("/v1/companions")?.taken()?;
    let mut described = operator.get("/openapi.json")?.body;
    with_examples(&mut described)?;
    let start = Instant::now();
    schemathesis(
        operator.base(),
        &described,
        &[
            ("GATEPOST_OPERATOR", operator.token()),
            ("GATEPOST_AGENT", agent.token()),
            ("GATEPOST_MESSAGE", text(&sent, "id")),
            ("GATEPOST_COMPANION", text(&companions["companions"][0], "key")),
        ],
    )?;
    println!("schemathesis: {:?}, {} calls arrived somewhere", start.elapsed(), platform.heard().len());
    let all = operator.get("/v1/messages?limit=1000")?.taken()?;
    for to in CONVERSATIONS {
        let there = all["messages"].as_array().context("messages")?.iter().filter(|one| one["to"] == to);
        let there: Vec<(&str, &str)> =
            there.map(|one| (text(one, "state"), one["error"].as_str().unwrap_or_default())).collect();
        ensure!(there.iter().any(|(state, _)| *state == "sent"), "nothing arrived in {to}: {there:?}");
    }
    // After all of that it still does its work.
    let sent = agent.send_and_wait(&json!({"to": "local:team", "message": "And still am."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    fixture.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_is_not_described_is_refused_and_says_which_are() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let nobody = fixture.anybody(None)?;
    let described = nobody.get("/openapi.json")?;
    ensure!(
        described.kind == "application/json" && described.body["openapi"] == "3.1.0",
        "{}",
        described.kind
    );
    for (path, item) in described.body["paths"].as_object().context("paths")? {
        let methods = item.as_object().context("methods")?;
        let path: String = path
            .split('/')
            .map(|part| if part.starts_with('{') { "x" } else { part })
            .collect::<Vec<_>>()
            .join("/");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            // On a connection of its own: the hub may end one when it has refused a call that it did not read to its end.
            let status = fixture.anybody(None)?.raw(method, &path, &[], b"")?.status;
            match methods.get(&method.to_lowercase()) {
                None => ensure!(status == 405, "{method} {path}: {status}"),
                // A platform shows who it is in its own way, and so does a program outside.
                Some(_) if path.starts_with("/v1/platform/") || path.starts_with("/v1/hooks/") => {
                    ensure!([401, 403].contains(&status), "{method} {path} takes anything: {status}");
                }
                // Whoever signs in has nothing yet, and comes from the page.
                Some(_)
                    if method == "POST"
                        && ["/v1/login", "/v1/passkeys/challenge"].contains(&path.as_str()) =>
                {
                    ensure!(status == 403, "{method} {path} takes anything: {status}");
                }
                // This hub has no authority of its own.
                Some(_) if path == "/ca.pem" => ensure!(status == 404, "{method} {path}: {status}"),
                Some(operation) if operation["security"].is_array() => {
                    ensure!(status == 200, "{method} {path} is for anybody: {status}");
                }
                Some(_) => ensure!(status == 401, "{method} {path} needs a token: {status}"),
            }
        }
    }
    fixture.stop().await;
    Ok(())
}
