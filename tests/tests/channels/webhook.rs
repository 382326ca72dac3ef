//! The webhook and ntfy, each with somebody who takes what they send.
//!
//! Installed by `tests/run --setup-only`: Node, the library of Standard Webhooks.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use gatepost_tests::{
    hub::{TestHub, client::text},
    mocks::{Answer, MockServer, Request, webhook},
    peers::WebhookReceiver,
};
use serde_json::{Value, json};

const AGENTS: &str = "
[agents.courier]
allow = [\"webhook:*\", \"ntfy:*\"]
cross_context = \"allow\"
decorate = false
";

const NEW: &str = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3";
const OLD: &str = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk";

/// An account that signs with both secrets, and posts there.
fn account(secrets: &Path, url: &str) -> Result<String> {
    fs::write(secrets.join("new"), NEW)?;
    fs::write(secrets.join("old"), OLD)?;
    let file = |name: &str| format!("\"file:{}\"", secrets.join(name).display());
    Ok(format!(
        "{AGENTS}[channels.webhook.home]\nurl = \"{url}\"\nsecret = {}\nold_secrets = [{}]\n",
        file("new"),
        file("old")
    ))
}

/// Posts a captured request to a receiver; the status of its answer.
fn post(url: &str, request: &Request, id: &str, body: &str) -> Result<u16> {
    let http = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
    let mut again = http.post(url).header("webhook-id", id);
    for name in ["webhook-timestamp", "webhook-signature"] {
        again = again.header(name, request.header(name));
    }
    Ok(again.send(body)?.status().as_u16())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_standards_own_library_verifies_what_arrives_and_no_request_under_another_id() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    let receiver = WebhookReceiver::start(NEW)?;
    let server = MockServer::saying(Value::Null)?;
    let mut fixture = TestHub::start(&account(secrets.path(), &receiver.url())?).await?;
    let agent = fixture.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "The **oven** is on."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let printed = receiver.printed()?;
    let id = text(&sent, "id");
    ensure!(printed == format!("courier to kitchen: The oven is on. ({id}, 1 of 1)\n"), "{printed}");
    drop(fixture);

    let mut fixture = TestHub::start(&account(secrets.path(), &server.url())?).await?;
    let agent = fixture.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "Captured."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let captured = &server.heard()[0];
    let (id, body) = (captured.header("webhook-id"), String::from_utf8(captured.body.clone())?);
    let still_the_old = WebhookReceiver::start(OLD)?;
    let stranger = WebhookReceiver::start("whsec_c3RyYW5nZXJzdHJhbmdlcnN0cmFuZ2Vy")?;
    ensure!(post(&receiver.url(), captured, id, &body)? == 204, "as it came");
    ensure!(post(&still_the_old.url(), captured, id, &body)? == 204, "by the secret before");
    ensure!(post(&stranger.url(), captured, id, &body)? == 400, "by another's secret");
    let another = "00000000000000000000000000000000";
    ensure!(post(&receiver.url(), captured, another, &body)? == 400, "under another id");
    let changed = body.replace("Captured", "Forged");
    ensure!(post(&receiver.url(), captured, id, &changed)? == 400, "with another text");
    // Again as it came: the receiver knows it.
    ensure!(post(&receiver.url(), captured, id, &body)? == 204, "once more");
    ensure!(receiver.printed()?.matches("Captured").count() == 1, "{}", receiver.printed()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_knows_its_ids_gets_each_message_once() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    let (server, _) = webhook::receiver(NEW)?;
    let mut fixture = TestHub::start(&account(secrets.path(), &format!("{}/hook", server.url()))?).await?;
    let agent = fixture.agent("courier").await?;
    let sent =
        agent.send_and_wait(&json!({"to": "webhook:kitchen#stove", "message": "The **oven** is on."}))?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "w0", "{sent}");
    let body = server.heard()[0].json();
    ensure!(body["type"] == "message" && body["timestamp"].is_string(), "{body}");
    let expected = json!({
        "id": sent["id"], "agent": "courier", "to": "kitchen", "thread": "stove", "replyTo": null, "silent": false,
        "part": 1, "of": 1, "markdown": "The **oven** is on.", "text": "The oven is on.",
    });
    ensure!(body["data"] == expected, "{body}");
    // It is done, and nobody hears of it: it goes again under its id.
    server.next([Answer::Lost]);
    let sent = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "Once."}))?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "w1", "{sent}");
    let ids: Vec<String> =
        server.heard().iter().map(|request| request.header("webhook-id").to_owned()).collect();
    ensure!(ids.len() == 3 && ids[1] == ids[2] && ids[0] != ids[1], "{ids:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_approves_reads_the_markdown_that_a_webhook_gets() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    let server = MockServer::saying(Value::Null)?;
    let config = account(secrets.path(), &server.url())?
        .replace("allow = [\"webhook:*\", \"ntfy:*\"]", "allow = [\"ntfy:*\"]\nhold = [\"webhook:*\"]");
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("courier").await?;
    // No reader sees where the link is defined, and the receiver gets it.
    let hidden = "Open it.\n\n[door]: https://evil.example/open \"all of them\"";
    let held = agent.send(&json!({"to": "webhook:kitchen", "message": hidden, "dryRun": true}))?;
    ensure!(held["parts"][0]["shown"] == hidden, "{held}");
    ensure!(held["parts"][0]["request"]["data"]["markdown"] == hidden, "{held}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_and_the_markdown_of_a_webhook_both_name_the_agent() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    let server = MockServer::saying(Value::Null)?;
    let config = account(secrets.path(), &server.url())?.replace("decorate = false", "decorate = true");
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "The **oven** is on."}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let data = server.heard()[0].json()["data"].clone();
    ensure!(data["text"] == "[courier] The oven is on.", "{data}");
    ensure!(data["markdown"] == "[courier] The **oven** is on.", "{data}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ntfy_gets_a_title_and_a_text() -> Result<()> {
    let server = MockServer::open(|request| match (request.method.as_str(), request.json()) {
        ("POST", body) if body["topic"].is_string() && request.path == "/" => {
            (200, json!({"id": "hwQ2YpKdmg", "event": "message", "topic": body["topic"]}))
        }
        _ => (400, json!({"code": 40009, "http": 400, "error": "invalid request: topic invalid"})),
    })?;
    let config = format!("{AGENTS}[channels.ntfy.home]\nurl = \"{}\"\npriority = 4\n", server.url());
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("courier").await?;
    let sent =
        agent.send_and_wait(&json!({"to": "ntfy:oven", "message": "# Oven\n\nIt is on.", "silent": true}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let body = server.heard()[0].json();
    ensure!(
        body["title"] == "Oven" && body["priority"] == 1 && text(&body, "message").contains("It is on."),
        "{body}"
    );
    Ok(())
}
