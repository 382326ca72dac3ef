//! What a hub hears on WhatsApp, both ways, before doubles of ours alone: neither Meta nor an Evolution API runs on loopback.

use anyhow::{Result, ensure};
use gatepost_link::Digest;
use gatepost_tests::{
    hub::{Client, SpawnedHub, client::text, eventually, secret},
    mocks::{
        Answer, MockServer, evolution,
        whatsapp::{self, signed},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

const ANN: &str = "4915112345679";
const USER: &str = "DE.13491208655302741918";
const PORT: &str = "/v1/platform/whatsapp/home";

fn hub(account: &str) -> Result<SpawnedHub> {
    SpawnedHub::start(&format!(
        "[agents.engineer]\nallow = [\"whatsapp:*\"]\ncross_context = \"allow\"\n[people.ann]\nids = [\"whatsapp:+{ANN}\"]\n\
         scope = \"owner\"\n[routes.engineer]\nfrom = [\"whatsapp:*\"]\nagent = \"engineer\"\n\
         [channels.whatsapp.home]\nreceive = true\n{account}"
    ))
}

fn notify(hub: &SpawnedHub, header: (&str, &str), body: &[u8]) -> Result<u16> {
    Ok(hub.anybody(None).raw("POST", PORT, &[header], body)?.status)
}

/// The agent's next turn.
fn next(agent: &Client) -> Result<Value> {
    eventually("the agent has a turn", || {
        let answer = agent.get("/v1/turns?wait=5")?.taken()?;
        Ok(Some(answer["turn"].clone()).filter(Value::is_object))
    })
}

fn answer(agent: &Client, turn: &Value, words: &str) -> Result<()> {
    let answer =
        json!({"turn": turn["turn"], "lease": turn["lease"], "context": turn["context"], "text": words});
    let replied = agent.post("/v1/reply", &answer)?;
    ensure!(replied.status < 300, "{replied:?}");
    Ok(())
}

/// Bodies that were posted to a path that ends so.
fn posted(server: &MockServer, end: &str) -> Vec<Value> {
    let all = server.heard().into_iter().filter(|request| request.path.ends_with(end));
    all.map(|request| request.json()).collect()
}

fn by_cloud() -> Result<(MockServer, TempDir, SpawnedHub)> {
    let (server, secrets) = (whatsapp::start()?, tempfile::tempdir()?);
    let (app, verify) = (
        secret(secrets.path(), "app", "the app_secret")?,
        secret(secrets.path(), "verify", "the verify_token")?,
    );
    let account = whatsapp::account(&server, secrets.path())?;
    let hub = hub(&format!("{account}app_secret = {app}\nverify_token = {verify}\n"))?;
    Ok((server, secrets, hub))
}

#[test]
fn a_signed_notification_becomes_a_turn_once_and_the_answer_goes_back() -> Result<()> {
    let (server, _secrets, hub) = by_cloud()?;
    let agent = hub.agent("engineer")?;
    let sha256 = Digest::of(b"hello").to_string();
    let document = json!({"id": "77", "filename": "list.txt", "mime_type": "text/plain", "caption": "Is it green?", "sha256": sha256});
    let message = json!({"from": ANN, "from_user_id": USER, "id": "wamid.HBgL", "timestamp": seconds(), "type": "document", "document": document});
    let body = whatsapp::notification((ANN, USER, "Ann"), &json!([message])).to_string().into_bytes();
    for forged in
        [signed("another", &body), signed("the verify_token", &body), signed("the app_secret", b"{}")]
    {
        ensure!(notify(&hub, ("X-Hub-Signature-256", &forged), &body)? == 401, "{forged}");
    }
    let good = signed("the app_secret", &body);
    for _ in 0..2 {
        server.next_for(
            "/77",
            Answer::Says(200, json!({"url": format!("{}/files/77", server.url()), "file_size": 5})),
        );
        server.next_for("/files/77", Answer::Bytes(200, "text/plain", b"hello".to_vec()));
        ensure!(notify(&hub, ("X-Hub-Signature-256", &good), &body)? == 200);
    }
    let turn = next(&agent)?;
    let items = turn["items"].as_array().map_or(0, Vec::len);
    let item = &turn["items"][0];
    ensure!(items == 1 && item["text"] == "Is it green?" && item["message_id"] == "wamid.HBgL", "{turn}");
    ensure!(item["sender"]["id"] == format!("whatsapp:{USER}") && item["sender"]["name"] == "Ann", "{turn}");
    ensure!(item["files"][0]["name"] == "list.txt" && item["files"][0]["size"] == 5, "{turn}");
    ensure!(turn["conversation"]["target"] == format!("whatsapp:{ANN}"), "{turn}");
    eventually("she sees that an answer is written", || {
        let signs = posted(&server, "/messages");
        Ok(signs.iter().any(|sign| sign["typing_indicator"]["type"] == "text").then_some(()))
    })?;
    answer(&agent, &turn, "All green.")?;
    let sent = eventually("the answer arrives", || {
        Ok(posted(&server, "/messages").into_iter().find(|sent| sent["type"] == "text"))
    })?;
    ensure!(sent["to"] == ANN && text(&sent["text"], "body").contains("All green."), "{sent}");
    let said = hub.operator()?.get("/v1/channels?fresh=true")?.body;
    ensure!(text(&said["channels"][0], "said").contains("receives by notifications"), "{said}");
    Ok(())
}

#[test]
fn a_press_on_a_button_comes_to_the_agent_that_asked() -> Result<()> {
    let (server, _secrets, hub) = by_cloud()?;
    let agent = hub.agent("engineer")?;
    let buttons =
        json!([[{"text": "Yes", "callback_data": "tea:yes"}, {"text": "No", "callback_data": "tea:no"}]]);
    let asked = agent
        .send_and_wait(&json!({"to": format!("whatsapp:{ANN}"), "message": "Tea?", "buttons": buttons}))?;
    let own = text(&asked["parts"][0], "platform_id");
    let sent = posted(&server, "/messages").pop().unwrap_or_default();
    let reply = &sent["interactive"]["action"]["buttons"][0]["reply"];
    let pressed = json!({"from": ANN, "id": "wamid.press", "timestamp": seconds(), "type": "interactive",
        "context": {"from": "4915112345678", "id": own}, "interactive": {"type": "button_reply", "button_reply": reply}});
    let body = whatsapp::notification((ANN, USER, "Ann"), &json!([pressed])).to_string().into_bytes();
    ensure!(notify(&hub, ("X-Hub-Signature-256", &signed("the app_secret", &body)), &body)? == 200);
    let turn = next(&agent)?;
    let item = &turn["items"][0];
    ensure!(item["kind"] == "press" && item["data"] == "tea:yes", "{turn}");
    Ok(())
}

fn seconds() -> String {
    (gatepost::store::now_ms() / 1000).to_string()
}

#[test]
fn an_evolution_api_is_asked_at_a_notification_and_after_a_stop_for_what_came_meanwhile() -> Result<()> {
    let ((server, phone), secrets) = (evolution::start_with()?, tempfile::tempdir()?);
    let webhook = secret(secrets.path(), "webhook", "the webhook_secret")?;
    let account = evolution::account(&server, secrets.path())?;
    let mut hub = hub(&format!("kind = \"evolution\"\n{account}webhook_secret = {webhook}\n"))?;
    let agent = hub.agent("engineer")?;
    let ann = format!("{ANN}@s.whatsapp.net");
    eventually("it asks", || Ok((!posted(&server, "/findMessages/home").is_empty()).then_some(())))?;
    phone.gets("3EB0A1", &ann, &json!({"conversation": "Is it green?"}));
    let body = json!({"event": "messages.upsert", "instance": "home", "data": {}}).to_string().into_bytes();
    for forged in ["Bearer another", "the webhook_secret", "Bearer "] {
        ensure!(notify(&hub, ("Authorization", forged), &body)? == 401, "{forged}");
    }
    for _ in 0..2 {
        ensure!(notify(&hub, ("Authorization", "Bearer the webhook_secret"), &body)? == 200);
    }
    let turn = next(&agent)?;
    let item = &turn["items"][0];
    ensure!(item["text"] == "Is it green?" && item["message_id"] == format!("{ANN}/3EB0A1"), "{turn}");
    ensure!(item["sender"]["id"] == format!("phone:+{ANN}") && item["sender"]["name"] == "Ann", "{turn}");
    answer(&agent, &turn, "All green.")?;
    let sent = eventually("the answer arrives", || Ok(posted(&server, "/sendText/home").pop()))?;
    ensure!(sent["number"] == ANN && text(&sent, "text").contains("All green."), "{sent}");
    ensure!(!posted(&server, "/sendPresence/home").is_empty(), "she sees that an answer is written");

    hub.kill()?;
    phone.gets("3EB0A2", &ann, &json!({"conversation": "And now?"}));
    hub.run()?;
    let turn = next(&agent)?;
    let items = turn["items"].as_array().map_or(0, Vec::len);
    ensure!(items == 1 && turn["items"][0]["text"] == "And now?", "what it had is not told again: {turn}");
    Ok(())
}
