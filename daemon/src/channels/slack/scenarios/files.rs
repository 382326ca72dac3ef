//! Files, which Slack takes at a place of its own.

use super::*;

/// A place for a file on the mock itself, which is one script and one port: so the port is put in when it is known.
struct Uploads {
    files: Files,
    slack: Slack,
    request: Value,
}

fn with_file(mock: &Mock) -> Uploads {
    let files = Files::new();
    let slack = slack_with(mock.port, Secret::from(TOKEN), files.kept());
    let (caption, file) = (part("June"), [files.add("a b.txt", "text/plain", b"hello")]);
    let request = slack.composed(&OutgoingPart { files: &file, ..outgoing(&caption) });
    Uploads { files, slack, request }
}

/// A Slack that names a place for files at a second mock.
async fn share(store: &'static [Reply], then: &[Reply]) -> (Result<String, Failure>, Mock, Mock) {
    let place = Mock::start(store);
    let named = format!(
        r#"{{"ok":true,"upload_url":"http://127.0.0.1:{}/upload?sig=hush","file_id":"F012AB3CD"}}"#,
        place.port
    );
    let named: &'static str = Box::leak(named.into_boxed_str());
    let script: Vec<Reply> = [Reply::Says(200, "", named)].into_iter().chain(then.iter().copied()).collect();
    let mock = Mock::start(Box::leak(script.into_boxed_slice()));
    let uploads = with_file(&mock);
    (uploads.slack.delivered(&uploads.request, &key()).await, mock, place)
}

const STORED: Reply = Reply::Says(200, "", "OK - 5");

const SHARED: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"files":[{"id":"F012AB3CD","shares":{"public":{"C012AB3CD":[{"ts":"7.7"}]}}}]}"#,
);

const NOT_YET: Reply = Reply::Says(200, "", r#"{"ok":true,"files":[{"id":"F012AB3CD"}]}"#);

const INFO: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"file":{"id":"F012AB3CD","shares":{"private":{"C012AB3CD":[{"ts":"8.8"}]}}}}"#,
);

#[tokio::test]
async fn a_file_is_brought_without_the_token_and_then_shared() {
    let (sent, mock, place) = share(&[STORED], &[SHARED]).await;
    assert_eq!(sent.unwrap(), "7.7");
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /api/files.getUploadURLExternal "), "{}", heard[0]);
    assert!(heard[0].ends_with("filename=a+b.txt&length=5"), "{}", heard[0]);
    let brought = &place.heard()[0];
    assert!(brought.starts_with("POST /upload?sig=hush ") && brought.ends_with("\r\n\r\nhello"), "{brought}");
    assert!(!brought.contains("xoxb"), "{brought}");
    assert_eq!(
        body(&heard[1]),
        json!({
            "channel_id": "C012AB3CD", "initial_comment": "June",
            "files": [{ "id": "F012AB3CD", "title": "a b.txt" }],
        })
    );
}

#[tokio::test]
async fn a_file_that_is_shared_later_is_asked_where() {
    assert_eq!(share(&[STORED], &[NOT_YET, INFO]).await.0.unwrap(), "8.8");
    // Slack does not tell: the file's own id it is.
    const NO: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"missing_scope"}"#);
    assert_eq!(share(&[STORED], &[NOT_YET, NO]).await.0.unwrap(), "F012AB3CD");
    let (deleted, mock) =
        perform(&[YES], "C012AB3CD", &Operation::Delete { message: "F012AB3CD".into() }).await;
    assert_eq!(deleted.unwrap(), "F012AB3CD");
    assert!(mock.heard()[0].starts_with("POST /api/files.delete "), "{:?}", mock.heard());
    let operation = Operation::Pin { message: "F012AB3CD".into() };
    let slack = slack(1);
    let request = slack.composed_operation(&sample::op("C012AB3CD", &operation, None)).unwrap();
    assert!(slack.refusal(&request).unwrap().contains("a file's id"), "{request}");
    // A lost answer is settled by the file, or it is not.
    assert_eq!(share(&[STORED], &[Reply::Close, INFO]).await.0.unwrap(), "8.8");
    let failure = share(&[STORED], &[Reply::Close, NO]).await.0.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
}

#[tokio::test]
async fn until_a_file_is_shared_it_is_tried_again_unless_it_is_refused() {
    for store in
        [&[Reply::Close] as &'static [Reply], &[Reply::Says(500, "", "")], &[Reply::Says(502, "", "")]]
    {
        let failure = share(store, &[]).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
        assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    }
    let failure = share(&[Reply::Says(413, "", "")], &[]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("413")), "{failure:?}");
    const ELSEWHERE: Reply =
        Reply::Says(200, "", r#"{"ok":true,"upload_url":"http://198.51.100.1/x","file_id":"F012AB3CD"}"#);
    let mock = Mock::start(&[ELSEWHERE]);
    let uploads = with_file(&mock);
    let failure = uploads.slack.delivered(&uploads.request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("without protection")), "{failure:?}");
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_sent() {
    let mock = Mock::start(&[]);
    let uploads = with_file(&mock);
    uploads.files.clear();
    let failure = uploads.slack.delivered(&uploads.request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
}
