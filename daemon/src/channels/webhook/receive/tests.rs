//! What proves a request, what is read of it, and what a hub says of an account that takes some.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use serde_json::json;

use super::{
    Taking,
    body::{Media, Pointer, text},
    proof::Proof,
};
use crate::{
    channels::{
        Adapter,
        account::{Accounts, NoAccount, OnUnknown, OpenError, Opening},
        incoming::NotTaken,
        kit::http::{signature::Secrets, token::Token},
        received::{AuthorKind, Event, MAX_TEXT_CHARS, Received},
        testing::{http::http, sample},
        webhook::open,
    },
    message::fingerprint::Fingerprint,
    settings::secret::Secret,
    store::Store,
};

/// 24 bytes of zero.
const WHSEC: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const NOW_S: i64 = 1_764_000_000;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

fn take(taking: &Taking, headers: &HeaderMap, body: &str) -> Result<Received, NotTaken> {
    taking.take(headers, body.as_bytes(), (Instant::now(), NOW_S * 1000))
}

fn said(received: &Received) -> &str {
    match &received.event {
        Event::Webhook(words) => &words.text,
        other => panic!("{other:?}"),
    }
}

fn by_token() -> Taking {
    Taking::new(
        "ci",
        Proof::token(&[Secret::from("correct-horse-battery")], Some("x-gitlab-token".parse().unwrap())),
    )
}

fn signed(id: &str, at: i64, body: &str) -> HeaderMap {
    let secrets = Secrets::signing(Token::from(Secret::from(WHSEC)));
    let signature = secrets.sign(id, at, body).unwrap();
    headers(&[
        ("content-type", "application/json"),
        ("webhook-id", id),
        ("webhook-timestamp", &at.to_string()),
        ("webhook-signature", &signature),
    ])
}

fn without(headers: &HeaderMap, name: &str) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(name);
    headers
}

#[test]
fn a_signature_of_the_standard_proves_its_own_request_for_five_minutes() {
    let taking = Taking::new("ci", Proof::standard(&[Secret::from(WHSEC)]).unwrap());
    let body = r#"{"type": "build.failed"}"#;
    let received = take(&taking, &signed("msg_1", NOW_S - 299, body), body).unwrap();
    assert_eq!((received.key.as_str(), received.message_id.as_deref()), ("msg_1", Some("msg_1")));
    assert_eq!(received.said_at, Some((NOW_S - 299) * 1000));
    assert_eq!(received.author.kind, AuthorKind::Program);
    assert_eq!((received.conversation.address.as_str(), received.conversation.direct), ("ci", false));
    assert!(!received.mentions_me);
    assert_eq!(said(&received), "{\n  \"type\": \"build.failed\"\n}");
    let right = signed("msg_1", NOW_S, body);
    let mut other_id = right.clone();
    other_id.insert("webhook-id", "msg_2".parse().unwrap());
    let mut twice = right.clone();
    twice.append("webhook-id", "msg_1".parse().unwrap());
    let mut other_time = right.clone();
    other_time.insert("webhook-timestamp", (NOW_S + 1).to_string().parse().unwrap());
    let mut no_time = right.clone();
    no_time.insert("webhook-timestamp", "soon".parse().unwrap());
    for (headers, what) in [
        (signed("msg_1", NOW_S - 301, body), "old"),
        (signed("msg_1", NOW_S + 301, body), "of tomorrow"),
        (signed("msg_1", i64::MIN, body), "of no time"),
        (signed("", NOW_S, body), "without an id"),
        (signed("msg_1", NOW_S, "{}"), "of another body"),
        (without(&right, "webhook-signature"), "unsigned"),
        (without(&right, "webhook-timestamp"), "without a time"),
        (other_id, "under another id"),
        (twice, "with two ids"),
        (other_time, "of another time"),
        (no_time, "with a word for a time"),
    ] {
        assert_eq!(take(&taking, &headers, body), Err(NotTaken::Proof), "{what}");
    }
}

#[test]
fn a_token_proves_a_request_in_either_header_and_no_part_of_it_does() {
    let taking = by_token();
    for (name, value) in [
        ("authorization", "Bearer correct-horse-battery"),
        ("authorization", "bearer correct-horse-battery"),
        ("x-gitlab-token", "correct-horse-battery"),
    ] {
        let received =
            take(&taking, &headers(&[("content-type", "text/plain"), (name, value)]), "Done.").unwrap();
        assert_eq!(
            (said(&received), received.key.as_str(), received.message_id.as_deref()),
            ("Done.", "", None)
        );
    }
    for (name, value) in [
        ("authorization", "Bearer correct-horse-batter"),
        ("authorization", "Bearer "),
        ("authorization", "correct-horse-battery"),
        ("authorization", "Basic correct-horse-battery"),
        ("x-gitlab-token", "Correct-horse-battery"),
        ("x-other", "correct-horse-battery"),
    ] {
        let given = headers(&[("content-type", "text/plain"), (name, value)]);
        assert!(!taking.proof.may_hold(&given, NOW_S), "{name}: {value}");
        assert_eq!(take(&taking, &given, "Done."), Err(NotTaken::Proof), "{name}: {value}");
    }
}

/// The example of GitHub's own page
/// (<https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries#testing-the-webhook-payload-validation>).
#[test]
fn githubs_signature_is_githubs() {
    let taking = Taking::new("ci", Proof::github(&[Secret::from("It's a Secret to Everybody")]));
    let right = headers(&[
        ("content-type", "text/plain"),
        ("x-hub-signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
        ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        ("x-github-event", "push"),
    ]);
    let received = take(&taking, &right, "Hello, World!").unwrap();
    assert_eq!(received.key, "72d3162e-cc78-11e3-81ab-4c9367dc0958");
    assert_eq!(said(&received), "event: push\nHello, World!");
    assert_eq!(received.said_at, None);
    assert_eq!(take(&taking, &right, "Hello, World"), Err(NotTaken::Proof));
    assert_eq!(take(&taking, &without(&right, "x-hub-signature-256"), "Hello, World!"), Err(NotTaken::Proof));
    let mut short = right.clone();
    short.insert("x-hub-signature-256", "sha256=7571".parse().unwrap());
    assert!(!taking.proof.may_hold(&short, NOW_S));
}

#[test]
fn a_delivery_is_named_by_the_header_of_the_settings_or_a_usual_one() {
    let token = ("authorization", "Bearer correct-horse-battery");
    let named = |taking: &Taking, more: &[(&'static str, &str)]| {
        let all = [&[("content-type", "text/plain"), token][..], more].concat();
        take(taking, &headers(&all), "Done.").map(|received| received.key)
    };
    let usual = by_token();
    assert_eq!(named(&usual, &[("webhook-id", "1")]), Ok("1".into()));
    assert_eq!(named(&usual, &[("idempotency-key", "2")]), Ok("2".into()));
    assert_eq!(named(&usual, &[("x-event", "3")]), Ok(String::new()));
    assert_eq!(named(&usual, &[("webhook-id", "")]), Err(NotTaken::Id));
    assert_eq!(named(&usual, &[("webhook-id", &"a".repeat(321))]), Err(NotTaken::Id));
    let own = Taking { id_header: Some("x-event".parse().unwrap()), ..by_token() };
    assert_eq!(named(&own, &[("webhook-id", "1"), ("x-event", "3")]), Ok("3".into()));
    assert_eq!(named(&own, &[("webhook-id", "1")]), Ok(String::new()));
}

#[test]
fn only_what_is_proved_counts_and_a_minute_has_thirty() {
    let (taking, now) = (by_token(), Instant::now());
    let plain = ("content-type", "text/plain");
    let right = headers(&[plain, ("authorization", "Bearer correct-horse-battery")]);
    let wrong = headers(&[plain, ("authorization", "Bearer correct-horse-batterx")]);
    let at = |headers, now| taking.take(headers, b"Done.", (now, NOW_S * 1000));
    for _ in 0..100 {
        assert_eq!(at(&wrong, now), Err(NotTaken::Proof));
    }
    assert!((0..30).all(|_| at(&right, now).is_ok()));
    assert!(matches!(at(&right, now), Err(NotTaken::TooMany(wait)) if wait <= Duration::from_secs(2)));
    assert!(at(&right, now + Duration::from_secs(2)).is_ok());
}

#[test]
fn a_body_is_read_as_its_type_says_and_its_text_is_where_the_pointer_shows() {
    let at = |pointer: &str| Some(Pointer::parse(pointer).unwrap());
    let body = r#"{"data": {"message": "The **oven** is on.", "count": 3, "none": null, "a/b": {"c": [1]}}}"#;
    let read = |at: Option<Pointer>| text(Media::Json, body.as_bytes(), at.as_ref()).unwrap();
    assert_eq!(read(at("/data/message")), "The **oven** is on.");
    assert_eq!(read(at("/data/count")), "3");
    assert_eq!(read(at("/data/a~1b/c/0")), "1");
    // What is not there is no reason to lose the rest.
    for nowhere in [at("/data/none"), at("/data/text"), None] {
        assert_eq!(serde_json::from_str::<serde_json::Value>(&read(nowhere)).unwrap()["data"]["count"], 3);
    }
    let form = |body: &str, at: Option<Pointer>| text(Media::Form, body.as_bytes(), at.as_ref());
    assert_eq!(form("text=It+is%20on%21&x=1&&y", at("/text")).unwrap(), "It is on!");
    assert_eq!(form("text=a&text=b", at("/text")).unwrap(), "b");
    assert!(form("x=1&y", None).unwrap().contains("\"y\": \"\""));
    for (media, body) in [
        (Media::Json, &b"{"[..]),
        (Media::Json, b""),
        (Media::Json, b"\"\""),
        (Media::Json, b"{} {}"),
        (Media::Json, b"\"\xff\""),
        (Media::Text, b"\xff"),
        (Media::Text, b" \n"),
        (Media::Form, b""),
        (Media::Form, b"a=%ff"),
    ] {
        assert_eq!(text(media, body, None), None, "{media:?} {}", String::from_utf8_lossy(body));
    }
    let many = vec!["a=1"; 1001].join("&");
    assert_eq!(text(Media::Form, many.as_bytes(), None), None);
    for (named, media) in [
        ("application/json; charset=utf-8", Some(Media::Json)),
        ("Application/CloudEvents+JSON", Some(Media::Json)),
        ("text/plain", Some(Media::Text)),
        ("application/x-www-form-urlencoded", Some(Media::Form)),
        ("text/html", None),
        ("image/x+json", None),
        ("", None),
    ] {
        assert_eq!(Media::of(&headers(&[("content-type", named)])), media, "{named}");
    }
    assert_eq!(Media::of(&HeaderMap::new()), None);
    for bad in ["data", "", "/a~", "/a~2"] {
        assert!(Pointer::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_deep_structure_does_not_grow_in_memory_by_its_indentation() {
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(120), "]".repeat(120));
    let body = deep(&vec!["1"; 100_000].join(","));
    let read = text(Media::Json, body.as_bytes(), None).unwrap();
    assert!(read.len() <= body.len(), "{}", read.len());
    assert!(text(Media::Json, deep("1").as_bytes(), None).unwrap().contains('\n'));
    assert_eq!(text(Media::Json, "[".repeat(200_000).as_bytes(), None), None);
    let long = json!({"text": "a".repeat(2 * MAX_TEXT_CHARS)}).to_string();
    let received = take(
        &by_token(),
        &headers(&[("content-type", "application/json"), ("x-gitlab-token", "correct-horse-battery")]),
        &long,
    );
    let received = received.unwrap().bounded().unwrap();
    assert!(received.event.words().unwrap().truncated);
}

fn opened(settings: &str) -> Result<std::sync::Arc<dyn Adapter>, OpenError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, secret) in [("whsec", WHSEC), ("token", "correct-horse-battery"), ("short", "hush")] {
        std::fs::write(folder.path().join(name), secret).unwrap();
    }
    let settings = settings.replace("file:", &format!("file:{}/", folder.path().display()));
    let store = Store::open(tempfile::tempdir().unwrap().path()).unwrap();
    open(Opening { account: "ci", settings: toml::from_str(&settings).unwrap(), http: http(), store })
}

#[tokio::test]
async fn an_account_that_only_receives_says_so_and_sends_nothing() {
    let adapter = opened("receive = true\nproof_secrets = [\"file:whsec\"]").unwrap();
    assert!(!adapter.sends() && adapter.incoming().is_some_and(|incoming| incoming.is_trusted()));
    let said = adapter.check_ready().await.unwrap();
    assert_eq!(said, "takes what is posted to /v1/hooks/ci, nothing since it was opened");
    let part = sample::part("Hello");
    let refused = adapter.plan(&sample::outgoing("ci", &part)).err().unwrap();
    assert!(refused.0.contains("only receives"), "{refused:?}");
    let sends = opened("url = \"http://127.0.0.1:1/\"\nsecret = \"file:whsec\"").unwrap();
    assert!(sends.sends() && sends.incoming().is_none());
}

#[test]
fn accounts_that_only_receive_do_not_make_it_unclear_which_one_sends() {
    let hears = || opened("receive = true\nproof_secrets = [\"file:whsec\"]").unwrap();
    let sends = || opened("url = \"http://127.0.0.1:1/\"\nsecret = \"file:whsec\"").unwrap();
    let mut accounts = Accounts::default();
    let mut add = |name: &str, adapter| {
        accounts.add(("webhook", name), adapter, OnUnknown::default(), Fingerprint([0; 32]));
        accounts.pick("webhook", None).map(|(name, _)| name.to_owned())
    };
    assert_eq!(add("ci", hears()).unwrap(), "ci");
    assert!(matches!(add("door", hears()), Err(NoAccount::Several { .. })));
    assert_eq!(add("home", sends()).unwrap(), "home");
    assert!(matches!(add("work", sends()), Err(NoAccount::Several { .. })));
}

#[tokio::test]
async fn the_account_says_when_it_took_something_and_why_it_refused_the_last() {
    let adapter =
        opened("receive = true\nproof = \"token\"\nproof_secrets = [\"file:token\"]\ntrust = \"unknown\"")
            .unwrap();
    let incoming = adapter.incoming().unwrap();
    assert!(!incoming.is_trusted());
    let right = headers(&[("content-type", "text/plain"), ("authorization", "Bearer correct-horse-battery")]);
    assert_eq!(incoming.admits(&headers(&[])), Err(NotTaken::Proof));
    let said = adapter.check_ready().await.unwrap();
    assert!(said.contains("; refused ") && said.ends_with("nothing proves who sent it"), "{said}");
    tokio::time::sleep(Duration::from_millis(2)).await;
    incoming.admits(&right).unwrap();
    incoming.read(&right, b"Done.", Instant::now()).unwrap();
    let said = adapter.check_ready().await.unwrap();
    assert!(said.contains(", last 20") && !said.contains("refused"), "{said}");
}

#[test]
fn settings_that_do_not_go_together_are_refused_in_words_without_a_secret() {
    for (settings, words) in [
        ("", "url"),
        ("url = \"https://a.example\"", "secret"),
        ("secret = \"file:whsec\"", "url"),
        ("receive = true", "proof_secrets"),
        ("receive = true\nproof_secrets = []", "proof_secrets"),
        ("receive = true\nproof_secrets = [\"file:token\"]", "whsec_"),
        ("receive = true\nproof = \"token\"\nproof_secrets = [\"file:short\"]", "openssl rand"),
        (
            "receive = true\nproof = \"github\"\nproof_secrets = [\"file:token\", \"file:short\"]",
            "openssl rand",
        ),
        ("receive = true\nproof = \"none\"\nproof_secrets = [\"file:token\"]", "none"),
        ("receive = true\nproof_secrets = [\"file:whsec\"]\nproof_header = \"X-Token\"", "proof_header"),
        ("receive = true\nproof_secrets = [\"file:whsec\"]\nid_header = \"X-Id\"", "id_header"),
        ("receive = true\nproof = \"token\"\nproof_secrets = [\"file:token\"]\nid_header = \"X Id\"", "X Id"),
        (
            "receive = true\nproof = \"token\"\nproof_secrets = [\"file:token\"]\nid_header = \"Authorization\"",
            "no delivery's id",
        ),
        (
            "receive = true\nproof = \"token\"\nproof_secrets = [\"file:token\"]\nproof_header = \"X-T\"\nid_header = \"x-t\"",
            "no delivery's id",
        ),
        ("receive = true\nproof_secrets = [\"file:whsec\"]\ntext_at = \"data\"", "JSON pointer"),
        ("receive = true\nproof_secrets = [\"file:whsec\"]\ntrust = \"owner\"", "owner"),
        ("receive = true\nproof_secrets = [\"file:whsec\"]\nurl = \"https://a.example\"", "secret"),
    ] {
        let error = opened(settings).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(words), "{settings}: {error}");
        assert!(!error.contains("correct-horse") && !error.contains("AAAA"), "{settings}: {error}");
    }
}
