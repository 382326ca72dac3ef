//! An account that listens to a homeserver which follows a script.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    super::{Receiving, Tempo},
    kinds::{answer, event, text},
};
use crate::channels::{
    Adapter as _, Receiver as _,
    hub_handle::{HubHandle, Unavailable},
    matrix::{Matrix, scenarios},
    received::{Batch, DropReason, Event, MAX_BATCH, Received, Seen},
    testing::{
        http::{Mock, Reply},
        hub::HubMock,
    },
};
use crate::message::target::Target;

const WHO: Reply = Reply::Says(200, "", r#"{"user_id":"@hub:hub.test","device_id":"D"}"#);
/// How things stand: nobody is anywhere.
const STANDS: Reply = Reply::Says(200, "", r#"{"next_batch":"s1"}"#);
const QUIET: Reply = Reply::Says(200, "", r#"{"next_batch":"s9"}"#);

const TROUBLE: Reply = Reply::Says(500, "", r#"{"errcode":"M_UNKNOWN","error":"Internal"}"#);
const SLOWER: Reply =
    Reply::Says(429, "", r#"{"errcode":"M_LIMIT_EXCEEDED","error":"slow","retry_after_ms":10}"#);

const QUICK: Tempo = Tempo {
    first: Duration::from_millis(5),
    longest: Duration::from_millis(20),
    look: Duration::from_millis(5),
    strangers: Duration::from_millis(200),
};

fn says(body: &Value) -> Reply {
    Reply::Says(200, "", Box::leak(body.to_string().into_boxed_str()))
}

fn account(port: u16, join_from: &[&str]) -> Matrix {
    let join_from = join_from.iter().map(|user| (*user).to_owned()).collect();
    Matrix { receiving: Receiving::new("home", true, join_from, QUICK).unwrap(), ..scenarios::matrix(port) }
}

/// Lets an account listen until `done`, and not for longer than a test may take.
async fn until<T>(matrix: &Matrix, hub: &dyn HubHandle, done: impl Future<Output = T>) -> T {
    let both = async {
        tokio::select! {
            () = matrix.listen(hub) => panic!("it goes on for ever"),
            done = done => done,
        }
    };
    timeout(Duration::from_secs(20), both).await.expect("in time")
}

/// Waits until the homeserver was asked so many times.
async fn asked(mock: &Mock, count: usize) {
    while mock.heard().len() < count {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn keys(received: &[Received]) -> Vec<&str> {
    received.iter().map(|one| one.key.as_str()).collect()
}

#[tokio::test]
async fn the_first_time_it_begins_from_now_on_and_what_was_there_wakes_nobody() {
    let mut stands = answer(&json!([text("$old", "from before")]));
    stands["next_batch"] = "s1".into();
    let mock =
        Mock::start(&[WHO, says(&stands), says(&answer(&json!([text("$new", "now")]))), Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::default());
    let received = until(&matrix, &hub, async {
        let received = hub.received(1).await;
        asked(&mock, 4).await;
        received
    });
    assert_eq!(keys(&received.await), ["$new"]);
    let heard = mock.heard();
    assert!(heard[1].contains("set_presence=offline") && !heard[1].contains("since="), "{}", heard[1]);
    assert!(heard[2].contains("since=s1&timeout=30000"), "{}", heard[2]);
    assert!(heard[3].contains("since=s2&timeout=30000"), "{}", heard[3]);
    assert_eq!(hub.at_position("sync").as_deref(), Some("s2"));
}

#[tokio::test]
async fn an_account_that_does_not_receive_asks_nobody() {
    let mock = Mock::start(&[WHO]);
    let matrix = scenarios::matrix(mock.port);
    timeout(Duration::from_secs(5), matrix.listen(&HubMock::default())).await.unwrap();
    assert!(mock.heard().is_empty());
}

#[tokio::test]
async fn after_a_restart_it_goes_on_where_it_was() {
    let mock = Mock::start(&[WHO, STANDS, QUIET, Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    until(&matrix, &hub, asked(&mock, 4)).await;
    assert!(mock.heard()[2].contains("since=s0&"), "{}", mock.heard()[2]);
    assert_eq!(hub.at_position("sync").as_deref(), Some("s9"));
}

/// Synapse answers a question that it has had two minutes ago as it did then.
#[tokio::test]
async fn how_things_stand_is_never_asked_in_the_same_words() {
    let mut questions = std::collections::HashSet::new();
    for _ in 0..5 {
        let mock = Mock::start(&[WHO, STANDS, Reply::Silent]);
        let (matrix, hub) = (account(mock.port, &[]), HubMock::default());
        until(&matrix, &hub, asked(&mock, 3)).await;
        questions.insert(mock.heard()[1].lines().next().unwrap().to_owned());
    }
    assert!(questions.len() > 2, "{questions:?}");
}

#[tokio::test]
async fn what_the_hub_did_not_write_down_is_asked_again_from_the_same_position() {
    let told = says(&answer(&json!([text("$1", "a")])));
    let mock = Mock::start(&[WHO, STANDS, told, told, told, Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    hub.fail(2);
    let received = until(&matrix, &hub, async {
        let received = hub.received(1).await;
        asked(&mock, 6).await;
        received
    });
    assert_eq!(keys(&received.await), ["$1"]);
    let heard = mock.heard();
    assert!(heard[2..5].iter().all(|request| request.contains("since=s0&")), "{heard:#?}");
    assert!(heard[5].contains("since=s2&"), "{}", heard[5]);
}

#[tokio::test]
async fn a_gap_is_filled_backwards_and_told_in_order() {
    let mut limited = answer(&json!([text("$5", "e"), text("$6", "f")]));
    limited["rooms"]["join"]["!r:hub.test"]["timeline"]["limited"] = true.into();
    let week = |id: &str, day: i64| {
        let mut old = text(id, "x");
        old["origin_server_ts"] = (day * 86_400_000).into();
        old
    };
    let mock = Mock::start(&[
        WHO,
        STANDS,
        says(&limited),
        says(&json!({"chunk": [week("$4", 7), week("$3", 5)], "end": "p2", "start": "p1"})),
        // The pages that are there are not asked for again.
        TROUBLE,
        SLOWER,
        says(&json!({"chunk": [week("$2", 3), "odd", week("$1", 1)], "end": "p3", "start": "p2"})),
        says(&json!({"chunk": [], "start": "p3", "end": "p3"})),
        Reply::Silent,
    ]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    let received = until(&matrix, &hub, hub.received(6)).await;
    assert_eq!(keys(&received), ["$1", "$2", "$3", "$4", "$5", "$6"]);
    assert_eq!(received[0].said_at, Some(86_400_000));
    assert_eq!(hub.dropped()[0].reason, DropReason::Unreadable);
    let heard = mock.heard();
    let page = "GET /_matrix/client/v3/rooms/!r:hub.test/messages?dir=b&from=p1&to=s0&limit=100&";
    assert!(heard[3].starts_with(page), "{}", heard[3]);
    assert!((4..7).all(|at| heard[at].contains("from=p2&to=s0&")), "{heard:#?}");
    assert!(heard[7].contains("from=p3&to=s0&"), "{heard:#?}");
}

#[tokio::test]
async fn a_gap_that_nobody_shows_stops_nothing() {
    const HIDDEN: Reply = Reply::Says(403, "", r#"{"errcode":"M_FORBIDDEN","error":"not in room"}"#);
    let mut limited = answer(&json!([text("$5", "e")]));
    limited["rooms"]["join"]["!r:hub.test"]["timeline"]["limited"] = true.into();
    let limited = says(&limited);
    let mut script = vec![WHO, STANDS];
    // As long as it may be only a passing trouble, the same is asked again.
    let tried = [limited, TROUBLE, TROUBLE, TROUBLE, TROUBLE, TROUBLE, TROUBLE];
    script.extend(tried.repeat(6));
    for script in [vec![WHO, STANDS, limited, HIDDEN, Reply::Silent], [script, vec![Reply::Silent]].concat()]
    {
        let mock = Mock::start(&script);
        let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
        assert_eq!(keys(&until(&matrix, &hub, hub.received(1)).await), ["$5"]);
        assert_eq!(hub.dropped()[0].what, "limited");
        assert!(mock.heard().len() >= script.len() - 1, "{:#?}", mock.heard());
    }
}

#[tokio::test]
async fn a_homeserver_that_answers_at_once_with_another_position_is_asked_some_times_a_second() {
    const OTHER: Reply = Reply::Says(200, "", r#"{"next_batch":"s8"}"#);
    let mock = Mock::start(&[vec![WHO, STANDS], [QUIET, OTHER].repeat(300)].concat());
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    until(&matrix, &hub, tokio::time::sleep(Duration::from_secs(2))).await;
    let asked = mock.heard().len();
    assert!((20..60).contains(&asked), "{asked} times in two seconds");
}

#[tokio::test]
async fn an_unknown_position_begins_anew_and_a_proxys_400_does_not() {
    const UNKNOWN: Reply = Reply::Says(400, "", r#"{"errcode":"M_UNKNOWN","error":"Invalid stream token"}"#);
    const PROXY: Reply = Reply::Says(400, "", "<h1>Bad request</h1>");
    let mock = Mock::start(&[WHO, STANDS, PROXY, UNKNOWN, STANDS, QUIET, Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    until(&matrix, &hub, asked(&mock, 7)).await;
    let heard = mock.heard();
    assert!(heard[3].contains("since=s0&"), "{}", heard[3]);
    assert!(!heard[4].contains("since=") && heard[5].contains("since=s1&"), "{heard:#?}");
    assert_eq!(hub.at_position("sync").as_deref(), Some("s9"));
}

#[tokio::test]
async fn a_refused_token_stops_it_and_says_so() {
    const REFUSED: Reply =
        Reply::Says(401, "", r#"{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid syt_secret"}"#);
    let mock = Mock::start(&[WHO, STANDS, REFUSED, WHO, WHO]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    until(&matrix, &hub, async {
        asked(&mock, 3).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    })
    .await;
    assert_eq!(mock.heard().len(), 3, "it asked on");
    let said = matrix.check_ready().await.unwrap();
    assert!(said.contains("nothing is received") && said.contains("M_UNKNOWN_TOKEN"), "{said}");
    assert!(!said.contains("syt_secret"), "{said}");
}

#[tokio::test]
async fn limits_and_troubles_are_waited_out_and_are_over_afterwards() {
    const LIMITED: Reply = Reply::Says(429, "", r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":150}"#);
    const GATEWAY: Reply = Reply::Says(502, "", "<h1>Bad Gateway</h1>");
    const NO_JSON: Reply = Reply::Says(200, "", "<h1>Hello</h1>");
    let begun = std::time::Instant::now();
    let told = says(&answer(&json!([text("$1", "a")])));
    let mock = Mock::start(&[
        GATEWAY,
        WHO,
        Reply::Close,
        WHO,
        STANDS,
        LIMITED,
        GATEWAY,
        NO_JSON,
        Reply::Close,
        told,
        WHO,
    ]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    let received = until(&matrix, &hub, hub.received(1)).await;
    assert_eq!(keys(&received), ["$1"]);
    assert!(begun.elapsed() >= Duration::from_millis(150), "the limit was not waited out");
    assert!(mock.heard()[5..10].iter().all(|request| request.contains("since=s0&")));
}

#[tokio::test]
async fn an_edit_of_an_older_message_is_believed_after_its_author_is_asked_for() {
    let edit = |id: &str, of: &str| {
        event(
            id,
            "m.room.message",
            json!({"msgtype": "m.text", "body": "* new", "m.new_content": {"body": "new"},
            "m.relates_to": {"rel_type": "m.replace", "event_id": of}}),
        )
    };
    let original = |sender: &str| {
        let relates = json!({"rel_type": "m.thread", "event_id": "$root"});
        says(
            &json!({"type": "m.room.message", "event_id": "$o", "sender": sender, "content": {"body": "old", "m.relates_to": relates}}),
        )
    };
    const GONE: Reply = Reply::Says(404, "", r#"{"errcode":"M_NOT_FOUND","error":"no"}"#);
    let told =
        says(&answer(&json!([edit("$1", "$a"), edit("$2", "$b"), edit("$3", "$c"), edit("$4", "$a")])));
    let mock = Mock::start(&[
        WHO,
        STANDS,
        told,
        original("@ada:hub.test"),
        original("@bob:hub.test"),
        GONE,
        Reply::Silent,
    ]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    let received = until(&matrix, &hub, hub.received(2)).await;
    assert_eq!(keys(&received), ["$1", "$4"]);
    assert_eq!(received[0].conversation.thread.as_deref(), Some("$root"));
    assert_eq!(hub.dropped().len(), 2);
    let heard = mock.heard();
    assert!(heard[3].starts_with("GET /_matrix/client/v3/rooms/!r:hub.test/event/$a "), "{}", heard[3]);
}

#[tokio::test]
async fn a_deletion_is_told_although_the_homeserver_shows_the_message_without_its_words() {
    let redaction = |id: &str, of: &str| event(id, "m.room.redaction", json!({"redacts": of}));
    let pruned =
        |kind: &str| says(&json!({"type": kind, "event_id": "$o", "sender": "@ada:hub.test", "content": {}}));
    let told = says(&answer(&json!([redaction("$1", "$a"), redaction("$2", "$b")])));
    let mock =
        Mock::start(&[WHO, STANDS, told, pruned("m.room.message"), pruned("m.reaction"), Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    let received = until(&matrix, &hub, hub.received(1)).await;
    assert_eq!((&received[0].event, received[0].message_id.as_deref()), (&Event::Delete, Some("$a")));
    assert_eq!((received.len(), hub.dropped().len()), (1, 1));
}

#[tokio::test]
async fn files_are_fetched_with_the_token_and_what_does_not_come_leaves_a_line() {
    let file = |id: &str, url: &str| {
        event(
            id,
            "m.room.message",
            json!({"msgtype": "m.audio", "body": "a.ogg", "url": url,
            "info": {"mimetype": "audio/ogg", "size": 5}, "org.matrix.msc3245.voice": {}}),
        )
    };
    let mut own = file("$4", "mxc://hub.test/mine");
    own["sender"] = "@hub:hub.test".into();
    let told = says(&answer(&json!([
        file("$1", "mxc://hub.test/abc"),
        file("$2", "mxc://hub.test/gone"),
        file("$3", "http://x/"),
        own
    ])));
    let mock = Mock::start(&[
        WHO,
        STANDS,
        told,
        Reply::Says(200, "", "hello"),
        Reply::Says(404, "", "{}"),
        Reply::Silent,
    ]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    let received = until(&matrix, &hub, hub.received(4)).await;
    let words: Vec<_> = received.iter().map(|one| one.event.words().unwrap()).collect();
    assert_eq!((words[0].files.len(), words[0].missing.len(), words[0].text.as_str()), (1, 0, ""));
    assert!(words[0].files[0].voice && words[0].files[0].name == "a.ogg");
    assert!(words[1].files.is_empty() && words[1].missing[0].contains("404"), "{:?}", words[1]);
    assert!(words[2].files.is_empty() && words[2].missing[0].contains("no address"), "{:?}", words[2]);
    assert!(words[3].files.is_empty() && words[3].missing.is_empty(), "{:?}", words[3]);
    assert_eq!(hub.files(), [b"hello"]);
    let heard = mock.heard();
    assert!(heard[3].starts_with("GET /_matrix/client/v1/media/download/hub.test/abc "), "{}", heard[3]);
    assert!(heard[3].contains("authorization: Bearer syt_secret"), "{}", heard[3]);
}

#[tokio::test]
async fn files_of_strangers_that_never_come_keep_nobody_waiting_for_long() {
    let picture = |n: usize| {
        let content = json!({"msgtype": "m.image", "body": "a.png", "url": "mxc://evil.test/a"});
        event(&format!("${n}"), "m.room.message", content)
    };
    let mut all: Vec<Value> = (0..10).map(picture).collect();
    all.push(text("$10", "open the door"));
    all[10]["sender"] = "@ann:hub.test".into();
    let told = answer(&json!(all));
    let mut again = told.clone();
    again["next_batch"] = "s3".into();
    let mock = Mock::start(&[WHO, STANDS, says(&told), Reply::Silent, says(&again), Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    hub.knows_nobody_but("@ann:hub.test");
    let begun = std::time::Instant::now();
    let received = until(&matrix, &hub, async {
        let received = hub.received(11).await;
        hub.is_crowded();
        hub.received(22).await;
        received
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let line = |n: usize| received[n].event.words().unwrap().missing[0].clone();
    assert_eq!(line(0), "a.png: it takes too long");
    assert_eq!(line(9), "a.png: other files took all the time there was");
    assert_eq!(received[10].event.words().unwrap().text, "open the door");
    let asked = mock.heard().iter().filter(|request| request.contains("/media/")).count();
    assert_eq!(asked, 1, "nothing is asked for without time or place");
}

#[tokio::test]
async fn an_invitation_is_told_of_and_accepted_from_who_is_named_alone() {
    let invited = |by: &str| {
        json!({"invite_state": {"events": [{"type": "m.room.member", "state_key": "@hub:hub.test", "sender": by,
            "event_id": "$i", "content": {"membership": "invite"}}]}})
    };
    let told = says(&json!({"next_batch": "s2", "rooms": {"invite": {
        "!a:hub.test": invited("@ada:hub.test"), "!b:hub.test": invited("@mallory:hub.test")}}}));
    const BUSY: Reply = Reply::Says(502, "", "");
    let mock = Mock::start(&[WHO, STANDS, told, BUSY, QUIET, Reply::Says(200, "", "{}"), Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &["@ada:hub.test"]), HubMock::at(&[("sync", "s0")]));
    until(&matrix, &hub, asked(&mock, 7)).await;
    let received = hub.received(2).await;
    assert!(received.iter().all(|one| one.event == Event::Join && one.mentions_me), "{received:?}");
    let joins: Vec<String> = mock.heard().into_iter().filter(|request| request.starts_with("POST")).collect();
    let path = "POST /_matrix/client/v3/rooms/!a:hub.test/join ";
    assert!(joins.len() == 2 && joins.iter().all(|join| join.starts_with(path)), "{joins:?}");
}

/// A hub that keeps the batches apart.
#[derive(Default)]
struct Batches(Mutex<Vec<Batch>>);

#[async_trait]
impl HubHandle for Batches {
    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        self.0.lock().unwrap().push(batch);
        Ok(())
    }

    async fn position(&self, _: &str) -> Result<Option<String>, Unavailable> {
        Ok(Some("s0".into()))
    }
}

#[tokio::test]
async fn many_events_are_several_batches_and_the_position_comes_with_the_last() {
    let events: Vec<Value> = (0..450).map(|n| text(&format!("${n}"), "x")).collect();
    let mock = Mock::start(&[WHO, STANDS, says(&answer(&json!(events))), Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), Batches::default());
    until(&matrix, &hub, asked(&mock, 4)).await;
    let batches = hub.0.lock().unwrap();
    assert_eq!(batches.iter().map(|batch| batch.received.len()).sum::<usize>(), 450);
    assert!(batches.iter().all(|batch| batch.received.len() <= MAX_BATCH));
    let with_position: Vec<bool> = batches.iter().map(|batch| !batch.positions.is_empty()).collect();
    assert_eq!(with_position, [false, false, false, false, true]);
}

#[tokio::test]
async fn writing_and_having_read_are_shown_in_the_room() {
    let mock = Mock::start(&[WHO, Reply::Says(200, "", "{}"), Reply::Says(200, "", "{}")]);
    let matrix = account(mock.port, &[]);
    let room = Target { channel: "matrix".into(), address: "!r:hub.test".into(), thread: None };
    matrix.show_typing(&room).await;
    matrix.mark_read(&room, "$e").await;
    let heard = mock.heard();
    assert!(
        heard[1].starts_with("PUT /_matrix/client/v3/rooms/!r:hub.test/typing/@hub:hub.test "),
        "{}",
        heard[1]
    );
    assert!(heard[1].ends_with(r#"{"timeout":10000,"typing":true}"#), "{}", heard[1]);
    assert!(
        heard[2].starts_with("POST /_matrix/client/v3/rooms/!r:hub.test/receipt/m.read/$e "),
        "{}",
        heard[2]
    );
}

#[test]
fn whose_invitations_are_accepted_is_a_user() {
    for wrong in ["ann", "!room:hub.test", "@ann", "#a:b", ""] {
        let refused = Receiving::new("home", true, vec![wrong.into()], QUICK).err().unwrap();
        assert!(refused.contains("join_invites_from"), "{refused}");
    }
}

#[tokio::test]
async fn what_people_have_read_is_told_and_costs_no_write() {
    let receipt = |ids: Value| {
        json!({"next_batch": "s2", "rooms": {"join": {"!r:hub.test": {"ephemeral": {"events": [
            {"type": "m.typing", "content": {"user_ids": ["@ada:hub.test"]}},
            {"type": "m.receipt", "content": ids},
        ]}}}}})
    };
    let read = receipt(json!({
        "$ours": {"m.read": {"@ada:hub.test": {"ts": 1_436_451_550_453_i64, "thread_id": "main"}}},
        "$own": {"m.read": {"@hub:hub.test": {"ts": 5}}},
        "$fully": {"m.read.private": {"@ada:hub.test": {"ts": 5}}},
        "$broken": {"m.read": 5},
    }));
    let mock = Mock::start(&[WHO, STANDS, says(&read), says(&receipt(json!([[]]))), QUIET, Reply::Silent]);
    let (matrix, hub) = (account(mock.port, &[]), HubMock::at(&[("sync", "s0")]));
    until(&matrix, &hub, async {
        asked(&mock, 4).await;
        assert_eq!(hub.at_position("sync").as_deref(), Some("s0"));
        asked(&mock, 6).await;
    })
    .await;
    let by = vec!["!r:hub.test".to_owned(), "@ada:hub.test".to_owned()];
    let seen =
        Seen { by, ids: vec!["$ours".into()], and_before: false, read: true, at: Some(1_436_451_550_453) };
    assert_eq!(hub.seen_so_far(), [seen]);
    assert!(mock.heard()[3].contains("since=s2&"), "{}", mock.heard()[3]);
    assert_eq!(hub.at_position("sync").as_deref(), Some("s9"));
}
