//! Who is believed that a file was accepted.

use super::*;
use crate::{channels::received::DropReason, channels::teams::receive::Reception, store::Store};

#[tokio::test]
async fn only_the_connectors_own_token_for_this_bot_and_service_is_believed() {
    let accepted = activity(&json!({ "action": "decline", "context": { "part": key().0 } }));
    let body = accepted.to_string();
    let told = async |authorization: String, body: &str| {
        let teams = bot(Mock::start(&published()).port);
        teams.read_callback(&authorization, body.as_bytes(), &HubMock::default()).await
    };
    assert_eq!(told(token(&header(), &claims()), &body).await, Ok(vec![]));
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        token(&header(), &claims)
    };
    let headed = |name: &str, value: &str| {
        let mut header = header();
        header[name] = json!(value);
        token(&header, &claims())
    };
    let good = token(&header(), &claims());
    let unsigned = format!("{}.", good.rsplit_once('.').unwrap().0);
    let forged = {
        let (said, signature) = good.rsplit_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode(with("aud", json!("app-2")));
        format!("{}.{other}.{signature}", said.split_once('.').unwrap().0)
    };
    for (what, authorization) in [
        ("none", String::new()),
        ("no bearer", good.replace("Bearer ", "Basic ")),
        ("not signed", unsigned),
        ("signed for something else", forged),
        ("alg none", headed("alg", "none")),
        ("alg HS256", headed("alg", "HS256")),
        ("a key that is none", headed("kid", "k-0")),
        ("a key that nobody publishes", headed("kid", "k-2")),
        ("another issuer", with("iss", json!("https://sts.windows.net/"))),
        ("another bot", with("aud", json!("app-2"))),
        ("another service", with("serviceurl", json!("https://evil.test/"))),
        ("expired", with("exp", json!(now() - 301))),
        ("not yet", with("nbf", json!(now() + 310))),
    ] {
        assert_eq!(told(authorization, &body).await, Err(CallbackRefused::Signature), "{what}");
    }
    let elsewhere = body.replace("msteams", "webchat");
    assert_eq!(told(good.clone(), &elsewhere).await, Err(CallbackRefused::Signature), "not endorsed");
    // Whatever is no JSON: nobody's, as if the account were not there.
    for (authorization, body) in [(good.clone(), "{"), (String::new(), "{"), (String::new(), "")] {
        assert_eq!(told(authorization, body).await, Err(CallbackRefused::Signature), "{body}");
    }
    assert_eq!(
        webhook(1).read_callback(&good, body.as_bytes(), &HubMock::default()).await,
        Err(CallbackRefused::Nobody)
    );
}

#[tokio::test]
async fn the_keys_are_read_once_and_nobody_makes_the_hub_read_them_at_will() {
    let mock = Mock::start(&published());
    let teams = bot(mock.port);
    let body = activity(&json!({})).to_string();
    let unknown = token(&json!({ "alg": "RS256", "kid": "k-9" }), &claims());
    for _ in 0..3 {
        assert_eq!(
            teams.read_callback(&token(&header(), &claims()), body.as_bytes(), &HubMock::default()).await,
            Ok(vec![])
        );
        assert_eq!(
            teams.read_callback(&unknown, body.as_bytes(), &HubMock::default()).await,
            Err(CallbackRefused::Signature)
        );
    }
    assert_eq!(mock.heard().len(), 2);
}

#[tokio::test]
async fn a_key_that_was_published_since_is_read_before_anybody_is_refused_and_once_a_minute() {
    let [before, keys, after, other] = [published_as("k-1"), published_as("k-2")].concat()[..] else {
        panic!()
    };
    let mock = Mock::start(&[before, keys, after, other]);
    let teams = bot(mock.port);
    let body = activity(&json!({})).to_string();
    let told = async |kid: &str| {
        let token = token(&json!({ "alg": "RS256", "kid": kid }), &claims());
        teams.read_callback(&token, body.as_bytes(), &HubMock::default()).await
    };
    assert_eq!(told("k-1").await, Ok(vec![]));
    assert_eq!(told("k-2").await, Err(CallbackRefused::Signature), "it asked a moment ago");
    teams.believer.asked_long_ago().await;
    assert_eq!(told("k-2").await, Ok(vec![]), "the first that comes with it is believed");
    assert_eq!(told("k-1").await, Err(CallbackRefused::Signature), "it is published no more");
    assert_eq!(mock.heard().len(), 4);
}

#[tokio::test]
async fn what_is_believed_and_cannot_be_read_is_counted_and_written_down_before_it_is_acknowledged() {
    let teams = Teams { reception: Some(Reception::new("work")), ..bot(Mock::start(&published()).port) };
    let hub = HubMock::default();
    // Half of a pair of UTF-16, as a client that cut a text may send it: no JSON text for this hub.
    let whole = activity(&json!({})).to_string();
    let broken = whole.replace("\"Ann\"", "\"Ann \\ud83d\"");
    assert!(broken != whole && serde_json::from_str::<Value>(&broken).is_err());
    let told = async |authorization: &str| teams.read_callback(authorization, broken.as_bytes(), &hub).await;
    let good = token(&header(), &claims());
    hub.fail(1);
    assert_eq!(told(&good).await, Err(CallbackRefused::Unwritten));
    assert_eq!(told(&good).await, Ok(vec![]));
    let dropped = hub.dropped();
    assert_eq!((dropped.len(), dropped[0].what.as_str()), (1, "activity"));
    assert_eq!(dropped[0].reason, DropReason::Unreadable);
    // Of nobody who is not the Connector is anything counted.
    let mut elsewhere = claims();
    elsewhere["serviceurl"] = json!("https://evil.test/");
    assert_eq!(told(&token(&header(), &elsewhere)).await, Err(CallbackRefused::Signature));
    assert_eq!(hub.dropped().len(), 1);
}

#[tokio::test]
async fn for_a_token_of_another_bot_nobody_looks_for_keys() {
    let mock = Mock::start(&published());
    let teams = bot(mock.port);
    let mut claims = claims();
    claims["aud"] = json!("app-2");
    let body = activity(&json!({})).to_string();
    assert_eq!(
        teams.read_callback(&token(&header(), &claims), body.as_bytes(), &HubMock::default()).await,
        Err(CallbackRefused::Signature)
    );
    assert!(mock.heard().is_empty());
}

#[test]
fn keys_come_over_https_or_from_this_machine() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), webhook_url(9)).unwrap();
    let opened = |url: &str| {
        let settings = format!("webhook = \"file:{}\"\nopenid_url = \"{url}\"", secret.path().display());
        let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
        let settings = toml::from_str(&settings).unwrap();
        open(Opening { account: "a", settings, http: http(), store }).err().map(|error| error.to_string())
    };
    assert_eq!([opened("https://keys.test/openid"), opened("http://127.0.0.1:9/openid")], [None, None]);
    assert!(opened("http://keys.test/openid").unwrap().contains("https"));
}
