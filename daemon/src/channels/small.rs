//! Tests of the two channels that are small enough to need no folder.

use std::time::Duration;

use ring::hmac;
use serde_json::{Value, json};

use super::{
    Adapter, Failure, Letter, Redelivery,
    account::Opening,
    http::double::{Double, Reply, http},
    ntfy,
    sample::{key, letter, part},
    webhook,
};
use crate::store::Store;

fn open(kind: &str, port: u16) -> std::sync::Arc<dyn Adapter> {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "hush hush").unwrap();
    let secret_key = if kind == "webhook" { "secret" } else { "token" };
    let settings = format!(
        "url = \"http://127.0.0.1:{port}/hook\"\n{secret_key} = \"file:{}\"",
        secret.path().display()
    );
    let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
    let opening = Opening { account: "a", settings: toml::from_str(&settings).unwrap(), http: http(), store };
    if kind == "webhook" { webhook::open(opening) } else { ntfy::open(opening) }.unwrap()
}

async fn deliver(kind: &str, script: &'static [Reply]) -> (Result<String, Failure>, String) {
    let double = Double::start(script);
    let adapter = open(kind, double.port);
    let part = part("Hello");
    let wire = adapter.compose(&Letter { silent: true, ..letter("kitchen", &part) });
    (adapter.deliver(&wire, &key()).await, double.heard().pop().unwrap_or_default())
}

#[tokio::test]
async fn a_webhook_is_signed_over_its_time_and_body_and_carries_the_parts_key() {
    let (sent, heard) = deliver("webhook", &[Reply::Says(204, "", "")]).await;
    assert_eq!(sent.unwrap(), key().0);
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    assert!(head.starts_with("POST /hook HTTP/1.1"), "{head}");
    assert_eq!(header("idempotency-key"), key().0);
    let signed = format!("{}.{body}", header("x-gatepost-timestamp"));
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"hush hush"), signed.as_bytes());
    assert_eq!(header("x-gatepost-signature"), format!("sha256={}", crate::random::to_hex(mac.as_ref())));
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({"to": "kitchen", "thread": null, "replyTo": null, "silent": true, "text": "Hello", "part": 1, "of": 1})
    );
    let (sent, _) = deliver("webhook", &[Reply::Says(200, "", r#"{"id":"7"}"#)]).await;
    assert_eq!(sent.unwrap(), "7");
}

#[tokio::test]
async fn a_notification_is_what_ntfy_takes() {
    let (sent, heard) =
        deliver("ntfy", &[Reply::Says(200, "", r#"{"id":"hwQ2YpKdmg","event":"message"}"#)]).await;
    assert_eq!(sent.unwrap(), "hwQ2YpKdmg");
    assert!(heard.contains("authorization: Bearer hush hush\r\n"), "{heard}");
    let body: Value = serde_json::from_str(heard.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body, json!({"topic": "kitchen", "title": "Hello", "message": "Hello", "priority": 1}));
}

#[test]
fn a_webhook_knows_a_part_that_comes_again_and_ntfy_does_not() {
    let wire = json!({});
    assert_eq!(open("webhook", 1).redelivery(&wire), Redelivery::Keyed(Duration::from_hours(23)));
    assert_eq!(open("ntfy", 1).redelivery(&wire), Redelivery::Never);
}

#[tokio::test]
async fn what_is_no_ntfy_is_not_ready() {
    let double = Double::start(&[Reply::Says(200, "", "{}")]);
    assert!(open("ntfy", double.port).check_ready().await.is_err());
}
