//! A webhook, as its receiver gets it.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;
use serde_json::{Value, json};

use super::open;
use crate::{
    channels::{
        Adapter, Failure, OutgoingPart, Redelivery,
        account::{OpenError, Opening},
        testing::{
            http::{Mock, Reply, http},
            sample::{AsJson as _, MESSAGE_ID, key, outgoing, part},
        },
    },
    store::Store,
};

/// 24 bytes of zero.
const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn with(port: u16, held: &str) -> Result<Arc<dyn Adapter>, OpenError> {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), held).unwrap();
    let settings =
        format!("url = \"http://127.0.0.1:{port}/hook\"\nsecret = \"file:{}\"", secret.path().display());
    let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
    open(Opening { account: "a", settings: toml::from_str(&settings).unwrap(), http: http(), store })
}

async fn deliver(reply: Reply) -> (Result<String, Failure>, String) {
    let mock = Mock::start(&[reply]);
    let adapter = with(mock.port, SECRET).unwrap();
    let part = part("Hello");
    let request = adapter.composed(&OutgoingPart { silent: true, ..outgoing("kitchen", &part) });
    (adapter.delivered(&request, &key()).await, mock.heard().pop().unwrap_or_default())
}

#[tokio::test]
async fn it_is_a_request_of_standard_webhooks_with_all_that_is_known_of_the_part() {
    let (sent, heard) = deliver(Reply::Says(204, "", "")).await;
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
        let (sent, _) = deliver(Reply::Says(200, "", said)).await;
        assert_eq!(sent.unwrap(), id, "{said}");
    }
}

#[tokio::test]
async fn a_receiver_that_is_gone_ends_it_and_one_that_is_busy_says_when() {
    let ends = async |status, headers| deliver(Reply::Says(status, headers, "")).await.0;
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
    let error = with(1, "hush hush").err().unwrap().to_string();
    assert!(error.contains("head -c 32 /dev/urandom | base64") && !error.contains("hush"), "{error}");
}

#[test]
fn a_part_that_comes_again_is_known_by_its_key() {
    let (adapter, part) = (with(1, SECRET).unwrap(), part("Hello"));
    let request = adapter.composed(&outgoing("kitchen", &part));
    assert_eq!(adapter.redelivery_of(&request), Redelivery::Keyed(Duration::from_hours(23)));
}
