//! What is heard: events as they are read, and the loop before a Pub/Sub that follows a script.

use std::time::Duration;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::{
    event::{self, Draft},
    listen::{Listener, Tempo},
    pull::Subscription,
};
use crate::channels::{
    Adapter, Receiver as _,
    googlechat::{GoogleChat, scenarios},
    kit::http::base::Base,
    received::{AuthorKind, DropReason, Event, Received, Words},
    receiver::Hearing,
    testing::{
        http::{Mock, Reply, body},
        hub::HubMock,
    },
};

/// A message of Ann's in a space, where she calls the app, with these members in the place of its own.
fn message(more: Value) -> Value {
    let mut event = json!({
        "type": "MESSAGE", "eventTime": "2026-03-01T12:00:00.5Z",
        "space": {"name": "spaces/AAAA", "type": "ROOM", "spaceType": "SPACE", "displayName": "Kitchen"},
        "user": {"name": "users/1", "displayName": "Ann", "email": "Ann@hub.test", "type": "HUMAN"},
        "message": {
            "name": "spaces/AAAA/messages/M.M", "sender": {"name": "users/1", "displayName": "Ann", "email": "Ann@hub.test", "type": "HUMAN"},
            "text": "@Gatepost is the oven on?", "argumentText": " is the oven on?", "thread": {"name": "spaces/AAAA/threads/M"},
            "annotations": [{"type": "USER_MENTION", "userMention": {"user": {"name": "users/9", "type": "BOT"}, "type": "MENTION"}}],
        },
    });
    for (name, value) in more.as_object().unwrap() {
        *event.pointer_mut(name).unwrap_or_else(|| panic!("{name}")) = value.clone();
    }
    event
}

fn drafts(event: &Value) -> Vec<Draft> {
    event::read(event.to_string().as_bytes()).unwrap()
}

fn received(event: &Value) -> Received {
    let mut drafts = drafts(event);
    assert_eq!(drafts.len(), 1, "{drafts:?}");
    drafts.remove(0).received.bounded().unwrap()
}

fn dropped(event: &Value) -> (DropReason, String) {
    let dropped = event::read(event.to_string().as_bytes()).unwrap_err();
    (dropped.reason, dropped.what)
}

#[test]
fn a_message_is_its_authors_in_its_thread_without_the_apps_name() {
    let Received { key, conversation, author, message_id, said_at, mentions_me, event } =
        received(&message(json!({})));
    assert_eq!(key, "spaces/AAAA/messages/M.M:users/1:\"2026-03-01T12:00:00.5Z\"");
    assert_eq!(message_id.as_deref(), Some("spaces/AAAA/messages/M.M"));
    assert_eq!((conversation.address.as_str(), conversation.direct), ("spaces/AAAA", false));
    assert_eq!(
        (conversation.thread.as_deref(), conversation.title.as_deref()),
        (Some("spaces/AAAA/threads/M"), Some("Kitchen"))
    );
    assert_eq!(
        (author.id.as_str(), author.name.as_deref(), author.kind),
        ("users/1", Some("Ann"), AuthorKind::Person)
    );
    assert_eq!(
        (author.same_as, said_at, mentions_me),
        (vec!["ann@hub.test".to_owned()], Some(1_772_366_400_500), true)
    );
    assert_eq!(event, Event::Message(Words { text: "is the oven on?".into(), ..Words::default() }));
    // A time in seconds, a conversation with one person, and somebody else who is called.
    let direct = received(&message(
        json!({"/eventTime": {"seconds": 1_772_366_400, "nanos": 5_000_000}, "/space/type": "DM"}),
    ));
    assert_eq!((direct.said_at, direct.conversation.direct), (Some(1_772_366_400_005), true));
    assert_eq!((direct.conversation.thread, direct.conversation.title), (None, None));
    let other = message(json!({"/message/argumentText": "@Gatepost is the oven on?"}));
    assert!(!received(&other).mentions_me, "another app's name is no call of this one");
    let bot = received(&message(json!({"/message/sender/type": "BOT"})));
    assert_eq!((bot.author.kind, bot.mentions_me), (AuthorKind::Program, false));
}

#[test]
fn a_command_keeps_its_name_and_a_quotation_its_message() {
    let mut command = message(
        json!({"/message/text": "/status oven", "/message/argumentText": " oven", "/message/annotations": []}),
    );
    command["message"]["slashCommand"] = json!({"commandId": "1"});
    let command = received(&command);
    assert_eq!((command.event.words().unwrap().text.as_str(), command.mentions_me), ("/status oven", true));
    let mut quoting = message(json!({}));
    quoting["message"]["quotedMessageMetadata"] = json!({
        "name": "spaces/AAAA/messages/N.N", "quotedMessageSnapshot": {"sender": "users/2", "text": "On?"},
    });
    let reply = received(&quoting).event.words().unwrap().reply_to.clone().unwrap();
    assert_eq!(
        (reply.id.as_str(), reply.author.as_deref(), reply.text.as_deref()),
        ("spaces/AAAA/messages/N.N", Some("users/2"), Some("On?"))
    );
    quoting["message"]["quotedMessageMetadata"]["name"] = json!("spaces/BBBB/messages/N.N");
    assert_eq!(received(&quoting).event.words().unwrap().reply_to, None, "another space's message");
    quoting["message"]["quotedMessageMetadata"]["quoteType"] = json!("FORWARD");
    let told = received(&quoting).event.words().unwrap().clone();
    assert!(told.forwarded && told.reply_to.is_none() && told.text.ends_with("\n\n> On?"), "{told:?}");
    (quoting["message"]["text"], quoting["message"]["argumentText"]) = (json!(""), json!(""));
    assert_eq!(received(&quoting).event.words().unwrap().text, "> On?");
}

#[test]
fn a_forward_without_a_text_is_told_as_one_with_what_it_has() {
    let forwarded = |own: &str, metadata: Value| {
        let mut event = message(json!({"/message/text": own, "/message/argumentText": own}));
        event["message"]["quotedMessageMetadata"] = metadata;
        let words = received(&event).event.words().unwrap().clone();
        assert!(words.forwarded && words.reply_to.is_none(), "{words:?}");
        (words.text, words.missing)
    };
    let snapshot = |snapshot: Value| json!({"name": "spaces/E/messages/1", "quoteType": "FORWARD", "quotedMessageSnapshot": snapshot});
    let picture = json!({"text": "", "attachments": [{"contentName": "keys.png", "attachmentDataRef": {"resourceName": "a"}}]});
    for own in ["", "see"] {
        let (text, missing) = forwarded(own, snapshot(picture.clone()));
        let line = "keys.png: it is in a message that was forwarded: ask for the file itself";
        assert_eq!((text.as_str(), missing), (own, vec![line.to_owned()]));
    }
    let (text, missing) = forwarded("see", snapshot(json!({"formattedText": "*send*\nthe keys"})));
    assert_eq!((text.as_str(), missing.len()), ("see\n\n> *send*\n> the keys", 0));
    // Without a snapshot, and where only the rest says that it is a forward.
    let (text, missing) = forwarded("see", json!({"quoteType": "FORWARD"}));
    assert_eq!((text.as_str(), missing.len()), ("see", 1));
    let (text, _) = forwarded(
        "see",
        json!({"name": "spaces/AAAA/messages/1", "quotedMessageSnapshot": {"sender": "users/1", "text": "x"}, "forwardedMetadata": {"space": "spaces/E"}}),
    );
    assert_eq!(text, "see\n\n> x");
}

#[test]
fn who_adds_the_app_by_a_call_says_something_too() {
    let all = drafts(&message(json!({"/type": "ADDED_TO_SPACE"})));
    let events: Vec<&str> = all.iter().map(|draft| draft.received.event.word()).collect();
    assert_eq!(events, ["join", "message"]);
    for (kind, event) in [("ADDED_TO_SPACE", Event::Join), ("REMOVED_FROM_SPACE", Event::Leave)] {
        let mut added = message(json!({"/type": kind}));
        added.as_object_mut().unwrap().remove("message");
        assert_eq!((received(&added).event, received(&added).message_id), (event, None));
    }
}

#[test]
fn a_press_a_choice_and_what_was_entered_belong_to_the_card() {
    let clicked = |action: Value, common: Value| {
        let mut event = message(json!({"/type": "CARD_CLICKED"}));
        (event["action"], event["common"]) = (action, common);
        received(&event)
    };
    let ours = |function: &str, data: &str| json!({"actionMethodName": function, "parameters": [{"key": "data", "value": data}]});
    // What is in `parameters` stands in `common` once more.
    let press = clicked(
        ours("gatepost_button", "again"),
        json!({"invokedFunction": "gatepost_button", "parameters": {"data": "again"}}),
    );
    assert_eq!(press.event, Event::Press { data: "again".into() });
    assert_eq!((press.message_id.as_deref(), press.mentions_me), (Some("spaces/AAAA/messages/M.M"), true));
    assert_eq!(
        clicked(ours("gatepost_poll", "1"), json!({})).event,
        Event::Vote { options: vec!["2".into()] }
    );
    let inputs = json!({"invokedFunction": "save", "formInputs": {"why": {"stringInputs": {"value": ["a", "b"]}}, "day": {"dateInput": {"msSinceEpoch": "5"}}}});
    let Event::Entry(entry) = clicked(json!({}), inputs).event else { panic!("it is an entry") };
    assert_eq!((entry.form.as_str(), entry.by.as_str()), ("save", "users/1"));
    assert_eq!(json!(entry.values), json!({"why": "a, b", "day": "{\"msSinceEpoch\":\"5\"}"}));
    assert_eq!(
        clicked(json!({"actionMethodName": "go"}), json!({})).event,
        Event::Press { data: "go".into() }
    );
}

#[test]
fn what_is_of_no_use_is_counted_and_what_cannot_be_answered_unreadable() {
    for more in [
        json!({"/type": ""}),
        json!({"/space/name": "spaces/"}),
        json!({"/space/name": "rooms/A"}),
        json!({"/message/name": "spaces/BBBB/messages/M"}),
        json!({"/message/name": "spaces/AAAA/messages/.."}),
        json!({"/message/sender/name": "somebody"}),
        json!({"/message/sender": null}),
    ] {
        assert_eq!(dropped(&message(more.clone())).0, DropReason::Unreadable, "{more}");
    }
    assert_eq!(
        dropped(&message(json!({"/type": "WIDGET_UPDATED"}))),
        (DropReason::NotUsed, "WIDGET_UPDATED".into())
    );
    assert_eq!(dropped(&json!({"chat": {}})), (DropReason::NotUsed, "event of an add-on".into()));
    assert_eq!(
        dropped(&message(json!({"/message/text": "", "/message/argumentText": ""}))),
        (DropReason::NotUsed, "MESSAGE without words".into())
    );
    assert_eq!(event::read(b"{").unwrap_err().reason, DropReason::Unreadable);
}

#[test]
fn a_subscription_is_named_whole() {
    let parsed = |text: &str| Subscription::parse(Base::parse("u", "https://p.test").unwrap(), text).is_ok();
    assert!(
        parsed("projects/my-house/subscriptions/gatepost")
            && parsed("projects/hub.test:house/subscriptions/g~1")
    );
    for text in [
        "",
        "gatepost",
        "projects/p/topics/gatepost",
        "projects/p/subscriptions/",
        "projects/p/subscriptions/a/b",
        "projects//subscriptions/abc",
        "projects/p/subscriptions/a?b",
    ] {
        assert!(!parsed(text), "{text}");
    }
}

const GRANTED: Reply =
    Reply::Says(200, "", r#"{"access_token":"ya29.hush","expires_in":3599,"token_type":"Bearer"}"#);
const DONE: Reply = Reply::Says(200, "", "{}");

fn hearing(port: u16) -> GoogleChat {
    hearing_every(port, Duration::from_millis(5))
}

/// One that pulls so often where nothing comes.
fn hearing_every(port: u16, between: Duration) -> GoogleChat {
    let base = Base::parse("pubsub_url", &format!("http://127.0.0.1:{port}/pubsub")).unwrap();
    let subscription = Subscription::parse(base, "projects/house/subscriptions/gatepost").unwrap();
    let short = Duration::from_millis(5);
    let tempo =
        Tempo { silence: Duration::from_secs(5), between, first: short, longest: short, refused: short };
    GoogleChat { listener: Some(Listener::new("work", subscription, tempo)), ..scenarios::app(port) }
}

/// An answer to a pull that brings this.
fn brings(events: &[&str]) -> Reply {
    let all = events.iter().enumerate().map(|(n, event)| json!({"ackId": format!("ack-{n}"), "message": {"data": STANDARD.encode(event), "messageId": "1"}}));
    Reply::Says(200, "", json!({"receivedMessages": all.collect::<Vec<_>>()}).to_string().leak())
}

/// Listens until Pub/Sub has been asked for so much.
async fn listens(chat: &GoogleChat, hub: &HubMock, mock: &Mock, requests: usize) -> Vec<String> {
    let enough = async {
        while mock.heard().len() < requests {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        () = chat.listen(hub) => panic!("it goes on for ever"),
        () = enough => {}
        () = tokio::time::sleep(Duration::from_secs(20)) => panic!("{:#?}", mock.heard()),
    }
    mock.heard()
}

#[tokio::test]
async fn what_is_pulled_is_acknowledged_once_it_is_on_disk_and_pulled_again_before() {
    let event = message(json!({})).to_string();
    // Nothing, then a message that cannot be written down, then the same again with one that is none.
    let mock = Mock::start(&[GRANTED, DONE, brings(&[&event]), brings(&[&event, "{"]), DONE, DONE]);
    let (chat, hub) = (hearing(mock.port), HubMock::default());
    hub.fail(1);
    let heard = listens(&chat, &hub, &mock, 6).await;
    for request in &heard[1..4] {
        assert!(
            request.starts_with("POST /pubsub/v1/projects/house/subscriptions/gatepost:pull HTTP/1.1"),
            "{request}"
        );
        assert!(
            request.contains("authorization: Bearer ya29.hush\r\n")
                && body(request) == json!({"maxMessages": 10}),
            "{request}"
        );
    }
    assert!(
        heard[4].starts_with("POST /pubsub/v1/projects/house/subscriptions/gatepost:acknowledge "),
        "{}",
        heard[4]
    );
    assert_eq!(body(&heard[4]), json!({"ackIds": ["ack-0", "ack-1"]}));
    let claims =
        heard[0].split("assertion=").nth(1).and_then(|statement| statement.split('.').nth(1)).unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/pubsub");
    assert_eq!((hub.received(1).await.len(), hub.dropped().len()), (1, 1));
}

#[tokio::test]
async fn a_file_is_fetched_while_pub_sub_waits_and_one_in_a_drive_is_said_to_be_missing() {
    let mut event = message(json!({}));
    event["message"]["attachment"] = json!([
        {"contentName": "plan.txt", "contentType": "text/plain", "attachmentDataRef": {"resourceName": "spaces/AAAA/files/a b"}},
        {"contentName": "plan.txt", "contentType": "text/plain", "attachmentDataRef": {"resourceName": "AAAA/c1=="}, "source": "UPLOADED_CONTENT"},
        {"contentName": "big.pdf", "driveDataRef": {"driveFileId": "1"}, "source": "DRIVE_FILE"},
    ]);
    let mock = Mock::start(&[
        GRANTED,
        brings(&[&event.to_string()]),
        DONE,
        GRANTED,
        Reply::Says(200, "", "the plan"),
        DONE,
        DONE,
    ]);
    let (chat, hub) = (hearing(mock.port), HubMock::default());
    let heard = listens(&chat, &hub, &mock, 6).await;
    assert!(
        heard[2].contains(":modifyAckDeadline ")
            && body(&heard[2]) == json!({"ackIds": ["ack-0"], "ackDeadlineSeconds": 240}),
        "{}",
        heard[2]
    );
    assert!(heard[4].starts_with("GET /v1/media/AAAA/c1==?alt=media "), "{}", heard[4]);
    let words = hub.received(1).await[0].event.words().unwrap().clone();
    assert_eq!((words.files[0].name.as_str(), hub.files()), ("plan.txt", vec![b"the plan".to_vec()]));
    assert!(
        words.missing.len() == 2 && words.missing[1].starts_with("big.pdf: it lies in Google Drive"),
        "{words:?}"
    );
}

#[tokio::test]
async fn files_of_strangers_for_which_there_is_no_place_are_not_asked_for() {
    let mut event = message(json!({}));
    event["message"]["attachment"] = json!([
        {"contentName": "plan.txt", "contentType": "text/plain", "attachmentDataRef": {"resourceName": "c1"}},
    ]);
    let mock = Mock::start(&[GRANTED, brings(&[&event.to_string()]), DONE, DONE, DONE]);
    let (chat, hub) = (hearing(mock.port), HubMock::default());
    hub.is_crowded();
    let heard = listens(&chat, &hub, &mock, 4).await;
    assert!(heard.iter().all(|request| !request.contains("/media/")), "{heard:#?}");
    let words = hub.received(1).await[0].event.words().unwrap().clone();
    assert!(words.missing[0].starts_with("plan.txt: too many files"), "{words:?}");
}

#[tokio::test]
async fn a_batch_is_written_and_acknowledged_though_pub_sub_does_not_wait_for_its_files() {
    const AWAY: Reply = Reply::Says(503, "", r#"{"error":{"status":"UNAVAILABLE","message":"hush"}}"#);
    let mut event = message(json!({}));
    event["message"]["attachment"] = json!([
        {"contentName": "plan.txt", "contentType": "text/plain", "attachmentDataRef": {"resourceName": "c1"}},
    ]);
    let event = event.to_string();
    let mock = Mock::start(&[
        GRANTED,
        brings(&[&event, &event]),
        AWAY,
        GRANTED,
        Reply::Says(200, "", "the plan"),
        Reply::Says(200, "", "the plan"),
        DONE,
        DONE,
    ]);
    let (chat, hub) = (hearing(mock.port), HubMock::default());
    let heard = listens(&chat, &hub, &mock, 7).await;
    assert!(heard[2].contains(":modifyAckDeadline "), "{}", heard[2]);
    assert!(heard[6].contains(":acknowledge "), "asked once for a batch: {}", heard[6]);
    assert_eq!(hub.received(2).await.len(), 2);
}

#[tokio::test]
async fn the_same_message_again_and_again_is_pulled_some_times_a_second() {
    let same = brings(&[&message(json!({})).to_string()]);
    let mock = Mock::start(&[vec![GRANTED], [same, DONE].repeat(300)].concat());
    let (chat, hub) = (hearing(mock.port), HubMock::default());
    tokio::time::timeout(Duration::from_secs(2), chat.listen(&hub)).await.unwrap_err();
    let pulls = mock.heard().iter().filter(|request| request.contains(":pull ")).count();
    assert!((20..60).contains(&pulls), "{pulls} times in two seconds");
}

#[tokio::test]
async fn a_refusal_is_said_where_accounts_are_listed_and_ends_when_it_ends() {
    const NO: Reply = Reply::Says(403, "", r#"{"error":{"status":"PERMISSION_DENIED","message":"hush"}}"#);
    const SPACES: Reply = Reply::Says(200, "", r#"{"spaces":[{"name":"spaces/AAAA"}]}"#);
    let mock = Mock::start(&[GRANTED, NO]);
    let (chat, hub) = (hearing(mock.port), HubMock::default());
    listens(&chat, &hub, &mock, 2).await;
    tokio::time::timeout(Duration::from_millis(50), chat.listen(&hub)).await.unwrap_err();
    let Hearing { ready, standing } = chat.hearing().unwrap();
    assert!(!ready && standing.starts_with("nothing is received since 20"), "{standing}");
    let mock = Mock::start(&[GRANTED, NO, DONE, GRANTED, SPACES]);
    let chat = hearing_every(mock.port, Duration::from_mins(1));
    listens(&chat, &hub, &mock, 3).await;
    let ready = chat.check_ready().await.unwrap();
    assert!(ready.starts_with("gatepost@"), "{ready}");
}
