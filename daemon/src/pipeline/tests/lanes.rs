//! The order of one conversation, and what waits without keeping others waiting.

use super::*;

#[tokio::test]
async fn a_platform_that_answers_nobody_delays_no_other() {
    let (directory, _, two) = platforms();
    let silent = Arc::new(Platform { silent: true, ..Platform::default() });
    let fixture = Fixture::open(directory.path(), &silent, &two).await;
    for n in 0..AT_ONCE + 20 {
        fixture.send(&format!("one:{n}"), "Hello").await;
    }
    for n in 0..20 {
        let seq = fixture.send(&format!("two:{n}"), "Hello").await;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
    }
    assert_eq!(silent.heard.lock().unwrap().len(), AT_ONCE, "and it holds a bounded number of connections");
    fixture.dispatcher.abort();
}

#[tokio::test]
async fn what_waits_keeps_its_lane_in_order_and_no_other_lane() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    one.answers("ann", Failure::Retry("away".into()));
    let first = fixture.send("one:ann", "first").await;
    let due = fixture.until(first, |row| row.attempts == 1).await.due_at - now_ms();
    assert!((4_000..=5_500).contains(&due), "{due}");
    let second = fixture.send("one:ann", "second").await;
    let other = fixture.send("one:bob", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(second).await.unwrap().state, State::Ready);
    fixture.set(first, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    assert_eq!(fixture.end(second).await.state, State::Sent);
    assert_eq!(one.heard("ann"), ["first", "first", "second"]);
    fixture.close().await;
}

#[tokio::test]
async fn a_held_message_blocks_nobody() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let held = fixture.send_as("asker", "one:ann", json!({})).await;
    let other = fixture.send("one:ann", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(held).await.unwrap().state, State::Held);
    fixture.close().await;
}

#[tokio::test]
async fn a_pause_is_kept_by_all_that_goes_the_same_way_also_after_a_restart_and_spends_no_attempt() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    one.answers("ann", wait(6_775));
    let first = fixture.send("one:ann", "first").await;
    let row = fixture.until(first, |row| row.reason.is_some()).await;
    let due = row.due_at - now_ms();
    assert!((6_770_000..=6_775_000).contains(&due), "{due}");
    assert_eq!((row.attempts, row.state), (0, State::Ready));
    // Its successor does not try in its place, nor after a restart.
    fixture.pipeline.cancel(first, crate::message::state::Actor::Operator, "test").await.unwrap();
    let second = fixture.send("one:ann", "second").await;
    fixture.close().await;
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let other = fixture.send("one:bob", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(second).await.unwrap().state, State::Ready);
    assert_eq!(one.heard("ann"), ["first"]);

    // What is said of an account holds for all of its conversations.
    one.says.lock().unwrap().push(Allowance::none(Scope::Account, Duration::from_secs(6_775)));
    let last = fixture.send("one:bob", "last").await;
    assert_eq!(fixture.end(last).await.state, State::Sent);
    let waits = fixture.send("one:carol", "waits").await;
    let other = fixture.send("two:carol", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.pipeline.outbox().get(waits).await.unwrap().state, State::Ready);
    assert!(one.heard("carol").is_empty());
    fixture.close().await;
}

#[tokio::test]
async fn a_platforms_own_numbers_are_kept_to_by_the_lanes_that_they_are_about() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let lasts = Duration::from_millis(1_500);
    let route = Allowance { scope: Scope::Chat, quota: "route".into(), left: 1, lasts };
    one.says.lock().unwrap().push(route);
    let since = std::time::Instant::now();
    let first = fixture.send("one:ann", "first").await;
    assert_eq!(fixture.end(first).await.state, State::Sent);
    let second = fixture.send("one:ann", "second").await;
    let long = "All work and no play makes Jack a dull boy. ".repeat(5);
    let third = fixture.send_as("courier", "one:ann", json!({"message": long, "bestEffort": true})).await;
    let other = fixture.send("one:bob", "other").await;
    assert_eq!(fixture.end(other).await.state, State::Sent);
    assert_eq!(fixture.end(second).await.state, State::Sent);
    assert_eq!(one.heard("ann"), ["first", "second"]);
    assert_eq!(fixture.end(third).await.state, State::Sent, "what is brief drops nothing");
    assert!(since.elapsed() >= lasts, "{:?}", since.elapsed());
    fixture.close().await;
}

#[tokio::test]
async fn a_message_of_which_nothing_more_goes_says_how_far_it_came() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    // The pause comes with the answer to the first part.
    one.says.lock().unwrap().push(Allowance::none(Scope::Account, Duration::from_secs(6_775)));
    let long = "All work and no play makes Jack a dull boy. ".repeat(5);
    let seq = fixture.send_as("courier", "one:ann", json!({"message": long, "bestEffort": true})).await;
    let receipt = fixture.end(seq).await;
    assert_eq!(receipt.state, State::Failed);
    assert_eq!(receipt.sent.as_deref(), Some("1 of 3"));
    let error = receipt.error.unwrap();
    assert!(error.contains("pause") && error.contains("bestEffort"), "{error}");
    fixture.close().await;
}
