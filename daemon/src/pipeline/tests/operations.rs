//! What a message does beside bringing text, from the call to the platform; and platforms that can be asked.

use super::*;

async fn refused(fixture: &Fixture, call: Value) -> Refusal {
    hand_in(fixture, call).await.unwrap_err()
}

#[tokio::test]
async fn a_deed_goes_through_the_house_as_a_text_does() {
    let (_directory, one, fixture) = Fixture::of(Platform::default()).await;
    let react = json!({"action": "react", "messageId": 5, "emoji": "👍", "message": null});
    let edit = json!({"action": "edit", "messageId": "5", "message": "**New**"});
    let poll =
        json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"], "message": null});
    for call in [react, edit, poll] {
        let seq = fixture.send_as("courier", "one:ann", call).await;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
    }
    assert_eq!(one.heard("ann"), ["React ", "Edit New", "Poll "]);
    fixture.close().await;
}

#[tokio::test]
async fn a_polls_text_goes_before_it_and_buttons_stand_under_the_last_text() {
    let (_directory, one, fixture) = Fixture::of(Platform::default()).await;
    let call =
        json!({"action": "poll", "message": "Look:", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]});
    let seq = fixture.send_as("courier", "one:ann", call).await;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    assert_eq!(one.heard("ann"), ["Look:", "Poll "]);
    let call = json!({"message": "word ".repeat(30), "buttons": [[{"text": "Go", "callback_data": "g"}]]});
    let seq = fixture.send_as("courier", "one:bob", call).await;
    assert_eq!(fixture.end(seq).await.state, State::Sent);
    let heard = one.heard("bob");
    assert!(heard.len() == 2 && !heard[0].contains("(Go)") && heard[1].ends_with("(Go)"), "{heard:?}");
    fixture.close().await;
}

#[tokio::test]
async fn an_approver_reads_what_a_held_deed_would_do() {
    let (_directory, _, fixture) = Fixture::of(Platform::default()).await;
    let react = json!({"action": "react", "messageId": "5", "emoji": "👍", "message": null});
    let seq = fixture.send_as("asker", "one:ann", react).await;
    let held = fixture.pipeline.outbox().get(seq).await.unwrap();
    assert_eq!((held.state, held.action.as_str()), (State::Held, "react"));
    let parts = fixture.pipeline.outbox().parts(seq).await.unwrap();
    assert_eq!(parts[0].shown, "[react to message 5] 👍");
    fixture.close().await;
}

#[tokio::test]
async fn every_action_is_judged_by_where_it_goes() {
    let (_directory, able, fixture) = Fixture::of(Platform { able: true, ..captioning() }).await;
    let calls = [
        json!({"message": "hi"}),
        json!({"action": "broadcast", "targets": ["one:ann"], "message": "hi"}),
        json!({"action": "reply", "replyToId": "9", "message": "hi"}),
        json!({"action": "thread-reply", "threadId": "9", "message": "hi"}),
        json!({"action": "thread", "threadName": "Plans"}),
        json!({"action": "react", "messageId": "9", "emoji": "👍"}),
        json!({"action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]}),
        json!({"action": "edit", "messageId": "9", "message": "ho"}),
        json!({"action": "delete", "messageId": "9"}),
        json!({"action": "pin", "messageId": "9"}),
        json!({"action": "unpin", "messageId": "9"}),
        json!({"action": "timeout", "userId": "7", "durationMinutes": 5}),
        json!({"action": "kick", "userId": "7"}),
        json!({"action": "ban", "userId": "7"}),
        json!({"action": "sendWithEffect", "effect": "slam", "message": "hi"}),
        json!({"action": "sendAttachment", "attachments": [{"base64": "aGk="}]}),
        json!({"action": "setPresence", "channel": "one", "status": "away"}),
    ];
    assert_eq!(calls.len(), Action::ALL.len());
    for (mut call, action) in calls.into_iter().zip(Action::ALL) {
        if !matches!(action, Action::Broadcast | Action::SetPresence) {
            call["to"] = "one:ann".into();
        }
        let call = Call::parse(&call, &CHANNELS).unwrap();
        let receipt = fixture.pipeline.submit("asker", call.clone(), Idempotency::NONE).await.unwrap();
        assert_eq!(receipt.state, State::Held, "{}", action.word());
        let refusal = fixture.pipeline.submit("homely", call, Idempotency::NONE).await.unwrap_err();
        assert_eq!(refusal.reason, Some("cross_context"), "{}: {refusal:?}", action.word());
    }
    assert!(able.heard.lock().unwrap().is_empty());
    fixture.close().await;
}

#[tokio::test]
async fn a_threads_name_says_whose_it_is_where_nothing_else_of_it_is_read() {
    let (_directory, _, fixture) = Fixture::of(captioning()).await;
    let mut shown = Vec::new();
    for message in [Value::Null, json!("Hello")] {
        let call = json!({"action": "thread", "threadName": "Plans", "message": message});
        let seq = fixture.send_as("courier", "one:ann", call).await;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
        shown.push(fixture.pipeline.outbox().parts(seq).await.unwrap().remove(0).shown);
    }
    assert_eq!(shown, ["[new thread] [courier] Plans", "[new thread] Plans\n[courier] Hello"]);
    fixture.close().await;
}

#[tokio::test]
async fn what_a_platform_cannot_do_is_refused_at_the_door_with_what_to_do_instead() {
    let (_directory, _, fixture) = Fixture::of(Platform::default()).await;
    let pin = refused(&fixture, json!({"action": "pin", "to": "one:ann", "messageId": "5"})).await;
    assert_eq!((pin.reason, pin.hint.as_str()), (Some("not_supported"), "write it again"));
    let kick = refused(&fixture, json!({"action": "kick", "to": "one:ann", "userId": "5"})).await;
    assert_eq!(kick.error, "test has no action \"kick\"");
    assert_eq!(kick.hint, "ask somebody who runs the conversation");
    let button = |text: &str, data: &str| json!({"text": text, "callback_data": data});
    let with = |buttons: Value| json!({"to": "one:ann", "message": "Hi", "buttons": buttons});
    for (call, reason) in [
        (with(json!([[button("longer", "x")]])), "over_the_bound"),
        (with(json!([[button("Go", "12345")]])), "over_the_bound"),
        (with(json!([[button("a", "a"), button("b", "b"), button("c", "c")]])), "over_the_bound"),
        (with(json!([[{"text": "Go", "url": "https://a.test/"}]])), "not_supported"),
        (json!({"to": "one:ann", "message": "Hi", "card": {}}), "not_supported"),
        (
            json!({"to": "one:ann", "action": "poll", "pollQuestion": "Tea?", "pollOption": ["a", "b", "c", "d"]}),
            "over_the_bound",
        ),
        (
            json!({"to": "one:ann", "action": "poll", "pollQuestion": "Tea?", "pollOption": ["a", "b"], "pollMulti": true}),
            "not_supported",
        ),
        (
            json!({"to": "one:ann", "action": "sendWithEffect", "message": "Hi", "effect": "slam"}),
            "not_supported",
        ),
    ] {
        assert_eq!(refused(&fixture, call.clone()).await.reason, Some(reason), "{call}");
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_new_text_that_is_too_long_for_one_message_is_refused() {
    let (_directory, _, fixture) = Fixture::of(Platform::default()).await;
    let call = json!({"action": "edit", "to": "one:ann", "messageId": "5", "message": "word ".repeat(30)});
    let receipt = hand_in(&fixture, call).await.unwrap();
    assert_eq!((receipt.state, receipt.code.as_deref()), (State::Failed, Some("too_large")));
    fixture.close().await;
}

#[tokio::test]
async fn a_platform_that_can_tell_is_asked_before_anything_is_sent_again() {
    for (found, end, sent) in [
        (Ok(Some("x9".to_owned())), State::Sent, 1),
        (Ok(None), State::Sent, 2),
        (Err(Failure::Permanent("no rights to look".into())), State::Unknown, 1),
    ] {
        let (_directory, one, fixture) = Fixture::of(Platform::default()).await;
        *one.found.lock().unwrap() = Some(found);
        one.answers("ann", Failure::Unknown("no answer".into()));
        let seq = fixture.send("one:ann", "Hello").await;
        let row = fixture.until(seq, |row| row.reason.is_some()).await;
        assert_eq!(row.state, State::Ready);
        fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
        let receipt = fixture.end(seq).await;
        assert_eq!((receipt.state, one.heard("ann").len()), (end, sent), "{receipt:?}");
        fixture.close().await;
    }
}

#[tokio::test]
async fn what_a_platform_does_not_show_is_unknown_unless_it_may_come_twice() {
    for (found, on, end, sent) in [
        (Ok(Some("x9".to_owned())), OnUnknown::Report, State::Sent, 1),
        (Ok(None), OnUnknown::Report, State::Unknown, 1),
        (Ok(None), OnUnknown::Resend, State::Sent, 2),
    ] {
        let (directory, _, two) = platforms();
        let one = Arc::new(Platform { looks: true, ..Platform::default() });
        let fixture = Fixture::with(directory.path(), &one, &two, on).await;
        *one.found.lock().unwrap() = Some(found);
        one.answers("ann", Failure::Unknown("no answer".into()));
        let seq = fixture.send("one:ann", "Hello").await;
        let row = fixture.until(seq, |row| row.reason.is_some()).await;
        assert_eq!(row.state, State::Ready);
        fixture.set(seq, "UPDATE messages SET due_at = 0 WHERE seq = ?").await;
        let receipt = fixture.end(seq).await;
        assert_eq!((receipt.state, one.heard("ann").len()), (end, sent), "{receipt:?}");
        let unseen = receipt.error.is_some_and(|error| error.contains("does not show it"));
        assert_eq!(unseen, end == State::Unknown);
        fixture.close().await;
    }
}

#[tokio::test]
async fn what_a_platform_would_never_take_fails_before_anything_leaves() {
    let (_directory, one, fixture) = Fixture::of(captioning()).await;
    let poll =
        json!({"to": "one:ann", "action": "poll", "pollQuestion": "Tea?", "pollOption": ["Yes", "No"]});
    let text = json!({"to": "one:ann", "message": "It is unheard of."});
    // With whose it is before it, the question has more than ten characters.
    for (call, why) in [(poll, "the question: 14 characters"), (text, "say something else")] {
        let receipt = hand_in(&fixture, call).await.unwrap();
        assert_eq!(receipt.state, State::Failed);
        assert!(receipt.error.as_ref().is_some_and(|error| error.contains(why)), "{receipt:?}");
    }
    assert!(one.heard("ann").is_empty());
    fixture.close().await;
}

/// What becomes of a notification to an account, which only tells of parts.
async fn told(
    fixture: &Fixture,
    channel: &str,
    account: &str,
    proof: &str,
    body: &[u8],
) -> Result<usize, Refusal> {
    fixture.pipeline.read_callback(channel, account, proof, body, &HubMock::default()).await
}

#[tokio::test]
async fn what_a_platform_tells_later_settles_what_nobody_knew_and_nothing_else() {
    for (arrives, state) in [(true, State::Sent), (false, State::Failed)] {
        let (_directory, one, fixture) = Fixture::of(Platform::default()).await;
        one.answers("ann", Failure::Unknown("no answer".into()));
        let receipt = hand_in(&fixture, json!({"to": "one:ann", "message": "Hello"})).await.unwrap();
        let outbox = fixture.pipeline.outbox();
        let seq = outbox.find(&receipt.id.0).await.unwrap().unwrap().seq;
        assert_eq!(fixture.end(seq).await.state, State::Unknown);
        let key = outbox.parts(seq).await.unwrap()[0].key.clone();
        let word = if arrives { "arrived" } else { "failed" };
        // Neither another account, nor a signature that is none, nor a key of nothing.
        let body = format!("{word} {key}");
        assert!(told(&fixture, "one", "nobody", "signed", body.as_bytes()).await.is_err());
        assert!(told(&fixture, "one", "home", "forged", body.as_bytes()).await.is_err());
        assert_eq!(told(&fixture, "two", "home", "signed", body.as_bytes()).await, Ok(0));
        assert_eq!(told(&fixture, "one", "home", "signed", b"arrived 0").await, Ok(0));
        assert_eq!(fixture.end(seq).await.state, State::Unknown);
        assert_eq!(told(&fixture, "one", "home", "signed", body.as_bytes()).await, Ok(1));
        assert_eq!(fixture.end(seq).await.state, state);
        let part = outbox.parts(seq).await.unwrap().remove(0);
        assert_eq!(part.platform_id.as_deref(), arrives.then_some("told"));
        // The agent hears of both ends.
        let notices = outbox.notices("courier", 0, 10).await.unwrap();
        assert_eq!(notices.len(), 2, "{notices:?}");
        // It is told twice, and it is done.
        assert_eq!(told(&fixture, "one", "home", "signed", body.as_bytes()).await, Ok(0));
        fixture.close().await;
    }
}

#[tokio::test]
async fn what_a_platform_did_not_deliver_after_all_has_failed_or_goes_as_what_was_approved_for_that() {
    let (_directory, one, fixture) = Fixture::of(Platform::default()).await;
    let outbox = fixture.pipeline.outbox();
    for (word, state, heard) in [("failed", State::Failed, 1), ("otherwise", State::Sent, 2)] {
        let address = format!("one:{word}");
        let seq = fixture.send(&address, "Hello").await;
        assert_eq!(fixture.end(seq).await.state, State::Sent);
        let key = outbox.parts(seq).await.unwrap()[0].key.clone();
        let tell = async |channel: &str, word: &str| {
            let body = format!("{word} {key}");
            told(&fixture, channel, "home", "signed", body.as_bytes()).await
        };
        // That it has arrived is no news, and no other account's business.
        assert_eq!((tell("one", "arrived").await, tell("two", word).await), (Ok(0), Ok(0)));
        // Of another attempt than the one that was confirmed, nothing is believed.
        outbox
            .change(seq, move |tx| {
                Ok(tx.execute("UPDATE parts SET platform_id = 'later' WHERE message = ?", [seq])?)
            })
            .await
            .unwrap();
        assert_eq!(tell("one", word).await, Ok(0));
        outbox
            .change(seq, move |tx| {
                Ok(tx.execute("UPDATE parts SET platform_id = 'x' WHERE message = ?", [seq])?)
            })
            .await
            .unwrap();
        assert_eq!(tell("one", word).await, Ok(1));
        let receipt = fixture.end(seq).await;
        assert_eq!(receipt.state, state, "{receipt:?}");
        assert_eq!(one.heard(word).len(), heard);
        let notices = outbox.notices("courier", 0, 10).await.unwrap();
        assert_eq!(notices.len(), 1, "the agent hears that it failed, and of nothing else: {notices:?}");
    }
    fixture.close().await;
}
