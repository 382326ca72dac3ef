//! Tests of whole scenarios with a Bot API that follows a script.

use std::time::Duration;

use super::{Client, Telegram};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Failure, OperationRequest, OutgoingPart,
        kit::http::{base::Base, token::Token},
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, body, http},
            sample::{self, Files, key, marked},
        },
    },
    message::operation::Operation,
    render::Part,
    settings::secret::Secret,
};
use serde_json::json;

mod files;
mod operations;

const TOKEN: &str = "123456:ABC-secret_token";

pub(super) fn telegram(port: u16, token: impl Into<Token>) -> Telegram {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}")).unwrap();
    Telegram {
        client: Client::new(http(), base, token),
        kept: Files::new().kept(),
        link_previews: false,
        listener: None,
    }
}

pub(super) fn outgoing(part: &Part) -> OutgoingPart<'_> {
    sample::outgoing("-1001234567890", part)
}

const SENT: Reply = Reply::Says(200, "", r#"{"ok":true,"result":{"message_id":42,"message_thread_id":7}}"#);
const DONE: Reply = Reply::Says(200, "", r#"{"ok":true,"result":true}"#);

const UNREADABLE: Reply = Reply::Says(
    400,
    "",
    r#"{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0"}"#,
);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let ((sent, _), heard) = deliver_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn deliver_hearing(script: &'static [Reply]) -> ((Result<String, Failure>, Vec<Allowance>), Mock) {
    let mock = Mock::start(script);
    let telegram = telegram(mock.port, Secret::from(TOKEN));
    let request = telegram.composed(&outgoing(&marked("<b>Hello</b>", "Hello")));
    (telegram.delivered_hearing(&request, &key()).await, mock)
}

async fn perform(
    operation: Operation,
    part: Option<&Part>,
    script: &'static [Reply],
) -> (Result<String, Failure>, Vec<String>) {
    let mock = Mock::start(script);
    let telegram = telegram(mock.port, Secret::from(TOKEN));
    let op = OperationRequest {
        address: "-1001234567890",
        thread: None,
        reply_to: None,
        silent: false,
        operation: &operation,
        part,
    };
    let request = telegram.composed_operation(&op).unwrap();
    (telegram.delivered(&request, &key()).await, mock.heard())
}

/// A failure, checked to be without the token.
fn why(failure: &Failure) -> String {
    let why = format!("{failure:?}");
    assert!(!why.contains("secret_token") && !why.contains("bot123456"), "{why}");
    why
}

#[tokio::test]
async fn a_message_is_posted_as_it_was_stored_and_its_id_comes_back() {
    let (sent, mock) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "42");
    let heard = mock.heard();
    assert!(heard[0].starts_with(&format!("POST /bot{TOKEN}/sendMessage HTTP/1.1")), "{}", heard[0]);
    assert!(heard[0].contains("content-type: application/json\r\n"), "{}", heard[0]);
    let expected = json!({
        "chat_id": -1_001_234_567_890_i64, "text": "<b>Hello</b>", "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": true},
    });
    assert_eq!(body(&heard[0]), expected);
}

#[tokio::test]
async fn only_where_the_markup_cannot_be_read_the_planned_text_goes_and_only_once() {
    let (sent, mock) = deliver(&[UNREADABLE, SENT]).await;
    assert_eq!(sent.unwrap(), "42");
    let second = body(&mock.heard()[1]);
    assert_eq!((&second["text"], second.get("parse_mode")), (&json!("Hello"), None));
    let (failure, mock) = deliver(&[UNREADABLE, UNREADABLE, SENT]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))), "{failure:?}");
    assert_eq!(mock.heard().len(), 2);
    const TOO_LONG: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message is too long"}"#,
    );
    let (failure, mock) = deliver(&[TOO_LONG, SENT]).await;
    assert!(
        why(&failure.unwrap_err())
            .contains("Permanent(\"Telegram answered 400, Bad Request: message is too long")
    );
    assert_eq!(mock.heard().len(), 1);
    // What was lost on its way is not followed by anything.
    let (failure, mock) = deliver(&[UNREADABLE, Reply::Close, SENT]).await;
    assert!(matches!(failure, Err(Failure::Unknown(_))), "{failure:?}");
    assert_eq!(mock.heard().len(), 2);
}

#[tokio::test]
async fn telegram_says_when_to_come_back() {
    const BODY: Reply = Reply::Says(
        429,
        "",
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 6775","parameters":{"retry_after":6775}}"#,
    );
    const ABSURD: Reply = Reply::Says(
        429,
        "",
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":18446744073709551615}}"#,
    );
    const HEADER: Reply = Reply::Says(429, "Retry-After: 7\r\n", "<h1>Too many</h1>");
    const NEVER: Reply =
        Reply::Says(429, "", r#"{"ok":false,"error_code":429,"description":"Too Many Requests"}"#);
    for (script, seconds) in
        [(&[BODY] as &'static [Reply], 6_775), (&[ABSURD], 7 * 24 * 3600), (&[HEADER], 7)]
    {
        let ((failure, heard), _) = deliver_hearing(script).await;
        let after = Duration::from_secs(seconds);
        assert!(matches!(&failure, Err(Failure::Wait { after: wait, .. }) if *wait == after), "{failure:?}");
        assert_eq!(heard, [Allowance::none(Scope::Chat, after)]);
    }
    let failure = deliver(&[NEVER]).await.0;
    assert!(matches!(failure, Err(Failure::Retry(_))), "{failure:?}");
}

#[tokio::test]
async fn a_group_that_moved_needs_a_hold_of_its_own() {
    const MOVED: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1009876543210}}"#,
    );
    let (failure, mock) = deliver(&[MOVED, SENT]).await;
    let why = why(&failure.unwrap_err());
    assert!(why.starts_with("Permanent") && why.contains("telegram:-1009876543210"), "{why}");
    assert_eq!(mock.heard().len(), 1, "nothing is sent elsewhere by itself");
}

#[tokio::test]
async fn a_refusal_is_permanent_with_telegrams_words() {
    const BLOCKED: Reply = Reply::Says(
        403,
        "",
        r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#,
    );
    const NO_METHOD: Reply =
        Reply::Says(404, "", r#"{"ok":false,"error_code":404,"description":"Not Found: method not found"}"#);
    const MOVED: Reply = Reply::Says(302, "Location: https://elsewhere.test/\r\n", "");
    const ELSEWHERE: Reply = Reply::Says(404, "", "<h1>Not here</h1>");
    const ECHO: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: /bot123456:ABC-secret_token/ is odd"}"#,
    );
    for (script, words) in [
        (&[BLOCKED] as &'static [Reply], "bot was blocked by the user"),
        (&[NO_METHOD], "method not found"),
        (&[MOVED], "where it points"),
        (&[ELSEWHERE], "check base_url"),
        (&[ECHO], "***"),
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        let why = format!("{failure:?}");
        assert!(why.starts_with("Permanent") && why.contains(words), "{words}: {why}");
        assert!(!why.contains("secret_token"), "{why}");
    }
}

#[tokio::test]
async fn a_token_of_no_bot_is_refused_as_a_method_that_is_not_found() {
    const NO_TOKEN: Reply =
        Reply::Says(404, "", r#"{"ok":false,"error_code":404,"description":"Not Found"}"#);
    let failure = deliver(&[NO_TOKEN]).await.0.unwrap_err();
    assert!(why(&failure).starts_with("Permanent(\"bot token rejected"), "{failure:?}");
}
