//! Tests of whole scenarios with a signal-cli that follows a script.

use std::time::Duration;

use super::{CAPABILITIES, Client, Signal};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Delivered, Failure, OperationRequest, OutgoingPart, Quoted, Redelivery,
        kit::http::base::Base,
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, body, http},
            sample::{Files, key, op, outgoing, part},
        },
    },
    message::{
        action::Action,
        operation::{Operation, Poll},
    },
    render::{Style, StyleKind},
};
use serde_json::json;

macro_rules! error {
    ($code:expr, $message:expr, $data:expr) => {
        Reply::Says(
            200,
            "",
            concat!(
                r#"{"jsonrpc":"2.0","error":{"code":"#,
                $code,
                r#","message":""#,
                $message,
                r#"","data":"#,
                $data,
                r#"},"id":"k"}"#
            ),
        )
    };
}

mod errors;
mod known;

const ANNA: &str = "+4915112345679";
const GROUP: &str = "group:Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=";

pub(super) fn signal(port: u16, files: &Files) -> Signal {
    let url = Base::parse("url", &format!("http://127.0.0.1:{port}")).unwrap();
    let account = "+4915112345678".to_owned();
    let client = Client::new(http(), url, account.clone());
    client.believe();
    Signal { client, account, kept: files.kept(), listener: None }
}

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let ((sent, _), heard) = deliver_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn deliver_hearing(
    script: &'static [Reply],
) -> ((Result<String, Failure>, Vec<Allowance>), Vec<String>) {
    let mock = Mock::start(script);
    let signal = signal(mock.port, &Files::new());
    let part = part("Hello");
    let request = signal.composed(&outgoing(ANNA, &part));
    (signal.delivered_hearing(&request, &key()).await, mock.heard())
}

const SENT: Reply = Reply::Says(
    200,
    "",
    r#"{"jsonrpc":"2.0","result":{"timestamp":1700000000000,"results":[{"recipientAddress":{"uuid":null,"number":"+4915112345679"},"type":"SUCCESS"}]},"id":"k"}"#,
);

#[test]
fn a_letter_becomes_this_request() {
    let files = Files::new();
    let signal = signal(1, &files);
    let mut part = part("Hello you");
    part.styles = vec![Style { start: 6, len: 3, kind: StyleKind::Bold }];
    assert_eq!(
        signal.composed(&outgoing(ANNA, &part)),
        json!({"method": "send", "params": {
            "account": "+4915112345678", "recipient": [ANNA], "message": "Hello you", "textStyle": ["6:3:BOLD"],
        }})
    );
    let mut voice = files.add("a b;ö-_~*.ogg", "audio/ogg", b"x");
    voice.voice = true;
    let whole = OutgoingPart {
        reply_to: Some("+4915112345670/1700000000001"),
        quoted: Some(Quoted { author: Some("Ben"), text: "Where are you?" }),
        files: std::slice::from_ref(&voice),
        ..outgoing(GROUP, &part)
    };
    assert_eq!(
        signal.composed(&whole)["params"],
        json!({
            "account": "+4915112345678",
            "groupId": ["Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI="],
            "message": "Hello you",
            "textStyle": ["6:3:BOLD"],
            "attachment": [format!("data:audio/ogg;filename=a%20b%3B%C3%B6-_%7E%2A.ogg;base64,{}", voice.reference())],
            "voiceNote": true,
            "quoteTimestamp": 1_700_000_000_001_u64,
            "quoteAuthor": "+4915112345670",
            "quoteMessage": "Where are you?",
        })
    );
    let own = OutgoingPart { reply_to: Some("1700000000002"), ..outgoing(ANNA, &part) };
    assert_eq!(signal.composed(&own)["params"]["quoteAuthor"], "+4915112345678");
    // Who wrote it is known from what was heard, where the id does not say.
    let heard = Quoted { author: Some("+49 151 12345670"), text: "" };
    let params = signal.composed(&OutgoingPart { quoted: Some(heard), ..own })["params"].clone();
    assert_eq!((&params["quoteAuthor"], &params["quoteMessage"]), (&json!("+4915112345670"), &json!(null)));
}

#[test]
fn what_is_done_to_a_message_may_be_done_twice_and_a_new_one_not() {
    let signal = signal(1, &Files::new());
    let text = part("Better");
    let message = || "1700000000000".to_owned();
    let own = "+4915112345678";
    for (operation, method, params) in [
        (
            Operation::React { message: format!("{ANNA}/5"), emoji: "👍".into(), remove: false },
            "sendReaction",
            json!({"account": own, "recipient": [ANNA], "emoji": "👍", "remove": false, "targetAuthor": ANNA, "targetTimestamp": 5}),
        ),
        (
            Operation::Edit { message: message() },
            "send",
            json!({"account": own, "recipient": [ANNA], "message": "Better", "editTimestamp": 1_700_000_000_000_u64}),
        ),
        (
            Operation::Delete { message: message() },
            "remoteDelete",
            json!({"account": own, "recipient": [ANNA], "targetTimestamp": 1_700_000_000_000_u64}),
        ),
    ] {
        let request = signal.composed_operation(&op(ANNA, &operation, Some(&text))).unwrap();
        assert_eq!(request, json!({"method": method, "params": params}));
        assert!(matches!(signal.redelivery_of(&request), Redelivery::Keyed(_)));
    }
    assert_eq!(signal.redelivery_of(&signal.composed(&outgoing(ANNA, &text))), Redelivery::Never);
}

#[tokio::test]
async fn what_it_lacks_it_does_not_do_and_says_what_to_do_instead() {
    let signal = signal(1, &Files::new());
    for operation in [
        Operation::Pin { message: "1".into() },
        Operation::Thread { name: "x".into(), message: None },
        Operation::Kick { user: ANNA.into(), reason: None },
    ] {
        assert_eq!(signal.composed_operation(&op(ANNA, &operation, None)), None);
    }
    for action in [Action::Pin, Action::Thread] {
        assert!(!CAPABILITIES.does(action) && CAPABILITIES.instead.iter().any(|(of, _)| *of == action));
    }
    // Ids that mean nothing, and somebody else's message.
    let nobodys = Operation::React { message: "x".into(), emoji: "👍".into(), remove: false };
    let elses = Operation::Delete { message: format!("{ANNA}/5") };
    for operation in [nobodys, elses] {
        let request = signal.composed_operation(&op(ANNA, &operation, None)).unwrap();
        assert!(matches!(signal.delivered(&request, &key()).await, Err(Failure::Permanent(_))), "{request}");
    }
}

#[tokio::test]
async fn a_message_is_sent_and_known_by_its_time() {
    let (sent, heard) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "1700000000000");
    assert!(heard[0].starts_with("POST /api/v1/rpc HTTP/1.1\r\n"), "{}", heard[0]);
    assert_eq!(
        body(&heard[0]),
        json!({"jsonrpc": "2.0", "id": key().0, "method": "send", "params": {
            "account": "+4915112345678", "recipient": [ANNA], "message": "Hello",
        }})
    );
    let mock = Mock::start(&[SENT]);
    let signal = signal(mock.port, &Files::new());
    let operation = Operation::React { message: format!("{ANNA}/5"), emoji: "👍".into(), remove: true };
    let request = signal.composed_operation(&op(ANNA, &operation, None)).unwrap();
    assert_eq!(signal.delivered(&request, &key()).await.unwrap(), format!("{ANNA}/5"));
}

#[tokio::test]
async fn a_file_stands_in_the_request_and_one_that_is_gone_is_not_sent() {
    let files = Files::new();
    let file = files.add("a.txt", "text/plain", b"hello");
    let mock = Mock::start(&[SENT]);
    let signal = signal(mock.port, &files);
    let part = part("See");
    let request = signal.composed(&OutgoingPart { files: &[file], ..outgoing(ANNA, &part) });
    signal.delivered(&request, &key()).await.unwrap();
    let params = body(&mock.heard()[0])["params"].clone();
    assert_eq!(params["attachment"], json!(["data:text/plain;filename=a.txt;base64,aGVsbG8="]));
    files.clear();
    let failure = signal.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    let broken = json!({"method": "send", "params": {"attachment": ["/etc/passwd"]}});
    assert!(matches!(signal.delivered(&broken, &key()).await, Err(Failure::Permanent(_))));
    assert_eq!(mock.heard().len(), 1);
}

#[tokio::test]
async fn a_limit_with_a_time_is_waited_for_and_one_with_a_captcha_says_what_to_do() {
    const LIMITED: Reply = error!(
        "-5",
        "Failed to send message due to rate limiting",
        r#"{"response":{"timestamp":1,"results":[{"type":"RATE_LIMIT_FAILURE","token":"t","retryAfterSeconds":86400}]}}"#
    );
    let ((failure, noted), _) = deliver_hearing(&[LIMITED]).await;
    let after = Duration::from_secs(86_400);
    assert!(
        matches!(&failure, Err(Failure::Wait { after: wait, why }) if *wait == after && why.contains("submitRateLimitChallenge")),
        "{failure:?}"
    );
    assert_eq!(noted, [Allowance::none(Scope::Account, after)]);
}

#[tokio::test]
async fn what_is_no_signal_cli_says_so() {
    let failure = deliver(&[Reply::Says(404, "", "")]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("check url")), "{failure:?}");
}

#[tokio::test]
async fn a_poll_is_a_method_of_its_own_that_an_old_signal_cli_lacks() {
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: false,
        seconds: None,
        anonymous: None,
    };
    let operation = Operation::Poll(poll.clone());
    let mock = Mock::start(&[SENT, error!("-32601", "Method not implemented", "null")]);
    let signal = signal(mock.port, &Files::new());
    let request = signal.composed_operation(&op(ANNA, &operation, None)).unwrap();
    let params = json!({
        "account": "+4915112345678", "recipient": [ANNA], "question": "Tea?", "option": ["Yes", "No"], "noMulti": true,
    });
    assert_eq!(request, json!({"method": "sendPollCreate", "params": params}));
    assert_eq!(signal.redelivery_of(&request), Redelivery::Never);
    assert_eq!(signal.delivered(&request, &key()).await.unwrap(), "1700000000000");
    let old = signal.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&old, Failure::Permanent(why) if why.contains("use a newer one")), "{old:?}");
    let several = Operation::Poll(Poll { multiple: true, ..poll });
    assert_eq!(signal.composed_operation(&op(ANNA, &several, None)).unwrap()["params"]["noMulti"], false);
    let answering = OperationRequest { reply_to: Some("1700000000000"), ..op(ANNA, &operation, None) };
    assert!(signal.refusal(&signal.composed_operation(&answering).unwrap()).is_some());
}
