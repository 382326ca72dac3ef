//! Tests of whole scenarios with a Slack that follows a script.

use std::time::Duration;

use super::{Slack, client::Client};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Attempt, Failure, OperationRequest, OutgoingPart, PartKey, Redelivery,
        kit::http::{base::Base, token::Token},
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, body, http},
            sample::{self, Files, file, part},
        },
    },
    files::kept::Kept,
    message::operation::Operation,
    render::Part,
    settings::secret::Secret,
};
use serde_json::{Value, json};

mod files;
mod located;
mod names;
mod reconcile;

const TOKEN: &str = "xoxb-secret";

fn slack_with(port: u16, token: impl Into<Token>, kept: Kept) -> Slack {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}/api")).unwrap();
    Slack { client: Client::new(http(), base, token), kept, listener: None }
}

pub(super) fn slack(port: u16) -> Slack {
    slack_with(port, Secret::from(TOKEN), Files::new().kept())
}

pub(super) fn outgoing(part: &Part) -> OutgoingPart<'_> {
    sample::outgoing("C012AB3CD", part)
}

/// One that says when it was made.
fn key() -> PartKey {
    PartKey("0199aabbccdd7eef8899aabbccddeeff".into())
}

const SENT: Reply = Reply::Says(200, "", r#"{"ok":true,"channel":"C012AB3CD","ts":"1790000000.000100"}"#);
const YES: Reply = Reply::Says(200, "", r#"{"ok":true}"#);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let ((sent, _), heard) = deliver_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn deliver_hearing(script: &'static [Reply]) -> ((Result<String, Failure>, Vec<Allowance>), Mock) {
    let mock = Mock::start(script);
    let slack = slack(mock.port);
    let request = slack.composed(&outgoing(&part("Hello")));
    (slack.delivered_hearing(&request, &key()).await, mock)
}

async fn perform(
    script: &'static [Reply],
    address: &str,
    operation: &Operation,
) -> (Result<String, Failure>, Mock) {
    let mock = Mock::start(script);
    let slack = slack(mock.port);
    let new = part("New");
    let op = OperationRequest {
        address,
        thread: None,
        reply_to: None,
        silent: false,
        operation,
        part: Some(&new),
    };
    let request = slack.composed_operation(&op).unwrap();
    (slack.delivered(&request, &key()).await, mock)
}

#[tokio::test]
async fn a_message_leaves_with_its_key_where_nobody_sees_it() {
    let (sent, mock) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "1790000000.000100");
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /api/chat.postMessage HTTP/1.1"), "{}", heard[0]);
    assert!(heard[0].contains("authorization: Bearer xoxb-secret\r\n"), "{}", heard[0]);
    assert_eq!(
        body(&heard[0]),
        json!({
            "channel": "C012AB3CD", "text": "Hello", "mrkdwn": true, "parse": "none", "link_names": false,
            "unfurl_links": false, "unfurl_media": false,
            "metadata": { "event_type": "gatepost_part", "event_payload": { "key": key().0 } },
        })
    );
}

#[tokio::test]
async fn slack_says_when_to_come_back_and_to_which_conversation() {
    const LIMITED: Reply = Reply::Says(429, "Retry-After: 30\r\n", r#"{"ok":false,"error":"ratelimited"}"#);
    const WITH_200: Reply = Reply::Says(200, "Retry-After: 30\r\n", r#"{"ok":false,"error":"rate_limited"}"#);
    let after = Duration::from_secs(30);
    for script in [&[LIMITED] as &'static [Reply], &[WITH_200]] {
        let ((failure, heard), _) = deliver_hearing(script).await;
        let failure = failure.unwrap_err();
        assert!(
            matches!(&failure, Failure::Wait { after: wait, why } if *wait == after && why.contains("limited")),
            "{failure:?}"
        );
        assert_eq!(heard, [Allowance::none(Scope::Chat, after)]);
    }
    const NO_TIME: Reply = Reply::Says(429, "", r#"{"ok":false,"error":"ratelimited"}"#);
    const NO_TIME_200: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"message_limit_exceeded"}"#);
    for script in [&[NO_TIME] as &'static [Reply], &[NO_TIME_200]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn a_no_with_status_200_is_a_no_with_slacks_word_and_what_to_do() {
    const NOT_IN: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"not_in_channel"}"#);
    const SCOPE: Reply = Reply::Says(
        200,
        "",
        r#"{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}"#,
    );
    const BLOCKS: Reply = Reply::Says(
        200,
        "",
        r#"{"ok":false,"error":"invalid_blocks","response_metadata":{"messages":["[ERROR] no more than 50 items"]}}"#,
    );
    const NEW_WORD: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"moon_is_full"}"#);
    const TOO_LONG: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"msg_too_long"}"#);
    for (script, words) in [
        (&[NOT_IN] as &'static [Reply], &["not_in_channel", "invite the bot"] as &[&str]),
        (&[SCOPE], &["missing_scope", "needs chat:write", "has users:read"]),
        (&[BLOCKS], &["invalid_blocks", "no more than 50 items"]),
        (&[NEW_WORD], &["moon_is_full"]),
        (&[TOO_LONG], &["msg_too_long", "less text"]),
        (&[Reply::Says(301, "Location: https://elsewhere.test/\r\n", "")], &["address of Slack"]),
        (&[Reply::Says(404, "", "<h1>Not here</h1>")], &["404"]),
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        let Failure::Permanent(why) = &failure else { panic!("{failure:?}") };
        assert!(words.iter().all(|word| why.contains(word)), "{words:?}: {why}");
    }
}

#[tokio::test]
async fn slacks_own_trouble_is_retried_or_unknown_as_it_says() {
    const DOWN: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"service_unavailable"}"#);
    const CUT: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"request_timeout"}"#);
    const DOWN_503: Reply = Reply::Says(503, "", r#"{"ok":false,"error":"service_unavailable"}"#);
    for script in [&[DOWN] as &'static [Reply], &[CUT], &[DOWN_503]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
    const INTERNAL: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"internal_error"}"#);
    const FATAL: Reply = Reply::Says(500, "", r#"{"ok":false,"error":"fatal_error"}"#);
    const NO_ID: Reply = Reply::Says(200, "", r#"{"ok":true}"#);
    for script in [&[INTERNAL] as &'static [Reply], &[FATAL], &[NO_ID]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn what_is_done_already_is_done() {
    let react = |remove| Operation::React { message: "1.1".into(), emoji: "👍".into(), remove };
    let (on, off) = (Operation::Pin { message: "1.1".into() }, Operation::Unpin { message: "1.1".into() });
    const REACTED: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"already_reacted"}"#);
    const NO_REACTION: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"no_reaction"}"#);
    const PINNED: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"already_pinned"}"#);
    const NO_PIN: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"no_pin"}"#);
    for (script, operation) in [
        (&[YES] as &'static [Reply], react(false)),
        (&[REACTED], react(false)),
        (&[NO_REACTION], react(true)),
        (&[PINNED], on),
        (&[NO_PIN], off),
        (&[YES], Operation::Edit { message: "1.1".into() }),
        (&[YES], Operation::Delete { message: "1.1".into() }),
    ] {
        assert_eq!(perform(script, "C012AB3CD", &operation).await.0.unwrap(), "1.1", "{operation:?}");
    }
    const GONE: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"message_not_found"}"#);
    let failure =
        perform(&[GONE], "C012AB3CD", &Operation::Delete { message: "1.1".into() }).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("or no more")), "{failure:?}");
}

#[tokio::test]
async fn a_person_is_written_to_directly_and_acted_on_in_their_conversation() {
    const OPENED: Reply = Reply::Says(200, "", r#"{"ok":true,"channel":{"id":"D012AB3CD"}}"#);
    let (done, mock) = perform(&[OPENED, YES], "U012AB3CD", &Operation::Pin { message: "1.1".into() }).await;
    done.unwrap();
    let heard = mock.heard();
    assert!(heard[0].starts_with("POST /api/conversations.open ") && heard[0].ends_with("users=U012AB3CD"));
    assert_eq!(body(&heard[1])["channel"], "D012AB3CD");

    let mock = Mock::start(&[SENT]);
    let slack = slack(mock.port);
    let hello = part("Hello");
    let request = slack.composed(&OutgoingPart { address: "U012AB3CD", ..outgoing(&hello) });
    slack.delivered(&request, &key()).await.unwrap();
    assert_eq!(body(&mock.heard()[0])["channel"], "U012AB3CD");
}

#[test]
fn only_what_harms_nobody_goes_twice() {
    let slack = slack(1);
    let redelivery = |operation: &Operation| {
        let new = part("New");
        let op = OperationRequest {
            address: "C012AB3CD",
            thread: None,
            reply_to: None,
            silent: false,
            operation,
            part: Some(&new),
        };
        slack.redelivery_of(&slack.composed_operation(&op).unwrap())
    };
    assert_eq!(redelivery(&Operation::Pin { message: "1.1".into() }), Redelivery::SEEN_ONCE);
    assert_eq!(redelivery(&Operation::Thread { name: "A".into(), message: None }), Redelivery::Ask);
    let (hello, files) = (part("Hello"), [file("a b.txt", "text/plain", b"hello")]);
    assert_eq!(
        slack.redelivery_of(&slack.composed(&OutgoingPart { files: &files, ..outgoing(&hello) })),
        Redelivery::Never
    );
    assert_eq!(slack.redelivery_of(&json!({})), Redelivery::Never);
}
