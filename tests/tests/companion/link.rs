//! Somebody on the broker, with its password and without the companion's keys; and somebody with them.

use std::time::Duration;

use anyhow::{Result, ensure};
use gatepost_companion::{Button, Edge, View};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Eavesdropper, TestHub, client::text, eventually},
    main_job::CONFIG,
};
use serde_json::json;

const TEXT: &str = "The key is under the third stone.";

/// Copies of `payload` as somebody may alter them: cut, lengthened, with a bit turned round, with other numbers.
fn altered(payload: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![payload[..payload.len() / 2].to_vec(), [payload, &[0]].concat(), Vec::new()];
    for at in [0, 1, 2, payload.len() / 2, payload.len() - 1] {
        let mut other = payload.to_vec();
        if let Some(byte) = other.get_mut(at) {
            *byte ^= 1;
        }
        all.push(other);
    }
    all
}

/// Says everything that was ever said again, to both sides and turned round, and what can be made of it.
fn disturb(mallory: &Eavesdropper) -> Result<()> {
    let (up, down) = (mallory.up(), mallory.down());
    for payload in up.iter().chain(&down) {
        mallory.say_up(payload)?;
        mallory.say_down(payload)?;
    }
    for payload in up.iter().rev().take(3).chain(down.iter().rev().take(3)) {
        for other in altered(payload) {
            mallory.say_up(&other)?;
            mallory.say_down(&other)?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_replays_truncates_and_forges_on_the_broker_learns_and_approves_nothing() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (agent, mallory) = (fixture.agent("engineer").await?, fixture.eavesdropper()?);
    let first = agent.send(&json!({"to": "local:team", "message": TEXT}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&first, "id"), "sent")?;
    // Up: what it fetched and decided. Down: the offer, the text, and that it was taken. How the session began may have been
    // said before somebody listened; and the broker tells the hub and the companion first.
    eventually("something was said", || {
        Ok((mallory.up().len() >= 2 && mallory.down().len() >= 3).then_some(()))
    })?;
    for payload in mallory.up().iter().chain(&mallory.down()) {
        for word in ["key", "stone", "engineer", "local", "team"] {
            let found = payload.windows(word.len()).any(|window| window == word.as_bytes());
            ensure!(!found, "{word} can be read on the broker");
        }
    }

    let second = agent.send(&json!({"to": "local:team", "message": "The second."}))?;
    fixture.screen("the second card", |screen| matches!(screen.view, View::Card(_)))?;
    disturb(&mallory)?;
    eventually("it is reported", || Ok(fixture.audit("link.refused")?.pop()))?;
    ensure!(agent.message(text(&second, "id"))?["state"] == "held" && fixture.arrived("team")?.len() == 1);

    // In another session, of another process, it is all worth as little.
    fixture.restart().await?;
    let (agent, later) = (fixture.agent("engineer").await?, fixture.eavesdropper()?);
    fixture.screen("the second card again", |screen| matches!(screen.view, View::Card(_)))?;
    for payload in mallory.up() {
        later.say_up(&payload)?;
    }
    disturb(&later)?;
    ensure!(agent.message(text(&second, "id"))?["state"] == "held" && fixture.arrived("team")?.len() == 1);
    ensure!(fixture.audit("decision.rejected")?.is_empty(), "no decision of anybody else's came so far");
    let refused = fixture.audit("link.refused")?;
    ensure!(refused.iter().all(|line| !text(&line.detail, "why").is_empty()) && refused.len() <= 60);

    // And the person is asked as if nothing had been.
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&second, "id"), "sent")?;
    let arrived = fixture.arrived("team")?;
    ensure!(arrived.len() == 2 && sent["state"] == "sent" && !seen.pages.is_empty(), "{arrived:?}");
    ensure!(fixture.audit("device.cloned")?.is_empty(), "nobody else has its keys");
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_is_refused_and_reported_and_the_true_companion_goes_on() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(card) if card.deniable))?;
    let clone = fixture.impostor()?;
    ensure!(
        fixture.audit("device.cloned")?.is_empty(),
        "it has a session, and nobody has spoken in the other"
    );

    // The true one speaks in its own, once its card has been open for as long as a person needs at least.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let buttons = fixture.companion()?.buttons();
    for edge in [Edge::Pressed, Edge::Released] {
        buttons.send((Button::Deny, edge)).await?;
    }
    let cloned = eventually("it is reported", || Ok(fixture.audit("device.cloned")?.pop()))?;
    ensure!(text(&cloned.detail, "why").contains("revoke it"), "{cloned:?}");
    eventually("the clone's session is over", || Ok(clone.session().is_err().then_some(())))?;
    agent.ended(text(&held, "id"), "denied")?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_goes_back_is_a_clones() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    for message in ["One.", "Two."] {
        let held = agent.send(&json!({"to": "local:team", "message": message}))?;
        fixture.decide(Verdict::Approve).await?;
        agent.ended(text(&held, "id"), "sent")?;
    }
    // An old copy of its memory.
    fixture.switch_off();
    let counter = fixture.folder().path().join("companion/counter");
    ensure!(counter.exists());
    std::fs::write(&counter, "0\n")?;
    fixture.switch_on()?;
    let held = agent.send(&json!({"to": "local:team", "message": "Three."}))?;
    ensure!(fixture.decide(Verdict::Approve).await.is_err(), "its decision was taken");
    let cloned = eventually("it is reported", || Ok(fixture.audit("device.cloned")?.pop()))?;
    ensure!(text(&cloned.detail, "why").contains("counter"), "{cloned:?}");
    ensure!(agent.message(text(&held, "id"))?["state"] == "held");
    let arrived = fixture.arrived("team")?;
    ensure!(arrived.len() == 2, "{arrived:?}");
    fixture.audit_is_whole().await
}
