//! Companions, as their owner looks after them: who is here, what they are called, who may not decide any more.

use anyhow::{Context as _, Result, ensure};
use gatepost::approval::decide::DecisionError;
use gatepost_companion::View;
use gatepost_link::{
    Digest, RequestId,
    decision::{Statement, Verdict},
    session::SessionHash,
};
use gatepost_tests::{
    hub::{TestHub, client::text, database, eventually},
    main_job::CONFIG,
};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn the_list_says_who_is_here_and_when_they_decided() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let mut hall = fixture.join("the hall, upstairs").await?;
    let here = fixture.listed_when("the hall, upstairs", |one| one["online"] == true)?;
    ensure!(text(&here, "key").len() == 16 && here["kind"] == "software" && here["counter"] == 0, "{here}");
    ensure!(here["decided_at"] == Value::Null && here["revoked_at"] == Value::Null, "{here}");
    ensure!(text(&here, "seen_at") >= text(&here, "added_at"), "{here}");

    agent.send(&json!({"to": "local:team", "message": "Hello."}))?;
    hall.decide(Verdict::Approve).await?;
    let decided = fixture.listed("the hall, upstairs")?;
    ensure!(text(&decided, "decided_at") >= text(&here, "seen_at") && decided["counter"] != 0, "{decided}");

    // Its last will is heard.
    hall.switch_off();
    let gone = fixture.listed_when("the hall, upstairs", |one| one["online"] == false)?;
    ensure!(text(&gone, "seen_at") >= text(&decided, "decided_at"), "{gone}");
    fixture.connect(&mut hall)?;
    fixture.listed_when("the hall, upstairs", |one| one["online"] == true)?;
    hall.switch_off();
    fixture.listed_when("the hall, upstairs", |one| one["online"] == false)?;
    fixture.restart().await?;
    let table = fixture.cli(&["companion", "list"])?.well()?;
    let row = table.lines().find(|line| line.starts_with("the hall")).context("a row")?;
    ensure!(text(&fixture.listed("the hall, upstairs")?, "seen_at") >= text(&gone, "seen_at"), "{table}");
    ensure!(row.contains("software  offline  20") && !table.contains("  revoked"), "{table}");
    ensure!(
        table.lines().next().is_some_and(|head| head.contains("NAME") && head.contains("COUNTER")),
        "{table}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_companion_is_renamed_while_its_card_is_open_and_decides_under_its_new_name() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Hello."}))?;
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let renamed = fixture.cli(&["companion", "rename", "test", "kitchen"])?;
    ensure!(renamed.status == 0 && renamed.stderr.contains("kitchen"), "{renamed:?}");
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let ready = fixture.audit("message.ready")?.pop().context("a row")?;
    ensure!(ready.actor == "companion:kitchen", "{ready:?}");
    let lines = fixture.audit("device.renamed")?;
    ensure!(lines.len() == 1 && lines[0].detail["before"] == "test", "{lines:?}");

    for (arguments, status, says) in [
        (["rename", "test", "hall"], 5, "there is no companion \"test\""),
        (["rename", "kitchen", "two\nlines"], 1, "is not a name for a companion"),
        (["rename", "kitchen", "0123456789abcdef"], 1, "could be taken for a companion's key"),
    ] {
        let refused = fixture.cli(&[&["companion"], &arguments[..]].concat())?;
        ensure!(refused.status == status && refused.stderr.contains(says), "{refused:?}");
    }
    let agents = agent.get("/v1/companions")?;
    ensure!(agents.status == 403, "{agents:?}");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_companion_loses_its_card_at_once_and_its_decision_is_refused() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let hall = fixture.join("hall").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Hello."}))?;
    hall.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let listener = fixture.eavesdropper_on(hall.device())?;
    let short = text(&fixture.listed("hall")?, "key").to_owned();

    let revoked = fixture.cli(&["companion", "revoke", &short])?;
    ensure!(revoked.status == 0 && revoked.stderr.contains("may not decide any more"), "{revoked:?}");
    hall.screen("the companion has forgotten the hub", |screen| screen.view == View::Unpaired)?;
    let gone = fixture.listed("hall")?;
    ensure!(gone["online"] == false && gone["revoked_at"].is_string(), "{gone}");
    let lines = fixture.audit("device.revoked")?;
    ensure!(lines.len() == 1 && lines[0].actor == "operator:operator", "{lines:?}");

    // Whatever it says is not heard any more: not an answer, not a line in the audit.
    let frames = listener.down().len();
    let approval = database::approval(&fixture.database()?, text(&held, "id"))?;
    let statement = statement(&fixture, hall.device(), approval.request, &approval.document, 1_000)?;
    listener.say_up(b"anything")?;
    eventually("it was carried", || Ok(listener.up().contains(&b"anything".to_vec()).then_some(())))?;
    // Nor would its word count, had it come through.
    let approvals = fixture.hub()?.approvals();
    let refused = approvals.decide(hall.device(), statement.session, hall.sign(&statement)).await;
    ensure!(matches!(refused, Err(DecisionError::Device)), "{refused:?}");
    ensure!(fixture.audit("decision.rejected")?.len() == 1);
    ensure!(agent.message(text(&held, "id"))?["state"] == "held");

    // The other one is still asked.
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    ensure!(listener.down().len() == frames, "the hub spoke to a revoked companion");
    let twice = fixture.cli(&["companion", "revoke", "hall"])?;
    ensure!(twice.status == 1 && twice.stderr.contains("was revoked already"), "{twice:?}");
    // Its name is free, and its key is not.
    let again = fixture.join("hall").await?;
    fixture.listed_when("hall", |one| one["online"] == true)?;
    drop(again);
    let table = fixture.cli(&["companion", "list"])?.well()?;
    ensure!(
        table.lines().last().is_some_and(|row| row.contains(&short) && row.contains("revoked")),
        "{table}"
    );
    fixture.audit_is_whole().await
}

fn statement(
    fixture: &TestHub,
    device: gatepost_link::decision::PublicKey,
    request: RequestId,
    document: &[u8],
    counter: u64,
) -> Result<Statement> {
    Ok(Statement {
        hub: fixture.hub()?.key(),
        device,
        request,
        document: Digest::of(document),
        verdict: Verdict::Approve,
        counter,
        session: SessionHash([1; 32]),
    })
}
