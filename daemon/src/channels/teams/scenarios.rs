//! Tests of whole scenarios with a Teams that follows a script.

use std::time::Duration;

use super::*;
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, body, http},
            sample::{self, Files, key, part},
        },
    },
    message::{attachment::Attachment, operation::Operation},
    render::Part,
    settings::secret::Secret,
};
use serde_json::json;

mod offered;

pub(super) fn outgoing(part: &Part) -> OutgoingPart<'_> {
    sample::outgoing("19:abc@thread.tacv2", part)
}

fn bot_with(port: u16, secret: impl Into<Token>, kept: Kept) -> Teams {
    let base = |path: &str| Base::parse("url", &format!("http://127.0.0.1:{port}{path}")).unwrap();
    let client = Client::bot(http(), base("/teams/"), base("/login"), "my-tenant", "app-1".into(), secret);
    around(client, base("/openid"), kept)
}

fn around(client: Client, openid: Base, kept: Kept) -> Teams {
    Teams {
        client,
        kept,
        believer: Believer::new(openid),
        transfer: FileTransfer::default(),
        reception: None,
    }
}

pub(super) fn bot(port: u16) -> Teams {
    bot_with(port, Secret::from("hush~secret"), Files::new().kept())
}

fn webhook_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/workflows/1/triggers/manual/paths/invoke?api-version=1&sig=hush-sig")
}

fn webhook(port: u16) -> Teams {
    let client = Client::webhook(http(), Secret::from(webhook_url(port).as_str()).into()).unwrap();
    let openid = Base::parse("url", &format!("http://127.0.0.1:{port}/openid")).unwrap();
    around(client, openid, Files::new().kept())
}

const GRANTED: Reply =
    Reply::Says(200, "", r#"{"token_type":"Bearer","expires_in":86399,"access_token":"hush.jwt"}"#);
const CREATED: Reply = Reply::Says(201, "", r#"{"id":"1700000000000"}"#);

async fn by_bot(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let ((sent, _), heard) = by_bot_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn by_bot_hearing(script: &'static [Reply]) -> ((Result<String, Failure>, Vec<Allowance>), Mock) {
    let mock = Mock::start(script);
    let teams = bot(mock.port);
    let request = teams.composed(&outgoing(&part("Hello")));
    (teams.delivered_hearing(&request, &key()).await, mock)
}

async fn by_webhook(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let mock = Mock::start(script);
    let teams = webhook(mock.port);
    let request = teams.composed(&outgoing(&part("Hello")));
    (teams.delivered(&request, &key()).await, mock)
}

#[tokio::test]
async fn a_bot_asks_for_a_token_and_sends_an_activity() {
    let (sent, mock) = by_bot(&[GRANTED, CREATED]).await;
    assert_eq!(sent.unwrap(), "1700000000000");
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /login/my-tenant/oauth2/v2.0/token HTTP/1.1"), "{}", heard[0]);
    assert!(
        heard[0].ends_with(
            "grant_type=client_credentials&client_id=app-1&client_secret=hush%7Esecret\
             &scope=https%3A%2F%2Fapi.botframework.com%2F.default"
        ),
        "{}",
        heard[0]
    );
    assert!(
        heard[1].starts_with("POST /teams/v3/conversations/19:abc@thread.tacv2/activities HTTP/1.1"),
        "{}",
        heard[1]
    );
    assert!(heard[1].contains("authorization: Bearer hush.jwt\r\n"), "{}", heard[1]);
    assert_eq!(body(&heard[1]), json!({ "type": "message", "text": "Hello", "textFormat": "markdown" }));
}

#[tokio::test]
async fn answers_threads_and_what_is_done_to_a_message_have_their_places() {
    const YES: Reply = Reply::Says(200, "", "");
    const UPDATED: Reply = Reply::Says(200, "", r#"{"id":"18"}"#);
    let mock = Mock::start(&[GRANTED, CREATED, UPDATED, Reply::Says(200, "", "{}")]);
    let teams = bot(mock.port);
    let hello = part("Hello");
    let request =
        teams.composed(&OutgoingPart { thread: Some("17"), reply_to: Some("18"), ..outgoing(&hello) });
    teams.delivered(&request, &key()).await.unwrap();
    let op = |operation: &Operation| {
        let op = OperationRequest {
            address: "19:abc@thread.tacv2",
            thread: None,
            reply_to: None,
            silent: false,
            operation,
            part: Some(&hello),
        };
        teams.composed_operation(&op).unwrap()
    };
    let (edit, delete) =
        (op(&Operation::Edit { message: "18".into() }), op(&Operation::Delete { message: "../18".into() }));
    assert_eq!(teams.delivered(&edit, &key()).await.unwrap(), "18");
    assert_eq!(teams.delivered(&delete, &key()).await.unwrap(), "../18");
    let heard = mock.heard();
    let of = "/teams/v3/conversations/19:abc@thread.tacv2";
    assert!(heard[1].starts_with(&format!("POST {of};messageid=17/activities/18 ")), "{}", heard[1]);
    assert!(heard[2].starts_with(&format!("PUT {of}/activities/18 ")), "{}", heard[2]);
    assert!(heard[3].starts_with(&format!("DELETE {of}/activities/..%2F18 ")), "{}", heard[3]);
    assert_eq!(teams.redelivery_of(&request), Redelivery::Never);
    assert_eq!(
        (teams.redelivery_of(&edit), teams.redelivery_of(&delete)),
        (Redelivery::SEEN_ONCE, Redelivery::SEEN_ONCE)
    );
    assert_eq!(teams.redelivery_of(&json!({})), Redelivery::Never);
    // A yes without words is one.
    assert!(by_bot(&[GRANTED, YES]).await.0.unwrap().starts_with("accepted:"));
}

#[tokio::test]
async fn a_token_is_kept_and_a_tenant_that_knows_no_such_bot_is_named() {
    let mock = Mock::start(&[GRANTED, CREATED, CREATED]);
    let teams = bot(mock.port);
    let request = teams.composed(&outgoing(&part("Hello")));
    teams.delivered(&request, &key()).await.unwrap();
    teams.delivered(&request, &key()).await.unwrap();
    assert_eq!(mock.heard().iter().filter(|builder| builder.contains("/token ")).count(), 1);

    const TENANT: Reply =
        Reply::Says(400, "", r#"{"error":"unauthorized_client","error_description":"AADSTS700016"}"#);
    let failure = by_bot(&[TENANT]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("tenant")), "{failure:?}");
    for script in [
        &[Reply::Close] as &'static [Reply],
        &[Reply::Says(503, "", "")],
        &[Reply::Says(504, "", "")],
        &[Reply::Says(200, "", "{}")],
    ] {
        let failure = by_bot(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "nothing has left yet: {failure:?}");
    }
}

#[tokio::test]
async fn refusals_are_sorted_by_what_can_be_done_about_them() {
    const ROSTER: Reply = Reply::Says(
        403,
        "",
        r#"{"error":{"code":"BotNotInConversationRoster","message":"The bot is not part of it"}}"#,
    );
    const BLOCKED: Reply =
        Reply::Says(403, "", r#"{"error":{"code":"ConversationBlockedByUser","message":"blocked"}}"#);
    const NOT_FOUND: Reply =
        Reply::Says(404, "", r#"{"error":{"code":"ConversationNotFound","message":"no"}}"#);
    const TOO_BIG: Reply = Reply::Says(413, "", r#"{"error":{"code":"MessageSizeTooBig","message":"big"}}"#);
    const TOKEN: Reply = Reply::Says(
        401,
        "",
        r#"{"error":{"code":"BotAuthError","message":"Authorization hush.jwt has been denied"}}"#,
    );
    for (script, words) in [
        (&[GRANTED, ROSTER] as &'static [Reply], "add the bot's app"),
        (&[GRANTED, BLOCKED], "blocked"),
        (&[GRANTED, NOT_FOUND], "service_url"),
        (&[GRANTED, TOO_BIG], "MessageSizeTooBig"),
        (&[GRANTED, TOKEN], "check app_id"),
        (&[GRANTED, Reply::Says(302, "Location: https://elsewhere.test/\r\n", "")], "address of Teams"),
    ] {
        let failure = by_bot(script).await.0.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains(words)), "{words}: {failure:?}");
        assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    }
    // Somebody else wrote there at the same moment.
    let failure = by_bot(&[GRANTED, Reply::Says(412, "", "")]).await.0.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    const LIMITED: Reply =
        Reply::Says(429, "Retry-After: 30\r\n", r#"{"error":{"code":"ContextRateLimit"}}"#);
    let ((failure, heard), _) = by_bot_hearing(&[GRANTED, LIMITED]).await;
    let after = Duration::from_secs(30);
    assert!(matches!(failure, Err(Failure::Wait { after: wait, .. }) if wait == after));
    assert_eq!(heard, [Allowance::none(Scope::Chat, after)]);
}

#[tokio::test]
async fn a_picture_goes_within_its_activity_and_no_other_file_goes_to_a_group() {
    let mock = Mock::start(&[GRANTED, CREATED]);
    let staged = Files::new();
    let picture = staged.add("a.png", "image/png", b"hello");
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (caption, files) = (part("June"), [picture.clone()]);
    let request = teams.composed(&OutgoingPart { files: &files, ..outgoing(&caption) });
    teams.delivered(&request, &key()).await.unwrap();
    let sent = body(&mock.heard()[1]);
    assert_eq!(sent["attachments"][0]["contentUrl"], "data:image/png;base64,aGVsbG8=");
    assert_eq!(sent["text"], "June");

    let document = Attachment { kind: "application/pdf".into(), ..picture };
    let request = teams.composed(&OutgoingPart { files: &[document], ..outgoing(&caption) });
    assert!(teams.refusal(&request).unwrap().contains("send a link"), "{request}");
    staged.clear();
    let request = teams.composed(&OutgoingPart { files: &files, ..outgoing(&caption) });
    let failure = teams.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
}

#[tokio::test]
async fn a_message_that_is_too_long_does_not_leave() {
    let mock = Mock::start(&[]);
    let teams = bot(mock.port);
    let long = part(&"x".repeat(26_000));
    let failure = teams.delivered(&teams.composed(&outgoing(&long)), &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("25000")), "{failure:?}");
    assert!(mock.heard().is_empty());
}

#[tokio::test]
async fn a_workflow_gets_a_card_and_its_address_is_in_no_error() {
    const TAKEN: Reply = Reply::Says(202, "", "");
    let (sent, mock) = by_webhook(&[TAKEN]).await;
    assert_eq!(sent.unwrap(), "accepted:00112233445566778899aabbccddeeff");
    let heard = mock.heard();
    let path = "POST /workflows/1/triggers/manual/paths/invoke?api-version=1&sig=hush-sig HTTP/1.1";
    assert!(heard[0].starts_with(path), "{}", heard[0]);
    assert_eq!(body(&heard[0])["attachments"][0]["content"]["body"][0]["text"], "Hello");
    const GONE: Reply =
        Reply::Says(404, "", r#"{"error":{"code":"WorkflowNotFound","message":"sig hush-sig"}}"#);
    const REFUSED: Reply =
        Reply::Says(401, "", r#"{"error":{"code":"DirectApiAuthorizationRequired","message":"hush-sig"}}"#);
    for (script, words) in
        [(&[GONE] as &'static [Reply], "copy its address anew"), (&[REFUSED], "replace the token")]
    {
        let failure = by_webhook(script).await.0.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains(words)), "{failure:?}");
        assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    }
    let failure = by_webhook(&[Reply::Close]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Unknown(why) if !why.contains("hush")), "{failure:?}");
    for bad in ["x", "https://a.test/hush", "ftp://a.test/?sig=hush"] {
        let Err(why) = Client::webhook(http(), Secret::from(bad).into()) else { panic!("{bad} was taken") };
        assert!(!why.contains("hush"), "{why}");
    }
}

#[test]
fn a_workflow_posts_to_its_one_place() {
    assert!(webhook(1).resolve("webhook").is_ok() && bot(1).resolve("webhook").is_err());
}
