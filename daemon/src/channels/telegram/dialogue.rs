//! Tests of whole dialogues with a Bot API that follows a script.

use std::{fs, time::Duration};

use serde_json::json;

use super::{Client, Telegram, wire};
use crate::{
    channels::{
        Act, Adapter, Failure, Letter, Redelivery, heard,
        http::{
            base::Base,
            double::{Double, Reply, body, http, nobody},
            token::Token,
        },
        limits::{Allowance, Scope},
        sample::{self, Files, key, marked},
    },
    message::deed::Deed,
    render::Part,
    settings::secret::{Secret, SecretSource},
};

const TOKEN: &str = "123456:ABC-secret_token";

pub(super) fn telegram(port: u16, token: impl Into<Token>) -> Telegram {
    let base = Base::parse("base_url", &format!("http://127.0.0.1:{port}")).unwrap();
    Telegram { client: Client::new(http(), base, token), kept: Files::new().kept(), link_previews: false }
}

pub(super) fn letter(part: &Part) -> Letter<'_> {
    sample::letter("-1001234567890", part)
}

const SENT: Reply = Reply::Says(200, "", r#"{"ok":true,"result":{"message_id":42,"message_thread_id":7}}"#);
const DONE: Reply = Reply::Says(200, "", r#"{"ok":true,"result":true}"#);
const UNREADABLE: Reply = Reply::Says(
    400,
    "",
    r#"{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0"}"#,
);

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Double) {
    let double = Double::start(script);
    let telegram = telegram(double.port, Secret::from(TOKEN));
    let wire = telegram.compose(&letter(&marked("<b>Hello</b>", "Hello")));
    (telegram.deliver(&wire, &key()).await, double)
}

async fn act(
    deed: Deed,
    part: Option<&Part>,
    script: &'static [Reply],
) -> (Result<String, Failure>, Vec<String>) {
    let double = Double::start(script);
    let telegram = telegram(double.port, Secret::from(TOKEN));
    let act =
        Act { address: "-1001234567890", thread: None, reply_to: None, silent: false, deed: &deed, part };
    let wire = telegram.act(&act).unwrap();
    (telegram.deliver(&wire, &key()).await, double.heard())
}

/// A failure, checked to be without the token.
fn why(failure: &Failure) -> String {
    let why = format!("{failure:?}");
    assert!(!why.contains("secret_token") && !why.contains("bot123456"), "{why}");
    why
}

#[tokio::test]
async fn a_message_is_posted_as_it_was_stored_and_its_id_comes_back() {
    let (sent, double) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "42");
    let heard = double.heard();
    assert!(heard[0].starts_with(&format!("POST /bot{TOKEN}/sendMessage HTTP/1.1")), "{}", heard[0]);
    assert!(heard[0].contains("content-type: application/json\r\n"), "{}", heard[0]);
    let expected = json!({
        "chat_id": -1_001_234_567_890_i64, "text": "<b>Hello</b>", "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": true},
    });
    assert_eq!(body(&heard[0]), expected);
}

#[tokio::test]
async fn only_where_the_markup_cannot_be_read_the_planned_text_goes_and_only_once() {
    let (sent, double) = deliver(&[UNREADABLE, SENT]).await;
    assert_eq!(sent.unwrap(), "42");
    let second = body(&double.heard()[1]);
    assert_eq!((&second["text"], second.get("parse_mode")), (&json!("Hello"), None));
    let (failure, double) = deliver(&[UNREADABLE, UNREADABLE, SENT]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))), "{failure:?}");
    assert_eq!(double.heard().len(), 2);
    const TOO_LONG: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message is too long"}"#,
    );
    let (failure, double) = deliver(&[TOO_LONG, SENT]).await;
    assert!(
        why(&failure.unwrap_err())
            .contains("Permanent(\"Telegram answered 400, Bad Request: message is too long")
    );
    assert_eq!(double.heard().len(), 1);
    // What was lost on its way is not followed by anything.
    let (failure, double) = deliver(&[UNREADABLE, Reply::Close, SENT]).await;
    assert!(matches!(failure, Err(Failure::Unknown(_))), "{failure:?}");
    assert_eq!(double.heard().len(), 2);
}

#[tokio::test]
async fn telegram_says_when_to_come_back() {
    const BODY: Reply = Reply::Says(
        429,
        "",
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 6775","parameters":{"retry_after":6775}}"#,
    );
    const ABSURD: Reply = Reply::Says(
        429,
        "",
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":18446744073709551615}}"#,
    );
    const HEADER: Reply = Reply::Says(429, "Retry-After: 7\r\n", "<h1>Too many</h1>");
    const NEVER: Reply =
        Reply::Says(429, "", r#"{"ok":false,"error_code":429,"description":"Too Many Requests"}"#);
    for (script, seconds) in
        [(&[BODY] as &'static [Reply], 6_775), (&[ABSURD], 7 * 24 * 3600), (&[HEADER], 7)]
    {
        let ((failure, _), heard) = heard::listening(deliver(script)).await;
        let after = Duration::from_secs(seconds);
        assert!(matches!(&failure, Err(Failure::Wait { after: wait, .. }) if *wait == after), "{failure:?}");
        assert_eq!(heard, [Allowance::none(Scope::Chat, after)]);
    }
    let failure = deliver(&[NEVER]).await.0;
    assert!(matches!(failure, Err(Failure::Retry(_))), "{failure:?}");
}

#[tokio::test]
async fn a_group_that_moved_needs_a_hold_of_its_own() {
    const MOVED: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1009876543210}}"#,
    );
    let (failure, double) = deliver(&[MOVED, SENT]).await;
    let why = why(&failure.unwrap_err());
    assert!(why.starts_with("Permanent") && why.contains("telegram:-1009876543210"), "{why}");
    assert_eq!(double.heard().len(), 1, "nothing is sent elsewhere by itself");
}

#[tokio::test]
async fn a_refusal_is_permanent_with_telegrams_words() {
    const BLOCKED: Reply = Reply::Says(
        403,
        "",
        r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#,
    );
    const NO_METHOD: Reply =
        Reply::Says(404, "", r#"{"ok":false,"error_code":404,"description":"Not Found: method not found"}"#);
    const MOVED: Reply = Reply::Says(302, "Location: https://elsewhere.test/\r\n", "");
    const ELSEWHERE: Reply = Reply::Says(404, "", "<h1>Not here</h1>");
    const ECHO: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: /bot123456:ABC-secret_token/ is odd"}"#,
    );
    for (script, words) in [
        (&[BLOCKED] as &'static [Reply], "bot was blocked by the user"),
        (&[NO_METHOD], "method not found"),
        (&[MOVED], "where it points"),
        (&[ELSEWHERE], "check base_url"),
        (&[ECHO], "***"),
    ] {
        let failure = deliver(script).await.0.unwrap_err();
        let why = format!("{failure:?}");
        assert!(why.starts_with("Permanent") && why.contains(words), "{words}: {why}");
        assert!(!why.contains("secret_token"), "{why}");
    }
}

#[tokio::test]
async fn telegrams_own_trouble_is_retried_and_a_gateways_is_unknown() {
    const TROUBLE: Reply =
        Reply::Says(500, "", r#"{"ok":false,"error_code":500,"description":"Internal Server Error"}"#);
    const GATEWAY: Reply =
        Reply::Says(502, "", r#"{"ok":false,"error_code":502,"description":"Bad Gateway"}"#);
    let failure = deliver(&[TROUBLE]).await.0;
    assert!(matches!(failure, Err(Failure::Retry(_))), "{failure:?}");
    let failure = deliver(&[GATEWAY]).await.0;
    assert!(matches!(failure, Err(Failure::Unknown(_))), "{failure:?}");
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_says_nothing_of_the_token() {
    const HALF: Reply = Reply::Says(200, "", r#"{"ok":true,"#);
    const NO_ID: Reply = Reply::Says(200, "", r#"{"ok":true,"result":{}}"#);
    const ODD: Reply = Reply::Says(200, "", r#"{"ok":"yes"}"#);
    for script in [&[Reply::Close] as &'static [Reply], &[HALF], &[NO_ID], &[ODD], &[Reply::Endless]] {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(why(&failure).starts_with("Unknown"), "{failure:?}");
    }
    let nobody = nobody();
    let telegram = telegram(nobody, Secret::from(TOKEN));
    let wire = telegram.compose(&letter(&marked("Hello", "Hello")));
    let failure = telegram.deliver(&wire, &key()).await.unwrap_err();
    assert!(why(&failure).starts_with("Retry"), "{failure:?}");
    assert_eq!(telegram.redelivery(&wire), Redelivery::Never);
    let why = telegram.check_ready().await.unwrap_err().0;
    assert!(why.contains("cannot connect") && !why.contains("secret_token"), "{why}");
}

const REJECTED: Reply = Reply::Says(401, "", r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#);
const NO_TOKEN: Reply = Reply::Says(404, "", r#"{"ok":false,"error_code":404,"description":"Not Found"}"#);

#[tokio::test]
async fn a_refused_token_is_read_again_and_the_message_goes_with_the_new_one() {
    for script in [&[REJECTED, SENT] as &'static [Reply], &[NO_TOKEN, SENT]] {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), TOKEN).unwrap();
        let double = Double::start(script);
        let token = Token::read(SecretSource::File(file.path().into())).unwrap();
        let telegram = telegram(double.port, token);
        fs::write(file.path(), "123456:a-new_one").unwrap();
        let wire = telegram.compose(&letter(&marked("Hello", "Hello")));
        let failure = telegram.deliver(&wire, &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Retry(why) if why.contains("bot token rejected")), "{failure:?}");
        assert_eq!(telegram.deliver(&wire, &key()).await.unwrap(), "42");
        assert!(double.heard()[1].starts_with("POST /bot123456:a-new_one/sendMessage "));
    }
    let failure = deliver(&[REJECTED]).await.0.unwrap_err();
    assert!(why(&failure).starts_with("Permanent(\"bot token rejected"), "{failure:?}");
}

#[tokio::test]
async fn readiness_names_the_bot_or_what_is_wrong() {
    let ready = |script| async move {
        telegram(Double::start(script).port, Secret::from(TOKEN)).check_ready().await.map_err(|not| not.0)
    };
    let me =
        &[Reply::Says(200, "", r#"{"ok":true,"result":{"id":123456,"is_bot":true,"username":"HubBot"}}"#)];
    assert_eq!(ready(me).await, Ok("@HubBot".into()));
    assert!(ready(&[REJECTED]).await.unwrap_err().starts_with("bot token rejected"));
    assert!(ready(&[Reply::Says(200, "", "<p>Welcome</p>")]).await.unwrap_err().contains("JSON"));
    assert!(ready(&[Reply::Says(200, "", "{}")]).await.is_err());
}

#[tokio::test]
async fn a_file_goes_as_a_form_with_its_caption() {
    let double = Double::start(&[UNREADABLE, SENT]);
    let files = Files::new();
    let file = files.add("ä \"b\".png", "image/png", b"hello");
    let telegram = Telegram { kept: files.kept(), ..telegram(double.port, Secret::from(TOKEN)) };
    let part = marked("<i>June</i>", "June");
    let wire = telegram.compose(&Letter { files: &[file], reply_to: Some("9"), ..letter(&part) });
    assert_eq!(telegram.deliver(&wire, &key()).await.unwrap(), "42");
    let heard = double.heard();
    assert!(heard[0].starts_with(&format!("POST /bot{TOKEN}/sendPhoto ")), "{}", heard[0]);
    assert!(heard[0].contains("content-type: multipart/form-data; boundary="), "{}", heard[0]);
    for field in [
        "name=\"chat_id\"\r\n\r\n-1001234567890\r\n",
        "name=\"caption\"\r\n\r\n<i>June</i>\r\n",
        "name=\"reply_parameters\"\r\n\r\n{\"allow_sending_without_reply\":true,\"message_id\":9}\r\n",
        "name=\"photo\"; filename=\"ä \\\"b\\\".png\"\r\nContent-Type: image/png\r\n\r\nhello\r\n",
    ] {
        assert!(heard[0].contains(field), "{field:?} is not in {}", heard[0]);
    }
    assert!(heard[1].contains("name=\"caption\"\r\n\r\nJune\r\n") && !heard[1].contains("parse_mode"));
    assert!(heard[1].contains("\r\n\r\nhello\r\n"), "the file goes along again: {}", heard[1]);
}

#[tokio::test]
async fn a_picture_that_is_no_photo_goes_as_a_document_and_a_lost_upload_is_unknown() {
    const NO_PHOTO: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: PHOTO_INVALID_DIMENSIONS"}"#,
    );
    let double = Double::start(&[NO_PHOTO, SENT]);
    let files = Files::new();
    let file = files.add("ä \"b\".png", "image/png", b"hello");
    let bot = |port| Telegram { kept: files.kept(), ..telegram(port, Secret::from(TOKEN)) };
    let telegram = bot(double.port);
    let part = marked("", "");
    let wire = telegram.compose(&Letter { files: &[file], ..letter(&part) });
    assert_eq!(telegram.deliver(&wire, &key()).await.unwrap(), "42");
    let heard = double.heard();
    assert!(
        heard[1].contains("/sendDocument ") && heard[1].contains("name=\"document\"; filename="),
        "{}",
        heard[1]
    );

    files.clear();
    let failure = telegram.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("any more")), "{failure:?}");
    assert_eq!(double.heard().len(), 2, "without its file nothing leaves");

    let double = Double::start(&[Reply::Close]);
    let file = files.add("b.pdf", "application/pdf", b"bye");
    let telegram = bot(double.port);
    let wire = telegram.compose(&Letter { files: &[file], ..letter(&part) });
    let failure = telegram.deliver(&wire, &key()).await.unwrap_err();
    assert!(why(&failure).starts_with("Unknown"), "{failure:?}");
}

#[tokio::test]
async fn what_makes_nothing_new_answers_with_what_it_was_about() {
    let (done, heard) = act(Deed::Pin { message: "5".into() }, None, &[DONE]).await;
    assert_eq!(done.unwrap(), "5");
    assert!(heard[0].contains("/pinChatMessage "), "{}", heard[0]);
    let ban = Deed::Ban { user: "99".into(), reason: None };
    assert_eq!(act(ban, None, &[DONE]).await.0.unwrap(), "99");
}

#[tokio::test]
async fn a_time_out_ends_at_a_point_in_time_and_never_by_accident_never() {
    let timeout = |seconds| Deed::Timeout { user: "99".into(), seconds, reason: None };
    let (_, heard) = act(timeout(600), None, &[DONE]).await;
    let until = body(&heard[0])["until_date"].as_u64().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!((now + 590..=now + 600).contains(&until), "{until} at {now}");
    let (_, heard) = act(timeout(0), None, &[DONE]).await;
    assert_eq!(body(&heard[0]).get("until_date"), None);
    for seconds in [29, 366 * 24 * 3600, u64::MAX] {
        let (failure, heard) = act(timeout(seconds), None, &[DONE]).await;
        assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.is_empty(), "{failure:?}");
    }
}

const NO_RIGHTS: Reply =
    Reply::Says(400, "", r#"{"ok":false,"error_code":400,"description":"Bad Request: not enough rights"}"#);

#[tokio::test]
async fn who_is_put_out_is_not_kept_out() {
    let kick = || Deed::Kick { user: "99".into(), reason: None };
    let (done, heard) = act(kick(), None, &[DONE, DONE]).await;
    assert_eq!(done.unwrap(), "99");
    assert!(heard[0].contains("/banChatMember ") && heard[1].contains("/unbanChatMember "));
    assert_eq!(body(&heard[1])["only_if_banned"], true);
    let (failure, heard) = act(kick(), None, &[NO_RIGHTS, DONE]).await;
    assert!(matches!(failure, Err(Failure::Permanent(_))) && heard.len() == 1, "{failure:?}");
    let failure = act(kick(), None, &[DONE, NO_RIGHTS]).await.0;
    assert!(matches!(&failure, Err(Failure::Permanent(why)) if why.contains("still banned")), "{failure:?}");
    // The whole of it may be done again.
    let failure = act(kick(), None, &[DONE, Reply::Close]).await.0;
    assert!(matches!(failure, Err(Failure::Unknown(_))), "{failure:?}");
}

#[tokio::test]
async fn a_topic_is_made_once_and_its_first_message_stands_in_it() {
    const MADE: Reply =
        Reply::Says(200, "", r#"{"ok":true,"result":{"message_thread_id":31,"name":"June","icon_color":1}}"#);
    let (part, topic) =
        (marked("<b>Hello</b>", "Hello"), || Deed::Thread { name: "June".into(), message: None });
    let (made, heard) = act(topic(), Some(&part), &[MADE, UNREADABLE, SENT]).await;
    assert_eq!(made.unwrap(), "31");
    let (first, plain) = (body(&heard[1]), body(&heard[2]));
    assert_eq!((&first["message_thread_id"], &first["text"]), (&json!(31), &json!("<b>Hello</b>")));
    assert_eq!((&plain["message_thread_id"], &plain["text"]), (&json!(31), &json!("Hello")));
    assert_eq!(act(topic(), None, &[MADE]).await.0.unwrap(), "31");
    // Whatever becomes of the message, there is no second topic.
    for (script, kind) in [
        (&[MADE, NO_RIGHTS] as &'static [Reply], "Permanent"),
        (&[MADE, Reply::Says(500, "", "{}")], "Permanent"),
        (&[MADE, Reply::Close], "Unknown"),
    ] {
        let why = why(&act(topic(), Some(&part), script).await.0.unwrap_err());
        assert!(why.starts_with(kind) && why.contains("topic 31 is there"), "{why}");
    }
}

#[tokio::test]
async fn an_edit_finds_the_caption_and_one_that_changes_nothing_is_done() {
    const NO_TEXT: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: there is no text in the message to edit"}"#,
    );
    const SAME: Reply = Reply::Says(
        400,
        "",
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message is not modified: specified new message content and reply markup are exactly the same"}"#,
    );
    let (part, edit) = (marked("<b>New</b>", "New"), || Deed::Edit { message: "5".into() });
    let (edited, heard) = act(edit(), Some(&part), &[NO_TEXT, UNREADABLE, SENT]).await;
    assert_eq!(edited.unwrap(), "42");
    assert!(heard[1].contains("/editMessageCaption "), "{}", heard[1]);
    let caption = json!({"chat_id": -1_001_234_567_890_i64, "message_id": 5, "caption": "New"});
    assert_eq!(body(&heard[2]), caption);
    assert_eq!(act(edit(), Some(&part), &[SAME]).await.0.unwrap(), "5");
}

#[tokio::test]
async fn a_request_that_was_not_stored_by_us_goes_nowhere() {
    let telegram = telegram(1, Secret::from(TOKEN));
    let failure = telegram.deliver(&json!({"method": "sendMessage", "body": []}), &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
    let part = marked("a", "a");
    assert!(wire::compose(&letter(&part), true).stored().to_string().contains("sendMessage"));
}
