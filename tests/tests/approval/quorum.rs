//! Several companions for one message.

use anyhow::{Result, ensure};
use gatepost_companion::{Ended, View};
use gatepost_link::{decision::Verdict, frame::Withdrawal};
use gatepost_tests::{
    hub::{TestHub, client::text, database, eventually},
    main_job::{self, CONFIG},
};
use serde_json::{Value, json};

fn config() -> String {
    CONFIG.replace("[approval]", "[approval]\nquorum = 2")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_for_two_goes_when_both_approved_it_also_over_a_restart_between_them() -> Result<()> {
    let mut fixture = TestHub::start(&config()).await?;
    let agent = fixture.agent("engineer").await?;
    let mut hall = fixture.join("hall").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    let id = text(&held, "id");
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    hall.decide(Verdict::Approve).await?;
    ensure!(fixture.arrived("team")?.is_empty() && agent.message(id)?["state"] == "held");
    let shown = fixture.cli(&["queue", "show", id])?.well()?;
    ensure!(shown.contains("approvals: 1 of 2 (hall [software])"), "{shown}");
    let told = agent.message(id)?;
    ensure!(told["approvals"] == "1 of 2" && told["approved_by"] == Value::Null, "{told}");
    // Who has voted is done with it; who has not still reads.
    hall.screen("nothing more is asked", |screen| matches!(screen.view, View::Idle))?;
    fixture.screen("the card stays", |screen| matches!(screen.view, View::Card(_)))?;

    fixture.restart().await?;
    let agent = fixture.agent("engineer").await?;
    fixture.connect(&mut hall)?;
    hall.screen("nothing is asked again", |screen| matches!(screen.view, View::Idle))?;
    ensure!(agent.message(id)?["approvals"] == "1 of 2");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(id, "sent")?;
    main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;
    let shown = fixture.cli(&["queue", "show", id])?.well()?;
    ensure!(shown.contains("approvals: 2 of 2 (hall [software], test [software])"), "{shown}");
    let events: Vec<String> = database::audit(&fixture.database()?)?
        .into_iter()
        .filter(|line| line.message.as_deref() == Some(id))
        .map(|line| format!("{} {}", line.actor, line.event))
        .collect();
    let expected = [
        "agent:engineer message.accepted",
        "hub message.held",
        "companion:hall decision.counted",
        "companion:test message.ready",
        "hub message.sending",
        "hub message.sent",
    ];
    ensure!(events == expected, "{events:?}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_who_denies_ends_it_and_the_others_card_closes() -> Result<()> {
    let mut fixture = TestHub::start(&config()).await?;
    let agent = fixture.agent("engineer").await?;
    let (hall, porch) = (fixture.join("hall").await?, fixture.join("porch").await?);
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    porch.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    hall.decide(Verdict::Approve).await?;
    fixture.decide(Verdict::Deny).await?;
    let denied = agent.ended(text(&held, "id"), "denied")?;
    ensure!(denied["approvals"] == "1 of 2", "{denied}");
    let elsewhere = Ended::Withdrawn(Withdrawal::DecidedElsewhere);
    porch.screen(
        "its card is closed",
        |screen| matches!(screen.view, View::Closed { why, .. } if why == elsewhere),
    )?;
    ensure!(fixture.arrived("team")?.is_empty());
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_revoked_takes_their_approval_along_and_the_owner_hears_what_that_means() -> Result<()> {
    let mut fixture = TestHub::start(&config()).await?;
    let agent = fixture.agent("engineer").await?;
    let hall = fixture.join("hall").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    let id = text(&held, "id");
    hall.decide(Verdict::Approve).await?;
    let revoked = fixture.cli(&["companion", "revoke", "hall"])?;
    ensure!(revoked.stderr.contains("messages that still wait are taken back: 1"), "{revoked:?}");
    ensure!(revoked.stderr.contains("companions left: 1; as 2 must approve"), "{revoked:?}");
    ensure!(agent.message(id)?["approvals"] == "0 of 2");
    let file = fixture.folder().path().join("gatepost.toml");
    std::fs::write(&file, format!("[hub]\ndata_dir = \"data\"\n{}", config()))?;
    let checked = fixture.cli(&["check", "--offline", "--config", &file.display().to_string()])?;
    ensure!(
        checked.status == 0 && checked.stderr.contains("2 must approve, and companions that may: 1"),
        "{checked:?}"
    );
    fixture.decide(Verdict::Approve).await?;
    ensure!(agent.message(id)?["state"] == "held" && fixture.arrived("team")?.is_empty());
    let porch = fixture.join("porch").await?;
    porch.decide(Verdict::Approve).await?;
    agent.ended(id, "sent")?;
    eventually("it is there", || Ok(Some(fixture.arrived("team")?).filter(|arrived| arrived.len() == 1)))?;
    fixture.audit_is_whole().await
}
