//! Tests of whole dialogues with a Slack that follows a script.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CAPABILITIES, Slack, client::Client};
use crate::{
    channels::{
        Act, Adapter, Failure, Letter, PartKey, Redelivery, heard,
        http::{
            base::Base,
            double::{Double, Reply, body, http, nobody},
            token::Token,
        },
        limits::{Allowance, Scope},
        sample::{self, Files, file, part},
    },
    files::kept::Kept,
    message::{action::Action, deed::Deed},
    render::Part,
    settings::secret::{Secret, SecretSource},
};

const TOKEN: &str = "xoxb-secret";

fn slack_with(port: u16, token: impl Into<Token>, kept: Kept) -> Slack {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}/api")).unwrap();
    Slack { client: Client::new(http(), base, token), kept }
}

fn slack(port: u16) -> Slack {
    slack_with(port, Secret::from(TOKEN), Files::new().kept())
}

pub(super) fn letter(part: &Part) -> Letter<'_> {
    sample::letter("C012AB3CD", part)
}

/// One that says when it was made.
fn key() -> PartKey {
    PartKey("0199aabbccdd7eef8899aabbccddeeff".into())
}

const SENT: Reply = Reply::Says(200, "", r#"{"ok":true,"channel":"C012AB3CD","ts":"1790000000.000100"}"#);
const YES: Reply = Reply::Says(200, "", r#"{"ok":true}"#);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Double) {
    let double = Double::start(script);
    let slack = slack(double.port);
    let wire = slack.compose(&letter(&part("Hello")));
    (slack.deliver(&wire, &key()).await, double)
}

async fn act(script: &'static [Reply], address: &str, deed: &Deed) -> (Result<String, Failure>, Double) {
    let double = Double::start(script);
    let slack = slack(double.port);
    let new = part("New");
    let act = Act { address, thread: None, reply_to: None, silent: false, deed, part: Some(&new) };
    let wire = slack.act(&act).unwrap();
    (slack.deliver(&wire, &key()).await, double)
}

#[tokio::test]
async fn a_message_leaves_with_its_key_where_nobody_sees_it() {
    let (sent, double) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "1790000000.000100");
    let heard = double.heard();
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
        let ((failure, _), heard) = heard::listening(deliver(script)).await;
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
    for script in [&[DOWN] as &'static [Reply], &[CUT], &[DOWN_503], &[Reply::Says(500, "", "")]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
    const INTERNAL: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"internal_error"}"#);
    const FATAL: Reply = Reply::Says(500, "", r#"{"ok":false,"error":"fatal_error"}"#);
    const HALF: Reply = Reply::Says(200, "", r#"{"ok":"#);
    const NEITHER: Reply = Reply::Says(200, "", "{}");
    const NO_ID: Reply = Reply::Says(200, "", r#"{"ok":true}"#);
    for script in [
        &[INTERNAL] as &'static [Reply],
        &[FATAL],
        &[Reply::Says(502, "", "<h1>Bad gateway</h1>")],
        &[Reply::Close],
        &[HALF],
        &[NEITHER],
        &[NO_ID],
        &[Reply::Endless],
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    }
    let port = nobody();
    let slack = slack(port);
    let failure = slack.deliver(&slack.compose(&letter(&part("Hello"))), &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("refused")), "{failure:?}");
}

#[tokio::test]
async fn a_refused_token_is_named_never_shown_and_read_anew() {
    const REVOKED: Reply = Reply::Says(
        200,
        "",
        r#"{"ok":false,"error":"token_revoked","response_metadata":{"messages":["xoxb-secret"]}}"#,
    );
    let failure = deliver(&[REVOKED]).await.0.unwrap_err();
    assert!(
        matches!(&failure, Failure::Permanent(why) if why.contains("bot token rejected") && why.contains("token_revoked")),
        "{failure:?}"
    );
    assert!(!format!("{failure:?}").contains(TOKEN), "{failure:?}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "xoxb-old").unwrap();
    let double = Double::start(&[REVOKED, SENT]);
    let slack =
        slack_with(double.port, Token::read(SecretSource::File(path.clone())).unwrap(), Files::new().kept());
    std::fs::write(&path, "xoxb-new").unwrap();
    let wire = slack.compose(&letter(&part("Hello")));
    assert!(matches!(slack.deliver(&wire, &key()).await, Err(Failure::Retry(_))));
    slack.deliver(&wire, &key()).await.unwrap();
    assert!(double.heard()[1].contains("Bearer xoxb-new"));
}

#[tokio::test]
async fn what_is_done_already_is_done() {
    let react = |remove| Deed::React { message: "1.1".into(), emoji: "👍".into(), remove };
    let (on, off) = (Deed::Pin { message: "1.1".into() }, Deed::Unpin { message: "1.1".into() });
    const REACTED: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"already_reacted"}"#);
    const NO_REACTION: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"no_reaction"}"#);
    const PINNED: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"already_pinned"}"#);
    const NO_PIN: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"no_pin"}"#);
    for (script, deed) in [
        (&[YES] as &'static [Reply], react(false)),
        (&[REACTED], react(false)),
        (&[NO_REACTION], react(true)),
        (&[PINNED], on),
        (&[NO_PIN], off),
        (&[YES], Deed::Edit { message: "1.1".into() }),
        (&[YES], Deed::Delete { message: "1.1".into() }),
    ] {
        assert_eq!(act(script, "C012AB3CD", &deed).await.0.unwrap(), "1.1", "{deed:?}");
    }
    const GONE: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"message_not_found"}"#);
    let failure = act(&[GONE], "C012AB3CD", &Deed::Delete { message: "1.1".into() }).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("or no more")), "{failure:?}");
}

#[tokio::test]
async fn a_person_is_written_to_directly_and_acted_on_in_their_conversation() {
    const OPENED: Reply = Reply::Says(200, "", r#"{"ok":true,"channel":{"id":"D012AB3CD"}}"#);
    let (done, double) = act(&[OPENED, YES], "U012AB3CD", &Deed::Pin { message: "1.1".into() }).await;
    done.unwrap();
    let heard = double.heard();
    assert!(heard[0].starts_with("POST /api/conversations.open ") && heard[0].ends_with("users=U012AB3CD"));
    assert_eq!(body(&heard[1])["channel"], "D012AB3CD");

    let double = Double::start(&[SENT]);
    let slack = slack(double.port);
    let hello = part("Hello");
    let wire = slack.compose(&Letter { address: "U012AB3CD", ..letter(&hello) });
    slack.deliver(&wire, &key()).await.unwrap();
    assert_eq!(body(&double.heard()[0])["channel"], "U012AB3CD");
}

async fn found(script: &'static [Reply], thread: Option<&str>) -> (Result<Option<String>, Failure>, Double) {
    let double = Double::start(script);
    let slack = slack(double.port);
    let hello = part("Hello");
    let wire = slack.compose(&Letter { thread, ..letter(&hello) });
    assert_eq!(slack.redelivery(&wire), Redelivery::Ask);
    (slack.find(&wire, &key()).await, double)
}

const OTHERS: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"messages":[{"ts":"3.3","text":"Hello"},{"ts":"2.2","metadata":{"event_type":"gatepost_part","event_payload":{"key":"other"}}}],"has_more":true,"response_metadata":{"next_cursor":"bmV4dA=="}}"#,
);
const MINE: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"messages":[{"ts":"1.1","metadata":{"event_type":"gatepost_part","event_payload":{"key":"0199aabbccdd7eef8899aabbccddeeff"}}}],"has_more":false}"#,
);
const NOBODYS: Reply = Reply::Says(200, "", r#"{"ok":true,"messages":[],"has_more":false}"#);

#[tokio::test]
async fn a_message_that_arrived_is_found_by_its_key_on_whichever_page() {
    let (found_it, double) = found(&[OTHERS, MINE], None).await;
    assert_eq!(found_it.unwrap().as_deref(), Some("1.1"));
    let heard = double.heard();
    assert!(heard[0].starts_with("POST /api/conversations.history "), "{}", heard[0]);
    // The key's own time, less an hour.
    let asked = format!(
        "channel=C012AB3CD&include_all_metadata=true&limit=15&oldest={}.000000",
        0x0199_aabb_ccdd_u64 / 1000 - 3600
    );
    assert!(heard[0].ends_with(&asked), "{}", heard[0]);
    assert!(heard[1].ends_with("&cursor=bmV4dA%3D%3D"), "{}", heard[1]);

    let (nothing, double) = found(&[OTHERS, NOBODYS], Some("9.9")).await;
    assert_eq!(nothing.unwrap(), None);
    let heard = double.heard();
    assert!(
        heard[0].starts_with("POST /api/conversations.replies ") && heard[0].ends_with("&ts=9.9"),
        "{}",
        heard[0]
    );
}

#[tokio::test]
async fn where_slack_does_not_let_us_look_to_the_end_nothing_is_certain() {
    const SCOPE: Reply =
        Reply::Says(200, "", r#"{"ok":false,"error":"missing_scope","needed":"channels:history"}"#);
    const NO_CURSOR: Reply = Reply::Says(200, "", r#"{"ok":true,"messages":[],"has_more":true}"#);
    const NO_LIST: Reply = Reply::Says(200, "", r#"{"ok":true}"#);
    for script in [&[SCOPE] as &'static [Reply], &[NO_CURSOR], &[NO_LIST], &[OTHERS; 31]] {
        let failure = found(script, None).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    }
    const LIMITED: Reply = Reply::Says(429, "Retry-After: 60\r\n", r#"{"ok":false,"error":"ratelimited"}"#);
    assert!(matches!(found(&[LIMITED], None).await.0, Err(Failure::Wait { .. })));
    assert!(matches!(found(&[Reply::Close], None).await.0, Err(Failure::Retry(_))));
}

#[test]
fn only_what_harms_nobody_goes_twice() {
    let slack = slack(1);
    let redelivery = |deed: &Deed| {
        let new = part("New");
        let act =
            Act { address: "C012AB3CD", thread: None, reply_to: None, silent: false, deed, part: Some(&new) };
        slack.redelivery(&slack.act(&act).unwrap())
    };
    assert_eq!(redelivery(&Deed::Pin { message: "1.1".into() }), Redelivery::SEEN_ONCE);
    assert_eq!(redelivery(&Deed::Thread { name: "A".into(), message: None }), Redelivery::Ask);
    let (hello, files) = (part("Hello"), [file("a b.txt", "text/plain", b"hello")]);
    assert_eq!(
        slack.redelivery(&slack.compose(&Letter { files: &files, ..letter(&hello) })),
        Redelivery::Never
    );
    assert_eq!(slack.redelivery(&json!({})), Redelivery::Never);
}

#[test]
fn what_is_lacking_has_something_to_do_instead() {
    for action in [Action::Timeout, Action::Kick, Action::Ban, Action::SendWithEffect] {
        assert!(!CAPABILITIES.does(action));
        assert!(CAPABILITIES.instead.iter().any(|(lacking, _)| *lacking == action), "{action:?}");
    }
}

#[tokio::test]
async fn readiness_says_as_whom_or_why_not() {
    let ready = |script| async move { slack(Double::start(script).port).check_ready().await };
    let said = ready(&[Reply::Says(200, "", r#"{"ok":true,"user":"gatepost","team":"Home"}"#)]).await;
    assert_eq!(said.unwrap(), "gatepost in Home");
    let said = ready(&[Reply::Says(200, "", r#"{"ok":false,"error":"invalid_auth"}"#)]).await.unwrap_err().0;
    assert!(said.contains("bot token rejected") && said.contains("invalid_auth"), "{said}");
    assert!(ready(&[YES]).await.is_err());
}

/// A place for a file on the double itself, which is one script and one port: so the port is put in when it is known.
struct Uploads {
    files: Files,
    slack: Slack,
    wire: Value,
}

fn with_file(double: &Double) -> Uploads {
    let files = Files::new();
    let slack = slack_with(double.port, Secret::from(TOKEN), files.kept());
    let (caption, file) = (part("June"), [files.add("a b.txt", "text/plain", b"hello")]);
    let wire = slack.compose(&Letter { files: &file, ..letter(&caption) });
    Uploads { files, slack, wire }
}

/// A Slack that names a place for files at a second double.
async fn share(store: &'static [Reply], then: &[Reply]) -> (Result<String, Failure>, Double, Double) {
    let place = Double::start(store);
    let named = format!(
        r#"{{"ok":true,"upload_url":"http://127.0.0.1:{}/upload?sig=hush","file_id":"F012AB3CD"}}"#,
        place.port
    );
    let named: &'static str = Box::leak(named.into_boxed_str());
    let script: Vec<Reply> = [Reply::Says(200, "", named)].into_iter().chain(then.iter().copied()).collect();
    let double = Double::start(Box::leak(script.into_boxed_slice()));
    let uploads = with_file(&double);
    (uploads.slack.deliver(&uploads.wire, &key()).await, double, place)
}

const STORED: Reply = Reply::Says(200, "", "OK - 5");
const SHARED: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"files":[{"id":"F012AB3CD","shares":{"public":{"C012AB3CD":[{"ts":"7.7"}]}}}]}"#,
);
const NOT_YET: Reply = Reply::Says(200, "", r#"{"ok":true,"files":[{"id":"F012AB3CD"}]}"#);
const INFO: Reply = Reply::Says(
    200,
    "",
    r#"{"ok":true,"file":{"id":"F012AB3CD","shares":{"private":{"C012AB3CD":[{"ts":"8.8"}]}}}}"#,
);

#[tokio::test]
async fn a_file_is_brought_without_the_token_and_then_shared() {
    let (sent, double, place) = share(&[STORED], &[SHARED]).await;
    assert_eq!(sent.unwrap(), "7.7");
    let heard = double.heard();
    assert!(heard[0].starts_with("POST /api/files.getUploadURLExternal "), "{}", heard[0]);
    assert!(heard[0].ends_with("filename=a+b.txt&length=5"), "{}", heard[0]);
    let brought = &place.heard()[0];
    assert!(brought.starts_with("POST /upload?sig=hush ") && brought.ends_with("\r\n\r\nhello"), "{brought}");
    assert!(!brought.contains("xoxb"), "{brought}");
    assert_eq!(
        body(&heard[1]),
        json!({
            "channel_id": "C012AB3CD", "initial_comment": "June",
            "files": [{ "id": "F012AB3CD", "title": "a b.txt" }],
        })
    );
}

#[tokio::test]
async fn a_file_that_is_shared_later_is_asked_where() {
    assert_eq!(share(&[STORED], &[NOT_YET, INFO]).await.0.unwrap(), "8.8");
    // Slack does not tell: the file's own id it is.
    const NO: Reply = Reply::Says(200, "", r#"{"ok":false,"error":"missing_scope"}"#);
    assert_eq!(share(&[STORED], &[NOT_YET, NO]).await.0.unwrap(), "F012AB3CD");
    // A lost answer is settled by the file, or it is not.
    assert_eq!(share(&[STORED], &[Reply::Close, INFO]).await.0.unwrap(), "8.8");
    let failure = share(&[STORED], &[Reply::Close, NO]).await.0.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
}

#[tokio::test]
async fn until_a_file_is_shared_it_is_tried_again_unless_it_is_refused() {
    for store in
        [&[Reply::Close] as &'static [Reply], &[Reply::Says(500, "", "")], &[Reply::Says(502, "", "")]]
    {
        let failure = share(store, &[]).await.0.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
        assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    }
    let failure = share(&[Reply::Says(413, "", "")], &[]).await.0.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("413")), "{failure:?}");
    const ELSEWHERE: Reply =
        Reply::Says(200, "", r#"{"ok":true,"upload_url":"http://198.51.100.1/x","file_id":"F012AB3CD"}"#);
    let double = Double::start(&[ELSEWHERE]);
    let uploads = with_file(&double);
    let failure = uploads.slack.deliver(&uploads.wire, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("without protection")), "{failure:?}");
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_sent() {
    let double = Double::start(&[]);
    let uploads = with_file(&double);
    uploads.files.clear();
    let failure = uploads.slack.deliver(&uploads.wire, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
}
