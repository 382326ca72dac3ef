//! ntfy, as an account meets it: what is published, and what it is asked about a token.

use std::sync::Arc;

use serde_json::{Value, json};

use super::open;
use crate::{
    channels::{
        Adapter, OutgoingPart, Redelivery,
        account::Opening,
        testing::{
            http::{Mock, Reply, http},
            sample::{AsJson as _, key, outgoing, part},
        },
    },
    store::Store,
};

const HEALTHY: Reply = Reply::Says(200, "", r#"{"healthy":true}"#);

fn with_token(port: u16, token: &str) -> Arc<dyn Adapter> {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), token).unwrap();
    with(&format!("url = \"http://127.0.0.1:{port}/hook\"\ntoken = \"file:{}\"", secret.path().display()))
}

fn with(settings: &str) -> Arc<dyn Adapter> {
    let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
    open(Opening { account: "a", settings: toml::from_str(settings).unwrap(), http: http(), store }).unwrap()
}

#[tokio::test]
async fn a_notification_is_what_ntfy_takes() {
    let mock = Mock::start(&[Reply::Says(200, "", r#"{"id":"hwQ2YpKdmg","event":"message"}"#)]);
    let adapter = with_token(mock.port, "hush hush");
    let part = part("Hello");
    let request = adapter.composed(&OutgoingPart { silent: true, ..outgoing("kitchen", &part) });
    assert_eq!(adapter.delivered(&request, &key()).await.unwrap(), "hwQ2YpKdmg");
    let heard = mock.heard().pop().unwrap();
    assert!(heard.contains("authorization: Bearer hush hush\r\n"), "{heard}");
    let body: Value = serde_json::from_str(heard.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body, json!({"topic": "kitchen", "title": "Hello", "message": "Hello", "priority": 1}));
}

#[test]
fn a_part_that_comes_again_is_not_known() {
    let (adapter, part) = (with_token(1, "hush hush"), part("Hello"));
    let request = adapter.composed(&outgoing("kitchen", &part));
    assert_eq!(adapter.redelivery_of(&request), Redelivery::Never);
}

#[tokio::test]
async fn a_server_is_asked_whose_the_token_is_and_without_one_nothing_but_its_health() {
    let check = async |token: &str, script: &[Reply]| {
        let mock = Mock::start(script);
        let said = with_token(mock.port, token).check_ready().await;
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
    let mock = Mock::start(&[HEALTHY]);
    let without = with(&format!("url = \"http://127.0.0.1:{}\"", mock.port));
    assert_eq!(without.check_ready().await.unwrap(), "ntfy at 127.0.0.1");
}

#[tokio::test]
async fn what_is_no_ntfy_is_not_ready() {
    let mock = Mock::start(&[Reply::Says(200, "", "{}")]);
    assert!(with_token(mock.port, "hush hush").check_ready().await.is_err());
}

#[test]
fn an_account_that_receives_names_its_topics() {
    let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
    let opened = |more: &str| {
        let settings = toml::from_str(&format!("url = \"http://127.0.0.1:1\"\n{more}")).unwrap();
        open(Opening { account: "a", settings, http: http(), store: store.clone() })
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let many: Vec<_> = (0..33).map(|topic| format!("topic-{topic}")).collect();
    for bad in [
        "",
        "topics = []",
        "topics = [\"a b\"]",
        "topics = [\"a\", \"a\"]",
        "topics = [\"a,b\"]",
        &format!("topics = {many:?}"),
    ] {
        assert!(opened(&format!("receive = true\n{bad}")).unwrap_err().contains("topics"), "{bad}");
    }
    assert_eq!(opened("receive = true\ntopics = [\"house-in\", \"Garden_2\"]"), Ok(()));
    assert_eq!(opened("topics = [\"house-in\"]"), Ok(()));
}
