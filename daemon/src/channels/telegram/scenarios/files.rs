//! Files.

use super::*;

#[tokio::test]
async fn a_file_goes_as_a_form_with_its_caption() {
    let mock = Mock::start(&[UNREADABLE, SENT]);
    let files = Files::new();
    let file = files.add("ä \"b\".png", "image/png", b"hello");
    let telegram = Telegram { kept: files.kept(), ..telegram(mock.port, Secret::from(TOKEN)) };
    let part = marked("<i>June</i>", "June");
    let request = telegram.composed(&OutgoingPart { files: &[file], reply_to: Some("9"), ..outgoing(&part) });
    assert_eq!(telegram.delivered(&request, &key()).await.unwrap(), "42");
    let heard = mock.heard();
    assert!(heard[0].starts_with(&format!("POST /bot{TOKEN}/sendPhoto ")), "{}", heard[0]);
    assert!(heard[0].contains("content-type: multipart/form-data; boundary="), "{}", heard[0]);
    for field in [
        "name=\"chat_id\"\r\n\r\n-1001234567890\r\n",
        "name=\"caption\"\r\n\r\n<i>June</i>\r\n",
        "name=\"reply_parameters\"\r\n\r\n{\"allow_sending_without_reply\":true,\"message_id\":9}\r\n",
        "name=\"photo\"; filename=\"ä \\\"b\\\".png\"\r\nContent-Type: image/png\r\n\r\nhello\r\n",
    ] {
        assert!(heard[0].contains(field), "{field:?} is not in {}", heard[0]);
    }
    assert!(heard[1].contains("name=\"caption\"\r\n\r\nJune\r\n") && !heard[1].contains("parse_mode"));
    assert!(heard[1].contains("\r\n\r\nhello\r\n"), "the file goes along again: {}", heard[1]);
}

#[tokio::test]
async fn a_picture_that_is_no_photo_goes_as_a_document_and_a_lost_upload_is_unknown() {
    const NO_PHOTO: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: PHOTO_INVALID_DIMENSIONS"}"#,
    );
    let mock = Mock::start(&[NO_PHOTO, SENT]);
    let files = Files::new();
    let file = files.add("ä \"b\".png", "image/png", b"hello");
    let bot = |port| Telegram { kept: files.kept(), ..telegram(port, Secret::from(TOKEN)) };
    let telegram = bot(mock.port);
    let part = marked("", "");
    let request = telegram.composed(&OutgoingPart { files: &[file], ..outgoing(&part) });
    assert_eq!(telegram.delivered(&request, &key()).await.unwrap(), "42");
    let heard = mock.heard();
    assert!(
        heard[1].contains("/sendDocument ") && heard[1].contains("name=\"document\"; filename="),
        "{}",
        heard[1]
    );

    files.clear();
    let failure = telegram.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    assert_eq!(mock.heard().len(), 2, "without its file nothing leaves");

    let mock = Mock::start(&[Reply::Close]);
    let file = files.add("b.pdf", "application/pdf", b"bye");
    let telegram = bot(mock.port);
    let request = telegram.composed(&OutgoingPart { files: &[file], ..outgoing(&part) });
    let failure = telegram.delivered(&request, &key()).await.unwrap_err();
    assert!(why(&failure).starts_with("Unknown"), "{failure:?}");
}

#[tokio::test]
async fn an_album_brings_its_files_at_once_and_has_the_ids_of_all() {
    const ALBUM: Reply =
        Reply::Says(200, "", r#"{"ok":true,"result":[{"message_id":42},{"message_id":43}]}"#);
    let mock = Mock::start(&[UNREADABLE, ALBUM]);
    let files = Files::new();
    let telegram = Telegram { kept: files.kept(), ..telegram(mock.port, Secret::from(TOKEN)) };
    let album = [files.add("a.png", "image/png", b"one"), files.add("b.mp4", "video/mp4", b"two")];
    let part = marked("<i>June</i>", "June");
    let request = telegram.composed(&OutgoingPart { files: &album, ..outgoing(&part) });
    let item = |n, kind: &str| json!({"type": kind, "media": format!("attach://file{n}")});
    let mut first = item(0, "photo");
    first["caption"] = json!("<i>June</i>");
    first["parse_mode"] = json!("HTML");
    assert_eq!(request["body"]["media"], json!([first, item(1, "video")]));
    assert_eq!(telegram.redelivery_of(&request), crate::channels::Redelivery::Never);
    assert_eq!(telegram.delivered(&request, &key()).await.unwrap(), "42,43");
    let heard = mock.heard();
    assert!(heard[0].contains("/sendMediaGroup "), "{}", heard[0]);
    for field in [
        "name=\"media\"\r\n\r\n[{\"caption\":\"June\",",
        "name=\"file0\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\none\r\n",
        "name=\"file1\"; filename=\"b.mp4\"\r\nContent-Type: video/mp4\r\n\r\ntwo\r\n",
    ] {
        assert!(heard[1].contains(field), "{field:?} is not in {}", heard[1]);
    }
}

#[tokio::test]
async fn an_album_is_removed_as_a_whole_and_everything_else_is_done_to_its_first() {
    let (removed, heard) = perform(Operation::Delete { message: "42,43".into() }, None, &[DONE]).await;
    assert_eq!(removed.unwrap(), "42,43");
    assert!(heard[0].contains("/deleteMessages "), "{}", heard[0]);
    assert_eq!(body(&heard[0])["message_ids"], json!([42, 43]));
    let (pinned, heard) = perform(Operation::Pin { message: "42,43".into() }, None, &[DONE]).await;
    assert_eq!((pinned.unwrap().as_str(), &body(&heard[0])["message_id"]), ("42", &json!(42)));
    // Some of them, and nobody knows which.
    const HALF: Reply = Reply::Says(200, "", r#"{"ok":true,"result":[{"message_id":42},{}]}"#);
    for answer in [HALF, Reply::Says(200, "", r#"{"ok":true,"result":[]}"#)] {
        let files = Files::new();
        let album = [files.add("a.png", "image/png", b"one"), files.add("b.mp4", "video/mp4", b"two")];
        let port = Mock::start(Box::leak(Box::new([answer]))).port;
        let telegram = Telegram { kept: files.kept(), ..telegram(port, Secret::from(TOKEN)) };
        let part = marked("June", "June");
        let request = telegram.composed(&OutgoingPart { files: &album, ..outgoing(&part) });
        assert!(matches!(telegram.delivered(&request, &key()).await, Err(Failure::Unknown(_))));
    }
}
