//! Who writes to the demo's agent: Ann, whose home it is, and a stranger.

use std::time::Duration;

use gatepost_link::decision::Verdict;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Decide, DemoError, decided, hub::DemoHub, show_arrived, stage::Stage, text, with};
use crate::{client::Request, random};

/// How long the hub may take to wake the agent: what somebody writes is gathered for a moment.
const WAKING: Duration = Duration::from_secs(20);

/// What a person is told who decides about the stranger.
const LET_IN: &str = "Hold [a] to let them in, press [d] to refuse. (It is yours to decide.)";

/// Ann writes; the turn that this wakes the agent for.
pub(super) async fn ann_writes(demo_hub: &DemoHub) -> Result<Value, DemoError> {
    // An earlier demo in the same directory may have been left in the midst of its turn.
    for state in ["leased", "waiting"] {
        let query = vec![("state", state.to_owned())];
        let left =
            demo_hub.operator.call(Method::GET, "/v1/turns", Request { query, ..Request::default() }).await?;
        for turn in left["turns"].as_array().into_iter().flatten() {
            let path = format!("/v1/turns/{}/drop", text(turn, "turn"));
            demo_hub.operator.call(Method::POST, &path, Request::default()).await?;
        }
    }
    writes(demo_hub, "ann", "Ann", "How did the night go? Tell the team as well.").await?;
    next_turn(demo_hub).await
}

/// Somebody writes directly to the hub's account, as a bridge reports it.
async fn writes(demo_hub: &DemoHub, who: &str, name: &str, words: &str) -> Result<Value, DemoError> {
    let report = json!({
        "channel": "local", "peer": who, "sender": who, "senderName": name, "direct": true,
        "messageId": random::hex::<8>(), "text": words,
    });
    Ok(demo_hub.bridge.call(Method::POST, "/v1/inbound", with(report)).await?)
}

/// The agent's next turn.
async fn next_turn(demo_hub: &DemoHub) -> Result<Value, DemoError> {
    let query = vec![("wait", WAKING.as_secs().to_string())];
    let request = Request { query, wait: WAKING, ..Request::default() };
    let answer = demo_hub.agent.call(Method::GET, "/v1/turns", request).await?;
    match &answer["turn"] {
        Value::Null => Err(DemoError::Failed("the agent was not woken".into())),
        turn => Ok(turn.clone()),
    }
}

/// The agent has no more to say in a turn.
pub(super) async fn end(demo_hub: &DemoHub, turn: &Value) -> Result<(), DemoError> {
    let path = format!("/v1/turns/{}/end", text(turn, "turn"));
    // A person may have read for longer than a turn is its taker's.
    demo_hub.agent.ask(Method::POST, &path, with(json!({"lease": turn["lease"]}))).await?;
    Ok(())
}

/// A stranger writes, and is asked about.
pub(super) async fn stranger_writes(
    demo_hub: &DemoHub,
    stage: &Stage,
    decide: Decide,
) -> Result<(), DemoError> {
    // Another one each time: who was let in, or refused, in an earlier demo is not asked about again.
    let who = format!("carol-{}", random::hex::<3>());
    stage.say("");
    stage.say("A stranger writes to the agent. It is not woken: the message waits, and the companion asks.");
    let answer = writes(demo_hub, &who, "Carol", "Hello, is anybody in?").await?;
    let Some(code) = answer["asked"][0].as_str() else {
        return Err(DemoError::Failed(format!("nobody is asked about the stranger: {answer}")));
    };
    match decided(demo_hub, stage, decide, LET_IN).await? {
        Verdict::Approve => {
            let turn = next_turn(demo_hub).await?;
            stage.say("Let in. The agent has what was written meanwhile, and answers.");
            let reply = json!({
                "context": turn["context"], "turn": turn["turn"], "lease": turn["lease"],
                "text": "Come in, the door is open.",
            });
            let reply = demo_hub.agent.call(Method::POST, "/v1/reply", with(reply)).await?;
            super::ended(demo_hub, &reply["sent"][0]).await?;
            show_arrived(demo_hub, stage, &who, 1).await
        }
        Verdict::Deny => {
            refused(demo_hub, code).await?;
            stage.say("Refused. The agent hears nothing of it, and nobody is asked about them again.");
            Ok(())
        }
    }
}

/// Waits until a request is not open any more.
async fn refused(demo_hub: &DemoHub, code: &str) -> Result<(), DemoError> {
    for _ in 0..100 {
        let people = demo_hub.operator.call(Method::GET, "/v1/people", Request::default()).await?;
        let open = people["requests"].as_array().into_iter().flatten();
        if open.into_iter().all(|request| text(request, "code") != code) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(DemoError::Failed("the refusal was not written down".into()))
}
