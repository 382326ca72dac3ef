//! Tests of whole scenarios with a Google Chat that follows a script.

use std::{fs, time::Duration};

use super::*;
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, body, http},
            sample::{self, key, part},
        },
    },
    message::operation::Operation,
    render::Part,
    settings::secret::Secret,
};
use serde_json::json;

pub(super) fn outgoing(part: &Part) -> OutgoingPart<'_> {
    sample::outgoing("spaces/AAAA", part)
}

pub(super) fn app(port: u16) -> GoogleChat {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    fs::write(&path, include_str!("testdata/service-account.json")).unwrap();
    let base = |path: &str| Base::parse("url", &format!("http://127.0.0.1:{port}{path}")).unwrap();
    let account = Replaceable::read(SecretSource::File(path), Some(base("/token"))).unwrap();
    GoogleChat { client: Client::app(http(), base(""), account), listener: None }
}

fn webhook_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/v1/spaces/AAAA/messages?key=hush1&token=hush2")
}

fn webhook(port: u16) -> GoogleChat {
    let client = Client::webhook(http(), Secret::from(webhook_url(port).as_str()).into()).unwrap();
    GoogleChat { client, listener: None }
}

const GRANTED: Reply =
    Reply::Says(200, "", r#"{"access_token":"ya29.hush","expires_in":3599,"token_type":"Bearer"}"#);
const CREATED: Reply =
    Reply::Says(200, "", r#"{"name":"spaces/AAAA/messages/M.M","thread":{"name":"spaces/AAAA/threads/M"}}"#);

async fn by_app(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let ((sent, _), heard) = by_app_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn by_app_hearing(script: &'static [Reply]) -> ((Result<String, Failure>, Vec<Allowance>), Mock) {
    let mock = Mock::start(script);
    let chat = app(mock.port);
    let request = chat.composed(&outgoing(&part("Hello")));
    (chat.delivered_hearing(&request, &key()).await, mock)
}

async fn by_webhook(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let mock = Mock::start(script);
    let chat = webhook(mock.port);
    let request = chat.composed(&outgoing(&part("Hello")));
    (chat.delivered(&request, &key()).await, mock)
}

#[tokio::test]
async fn an_app_asks_for_a_token_and_creates_a_message_under_its_key() {
    let (sent, mock) = by_app(&[GRANTED, CREATED]).await;
    assert_eq!(sent.unwrap(), "spaces/AAAA/messages/M.M");
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /token HTTP/1.1"), "{}", heard[0]);
    assert!(heard[0].contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="));
    let path = "POST /v1/spaces/AAAA/messages?requestId=00112233445566778899aabbccddeeff\
                &messageId=client-00112233445566778899aabbccddeeff HTTP/1.1";
    assert!(heard[1].starts_with(path), "{}", heard[1]);
    assert!(heard[1].contains("authorization: Bearer ya29.hush\r\n"), "{}", heard[1]);
    assert_eq!(body(&heard[1]), json!({ "text": "Hello" }));
}

#[tokio::test]
async fn a_token_is_kept_and_asked_for_anew_when_it_is_refused() {
    const GONE: Reply = Reply::Says(
        401,
        "",
        r#"{"error":{"code":401,"message":"bad ya29.hush","status":"UNAUTHENTICATED"}}"#,
    );
    let mock = Mock::start(&[GRANTED, CREATED, CREATED]);
    let chat = app(mock.port);
    let request = chat.composed(&outgoing(&part("Hello")));
    chat.delivered(&request, &key()).await.unwrap();
    chat.delivered(&request, &key()).await.unwrap();
    assert_eq!(mock.heard().iter().filter(|builder| builder.starts_with("POST /token")).count(), 1);
    // One that was never any good is not asked for again and again.
    let failure = by_app(&[GRANTED, GONE]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("UNAUTHENTICATED")), "{failure:?}");
    assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
}

#[tokio::test]
async fn a_service_account_that_google_refuses_is_named() {
    const DELETED: Reply =
        Reply::Says(400, "", r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#);
    let (failure, mock) = by_app(&[DELETED]).await;
    assert!(
        matches!(&failure, Err(Failure::Permanent(why)) if why.contains("invalid_grant") && why.contains("clock")),
        "{failure:?}"
    );
    let statement = mock.heard()[0].split("assertion=").nth(1).unwrap().to_owned();
    assert!(!format!("{failure:?}").contains(&statement));
    for script in
        [&[Reply::Says(503, "", "")] as &'static [Reply], &[Reply::Close], &[Reply::Says(200, "", "{}")]]
    {
        let failure = by_app(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "nothing has left yet: {failure:?}");
    }
}

#[tokio::test]
async fn a_message_that_is_there_already_has_arrived() {
    const THERE: Reply =
        Reply::Says(409, "", r#"{"error":{"code":409,"message":"exists","status":"ALREADY_EXISTS"}}"#);
    let sent = by_app(&[GRANTED, THERE]).await.0.unwrap();
    assert_eq!(sent, "spaces/AAAA/messages/client-00112233445566778899aabbccddeeff");
    let chat = app(1);
    assert_eq!(chat.redelivery_of(&chat.composed(&outgoing(&part("x")))), Redelivery::Keyed(BY_NAME));
    let chat = webhook(1);
    assert_eq!(chat.redelivery_of(&chat.composed(&outgoing(&part("x")))), Redelivery::Keyed(BY_REQUEST));
    assert_eq!(chat.redelivery_of(&json!({})), Redelivery::Never);
}

#[tokio::test]
async fn an_answer_goes_into_the_thread_of_what_it_answers_or_nowhere() {
    const FOUND: Reply = Reply::Says(
        200,
        "",
        r#"{"name":"spaces/AAAA/messages/M","thread":{"name":"spaces/AAAA/threads/T"},"createTime":"2026-11-23T10:00:00.1Z"}"#,
    );
    const CHANGED: Reply =
        Reply::Says(400, "", r#"{"error":{"code":400,"message":"stale","status":"INVALID_ARGUMENT"}}"#);
    let mock = Mock::start(&[GRANTED, FOUND, CREATED]);
    let chat = app(mock.port);
    let hello = part("Hello");
    let request =
        chat.composed(&OutgoingPart { reply_to: Some("spaces/AAAA/messages/M"), ..outgoing(&hello) });
    chat.delivered(&request, &key()).await.unwrap();
    let heard = mock.heard();
    assert!(heard[1].starts_with("GET /v1/spaces/AAAA/messages/M HTTP/1.1"), "{}", heard[1]);
    assert!(heard[2].contains("&messageReplyOption=REPLY_MESSAGE_OR_FAIL HTTP/1.1"), "{}", heard[2]);
    assert_eq!(body(&heard[2])["thread"], json!({ "name": "spaces/AAAA/threads/T" }));
    assert_eq!(
        body(&heard[2])["quotedMessageMetadata"],
        json!({ "name": "spaces/AAAA/messages/M", "lastUpdateTime": "2026-11-23T10:00:00.1Z", "quoteType": "REPLY" })
    );
    // Somebody changed it in that moment: the answer goes into its thread all the same.
    let mock = Mock::start(&[GRANTED, FOUND, CHANGED, CREATED]);
    let chat = app(mock.port);
    chat.delivered(&request, &key()).await.unwrap();
    let heard = mock.heard();
    assert!(body(&heard[3])["quotedMessageMetadata"].is_null(), "{}", heard[3]);
    assert_eq!(body(&heard[3])["thread"], json!({ "name": "spaces/AAAA/threads/T" }));
    // Further parts stand in the thread, and quote nothing.
    let second = chat.composed(&OutgoingPart {
        reply_to: Some("spaces/AAAA/messages/M"),
        index: 1,
        of: 2,
        ..outgoing(&hello)
    });
    assert!(second["quotes"].is_null() && second["answers"].is_string(), "{second}");

    const NONE: Reply = Reply::Says(404, "", r#"{"error":{"code":404,"message":"no","status":"NOT_FOUND"}}"#);
    let mock = Mock::start(&[GRANTED, NONE]);
    let chat = app(mock.port);
    let failure = chat.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("NOT_FOUND")), "{failure:?}");
}

#[tokio::test]
async fn a_silent_message_notifies_nobody() {
    let mock = Mock::start(&[GRANTED, CREATED]);
    let chat = app(mock.port);
    let hello = part("Hello");
    chat.delivered(&chat.composed(&OutgoingPart { silent: true, ..outgoing(&hello) }), &key()).await.unwrap();
    let asked = mock.heard().remove(1);
    let silent = "&createMessageNotificationOptions.notificationType=NOTIFICATION_TYPE_SILENT";
    assert!(asked.lines().next().unwrap().contains(silent), "{asked}");
}

#[tokio::test]
async fn what_is_done_to_a_message_is_done_to_it() {
    let mock = Mock::start(&[GRANTED, CREATED, Reply::Says(200, "", "{}"), CREATED]);
    let chat = app(mock.port);
    let new = part("New");
    let op = |operation: &Operation| {
        let op = OperationRequest {
            address: "spaces/AAAA",
            thread: None,
            reply_to: None,
            silent: false,
            operation,
            part: Some(&new),
        };
        chat.composed_operation(&op).unwrap()
    };
    let name = "spaces/AAAA/messages/M.M";
    let edit = op(&Operation::Edit { message: name.into() });
    assert_eq!(chat.delivered(&edit, &key()).await.unwrap(), name);
    let delete = op(&Operation::Delete { message: name.into() });
    assert_eq!(chat.delivered(&delete, &key()).await.unwrap(), name);
    let thread = op(&Operation::Thread { name: "Plans".into(), message: None });
    assert_eq!(chat.delivered(&thread, &key()).await.unwrap(), "spaces/AAAA/threads/M");
    let heard = mock.heard();
    assert!(
        heard[1].starts_with("PATCH /v1/spaces/AAAA/messages/M.M?updateMask=text HTTP/1.1"),
        "{}",
        heard[1]
    );
    assert!(heard[2].starts_with("DELETE /v1/spaces/AAAA/messages/M.M HTTP/1.1"), "{}", heard[2]);
}

#[tokio::test]
async fn refusals_are_sorted_by_what_can_be_done_about_them() {
    const LIMITED_FOR: Reply = Reply::Says(
        429,
        "Retry-After: 30\r\n",
        r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#,
    );
    const FORBIDDEN: Reply = Reply::Says(
        403,
        "",
        r#"{"error":{"code":403,"message":"not a member","status":"PERMISSION_DENIED"}}"#,
    );
    const BAD_CARD: Reply =
        Reply::Says(400, "", r#"{"error":{"code":400,"message":"card.x","status":"INVALID_ARGUMENT"}}"#);
    for (script, words) in [
        (&[GRANTED, FORBIDDEN] as &'static [Reply], "add the Chat app"),
        (&[GRANTED, BAD_CARD], "card.x"),
        (&[GRANTED, Reply::Says(302, "Location: https://elsewhere.test/\r\n", "")], "address"),
    ] {
        let failure = by_app(script).await.0.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains(words)), "{failure:?}");
    }
    let ((failure, heard), _) = by_app_hearing(&[GRANTED, LIMITED_FOR]).await;
    let after = Duration::from_secs(30);
    assert!(matches!(failure, Err(Failure::Wait { after: wait, .. }) if wait == after));
    assert_eq!(heard, [Allowance::none(Scope::Chat, after)]);
}

#[tokio::test]
async fn a_webhook_is_its_address_which_no_error_shows() {
    let (sent, mock) = by_webhook(&[CREATED]).await;
    assert_eq!(sent.unwrap(), "spaces/AAAA/messages/M.M");
    let heard = mock.heard();
    let path = "POST /v1/spaces/AAAA/messages?key=hush1&token=hush2&requestId=00112233445566778899aabbccddeeff HTTP/1.1";
    assert!(heard[0].starts_with(path), "{}", heard[0]);
    const GONE: Reply = Reply::Says(
        404,
        "",
        r#"{"error":{"code":404,"message":"no webhook hush2 of hush1","status":"NOT_FOUND"}}"#,
    );
    const REFUSED: Reply =
        Reply::Says(401, "", r#"{"error":{"code":401,"message":"hush2","status":"UNAUTHENTICATED"}}"#);
    for script in [&[GONE] as &'static [Reply], &[REFUSED], &[Reply::Close]] {
        let failure = by_webhook(script).await.0.unwrap_err();
        assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    }
    let failure = by_webhook(&[GONE]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("make a new one")), "{failure:?}");
}

#[test]
fn a_webhook_writes_to_its_own_space_and_is_one() {
    let chat = webhook(1);
    assert_eq!(chat.resolve("spaces/AAAA").unwrap(), "spaces/AAAA");
    assert!(chat.resolve("spaces/BBBB").unwrap_err().hint.contains("own space"));
    assert!(app(1).resolve("spaces/BBBB").is_ok());
    for bad in [
        "https://a.test/",
        "https://chat.googleapis.com/v1/spaces/A/messages",
        "x",
        "ftp://a.test/v1/spaces/A/messages?key=hush&token=hush",
    ] {
        let Err(why) = Client::webhook(http(), Secret::from(bad).into()) else { panic!("{bad} was taken") };
        assert!(!why.contains("hush"), "{why}");
    }
}

#[tokio::test]
async fn readiness_says_as_whom_or_why_not() {
    let ready = |script: &'static [Reply]| async move { app(Mock::start(script).port).check_ready().await };
    const SPACES: Reply = Reply::Says(200, "", r#"{"spaces":[{"name":"spaces/AAAA"}]}"#);
    assert_eq!(ready(&[GRANTED, SPACES]).await.unwrap(), "gatepost@hub-test.iam.gserviceaccount.com");
    assert!(ready(&[GRANTED, Reply::Says(200, "", "{}")]).await.unwrap_err().0.contains("in no space"));
    const DELETED: Reply = Reply::Says(400, "", r#"{"error":"invalid_grant"}"#);
    assert!(ready(&[DELETED]).await.unwrap_err().0.contains("refuses the service account"));
    assert!(webhook(1).check_ready().await.unwrap().contains("spaces/AAAA"));
}
