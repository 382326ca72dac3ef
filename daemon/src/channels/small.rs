//! Tests of the two channels that are small enough to need no folder.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;
use serde_json::{Value, json};

use super::{
    Adapter, Failure, OutgoingPart, Redelivery,
    account::{OpenError, Opening},
    http::mock::{Mock, Reply, http},
    ntfy,
    sample::{MESSAGE_ID, key, outgoing, part},
    webhook,
};
use crate::channels::sample::AsJson as _;
use crate::store::Store;

/// 24 bytes of zero.
const WEBHOOK_SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn open(kind: &str, port: u16) -> Arc<dyn Adapter> {
    let secret = if kind == "webhook" { WEBHOOK_SECRET } else { "hush hush" };
    try_open(kind, port, secret).unwrap()
}

fn try_open(kind: &str, port: u16, held: &str) -> Result<Arc<dyn Adapter>, OpenError> {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), held).unwrap();
    let secret_key = if kind == "webhook" { "secret" } else { "token" };
    let settings = format!(
        "url = \"http://127.0.0.1:{port}/hook\"\n{secret_key} = \"file:{}\"",
        secret.path().display()
    );
    let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
    let opening = Opening { account: "a", settings: toml::from_str(&settings).unwrap(), http: http(), store };
    if kind == "webhook" { webhook::open(opening) } else { ntfy::open(opening) }
}

async fn deliver(kind: &str, script: impl Into<Vec<Reply>>) -> (Result<String, Failure>, String) {
    let mock = Mock::start(&script.into());
    let adapter = open(kind, mock.port);
    let part = part("Hello");
    let request = adapter.composed(&OutgoingPart { silent: true, ..outgoing("kitchen", &part) });
    (adapter.delivered(&request, &key()).await, mock.heard().pop().unwrap_or_default())
}

#[tokio::test]
async fn a_webhook_is_a_request_of_standard_webhooks_with_all_that_is_known_of_the_part() {
    let (sent, heard) = deliver("webhook", [Reply::Says(204, "", "")]).await;
    assert_eq!(sent.unwrap(), key().0);
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    assert!(head.starts_with("POST /hook HTTP/1.1"), "{head}");
    assert_eq!(header("webhook-id"), key().0);
    let signed = format!("{}.{}.{body}", key().0, header("webhook-timestamp"));
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &[0; 24]), signed.as_bytes());
    assert_eq!(header("webhook-signature"), format!("v1,{}", STANDARD.encode(mac.as_ref())));
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({"type": "message", "timestamp": "2026-11-23T12:00:00Z", "data": {
            "id": MESSAGE_ID, "agent": "courier", "to": "kitchen", "thread": null, "replyTo": null, "silent": true,
            "part": 1, "of": 1, "markdown": "**Hello**", "text": "Hello",
        }})
    );
    for (said, id) in [(r#"{"id":"7"}"#, "7"), ("OK", &key().0), ("[]", &key().0)] {
        let (sent, _) = deliver("webhook", vec![Reply::Says(200, "", said)]).await;
        assert_eq!(sent.unwrap(), id, "{said}");
    }
}

#[tokio::test]
async fn a_receiver_that_is_gone_ends_it_and_one_that_is_busy_says_when() {
    let ends = async |status, headers| deliver("webhook", vec![Reply::Says(status, headers, "")]).await.0;
    let gone = ends(410, "").await.unwrap_err();
    assert!(matches!(&gone, Failure::Permanent(why) if why.contains("wants no more")), "{gone:?}");
    for status in [429, 503] {
        let busy = ends(status, "Retry-After: 90\r\n").await.unwrap_err();
        assert!(matches!(busy, Failure::Wait { after, .. } if after.as_secs() == 90), "{busy:?}");
    }
    let refused = ends(400, "").await.unwrap_err();
    assert!(matches!(refused, Failure::Permanent(_)), "{refused:?}");
}

#[test]
fn a_secret_of_another_kind_is_refused_when_the_account_is_opened() {
    let error = try_open("webhook", 1, "hush hush").err().unwrap().to_string();
    assert!(error.contains("head -c 32 /dev/urandom | base64") && !error.contains("hush"), "{error}");
}

#[tokio::test]
async fn a_notification_is_what_ntfy_takes() {
    let (sent, heard) =
        deliver("ntfy", [Reply::Says(200, "", r#"{"id":"hwQ2YpKdmg","event":"message"}"#)]).await;
    assert_eq!(sent.unwrap(), "hwQ2YpKdmg");
    assert!(heard.contains("authorization: Bearer hush hush\r\n"), "{heard}");
    let body: Value = serde_json::from_str(heard.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body, json!({"topic": "kitchen", "title": "Hello", "message": "Hello", "priority": 1}));
}

#[test]
fn a_webhook_knows_a_part_that_comes_again_and_ntfy_does_not() {
    let part = part("Hello");
    let redelivery = |kind| {
        let adapter = open(kind, 1);
        adapter.redelivery_of(&adapter.composed(&outgoing("kitchen", &part)))
    };
    assert_eq!(redelivery("webhook"), Redelivery::Keyed(Duration::from_hours(23)));
    assert_eq!(redelivery("ntfy"), Redelivery::Never);
}

#[tokio::test]
async fn ntfy_is_asked_whose_the_token_is_and_without_one_nothing_but_its_health() {
    const HEALTHY: Reply = Reply::Says(200, "", r#"{"healthy":true}"#);
    let check = async |token: &str, script: &[Reply]| {
        let mock = Mock::start(script);
        let said = try_open("ntfy", mock.port, token).unwrap().check_ready().await;
        let paths: Vec<String> =
            mock.heard().iter().filter_map(|heard| heard.split(' ').nth(1).map(str::to_owned)).collect();
        (said, paths)
    };
    let unauthorized = Reply::Says(401, "", r#"{"code":40101,"http":401,"error":"unauthorized"}"#);
    let (said, paths) = check("tk_wrong", &[HEALTHY, unauthorized]).await;
    assert!(said.unwrap_err().0.contains("refused the token"));
    assert_eq!(paths, ["/hook/v1/health", "/hook/v1/account"]);
    let anonymous = Reply::Says(200, "", r#"{"username":"*","role":"anonymous"}"#);
    let (said, _) = check("tk_any", &[HEALTHY, anonymous]).await;
    assert!(said.unwrap().contains("does not look at the token"));
    assert!(check("tk_any", &[HEALTHY, Reply::Says(200, "", "{}")]).await.0.is_err());
    let (mock, store) = (Mock::start(&[HEALTHY]), tempfile::tempdir().unwrap());
    let settings = toml::from_str(&format!("url = \"http://127.0.0.1:{}\"", mock.port)).unwrap();
    let opening = Opening { account: "a", settings, http: http(), store: Store::open(store.path()).unwrap() };
    assert_eq!(ntfy::open(opening).unwrap().check_ready().await.unwrap(), "ntfy at 127.0.0.1");
}

#[tokio::test]
async fn what_is_no_ntfy_is_not_ready() {
    let mock = Mock::start(&[Reply::Says(200, "", "{}")]);
    assert!(open("ntfy", mock.port).check_ready().await.is_err());
}
