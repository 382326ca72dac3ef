//! An agent that is muted from a companion, behind a denial.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::{Button, Edge, View, buttons};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{TestHub, client::text, eventually},
    main_job::CONFIG,
};
use serde_json::{Value, json};
use tokio::time::sleep;

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_deny_behind_a_denial_mutes_the_agent_for_an_hour() -> Result<()> {
    let mut hub = TestHub::start(CONFIG).await?;
    let (agent, operator) = (hub.agent("engineer").await?, hub.operator()?);
    let muted_until = || -> Result<Option<String>> {
        let all = operator.get("/v1/agents")?.body;
        let agents = all["agents"].as_array().context("agents")?;
        let one = agents.iter().find(|one| one["name"] == "engineer").context("engineer")?;
        Ok(one["muted_until"].as_str().map(str::to_owned))
    };
    let send = |words: &str| agent.send(&json!({"to": "local:team", "message": words}));

    // A press that is no hold mutes nobody.
    send("One.")?;
    hub.decide(Verdict::Deny).await?;
    press(&hub, 200).await?;
    send("Two.")?;
    hub.decide(Verdict::Deny).await?;
    ensure!(muted_until()?.is_none());
    press(&hub, buttons::HOLD + 400).await?;
    ensure!(matches!(hub.companion()?.screens().borrow().view, View::Muted { .. } | View::Idle));
    let until = eventually("the agent is muted", &muted_until)?;
    let held = send("Three.")?;
    let reason = text(&held, "reason");
    ensure!(reason.contains("nobody is asked yet, since engineer is muted until"), "{held}");
    ensure!(operator.get("/v1/approvals")?.body["waiting"] == json!([]));

    let audit: Value = operator.get("/v1/audit?event=agent.muted")?.body;
    let line = &audit["rows"][0];
    ensure!(
        text(line, "actor").starts_with("companion:") && audit["rows"].as_array().map(Vec::len) == Some(1),
        "{audit}"
    );
    ensure!(!until.is_empty());
    Ok(())
}

async fn press(hub: &TestHub, long: u64) -> Result<()> {
    let buttons = hub.companion()?.buttons();
    buttons.send((Button::Deny, Edge::Pressed)).await?;
    sleep(Duration::from_millis(long)).await;
    buttons.send((Button::Deny, Edge::Released)).await?;
    sleep(Duration::from_millis(100)).await;
    Ok(())
}
