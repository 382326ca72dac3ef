//! Policy is judged again when a lane takes a message.

use super::*;

async fn queued(rights: AgentRules) -> (Fixture, Arc<Platform>, i64) {
    let platform = Arc::new(Platform::default());
    let fixture = Fixture::with("local", platform.clone(), rights);
    let receipt = fixture.submit(&to("local", "ann")).await.unwrap();
    let seq = fixture.pipeline.outbox().find(&receipt.id.0).await.unwrap().unwrap().seq;
    (fixture, platform, seq)
}

/// What becomes of it in a hub with these rules.
async fn ends(fixture: &Fixture, platform: &Arc<Platform>, seq: i64, rules: AgentRules) -> Receipt {
    let again = pipeline(fixture.pipeline.outbox().clone(), "local", platform.clone(), rules);
    let (stop, stopped) = oneshot::channel();
    let dispatcher = tokio::spawn(Current::new(again.clone()).dispatch(stopped));
    let receipt = again.wait(seq, PATIENCE).await.unwrap();
    let _ = stop.send(());
    dispatcher.await.unwrap();
    receipt
}

fn free() -> AgentRules {
    rules(&["local:*"], &[], CrossContext::Allow)
}

#[tokio::test]
async fn what_is_not_allowed_any_more_is_not_sent_and_its_agent_is_told() {
    for now in [rules(&["local:bob"], &[], CrossContext::Allow), rules(&["local:*"], &[], CrossContext::Deny)]
    {
        let (fixture, platform, seq) = queued(free()).await;
        let receipt = ends(&fixture, &platform, seq, now).await;
        assert_eq!(
            (receipt.state, receipt.code.as_deref()),
            (State::Failed, Some("not_allowed")),
            "{receipt:?}"
        );
        assert!(platform.heard("ann").is_empty());
        let notices = fixture.pipeline.outbox().notices("a", 0, 10).await.unwrap();
        assert_eq!(notices[0].receipt["code"], "not_allowed");
    }
}

#[tokio::test]
async fn what_is_still_allowed_is_sent() {
    let (fixture, platform, seq) = queued(free()).await;
    let receipt = ends(&fixture, &platform, seq, rules(&["local:ann"], &[], CrossContext::Allow)).await;
    assert_eq!((receipt.state, platform.heard("ann").len()), (State::Sent, 1));
}

#[tokio::test]
async fn what_a_revoked_token_handed_in_is_not_sent_and_what_the_next_one_does_is() {
    for renewed in [false, true] {
        let (fixture, platform, seq) = queued(free()).await;
        let store = fixture.pipeline.outbox().store();
        agents::add(store, "a", Role::Agent, "operator").await.unwrap();
        // They are told apart by the clock.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        agents::revoke(store, "a", "operator").await.unwrap();
        if renewed {
            agents::add(store, "a", Role::Agent, "operator").await.unwrap();
        }
        let receipt = ends(&fixture, &platform, seq, free()).await;
        assert_eq!((receipt.state, receipt.code.as_deref()), (State::Failed, Some("not_allowed")));
        if renewed {
            let next = fixture.submit(&to("local", "bob")).await.unwrap();
            let seq = fixture.pipeline.outbox().find(&next.id.0).await.unwrap().unwrap().seq;
            assert_eq!(ends(&fixture, &platform, seq, free()).await.state, State::Sent);
        }
    }
}

#[tokio::test]
async fn a_person_who_must_be_asked_by_now_was_not_and_one_who_approved_is_not_asked_again() {
    let holding = || rules(&["local:*"], &["local:ann"], CrossContext::Allow);
    let (fixture, platform, seq) = queued(free()).await;
    let receipt = ends(&fixture, &platform, seq, holding()).await;
    assert_eq!(receipt.code.as_deref(), Some("not_allowed"), "{receipt:?}");

    let (fixture, platform, seq) = queued(holding()).await;
    approve(&fixture, seq).await;
    let receipt = ends(&fixture, &platform, seq, rules(&["local:*"], &["local:*"], CrossContext::Hold)).await;
    assert_eq!((receipt.state, platform.heard("ann").len()), (State::Sent, 1), "{receipt:?}");

    let (fixture, platform, seq) = queued(holding()).await;
    approve(&fixture, seq).await;
    let receipt = ends(&fixture, &platform, seq, rules(&["local:bob"], &[], CrossContext::Allow)).await;
    assert_eq!(receipt.code.as_deref(), Some("not_allowed"), "{receipt:?}");
    assert!(platform.heard("ann").is_empty(), "an approval outlived its agent's rights");
}

/// As if a companion had.
async fn approve(fixture: &Fixture, seq: i64) {
    use crate::{
        message::state::{Actor, Event},
        outbox::transition::{self, Change},
    };
    let outbox = fixture.pipeline.outbox();
    let approved = outbox.change(seq, move |tx| {
        tx.execute("UPDATE approvals SET verdict = 'approve', decided_at = 1 WHERE message = ?", [seq])?;
        let by =
            Change { actor: Actor::Approver, by: "companion:kitchen", ..Change::hub(Event::Approve, None) };
        transition::apply(tx, seq, &by).map(drop)
    });
    approved.await.unwrap();
}
