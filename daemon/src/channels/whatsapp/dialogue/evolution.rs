//! An Evolution API alone.

use super::*;

async fn by_evolution(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let double = Double::start(script);
    let whatsapp = evolution(double.port, &Files::new());
    let part = part("Hello");
    let wire = whatsapp.compose(&letter(ANNA, &part));
    (whatsapp.deliver(&wire, &key()).await, double.heard())
}

#[tokio::test]
async fn the_evolution_api_gets_this_text() {
    let (sent, heard) = by_evolution(&[MADE]).await;
    assert_eq!(sent.unwrap(), "3EB0AA");
    assert!(heard[0].starts_with("POST /message/sendText/home HTTP/1.1\r\n"), "{}", heard[0]);
    assert!(heard[0].contains("apikey: evo_secret\r\n"), "{}", heard[0]);
    assert_eq!(body(&heard[0]), json!({"number": ANNA, "text": "Hello", "linkPreview": false}));
}

#[tokio::test]
async fn what_the_evolution_api_refuses_its_words_say() {
    const NOBODY: Reply = Reply::Says(
        400,
        "",
        r#"{"status":400,"error":"Bad Request","response":{"message":[{"jid":"1@s.whatsapp.net","exists":false,"number":"1"}]}}"#,
    );
    const SCHEMA: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["text is not a string"]}}"#);
    const KEY: Reply =
        Reply::Says(401, "", r#"{"status":401,"response":{"message":"Unauthorized evo_secret"}}"#);
    const AWAY: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["Error: Connection Closed"]}}"#);
    const SAVED: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["PrismaClientError"]}}"#);
    const NOWHERE: Reply =
        Reply::Says(404, "", r#"{"status":404,"response":{"message":["instance \"x\" does not exist"]}}"#);
    const TROUBLE: Reply = Reply::Says(500, "", r#"{"status":500,"response":{"message":"Internal"}}"#);
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    let cases: [(&'static [Reply], Judged, &str); 9] = [
        (&[NOBODY], permanent, "not on WhatsApp"),
        (&[SCHEMA], permanent, "text is not a string"),
        (&[KEY], permanent, "replace the token"),
        (&[NOWHERE], permanent, "check evolution_url and instance"),
        (&[AWAY], retry, "phone is disconnected"),
        (&[SAVED], unknown, "Prisma"),
        (&[TROUBLE], unknown, "Internal"),
        (&[Reply::Close], unknown, "no answer"),
        (&[Reply::Says(201, "", "{}")], unknown, "not as which message"),
    ];
    for (script, judged, words) in cases {
        let failure = by_evolution(script).await.0.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
        assert!(!failure.to_string().contains("evo_secret"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_text_whose_answer_was_lost_is_looked_for_and_what_is_not_seen_is_nobodys() {
    const HISTORY: Reply = Reply::Says(
        200,
        "",
        r#"{"messages":{"total":4,"pages":1,"currentPage":1,"records":[
            {"key":{"id":"3EB0AA","fromMe":true},"message":{"conversation":"Hello"},"messageTimestamp":1700000009},
            {"key":{"id":"3EB0BB","fromMe":true},"message":{"conversation":"Hello, Anna"},"messageTimestamp":1700000008},
            {"key":{"id":"3EB0EE","fromMe":true,"remoteJid":"4917@s.whatsapp.net"},"message":{"conversation":"Hello"},"messageTimestamp":1700000008},
            {"key":{"id":"3EB0CC","fromMe":true},"message":{"extendedTextMessage":{"text":"Hello"}},"messageTimestamp":1700000007},
            {"key":{"id":"3EB0DD","fromMe":true},"message":{"conversation":"Hello"},"messageTimestamp":1699990000}]}}"#,
    );
    let (files, text) = (Files::new(), part("Hello"));
    let double = Double::start(&[MADE, HISTORY, HISTORY, Reply::Says(404, "", "{}"), Reply::Close]);
    let both = hybrid(1, double.port, &files);
    let wire = both.compose(&letter(GROUP, &text));
    assert_eq!(both.redelivery(&wire), Redelivery::Look);
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "3EB0AA");
    // 2023-11-14T22:13:20Z.
    let key = crate::channels::PartKey("018bcfe5680070008000000000000000".into());
    assert_eq!(
        both.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap().as_deref(),
        Some("3EB0CC")
    );
    let heard = double.heard();
    assert!(heard[1].starts_with("POST /chat/findMessages/home "), "{}", heard[1]);
    assert_eq!(
        body(&heard[1]),
        json!({"where": {"key": {"remoteJid": GROUP, "fromMe": true}}, "page": 1, "offset": 50})
    );
    assert_eq!(
        both.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "the others are another part's, or too old"
    );
    assert_eq!(
        both.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "it cannot be asked"
    );
    assert!(matches!(both.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await, Err(Failure::Retry(_))));
}

#[tokio::test]
async fn polls_and_removals_are_the_evolution_apis() {
    let files = Files::new();
    let double = Double::start(&[MADE, Reply::Says(201, "", r#"{"key":{"id":"3EB0CC"}}"#)]);
    let both = hybrid(1, double.port, &files);
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: false,
        seconds: None,
        anonymous: None,
    };
    let wire = both.act(&act(ANNA, &Deed::Poll(poll), None)).unwrap();
    assert_eq!(
        wire["body"],
        json!({"number": ANNA, "name": "Tea?", "selectableCount": 1, "values": ["Yes", "No"]})
    );
    assert_eq!(both.redelivery(&wire), Redelivery::Never);
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "3EB0AA");
    let delete = Deed::Delete { message: "3EB0AA".into() };
    let wire = both.act(&act(ANNA, &delete, None)).unwrap();
    assert_eq!(both.deliver(&wire, &key()).await.unwrap(), "3EB0AA");
    let heard = double.heard();
    assert!(heard[1].starts_with("DELETE /chat/deleteMessageForEveryone/home "), "{}", heard[1]);
    assert_eq!(
        body(&heard[1]),
        json!({"id": "3EB0AA", "remoteJid": "4915112345679@s.whatsapp.net", "fromMe": true})
    );
    for message in ["wamid.1", "+4915112345679/3EB0"] {
        let delete = Deed::Delete { message: message.into() };
        assert!(both.act(&act(ANNA, &delete, None)).unwrap()["refused"].is_string());
    }
}
