//! Tests of whole scenarios with a BlueBubbles that follows a script, and with a program that stands for `imsg`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use super::{Bridge, IMessage, Imsg, PLAIN, PRIVATE, Program, REMOTE, Server, Settings};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Attempt, Failure, OutgoingPart, PartKey, Redelivery,
        kit::http::base::Base,
        testing::{
            http::{Mock, Reply, body, http},
            sample::{Files, key, op, outgoing, part},
        },
    },
    message::{
        action::Action,
        operation::{Extras, Operation},
    },
    settings::secret::Secret,
};
use serde_json::{Value, json};
use tempfile::TempDir;

mod imsg;

const ANNA: &str = "+4915112345679";

const SENT: Reply =
    Reply::Says(200, "", r#"{"status":200,"message":"Message sent!","data":{"guid":"A-1","error":0}}"#);

fn bluebubbles(port: u16, private: bool, files: &Files) -> IMessage {
    let url = Base::parse("url", &format!("http://127.0.0.1:{port}")).unwrap();
    let server = Server::hasty(http(), url, Secret::from("bb secret"));
    IMessage { bridge: Bridge::Server { server, private }, kept: files.kept(), listener: None, webhook: None }
}

/// The chat with Anna, as macOS 26 names it.
const CHAT: Reply = Reply::Says(200, "", r#"{"status":200,"data":[{"guid":"any;-;+4915112345679"}]}"#);
const NO_CHAT: Reply = Reply::Says(200, "", r#"{"status":200,"data":[]}"#);

async fn deliver(script: &[Reply]) -> (Result<String, Failure>, Vec<String>) {
    let mock = Mock::start(&[&[CHAT], script].concat());
    let imessage = bluebubbles(mock.port, true, &Files::new());
    let part = part("Hello");
    let request = imessage.composed(&outgoing(ANNA, &part));
    (imessage.delivered(&request, &key()).await, mock.heard())
}

#[tokio::test]
async fn a_text_is_sent_with_the_parts_key() {
    let (sent, heard) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "A-1");
    assert!(heard[0].starts_with("POST /api/v1/chat/query?password=bb+secret HTTP/1.1\r\n"), "{}", heard[0]);
    assert_eq!(body(&heard[0]), json!({"guid": "any;-;+4915112345679", "limit": 1, "offset": 0}));
    assert!(
        heard[1].starts_with("POST /api/v1/message/text?password=bb+secret HTTP/1.1\r\n"),
        "{}",
        heard[1]
    );
    assert_eq!(
        body(&heard[1]),
        json!({"chatGuid": "any;-;+4915112345679", "method": "private-api", "message": "Hello", "tempGuid": key().0})
    );
}

#[tokio::test]
async fn a_text_whose_answer_was_lost_is_looked_for_and_what_is_not_seen_is_nobodys() {
    const HISTORY: Reply = Reply::Says(
        200,
        "",
        r#"{"status":200,"data":[
            {"guid":"A-5","text":"Hello","isFromMe":false,"error":0},
            {"guid":"A-4","text":"Hello","isFromMe":true,"error":22},
            {"guid":"A-3","text":"Hello, Anna","isFromMe":true,"error":0},
            {"guid":"A-1","text":"Hello","isFromMe":true,"error":0},
            {"guid":"A-0","text":"Hello","isFromMe":true,"error":0}]}"#,
    );
    let mock = Mock::start(&[CHAT, SENT, HISTORY, HISTORY, Reply::Says(404, "", "{}"), Reply::Close]);
    let imessage = bluebubbles(mock.port, true, &Files::new());
    let text = part("Hello");
    let request = imessage.composed(&outgoing(ANNA, &text));
    assert_eq!(imessage.redelivery_of(&request), Redelivery::Look);
    assert_eq!(imessage.delivered(&request, &key()).await.unwrap(), "A-1");
    // 2023-11-14T22:13:20Z.
    let key = PartKey("018bcfe5680070008000000000000000".into());
    assert_eq!(
        imessage.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap().as_deref(),
        Some("A-0"),
        "A-1 is another part's"
    );
    assert_eq!(
        body(&mock.heard()[2]),
        json!({
            "chatGuid": "any;-;+4915112345679", "after": 1_699_999_880_000_i64, "sort": "DESC", "offset": 0,
            "limit": 50, "with": ["attributedBody"],
        })
    );
    assert_eq!(
        imessage.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "all of them are known"
    );
    assert_eq!(
        imessage.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "it cannot be asked"
    );
    assert!(matches!(
        imessage.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await,
        Err(Failure::Retry(_))
    ));
}

#[tokio::test]
async fn replies_effects_and_all_that_is_done_to_a_message_have_their_requests() {
    let files = Files::new();
    let mock = Mock::start(&[CHAT, SENT, SENT, SENT, SENT]);
    let imessage = bluebubbles(mock.port, true, &files);
    let text = part("Hello");
    let extras = Extras { effect: Some("slam".into()), ..Extras::default() };
    let request =
        imessage.composed(&OutgoingPart { reply_to: Some("B-2"), extras: &extras, ..outgoing(ANNA, &text) });
    assert_eq!(request["body"]["effectId"], "com.apple.MobileSMS.expressivesend.impact");
    assert_eq!(
        (&request["body"]["selectedMessageGuid"], &request["body"]["partIndex"]),
        (&json!("B-2"), &json!(0))
    );
    assert_eq!(imessage.redelivery_of(&request), Redelivery::Look);
    imessage.delivered(&request, &key()).await.unwrap();
    for (operation, path, expected) in [
        (
            Operation::React { message: "B-2".into(), emoji: "❤️".into(), remove: true },
            "/api/v1/message/react?",
            json!({"chatGuid": "any;-;+4915112345679", "selectedMessageGuid": "B-2", "reaction": "-love", "partIndex": 0}),
        ),
        (
            Operation::Edit { message: "B/2".into() },
            "/api/v1/message/B%2F2/edit?",
            json!({"editedMessage": "Hello", "backwardsCompatibilityMessage": "Edited to “Hello”", "partIndex": 0}),
        ),
        (Operation::Delete { message: "B-2".into() }, "/api/v1/message/B-2/unsend?", json!({"partIndex": 0})),
    ] {
        let request = imessage.composed_operation(&op(ANNA, &operation, Some(&text))).unwrap();
        assert!(matches!(imessage.redelivery_of(&request), Redelivery::Keyed(_)));
        let id = imessage.delivered(&request, &key()).await.unwrap();
        assert!(id == "B-2" || id == "B/2", "{id}");
        let heard = mock.heard().pop().unwrap();
        assert!(heard.starts_with(&format!("POST {path}")), "{heard}");
        assert_eq!(body(&heard), expected);
    }
    let odd = Operation::React { message: "B-2".into(), emoji: "🦀".into(), remove: false };
    let request = imessage.composed_operation(&op(ANNA, &odd, None)).unwrap();
    let failure = imessage.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("six reactions")), "{failure:?}");
}

#[test]
fn each_kind_of_account_has_what_its_bridge_has() {
    assert!(PRIVATE.replies && PRIVATE.does(Action::Edit) && PRIVATE.effects.contains(&"confetti"));
    assert!(!PLAIN.replies && PLAIN.actions.is_empty() && PLAIN.effects.is_empty() && PLAIN.files.is_some());
    assert!(REMOTE.files.is_none());
    let plain = bluebubbles(1, false, &Files::new());
    for operation in [Operation::Delete { message: "1".into() }, Operation::Pin { message: "1".into() }] {
        assert_eq!(plain.composed_operation(&op(ANNA, &operation, None)), None);
    }
    let private = bluebubbles(1, true, &Files::new());
    assert_eq!(private.composed_operation(&op(ANNA, &Operation::Pin { message: "1".into() }, None)), None);
    let text = part("Hello");
    assert_eq!(plain.composed(&outgoing(ANNA, &text))["body"]["method"], "apple-script");
}

#[tokio::test]
async fn a_file_goes_alone_and_one_whose_helper_is_away_waits() {
    const AWAY: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Attachment Send Error","error":{"type":"iMessage Error","message":"iMessage Private API Helper is not connected!"}}"#,
    );
    // Messages has it and could not send it, and the server says yes all the same.
    const FAILED: Reply = Reply::Says(
        200,
        "",
        r#"{"status":200,"message":"Attachment sent!","data":{"guid":"A-1","isFromMe":true,"error":22}}"#,
    );
    let files = Files::new();
    let mut file = files.add("a b.caf", "audio/x-caf", b"hello");
    file.voice = true;
    let (bare, file) = (part(""), [file]);
    const GROUP: Reply = Reply::Says(200, "", r#"{"status":200,"data":[{"guid":"iMessage;+;chat1"}]}"#);
    let mock = Mock::start(&[NO_CHAT, GROUP, AWAY, NO_CHAT, GROUP, SENT, FAILED]);
    let imessage = bluebubbles(mock.port, true, &files);
    let request = imessage.composed(&OutgoingPart { files: &file, ..outgoing("iMessage;+;chat1", &bare) });
    let away = imessage.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&away, Failure::Retry(why) if why.contains("open Messages")), "{away:?}");
    assert_eq!(imessage.delivered(&request, &key()).await.unwrap(), "A-1");
    let failed = imessage.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failed, Failure::Permanent(why) if why.contains("not on iMessage")), "{failed:?}");
    let heard = mock.heard().remove(5);
    assert!(heard.starts_with("POST /api/v1/message/attachment?"), "{heard}");
    for piece in [
        "name=\"chatGuid\"\r\n\r\niMessage;+;chat1\r\n",
        "name=\"isAudioMessage\"\r\n\r\ntrue\r\n",
        "name=\"name\"\r\n\r\na b.caf\r\n",
        "name=\"attachment\"; filename=\"a b.caf\"\r\nContent-Type: audio/x-caf\r\n\r\nhello\r\n",
    ] {
        assert!(heard.contains(piece), "{piece} in {heard}");
    }
    // Words would be lost with it, and are never there: they are a part of their own.
    let see = part("See");
    assert_eq!(super::profile::FORMAT.caption_limit, Some(0));
    let request = imessage.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &see) });
    assert!(imessage.refusal(&request).is_some_and(|why| why.contains("no words with a file")), "{request}");
    // Nor is one that an earlier hub stored sent without them, or they twice.
    let mut stored = imessage.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &bare) });
    stored["caption"] = json!({"method": "private-api", "message": "See"});
    let imessage = bluebubbles(Mock::start(&[CHAT]).port, true, &files);
    let refused = imessage.delivered(&stored, &key()).await.unwrap_err();
    assert!(matches!(&refused, Failure::Permanent(why) if why.contains("send it again")), "{refused:?}");
}

#[tokio::test]
async fn what_bluebubbles_refuses_is_told_without_its_password() {
    const BUSY: Reply = Reply::Says(
        400,
        "",
        r#"{"status":400,"message":"Bad","error":{"type":"Validation Error","message":"Message is already queued to be sent! (Temp GUID: x)"}}"#,
    );
    const NO_IMESSAGE: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"type":"iMessage Error","message":"Failed to send message! See attached message error code."},"data":{"guid":"x","error":22}}"#,
    );
    const TIMED_OUT: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"type":"iMessage Error","message":"Transaction timeout"}}"#,
    );
    const HELPER: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"type":"iMessage Error","message":"iMessage Private API is not enabled!"}}"#,
    );
    const PASSWORD: Reply = Reply::Says(
        401,
        "",
        r#"{"status":401,"message":"bb secret","error":{"type":"Authentication Error"}}"#,
    );
    const BAD: Reply = Reply::Says(
        400,
        "",
        r#"{"status":400,"error":{"type":"Validation Error","message":"chatGuid is required"}}"#,
    );
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    const AWAY: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"type":"iMessage Error","message":"iMessage Private API Helper is not connected!"}}"#,
    );
    // By the Private API the number stays behind.
    const ILL: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"type":"iMessage Error","message":"[500] Message sent with an error. See attached message"}}"#,
    );
    // Thrown where nobody catches it.
    const THROWN: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"An unhandled error has occurred!","error":{"type":"Server Error","message":"Cannot set properties of undefined (setting 'messages')"}}"#,
    );
    const TOO_OLD: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Edit Error","error":{"type":"iMessage Error","message":"Unsend message is only supported on macOS Ventura and newer!"}}"#,
    );
    let cases: [(&'static [Reply], Judged, &str); 14] = [
        (&[AWAY], retry, "open Messages"),
        (&[ILL], permanent, "Messages did not send it"),
        (&[THROWN], unknown, "Cannot set properties"),
        (&[TOO_OLD], permanent, "Ventura"),
        (&[BUSY], unknown, "already queued"),
        (&[NO_IMESSAGE], permanent, "not on iMessage"),
        (&[TIMED_OUT], unknown, "timeout"),
        (&[HELPER], permanent, "private_api = false"),
        (&[PASSWORD], permanent, "replace the token"),
        (&[BAD], permanent, "chatGuid is required"),
        (&[Reply::Says(404, "", "")], permanent, "check url"),
        (&[Reply::Close], unknown, "no answer"),
        (&[Reply::Says(200, "", "<p>yes</p>")], unknown, "no JSON"),
        (&[Reply::Says(200, "", "{}")], unknown, "not as which message"),
    ];
    for (script, judged, words) in cases {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
        assert!(
            !failure.to_string().contains("bb secret") && !failure.to_string().contains("bb+secret"),
            "{failure:?}"
        );
    }
    let gone = bluebubbles(1, true, &Files::new());
    let text = part("Hello");
    let failure = gone.delivered(&gone.composed(&outgoing(ANNA, &text)), &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if !why.contains("secret")), "{failure:?}");
}

#[tokio::test]
async fn readiness_says_what_is_missing_on_the_mac() {
    let files = &Files::new();
    let ready = |script, private| async move {
        bluebubbles(Mock::start(script).port, private, files).check_ready().await.map_err(|why| why.0)
    };
    const OFF: Reply = Reply::Says(200, "", r#"{"data":{"server_version":"1.9.9","private_api":false}}"#);
    const AWAY: Reply = Reply::Says(
        200,
        "",
        r#"{"data":{"server_version":"1.9.9","private_api":true,"helper_connected":false}}"#,
    );
    assert_eq!(ready(&[OFF], false).await.unwrap(), "BlueBubbles 1.9.9");
    assert!(ready(&[OFF], true).await.unwrap_err().contains("switched off"));
    assert!(ready(&[AWAY], true).await.unwrap_err().contains("not connected"));
    assert!(ready(&[Reply::Says(200, "", "{}")], true).await.unwrap_err().contains("no BlueBubbles"));
}

#[test]
fn a_kind_of_account_that_there_is_not_is_refused() {
    assert!(toml::from_str::<Settings>("kind = \"sms\"").is_err());
}

#[tokio::test]
async fn a_first_contact_makes_the_conversation_and_a_file_alone_cannot() {
    const CREATED: Reply = Reply::Says(
        200,
        "",
        r#"{"status":200,"message":"Successfully created chat!","data":{"guid":"any;-;+4915112345679","messages":[{"guid":"A-1"}]}}"#,
    );
    let files = Files::new();
    let text = part("Hello");
    let mock = Mock::start(&[NO_CHAT, NO_CHAT, CREATED]);
    let imessage = bluebubbles(mock.port, true, &files);
    assert_eq!(imessage.delivered(&imessage.composed(&outgoing(ANNA, &text)), &key()).await.unwrap(), "A-1");
    let heard = mock.heard();
    assert!(heard[2].starts_with("POST /api/v1/chat/new?"), "{}", heard[2]);
    let created = json!({
        "addresses": [ANNA], "service": "iMessage", "tempGuid": key().0, "message": "Hello", "method": "private-api",
    });
    assert_eq!(body(&heard[2]), created);
    let (bare, file) = (part(""), [files.add("a.txt", "text/plain", b"hello")]);
    let imessage = bluebubbles(Mock::start(&[NO_CHAT, NO_CHAT]).port, true, &files);
    let request = imessage.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &bare) });
    let refused = imessage.delivered(&request, &key()).await.unwrap_err();
    assert!(
        matches!(&refused, Failure::Permanent(why) if why.contains("give the file a caption")),
        "{refused:?}"
    );
    let mock = Mock::start(&[NO_CHAT, NO_CHAT]);
    let imessage = bluebubbles(mock.port, true, &files);
    let group = imessage.composed(&outgoing("iMessage;+;chat1", &text));
    let failure = imessage.delivered(&group, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("no conversation")), "{failure:?}");
}

#[tokio::test]
async fn a_look_counts_only_what_came_after_the_message_was_begun_and_asks_for_less_at_once() {
    const ROWS: Reply = Reply::Says(200, "", r#"{"data":[{"originalROWID":40},{"originalROWID":41}]}"#);
    const EARLIER: Reply = Reply::Says(
        200,
        "",
        r#"{"data":[{"guid":"A-1","text":"ok","isFromMe":true,"error":0,"originalROWID":41}]}"#,
    );
    const LATER: Reply = Reply::Says(
        200,
        "",
        r#"{"data":[{"guid":"A-2","text":"ok","isFromMe":true,"error":0,"originalROWID":42}]}"#,
    );
    let text = part("ok");
    let mock = Mock::start(&[CHAT, ROWS, EARLIER, LATER]);
    let imessage = bluebubbles(mock.port, true, &Files::new());
    let request = imessage.composed(&outgoing(ANNA, &text));
    let position = imessage.position_before(&request).await.unwrap();
    assert_eq!(position.as_deref(), Some("41"));
    let key = key();
    let attempt = Attempt { position: position.as_deref(), ..Attempt::new(&key, 1_700_000_000_000) };
    assert_eq!(imessage.found(&request, &attempt).await.unwrap(), None, "that was there before");
    assert_eq!(imessage.found(&request, &attempt).await.unwrap().as_deref(), Some("A-2"));
    // Fifty long texts are more than is read at once.
    let mock = Mock::start(&[CHAT, Reply::Endless, LATER]);
    let imessage = bluebubbles(mock.port, true, &Files::new());
    assert_eq!(imessage.found(&request, &attempt).await.unwrap().as_deref(), Some("A-2"));
    assert_eq!(
        (&body(&mock.heard()[1])["limit"], &body(&mock.heard()[2])["limit"]),
        (&json!(50), &json!(10))
    );
    // With somebody who was never written to everything is new; a file has no words to be looked for.
    let imessage = bluebubbles(Mock::start(&[NO_CHAT, NO_CHAT]).port, true, &Files::new());
    assert_eq!(imessage.position_before(&request).await.unwrap().as_deref(), Some("0"));
    let files = Files::new();
    let file = [files.add("a.txt", "text/plain", b"hello")];
    let bare = part("");
    let request = imessage.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &bare) });
    assert_eq!(imessage.position_before(&request).await.unwrap(), None);
}

#[tokio::test]
async fn only_what_messages_plays_goes_as_a_voice_note_and_ogg_opus_in_its_wrapping() {
    let files = Files::new();
    let bare = part("");
    let opus = crate::channels::imessage::caf::sample();
    for (name, kind, bytes, goes_as) in [
        ("a.caf", "audio/x-caf", &b"hello"[..], Some("a.caf")),
        ("a.MP3", "audio/mpeg", b"hello", Some("a.MP3")),
        ("a.ogg", "audio/ogg", &opus, Some("a.caf")),
        // Vorbis, or one that breaks off.
        ("a.ogg", "audio/ogg", &opus[..opus.len() - 1], None),
        ("a.wav", "audio/wav", b"hello", None),
    ] {
        let mut voice = files.add(name, kind, bytes);
        voice.voice = true;
        let mock = Mock::start(&[CHAT, SENT]);
        let imessage = bluebubbles(mock.port, true, &files);
        let request =
            imessage.composed(&OutgoingPart { files: std::slice::from_ref(&voice), ..outgoing(ANNA, &bare) });
        let delivered = imessage.delivered_in_full(&request, &key()).await.unwrap();
        let heard = mock.heard().remove(1);
        assert_eq!(heard.contains("isAudioMessage"), goes_as.is_some(), "{name}");
        assert_eq!(
            delivered.note.is_some_and(|note| note.contains("sent as a file")),
            goes_as.is_none(),
            "{name}"
        );
        let name = goes_as.unwrap_or(name);
        for piece in [format!("name=\"name\"\r\n\r\n{name}\r\n"), format!("filename=\"{name}\"")] {
            assert!(heard.contains(&piece), "{piece} in {heard}");
        }
        assert_eq!(heard.contains("caff\0\u{1}"), kind == "audio/ogg" && goes_as.is_some(), "{heard}");
    }
}
