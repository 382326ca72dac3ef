//! Tests of whole dialogues with a Discord that follows a script.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use super::{Client, Discord, places::Place, voice::tests::recording, wire::Manners};
use crate::{
    channels::{
        Act, Adapter, Failure, Letter, Redelivery, heard,
        http::{
            base::Base,
            double::{Double, Reply, body, http, nobody},
            token::Token,
        },
        limits::{Allowance, Scope},
        sample::{self, Files, key, part},
    },
    message::{attachment::Attachment, deed::Deed},
    render::Part,
    settings::secret::{Secret, SecretSource},
};

const TOKEN: &str = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.hush_hush";

/// A bot that has asked about the channel 42 before.
pub(super) fn discord(port: u16, token: impl Into<Token>) -> Discord {
    let discord = new(port, token);
    let place = Place { kind: 0, guild: Some("77".into()), parent: None };
    discord.client.places.learn("42", place);
    discord
}

fn new(port: u16, token: impl Into<Token>) -> Discord {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}/api/v10")).unwrap();
    Discord {
        client: Client::new(http(), base, token),
        kept: Files::new().kept(),
        manners: Manners { previews: false, mention_answered: false },
    }
}

pub(super) fn letter(part: &Part) -> Letter<'_> {
    sample::letter("42", part)
}

const SENT: Reply = Reply::Says(200, "", r#"{"id":"1001","channel_id":"42"}"#);
const DONE: Reply = Reply::Says(204, "", "");
const CHANNEL: Reply = Reply::Says(200, "", r#"{"id":"42","type":0,"guild_id":"77","parent_id":"5"}"#);
const FORBIDDEN: Reply = Reply::Says(403, "", r#"{"message":"Missing Permissions","code":50013}"#);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Double) {
    let double = Double::start(script);
    let discord = discord(double.port, Secret::from(TOKEN));
    let wire = discord.compose(&letter(&part("Hello")));
    (discord.deliver(&wire, &key()).await, double)
}

async fn act(
    deed: Deed,
    part: Option<&Part>,
    script: &'static [Reply],
) -> (Result<String, Failure>, Vec<String>) {
    let double = Double::start(script);
    let discord = new(double.port, Secret::from(TOKEN));
    let act = Act { address: "42", thread: None, reply_to: None, silent: false, deed: &deed, part };
    let wire = discord.act(&act).unwrap();
    (discord.deliver(&wire, &key()).await, double.heard())
}

/// The line and head of a request begin so.
fn is(request: &str, line: &str) {
    assert!(request.starts_with(&format!("{line} HTTP/1.1\r\n")), "{line}: {request}");
    assert!(request.contains(&format!("authorization: Bot {TOKEN}\r\n")), "{request}");
    assert!(request.contains("user-agent: DiscordBot (gatepost, "), "{request}");
}

/// A failure, checked to be without the token.
fn why(failure: &Failure) -> String {
    let why = format!("{failure:?}");
    assert!(!why.contains("hush_hush"), "{why}");
    why
}

#[tokio::test]
async fn a_message_is_posted_under_its_nonce_and_its_id_comes_back() {
    let (sent, double) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "1001");
    let heard = double.heard();
    is(&heard[0], "POST /api/v10/channels/42/messages");
    let expected = json!({
        "content": "Hello", "allowed_mentions": {"parse": [], "replied_user": false}, "flags": 4,
        "nonce": "3445566778899aabbccddeeff", "enforce_nonce": true,
    });
    assert_eq!(body(&heard[0]), expected);
    assert_eq!(expected["nonce"].as_str().unwrap().len(), 25);
}

#[tokio::test]
async fn only_messages_are_recognised_for_minutes_and_threads_never() {
    let discord = discord(1, Secret::from(TOKEN));
    let (part, thread, pin) =
        (part("a"), Deed::Thread { name: "a".into(), message: None }, Deed::Pin { message: "5".into() });
    let act = Act { address: "42", thread: None, reply_to: None, silent: false, deed: &thread, part: None };
    assert_eq!(discord.redelivery(&discord.compose(&letter(&part))), Redelivery::Keyed(super::NONCE));
    assert_eq!(discord.redelivery(&discord.act(&act).unwrap()), Redelivery::Never);
    let pin = discord.act(&Act { deed: &pin, ..act }).unwrap();
    assert_eq!(discord.redelivery(&pin), Redelivery::SEEN_ONCE);
    assert_eq!(discord.redelivery(&json!({})), Redelivery::Never);
}

#[tokio::test]
async fn discord_says_when_to_come_back_and_whom_it_counts() {
    const BUCKET: Reply = Reply::Says(
        429,
        "Retry-After: 65\r\nX-RateLimit-Limit: 10\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1470173023.123\r\nX-RateLimit-Reset-After: 64.57\r\nX-RateLimit-Bucket: abcd1234\r\nX-RateLimit-Scope: user\r\n",
        r#"{"message":"You are being rate limited.","retry_after":64.57,"global":false}"#,
    );
    const GLOBAL: Reply = Reply::Says(
        429,
        "Retry-After: 65\r\nX-RateLimit-Global: true\r\nX-RateLimit-Scope: global\r\n",
        r#"{"message":"You are being rate limited.","retry_after":64.57,"global":true}"#,
    );
    const SLOW: Reply = Reply::Says(
        429,
        "",
        r#"{"message":"This action cannot be performed due to slowmode rate limit","code":20016,"retry_after":6775.5,"global":false}"#,
    );
    const ABSURD: Reply = Reply::Says(429, "", r#"{"message":"Wait","retry_after":1e300,"global":false}"#);
    const NETWORK: Reply = Reply::Says(429, "Retry-After: 600\r\n", "<h1>error code: 1015</h1>");
    const NEVER: Reply = Reply::Says(429, "", r#"{"message":"Wait","global":false}"#);
    let bucket = |seconds: f64| Allowance {
        quota: "abcd1234".into(),
        ..Allowance::none(Scope::Chat, Duration::from_secs_f64(seconds))
    };
    for (script, seconds, expected) in [
        (
            &[BUCKET] as &'static [Reply],
            65.0,
            vec![bucket(64.57), Allowance::none(Scope::Chat, Duration::from_secs(65))],
        ),
        (&[GLOBAL], 65.0, vec![Allowance::none(Scope::Account, Duration::from_secs(65)); 2]),
        (&[SLOW], 6_775.5, vec![Allowance::none(Scope::Chat, Duration::from_secs_f64(6_775.5))]),
        (&[ABSURD], 604_800.0, vec![Allowance::none(Scope::Chat, Duration::from_secs(604_800))]),
        (&[NETWORK], 600.0, vec![Allowance::none(Scope::Account, Duration::from_secs(600))]),
    ] {
        let ((failure, _), heard) = heard::listening(deliver(script)).await;
        let after = Duration::from_secs_f64(seconds);
        assert!(matches!(&failure, Err(Failure::Wait { after: wait, .. }) if *wait == after), "{failure:?}");
        assert_eq!(heard, expected);
    }
    let failure = deliver(&[NEVER]).await.0;
    assert!(matches!(failure, Err(Failure::Retry(_))), "{failure:?}");
}

#[tokio::test]
async fn what_a_bucket_has_left_is_heard_beside_a_yes() {
    const LAST: Reply = Reply::Says(
        200,
        "X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1470173023\r\nX-RateLimit-Reset-After: 1.25\r\nX-RateLimit-Bucket: abcd1234\r\n",
        r#"{"id":"1001"}"#,
    );
    let ((sent, _), heard) = heard::listening(deliver(&[LAST])).await;
    assert!(sent.is_ok(), "{sent:?}");
    let lasts = Duration::from_millis(1_250);
    assert_eq!(heard, [Allowance { scope: Scope::Chat, quota: "abcd1234".into(), left: 0, lasts }]);
}

#[tokio::test]
async fn a_refusal_is_permanent_with_discords_words() {
    const FORM: Reply = Reply::Says(
        400,
        "",
        r#"{"message":"Invalid Form Body","code":50035,"errors":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer in length."}]},"embeds":{"0":{"title":{"_errors":[{"code":"X","message":"Too long hush_hush"}]}}}}}"#,
    );
    const UNKNOWN: Reply = Reply::Says(404, "", r#"{"message":"Unknown Channel","code":10003}"#);
    const MOVED: Reply = Reply::Says(301, "Location: https://elsewhere.test/\r\n", "");
    const ELSEWHERE: Reply = Reply::Says(404, "", "<h1>Not here</h1>");
    for (script, words) in [
        (&[FORBIDDEN] as &'static [Reply], "50013: Missing Permissions"),
        (&[UNKNOWN], "10003: Unknown Channel"),
        (
            &[FORM],
            "50035: Invalid Form Body; content: Must be 2000 or fewer in length.; embeds.0.title: Too long",
        ),
        (&[MOVED], "where it points"),
        (&[ELSEWHERE], "check base_url"),
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        let why = format!("{failure:?}");
        assert!(why.starts_with("Permanent") && why.contains(words), "{words}: {why}");
    }
}

#[tokio::test]
async fn discords_own_trouble_is_retried_and_a_gateways_is_unknown() {
    const TROUBLE: Reply = Reply::Says(500, "", r#"{"message":"500: Internal Server Error","code":0}"#);
    const OVERLOADED: Reply = Reply::Says(
        400,
        "",
        r#"{"message":"API resource is currently overloaded. Try again a little later","code":130000}"#,
    );
    for script in [&[TROUBLE] as &'static [Reply], &[OVERLOADED]] {
        let failure = deliver(script).await.0;
        assert!(matches!(failure, Err(Failure::Retry(_))), "{failure:?}");
    }
    let failure = deliver(&[Reply::Says(502, "", "<h1>Bad Gateway</h1>")]).await.0;
    assert!(matches!(failure, Err(Failure::Unknown(_))), "{failure:?}");
}

#[tokio::test]
async fn a_lost_answer_is_unknown() {
    const HALF: Reply = Reply::Says(200, "", r#"{"id":"10"#);
    const NO_ID: Reply = Reply::Says(200, "", "{}");
    for script in [&[Reply::Close] as &'static [Reply], &[HALF], &[NO_ID], &[DONE], &[Reply::Endless]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(why(&failure).starts_with("Unknown"), "{failure:?}");
    }
    let nobody = nobody();
    let discord = discord(nobody, Secret::from(TOKEN));
    let failure = discord.deliver(&discord.compose(&letter(&part("a"))), &key()).await.unwrap_err();
    assert!(why(&failure).starts_with("Retry"), "{failure:?}");
}

const REJECTED: Reply = Reply::Says(401, "", r#"{"message":"401: Unauthorized","code":0}"#);

#[tokio::test]
async fn a_refused_token_is_read_again_and_the_message_goes_with_the_new_one() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), TOKEN).unwrap();
    let double = Double::start(&[REJECTED, SENT]);
    let discord = discord(double.port, Token::read(SecretSource::File(file.path().into())).unwrap());
    fs::write(file.path(), "a.new.one").unwrap();
    let wire = discord.compose(&letter(&part("Hello")));
    let failure = discord.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("bot token rejected")), "{failure:?}");
    assert_eq!(discord.deliver(&wire, &key()).await.unwrap(), "1001");
    assert!(double.heard()[1].contains("authorization: Bot a.new.one\r\n"));
    let failure = deliver(&[REJECTED]).await.0.unwrap_err();
    assert!(why(&failure).starts_with("Permanent(\"bot token rejected"), "{failure:?}");
}

#[tokio::test]
async fn readiness_names_the_bot_or_what_is_wrong() {
    let ready = |script| async move {
        discord(Double::start(script).port, Secret::from(TOKEN)).check_ready().await.map_err(|not| not.0)
    };
    let me = &[Reply::Says(200, "", r#"{"id":"198622483471925248","username":"hub","bot":true}"#)];
    assert_eq!(ready(me).await, Ok("hub (198622483471925248)".into()));
    assert!(ready(&[REJECTED]).await.unwrap_err().starts_with("bot token rejected"));
    assert!(ready(&[Reply::Says(200, "", "<p>Welcome</p>")]).await.unwrap_err().contains("JSON"));
}

#[tokio::test]
async fn a_thread_counts_only_in_its_own_channel() {
    const OURS: Reply =
        Reply::Says(200, "", r#"{"id":"7","type":11,"guild_id":"77","parent_id":"42","thread_metadata":{}}"#);
    const THEIRS: Reply =
        Reply::Says(200, "", r#"{"id":"7","type":11,"guild_id":"77","parent_id":"43","thread_metadata":{}}"#);
    // A channel beneath a category, whose id somebody allowed.
    const CHANNEL: Reply = Reply::Says(200, "", r#"{"id":"7","type":0,"guild_id":"77","parent_id":"42"}"#);
    let part = part("Hello");
    let double = Double::start(&[OURS, SENT, SENT]);
    let one = discord(double.port, Secret::from(TOKEN));
    let wire = one.compose(&Letter { thread: Some("7"), ..letter(&part) });
    assert_eq!(one.deliver(&wire, &key()).await.unwrap(), "1001");
    one.deliver(&wire, &key()).await.unwrap();
    let heard = double.heard();
    is(&heard[0], "GET /api/v10/channels/7");
    is(&heard[1], "POST /api/v10/channels/7/messages");
    is(&heard[2], "POST /api/v10/channels/7/messages");
    for script in [&[THEIRS, SENT] as &'static [Reply], &[CHANNEL, SENT]] {
        let double = Double::start(script);
        let failure = discord(double.port, Secret::from(TOKEN)).deliver(&wire, &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains("no thread of")), "{failure:?}");
        assert_eq!(double.heard().len(), 1);
    }
    // A question that nobody answered has sent nothing.
    let double = Double::start(&[Reply::Close]);
    let failure = discord(double.port, Secret::from(TOKEN)).deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
}

#[tokio::test]
async fn a_person_is_written_to_in_their_own_conversation() {
    const OPENED: Reply = Reply::Says(200, "", r#"{"id":"900","type":1}"#);
    let double = Double::start(&[OPENED, SENT, SENT]);
    let one = discord(double.port, Secret::from(TOKEN));
    let part = part("Hello");
    let wire = one.compose(&Letter { address: "@99", ..letter(&part) });
    one.deliver(&wire, &key()).await.unwrap();
    one.deliver(&wire, &key()).await.unwrap();
    let heard = double.heard();
    is(&heard[0], "POST /api/v10/users/@me/channels");
    assert_eq!(body(&heard[0]), json!({"recipient_id": "99"}));
    is(&heard[1], "POST /api/v10/channels/900/messages");
    is(&heard[2], "POST /api/v10/channels/900/messages");
    for (script, kind) in [
        (&[Reply::Close] as &'static [Reply], "Retry"),
        (
            &[Reply::Says(400, "", r#"{"message":"Cannot send messages to this user","code":50007}"#)],
            "Permanent",
        ),
    ] {
        let double = Double::start(script);
        let failure = discord(double.port, Secret::from(TOKEN)).deliver(&wire, &key()).await.unwrap_err();
        assert!(why(&failure).starts_with(kind), "{failure:?}");
    }
}

/// What a form says as `payload_json`.
fn payload(request: &str) -> Value {
    let (_, rest) =
        request.split_once("name=\"payload_json\"\r\nContent-Type: application/json\r\n\r\n").unwrap();
    serde_json::from_str(rest.split_once("\r\n--").unwrap().0).unwrap()
}

#[tokio::test]
async fn a_file_goes_as_a_form_with_its_message() {
    let double = Double::start(&[SENT, Reply::Close]);
    let files = Files::new();
    let file = files.add("ä.ogg", "text/plain", b"hello");
    let discord = Discord { kept: files.kept(), ..discord(double.port, Secret::from(TOKEN)) };
    let part = part("June");
    let wire = discord.compose(&Letter { files: &[file], ..letter(&part) });
    assert_eq!(discord.deliver(&wire, &key()).await.unwrap(), "1001");
    let heard = double.heard();
    is(&heard[0], "POST /api/v10/channels/42/messages");
    assert!(heard[0].contains("content-type: multipart/form-data; boundary="), "{}", heard[0]);
    let message = payload(&heard[0]);
    assert_eq!(message["attachments"], json!([{"id": "0", "filename": "ä.ogg"}]));
    assert_eq!((&message["content"], &message["enforce_nonce"]), (&json!("June"), &json!(true)));
    let file = "name=\"files[0]\"; filename=\"ä.ogg\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n";
    assert!(heard[0].contains(file), "{}", heard[0]);
    // Both leave together, so a lost answer leaves both open.
    let failure = discord.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    files.clear();
    let failure = discord.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    assert_eq!(double.heard().len(), 2, "without its file nothing leaves");
}

#[tokio::test]
async fn a_recording_that_says_how_long_it_is_goes_as_a_voice_message_and_another_as_a_file() {
    let part = part("");
    for (bytes, flags) in [(recording(96_000), json!(8192)), (b"OggS\0 and nothing".to_vec(), Value::Null)] {
        let double = Double::start(&[SENT]);
        let files = Files::new();
        let file = Attachment { voice: true, ..files.add("ä.ogg", "audio/ogg", &bytes) };
        let discord = Discord { kept: files.kept(), ..discord(double.port, Secret::from(TOKEN)) };
        let wire = discord.compose(&Letter { files: &[file], ..letter(&part) });
        assert_eq!(discord.deliver(&wire, &key()).await.unwrap(), "1001");
        let message = payload(&double.heard()[0]);
        assert_eq!(message["flags"], flags);
        if flags == 8192 {
            assert_eq!(message["attachments"][0]["duration_secs"], 2.0);
            assert_eq!(message["attachments"][0]["waveform"].as_str().unwrap().len(), 28);
        } else {
            assert_eq!(message["attachments"], json!([{"id": "0", "filename": "ä.ogg"}]));
        }
        assert_eq!(message.get("content"), None);
    }
}

#[tokio::test]
async fn every_action_goes_where_it_belongs() {
    let part = part("New");
    let (message, user, reason) = ("5".to_owned(), "99".to_owned(), Some("rude, ü\n".to_owned()));
    let react = |emoji: &str, remove| Deed::React { message: message.clone(), emoji: emoji.into(), remove };
    let of_message: [(Deed, &str, &str); 7] = [
        (react("👍", false), "PUT", "/channels/42/messages/5/reactions/%F0%9F%91%8D/@me"),
        (react("party:123", true), "DELETE", "/channels/42/messages/5/reactions/party:123/@me"),
        (react("a/../b", false), "PUT", "/channels/42/messages/5/reactions/a%2F..%2Fb/@me"),
        (Deed::Delete { message: message.clone() }, "DELETE", "/channels/42/messages/5"),
        (Deed::Pin { message: message.clone() }, "PUT", "/channels/42/messages/pins/5"),
        (Deed::Unpin { message: message.clone() }, "DELETE", "/channels/42/messages/pins/5"),
        (Deed::Edit { message: message.clone() }, "PATCH", "/channels/42/messages/5"),
    ];
    for (deed, method, path) in of_message {
        let (done, heard) = act(deed, Some(&part), &[CHANNEL, DONE]).await;
        assert_eq!(done.unwrap(), "5", "{path}");
        is(&heard[1], &format!("{method} /api/v10{path}"));
    }
    let of_person: [(Deed, &str, &str); 3] = [
        (
            Deed::Timeout { user: user.clone(), seconds: 60, reason: reason.clone() },
            "PATCH",
            "/guilds/77/members/99",
        ),
        (Deed::Kick { user: user.clone(), reason: reason.clone() }, "DELETE", "/guilds/77/members/99"),
        (Deed::Ban { user, reason }, "PUT", "/guilds/77/bans/99"),
    ];
    for (deed, method, path) in of_person {
        let (done, heard) = act(deed, None, &[CHANNEL, DONE]).await;
        assert_eq!(done.unwrap(), "99", "{path}");
        is(&heard[0], "GET /api/v10/channels/42");
        is(&heard[1], &format!("{method} /api/v10{path}"));
        assert!(heard[1].contains("x-audit-log-reason: rude%2C%20%C3%BC%0A\r\n"), "{}", heard[1]);
    }
}

#[tokio::test]
async fn a_time_out_ends_within_28_days() {
    let timeout = |seconds| Deed::Timeout { user: "99".into(), seconds, reason: None };
    let (_, heard) = act(timeout(600), None, &[CHANNEL, DONE]).await;
    let until = body(&heard[1])["communication_disabled_until"].clone();
    let until: jiff::Timestamp = until.as_str().unwrap().parse().unwrap();
    let left = until.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((590..=600).contains(&left), "{left}");
    let (_, heard) = act(timeout(0), None, &[CHANNEL, DONE]).await;
    assert_eq!(body(&heard[1]), json!({"communication_disabled_until": null}));
    let (failure, heard) = act(timeout(28 * 86_400 + 1), None, &[CHANNEL, DONE]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.is_empty(), "{failure:?}");
}

#[tokio::test]
async fn what_is_no_id_is_in_no_address() {
    for message in ["", "..", "5/../6", "@me", "{guild}", "5?x=1"] {
        for deed in [
            Deed::Delete { message: message.into() },
            Deed::Thread { name: "a".into(), message: Some(message.into()) },
            Deed::Ban { user: message.into(), reason: None },
        ] {
            let (failure, heard) = act(deed, None, &[DONE]).await;
            assert!(matches!(failure, Err(Failure::Permanent(_))), "{message:?}: {failure:?}");
            assert!(heard.is_empty(), "{heard:?}");
        }
    }
    for emoji in ["", "..", "."] {
        let deed = Deed::React { message: "5".into(), emoji: emoji.into(), remove: true };
        assert!(matches!(act(deed, None, &[DONE]).await.0, Err(Failure::Permanent(_))), "{emoji:?}");
    }
}

#[tokio::test]
async fn a_thread_is_made_once_and_its_first_message_stands_in_it() {
    const MADE: Reply = Reply::Says(201, "", r#"{"id":"31","type":11}"#);
    const NEWS: Reply = Reply::Says(200, "", r#"{"id":"42","type":5,"guild_id":"77"}"#);
    const FORUM: Reply = Reply::Says(200, "", r#"{"id":"42","type":15,"guild_id":"77"}"#);
    let (part, thread) = (part("Hello"), |message: Option<&str>| Deed::Thread {
        name: "June".into(),
        message: message.map(Into::into),
    });
    let (made, heard) = act(thread(Some("5")), Some(&part), &[CHANNEL, MADE, SENT]).await;
    assert_eq!(made.unwrap(), "31");
    is(&heard[1], "POST /api/v10/channels/42/messages/5/threads");
    assert_eq!(body(&heard[1]), json!({"name": "June"}));
    is(&heard[2], "POST /api/v10/channels/31/messages");
    assert_eq!(
        (&body(&heard[2])["content"], &body(&heard[2])["enforce_nonce"]),
        (&json!("Hello"), &json!(true))
    );

    let (made, heard) = act(thread(None), None, &[CHANNEL, MADE]).await;
    assert_eq!(made.unwrap(), "31");
    is(&heard[1], "POST /api/v10/channels/42/threads");
    assert_eq!(body(&heard[1]), json!({"name": "June", "type": 11}));
    let (_, heard) = act(thread(None), None, &[NEWS, MADE]).await;
    assert_eq!(body(&heard[1])["type"], 10);

    let (made, heard) = act(thread(None), Some(&part), &[FORUM, MADE]).await;
    assert_eq!((made.unwrap().as_str(), heard.len()), ("31", 2));
    assert_eq!(
        (&body(&heard[1])["name"], &body(&heard[1])["message"]["content"]),
        (&json!("June"), &json!("Hello"))
    );
    let (failure, heard) = act(thread(None), None, &[FORUM, MADE]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.len() == 1, "{failure:?}");

    // Whatever becomes of the message, there is no second thread.
    for (script, kind) in [
        (&[CHANNEL, MADE, FORBIDDEN] as &'static [Reply], "Permanent"),
        (&[CHANNEL, MADE, Reply::Says(500, "", "{}")], "Permanent"),
        (&[CHANNEL, MADE, Reply::Close], "Unknown"),
    ] {
        let why = why(&act(thread(None), Some(&part), script).await.0.unwrap_err());
        assert!(why.starts_with(kind) && why.contains("thread 31 is there"), "{why}");
    }
}

#[tokio::test]
async fn a_conversation_has_one_address_and_the_allowlist_sees_it() {
    const THREAD: Reply = Reply::Says(
        200,
        "",
        r#"{"id":"42","type":11,"guild_id":"77","parent_id":"43","thread_metadata":{}}"#,
    );
    const PERSON: Reply = Reply::Says(200, "", r#"{"id":"42","type":1}"#);
    let part = part("Hello");
    for (script, words) in [
        (&[THREAD, SENT] as &'static [Reply], "send to discord:43 with threadId 42"),
        (&[PERSON, SENT], "send to discord:@"),
    ] {
        let double = Double::start(script);
        let one = new(double.port, Secret::from(TOKEN));
        let failure = one.deliver(&one.compose(&letter(&part)), &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains(words)), "{failure:?}");
        assert_eq!(double.heard().len(), 1);
    }
    // A channel is asked about once.
    let double = Double::start(&[CHANNEL, SENT, SENT]);
    let one = new(double.port, Secret::from(TOKEN));
    let wire = one.compose(&letter(&part));
    one.deliver(&wire, &key()).await.unwrap();
    one.deliver(&wire, &key()).await.unwrap();
    let gets = double.heard().iter().filter(|request| request.starts_with("GET")).count();
    assert_eq!(gets, 1);
}

#[tokio::test]
async fn nobody_is_put_out_of_a_conversation_of_two() {
    const DM: Reply = Reply::Says(200, "", r#"{"id":"900","type":1}"#);
    let double = Double::start(&[DM, DM, DONE]);
    let discord = new(double.port, Secret::from(TOKEN));
    let deed = Deed::Kick { user: "99".into(), reason: None };
    let act = Act { address: "@99", thread: None, reply_to: None, silent: false, deed: &deed, part: None };
    let failure = discord.deliver(&discord.act(&act).unwrap(), &key()).await;
    assert!(matches!(&failure, Err(Failure::Permanent(why)) if why.contains("members")), "{failure:?}");
    assert_eq!(double.heard().len(), 2);
}
