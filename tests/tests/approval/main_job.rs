//! The main job with nothing but what is in the hub: embedded broker, embedded database, the `local` channel.

use anyhow::{Context as _, Result, ensure};
use ed25519_dalek::SigningKey;
use gatepost::approval::decide::{DecisionError, Outcome};
use gatepost_companion::{Ended, View};
use gatepost_link::{
    Digest,
    decision::{Decision, PublicKey, Statement, Verdict},
    frame::Withdrawal,
    session::SessionHash,
};
use gatepost_tests::{
    hub::{TestHub, client::text, database, eventually},
    main_job::{self, CONFIG},
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_in_order_as_it_was_shown_and_a_denied_one_does_not() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    main_job::goes_well(&mut fixture).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_its_own_conversation_asks_nobody() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (agent, bridge) = (fixture.agent("engineer").await?, fixture.bridge("porch").await?);
    // A bridge and the hub's own inbox take the same way.
    for (somebody, peer) in [(bridge, "ann"), (fixture.operator()?, "bob")] {
        let context = somebody.heard("engineer", peer)?;
        let sent =
            agent.send_and_wait(&json!({"to": "current", "message": "All **well**.", "context": context}))?;
        ensure!(sent["state"] == "sent" && text(&sent, "to") == format!("local:{peer}"), "{sent}");
        let sent = agent.send_and_wait(
            &json!({"to": format!("local:{peer}"), "message": "And you?", "context": context}),
        )?;
        ensure!(sent["state"] == "sent", "{sent}");
        // The conversation says on which channel a bare name is meant.
        let bare = json!({"to": peer, "message": "So?", "context": context});
        let sent = agent.send_and_wait(&bare)?;
        ensure!(sent["state"] == "sent" && text(&sent, "to") == format!("local:{peer}"), "{sent}");
        let arrived = fixture.arrived(peer)?;
        ensure!(
            arrived.len() == 3 && arrived[0].contains("well") && arrived[1..] == ["And you?", "So?"],
            "{arrived:?}"
        );
    }
    ensure!(fixture.audit("message.held")?.is_empty());
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_context_crosses_and_is_held() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:ann", "message": "A timer went off."}))?;
    ensure!(held["state"] == "held", "{held}");
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    let arrived = main_job::arrived_as_shown(&fixture, &sent, &seen, "ann")?;
    ensure!(arrived == ["[engineer] A timer went off."], "{arrived:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_nobody_answers_expires_and_the_agent_is_told() -> Result<()> {
    let config = CONFIG.replace("[approval]", "[approval]\nttl = \"2s\"");
    let mut fixture = TestHub::start(&config).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Anybody there?"}))?;
    let id = text(&held, "id");
    let expired = agent.ended(id, "expired")?;
    ensure!(expired["ok"] == false && expired["code"] == "expired", "{expired}");
    let told = agent.told_of(id)?;
    ensure!(told["state"] == "expired" && text(&told, "error").contains("nobody decided"), "{told}");
    fixture.screen("the card is gone", |screen| !matches!(screen.view, View::Card(_)))?;
    ensure!(fixture.arrived("team")?.is_empty());
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_a_held_message_back_closes_its_card_and_nothing_arrives() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "On second thoughts"}))?;
    let id = text(&held, "id");
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;
    let cancelled = agent.post(&format!("/v1/messages/{id}/cancel"), &json!({}))?.taken()?;
    ensure!(cancelled["state"] == "cancelled" && cancelled["code"] == "cancelled", "{cancelled}");
    let withdrawn = Ended::Withdrawn(Withdrawal::Cancelled);
    fixture.screen(
        "the card is withdrawn",
        |screen| matches!(screen.view, View::Closed { why, .. } if why == withdrawn),
    )?;
    let again = agent.post(&format!("/v1/messages/{id}/cancel"), &json!({}))?;
    ensure!((again.status, &again.body["code"]) == (409, &json!("conflict")), "{again:?}");

    // The lane is not blocked, and nothing of it is left behind.
    let held = agent.send(&json!({"to": "local:team", "message": "Dinner is ready."}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let arrived = fixture.arrived("team")?;
    ensure!(arrived == ["[engineer] Dinner is ready."], "{arrived:?}");
    ensure!(agent.message(id)?["state"] == "cancelled");
    Ok(())
}

/// What a thief would say of this message: an approval, signed by nobody yet.
fn approval(fixture: &TestHub, id: &str, counter: u64, session: SessionHash) -> Result<Statement> {
    let approval = database::approval(&fixture.database()?, id)?;
    Ok(Statement {
        hub: fixture.hub()?.key(),
        device: fixture.device(),
        request: approval.request,
        document: Digest::of(&approval.document),
        verdict: Verdict::Approve,
        counter,
        session,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_and_altered_decisions_in_a_companions_own_session_approve_nothing() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let first = agent.send(&json!({"to": "local:team", "message": "The first."}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&first, "id"), "sent")?;
    let (genuine, _) = database::approval(&fixture.database()?, text(&first, "id"))?.given()?;

    let second = agent.send(&json!({"to": "local:team", "message": "The second."}))?;
    fixture.switch_off();
    // Whoever can seal cannot sign by that.
    let mallory = fixture.impostor()?;
    let statement = approval(&fixture, text(&second, "id"), genuine.counter + 5, mallory.session()?)?;
    let forger = SigningKey::from_bytes(&[7; 32]);
    let its_own = PublicKey(forger.verifying_key().to_bytes());
    let request = statement.request;
    let decisions = [
        ("signed by another key", Statement { device: its_own, ..statement }.sign(&forger)),
        ("signed by another key in the companion's name", statement.sign(&forger)),
        ("given for another request", Decision { request, ..genuine }),
        ("with a counter of its own", Decision { request, counter: genuine.counter + 1, ..genuine }),
        ("turned round", Decision { verdict: Verdict::Deny, ..genuine }),
    ];
    for (number, (what, decision)) in (1..).zip(decisions) {
        mallory.say_decision(decision)?;
        let rejected = eventually(&format!("a decision {what} is rejected"), || {
            Ok(Some(fixture.audit("decision.rejected")?).filter(|lines| lines.len() >= number))
        })?;
        let line = rejected.last().context("a line")?;
        ensure!(
            rejected.len() == number && text(&line.detail, "why").contains("signature"),
            "{what}: {line:?}"
        );
        ensure!(agent.message(text(&second, "id"))?["state"] == "held", "a decision {what} was taken");
    }

    ensure!(fixture.arrived("team")?.len() == 1);
    let stored = database::approval(&fixture.database()?, text(&second, "id"))?;
    ensure!(!stored.is_signed(fixture.hub()?.key(), fixture.device(), Verdict::Approve));
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_said_again_approves_no_other_message_and_nothing_twice() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let first = agent.send(&json!({"to": "local:team", "message": "The first."}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&first, "id"), "sent")?;
    let (genuine, session) = database::approval(&fixture.database()?, text(&first, "id"))?.given()?;
    let second = agent.send(&json!({"to": "local:team", "message": "The second."}))?;

    // In its own session a decision may come twice: its first answer may have been lost.
    let again = fixture.hub()?.approvals().decide(fixture.device(), session, genuine).await?;
    ensure!(again == Outcome::Consumed);
    ensure!(agent.message(text(&second, "id"))?["state"] == "held" && fixture.arrived("team")?.len() == 1);

    // In the next session it is worth nothing at all.
    fixture.restart().await?;
    fixture.switch_off();
    let (agent, mallory) = (fixture.agent("engineer").await?, fixture.impostor()?);
    mallory.say_decision(genuine)?;
    eventually("the old decision is rejected", || Ok(fixture.audit("decision.rejected")?.pop()))?;
    ensure!(agent.message(text(&second, "id"))?["state"] == "held");
    ensure!(fixture.arrived("team")?.len() == 1);
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_forged_decision_the_person_is_still_asked() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    fixture.switch_off();
    // Its last will ends its session, whoever has one under its name by then.
    let operator = fixture.operator()?;
    eventually("the hub knows that it is gone", || {
        let companions = operator.get("/v1/companions")?.taken()?;
        Ok((companions["companions"][0]["online"] == false).then_some(()))
    })?;
    let mallory = fixture.impostor()?;
    let statement = approval(&fixture, text(&held, "id"), 1_000, mallory.session()?)?;
    mallory.say_decision(statement.sign(&SigningKey::from_bytes(&[7; 32])))?;
    eventually("the forged decision is rejected", || Ok(fixture.audit("decision.rejected")?.pop()))?;
    drop(mallory);
    fixture.switch_on()?;
    let seen = fixture.decide(Verdict::Approve).await?;
    let sent = agent.ended(text(&held, "id"), "sent")?;
    main_job::arrived_as_shown(&fixture, &sent, &seen, "team")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_part_that_was_changed_after_it_was_shown_is_not_sent() -> Result<()> {
    let changes = [
        "UPDATE parts SET wire = replace(wire, 'ten', 'ten thousand') WHERE message = (SELECT seq FROM messages WHERE id = ?)",
        "UPDATE parts SET shown = replace(shown, 'ten', 'two') WHERE message = (SELECT seq FROM messages WHERE id = ?)",
        "DELETE FROM parts WHERE message = (SELECT seq FROM messages WHERE id = ?)",
    ];
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    for change in changes {
        let held = agent.send(&json!({"to": "local:shop", "message": "Please send ten eggs."}))?;
        let id = text(&held, "id");
        fixture.write(change, id).await?;
        fixture.decide(Verdict::Approve).await?;
        let failed = agent.ended(id, "failed")?;
        ensure!(failed["code"] == "execution_failed", "{failed}");
        ensure!(text(&failed, "error").contains("not the one that was approved"), "{failed}");
        ensure!(agent.told_of(id)?["state"] == "failed");
    }
    ensure!(fixture.arrived("shop")?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_nobody_allowed_is_neither_asked_nor_heard() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "Shall I?"}))?;
    let id = text(&held, "id");
    fixture.screen("the card", |screen| matches!(screen.view, View::Card(_)))?;

    // The registry still has it; the configuration does not want programs any more.
    fixture
        .restart_with(&CONFIG.replace("allow_software_companion = true", "allow_software_companion = false"))
        .await?;
    let (agent, listener) = (fixture.agent("engineer").await?, fixture.eavesdropper()?);
    fixture.screen("the companion asks for a session and is not answered", |screen| {
        matches!(screen.view, View::Connecting)
    })?;
    listener.say_up(b"anything")?;
    eventually("it was carried", || Ok(listener.up().contains(&b"anything".to_vec()).then_some(())))?;

    // Something that the hub surely did after all of that.
    let other = agent.send(&json!({"to": "local:team", "message": "Or shall I not?"}))?;
    ensure!(other["state"] == "held", "{other}");
    ensure!(agent.message(id)?["state"] == "held");
    ensure!(listener.down().is_empty(), "the hub spoke to a program");
    ensure!(fixture.audit("link.refused")?.is_empty() && fixture.audit("message.ready")?.is_empty());

    // Nor would its word count, had it come through.
    let statement = approval(&fixture, id, 1_000, SessionHash([1; 32]))?;
    let approvals = fixture.hub()?.approvals();
    let refused = approvals.decide(fixture.device(), statement.session, fixture.sign(&statement)).await;
    ensure!(matches!(refused, Err(DecisionError::Device)), "{refused:?}");
    ensure!(agent.message(id)?["state"] == "held" && fixture.arrived("team")?.is_empty());
    fixture.audit_is_whole().await
}
