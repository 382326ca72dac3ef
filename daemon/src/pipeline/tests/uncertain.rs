//! Outcomes that are not simply yes or no: questions that nobody answers, what a look is measured by, and groups of which some
//! were reached.

use super::*;

/// Its answer is lost, and it can be looked at.
async fn lost(one: &Arc<Platform>, directory: &Path, on: OnUnknown) -> (Fixture, i64) {
    let fixture = Fixture::with(directory, one, &Arc::default(), on).await;
    one.answers("ann", Failure::Unknown("no answer".into()));
    let seq = fixture.send("one:ann", "first").await;
    fixture.until(seq, |row| row.reason.is_some() && row.state == State::Ready).await;
    (fixture, seq)
}

#[tokio::test]
async fn a_question_that_is_never_answered_is_given_up_and_the_next_message_goes() {
    let directory = tempfile::tempdir().unwrap();
    let one = Arc::new(Platform { looks: true, deaf: true, ..Platform::default() });
    let (fixture, first) = lost(&one, directory.path(), OnUnknown::Report).await;
    let second = fixture.send("one:ann", "second").await;
    let asked = |one: &Platform| one.stood.lock().unwrap().len();
    for n in 1..MAX_QUESTIONS as usize {
        fixture.set(first, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
        let row =
            fixture.until(first, |row| row.state == State::Ready && row.due_at > 0 && asked(&one) == n).await;
        let pause = row.due_at - now_ms();
        assert!(pause <= 132_000, "{pause} ms until question {}", n + 1);
    }
    assert_eq!(fixture.pipeline.outbox().get(second).await.unwrap().state, State::Ready);
    fixture.set(first, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    let receipt = fixture.end(first).await;
    assert_eq!((receipt.state, asked(&one)), (State::Unknown, MAX_QUESTIONS as usize), "{receipt:?}");
    let why = receipt.error.unwrap();
    assert!(why.contains("asked 6 times") && why.contains("nobody answers"), "{why}");
    assert_eq!(fixture.end(second).await.state, State::Sent);
    assert_eq!(one.heard("ann").len(), 2, "nothing went a second time");
    fixture.close().await;
}

#[tokio::test]
async fn who_prefers_two_to_none_does_not_wait_for_a_platform_that_does_not_answer() {
    let directory = tempfile::tempdir().unwrap();
    let one = Arc::new(Platform { looks: true, deaf: true, ..Platform::default() });
    let (fixture, seq) = lost(&one, directory.path(), OnUnknown::Resend).await;
    let asked = |one: &Platform| one.stood.lock().unwrap().len();
    for n in 1..=MAX_QUESTIONS as usize {
        fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
        fixture.until(seq, |row| row.state == State::Ready && row.due_at > 0 && asked(&one) == n).await;
    }
    fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    assert_eq!(one.heard("ann").len(), 2);
    fixture.close().await;
}

#[tokio::test]
async fn where_a_conversation_stood_before_a_request_left_is_known_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let one = Arc::new(Platform { looks: true, ..Platform::default() });
    *one.stands.lock().unwrap() = Some(Ok(Some("row 7".into())));
    let (fixture, seq) = lost(&one, directory.path(), OnUnknown::Report).await;
    fixture.close().await;
    // What arrived meanwhile is part of where it stands now.
    *one.stands.lock().unwrap() = Some(Ok(Some("row 8".into())));
    *one.found.lock().unwrap() = Some(Ok(Some("x9".into())));
    let fixture = Fixture::open(directory.path(), &one, &Arc::default()).await;
    fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    assert_eq!(*one.stood.lock().unwrap(), [Some("row 7".to_owned())]);
    fixture.close().await;
}

#[tokio::test]
async fn nothing_leaves_while_nobody_says_where_the_conversation_stands() {
    let directory = tempfile::tempdir().unwrap();
    let one = Arc::new(Platform { looks: true, ..Platform::default() });
    *one.stands.lock().unwrap() = Some(Err(Failure::Unknown("no answer".into())));
    let fixture = Fixture::open(directory.path(), &one, &Arc::default()).await;
    let seq = fixture.send("one:ann", "Hello").await;
    fixture.until(seq, |row| row.attempts == 1).await;
    assert!(one.heard("ann").is_empty());
    *one.stands.lock().unwrap() = None;
    fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    fixture.close().await;
}

#[tokio::test]
async fn how_long_a_lost_request_has_been_away_is_counted_from_the_first_that_may_have_arrived() {
    let directory = tempfile::tempdir().unwrap();
    let one = Arc::new(Platform { looks: true, deaf: true, ..Platform::default() });
    one.answers("ann", Failure::Retry("not now".into()));
    let fixture = Fixture::open(directory.path(), &one, &Arc::default()).await;
    let seq = fixture.send("one:ann", "Hello").await;
    fixture.until(seq, |row| row.attempts == 1).await;
    // What was refused an hour ago is not on its way.
    fixture.set(seq, "UPDATE parts SET first_sent_at = first_sent_at - 3600000 WHERE message = ?").await;
    one.answers("ann", Failure::Unknown("no answer".into()));
    let before = now_ms();
    fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    fixture.until(seq, |row| row.attempts == 2).await;
    let left = || async { fixture.pipeline.outbox().parts(seq).await.unwrap()[0].first_sent_at.unwrap() };
    let lost = left().await;
    assert!((before..=now_ms()).contains(&lost), "{lost}");
    // To ask what became of it changes nothing.
    fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
    fixture.until(seq, |row| row.attempts == 3).await;
    assert_eq!(left().await, lost);
    fixture.close().await;
}

#[tokio::test]
async fn who_was_not_reached_stands_in_the_receipt_and_in_the_agents_inbox() {
    let directory = tempfile::tempdir().unwrap();
    let one = Arc::new(Platform::default());
    let fixture = Fixture::open(directory.path(), &one, &Arc::default()).await;
    let reached = |reached| {
        let carol = Unreached { who: "Carol".into(), why: "not on Signal".into() };
        Recipients { reached, of: 3, failed: (reached < 3).then_some(carol).into_iter().collect() }
    };
    for (whom, notices) in [(reached(3), 0), (reached(2), 1)] {
        *one.reached.lock().unwrap() = Some(whom.clone());
        let seq = fixture.send("one:group", "Hello").await;
        let receipt = fixture.end(seq).await;
        assert_eq!((receipt.state, receipt.ok), (State::Sent, true));
        assert_eq!(receipt.parts[0].recipients.as_ref(), Some(&whom));
        let detail = whom.is_partial().then(|| "2 of 3 members; not: Carol (not on Signal)".to_owned());
        assert_eq!(receipt.detail, detail);
        let told = fixture.pipeline.outbox().notices("courier", 0, 10).await.unwrap();
        assert_eq!(told.len(), notices);
        assert!(told.iter().all(|notice| notice.receipt["detail"] == json!(detail)), "{told:?}");
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_lost_answer_is_reported_or_resent_as_the_account_or_the_call_says() {
    let lost = || Failure::Unknown("no answer".into());
    for (on, call, resent) in [
        (OnUnknown::Report, json!({}), false),
        (OnUnknown::Resend, json!({}), true),
        (OnUnknown::Report, json!({"onUnknown": "resend"}), true),
        (OnUnknown::Resend, json!({"onUnknown": "report"}), false),
    ] {
        let (directory, one, two) = platforms();
        let fixture = Fixture::with(directory.path(), &one, &two, on).await;
        one.answers("ann", lost());
        let seq = fixture.send_as("courier", "one:ann", call).await;
        let row = fixture.until(seq, |row| row.reason.is_some()).await;
        if resent {
            assert_eq!(row.state, State::Ready);
            fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
        }
        let expected = if resent { (State::Sent, 2) } else { (State::Unknown, 1) };
        assert_eq!((fixture.end(seq).await.state, one.heard("ann").len()), expected);
        fixture.close().await;
    }
}

#[tokio::test]
async fn what_may_have_arrived_is_unknown_also_when_its_time_is_over() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::with(directory.path(), &one, &two, OnUnknown::Resend).await;
    one.answers("ann", Failure::Unknown("no answer".into()));
    let seq = fixture.send("one:ann", "Hello").await;
    fixture.until(seq, |row| row.reason.is_some()).await;
    fixture.set(seq, "UPDATE messages SET deadline = 1 WHERE seq = ?").await;
    let receipt = fixture.end(seq).await;
    assert_eq!(receipt.state, State::Unknown, "{receipt:?}");
    assert_eq!(receipt.code.as_deref(), Some("unknown_outcome"));
    fixture.close().await;
}
