//! The loop, at a Telegram on loopback.

use std::{future::Future, time::Duration};

use serde_json::{Value, json};

use super::mock::{TOKEN, TelegramMock};
use crate::{
    channels::{
        Adapter as _, Receiver as _,
        received::{DropReason, Event},
        telegram::{
            Telegram,
            receive::{Listener, Tempo, polls},
            scenarios,
        },
        testing::{
            hub::HubMock,
            sample::{self, AsJson as _},
        },
    },
    message::{
        operation::{Operation, Poll},
        target::Target,
    },
    settings::secret::Secret,
};

const GROUP: i64 = -1_001_234_567_890;

const BRISK: Tempo = Tempo {
    wait: Duration::from_secs(1),
    first: Duration::from_millis(10),
    longest: Duration::from_millis(40),
    refused: Duration::from_millis(40),
    album: Duration::from_millis(60),
};

fn at(mock: &TelegramMock) -> Telegram {
    let telegram = scenarios::telegram(mock.port, Secret::from(TOKEN));
    Telegram { listener: Some(Listener::new("home", BRISK)), ..telegram }
}

/// Listens while something is done.
async fn listening<T>(telegram: &Telegram, hub: &HubMock, test: impl Future<Output = T>) -> T {
    tokio::select! {
        () = telegram.listen(hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    }
}

fn text(id: i64, text: &str) -> Value {
    with(id, json!({ "text": text }))
}

fn with(id: i64, more: Value) -> Value {
    let mut message = json!({
        "message_id": id, "from": {"id": 7, "first_name": "Ann"}, "date": 1_790_000_000,
        "chat": {"id": GROUP, "type": "supergroup"},
    });
    more.as_object().unwrap().iter().for_each(|(name, value)| message[name] = value.clone());
    json!({"update_id": id, "message": message})
}

fn ids(received: &[crate::channels::received::Received]) -> Vec<&str> {
    received.iter().map(|received| received.message_id.as_deref().unwrap_or("-")).collect()
}

/// The number in the position, without its time.
fn next(hub: &HubMock) -> Option<String> {
    hub.at_position("updates").map(|value| value.split(' ').next().unwrap().to_owned())
}

#[tokio::test]
async fn what_came_is_written_down_before_telegram_is_told() {
    let mock = TelegramMock::start(&[text(41, "one"), text(42, "two")]).await;
    let (telegram, hub) = (at(&mock), HubMock::default());
    hub.fail(2);
    let received = listening(&telegram, &hub, async {
        let received = hub.received(2).await;
        mock.platform.until(|told| told.updates.is_empty().then_some(())).await;
        received
    })
    .await;
    assert_eq!((ids(&received), next(&hub).as_deref()), (vec!["41", "42"], Some("43")));
    let polls = mock.platform.state().polls.clone();
    let offsets: Vec<_> = polls.iter().map(|told| told["offset"].as_i64()).collect();
    assert_eq!(offsets[..4], [None, None, None, Some(43)], "two batches were not written down");
    assert!(polls.iter().all(|told| told["allowed_updates"].as_array().is_some_and(|all| all.len() == 8)));
    assert_eq!((&polls[0]["limit"], &polls[0]["timeout"]), (&json!(100), &json!(1)));
}

#[tokio::test]
async fn a_restart_goes_on_where_the_account_was_and_repeats_nothing() {
    let mock = TelegramMock::start(&[text(41, "one"), text(42, "two")]).await;
    let now = crate::clock::now_ms() / 1000;
    let hub = HubMock::at(&[("updates", &format!("42 {now}"))]);
    let received = listening(&at(&mock), &hub, hub.received(1)).await;
    assert_eq!(ids(&received), ["42"]);
    // The hub stopped before Telegram was told; what is asked for then is what comes after.
    mock.platform.tell(&[text(43, "three")]);
    let received = listening(&at(&mock), &hub, hub.received(2)).await;
    assert_eq!(ids(&received), ["42", "43"]);
}

#[tokio::test]
async fn after_a_quiet_week_numbers_that_begin_anew_lose_nothing() {
    let mock = TelegramMock::start(&[text(5, "after the holidays")]).await;
    let hub = HubMock::at(&[("updates", "900000 1000000000")]);
    let received = listening(&at(&mock), &hub, hub.received(1)).await;
    assert_eq!((ids(&received), next(&hub).as_deref()), (vec!["5"], Some("6")));
}

#[tokio::test]
async fn a_day_of_messages_comes_in_order_and_each_once() {
    let all: Vec<_> = (1..=730).map(|id| text(id, "x")).collect();
    let mock = TelegramMock::start(&all).await;
    let hub = HubMock::default();
    let received = listening(&at(&mock), &hub, hub.received(730)).await;
    let expected: Vec<_> = (1..=730).map(|id: i64| id.to_string()).collect();
    assert_eq!(ids(&received), expected);
    assert_eq!(next(&hub).as_deref(), Some("731"));
}

#[tokio::test]
async fn updates_out_of_order_are_written_down_in_order_so_that_no_place_is_ahead() {
    let all: Vec<_> = (1..=99).map(|id| text(1 + id * 37 % 99, "x")).collect();
    let mock = TelegramMock::start(&all).await;
    let hub = HubMock::default();
    let received = listening(&at(&mock), &hub, hub.received(99)).await;
    let expected: Vec<_> = (1..=99).map(|id: i64| id.to_string()).collect();
    assert_eq!(ids(&received), expected, "they are written in two pieces");
    assert_eq!(next(&hub).as_deref(), Some("100"));
}

#[tokio::test]
async fn whatever_telegram_answers_it_is_asked_again_and_says_how_it_stands() {
    let mock = TelegramMock::start(&[text(41, "one")]).await;
    let no = |status: u16, said: &str| (status, json!({"ok": false, "description": said}).to_string());
    let limited = json!({"ok": false, "description": "Too Many Requests", "parameters": {"retry_after": 1}});
    let instead = [
        no(500, "Internal"),
        (502, "<h1>Bad gateway</h1>".into()),
        (200, "<h1>Log in to the hotel's network</h1>".into()),
        (200, json!({"ok": true, "result": {}}).to_string()),
        no(401, "Unauthorized"),
        (429, limited.to_string()),
    ];
    mock.platform.state().instead.extend(instead);
    let (telegram, hub) = (at(&mock), HubMock::default());
    let begun = std::time::Instant::now();
    listening(&telegram, &hub, hub.received(1)).await;
    assert!(begun.elapsed() >= Duration::from_secs(1), "Telegram said when to come back");

    // The same again, looked at.
    mock.platform.state().instead.extend((0..1_000).map(|_| no(401, "Unauthorized")));
    listening(&telegram, &hub, async {
        while telegram.listener.as_ref().unwrap().trouble().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let ready = telegram.check_ready().await.unwrap();
    assert!(ready.starts_with("@House_Bot; nothing is received since "), "{ready}");
    assert!(ready.contains("bot token rejected") && !ready.contains("secret_token"), "{ready}");
}

#[tokio::test]
async fn who_else_receives_for_the_bot_is_named_without_what_is_secret() {
    let conflict =
        json!({"ok": false, "description": "Conflict: terminated by other getUpdates request"}).to_string();
    for (webhook, words) in [
        ("", "another program receives"),
        ("https://hooks.test/telegram/hush?key=hush", "a webhook at hooks.test"),
    ] {
        let mock = TelegramMock::start(&[]).await;
        mock.platform.state().instead.extend((0..1_000).map(|_| (409, conflict.clone())));
        mock.platform.state().webhook = webhook.into();
        let (telegram, hub) = (at(&mock), HubMock::default());
        let why = listening(&telegram, &hub, async {
            loop {
                if let Some(why) = telegram.listener.as_ref().unwrap().trouble() {
                    return why;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert!(why.contains(words) && why.contains("Conflict") && !why.contains("hush"), "{why}");
        assert!(mock.platform.state().calls.iter().all(|(method, _)| method != "deleteWebhook"));
    }
}

#[tokio::test]
async fn an_update_that_cannot_be_read_is_passed_by_and_the_others_come() {
    let mock =
        TelegramMock::start(&[text(41, "one"), json!({"update_id": 42, "message": 5}), text(43, "three")])
            .await;
    let half = r#"{"ok":true,"result":[{"update_id":41,"message":{"text":"\ud83d"}}]}"#;
    mock.platform.state().instead.extend((0..3).map(|_| (200, half.to_owned())));
    let hub = HubMock::default();
    let received = listening(&at(&mock), &hub, hub.received(1)).await;
    assert_eq!(ids(&received), ["43"]);
    let dropped: Vec<_> = hub.dropped().into_iter().map(|dropped| (dropped.reason, dropped.what)).collect();
    let unreadable = |what: &str| (DropReason::Unreadable, what.to_owned());
    assert_eq!(dropped, [unreadable("update"), unreadable("message")]);
    let limits: Vec<_> =
        mock.platform.state().polls.iter().map(|told| told["limit"].as_i64().unwrap()).collect();
    assert_eq!(limits[..3], [100, 10, 1]);
}

#[tokio::test]
async fn updates_without_numbers_are_not_asked_for_in_a_storm() {
    let mut nameless = text(1, "x");
    nameless.as_object_mut().unwrap().remove("update_id");
    let mock = TelegramMock::start(&[nameless]).await;
    let (telegram, hub) = (at(&mock), HubMock::default());
    listening(&telegram, &hub, tokio::time::sleep(Duration::from_millis(400))).await;
    let asked = mock.platform.state().polls.len();
    assert!((2..40).contains(&asked), "{asked}");
}

#[tokio::test]
async fn an_update_with_the_last_number_that_there_is_is_not_asked_for_in_a_storm() {
    let mock = TelegramMock::start(&[]).await;
    let mut last = text(41, "one");
    last["update_id"] = i64::MAX.into();
    let again = json!({"ok": true, "result": [last]}).to_string();
    mock.platform.state().instead.extend(vec![(200, again); 10_000]);
    let (telegram, hub) = (at(&mock), HubMock::default());
    listening(&telegram, &hub, async {
        hub.received(1).await;
        mock.platform.state().polls.clear();
        tokio::time::sleep(10 * BRISK.first).await;
    })
    .await;
    let asked = mock.platform.state().polls.len();
    assert!((1..=12).contains(&asked), "{asked} times in ten pauses");
}

#[tokio::test]
async fn an_album_is_waited_for_and_its_files_are_fetched() {
    let item = |id: i64| {
        let photo = json!([{"file_id": format!("p{id}.jpg"), "width": 1, "height": 1, "file_size": 3}]);
        with(id, json!({"media_group_id": "9", "photo": photo}))
    };
    let mock = TelegramMock::start(&[item(41)]).await;
    for id in 41..=43 {
        mock.platform.state().files.insert(format!("files/p{id}.jpg"), format!("photo {id}").into_bytes());
    }
    let hub = HubMock::default();
    let received = listening(&at(&mock), &hub, async {
        mock.platform.until(|told| (!told.polls.is_empty()).then_some(())).await;
        mock.platform.tell(&[item(42), item(43)]);
        hub.received(1).await
    })
    .await;
    assert_eq!(ids(&received), ["41"]);
    assert_eq!((received[0].event.words().unwrap().files.len(), next(&hub).as_deref()), (3, Some("44")));
    assert_eq!(hub.files(), [b"photo 41", b"photo 42", b"photo 43"]);
}

#[tokio::test]
async fn files_of_strangers_for_which_there_is_no_place_are_not_asked_for() {
    let photo = json!([{"file_id": "p1.jpg", "width": 1, "height": 1, "file_size": 3}]);
    let mock = TelegramMock::start(&[with(41, json!({"photo": photo})), text(42, "open the door")]).await;
    let hub = HubMock::default();
    hub.is_crowded();
    let received = listening(&at(&mock), &hub, hub.received(2)).await;
    let words = received[0].event.words().unwrap();
    assert!(words.files.is_empty() && words.missing[0].contains("ask for it again"), "{words:?}");
    let state = mock.platform.state();
    assert!(state.calls.iter().all(|(method, _)| method != "getFile"), "{:?}", state.calls);
}

#[tokio::test]
async fn a_file_that_cannot_be_had_leaves_a_line_and_the_message_comes() {
    let document = |id: i64, file: &str, size: u64| {
        with(
            id,
            json!({"document": {"file_id": file, "file_name": format!("{file}.pdf"), "file_size": size}}),
        )
    };
    let mock = TelegramMock::start(&[
        document(41, "gone", 5),
        document(42, "large", 31 * 1024 * 1024),
        document(43, "disk", 5),
        document(44, "lost", 5),
        with(45, json!({"voice": {"file_id": "heard", "file_size": 2}})),
    ])
    .await;
    mock.platform.state().files.insert("files/heard".into(), b"oh".to_vec());
    let hub = HubMock::default();
    let received = listening(&at(&mock), &hub, hub.received(5)).await;
    let missing: Vec<_> =
        received.iter().flat_map(|received| &received.event.words().unwrap().missing).collect();
    for (line, words) in missing.iter().zip(["invalid file_id", "31 MB", "own disk", "404"]) {
        assert!(line.contains(words) && line.contains(".pdf: ") && !line.contains("secret_token"), "{line}");
    }
    let asked = |told: &str| mock.platform.state().calls.iter().any(|(_, body)| body["file_id"] == told);
    assert_eq!((missing.len(), asked("large"), asked("heard")), (4, false, true));
    assert!(received[4].event.words().unwrap().files[0].voice);
}

#[tokio::test]
async fn a_press_is_answered_once_it_is_written_down_and_not_before() {
    let message = text(5, "Shall I?")["message"].clone();
    let query = json!({"id": "4382", "from": {"id": 7}, "data": "yes", "message": message});
    let mock = TelegramMock::start(&[json!({"update_id": 41, "callback_query": query})]).await;
    let (telegram, hub) = (at(&mock), HubMock::default());
    hub.fail(3);
    let answered = |mock: &TelegramMock| {
        let calls = mock.platform.state().calls.clone();
        calls.into_iter().filter(|(method, _)| method == "answerCallbackQuery").collect::<Vec<_>>()
    };
    listening(&telegram, &hub, async {
        mock.platform.until(|told| (told.polls.len() > 2).then_some(())).await;
        assert_eq!(answered(&mock).len(), 0);
        hub.received(1).await;
        mock.platform.until(|told| told.updates.is_empty().then_some(())).await;
    })
    .await;
    assert_eq!(answered(&mock), [("answerCallbackQuery".to_owned(), json!({"callback_query_id": "4382"}))]);
}

#[tokio::test]
async fn a_vote_is_heard_after_a_restart_too() {
    let mock = TelegramMock::start(&[]).await;
    let hub = HubMock::default();
    let telegram = at(&mock);
    let options = vec!["now".into(), "later".into()];
    let operation = Operation::Poll(Poll {
        question: "When?".into(),
        options,
        multiple: false,
        seconds: None,
        anonymous: Some(false),
    });
    let request = telegram.composed_operation(&sample::op(&GROUP.to_string(), &operation, None)).unwrap();
    listening(&telegram, &hub, async {
        telegram.delivered(&request, &sample::key()).await.unwrap();
        while hub.at_position("polls").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let vote = json!({"poll_id": "5800", "user": {"id": 7}, "option_ids": [1]});
    mock.platform.tell(&[json!({"update_id": 41, "poll_answer": vote})]);
    let received = listening(&at(&mock), &hub, hub.received(1)).await;
    assert_eq!(received[0].event, Event::Vote { options: vec!["1".into()] });
    assert_eq!((received[0].conversation.address.clone(), ids(&received)), (GROUP.to_string(), vec!["70"]));
    // A hub that still has the request tells the poll's words.
    let mut chosen = vec!["1".to_owned(), "7".to_owned()];
    polls::spell(&mut chosen, &request);
    assert_eq!(chosen, ["later", "7"]);
}

#[tokio::test]
async fn typing_is_shown_in_the_topic() {
    let mock = TelegramMock::start(&[]).await;
    let telegram = at(&mock);
    let address = GROUP.to_string();
    telegram.show_typing(&Target { channel: "telegram".into(), address, thread: Some("3".into()) }).await;
    let calls = mock.platform.state().calls.clone();
    let told = json!({"chat_id": GROUP, "action": "typing", "message_thread_id": 3});
    assert_eq!(calls, [("sendChatAction".to_owned(), told)]);
    assert_eq!(telegram.typing_lasts(), Some(Duration::from_secs(5)));
}

#[tokio::test]
async fn an_account_that_does_not_receive_asks_for_nothing() {
    let mock = TelegramMock::start(&[text(41, "one")]).await;
    let telegram = Telegram { listener: None, ..at(&mock) };
    telegram.listen(&HubMock::default()).await;
    let told = mock.platform.state();
    assert_eq!((told.polls.len(), told.calls.len()), (0, 0));
}

#[tokio::test]
async fn a_server_that_repeats_what_was_acknowledged_is_not_asked_at_once() {
    let mock = TelegramMock::start(&[]).await;
    let again = json!({"ok": true, "result": [text(41, "one"), text(42, "two")]}).to_string();
    mock.platform.state().instead.extend(vec![(200, again); 10_000]);
    let (telegram, hub) = (at(&mock), HubMock::default());
    listening(&telegram, &hub, async {
        hub.received(2).await;
        mock.platform.state().polls.clear();
        tokio::time::sleep(10 * BRISK.first).await;
    })
    .await;
    let asked = mock.platform.state().polls.len();
    assert!((1..=11).contains(&asked), "{asked} times in ten pauses");
    assert_eq!(next(&hub).as_deref(), Some("43"));
    // What is new comes all the same.
    mock.platform.state().instead.clear();
    mock.platform.tell(&[text(43, "three")]);
    let received = listening(&telegram, &hub, async {
        let has_it =
            || async { hub.received(3).await.iter().any(|one| one.message_id.as_deref() == Some("43")) };
        while !has_it().await {
            tokio::time::sleep(BRISK.first).await;
        }
    });
    received.await;
}
