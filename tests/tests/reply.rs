//! The automatic path: a turn's text goes where the turn came from, its blocks to whom they name, and what is meant for nobody
//! to nobody.

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{Client, TestHub, client::text};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:*"]
cross_context = "allow"
decorate = false

[agents.strict]
allow = ["local:*"]
cross_context = "allow"
decorate = false
blocks_only = true

[voice]
enabled = false

[book]
team = "local:colleagues"

[channels.local.home]
"#;

struct House {
    hub: TestHub,
    agent: Client,
    context: String,
}

impl House {
    async fn of(agent: &str) -> Result<Self> {
        let mut hub = TestHub::start(CONFIG).await?;
        let client = hub.agent(agent).await?;
        let context = hub.bridge("porch").await?.heard(agent, "ann")?;
        Ok(Self { hub, agent: client, context })
    }

    /// Hands a turn in; the answer, once all of it has arrived.
    fn reply(&self, turn: &Value) -> Result<Value> {
        let mut turn = turn.clone();
        turn["context"] = self.context.as_str().into();
        let answer = self.agent.post("/v1/reply", &turn)?.taken()?;
        for sent in answer["sent"].as_array().context("what was sent")? {
            if sent["id"].is_string() {
                self.agent.ended(text(sent, "id"), "sent")?;
            }
        }
        Ok(answer)
    }

    fn heard(&self, address: &str) -> Result<Vec<String>> {
        self.hub.arrived(address)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turns_text_goes_to_where_the_turn_came_from() -> Result<()> {
    let mut house = House::of("engineer").await?;
    let answer =
        house.reply(&json!({"text": "All is **well**.<internal>or is it?</internal>\n\nHEARTBEAT_OK"}))?;
    ensure!(answer["ok"] == true, "{answer}");
    ensure!(house.heard("ann")? == ["All is well."], "{:?}", house.heard("ann")?);
    for quiet in ["NO_REPLY", "**HEARTBEAT_OK**", " ", "<internal>nothing</internal>"] {
        let answer = house.reply(&json!({"text": quiet}))?;
        ensure!(answer["ok"] == true && answer["sent"] == json!([]), "{quiet}: {answer}");
    }
    ensure!(house.heard("ann")?.len() == 1, "a quiet turn said something");
    house.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_go_to_whom_they_name_and_bare_text_beside_them_to_nobody() -> Result<()> {
    let mut house = House::of("engineer").await?;
    let turn = "Let me see.\n<message to=\"team\">Tea?</message>\n<message to=\"local:ann\">Asked them.</message>\
                <message to=\"nobody-known\">Lost?</message>";
    let answer = house.reply(&json!({"text": turn}))?;
    ensure!(house.heard("colleagues")? == ["Tea?"], "{answer}");
    ensure!(house.heard("ann")? == ["Asked them."], "{answer}");
    let sent = answer["sent"].as_array().context("sent")?;
    // A name that is in no book is an address on the channel of the turn.
    ensure!(sent.len() == 3 && sent[2]["to"] == "local:nobody-known", "{answer}");
    let broken = house.reply(&json!({"text": "<message to=\"team\">never ends"}))?;
    ensure!(broken["ok"] == false && text(&broken, "hint").contains("</message>"), "{broken}");
    ensure!(house.heard("colleagues")?.len() == 1, "a broken block was sent");
    house.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_block_mode_bare_text_is_scratch_paper() -> Result<()> {
    let mut house = House::of("strict").await?;
    let answer = house.reply(&json!({"text": "Only thinking."}))?;
    ensure!(answer["sent"] == json!([]) && house.heard("ann")?.is_empty(), "{answer}");
    house.reply(&json!({"text": "Thinking. <message to=\"ann\">Done.</message>"}))?;
    ensure!(house.heard("ann")? == ["Done."], "{:?}", house.heard("ann")?);
    house.hub.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_the_only_source_and_a_transition_sends_nothing() -> Result<()> {
    let mut house = House::of("engineer").await?;
    let response = json!({"text": "The response.", "voiceRequested": true, "voiceText": "Spoken."});
    let answer = house.reply(&json!({"text": "The text.", "response": response}))?;
    ensure!(house.heard("ann")? == ["The response."], "{answer}");
    // Nothing speaks here; the words are not lost, and whoever asked is told.
    ensure!(text(&answer, "voice").contains("text"), "{answer}");
    let spoken = json!({"response": {"voiceRequested": true, "voiceText": "Only spoken."}});
    house.reply(&spoken)?;
    ensure!(
        house.heard("ann")?.last().is_some_and(|last| last == "Only spoken."),
        "{:?}",
        house.heard("ann")?
    );
    let before = house.heard("ann")?.len();
    let away = house.reply(&json!({"text": "Leaving.", "skillTransition": {"to": "other"}}))?;
    ensure!(away["sent"] == json!([]) && house.heard("ann")?.len() == before, "{away}");
    let history = house.agent.post(
        "/v1/reply",
        &json!({"context": house.context, "response": {"text": "x", "skipAssistantHistory": false}}),
    )?;
    ensure!(history.status == 400 && history.body["reason"] == "history", "{history:?}");
    let foreign = house.agent.post("/v1/reply", &json!({"context": "gpc_00", "text": "x"}))?;
    ensure!(foreign.status == 403, "{foreign:?}");
    house.hub.stop().await;
    Ok(())
}
