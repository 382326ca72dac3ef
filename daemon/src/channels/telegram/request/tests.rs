use gatepost_link::Digest;

use super::*;
use crate::{
    channels::{telegram::scenarios::outgoing, testing::sample::marked},
    message::{
        attachment::Attachment,
        operation::{Button, Presence},
    },
};

fn composed(outgoing: &OutgoingPart<'_>) -> Value {
    json!(compose(outgoing, false))
}

fn acted(operation: &Operation, address: &str, part: Option<&Part>) -> Option<Value> {
    let asked =
        OperationRequest { address, thread: Some("7"), reply_to: Some("4"), silent: true, operation, part };
    compose_operation(&asked, false).map(|request| json!(request))
}

/// An operation in a plain group.
fn in_group(operation: &Operation) -> OperationRequest<'_> {
    OperationRequest { address: "-1", thread: None, reply_to: None, silent: false, operation, part: None }
}

#[test]
fn a_text_goes_as_html_and_carries_itself_without_markup() {
    let part = marked("<b>Hello</b> &amp; more", "Hello & more");
    assert_eq!(
        composed(&outgoing(&part)),
        json!({
            "method": "sendMessage",
            "body": {
                "chat_id": -1_001_234_567_890_i64,
                "text": "<b>Hello</b> &amp; more",
                "parse_mode": "HTML",
                "link_preview_options": {"is_disabled": true},
            },
            "plain": "Hello & more",
        })
    );
    assert_eq!(compose(&outgoing(&part), true).body.get("link_preview_options"), None);
}

#[test]
fn without_markup_a_link_shows_its_address_where_there_is_room() {
    let link = marked("<a href=\"https://a.test/\">it</a>", "it");
    let link = Part { shown: "it <https://a.test/>".into(), ..link };
    assert_eq!(composed(&outgoing(&link))["plain"], "it <https://a.test/>");
    let long =
        Part { text: "x".repeat(4090), shown: format!("{} <https://a.test/>", "x".repeat(4090)), ..link };
    assert_eq!(composed(&outgoing(&long))["plain"], long.text);
    // What was to be hidden is not shown in the open for want of room to say so.
    let hidden = Part { preview: Some("(spoiler)".into()), ..long };
    assert_eq!(composed(&outgoing(&hidden)).get("plain"), None);
}

#[test]
fn a_name_calls_nobody_without_markup_either_nor_in_a_poll() {
    let html = "<code>@evebot</code>";
    let code = Part { shown: "`@evebot`".into(), ..marked(html, "@evebot") };
    let request = composed(&outgoing(&code));
    assert_eq!((&request["body"]["text"], &request["plain"]), (&json!(html), &json!("`@\u{200b}evebot`")));
    // What is put in is counted: there is no room for the words of both.
    let long = |n: usize| Part { text: "@a ".repeat(n), shown: "@ab ".repeat(n), ..code.clone() };
    assert_eq!(composed(&outgoing(&long(1000)))["plain"], "@\u{200b}a ".repeat(1000));
    assert_eq!(composed(&outgoing(&long(1100))).get("plain"), None);
    let unmarked = Part { html: None, ..code };
    assert_eq!(composed(&outgoing(&unmarked))["body"]["text"], "@\u{200b}evebot");

    let poll = |question: String, option: String| {
        let options = vec![option, "No".into()];
        let poll = Poll { question, options, multiple: false, seconds: None, anonymous: None };
        let operation = Operation::Poll(poll);
        compose_operation(&in_group(&operation), false).unwrap()
    };
    let request = poll("Does @evebot know?".into(), "@ann".into());
    assert_eq!(request.body["question"], "Does @\u{200b}evebot know?");
    assert_eq!(request.body["options"][0]["text"], "@\u{200b}ann");
    assert_eq!(request.unfit(), None);
    for request in [poll("@a ".repeat(80), "Yes".into()), poll("Who?".into(), "@a ".repeat(30))] {
        assert!(request.unfit().unwrap().contains("takes one more character"));
    }
}

#[test]
fn replies_topics_and_silence_have_their_parameters() {
    let part = marked("Hello", "Hello");
    let mut outgoing =
        OutgoingPart { thread: Some("7"), reply_to: Some("42"), silent: true, ..outgoing(&part) };
    let body = composed(&outgoing)["body"].clone();
    assert_eq!(body["message_thread_id"], 7);
    assert_eq!(body["reply_parameters"], json!({"message_id": 42, "allow_sending_without_reply": true}));
    assert_eq!(body["disable_notification"], true);
    outgoing.thread = Some("seven");
    outgoing.address = "@news";
    assert_eq!(composed(&outgoing)["body"]["message_thread_id"], "seven");
    assert_eq!(composed(&outgoing)["body"]["chat_id"], "@news");
}

fn attachment(kind: &str, voice: bool) -> Attachment {
    Attachment {
        sha256: Digest([7; 32]),
        name: "a.bin".into(),
        kind: kind.into(),
        said_to_be: None,
        size: 5,
        caption: None,
        voice,
        spoken: None,
    }
}

#[test]
fn a_file_is_named_by_its_hash_and_its_text_is_its_caption() {
    let (part, files) = (marked("<i>June</i>", "June"), [attachment("image/png", false)]);
    let reference = files[0].reference();
    assert_eq!(
        composed(&OutgoingPart { files: &files, ..outgoing(&part) }),
        json!({
            "method": "sendPhoto",
            "body": {"chat_id": -1_001_234_567_890_i64, "caption": "<i>June</i>", "parse_mode": "HTML"},
            "file": {"field": "photo", "source": reference, "name": "a.bin", "kind": "image/png"},
            "plain": "June",
            "instead": "document",
        })
    );
    let (part, files) = (self::marked("", ""), [attachment("audio/ogg", true)]);
    assert_eq!(
        composed(&OutgoingPart { files: &files, ..outgoing(&part) }),
        json!({
            "method": "sendVoice",
            "body": {"chat_id": -1_001_234_567_890_i64},
            "file": {"field": "voice", "source": reference, "name": "a.bin", "kind": "audio/ogg"},
        })
    );
}

#[test]
fn buttons_stand_in_rows_beneath_the_text() {
    let button = |text: &str, press| Button { text: text.into(), press };
    let extras = Extras {
        buttons: vec![
            vec![button("Yes", Press::Data("y".into())), button("No", Press::Data("n".into()))],
            vec![],
            vec![button("See", Press::Url("https://a.test/".into()))],
        ],
        ..Extras::default()
    };
    let part = marked("Go?", "Go?");
    assert_eq!(
        composed(&OutgoingPart { extras: &extras, ..outgoing(&part) })["body"]["reply_markup"],
        json!({"inline_keyboard": [
            [{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "n"}],
            [{"text": "See", "url": "https://a.test/"}],
        ]})
    );
}

#[test]
fn every_action_has_its_request() {
    let group = "-1001234567890";
    let id = -1_001_234_567_890_i64;
    let part = marked("<b>New</b>", "New");
    let poll = Poll {
        question: "Tea?".into(),
        options: vec!["Yes".into(), "No".into()],
        multiple: true,
        seconds: Some(3600),
        anonymous: Some(false),
    };
    let (message, user) = ("5".to_owned(), "tg:99".to_owned());
    let react =
        |emoji: &str, remove| Operation::React { message: message.clone(), emoji: emoji.into(), remove };
    let topic = |message| Operation::Thread { name: "June".into(), message };
    let timeout = |seconds| Operation::Timeout { user: user.clone(), seconds, reason: None };
    let method = |name: &str, body: Value| json!({"method": name, "body": body});
    let of_message = json!({"chat_id": id, "message_id": 5});
    let of_user = json!({"chat_id": id, "user_id": 99});
    for (operation, expected) in [
        (
            Operation::Poll(poll),
            method(
                "sendPoll",
                json!({
                    "chat_id": id, "question": "Tea?", "options": [{"text": "Yes"}, {"text": "No"}],
                    "allows_multiple_answers": true, "is_anonymous": false, "open_period": 3600,
                    "message_thread_id": 7, "disable_notification": true,
                    "reply_parameters": {"message_id": 4, "allow_sending_without_reply": true},
                }),
            ),
        ),
        (
            react("❤\u{fe0f}", false),
            method(
                "setMessageReaction",
                json!({"chat_id": id, "message_id": 5, "reaction": [{"type": "emoji", "emoji": "❤"}]}),
            ),
        ),
        (
            react("54321", false),
            method(
                "setMessageReaction",
                json!({
                    "chat_id": id, "message_id": 5,
                    "reaction": [{"type": "custom_emoji", "custom_emoji_id": "54321"}],
                }),
            ),
        ),
        (
            react("👍", true),
            method("setMessageReaction", json!({"chat_id": id, "message_id": 5, "reaction": []})),
        ),
        (Operation::Delete { message: message.clone() }, method("deleteMessage", of_message.clone())),
        (
            Operation::Pin { message: message.clone() },
            method("pinChatMessage", json!({"chat_id": id, "message_id": 5, "disable_notification": true})),
        ),
        (Operation::Unpin { message: message.clone() }, method("unpinChatMessage", of_message.clone())),
        (
            timeout(600),
            json!({
                "method": "restrictChatMember",
                "body": {"chat_id": id, "user_id": 99, "permissions": {"can_send_messages": false}},
                "seconds": 600,
            }),
        ),
        (Operation::Ban { user: user.clone(), reason: None }, method("banChatMember", of_user.clone())),
        (
            Operation::Kick { user: user.clone(), reason: None },
            json!({
                "method": "banChatMember",
                "body": of_user,
                "then": {
                    "method": "unbanChatMember",
                    "body": {"chat_id": id, "user_id": 99, "only_if_banned": true},
                },
            }),
        ),
    ] {
        assert_eq!(acted(&operation, group, None), Some(expected), "{operation:?}");
    }
    let kick = acted(&Operation::Kick { user: user.clone(), reason: None }, "-4711", None).unwrap();
    assert_eq!(kick, method("banChatMember", json!({"chat_id": -4711, "user_id": 99})));
    let lifted = acted(&timeout(0), group, None).unwrap();
    let permissions = lifted["body"]["permissions"].as_object().unwrap();
    assert!(permissions.len() == 16 && permissions.values().all(|allowed| *allowed == true));
    assert_eq!(lifted.get("seconds"), None);

    let text = json!({
        "chat_id": id, "text": "<b>New</b>", "parse_mode": "HTML", "link_preview_options": {"is_disabled": true},
    });
    let created = acted(&topic(None), group, Some(&part)).unwrap();
    assert_eq!(
        created,
        json!({
            "method": "createForumTopic",
            "body": {"chat_id": id, "name": "June"},
            "then": {"method": "sendMessage", "body": text, "plain": "New"},
        })
    );
    let mut edited = text;
    edited["message_id"] = 5.into();
    assert_eq!(
        acted(&Operation::Edit { message }, group, Some(&part)).unwrap(),
        json!({"method": "editMessageText", "body": edited, "plain": "New", "instead": "caption"})
    );
    let lacking = [
        topic(Some("5".into())),
        Operation::Presence { status: Presence::Away, text: None },
        Operation::default(),
    ];
    assert!(lacking.iter().all(|operation| acted(operation, group, None).is_none()));
}

#[test]
fn only_what_nobody_sees_twice_is_repeated() {
    let part = marked("a", "a");
    let operation = Operation::Kick { user: "9".into(), reason: None };
    assert!(compose_operation(&in_group(&operation), false).unwrap().may_be_repeated());
    assert!(!compose(&outgoing(&part), false).may_be_repeated());
    let operation = Operation::Thread { name: "a".into(), message: None };
    assert!(!compose_operation(&in_group(&operation), false).unwrap().may_be_repeated());
}

#[test]
fn a_stored_request_reads_back_and_another_is_refused() {
    let part = marked("a", "a");
    let request = compose(&outgoing(&part), false);
    assert_eq!(Request::deserialize(json!(request)).unwrap(), request);
    assert!(Request::deserialize(&json!({"method": "sendMessage"})).is_err());
    assert!(Request::deserialize(&json!({"method": "x", "body": {}, "more": 1})).is_err());
}

#[test]
fn what_earlier_releases_planned_for_a_refusal_is_read_and_keeps_its_bytes() {
    for (row, plain, instead) in [
        (r#"{"method":"sendMessage","body":{"chat_id":1,"text":"a"}}"#, None, None),
        (
            r#"{"method":"sendMessage","body":{"chat_id":1,"text":"<b>a</b>","parse_mode":"HTML"},"plain":"a"}"#,
            Some("a"),
            None,
        ),
        (
            r#"{"method":"sendPhoto","body":{"chat_id":1,"caption":"<i>a</i>"},"file":{"field":"photo","source":"attachment:07","name":"a.png","kind":"image/png"},"plain":"a","instead":"document"}"#,
            Some("a"),
            Some(Instead::Document),
        ),
        (
            r#"{"method":"editMessageText","body":{"chat_id":1,"text":"a","message_id":5},"instead":"caption"}"#,
            None,
            Some(Instead::Caption),
        ),
    ] {
        let row: Value = serde_json::from_str(row).unwrap();
        let request = Request::deserialize(&row).unwrap();
        assert_eq!(
            (request.plain.get().map(String::as_str), request.instead.get()),
            (plain, instead.as_ref())
        );
        assert_eq!(json!(request).to_string(), row.to_string());
    }
}
