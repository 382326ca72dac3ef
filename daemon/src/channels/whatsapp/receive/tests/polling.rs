//! The loop, at an Evolution API on loopback, and the door of its notifications.

use std::{future::Future, time::Duration};

use serde_json::{Value, json};

use super::phone::PhoneMock;
use crate::{
    channels::{
        Receiver as _,
        callback::CallbackRefused,
        kit::{http::base::Base, polling},
        received::{Event, Received, Seen, unreadable},
        testing::{http::http, hub::HubMock, sample::Files},
        whatsapp::{
            WhatsApp,
            instance::Instance,
            receive::evolution::{Listener, Tempo},
        },
    },
    message::target::Target,
    settings::secret::Secret,
};

const ANNA: &str = "4915112345679@s.whatsapp.net";

const BRISK: Tempo = Tempo {
    asking: polling::Tempo {
        each: Duration::from_millis(20),
        settling: Duration::from_millis(1),
        first: Duration::from_millis(10),
        longest: Duration::from_millis(30),
        refused: Duration::from_millis(30),
    },
    files: Duration::from_mins(3),
};
/// One that asks once, and then only if it is told to.
const PATIENT: Tempo =
    Tempo { asking: polling::Tempo { each: Duration::from_mins(10), ..BRISK.asking }, ..BRISK };

fn at(mock: &PhoneMock, tempo: Tempo, files: &Files) -> WhatsApp {
    let url = Base::parse("url", &format!("http://127.0.0.1:{}", mock.port)).unwrap();
    WhatsApp {
        graph: None,
        instance: Some(Instance::hasty(http(), url, "home".into(), Secret::from("evo_secret"))),
        kept: files.kept(),
        previews: false,
        template: None,
        endpoint: None,
        webhook: Some(Secret::from("hook_secret").into()),
        hearing: None,
        listener: Some(Listener::new("home", tempo)),
    }
}

/// Listens while something is done.
async fn listening<T>(whatsapp: &WhatsApp, hub: &HubMock, test: impl Future<Output = T>) -> T {
    tokio::select! {
        () = whatsapp.listen(hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    }
}

fn now() -> i64 {
    crate::clock::now_ms() / 1000
}

fn record(id: &str, at: i64, message: Value) -> Value {
    json!({
        "key": {"id": id, "remoteJid": ANNA, "fromMe": false}, "pushName": "Anna", "messageTimestamp": at,
        "message": message, "MessageUpdate": [],
    })
}

fn said(id: &str, at: i64) -> Value {
    record(id, at, json!({"conversation": id}))
}

fn words(received: &[Received]) -> Vec<String> {
    received
        .iter()
        .map(|one| one.event.words().map_or_else(|| one.event.word().to_owned(), |words| words.text.clone()))
        .collect()
}

fn place(hub: &HubMock) -> Option<i64> {
    hub.at_position("messages").map(|place| place.parse().unwrap())
}

async fn until(so: impl Fn() -> bool) {
    while !so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn notify(whatsapp: &WhatsApp, hub: &HubMock, event: &str, data: Value) -> Result<(), CallbackRefused> {
    let body =
        json!({"event": event, "instance": "home", "data": data, "sender": "4915112345678@s.whatsapp.net"});
    whatsapp.read_callback("Bearer hook_secret", body.to_string().as_bytes(), hub).await.map(drop)
}

#[tokio::test]
async fn a_new_account_hears_what_comes_from_now_on_and_a_notification_makes_it_ask_at_once() {
    let (mock, hub, files) = (PhoneMock::start().await, HubMock::default(), Files::new());
    mock.state().kept.push(said("before", now() - 2));
    let whatsapp = at(&mock, PATIENT, &files);
    let received = listening(&whatsapp, &hub, async {
        until(|| place(&hub).is_some() && !mock.asked("/chat/findMessages/home").is_empty()).await;
        mock.state().kept.push(said("after", now()));
        notify(&whatsapp, &hub, "messages.upsert", json!({})).await.unwrap();
        hub.received(1).await
    })
    .await;
    assert_eq!(words(&received), ["after"]);
    assert!(whatsapp.listener.as_ref().unwrap().hearing().standing.starts_with("receives"));
}

#[tokio::test]
async fn after_a_stop_it_catches_up_in_order_over_pages_and_knows_what_it_had() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 5_000, Files::new());
    mock.state().kept.push(said("long ago", last - 1_000));
    mock.state().kept.extend((0..35).map(|n| said(&format!("m{n}"), last + n)));
    let hub = HubMock::at(&[("messages", &last.to_string()), ("began", "0")]);
    let whatsapp = at(&mock, BRISK, &files);
    listening(&whatsapp, &hub, async {
        let received = hub.received(35).await;
        assert_eq!(words(&received), (0..35).map(|n| format!("m{n}")).collect::<Vec<_>>());
        until(|| place(&hub) == Some(last + 34)).await;
        // It asks again and again, a moment before the last, and hands over what is new alone.
        let asked = mock.asked("/chat/findMessages/home").len();
        until(|| mock.asked("/chat/findMessages/home").len() > asked + 6).await;
        mock.state().kept.push(said("new", last + 40));
        assert_eq!(words(&hub.received(36).await)[35], "new");
    })
    .await;
    assert_eq!(hub.received(0).await.len(), 36);
}

#[tokio::test]
async fn what_cannot_be_written_down_comes_again_and_its_time_does_not_move() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    mock.state().kept.push(said("one", last + 1));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    hub.fail(2);
    let whatsapp = at(&mock, BRISK, &files);
    let received = listening(&whatsapp, &hub, hub.received(1)).await;
    assert_eq!((words(&received), place(&hub)), (vec!["one".to_owned()], Some(last + 1)));
}

#[tokio::test]
async fn an_api_that_is_away_is_said_and_nothing_of_it_is_taken_for_read() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    mock.state().kept.push(said("one", last + 1));
    mock.state().instead = [(500, "{}"), (401, "{}"), (200, "{}"), (404, "{}"), (200, "<html>")].into();
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, BRISK, &files);
    let standing = || whatsapp.listener.as_ref().unwrap().hearing().standing;
    listening(&whatsapp, &hub, async {
        until(|| standing().starts_with("nothing is received since")).await;
        assert_eq!(words(&hub.received(1).await), ["one"]);
        until(|| standing().starts_with("receives")).await;
    })
    .await;
    assert_eq!(place(&hub), Some(last + 1));
}

#[tokio::test]
async fn a_record_that_cannot_be_read_holds_up_no_other_and_is_counted_once() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    let long = record("long", last + 2, json!({"conversation": "x".repeat(2 * 1024 * 1024)}));
    mock.state().kept =
        vec![said("one", last + 1), long, json!("{\"key\": \"\\ud800\"}"), said("two", last + 3)];
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, BRISK, &files);
    listening(&whatsapp, &hub, async {
        assert_eq!(words(&hub.received(2).await), ["one", "two"]);
        let asked = mock.asked("/chat/findMessages/home").len();
        until(|| mock.asked("/chat/findMessages/home").len() > asked + 20).await;
    })
    .await;
    assert_eq!(hub.dropped().len(), 2, "{:?}", hub.dropped());
}

#[tokio::test]
async fn records_over_which_the_api_fails_hold_up_no_other_and_none_is_passed_over_while_it_fails_over_all() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    mock.state().kept.push(said("one", last + 1));
    mock.state().kept.extend((0..30).map(|n| said(&format!("bad{n}"), last + 2)));
    mock.state().broken = vec!["bad", "one"];
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, BRISK, &files);
    let asked = || mock.asked("/chat/findMessages/home").len();
    listening(&whatsapp, &hub, async {
        until(|| asked() > 200).await;
        assert_eq!((hub.dropped().len(), place(&hub)), (0, Some(last)), "an ill API loses nothing");
        mock.state().broken = vec!["bad"];
        assert_eq!(words(&hub.received(1).await), ["one"]);
        mock.state().kept.push(said("two", last + 3));
        assert_eq!(words(&hub.received(2).await), ["one", "two"]);
        let before = asked();
        until(|| asked() > before + 200).await;
    })
    .await;
    assert_eq!(hub.dropped().len(), 30, "{:?}", hub.dropped());
}

#[tokio::test]
async fn a_page_of_nothing_but_too_long_messages_holds_up_no_other() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    let long = json!({"conversation": "x".repeat(1100 * 1024)});
    mock.state().kept.push(said("one", last + 1));
    mock.state().kept.extend((0..10).map(|n| record(&format!("long{n}"), last + 2, long.clone())));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, PATIENT, &files);
    let received = listening(&whatsapp, &hub, hub.received(1)).await;
    assert_eq!((words(&received), hub.dropped().len()), (vec!["one".to_owned()], 10));
}

#[tokio::test]
async fn a_hundred_of_the_longest_texts_keep_no_older_message_away() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    let long = json!({"conversation": "€".repeat(65_536)});
    mock.state().kept.push(said("older", last + 1));
    mock.state().kept.extend((0..100).map(|n| record(&format!("long{n}"), last + 2, long.clone())));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, PATIENT, &files);
    let received = listening(&whatsapp, &hub, async {
        until(|| hub.dropped().len() > 10).await;
        hub.received(80).await
    })
    .await;
    assert_eq!(words(&received)[0], "older");
    assert!(received[1].event.words().unwrap().truncated);
}

#[tokio::test]
async fn a_time_that_somebody_chose_neither_moves_the_place_nor_ends_the_reading() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    let edited = |id: &str, at: i64| {
        let mut record = said(id, at);
        record["status"] = json!("EDITED");
        record
    };
    // As they stand in the API's order: a time in milliseconds before all.
    mock.state().kept = vec![
        said("one", last + 1),
        edited("edited", now()),
        said("ahead", now() + 5000),
        edited("2037", 2_114_380_800),
        edited("1976", 200_000_000_000),
        said("1977", 220_000_000_000),
    ];
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, PATIENT, &files);
    let received = listening(&whatsapp, &hub, hub.received(1)).await;
    assert_eq!(words(&received), ["one", "edited", "edited", "ahead", "2037", "2037"]);
    assert_eq!(place(&hub), Some(last + 1));
}

#[tokio::test]
async fn files_for_which_no_time_is_left_are_named_and_not_asked_for() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    mock.state().file = b"hello".to_vec();
    mock.state().kept.push(record("3EB0A1", last + 1, json!({"documentMessage": {"fileName": "plan.pdf"}})));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, Tempo { files: Duration::ZERO, ..PATIENT }, &files);
    let received = listening(&whatsapp, &hub, hub.received(1)).await;
    assert_eq!(
        received[0].event.words().unwrap().missing,
        ["plan.pdf: other files took all the time there was"]
    );
    assert!(mock.asked("/chat/getBase64FromMediaMessage/home").is_empty());
}

#[tokio::test]
async fn files_are_fetched_once_and_edits_and_deletions_are_heard() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    mock.state().file = b"hello".to_vec();
    let image = json!({"imageMessage": {"caption": "See", "mimetype": "image/png", "fileLength": "5"}});
    mock.state().kept.push(record("3EB0A1", last + 1, image));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, BRISK, &files);
    listening(&whatsapp, &hub, async {
        let received = hub.received(1).await;
        let Event::Message(words) = &received[0].event else { panic!() };
        assert!(words.text == "See" && words.files[0].kind == "image/png", "{words:?}");
        mock.state().kept.push(said("3EB0A2", last + 2));
        hub.received(2).await;
        let kept = &mut mock.state().kept;
        kept[1]["message"]["conversation"] = json!("Two");
        kept[1]["messageTimestamp"] = json!((last + 3) * 1000);
        kept[1]["MessageUpdate"] = json!([{"status": "EDITED"}]);
    })
    .await;
    listening(&whatsapp, &hub, hub.received(4)).await;
    assert_eq!(hub.files(), [b"hello".to_vec(), b"hello".to_vec()], "once each time that the hub begins");
    let asked = mock.asked("/chat/getBase64FromMediaMessage/home");
    assert_eq!(asked[0]["message"]["key"], json!({"id": "3EB0A1", "remoteJid": ANNA, "fromMe": false}));
    // The loop that began anew told again what the hub knows by its key.
    let heard = words(&hub.received(4).await);
    assert!(heard.contains(&"Two".to_owned()), "{heard:?}");
    let key = json!({"id": "3EB0A2", "remoteJid": ANNA, "fromMe": false});
    notify(&whatsapp, &hub, "messages.delete", key).await.unwrap();
    let gone = hub.received(0).await.pop().unwrap();
    assert_eq!((gone.event, gone.message_id.as_deref()), (Event::Delete, Some("4915112345679/3EB0A2")));
}

#[tokio::test]
async fn a_file_that_is_not_had_is_named_without_the_key() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    mock.state().kept.push(record("3EB0A1", last + 1, json!({"documentMessage": {"fileName": "plan.pdf"}})));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    let whatsapp = at(&mock, BRISK, &files);
    let received = listening(&whatsapp, &hub, hub.received(1)).await;
    let missing = &received[0].event.words().unwrap().missing;
    assert!(missing[0].starts_with("plan.pdf: ") && !missing[0].contains("evo_secret"), "{missing:?}");
}

#[tokio::test]
async fn what_is_the_accounts_own_is_known_by_what_it_sent() {
    let (mock, last, files) = (PhoneMock::start().await, now() - 100, Files::new());
    let target = json!({"id": "3EB0FF", "fromMe": false, "remoteJid": ANNA});
    mock.state().kept.push(record(
        "3EB0A1",
        last + 1,
        json!({"reactionMessage": {"key": target, "text": "👍"}}),
    ));
    let hub = HubMock::at(&[("messages", &last.to_string())]);
    hub.has_sent("3EB0FF");
    let whatsapp = at(&mock, BRISK, &files);
    let received = listening(&whatsapp, &hub, hub.received(1)).await;
    assert_eq!(received[0].message_id.as_deref(), Some("3EB0FF"));
}

#[tokio::test]
async fn a_notification_without_the_secret_is_refused_and_one_that_is_not_written_down_too() {
    let (mock, hub, files) = (PhoneMock::start().await, HubMock::default(), Files::new());
    let whatsapp = at(&mock, PATIENT, &files);
    assert_eq!(whatsapp.notifications().unwrap().proof_header, "authorization");
    for proof in ["", "Bearer ", "Bearer hook", "hook_secret", "bearer hook_secret", "Basic hook_secret"] {
        assert_eq!(whatsapp.admits_callback(proof).await, Err(CallbackRefused::Signature), "{proof}");
        let read = whatsapp.read_callback(proof, b"{}", &hub).await;
        assert_eq!(read, Err(CallbackRefused::Signature), "{proof}");
    }
    whatsapp.admits_callback("Bearer hook_secret").await.unwrap();
    let read = whatsapp.read_callback("Bearer hook_secret", b"[", &hub).await;
    assert_eq!(read, Ok(vec![]), "it would be no better if it came again");
    assert_eq!(hub.dropped(), [unreadable("notification")]);
    hub.fail(1);
    let data = json!({"id": "120363012345678901@g.us", "participants": [ANNA], "action": "add"});
    let refused = notify(&whatsapp, &hub, "group-participants.update", data.clone()).await;
    assert_eq!(refused, Err(CallbackRefused::Unwritten));
    notify(&whatsapp, &hub, "group-participants.update", data).await.unwrap();
    assert_eq!(hub.received(1).await[0].event, Event::Join);
}

#[tokio::test]
async fn who_is_answered_sees_that_it_is_read_and_written() {
    let (mock, files) = (PhoneMock::start().await, Files::new());
    let whatsapp = at(&mock, PATIENT, &files);
    let target: Target =
        serde_json::from_value(json!({"channel": "whatsapp", "address": "4915112345679"})).unwrap();
    whatsapp.show_typing(&target).await;
    whatsapp.mark_read(&target, "4915112345679/3EB0A1").await;
    whatsapp.mark_read(&target, "3EB0FF").await;
    let typing = &mock.asked("/chat/sendPresence/home")[0];
    assert_eq!(*typing, json!({"number": "4915112345679", "presence": "composing", "delay": 12_000}));
    let read = mock.asked("/chat/markMessageAsRead/home");
    assert_eq!(read, [json!({"readMessages": [{"id": "3EB0A1", "fromMe": false, "remoteJid": ANNA}]})]);
}

#[tokio::test]
async fn what_people_have_seen_is_told_of_own_messages_alone() {
    let (mock, hub, files) = (PhoneMock::start().await, HubMock::default(), Files::new());
    let whatsapp = at(&mock, PATIENT, &files);
    let update = |id: &str, mine: bool, status: &str| json!({"keyId": id, "remoteJid": "4915112345679@s.whatsapp.net", "fromMe": mine, "status": status});
    for (id, mine, status) in [
        ("3EB0A1", true, "DELIVERY_ACK"),
        ("3EB0A1", true, "SERVER_ACK"),
        ("3EB0A1", true, "READ"),
        ("3EB0A2", false, "READ"),
        ("3EB0/A3", true, "READ"),
    ] {
        notify(&whatsapp, &hub, "messages.update", update(id, mine, status)).await.unwrap();
    }
    notify(&whatsapp, &hub, "messages.update", json!([update("3EB0A4", true, "PLAYED"), 5])).await.unwrap();
    let seen = |id: &str, read| Seen { by: vec![], ids: vec![id.into()], and_before: false, read, at: None };
    assert_eq!(hub.seen_so_far(), [seen("3EB0A1", false), seen("3EB0A1", true), seen("3EB0A4", true)]);
}
