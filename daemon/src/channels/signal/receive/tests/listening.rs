//! The loop, at a signal-cli on loopback.

use std::{future::Future, time::Duration};

use serde_json::{Value, json};

use super::{
    super::{Listener, Tempo, frames::MAX_EVENT},
    kinds::{ANNA, GROUP, NUMBER, envelope, message},
    mock::{SignalMock, Step, params, to_anna},
};
use crate::{
    channels::{
        Adapter as _, Receiver as _,
        received::{DropReason, Received, Seen},
        signal::{Signal, scenarios},
        testing::{hub::HubMock, sample::Files},
    },
    message::target::Target,
};

const BRISK: Tempo = Tempo {
    silence: Duration::from_millis(400),
    first: Duration::from_millis(10),
    longest: Duration::from_millis(40),
};

fn at(mock: &SignalMock) -> Signal {
    Signal { listener: Some(Listener::new("home", BRISK)), ..scenarios::signal(mock.port, &Files::new()) }
}

/// Listens while something is done.
async fn listening<T>(signal: &Signal, hub: &HubMock, test: impl Future<Output = T>) -> T {
    tokio::select! {
        () = signal.listen(hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    }
}

fn text(at: i64) -> Value {
    message(at, &json!({ "message": format!("word{at}") }))
}

fn texts(received: &[Received]) -> Vec<&str> {
    received.iter().map(|one| one.event.words().map_or("-", |words| words.text.as_str())).collect()
}

async fn until(so: impl Fn() -> bool) {
    while !so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_stream_of_the_account_is_read_and_what_came_is_written_down() {
    let mock = SignalMock::start().await;
    mock.platform.tell([text(1), text(2)]);
    let hub = HubMock::default();
    let signal = at(&mock);
    let received = listening(&signal, &hub, async {
        hub.received(2).await;
        mock.platform.tell([text(3)]);
        hub.received(3).await
    })
    .await;
    assert_eq!(texts(&received), ["word1", "word2", "word3"]);
    let streams = mock.platform.state().streams.clone();
    assert_eq!(streams, [("account=%2B4915112345678".to_owned(), None)]);
    assert_eq!(hub.at_position("events"), None, "a release has no ids");
    assert_eq!(signal.listener.unwrap().trouble(), None);
}

#[tokio::test]
async fn nothing_more_is_read_and_no_id_is_named_before_the_rows_are_on_disk() {
    let mock = SignalMock::start().await;
    mock.platform.state().has_ids = true;
    mock.platform.tell([text(1), text(2), text(3)]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    hub.fail(3);
    let received = listening(&signal, &hub, async {
        let received = hub.received(3).await;
        mock.platform.state().steps.push(Step::Ends);
        mock.platform.until(|told| (told.streams.len() > 1).then_some(())).await;
        received
    })
    .await;
    assert_eq!(texts(&received), ["word1", "word2", "word3"]);
    assert_eq!(hub.at_position("events").as_deref(), Some("run-3"));
    assert_eq!(mock.platform.state().streams[1].1.as_deref(), Some("run-3"));
}

#[tokio::test]
async fn a_restart_goes_on_behind_the_last_row_and_an_unknown_id_repeats_all() {
    let mock = SignalMock::start().await;
    mock.platform.state().has_ids = true;
    mock.platform.tell([text(1), text(2), text(3)]);
    let hub = HubMock::at(&[("events", "run-2")]);
    let received = listening(&at(&mock), &hub, hub.received(1)).await;
    assert_eq!(texts(&received), ["word3"]);
    assert_eq!(mock.platform.state().streams[0].1.as_deref(), Some("run-2"));
    // Of another run of signal-cli's: the hub knows what it has by its keys.
    let hub = HubMock::at(&[("events", "1700000000000-9")]);
    let received = listening(&at(&mock), &hub, hub.received(3)).await;
    let keys: std::collections::BTreeSet<_> = received.iter().map(|one| one.key.clone()).collect();
    assert_eq!((texts(&received), keys.len()), (vec!["word1", "word2", "word3"], 3));
    assert_eq!(hub.at_position("events").as_deref(), Some("run-3"));
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_is_silent_is_opened_again_and_nothing_comes_twice() {
    let mock = SignalMock::start().await;
    {
        let mut state = mock.platform.state();
        state.has_ids = true;
        let steps =
            [Step::Tells(text(1)), Step::Ends, Step::Tells(text(2)), Step::Hushes, Step::Tells(text(3))];
        state.steps.extend(steps);
        state.instead.extend([(500, ""), (429, ""), (200, "{}")]);
    }
    let (hub, signal) = (HubMock::default(), at(&mock));
    let received = listening(&signal, &hub, async {
        // Its position is behind the event, and the end comes again with it.
        hub.received(1).await;
        mock.platform.state().steps.remove(1);
        hub.received(2).await;
        until(|| signal.listener.as_ref().unwrap().trouble().is_some()).await;
        let trouble = signal.listener.as_ref().unwrap().trouble().unwrap();
        assert!(
            trouble.starts_with("nothing is received since ")
                && trouble.ends_with("nothing was heard for 0 s"),
            "{trouble}"
        );
        assert!(signal.check_ready().await.unwrap().ends_with(&trouble), "and who asks is told");
        mock.platform.state().steps.remove(2);
        hub.received(3).await
    })
    .await;
    assert_eq!(texts(&received), ["word1", "word2", "word3"]);
    assert!(mock.platform.state().streams.len() >= 6, "three refusals, an end, a silence");
}

#[tokio::test]
async fn what_cannot_be_read_is_counted_and_the_next_message_comes() {
    let mock = SignalMock::start().await;
    mock.platform.state().has_ids = true;
    let too_long =
        [b"id:run-2\nevent:receive\ndata:".as_slice(), &vec![b'x'; MAX_EVENT + 1], b"\n\n"].concat();
    let deep = format!("data:{}\n\n", "[".repeat(10_000));
    mock.platform.state().steps.extend([
        Step::Says(b"event:receive\ndata:{\"envelope\n\n".to_vec()),
        Step::Says(too_long),
        Step::Says(deep.into_bytes()),
        Step::Says(b"event:tomorrow\ndata:{}\n\n".to_vec()),
        Step::Says(vec![0xff, b'\n', b'\n', b'\0', b'\n']),
        Step::Tells(envelope(5, &json!({"typingMessage": {"action": "STARTED"}}))),
        Step::Tells(text(6)),
        Step::Tells(message(7, &json!({"message": "x".repeat(2_000_000)}))),
    ]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    let received = listening(&signal, &hub, hub.received(2)).await;
    assert_eq!(received[0].message_id, Some(format!("{ANNA}/6")));
    assert!(received[1].event.words().unwrap().truncated);
    let dropped: Vec<_> = hub.dropped().into_iter().map(|one| (one.reason, one.what)).collect();
    let unreadable = |what: &str| (DropReason::Unreadable, what.to_owned());
    let not_used = |what: &str| (DropReason::NotUsed, what.to_owned());
    assert_eq!(
        dropped,
        [
            unreadable("event"),
            unreadable("event that is too long"),
            unreadable("event"),
            not_used("tomorrow"),
            not_used("typingMessage"),
        ]
    );
}

#[tokio::test]
async fn what_is_nobodys_words_is_written_down_with_the_next_keepalive() {
    let mock = SignalMock::start().await;
    mock.platform.state().has_ids = true;
    mock.platform.tell((0..120).map(|at| envelope(at + 1, &json!({"receiptMessage": {"when": at}}))));
    let (hub, signal) = (HubMock::default(), at(&mock));
    listening(&signal, &hub, until(|| hub.dropped().len() == 120)).await;
    assert_eq!(hub.at_position("events").as_deref(), Some("run-120"));
}

#[tokio::test]
async fn what_people_got_and_read_is_told_and_is_no_message() {
    let mock = SignalMock::start().await;
    mock.platform.state().has_ids = true;
    let receipt = |at: i64, read: bool| {
        let seen = json!({"when": at, "isDelivery": !read, "isRead": read, "isViewed": false, "timestamps": [3, 4, "x"]});
        envelope(at, &json!({ "receiptMessage": seen }))
    };
    mock.platform.tell([receipt(5, false), receipt(6, true), message(7, &json!({"message": "Thanks"}))]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    listening(&signal, &hub, hub.received(1)).await;
    let by = vec![ANNA.to_owned(), "+4915112345679".to_owned()];
    let seen = |at: i64, read| Seen {
        by: by.clone(),
        ids: vec!["3".into(), "4".into()],
        and_before: false,
        read,
        at: Some(at + 40),
    };
    assert_eq!(hub.seen_so_far(), [seen(5, false), seen(6, true)]);
    assert_eq!(hub.dropped(), []);
}

#[tokio::test]
async fn files_are_fetched_and_one_that_cannot_be_had_leaves_a_line() {
    let mock = SignalMock::start().await;
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    mock.platform.state().files.insert("big.bin".into(), large.clone());
    let file =
        |id: &str| json!({"contentType": "image/png", "filename": format!("my {id}"), "id": id, "size": 5});
    let files = json!({"message": "See", "attachments": [file("big.bin"), file("gone.png")],
        "groupInfo": {"groupId": GROUP, "revision": 1, "type": "DELIVER"}});
    mock.platform.tell([message(1, &files)]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    let received = listening(&signal, &hub, hub.received(1)).await;
    let words = received[0].event.words().unwrap();
    assert_eq!((words.files.len(), hub.files()), (1, vec![large]));
    assert_eq!(words.missing, ["my gone.png: signal-cli does not hand it over (error -1)"]);
    assert_eq!(words.files[0].name, "my big.bin");
    // An older program does not say what the group is called.
    assert_eq!(received[0].conversation.title.as_deref(), Some("The house"));
    let calls = mock.platform.state().calls.clone();
    let asked: Vec<_> =
        calls.into_iter().filter(|(method, _)| method == "getAttachment").map(|(_, params)| params).collect();
    assert_eq!(asked[0], params(&json!({"id": "big.bin", "groupId": GROUP})));
}

#[tokio::test]
async fn what_is_done_to_an_edited_message_is_done_to_the_first() {
    let mock = SignalMock::start().await;
    let edit = |at: i64, target: i64| {
        let edited =
            json!({"targetSentTimestamp": target, "dataMessage": {"timestamp": at, "message": "Better"}});
        envelope(at, &json!({ "editMessage": edited }))
    };
    let quote = json!({"id": 3, "authorUuid": ANNA, "text": "Better"});
    mock.platform.tell([
        text(1),
        edit(2, 1),
        edit(3, 2),
        message(4, &json!({"message": "I mean", "quote": quote})),
        message(5, &json!({"remoteDelete": {"timestamp": 3}})),
    ]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    let received = listening(&signal, &hub, hub.received(5)).await;
    let first = format!("{ANNA}/1");
    for index in [0, 1, 2, 4] {
        assert_eq!(received[index].message_id.as_ref(), Some(&first), "{:?}", received[index]);
    }
    assert_eq!(received[3].event.words().unwrap().reply_to.as_ref().unwrap().id, first);
}

#[tokio::test]
async fn who_is_mentioned_is_called_as_the_account_knows_them_and_is_asked_for_once() {
    let mock = SignalMock::start().await;
    let bob = "cccccccc-0000-4000-8000-00000000000c";
    let mention = |at: i64| {
        let mentions =
            json!([{"uuid": bob, "start": 3, "length": 1}, {"uuid": ANNA, "start": 5, "length": 1}]);
        message(at, &json!({"message": "Hi \u{fffc} \u{fffc}", "mentions": mentions}))
    };
    mock.platform.tell([mention(1), mention(2)]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    let received = listening(&signal, &hub, hub.received(2)).await;
    assert_eq!(texts(&received), ["Hi @Bob @Anna", "Hi @Bob @Anna"]);
    let calls = mock.platform.state().calls.clone();
    assert_eq!(calls.iter().filter(|(method, _)| method == "listContacts").count(), 1);
}

#[tokio::test]
async fn a_daemon_that_receives_for_nobody_is_told_of_and_one_that_does_not_is_believed() {
    let mock = SignalMock::start().await;
    mock.platform.state().receives = true;
    let (hub, signal) = (HubMock::default(), at(&mock));
    let listener = signal.listener.as_ref().unwrap();
    listening(&signal, &hub, until(|| hub.at_position("mode").is_some())).await;
    assert_eq!(hub.at_position("mode").as_deref(), Some("on-start"));
    let said = signal.check_ready().await.unwrap();
    assert!(said.contains("is lost: start signal-cli's daemon with --receive-mode=on-connection"), "{said}");
    // It is started as the guide has it.
    mock.platform.state().receives = false;
    listening(&signal, &hub, until(|| hub.at_position("mode").as_deref() == Some("on-connection"))).await;
    assert_eq!(listener.trouble(), None);
    // After a restart of the hub it believes for a while that the hub listens still.
    mock.platform.state().receives = true;
    let again = at(&mock);
    listening(&again, &hub, mock.platform.until(|told| (told.streams.len() > 2).then_some(()))).await;
    assert_eq!(
        (again.listener.unwrap().trouble(), hub.at_position("mode").as_deref()),
        (None, Some("on-connection"))
    );
    let asked: Vec<_> = mock
        .platform
        .state()
        .calls
        .iter()
        .filter(|(method, _)| method == "receive")
        .map(|(_, params)| params.clone())
        .collect();
    assert_eq!(asked[0], json!({"account": NUMBER, "timeout": 0, "maxMessages": 0}), "it takes nothing");
}

#[tokio::test]
async fn nothing_is_read_from_a_daemon_that_serves_one_account_or_has_another() {
    let mock = SignalMock::start().await;
    mock.platform.state().for_one = true;
    let (hub, signal) = (HubMock::default(), at(&mock));
    signal.client.forget();
    let trouble = || signal.listener.as_ref().unwrap().trouble();
    listening(&signal, &hub, until(|| trouble().is_some())).await;
    assert!(trouble().unwrap().contains("start its daemon without -a"), "{:?}", trouble());
    assert_eq!(mock.platform.state().streams.len(), 0);
    mock.platform.state().for_one = false;
    mock.platform.state().instead.extend([(400, ""); 100]);
    let words = "signal-cli has no account +4915112345678";
    listening(&signal, &hub, until(|| trouble().is_some_and(|why| why.contains(words)))).await;
}

#[tokio::test]
async fn others_see_that_the_account_writes_and_has_read() {
    let mock = SignalMock::start().await;
    let signal = at(&mock);
    let target = |address: &str| Target { channel: "signal".into(), address: address.into(), thread: None };
    signal.show_typing(&target(ANNA)).await;
    let group = format!("group:{GROUP}");
    signal.show_typing(&target(&group)).await;
    signal.mark_read(&target(&group), &format!("{ANNA}/5")).await;
    // The account's own, and none.
    signal.mark_read(&target(ANNA), "5").await;
    signal.mark_read(&target(ANNA), "x").await;
    let read = params(&json!({"recipient": ANNA, "targetTimestamp": [5], "type": "read"}));
    let calls: Vec<_> = mock.platform.state().calls.clone();
    let expected = [
        ("sendTyping".to_owned(), to_anna()),
        ("sendTyping".to_owned(), params(&json!({ "groupId": [GROUP] }))),
        ("sendReceipt".to_owned(), read),
    ];
    assert_eq!((calls, signal.typing_lasts()), (expected.to_vec(), Some(Duration::from_secs(15))));
}

#[tokio::test]
async fn an_account_that_does_not_receive_listens_to_nothing() {
    let mock = SignalMock::start().await;
    mock.platform.tell([text(1)]);
    let signal = Signal { listener: None, ..at(&mock) };
    signal.listen(&HubMock::default()).await;
    let told = mock.platform.state();
    assert_eq!((told.streams.len(), told.calls.len()), (0, 1), "but for its version");
}

#[tokio::test]
async fn what_a_release_tells_once_is_written_down_before_the_account_stops_listening() {
    let mock = SignalMock::start().await;
    mock.platform.state().hangs = true;
    let file = json!({"contentType": "text/plain", "filename": "a.txt", "id": "f", "size": 4});
    let slow = message(2, &json!({"message": "word2", "attachments": [file]}));
    mock.platform.tell([text(1), slow.clone(), text(3), slow]);
    let (hub, signal) = (HubMock::default(), at(&mock));
    let leaves = async {
        let asked = |(method, _): &(String, Value)| method == "getAttachment";
        mock.platform.until(|told| told.calls.iter().any(asked).then_some(())).await;
        // It comes while the file is waited for.
        mock.platform.tell([text(5)]);
        signal.leave().await;
        hub.received(5).await
    };
    let (received, ()) =
        tokio::time::timeout(Duration::from_secs(5), async { tokio::join!(leaves, signal.listen(&hub)) })
            .await
            .expect("it stops within the time that it is given");
    assert_eq!(texts(&received), ["word1", "word2", "word3", "word2", "word5"]);
    let missing = received[1].event.words().unwrap().missing.clone();
    assert_eq!(missing, ["a.txt: the hub stopped listening meanwhile"]);
}

#[tokio::test]
async fn an_account_that_has_nothing_to_write_stops_within_seconds() {
    let mock = SignalMock::start().await;
    let (hub, signal) = (HubMock::default(), at(&mock));
    let leaves = async {
        mock.platform.until(|told| told.streams.first().map(|_| ())).await;
        signal.leave().await;
    };
    let stops = async { tokio::join!(leaves, signal.listen(&hub)) };
    // This double says all the time that it is there: who leaves reads on for the longest time that there is.
    tokio::time::timeout(Duration::from_secs(5), stops).await.expect("it stops");
}
