//! What is done to messages, threads and people.

use super::*;

#[tokio::test]
async fn every_action_goes_where_it_belongs() {
    let part = part("New");
    let (message, user, reason) = ("5".to_owned(), "99".to_owned(), Some("rude, ü\n".to_owned()));
    let react =
        |emoji: &str, remove| Operation::React { message: message.clone(), emoji: emoji.into(), remove };
    let of_message: [(Operation, &str, &str); 7] = [
        (react("👍", false), "PUT", "/channels/42/messages/5/reactions/%F0%9F%91%8D/@me"),
        (react("party:123", true), "DELETE", "/channels/42/messages/5/reactions/party:123/@me"),
        (react("a/../b", false), "PUT", "/channels/42/messages/5/reactions/a%2F..%2Fb/@me"),
        (Operation::Delete { message: message.clone() }, "DELETE", "/channels/42/messages/5"),
        (Operation::Pin { message: message.clone() }, "PUT", "/channels/42/messages/pins/5"),
        (Operation::Unpin { message: message.clone() }, "DELETE", "/channels/42/messages/pins/5"),
        (Operation::Edit { message: message.clone() }, "PATCH", "/channels/42/messages/5"),
    ];
    for (operation, method, path) in of_message {
        let (done, heard) = perform(operation, Some(&part), &[CHANNEL, DONE]).await;
        assert_eq!(done.unwrap(), "5", "{path}");
        is(&heard[1], &format!("{method} /api/v10{path}"));
    }
    let of_person: [(Operation, &str, &str); 3] = [
        (
            Operation::Timeout { user: user.clone(), seconds: 60, reason: reason.clone() },
            "PATCH",
            "/guilds/77/members/99",
        ),
        (Operation::Kick { user: user.clone(), reason: reason.clone() }, "DELETE", "/guilds/77/members/99"),
        (Operation::Ban { user, reason }, "PUT", "/guilds/77/bans/99"),
    ];
    for (operation, method, path) in of_person {
        let (done, heard) = perform(operation, None, &[CHANNEL, DONE]).await;
        assert_eq!(done.unwrap(), "99", "{path}");
        is(&heard[0], "GET /api/v10/channels/42");
        is(&heard[1], &format!("{method} /api/v10{path}"));
        assert!(heard[1].contains("x-audit-log-reason: rude%2C%20%C3%BC%0A\r\n"), "{}", heard[1]);
    }
}

#[tokio::test]
async fn a_time_out_ends_within_28_days() {
    let timeout = |seconds| Operation::Timeout { user: "99".into(), seconds, reason: None };
    let (_, heard) = perform(timeout(600), None, &[CHANNEL, DONE]).await;
    let until = body(&heard[1])["communication_disabled_until"].clone();
    let until: jiff::Timestamp = until.as_str().unwrap().parse().unwrap();
    let left = until.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((590..=600).contains(&left), "{left}");
    let (_, heard) = perform(timeout(0), None, &[CHANNEL, DONE]).await;
    assert_eq!(body(&heard[1]), json!({"communication_disabled_until": null}));
    let (failure, heard) = perform(timeout(28 * 86_400 + 1), None, &[CHANNEL, DONE]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.is_empty(), "{failure:?}");
}

#[tokio::test]
async fn what_is_no_id_is_in_no_address() {
    for message in ["", "..", "5/../6", "@me", "{guild}", "5?x=1"] {
        for operation in [
            Operation::Delete { message: message.into() },
            Operation::Thread { name: "a".into(), message: Some(message.into()) },
            Operation::Ban { user: message.into(), reason: None },
        ] {
            let (failure, heard) = perform(operation, None, &[DONE]).await;
            assert!(matches!(failure, Err(Failure::Permanent(_))), "{message:?}: {failure:?}");
            assert!(heard.is_empty(), "{heard:?}");
        }
    }
    for emoji in ["", "..", "."] {
        let operation = Operation::React { message: "5".into(), emoji: emoji.into(), remove: true };
        assert!(matches!(perform(operation, None, &[DONE]).await.0, Err(Failure::Permanent(_))), "{emoji:?}");
    }
}

#[tokio::test]
async fn a_thread_is_made_once_and_its_first_message_stands_in_it() {
    const MADE: Reply = Reply::Says(201, "", r#"{"id":"31","type":11}"#);
    const NEWS: Reply = Reply::Says(200, "", r#"{"id":"42","type":5,"guild_id":"77"}"#);
    const FORUM: Reply = Reply::Says(200, "", r#"{"id":"42","type":15,"guild_id":"77"}"#);
    let (part, thread) = (part("Hello"), |message: Option<&str>| Operation::Thread {
        name: "June".into(),
        message: message.map(Into::into),
    });
    let (made, heard) = perform(thread(Some("5")), Some(&part), &[CHANNEL, MADE, SENT]).await;
    assert_eq!(made.unwrap(), "31");
    is(&heard[1], "POST /api/v10/channels/42/messages/5/threads");
    assert_eq!(body(&heard[1]), json!({"name": "June"}));
    is(&heard[2], "POST /api/v10/channels/31/messages");
    assert_eq!(
        (&body(&heard[2])["content"], &body(&heard[2])["enforce_nonce"]),
        (&json!("Hello"), &json!(true))
    );

    let (made, heard) = perform(thread(None), None, &[CHANNEL, MADE]).await;
    assert_eq!(made.unwrap(), "31");
    is(&heard[1], "POST /api/v10/channels/42/threads");
    assert_eq!(body(&heard[1]), json!({"name": "June", "type": 11}));
    let (_, heard) = perform(thread(None), None, &[NEWS, MADE]).await;
    assert_eq!(body(&heard[1])["type"], 10);

    let (made, heard) = perform(thread(None), Some(&part), &[FORUM, MADE]).await;
    assert_eq!((made.unwrap().as_str(), heard.len()), ("31", 2));
    assert_eq!(
        (&body(&heard[1])["name"], &body(&heard[1])["message"]["content"]),
        (&json!("June"), &json!("Hello"))
    );
    let (failure, heard) = perform(thread(None), None, &[FORUM, MADE]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.len() == 1, "{failure:?}");

    // Whatever becomes of the message, there is no second thread.
    for (script, kind) in [
        (&[CHANNEL, MADE, FORBIDDEN] as &'static [Reply], "Permanent"),
        (&[CHANNEL, MADE, Reply::Says(503, "", "{}")], "Permanent"),
        (&[CHANNEL, MADE, Reply::Says(500, "", "{}")], "Unknown"),
        (&[CHANNEL, MADE, Reply::Close], "Unknown"),
    ] {
        let why = why(&perform(thread(None), Some(&part), script).await.0.unwrap_err());
        assert!(why.starts_with(kind) && why.contains("thread 31 is there"), "{why}");
    }
}

#[tokio::test]
async fn nobody_is_put_out_of_a_conversation_of_two() {
    const DM: Reply = Reply::Says(200, "", r#"{"id":"900","type":1}"#);
    let mock = Mock::start(&[DM, DM, DONE]);
    let discord = new(mock.port, Secret::from(TOKEN));
    let operation = Operation::Kick { user: "99".into(), reason: None };
    let op = OperationRequest {
        address: "@99",
        thread: None,
        reply_to: None,
        silent: false,
        operation: &operation,
        part: None,
    };
    let failure = discord.delivered(&discord.composed_operation(&op).unwrap(), &key()).await;
    assert!(matches!(&failure, Err(Failure::Permanent(why)) if why.contains("members")), "{failure:?}");
    assert_eq!(mock.heard().len(), 2);
}
