//! An Evolution API alone.

use super::*;

async fn by_evolution(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let mock = Mock::start(script);
    let whatsapp = evolution(mock.port, &Files::new());
    let part = part("Hello");
    let request = whatsapp.composed(&outgoing(ANNA, &part));
    (whatsapp.delivered(&request, &key()).await, mock.heard())
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
        Reply::Says(400, "", r#"{"status":400,"response":{"message":[["text is not a string"]]}}"#);
    const KEY: Reply =
        Reply::Says(401, "", r#"{"status":401,"response":{"message":"Unauthorized evo_secret"}}"#);
    const AWAY: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["Error: Connection Closed"]}}"#);
    const SAVED: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["PrismaClientError"]}}"#);
    const NOWHERE: Reply =
        Reply::Says(404, "", r#"{"status":404,"response":{"message":["instance \"x\" does not exist"]}}"#);
    const TROUBLE: Reply = Reply::Says(500, "", r#"{"status":500,"response":{"message":"Internal"}}"#);
    const DROPPED: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["Error: Connection was lost"]}}"#);
    const SLOWER: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["Error: rate-overlimit"]}}"#);
    const NO_GROUP: Reply =
        Reply::Says(400, "", r#"{"status":400,"response":{"message":["[object Object]"]}}"#);
    const NOT_UPLOADED: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"response":{"message":["Error: Media upload failed on all hosts"]}}"#,
    );
    const UNREADABLE: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"response":{"message":["Error: Input buffer contains unsupported image format"]}}"#,
    );
    const TO_TEXT: Reply = Reply::Says(
        400,
        "",
        r#"{"status":400,"response":{"message":["AxiosError: Request failed with status code 401"]}}"#,
    );
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    let cases: [(&'static [Reply], Judged, &str); 15] = [
        (&[DROPPED], retry, "phone is disconnected"),
        (&[SLOWER], retry, "asks to go slower"),
        (&[NO_GROUP], retry, "group is not found"),
        (&[NOT_UPLOADED], retry, "upload failed"),
        (&[UNREADABLE], permanent, "cannot read the file"),
        (&[TO_TEXT], unknown, "the recording was sent"),
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
    let mock = Mock::start(&[MADE, HISTORY, HISTORY, Reply::Says(404, "", "{}"), Reply::Close]);
    let both = hybrid(1, mock.port, &files);
    let request = both.composed(&outgoing(GROUP, &text));
    assert_eq!(both.redelivery_of(&request), Redelivery::Look);
    assert_eq!(both.delivered(&request, &key()).await.unwrap(), "3EB0AA");
    // 2023-11-14T22:13:20Z.
    let key = crate::channels::PartKey("018bcfe5680070008000000000000000".into());
    assert_eq!(
        both.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap().as_deref(),
        Some("3EB0CC")
    );
    let heard = mock.heard();
    assert!(heard[1].starts_with("POST /chat/findMessages/home "), "{}", heard[1]);
    assert_eq!(
        body(&heard[1]),
        json!({"where": {"key": {"remoteJid": GROUP, "fromMe": true}}, "page": 1, "offset": 5})
    );
    assert_eq!(
        both.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "the others are another part's, or too old"
    );
    assert_eq!(
        both.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "it cannot be asked"
    );
    assert!(matches!(
        both.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await,
        Err(Failure::Retry(_))
    ));
}

#[tokio::test]
async fn polls_and_removals_are_the_evolution_apis() {
    let files = Files::new();
    let mock = Mock::start(&[MADE, Reply::Says(201, "", r#"{"key":{"id":"3EB0CC"}}"#)]);
    let both = hybrid(1, mock.port, &files);
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: false,
        seconds: None,
        anonymous: None,
    };
    let request = both.composed_operation(&op(ANNA, &Operation::Poll(poll), None)).unwrap();
    assert_eq!(
        request["body"],
        json!({"number": ANNA, "name": "Tea?", "selectableCount": 1, "values": ["Yes", "No"]})
    );
    assert_eq!(both.redelivery_of(&request), Redelivery::Never);
    assert_eq!(both.delivered(&request, &key()).await.unwrap(), "3EB0AA");
    let delete = Operation::Delete { message: "3EB0AA".into() };
    let request = both.composed_operation(&op(ANNA, &delete, None)).unwrap();
    assert_eq!(both.delivered(&request, &key()).await.unwrap(), "3EB0AA");
    let heard = mock.heard();
    assert!(heard[1].starts_with("DELETE /chat/deleteMessageForEveryone/home "), "{}", heard[1]);
    assert_eq!(
        body(&heard[1]),
        json!({"id": "3EB0AA", "remoteJid": "4915112345679@s.whatsapp.net", "fromMe": true})
    );
    for message in ["wamid.1", "+4915112345679/3EB0"] {
        let delete = Operation::Delete { message: message.into() };
        assert!(both.composed_operation(&op(ANNA, &delete, None)).unwrap()["refused"].is_string());
    }
}

/// Its messages may be kept with pictures: what is too long to be read as a page is read one by one.
#[tokio::test]
async fn a_history_with_long_messages_is_read_one_by_one() {
    const PICTURE: Reply = Reply::Says(
        200,
        "",
        r#"{"messages":{"records":[{"key":{"id":"3EB0BB","fromMe":true},"message":{"imageMessage":{}},"messageTimestamp":1700000009}]}}"#,
    );
    const OURS: Reply = Reply::Says(
        200,
        "",
        r#"{"messages":{"records":[{"key":{"id":"3EB0CC","fromMe":true},"message":{"conversation":"Hello"},"messageTimestamp":1700000007}]}}"#,
    );
    const NONE: Reply = Reply::Says(200, "", r#"{"messages":{"records":[]}}"#);
    let (files, text) = (Files::new(), part("Hello"));
    let mock = Mock::start(&[Reply::Endless, PICTURE, OURS, NONE, NONE, NONE]);
    let whatsapp = evolution(mock.port, &files);
    let request = whatsapp.composed(&outgoing(ANNA, &text));
    let found = whatsapp.found(&request, &Attempt::new(&key(), 1_700_000_000_000)).await.unwrap();
    assert_eq!(found.as_deref(), Some("3EB0CC"));
    let asked: Vec<_> = mock
        .heard()
        .iter()
        .map(|builder| (body(builder)["page"].clone(), body(builder)["offset"].clone()))
        .collect();
    assert_eq!(asked[..3], [(json!(1), json!(5)), (json!(1), json!(1)), (json!(2), json!(1))]);
}

/// São Paulo keeps its 9 there, Paraná loses it: only WhatsApp knows.
#[tokio::test]
async fn what_is_done_to_a_message_names_its_conversation_as_whatsapp_does() {
    const MARIA: &str = "5541987654321";
    const MADE: Reply = Reply::Says(
        201,
        "",
        r#"{"key":{"remoteJid":"554187654321@s.whatsapp.net","fromMe":true,"id":"3EB0AA"},"status":"PENDING"}"#,
    );
    const THERE: Reply = Reply::Says(
        200,
        "",
        r#"[{"jid":"554187654321@s.whatsapp.net","exists":true,"number":"5541987654321"}]"#,
    );
    const NOBODY: Reply = Reply::Says(
        200,
        "",
        r#"[{"jid":"554187654321@s.whatsapp.net","exists":false,"number":"5541987654321"}]"#,
    );
    let (files, text) = (Files::new(), part("Hello"));
    let delete = Operation::Delete { message: "3EB0AA".into() };
    // It was sent in this life of the hub: its answer said where.
    let mock = Mock::start(&[MADE, MADE]);
    let whatsapp = evolution(mock.port, &files);
    let request = whatsapp.composed(&outgoing(MARIA, &text));
    whatsapp.delivered(&request, &key()).await.unwrap();
    let request = whatsapp.composed_operation(&op(MARIA, &delete, None)).unwrap();
    whatsapp.delivered(&request, &key()).await.unwrap();
    assert_eq!(body(&mock.heard()[1])["remoteJid"], "554187654321@s.whatsapp.net");
    // It was sent in another: it is asked, once.
    let mock = Mock::start(&[THERE, MADE, MADE]);
    let whatsapp = evolution(mock.port, &files);
    let react = Operation::React { message: "3EB0AA".into(), emoji: "👍".into(), remove: false };
    for operation in [&delete, &react] {
        let request = whatsapp.composed_operation(&op(MARIA, operation, None)).unwrap();
        whatsapp.delivered(&request, &key()).await.unwrap();
    }
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /chat/whatsappNumbers/home "), "{}", heard[0]);
    assert_eq!(body(&heard[1])["remoteJid"], "554187654321@s.whatsapp.net");
    assert_eq!(body(&heard[2])["key"]["remoteJid"], "554187654321@s.whatsapp.net");
    // Nobody is there, or it cannot be asked: nothing is done elsewhere.
    let whatsapp = evolution(Mock::start(&[NOBODY]).port, &files);
    let request = whatsapp.composed_operation(&op(MARIA, &delete, None)).unwrap();
    let refused = whatsapp.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&refused, Failure::Permanent(why) if why.contains("not on WhatsApp")), "{refused:?}");
    let whatsapp = evolution(Mock::start(&[Reply::Close]).port, &files);
    let later = whatsapp.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(later, Failure::Retry(_)), "{later:?}");
}

#[test]
fn a_file_goes_as_what_it_is_under_a_name_that_says_so() {
    let (files, bare) = (Files::new(), part(""));
    let whatsapp = evolution(1, &files);
    for (name, kind, goes_as, named) in [
        ("report", "application/pdf", "document", "report.pdf"),
        ("notes.md", "text/plain", "document", "notes.md"),
        ("notes.zzzz", "text/plain", "document", "notes.zzzz.txt"),
        ("photo.JPG", "image/jpeg", "image", "photo.JPG"),
        ("photo.bin", "image/png", "image", "photo.bin.png"),
        ("dance.gif", "image/gif", "document", "dance.gif"),
        ("plan.svg", "image/svg+xml", "document", "plan.svg"),
        ("IMG_1.HEIC", "image/heic", "document", "IMG_1.HEIC"),
        ("walk.webm", "video/webm", "document", "walk.webm"),
        ("what", "application/octet-stream", "document", "what.bin"),
    ] {
        let file = [files.add(name, kind, b"x")];
        let request = whatsapp.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &bare) });
        assert_eq!(
            (&request["body"]["mediatype"], &request["body"]["fileName"]),
            (&json!(goes_as), &json!(named))
        );
    }
    let mut voice = files.add("v.ogg", "audio/ogg", b"x");
    voice.voice = true;
    let answer = OutgoingPart { files: &[voice], reply_to: Some("3EB0AA"), ..outgoing(ANNA, &bare) };
    let request = whatsapp.composed(&answer);
    assert!(whatsapp.remark_on(&request).is_some_and(|said| said.contains("without what it answers")));
    assert_eq!(whatsapp.remark_on(&whatsapp.composed(&OutgoingPart { reply_to: None, ..answer })), None);
}

#[test]
fn a_reaction_is_not_taken_back_there() {
    let whatsapp = evolution(1, &Files::new());
    let back = Operation::React { message: "3EB0AA".into(), emoji: "👍".into(), remove: true };
    let request = whatsapp.composed_operation(&op(ANNA, &back, None)).unwrap();
    assert!(whatsapp.refusal(&request).unwrap().contains("another emoji"), "{request}");
}
