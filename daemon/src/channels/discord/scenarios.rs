//! Tests of whole scenarios with a Discord that follows a script.

use std::time::Duration;

use super::{Client, Discord, Gateway, Tempo, places::Place, request::SendOptions, voice::tests::recording};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Failure, OperationRequest, OutgoingPart, Redelivery,
        kit::http::{base::Base, token::Token},
        limits::{Allowance, Scope},
        testing::{
            http::{Mock, Reply, body, http},
            sample::{self, Files, key, part},
        },
    },
    message::{
        attachment::Attachment,
        form::Form,
        operation::{Button, Extras, Operation, Press, Select},
    },
    render::Part,
    settings::secret::Secret,
};
use serde_json::{Value, json};

mod conversations;
mod operations;

const TOKEN: &str = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.hush_hush";

/// A bot that has asked about the channel 42 before.
pub(super) fn discord(port: u16, token: impl Into<Token>) -> Discord {
    let discord = new(port, token);
    let place = Place { kind: 0, guild: Some("77".into()), parent: None, person: None, name: None };
    discord.client.places.learn("42", place);
    discord
}

fn new(port: u16, token: impl Into<Token>) -> Discord {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}/api/v10")).unwrap();
    Discord {
        client: Client::new(http(), base, token),
        kept: Files::new().kept(),
        options: SendOptions { previews: false, mention_answered: false },
        gateway: None,
        receives: false,
    }
}

pub(super) fn outgoing(part: &Part) -> OutgoingPart<'_> {
    sample::outgoing("42", part)
}

const SENT: Reply = Reply::Says(200, "", r#"{"id":"1001","channel_id":"42"}"#);
const DONE: Reply = Reply::Says(204, "", "");
const CHANNEL: Reply = Reply::Says(200, "", r#"{"id":"42","type":0,"guild_id":"77","parent_id":"5"}"#);
const FORBIDDEN: Reply = Reply::Says(403, "", r#"{"message":"Missing Permissions","code":50013}"#);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Mock) {
    let ((sent, _), heard) = deliver_hearing(script).await;
    (sent, heard)
}

/// The same, and what was heard of limits.
async fn deliver_hearing(script: &'static [Reply]) -> ((Result<String, Failure>, Vec<Allowance>), Mock) {
    let mock = Mock::start(script);
    let discord = discord(mock.port, Secret::from(TOKEN));
    let request = discord.composed(&outgoing(&part("Hello")));
    (discord.delivered_hearing(&request, &key()).await, mock)
}

async fn perform(
    operation: Operation,
    part: Option<&Part>,
    script: &'static [Reply],
) -> (Result<String, Failure>, Vec<String>) {
    let mock = Mock::start(script);
    let discord = new(mock.port, Secret::from(TOKEN));
    let op = OperationRequest {
        address: "42",
        thread: None,
        reply_to: None,
        silent: false,
        operation: &operation,
        part,
    };
    let request = discord.composed_operation(&op).unwrap();
    (discord.delivered(&request, &key()).await, mock.heard())
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
    let (sent, mock) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "1001");
    let heard = mock.heard();
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
    let (part, thread, pin) = (
        part("a"),
        Operation::Thread { name: "a".into(), message: None },
        Operation::Pin { message: "5".into() },
    );
    let op = OperationRequest {
        address: "42",
        thread: None,
        reply_to: None,
        silent: false,
        operation: &thread,
        part: None,
    };
    assert_eq!(discord.redelivery_of(&discord.composed(&outgoing(&part))), Redelivery::Keyed(super::NONCE));
    assert_eq!(discord.redelivery_of(&discord.composed_operation(&op).unwrap()), Redelivery::Never);
    let pin = discord.composed_operation(&OperationRequest { operation: &pin, ..op }).unwrap();
    assert_eq!(discord.redelivery_of(&pin), Redelivery::SEEN_ONCE);
    assert_eq!(discord.redelivery_of(&json!({})), Redelivery::Never);
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
    const UNSAID: Reply = Reply::Says(429, "", r#"{"message":"Wait","retry_after":3.0}"#);
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
        (&[UNSAID], 3.0, vec![Allowance::none(Scope::Chat, Duration::from_secs(3))]),
        (&[NETWORK], 600.0, vec![Allowance::none(Scope::Account, Duration::from_secs(600))]),
    ] {
        let ((failure, heard), _) = deliver_hearing(script).await;
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
    let ((sent, heard), _) = deliver_hearing(&[LAST]).await;
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
async fn an_overloaded_discord_is_asked_again() {
    const OVERLOADED: Reply = Reply::Says(
        400,
        "",
        r#"{"message":"API resource is currently overloaded. Try again a little later","code":130000}"#,
    );
    let failure = deliver(&[OVERLOADED]).await.0;
    assert!(matches!(failure, Err(Failure::Retry(_))), "{failure:?}");
}

/// What a form says as `payload_json`.
fn payload(request: &str) -> Value {
    let (_, rest) =
        request.split_once("name=\"payload_json\"\r\nContent-Type: application/json\r\n\r\n").unwrap();
    serde_json::from_str(rest.split_once("\r\n--").unwrap().0).unwrap()
}

#[tokio::test]
async fn a_file_goes_as_a_form_with_its_message() {
    let mock = Mock::start(&[SENT, Reply::Close]);
    let files = Files::new();
    let file = files.add("ä.ogg", "text/plain", b"hello");
    let discord = Discord { kept: files.kept(), ..discord(mock.port, Secret::from(TOKEN)) };
    let part = part("June");
    let request = discord.composed(&OutgoingPart { files: &[file], ..outgoing(&part) });
    assert_eq!(discord.delivered(&request, &key()).await.unwrap(), "1001");
    let heard = mock.heard();
    is(&heard[0], "POST /api/v10/channels/42/messages");
    assert!(heard[0].contains("content-type: multipart/form-data; boundary="), "{}", heard[0]);
    let message = payload(&heard[0]);
    assert_eq!(message["attachments"], json!([{"id": "0", "filename": "ä.ogg"}]));
    assert_eq!((&message["content"], &message["enforce_nonce"]), (&json!("June"), &json!(true)));
    let file = "name=\"files[0]\"; filename=\"ä.ogg\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n";
    assert!(heard[0].contains(file), "{}", heard[0]);
    // Both leave together, so a lost answer leaves both open.
    let failure = discord.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    files.clear();
    let failure = discord.delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    assert_eq!(mock.heard().len(), 2, "without its file nothing leaves");
}

#[tokio::test]
async fn a_recording_that_says_how_long_it_is_goes_as_a_voice_message_and_another_as_a_file() {
    let part = part("");
    for (bytes, flags) in [(recording(96_000), json!(8192)), (b"OggS\0 and nothing".to_vec(), Value::Null)] {
        let mock = Mock::start(&[SENT]);
        let files = Files::new();
        let file = Attachment { voice: true, ..files.add("ä.ogg", "audio/ogg", &bytes) };
        let discord = Discord { kept: files.kept(), ..discord(mock.port, Secret::from(TOKEN)) };
        let request = discord.composed(&OutgoingPart { files: &[file], ..outgoing(&part) });
        assert_eq!(discord.delivered(&request, &key()).await.unwrap(), "1001");
        let message = payload(&mock.heard()[0]);
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
async fn several_files_are_one_message_and_lists_take_their_rows_from_the_buttons() {
    let mock = Mock::start(&[SENT]);
    let files = Files::new();
    let pictures = ["a.png", "b.png"].map(|name| files.add(name, "image/png", name.as_bytes()));
    let discord = Discord { kept: files.kept(), ..discord(mock.port, Secret::from(TOKEN)) };
    let voice = Attachment { voice: true, ..pictures[0].clone() };
    assert!(discord.joins_album(&pictures[..1], &pictures[1]) && !discord.joins_album(&pictures, &voice));
    let part = part("June");
    let request = discord.composed(&OutgoingPart { files: &pictures, ..outgoing(&part) });
    assert_eq!(discord.delivered(&request, &key()).await.unwrap(), "1001");
    let form = &mock.heard()[0];
    assert!(form.contains("name=\"files[0]\"; filename=\"a.png\"") && form.contains("name=\"files[1]\""));
    assert_eq!(payload(form)["attachments"].as_array().unwrap().len(), 2);

    let button = |n| vec![Button { text: "Yes".into(), press: Press::Data(format!("y{n}")) }];
    let select = |n| Select { id: format!("day{n}"), placeholder: None, options: vec![] };
    let extras = |rows: usize, lists: usize| Extras {
        buttons: (0..rows).map(button).collect(),
        selects: (0..lists).map(select).collect(),
        ..Extras::default()
    };
    let compose = |extras: &Extras| discord.composed(&OutgoingPart { extras, ..outgoing(&part) });
    assert_eq!(discord.refusal(&compose(&extras(3, 2))), None);
    assert!(discord.refusal(&compose(&extras(3, 3))).unwrap().contains("five rows"));
}

#[tokio::test]
async fn a_button_of_a_form_names_its_part_and_the_form_itself_stays_here() {
    let form: Form = serde_json::from_value(json!({"title": "Report", "fields": [
        {"name": "what", "label": "What?", "required": true},
    ]}))
    .unwrap();
    let button = |text: &str, press| Button { text: text.into(), press };
    let buttons = vec![
        vec![button("Yes", Press::Data("y".into())), button("Report", Press::Form(form.clone()))],
        vec![button("Again", Press::Form(form.clone()))],
    ];
    let extras = Extras { buttons, ..Extras::default() };
    let part = part("Go?");
    let outgoing = OutgoingPart { extras: &extras, ..outgoing(&part) };
    let mock = Mock::start(&[SENT]);
    let without = discord(mock.port, Secret::from(TOKEN));
    assert!(without.refusal(&without.composed(&outgoing)).unwrap().contains("gateway = true"));

    let gateway = Some(Gateway::new("home", Tempo::USUAL, 0));
    let with = Discord { gateway, ..discord(mock.port, Secret::from(TOKEN)) };
    let request = with.composed(&outgoing);
    assert_eq!((with.refusal(&request), &request["forms"]), (None, &json!([form, form])));
    assert_eq!(with.delivered(&request, &key()).await.unwrap(), "1001");
    let sent = body(&mock.heard()[0]);
    let id = |n| format!("gatepost:form:{}:{n}", key().0);
    let ids = ["/components/0/components/1", "/components/1/components/0"]
        .map(|at| sent.pointer(at).unwrap()["custom_id"].as_str().unwrap().to_owned());
    assert_eq!(ids, [id(0), id(1)]);
    assert_eq!(sent["components"][0]["components"][0]["custom_id"], "y");
    assert!(sent.get("forms").is_none() && !sent.to_string().contains("What?"), "{sent}");

    // Nobody else's button opens one.
    let forged = Extras { buttons: vec![vec![button("Yes", Press::Data(id(0)))]], ..Extras::default() };
    let request = with.composed(&OutgoingPart { extras: &forged, ..outgoing });
    assert!(with.refusal(&request).unwrap().contains("the hub's own"));
}
