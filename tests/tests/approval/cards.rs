//! An agent that asks too often: what is over its hour is held without a card, and everybody who looks can see that.
//!
//! Slow: the hub looks once a minute for a card whose hour has room.

use anyhow::{Result, ensure};
use gatepost_companion::View;
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{TestHub, client::text, eventually},
    main_job::CONFIG,
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_second_card_of_the_hour_waits_and_is_put_when_the_hour_has_room() -> Result<()> {
    let mut fixture = TestHub::start(&CONFIG.replace("[approval]", "[approval]\ncards_per_hour = 1")).await?;
    let agent = fixture.agent("engineer").await?;
    let send = |message: &str| agent.send(&json!({"to": "local:team", "message": message}));
    let (first, second) = (send("The first.")?, send("The second.")?);
    ensure!(first["state"] == "held" && first["code"] == json!(null), "{first}");
    ensure!(
        second["ok"] == true && second["state"] == "held" && second["code"] == "rate_limited",
        "{second}"
    );
    ensure!(text(&second, "reason").contains("engineer has had its 1 cards of the hour"), "{second}");
    ensure!(text(&second, "hint").contains("do not send it a second time"), "{second}");
    let listed = fixture.cli(&["queue", "list"])?.well()?;
    ensure!(
        listed.lines().any(|line| line.contains(text(&second, "id")) && line.contains("nobody is asked yet"))
    );

    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&first, "id"), "sent")?;
    fixture.screen("there is no other card", |screen| matches!(screen.view, View::Idle))?;
    let figures = fixture.operator()?.get("/metrics")?.body.as_str().unwrap_or("").to_owned();
    for figure in ["total{agent=\"engineer\"} 1", "deferred_total{agent=\"engineer\"} 1", "waiting 1"] {
        ensure!(figures.contains(&format!("\ngatepost_cards_{figure}\n")), "{figure}: {figures}");
    }

    // An hour later.
    let past = "UPDATE approvals SET card_at = card_at - 3600000
                WHERE message = (SELECT seq FROM messages WHERE id = ?)";
    fixture.write(past, text(&first, "id")).await?;
    let third = send("The third.")?;
    ensure!(third["code"] == "rate_limited", "the second has waited longer: {third}");
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&second, "id"), "sent")?;
    eventually("both are there, in order", || {
        let texts = fixture.arrived("team")?;
        Ok((texts == ["[engineer] The first.", "[engineer] The second."]).then_some(()))
    })?;
    ensure!(agent.message(text(&third, "id"))?["state"] == "held");
    fixture.audit_is_whole().await
}
