//! What agents and operators hear, as it happens and when they come back.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Client, SpawnedHub, TestHub, client::text},
    main_job::CONFIG,
};
use serde_json::{Value, json};

const SPAWNED: &str = r#"
[agents.courier]
allow = ["local:*"]
cross_context = "allow"
[agents.engineer]
allow = ["local:*"]
[channels.local.home]
"#;

/// How a message ended, by all three ways that its agent can learn of it.
fn told(agent: &Client, from: i64, id: &str, state: &str) -> Result<()> {
    let event = agent.listen(Some(from))?.until(&format!("{id} is {state}"), |heard| {
        heard.data["id"] == id && heard.name == format!("message.{state}")
    })?;
    let (notice, message) = (agent.told_of(id)?, agent.message(id)?);
    for (way, told) in [("event", &event.data), ("notice", &notice), ("message", &message)] {
        let complete = ["code", "error", "hint", "to"].iter().all(|member| !text(told, member).is_empty());
        ensure!(told["state"] == state && complete, "{way}: {told}");
        ensure!(told["error"] == message["error"], "{way}: {told}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_told_of_every_end_but_sent_with_the_reason_and_what_it_can_do() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let begun = agent.listen(None)?.last;
    let send = |message: &str, ttl: u64| -> Result<String> {
        let call = json!({"to": "local:team", "message": message, "ttlSeconds": ttl});
        Ok(text(&agent.send(&call)?, "id").to_owned())
    };
    let failed = send("[x]: https://hub.test", 600)?;
    told(&agent, begun, &failed, "failed")?;
    let denied = send("May I?", 600)?;
    fixture.decide(Verdict::Deny).await?;
    told(&agent, begun, &denied, "denied")?;
    let expired = send("Anybody?", 1)?;
    told(&agent, begun, &expired, "expired")?;
    let cancelled = send("Never mind.", 600)?;
    agent.post(&format!("/v1/messages/{cancelled}/cancel"), &json!({}))?.taken()?;
    told(&agent, begun, &cancelled, "cancelled")?;
    let unknown = send("Old.", 600)?;
    fixture.stop().await;
    fs::remove_file(fixture.data_dir().join("epoch"))?;
    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    told(&agent, begun, &unknown, "unknown")
}

#[test]
fn a_listener_that_comes_back_after_a_crash_misses_nothing_and_hears_nothing_twice() -> Result<()> {
    let mut hub = SpawnedHub::start(SPAWNED)?;
    let (courier, engineer) = (hub.agent("courier")?, hub.agent("engineer")?);
    let mut listening = courier.listen(None)?;
    let send = |what: &str| -> Result<String> {
        let sent = courier.send_and_wait(&json!({"to": "local:ann", "message": what}))?;
        Ok(text(&sent, "id").to_owned())
    };
    let mut ids = vec![send("One.")?];
    let first = listening.until("the first end", |heard| heard.name == "message.sent")?;
    ensure!(first.data["id"] == ids[0] && first.data["to"] == "local:ann", "{first:?}");
    drop(listening);
    ids.push(send("Two.")?);
    engineer.send(&json!({"to": "local:ann", "message": "Of another agent."}))?;
    hub.kill()?;
    hub.run()?;
    ids.push(send("Three.")?);
    let (mut heard, mut listening) = (Vec::new(), courier.listen(Some(first.id))?);
    while heard.len() < 8 {
        heard.push(listening.hear()?.context("the stream goes on")?);
    }
    let names: Vec<(&str, &Value)> =
        heard.iter().map(|event| (event.name.as_str(), &event.data["id"])).collect();
    let states = ["message.accepted", "message.ready", "message.sending", "message.sent"];
    let expected: Vec<(&str, Value)> =
        ids[1..].iter().flat_map(|id| states.map(|state| (state, json!(id)))).collect();
    ensure!(
        names.iter().zip(&expected).all(|(heard, wanted)| heard.0 == wanted.0 && *heard.1 == wanted.1),
        "{names:?}"
    );
    ensure!(heard.windows(2).all(|pair| pair[0].id < pair[1].id), "{heard:?}");
    hub.terminate()?;
    ensure!(listening.hear()?.is_none(), "a hub that stops ends its streams");
    Ok(())
}

#[test]
fn an_operator_hears_everything_and_a_revoked_token_nothing_more() -> Result<()> {
    let hub = SpawnedHub::start(SPAWNED)?;
    let operator = hub.operator()?;
    let mut everything = operator.listen(None)?;
    let courier = hub.agent("courier")?;
    everything.until("a new token", |heard| heard.name == "token.added")?;
    let refused = courier.post("/v1/messages", &json!({"to": "email:x@example.org", "message": "Hi."}))?;
    ensure!(refused.status >= 400, "{refused:?}");
    let seen = everything.until("a refused call", |heard| heard.name == "call.refused")?;
    ensure!(seen.data["actor"] == "agent:courier", "{seen:?}");
    let mut listening = courier.listen(None)?;
    hub.cli(&["agent", "revoke", "courier"])?.well()?;
    hub.cli(&["send", "--as-operator", "--to", "local:ann", "Hi."])?;
    ensure!(courier.listen(None).is_err(), "its token is gone");
    ensure!(listening.hear()?.is_none());
    for (id, status) in [("next", 400), ("-", 400)] {
        let refused = operator.raw("GET", "/v1/events", &[("last-event-id", id)], &[])?;
        ensure!(refused.status == status && refused.body["reason"] == "last_event_id", "{refused:?}");
    }
    Ok(())
}
