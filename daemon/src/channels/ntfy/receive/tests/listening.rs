//! The loop, at an ntfy on loopback.

use std::{future::Future, time::Duration};

use serde_json::{Value, json};

use super::mock::{Instead, NtfyMock, now};
use crate::{
    channels::{
        Adapter as _, Receiver as _,
        kit::http::{Http, base::Base},
        ntfy::{
            Ntfy,
            receive::{Listener, Tempo},
        },
        received::{AuthorKind, DropReason, Received},
        testing::{http::http, hub::HubMock},
    },
    settings::secret::Secret,
};

const BRISK: Tempo = Tempo {
    silence: Duration::from_millis(400),
    first: Duration::from_millis(10),
    longest: Duration::from_millis(40),
    refused: Duration::from_millis(40),
};

fn at(mock: &NtfyMock) -> Ntfy {
    let topics = vec!["kitchen".to_owned(), "garden".to_owned()];
    Ntfy {
        http: Http::new(http(), "ntfy", Secret::from("tk_hush")),
        url: Base::parse("url", &format!("http://127.0.0.1:{}", mock.port)).unwrap(),
        priority: 3,
        listener: Some(Listener::new("home", topics, BRISK)),
    }
}

/// Listens while something is done.
async fn listening<T>(ntfy: &Ntfy, hub: &HubMock, test: impl Future<Output = T>) -> T {
    tokio::select! {
        () = ntfy.listen(hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    }
}

fn line(id: &str, time: i64, more: Value) -> Value {
    let mut line = json!({"id": id, "time": time, "event": "message", "topic": "kitchen", "message": id});
    more.as_object().unwrap().iter().for_each(|(name, value)| line[name] = value.clone());
    line
}

fn ids(received: &[Received]) -> Vec<&str> {
    received.iter().map(|received| received.message_id.as_deref().unwrap_or("-")).collect()
}

fn place(hub: &HubMock) -> Option<i64> {
    hub.at_position("topics").map(|place| place.parse().unwrap())
}

async fn until(so: impl Fn() -> bool) {
    while !so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_new_account_hears_what_comes_from_now_on_and_has_a_place_at_once() {
    let (mock, hub) = (NtfyMock::start().await, HubMock::default());
    mock.server.publish(line("before", now() - 5, json!({})));
    let ntfy = at(&mock);
    let received = listening(&ntfy, &hub, async {
        until(|| place(&hub).is_some()).await;
        mock.server.publish(line("after", now(), json!({"topic": "garden"})));
        hub.received(1).await
    })
    .await;
    assert_eq!((ids(&received), received[0].conversation.address.as_str()), (vec!["after"], "garden"));
    assert_eq!(mock.server.state().asked[0], ("/kitchen,garden/json".to_owned(), true));
    assert!(ntfy.listener.unwrap().hearing().standing.contains("receives kitchen, garden"));
}

#[tokio::test]
async fn a_restart_goes_on_a_minute_before_the_last_message() {
    let mock = NtfyMock::start().await;
    let last = now() - 500;
    for (id, time) in [("old", last - 61), ("scheduled", last - 9), ("last", last), ("missed", last + 5)] {
        mock.server.publish(line(id, time, json!({})));
    }
    let hub = HubMock::at(&[("topics", &last.to_string())]);
    let received = listening(&at(&mock), &hub, async {
        let received = hub.received(3).await;
        until(|| place(&hub) == Some(last + 5)).await;
        received
    })
    .await;
    assert_eq!(ids(&received), ["scheduled", "last", "missed"]);
    assert_eq!(mock.server.state().asked[0].0, format!("/kitchen,garden/json?since={}", last - 60));
}

#[tokio::test]
async fn the_place_does_not_move_before_all_that_was_kept_is_told() {
    let (mock, began) = (NtfyMock::start().await, now() - 5_000);
    mock.server.state().dead = true;
    // What is new comes in the midst of what was kept.
    for (id, time) in [("new", now()), ("kept", now() - 3_000)] {
        mock.server.publish(line(id, time, json!({})));
    }
    let hub = HubMock::at(&[("topics", &began.to_string())]);
    listening(&at(&mock), &hub, async {
        hub.received(2).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(place(&hub), Some(began));
        mock.server.state().dead = false;
        until(|| place(&hub).is_some_and(|place| place >= now() - 60)).await;
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_written_down_comes_again() {
    let (mock, last) = (NtfyMock::start().await, now() - 100);
    mock.server.publish(line("one", last + 1, json!({})));
    let hub = HubMock::at(&[("topics", &last.to_string())]);
    hub.fail(2);
    let received = listening(&at(&mock), &hub, hub.received(1)).await;
    assert_eq!(ids(&received), ["one"]);
    assert!(mock.server.state().asked.len() >= 3, "two streams were given up");
}

#[tokio::test]
async fn a_stream_on_which_nothing_is_heard_is_given_up() {
    let mock = NtfyMock::start().await;
    let open = json!({"id": "o", "time": now(), "event": "open", "topic": "kitchen"}).to_string();
    mock.server.state().instead.push_back(Instead::Hangs(format!("{open}\n").into_bytes()));
    mock.server.state().instead.push_back(Instead::Hangs(Vec::new()));
    let hub = HubMock::default();
    let ntfy = at(&mock);
    let received = listening(&ntfy, &hub, async {
        mock.server.until(|told| told.asked.len() == 3).await;
        mock.server.publish(line("heard", now(), json!({})));
        hub.received(1).await
    })
    .await;
    assert_eq!(ids(&received), ["heard"]);
}

#[tokio::test]
async fn whatever_the_server_answers_it_is_asked_again_and_the_account_says_how_it_stands() {
    let mock = NtfyMock::start().await;
    let limited = Instead::Says(
        429,
        Some(("retry-after", "1")),
        r#"{"code":42901,"http":429,"error":"limit reached"}"#,
    );
    let answers = [
        limited,
        Instead::Says(403, None, r#"{"code":40301,"http":403,"error":"forbidden"}"#),
        Instead::Says(404, None, r#"{"error":"page not found"}"#),
        Instead::Says(502, None, "<h1>Bad gateway</h1>"),
        Instead::Says(302, Some(("location", "https://elsewhere.test/")), ""),
        Instead::Ends(b"<html>It works!</html>".to_vec()),
        Instead::Ends(Vec::new()),
    ];
    let count = answers.len();
    mock.server.state().instead.extend(answers);
    let (hub, ntfy, started) = (HubMock::default(), at(&mock), std::time::Instant::now());
    let mut said = Vec::new();
    listening(&ntfy, &hub, async {
        while mock.server.state().asked.len() <= count {
            let stands = ntfy.listener.as_ref().unwrap().hearing().standing;
            if said.last() != Some(&stands) {
                said.push(stands);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        until(|| place(&hub).is_some()).await;
    })
    .await;
    assert!(started.elapsed() > Duration::from_secs(1), "it is not asked before the time that it said");
    for part in [
        "429, limit reached",
        "refused the token: forbidden",
        "404, page not found",
        "502",
        "set the address",
    ] {
        assert!(said.iter().any(|said| said.contains(part)), "{part}: {said:?}");
    }
    assert!(ntfy.listener.unwrap().hearing().standing.starts_with("receives"));
}

#[tokio::test]
async fn its_own_messages_are_its_own_whether_their_answer_came_or_not() {
    let (mock, hub) = (NtfyMock::start().await, HubMock::default());
    hub.has_sent("confirmed");
    hub.is_sending(json!({"topic": "kitchen", "title": "lost", "message": "lost", "priority": 3}));
    let received = listening(&at(&mock), &hub, async {
        until(|| place(&hub).is_some()).await;
        for (id, more) in
            [("confirmed", json!({})), ("lost", json!({"title": "lost"})), ("theirs", json!({}))]
        {
            mock.server.publish(line(id, now(), more));
        }
        hub.received(3).await
    })
    .await;
    let kinds: Vec<_> = received.iter().map(|received| received.author.kind).collect();
    assert_eq!(kinds, [AuthorKind::Myself, AuthorKind::Myself, AuthorKind::Person]);
}

#[tokio::test]
async fn a_file_is_fetched_from_the_accounts_own_server_wherever_the_message_points() {
    let (mock, hub) = (NtfyMock::start().await, HubMock::default());
    mock.server.state().file = b"GIF89a".to_vec();
    let received = listening(&at(&mock), &hub, async {
        until(|| place(&hub).is_some()).await;
        let url = "https://elsewhere.test/file/abc.gif";
        let attachment =
            json!({"name": "cat.gif", "type": "image/gif", "size": 6, "expires": now() + 100, "url": url});
        mock.server.publish(line("file", now(), json!({ "attachment": attachment })));
        hub.received(1).await
    })
    .await;
    assert_eq!(received[0].event.words().unwrap().files[0].name, "cat.gif");
    assert_eq!(hub.files(), [b"GIF89a".to_vec()]);
    let asked = mock.server.state().asked.clone();
    assert_eq!(asked.last(), Some(&("/file/abc.gif".to_owned(), true)));
}

#[tokio::test]
async fn a_megabyte_and_what_is_no_json_are_passed_by() {
    let (mock, hub) = (NtfyMock::start().await, HubMock::default());
    let received = listening(&at(&mock), &hub, async {
        until(|| place(&hub).is_some()).await;
        mock.server.publish(line("long", now(), json!({"message": "x".repeat(1_000_000)})));
        mock.server.publish(json!([{"event": "message"}]));
        mock.server.publish(line("next", now(), json!({"event": "tomorrow"})));
        mock.server.publish(line("good", now(), json!({})));
        hub.received(1).await
    })
    .await;
    assert_eq!(ids(&received), ["good"]);
    let dropped: Vec<_> = hub.dropped().into_iter().map(|dropped| (dropped.reason, dropped.what)).collect();
    let unreadable = |what: &str| (DropReason::Unreadable, what.to_owned());
    assert_eq!(
        dropped,
        [unreadable("long line"), unreadable("line"), (DropReason::NotUsed, "tomorrow".into())]
    );
}

#[tokio::test]
async fn who_asks_whether_the_account_is_ready_hears_what_it_receives_and_how_much_comes_later() {
    let mock = NtfyMock::start().await;
    for body in [r#"{"healthy":true}"#, r#"{"username":"house","role":"user"}"#] {
        mock.server.state().instead.push_back(Instead::Says(200, None, body));
    }
    let said = at(&mock).check_ready().await.unwrap();
    assert!(
        said.starts_with("ntfy at 127.0.0.1 as house; receives kitchen, garden") && said.contains("12 hours"),
        "{said}"
    );
}
