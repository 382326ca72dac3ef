//! What became of a message whose answer was lost.

use super::*;

async fn found(script: &'static [Reply], thread: Option<&str>) -> (Result<Option<String>, Failure>, Mock) {
    let mock = Mock::start(script);
    let slack = slack(mock.port);
    let hello = part("Hello");
    let request = slack.composed(&OutgoingPart { thread, ..outgoing(&hello) });
    assert_eq!(slack.redelivery_of(&request), Redelivery::Ask);
    (slack.found(&request, &Attempt::new(&key(), 1_700_000_000_000)).await, mock)
}

const OTHERS: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"messages":[{"ts":"3.3","text":"Hello"},{"ts":"2.2","metadata":{"event_type":"gatepost_part","event_payload":{"key":"other"}}}],"has_more":true,"response_metadata":{"next_cursor":"bmV4dA=="}}"#,
);

const MINE: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"messages":[{"ts":"1.1","metadata":{"event_type":"gatepost_part","event_payload":{"key":"0199aabbccdd7eef8899aabbccddeeff"}}}],"has_more":false}"#,
);

const NOBODYS: Reply = Reply::Says(200, "", r#"{"ok":true,"messages":[],"has_more":false}"#);

#[tokio::test]
async fn a_message_that_arrived_is_found_by_its_key_on_whichever_page() {
    let (found_it, mock) = found(&[OTHERS, MINE], None).await;
    assert_eq!(found_it.unwrap().as_deref(), Some("1.1"));
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /api/conversations.history "), "{}", heard[0]);
    // The key's own time, less an hour.
    let asked = format!(
        "channel=C012AB3CD&include_all_metadata=true&limit=15&oldest={}.000000",
        0x0199_aabb_ccdd_u64 / 1000 - 3600
    );
    assert!(heard[0].ends_with(&asked), "{}", heard[0]);
    assert!(heard[1].ends_with("&cursor=bmV4dA%3D%3D"), "{}", heard[1]);

    let (nothing, mock) = found(&[OTHERS, NOBODYS], Some("9.9")).await;
    assert_eq!(nothing.unwrap(), None);
    let heard = mock.heard();
    assert!(
        heard[0].starts_with("POST /api/conversations.replies ") && heard[0].ends_with("&ts=9.9"),
        "{}",
        heard[0]
    );
}

#[tokio::test]
async fn where_slack_does_not_let_us_look_to_the_end_nothing_is_certain() {
    const SCOPE: Reply =
        Reply::Says(200, "", r#"{"ok":false,"error":"missing_scope","needed":"channels:history"}"#);
    const NO_CURSOR: Reply = Reply::Says(200, "", r#"{"ok":true,"messages":[],"has_more":true}"#);
    const NO_LIST: Reply = Reply::Says(200, "", r#"{"ok":true}"#);
    for script in [&[SCOPE] as &'static [Reply], &[NO_CURSOR], &[NO_LIST], &[OTHERS; 31]] {
        let failure = found(script, None).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    }
    const LIMITED: Reply = Reply::Says(429, "Retry-After: 60\r\n", r#"{"ok":false,"error":"ratelimited"}"#);
    assert!(matches!(found(&[LIMITED], None).await.0, Err(Failure::Wait { .. })));
    assert!(matches!(found(&[Reply::Close], None).await.0, Err(Failure::Retry(_))));
}
