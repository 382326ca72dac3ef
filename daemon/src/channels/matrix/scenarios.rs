//! Tests of whole scenarios with a homeserver that follows a script.

use std::time::Duration;

use super::{
    Client, DEFAULT_LIMIT, DEFAULT_RESEND, Matrix,
    receive::{Receiving, Tempo},
};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Failure, OutgoingPart, RateHints,
        kit::http::base::Base,
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, http, nobody},
            sample::{self, Files, key, part},
        },
    },
    message::operation::Operation,
    render::Part,
    settings::secret::Secret,
};
use serde_json::Map;

pub(super) fn matrix(port: u16) -> Matrix {
    let url = Base::parse("homeserver", &format!("http://127.0.0.1:{port}")).unwrap();
    Matrix {
        client: Client::new(http(), url, Secret::from("syt_secret")),
        kept: Files::new().kept(),
        limit: DEFAULT_LIMIT,
        resend: Duration::from_secs(DEFAULT_RESEND * 60),
        receiving: Receiving::new("home", false, Vec::new(), Tempo::USUAL).unwrap(),
    }
}

pub(super) fn outgoing(part: &Part) -> OutgoingPart<'_> {
    sample::outgoing("!room:hub.test", part)
}

const PLAIN_ROOM: Reply = Reply::Says(404, "", r#"{"errcode":"M_NOT_FOUND","error":"Event not found."}"#);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let ((sent, _), heard) = deliver_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn deliver_hearing(script: &'static [Reply]) -> ((Result<String, Failure>, Vec<Allowance>), Mock) {
    let mock = Mock::start(script);
    let matrix = matrix(mock.port);
    let request = matrix.composed(&outgoing(&part("Hello")));
    (matrix.delivered_hearing(&request, &key()).await, mock)
}

#[test]
fn a_silent_text_is_a_notice_and_a_silent_file_is_refused() {
    let (matrix, text) = (matrix(1), part("Hello"));
    let file = [sample::file("a.png", "image/png", b"x")];
    let silent = OutgoingPart { silent: true, ..outgoing(&text) };
    let request = matrix.composed(&silent);
    assert_eq!((&request["content"]["msgtype"], matrix.refusal(&request)), (&"m.notice".into(), None));
    let request = matrix.composed(&OutgoingPart { files: &file, ..silent });
    assert!(matrix.refusal(&request).unwrap().contains("leave silent out"), "{request}");
    assert_eq!(matrix.refusal(&matrix.composed(&OutgoingPart { files: &file, ..outgoing(&text) })), None);
}

#[tokio::test]
async fn an_event_is_put_under_its_key() {
    let (sent, mock) = deliver(&[PLAIN_ROOM, Reply::Says(200, "", r#"{"event_id":"$event"}"#)]).await;
    assert_eq!(sent.unwrap(), "$event");
    let heard = mock.heard();
    assert!(
        heard[0].starts_with("GET /_matrix/client/v3/rooms/!room:hub.test/state/m.room.encryption HTTP/1.1"),
        "{}",
        heard[0]
    );
    let put =
        "PUT /_matrix/client/v3/rooms/!room:hub.test/send/m.room.message/00112233445566778899aabbccddeeff ";
    assert!(heard[1].starts_with(put), "{}", heard[1]);
    assert!(heard[1].contains("authorization: Bearer syt_secret\r\n"), "{}", heard[1]);
    assert!(heard[1].ends_with(r#"{"body":"Hello","m.mentions":{},"msgtype":"m.text"}"#), "{}", heard[1]);
}

#[tokio::test]
async fn the_server_says_when_to_come_back() {
    const HEADER: Reply =
        Reply::Says(429, "Retry-After: 7\r\n", r#"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many"}"#);
    const BODY: Reply =
        Reply::Says(429, "", r#"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many","retry_after_ms":6775001}"#);
    const BOTH: Reply =
        Reply::Says(429, "Retry-After: 2\r\n", r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1500}"#);
    for (script, milliseconds) in [
        (&[PLAIN_ROOM, HEADER] as &'static [Reply], 7_000),
        (&[PLAIN_ROOM, BODY], 6_775_001),
        (&[PLAIN_ROOM, BOTH], 2_000),
        (&[HEADER], 7_000),
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(
            matches!(&failure, Failure::Wait { after, .. } if *after == Duration::from_millis(milliseconds)),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn a_homeservers_limit_is_of_the_account_and_no_absurd_time_is_believed() {
    const LIMITED: Reply =
        Reply::Says(429, "", r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":18446744073709551615}"#);
    let ((delivered, heard), _) = deliver_hearing(&[LIMITED]).await;
    let after = Duration::from_hours(7 * 24);
    assert!(matches!(&delivered, Err(Failure::Wait { after: wait, .. }) if *wait == after), "{delivered:?}");
    assert_eq!(heard, [Allowance::none(Scope::Account, after)]);
}

#[tokio::test]
async fn a_refusal_is_permanent_with_the_servers_words() {
    const FORBIDDEN: Reply = Reply::Says(403, "", r#"{"errcode":"M_FORBIDDEN","error":"User not in room"}"#);
    const TOO_LARGE: Reply = Reply::Says(413, "", r#"{"errcode":"M_TOO_LARGE","error":"event too large"}"#);
    const TOKEN: Reply =
        Reply::Says(401, "", r#"{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid syt_secret"}"#);
    const MOVED: Reply = Reply::Says(301, "Location: https://elsewhere.test/\r\n", "");
    const NO_MATRIX: Reply = Reply::Says(404, "", "<h1>Not here</h1>");
    for (script, words) in [
        (&[PLAIN_ROOM, FORBIDDEN] as &'static [Reply], "M_FORBIDDEN: User not in room"),
        (&[PLAIN_ROOM, TOO_LARGE], "M_TOO_LARGE"),
        (&[TOKEN], "token"),
        (&[MOVED], "homeserver"),
        (&[NO_MATRIX], "homeserver"),
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains(words)), "{words}: {failure:?}");
        assert!(!format!("{failure:?}").contains("syt_secret"), "{failure:?}");
    }
}

#[tokio::test]
async fn after_a_servers_own_trouble_and_a_gateways_nobody_knows_unless_nothing_had_left_yet() {
    const TROUBLE: Reply = Reply::Says(500, "", r#"{"errcode":"M_UNKNOWN","error":"Internal server error"}"#);
    const GATEWAY: Reply = Reply::Says(504, "", "<h1>Gateway Time-out</h1>");
    let failure = deliver(&[PLAIN_ROOM, TROUBLE]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Unknown(why) if why.contains("M_UNKNOWN")), "{failure:?}");
    let failure = deliver(&[PLAIN_ROOM, GATEWAY]).await.0.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    for script in [&[GATEWAY] as &'static [Reply], &[TROUBLE]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "nothing had left yet: {failure:?}");
    }
}

#[tokio::test]
async fn no_server_is_retried() {
    let port = nobody();
    let matrix = matrix(port);
    let request = matrix.composed(&outgoing(&part("Hello")));
    let failure = matrix.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("refused")), "{failure:?}");
    // Also when the room was asked about before and the request itself finds nobody.
    let (content, hints) = (Map::new(), &mut RateHints::default());
    let sent = matrix.client.send("!r", "m.room.message", &key(), &content, hints).await;
    let failure = sent.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    let (failure, _) = deliver(&[Reply::Close]).await;
    assert!(matches!(failure, Err(Failure::Retry(_))), "nothing had left yet: {failure:?}");
}

#[tokio::test]
async fn an_encrypted_room_gets_no_plain_event() {
    const ENCRYPTED: Reply = Reply::Says(200, "", r#"{"algorithm":"m.megolm.v1.aes-sha2"}"#);
    let (failure, mock) = deliver(&[ENCRYPTED, Reply::Says(200, "", r#"{"event_id":"$event"}"#)]).await;
    assert!(matches!(&failure, Err(Failure::Permanent(why)) if why.contains("encrypted")), "{failure:?}");
    assert!(mock.heard().iter().all(|request| !request.starts_with("PUT")));
}

#[tokio::test]
async fn a_room_is_asked_about_once_in_a_while() {
    const SENT: Reply = Reply::Says(200, "", r#"{"event_id":"$event"}"#);
    let mock = Mock::start(&[PLAIN_ROOM, SENT, SENT]);
    let matrix = matrix(mock.port);
    let request = matrix.composed(&outgoing(&part("Hello")));
    matrix.delivered(&request, &key()).await.unwrap();
    matrix.delivered(&request, &key()).await.unwrap();
    let gets = mock.heard().iter().filter(|builder| builder.starts_with("GET")).count();
    assert_eq!(gets, 1);
}

#[tokio::test]
async fn readiness_needs_a_device() {
    let ready = |script| async move { matrix(Mock::start(script).port).check_ready().await };
    let said = ready(&[Reply::Says(200, "", r#"{"user_id":"@bot:hub.test","device_id":"D1"}"#)]).await;
    assert_eq!(said.unwrap(), "@bot:hub.test, device D1");
    let said = ready(&[Reply::Says(200, "", r#"{"user_id":"@bot:hub.test"}"#)]).await;
    assert!(said.unwrap_err().0.contains("device"));
    let said = ready(&[Reply::Says(401, "", r#"{"errcode":"M_UNKNOWN_TOKEN","error":"no"}"#)]).await;
    assert!(said.unwrap_err().0.contains("M_UNKNOWN_TOKEN"));
}

const UPLOADED: Reply = Reply::Says(200, "", r#"{"content_uri":"mxc://hub.test/abc"}"#);

#[tokio::test]
async fn a_file_is_uploaded_before_its_event_leaves() {
    let mock = Mock::start(&[PLAIN_ROOM, UPLOADED, Reply::Says(200, "", r#"{"event_id":"$event"}"#)]);
    let kept = Files::new();
    let file = kept.add("a b.txt", "text/plain", b"hello");
    let matrix = Matrix { kept: kept.kept(), ..matrix(mock.port) };
    let (part, files) = (part("Hello"), [file]);
    let request = matrix.composed(&OutgoingPart { files: &files, ..outgoing(&part) });
    assert_eq!(request["content"]["url"], files[0].reference());
    assert_eq!(matrix.delivered(&request, &key()).await.unwrap(), "$event");
    let heard = mock.heard();
    assert!(heard[1].starts_with("POST /_matrix/media/v3/upload?filename=a+b.txt HTTP/1.1"), "{}", heard[1]);
    assert!(heard[1].to_lowercase().contains("content-length: 5\r\n"), "{}", heard[1]);
    assert!(heard[1].contains("text/plain") && heard[1].ends_with("\r\n\r\nhello"), "{}", heard[1]);
    assert!(heard[2].contains(r#""url":"mxc://hub.test/abc""#), "{}", heard[2]);
}

#[tokio::test]
async fn an_upload_whose_answer_was_lost_is_in_no_room_and_goes_again() {
    const TOO_LARGE: Reply = Reply::Says(413, "", r#"{"errcode":"M_TOO_LARGE","error":"Upload too large"}"#);
    const GATEWAY: Reply = Reply::Says(504, "", "<h1>Gateway Time-out</h1>");
    const NOWHERE: Reply = Reply::Says(200, "", r#"{"content_uri":"https://elsewhere.test/"}"#);
    for script in
        [&[PLAIN_ROOM, Reply::Close] as &'static [Reply], &[PLAIN_ROOM, GATEWAY], &[PLAIN_ROOM, NOWHERE]]
    {
        let mock = Mock::start(script);
        let kept = Files::new();
        let file = kept.add("a b.txt", "text/plain", b"hello");
        let matrix = Matrix { kept: kept.kept(), ..matrix(mock.port) };
        let request = matrix.composed(&OutgoingPart { files: &[file], ..outgoing(&part("Hello")) });
        let failure = matrix.delivered(&request, &key()).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
    let mock = Mock::start(&[PLAIN_ROOM, TOO_LARGE, PLAIN_ROOM]);
    let kept = Files::new();
    let file = kept.add("a b.txt", "text/plain", b"hello");
    let matrix = Matrix { kept: kept.kept(), ..matrix(mock.port) };
    let request = matrix.composed(&OutgoingPart { files: &[file], ..outgoing(&part("Hello")) });
    let failure = matrix.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("M_TOO_LARGE")), "{failure:?}");
    kept.clear();
    let failure = matrix.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    assert!(!mock.heard().iter().any(|builder| builder.starts_with("PUT")));
}

/// A server refuses to put out who is not there and to take back what is not; after a lost answer that is a yes.
#[tokio::test]
async fn what_is_gone_after_a_lost_answer_was_removed() {
    const NOT_THERE: Reply =
        Reply::Says(403, "", r#"{"errcode":"M_FORBIDDEN","error":"The target user is not in the room"}"#);
    const LEFT: Reply = Reply::Says(200, "", r#"{"membership":"leave"}"#);
    const HERE: Reply = Reply::Says(200, "", r#"{"membership":"join"}"#);
    const ME: Reply = Reply::Says(200, "", r#"{"user_id":"@bot:hub.test"}"#);
    const MINE: Reply = Reply::Says(
        200,
        "",
        r#"{"chunk":[{"event_id":"$r","sender":"@bot:hub.test","content":{"m.relates_to":{"key":"👍"}}}]}"#,
    );
    const NONE: Reply = Reply::Says(200, "", r#"{"chunk":[]}"#);
    let kick = Operation::Kick { user: "@ada:hub.test".into(), reason: None };
    let unreact = Operation::React { message: "$event".into(), emoji: "👍".into(), remove: true };
    // As the script has it: what becomes of the first attempt and of the second.
    for (operation, script, ends) in [
        (&kick, &[Reply::Close, NOT_THERE, LEFT] as &'static [Reply], ["Unknown", "@ada:hub.test"]),
        // It may not put out anybody, and did not.
        (&kick, &[Reply::Close, NOT_THERE, HERE], ["Unknown", "Permanent"]),
        (&kick, &[Reply::Close, NOT_THERE, Reply::Close], ["Unknown", "Retry"]),
        // Nothing was lost: whoever asks wants to read it.
        (&kick, &[NOT_THERE, NOT_THERE], ["Permanent", "Permanent"]),
        (&unreact, &[ME, MINE, Reply::Close, ME, NONE], ["Unknown", "$event"]),
        (&unreact, &[ME, NONE, ME, NONE], ["Permanent", "Permanent"]),
    ] {
        let mock = Mock::start(script);
        let matrix = matrix(mock.port);
        let request = matrix.composed_operation(&sample::op("!room:hub.test", operation, None)).unwrap();
        for end in ends {
            let ended = matrix.delivered(&request, &key()).await;
            let said = ended.unwrap_or_else(|failure| format!("{failure:?}"));
            assert!(said.starts_with(end), "{script:?}: {said}, and not {end}");
        }
        assert_eq!(mock.heard().len(), script.len(), "{script:?}");
    }
}
