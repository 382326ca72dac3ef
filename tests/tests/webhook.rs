//! The webhook and ntfy, each with somebody who takes what they send.

use std::{collections::BTreeMap, fs, sync::Mutex};

use anyhow::{Result, ensure};
use gatepost_tests::{
    doubles::{Answer, Desk},
    hub::{TestHub, client::text},
};
use serde_json::{Value, json};

const AGENTS: &str = "
[agents.courier]
allow = [\"webhook:*\", \"ntfy:*\"]
cross_context = \"allow\"
decorate = false
";

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_knows_its_keys_gets_each_message_once() -> Result<()> {
    let secrets = tempfile::tempdir()?;
    fs::write(secrets.path().join("secret"), "hush hush")?;
    let known = Mutex::new(BTreeMap::new());
    let desk = Desk::open(move |request| {
        if request.method == "HEAD" {
            return (200, Value::Null);
        }
        let key = request.header("idempotency-key").to_owned();
        let signed = request.header("x-gatepost-signature").starts_with("sha256=")
            && request.header("x-gatepost-timestamp").parse::<u64>().is_ok();
        if key.len() != 32 || !signed || request.path != "/hook" {
            return (400, json!({"error": "not signed, or without a key"}));
        }
        let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = known.len();
        let id = *known.entry(key).or_insert(next);
        (200, json!({"id": format!("w{id}")}))
    })?;
    let config = format!(
        "{AGENTS}[channels.webhook.home]\nurl = \"{}/hook\"\nsecret = \"file:{}\"\n",
        desk.url(),
        secrets.path().join("secret").display()
    );
    let mut house = TestHub::start(&config).await?;
    let agent = house.agent("courier").await?;
    let sent =
        agent.send_and_wait(&json!({"to": "webhook:kitchen#stove", "message": "The **oven** is on."}))?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "w0", "{sent}");
    let body = desk.heard()[0].json();
    ensure!(
        body["to"] == "kitchen" && body["thread"] == "stove" && body["text"] == "The oven is on.",
        "{body}"
    );
    // It is done, and nobody hears of it: it goes again under its key.
    desk.next([Answer::Lost]);
    let sent = agent.send_and_wait(&json!({"to": "webhook:kitchen", "message": "Once."}))?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "w1", "{sent}");
    let keys: Vec<String> =
        desk.heard().iter().map(|request| request.header("idempotency-key").to_owned()).collect();
    ensure!(keys.len() == 3 && keys[1] == keys[2] && keys[0] != keys[1], "{keys:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ntfy_gets_a_title_and_a_text() -> Result<()> {
    let desk = Desk::open(|request| match (request.method.as_str(), request.json()) {
        ("POST", body) if body["topic"].is_string() && request.path == "/" => {
            (200, json!({"id": "hwQ2YpKdmg", "event": "message", "topic": body["topic"]}))
        }
        _ => (400, json!({"code": 40009, "http": 400, "error": "invalid request: topic invalid"})),
    })?;
    let config = format!("{AGENTS}[channels.ntfy.home]\nurl = \"{}\"\npriority = 4\n", desk.url());
    let mut house = TestHub::start(&config).await?;
    let agent = house.agent("courier").await?;
    let sent =
        agent.send_and_wait(&json!({"to": "ntfy:oven", "message": "# Oven\n\nIt is on.", "silent": true}))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let body = desk.heard()[0].json();
    ensure!(
        body["title"] == "Oven" && body["priority"] == 1 && text(&body, "message").contains("It is on."),
        "{body}"
    );
    Ok(())
}
