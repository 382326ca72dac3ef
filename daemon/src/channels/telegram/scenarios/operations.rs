//! What is done to messages, topics and people.

use super::*;

#[tokio::test]
async fn what_makes_nothing_new_answers_with_what_it_was_about() {
    let (done, heard) = perform(Operation::Pin { message: "5".into() }, None, &[DONE]).await;
    assert_eq!(done.unwrap(), "5");
    assert!(heard[0].contains("/pinChatMessage "), "{}", heard[0]);
    let ban = Operation::Ban { user: "99".into(), reason: None };
    assert_eq!(perform(ban, None, &[DONE]).await.0.unwrap(), "99");
}

#[tokio::test]
async fn a_time_out_ends_at_a_point_in_time_and_never_by_accident_never() {
    let timeout = |seconds| Operation::Timeout { user: "99".into(), seconds, reason: None };
    let (_, heard) = perform(timeout(600), None, &[DONE]).await;
    let until = body(&heard[0])["until_date"].as_u64().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!((now + 590..=now + 600).contains(&until), "{until} at {now}");
    let (_, heard) = perform(timeout(0), None, &[DONE]).await;
    assert_eq!(body(&heard[0]).get("until_date"), None);
    for seconds in [29, 366 * 24 * 3600, u64::MAX] {
        let (failure, heard) = perform(timeout(seconds), None, &[DONE]).await;
        assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.is_empty(), "{failure:?}");
    }
}

const NO_RIGHTS: Reply =
    Reply::Says(400, "", r#"{"ok":false,"error_code":400,"description":"Bad Request: not enough rights"}"#);

#[tokio::test]
async fn who_is_put_out_is_not_kept_out() {
    let kick = || Operation::Kick { user: "99".into(), reason: None };
    let (done, heard) = perform(kick(), None, &[DONE, DONE]).await;
    assert_eq!(done.unwrap(), "99");
    assert!(heard[0].contains("/banChatMember ") && heard[1].contains("/unbanChatMember "));
    assert_eq!(body(&heard[1])["only_if_banned"], true);
    let (failure, heard) = perform(kick(), None, &[NO_RIGHTS, DONE]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.len() == 1, "{failure:?}");
    let failure = perform(kick(), None, &[DONE, NO_RIGHTS]).await.0;
    assert!(matches!(&failure, Err(Failure::Permanent(why)) if why.contains("still banned")), "{failure:?}");
    // The whole of it may be done again.
    let failure = perform(kick(), None, &[DONE, Reply::Close]).await.0;
    assert!(matches!(failure, Err(Failure::Unknown(_))), "{failure:?}");
}

#[tokio::test]
async fn a_topic_is_made_once_and_its_first_message_stands_in_it() {
    const MADE: Reply =
        Reply::Says(200, "", r#"{"ok":true,"result":{"message_thread_id":31,"name":"June","icon_color":1}}"#);
    let (part, topic) =
        (marked("<b>Hello</b>", "Hello"), || Operation::Thread { name: "June".into(), message: None });
    let (made, heard) = perform(topic(), Some(&part), &[MADE, UNREADABLE, SENT]).await;
    assert_eq!(made.unwrap(), "31");
    let (first, plain) = (body(&heard[1]), body(&heard[2]));
    assert_eq!((&first["message_thread_id"], &first["text"]), (&json!(31), &json!("<b>Hello</b>")));
    assert_eq!((&plain["message_thread_id"], &plain["text"]), (&json!(31), &json!("Hello")));
    assert_eq!(perform(topic(), None, &[MADE]).await.0.unwrap(), "31");
    // Whatever becomes of the message, there is no second topic.
    for (script, kind) in [
        (&[MADE, NO_RIGHTS] as &'static [Reply], "Permanent"),
        (&[MADE, Reply::Says(503, "", "{}")], "Permanent"),
        (&[MADE, Reply::Says(500, "", "{}")], "Unknown"),
        (&[MADE, Reply::Close], "Unknown"),
    ] {
        let why = why(&perform(topic(), Some(&part), script).await.0.unwrap_err());
        assert!(why.starts_with(kind) && why.contains("topic 31 is there"), "{why}");
    }
}

#[tokio::test]
async fn an_edit_finds_the_caption_and_one_that_changes_nothing_is_done() {
    const NO_TEXT: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: there is no text in the message to edit"}"#,
    );
    const SAME: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message is not modified: specified new message content and reply markup are exactly the same"}"#,
    );
    let (part, edit) = (marked("<b>New</b>", "New"), || Operation::Edit { message: "5".into() });
    let (edited, heard) = perform(edit(), Some(&part), &[NO_TEXT, UNREADABLE, SENT]).await;
    assert_eq!(edited.unwrap(), "42");
    assert!(heard[1].contains("/editMessageCaption "), "{}", heard[1]);
    let caption = json!({"chat_id": -1_001_234_567_890_i64, "message_id": 5, "caption": "New"});
    assert_eq!(body(&heard[2]), caption);
    assert_eq!(perform(edit(), Some(&part), &[SAME]).await.0.unwrap(), "5");
}
