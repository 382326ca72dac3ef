//! The loop, at a BlueBubbles server on loopback, and the door of its webhooks.

use std::{future::Future, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::mac::{ANNA, CHAT, Kept, Mac, PASSWORD, Told, numbered, said, with};
use crate::{
    channels::{
        Receiver as _,
        callback::CallbackRefused,
        imessage::{
            Bridge, IMessage,
            bluebubbles::Server,
            receive::{Listener, Tempo},
        },
        kit::{http::base::Base, polling},
        received::{Event, Received, not_used, unreadable},
        testing::{http::http, hub::HubMock, sample::Files},
    },
    message::target::Target,
    settings::secret::Secret,
};

const BRISK: Tempo = Tempo {
    asking: polling::Tempo {
        each: Duration::from_millis(20),
        settling: Duration::from_millis(1),
        first: Duration::from_millis(10),
        longest: Duration::from_millis(30),
        refused: Duration::from_millis(30),
    },
    late: Duration::ZERO,
    files: Duration::from_mins(3),
    strangers: Duration::from_secs(10),
    arriving: Duration::from_millis(1),
};
/// One that asks once, and then only if it is told to.
const PATIENT: Tempo = each(Duration::from_mins(10));

const fn each(each: Duration) -> Tempo {
    Tempo { asking: polling::Tempo { each, ..BRISK.asking }, ..BRISK }
}

fn at(mac: &Mac, tempo: Tempo, files: &Files) -> IMessage {
    let url = Base::parse("url", &format!("http://127.0.0.1:{}", mac.port)).unwrap();
    let server = Server::hasty(http(), url, Secret::from(PASSWORD));
    IMessage {
        bridge: Bridge::Server { server, private: true },
        kept: files.kept(),
        listener: Some(Listener::new("BlueBubbles", "mac", tempo)),
        webhook: Some(Secret::from("hook_secret").into()),
    }
}

/// Listens while something is done.
async fn listening<T>(imessage: &IMessage, hub: &HubMock, test: impl Future<Output = T>) -> T {
    tokio::select! {
        () = imessage.listen(hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    }
}

fn now() -> i64 {
    crate::clock::now_ms()
}

fn words(received: &[Received]) -> Vec<String> {
    let said = |one: &Received| match &one.event {
        Event::Message(words) => words.text.clone(),
        Event::Edit(words) => format!("edit {}", words.text),
        event => event.word().to_owned(),
    };
    received.iter().map(said).collect()
}

fn row_of(hub: &HubMock) -> Option<i64> {
    hub.at_position("rows").map(|row| row.parse().unwrap())
}

async fn until(so: impl Fn() -> bool) {
    while !so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// One that has read up to this row.
fn read_to(row: i64) -> HubMock {
    HubMock::at(&[("rows", &row.to_string()), ("began", "0"), ("changes", &now().to_string())])
}

const QUERY: &str = "/api/v1/message/query";

#[tokio::test]
async fn a_new_account_hears_what_comes_from_now_on_and_a_webhook_makes_it_ask_at_once() {
    let (mac, hub, files) = (Mac::start().await, HubMock::default(), Files::new());
    mac.gets(41, said("before", now() - 2));
    let imessage = at(&mac, PATIENT, &files);
    let proof = format!("Basic {}", STANDARD.encode("hub:hook_secret"));
    let received = listening(&imessage, &hub, async {
        until(|| row_of(&hub) == Some(41) && mac.asked(QUERY) >= 5).await;
        mac.gets(42, said("after", now()));
        for (proof, body, is) in [
            (proof.as_str(), "{\"type\":\"hello-world\"}", Ok(())),
            (&proof, "no JSON", Err(CallbackRefused::Body)),
            ("Basic aHViOmh1c2g=", "{\"type\":\"new-message\"}", Err(CallbackRefused::Signature)),
            ("Bearer hook_secret", "{\"type\":\"new-message\"}", Err(CallbackRefused::Signature)),
            ("Basic hook_secret", "{\"type\":\"new-message\"}", Err(CallbackRefused::Signature)),
        ] {
            assert_eq!(
                imessage.read_callback(proof, body.as_bytes(), &hub).await.map(drop),
                is,
                "{proof} {body}"
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(hub.received(0).await.is_empty(), "nobody said so yet");
        imessage.read_callback(&proof, b"{\"type\":\"new-message\",\"data\":{}}", &hub).await.unwrap();
        hub.received(1).await
    })
    .await;
    assert_eq!((words(&received), row_of(&hub)), (vec!["after".into()], Some(42)));
    // Begun again, it looks back a little, and not behind its beginning.
    let again = at(&mac, BRISK, &files);
    listening(&again, &hub, async {
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 6).await;
    })
    .await;
    assert!(words(&hub.received(0).await).iter().all(|words| words == "after"));
    assert!(imessage.listener.as_ref().unwrap().hearing().standing.starts_with("receives"));
}

#[tokio::test]
async fn rows_come_in_the_order_of_their_numbers_whatever_times_their_senders_chose() {
    let (mac, hub, files) = (Mac::start().await, read_to(9), Files::new());
    // Years ahead, years ago, and a row that is of no conversation.
    let times = [now() + 400 * 86_400_000, 1, now(), now() - 86_400_000];
    for n in 0..90_i64 {
        let at = times[usize::try_from(n % 4).unwrap()] + n;
        mac.gets(10 + 3 * n, said(&format!("m{n}"), at));
        mac.gets(11 + 3 * n, with(said("nowhere", at), json!({"chats": []})));
    }
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        let received = hub.received(90).await;
        assert_eq!(words(&received), (0..90).map(|n| format!("m{n}")).collect::<Vec<_>>());
        until(|| row_of(&hub) == Some(10 + 3 * 89)).await;
        // It asks again and again, and hands over what is new alone: the same row again under a new number is not.
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 9).await;
        mac.gets(400, said("new", 5));
        assert_eq!(words(&hub.received(91).await)[90], "new");
    })
    .await;
    assert_eq!(hub.received(0).await.len(), 91);
    let late = hub.received(0).await.iter().filter(|one| one.said_at == Some(5)).count();
    assert_eq!(late, 1, "what says that it is of 1970 is told with its time, and wakes nobody");
}

#[tokio::test]
async fn a_row_that_gets_its_conversation_late_is_not_passed_over() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    mac.gets(2, with(said("late", now()), json!({"chats": []})));
    mac.gets(3, said("first", now()));
    let imessage = at(&mac, PATIENT, &files);
    listening(&imessage, &hub, async {
        until(|| row_of(&hub) == Some(3)).await;
        mac.state().kept[0] = numbered(2, said("late", now())).into();
        imessage.listener.as_ref().unwrap().wake();
        assert_eq!(words(&hub.received(2).await), ["first", "late"]);
    })
    .await;
    assert_eq!(row_of(&hub), Some(3));
}

#[tokio::test]
async fn a_row_that_gets_its_conversation_after_seconds_is_read_however_often_others_are_meanwhile() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    let late = |number: i64| mac.gets(number, with(said("late", now()), json!({"chats": []})));
    let joins = |number: i64| mac.gets(number, said(&format!("late{number}"), now()));
    late(2);
    mac.gets(3, said("first", now()));
    let imessage = at(&mac, Tempo { late: Duration::from_secs(5), ..BRISK }, &files);
    listening(&imessage, &hub, async {
        hub.received(1).await;
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 20).await;
        joins(2);
        assert_eq!(words(&hub.received(2).await), ["first", "late2"]);
        // And one that gets it when the hub has been away meanwhile, however much else came.
        late(4);
        (5..30).for_each(|number| mac.gets(number, said(&format!("other{number}"), now())));
        hub.received(27).await;
    })
    .await;
    assert_eq!(row_of(&hub), Some(29));
    joins(4);
    let again = at(&mac, BRISK, &files);
    let late4 = async { until(|| hub.received_so_far().iter().any(|one| one.key == "late4")).await };
    listening(&again, &hub, late4).await;
}

#[tokio::test]
async fn a_row_that_is_handed_over_without_a_conversation_is_waited_for_and_then_counted_once() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    let nowhere = |number: i64, guid: &str| Kept {
        row: numbered(number, said(guid, now())),
        raw: Some(numbered(number, with(said(guid, now()), json!({"chats": []}))).to_string()),
    };
    mac.state().kept.extend([nowhere(2, "late"), nowhere(3, "never")]);
    // Nor is what has no number, which would be new each time.
    mac.state().kept.push(Kept { raw: Some("{\"text\":\"odd\"}".into()), ..nowhere(4, "odd") });
    mac.gets(5, said("first", now()));
    let imessage = at(&mac, Tempo { late: Duration::from_secs(1), ..BRISK }, &files);
    listening(&imessage, &hub, async {
        hub.received(1).await;
        mac.state().kept[0].raw = None;
        assert_eq!(words(&hub.received(2).await), ["first", "late"]);
        assert_eq!(hub.dropped(), [], "neither is given up yet");
        until(|| !hub.dropped().is_empty()).await;
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 9).await;
    })
    .await;
    assert_eq!(hub.dropped(), [unreadable("conversation")]);
    assert_eq!(row_of(&hub), Some(5));
}

#[tokio::test]
async fn what_cannot_be_written_down_comes_again_and_errors_of_the_server_stop_nothing() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    for (code, said) in [
        (500, "{}"),
        (429, "{}"),
        (401, "{}"),
        (200, "<html>"),
        (200, "{\"data\":5}"),
        (200, "{}"),
        (200, "[]"),
    ] {
        mac.state().instead.push_back((code, said.into()));
    }
    mac.gets(2, said("one", now()));
    hub.fail(2);
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        until(|| mac.state().instead.is_empty()).await;
        assert_eq!(words(&hub.received(1).await), ["one"]);
    })
    .await;
    assert_eq!((row_of(&hub), hub.received(0).await.len()), (Some(2), 1));
}

#[tokio::test]
async fn a_server_that_does_not_say_what_mac_it_is_keeps_nobody_waiting_for_long() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    mac.state().is_mute = true;
    (2..92).for_each(|number| mac.gets(number, said(&format!("m{number}"), now())));
    let (imessage, begun) = (at(&mac, BRISK, &files), std::time::Instant::now());
    listening(&imessage, &hub, async {
        hub.received(90).await;
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        // What it says then holds all the same.
        let edited = json!({"text": "better", "dateEdited": now()});
        mac.gets(91, with(said("m91", now()), edited));
        mac.state().is_mute = false;
        assert_eq!(words(&hub.received(91).await)[90], "edit better");
    })
    .await;
    assert_eq!(mac.asked("/api/v1/server/info"), 1);
}

#[tokio::test]
async fn what_nobody_can_read_is_counted_once_and_passed_over_however_much_of_it_there_is() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    let half = |number: i64| Kept {
        row: numbered(number, said("half", now())),
        raw: Some(format!("{{\"originalROWID\":{number},\"text\":\"\\ud83d\"}}")),
    };
    // More than a page of texts of a megabyte, and of texts that are none, between two that are some.
    mac.gets(2, said("first", now()));
    for n in 0..12 {
        mac.gets(3 + n, with(said(&format!("huge{n}"), now()), json!({"text": "x".repeat(1_100_000)})));
        mac.state().kept.push(half(20 + n));
    }
    mac.gets(50, said("last", now()));
    // And long ones, of which a page is too much while each can be read.
    for n in 0..3 {
        mac.gets(
            60 + n,
            with(said(&format!("long{n}"), now()), json!({"text": format!("{n}{}", "y".repeat(400_000))})),
        );
    }
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        let received = hub.received(5).await;
        let starts: Vec<String> =
            words(&received).iter().map(|words| words.chars().take(5).collect()).collect();
        assert_eq!(starts, ["first", "last", "0yyyy", "1yyyy", "2yyyy"]);
        until(|| row_of(&hub) == Some(62)).await;
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 50).await;
    })
    .await;
    let dropped = hub.dropped();
    assert_eq!(dropped.len(), 24, "{dropped:?}");
    assert!(dropped.iter().all(|one| one.what == "message"));
}

#[tokio::test]
async fn thirty_rows_over_which_the_server_fails_hold_up_nobody_for_longer_than_one() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    mac.gets(2, said("before", now()));
    (3..33).for_each(|number| mac.gets(number, said("bad", now())));
    mac.gets(33, said("behind", now()));
    mac.state().broken = (3..33).collect();
    // Each pause is as long as the two before it together: over a second row of these it would be half a minute.
    let first = Duration::from_millis(400);
    let asking = polling::Tempo { first, longest: Duration::from_mins(1), ..BRISK.asking };
    let imessage = at(&mac, Tempo { asking, ..BRISK }, &files);
    let received = listening(&imessage, &hub, hub.received(2)).await;
    assert_eq!(words(&received), ["before", "behind"]);
    assert_eq!((hub.dropped().len(), row_of(&hub)), (30, Some(33)));
}

#[tokio::test]
async fn a_row_over_which_the_server_fails_is_passed_over_and_none_while_it_fails_over_all() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    let texts = ["before", "bad one", "between", "bad two", "bad three", "behind"];
    for (number, text) in (1..).zip(texts) {
        mac.gets(10 * number, said(text, now()));
    }
    mac.state().broken = (1..7).map(|number| 10 * number).collect();
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        until(|| mac.asked(QUERY) > 200).await;
        assert_eq!((row_of(&hub), hub.dropped().len()), (Some(1), 0), "an ill server loses nothing");
        assert!(imessage.hearing().unwrap().standing.contains("Cannot read properties"));
        mac.state().broken = vec![20, 40, 50];
        assert_eq!(words(&hub.received(3).await), ["before", "between", "behind"]);
        until(|| row_of(&hub) == Some(60)).await;
        // One at the end, too: what was read before it is handed over still.
        mac.gets(70, said("bad four", now()));
        mac.state().broken.push(70);
        until(|| hub.dropped().len() == 4).await;
        mac.gets(80, said("last", now()));
        hub.received(4).await;
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 20).await;
    })
    .await;
    assert_eq!(words(&hub.received(0).await), ["before", "between", "behind", "last"]);
    assert!(hub.dropped().iter().all(|one| one.what == "message") && hub.dropped().len() == 4);
}

#[tokio::test]
async fn files_are_fetched_once_and_one_that_is_not_on_the_mac_yet_is_waited_for() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    mac.state().file = b"hello".to_vec();
    mac.state().no_file.extend([500, 404]);
    let file = |guid: &str| json!({"guid": guid, "transferName": "a.txt", "mimeType": "text/plain", "totalBytes": 5});
    let hidden = with(file("H-1"), json!({"hideAttachment": true}));
    mac.gets(
        2,
        with(said("A-1", now()), json!({"attachments": [file("F-1"), hidden], "isAudioMessage": true})),
    );
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        let received = hub.received(1).await;
        let kept = &received[0].event.words().unwrap().files;
        assert_eq!((kept.len(), kept[0].name.as_str(), kept[0].voice), (1, "a.txt", true));
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 8).await;
        assert_eq!(mac.asked("/api/v1/attachment/F-1/download"), 3, "neither is it fetched again");
        mac.state().no_file.extend([403]);
        mac.gets(3, with(said("A-2", now()), json!({"attachments": [file("F-2")], "text": null})));
        let received = hub.received(2).await;
        let words = received[1].event.words().unwrap();
        assert_eq!(
            (words.files.len(), words.missing.as_slice()),
            (0, &["a.txt: BlueBubbles answered 403".to_owned()][..])
        );
    })
    .await;
    assert_eq!(hub.files(), [b"hello".to_vec()]);
}

#[tokio::test]
async fn files_of_a_stranger_that_never_come_keep_nobody_waiting_for_long() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    hub.knows_nobody_but(ANNA);
    mac.state().file = b"hello".to_vec();
    mac.state().never = "E-".into();
    let file = |guid: String| json!({"guid": guid, "transferName": "a.txt", "mimeType": "text/plain", "totalBytes": 5});
    let eve = json!({"originalROWID": 9, "address": "eve@example.org", "service": "iMessage"});
    for n in 0..12 {
        let attachments: Vec<Value> = (0..16).map(|one| file(format!("E-{n}-{one}"))).collect();
        let members =
            json!({"attachments": attachments, "handle": eve, "chats": [{"guid": "any;-;eve@example.org"}]});
        mac.gets(2 + n, with(said(&format!("eve{n}"), now()), members));
    }
    mac.gets(20, with(said("open the door", now()), json!({"attachments": [file("A-1".into())]})));
    let tempo =
        Tempo { arriving: Duration::from_millis(100), strangers: Duration::from_millis(500), ..BRISK };
    let imessage = at(&mac, tempo, &files);
    let begun = std::time::Instant::now();
    let received = listening(&imessage, &hub, hub.received(13)).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let of = |one: usize| received[one].event.words().unwrap();
    assert_eq!((of(12).text.as_str(), of(12).files.len()), ("open the door", 1));
    assert!(of(11).missing.iter().all(|line| line.contains("took all the time")), "{:?}", of(11).missing);
    // Where others' files have all the places, the words come without.
    hub.is_crowded();
    mac.gets(21, with(said("more", now()), json!({"attachments": [file("A-2".into())]})));
    let received = listening(&imessage, &hub, hub.received(14)).await;
    assert!(received[13].event.words().unwrap().missing[0].contains("ask for it again"));
}

#[tokio::test]
async fn edits_removals_and_what_was_seen_are_told_once_after_a_restart_too() {
    let (mac, files) = (Mac::start().await, Files::new());
    let own = |guid: &str, members: Value| {
        with(with(said(guid, now() - 5_000), json!({"isFromMe": true})), members)
    };
    mac.gets(2, said("A-1", now() - 90_000));
    mac.gets(3, said("A-2", now() - 80_000));
    mac.gets(4, own("M-1", json!({})));
    let hub = read_to(1);
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        hub.received(3).await;
        until(|| row_of(&hub) == Some(4)).await;
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 9).await;
        let edited = now();
        let change = |state: &mut Told| {
            state.kept[0] = numbered(
                2,
                with(said("A-1", now() - 90_000), json!({"text": "better", "dateEdited": edited})),
            )
            .into();
            state.kept[1] =
                numbered(3, with(said("A-2", now() - 80_000), json!({"text": null, "dateEdited": edited})))
                    .into();
            state.kept[2] =
                numbered(4, own("M-1", json!({"dateDelivered": edited, "dateRead": edited}))).into();
        };
        change(&mut mac.state());
        assert_eq!(words(&hub.received(5).await)[3..], ["edit better", "delete"]);
        let asked = mac.asked(QUERY);
        until(|| mac.asked(QUERY) > asked + 9).await;
    })
    .await;
    let seen: Vec<(bool, Vec<String>)> =
        hub.seen_so_far().into_iter().map(|seen| (seen.read, seen.ids)).collect();
    assert_eq!(seen, [(false, vec!["M-1".to_owned()]), (true, vec!["M-1".to_owned()])]);
    assert_eq!(hub.received(0).await.len(), 5);
    // While it was away an edit came to what it had read long before.
    let hub = read_to(4);
    let edited = json!({"text": "best", "dateEdited": now()});
    mac.state().kept[0] = numbered(2, with(said("A-1", now() - 90_000), edited)).into();
    let imessage = at(&mac, BRISK, &files);
    let received = listening(&imessage, &hub, hub.received(1)).await;
    assert!(words(&received).contains(&"edit best".to_owned()), "{received:?}");
}

#[tokio::test]
async fn what_is_older_than_the_account_is_nobodys_and_a_database_that_is_another_one_is_read_from_its_newest()
 {
    let (mac, files) = (Mac::start().await, Files::new());
    let hub = HubMock::at(&[("rows", "900"), ("began", &(now() - 60_000).to_string())]);
    mac.gets(5, said("of another database", now()));
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        until(|| row_of(&hub) == Some(5)).await;
        mac.gets(6, said("from iCloud", now() - 90 * 86_400_000));
        mac.gets(7, said("new", now()));
        assert_eq!(words(&hub.received(1).await), ["new"]);
    })
    .await;
    assert_eq!(
        hub.dropped().iter().map(|one| one.what.as_str()).collect::<Vec<_>>(),
        ["of before the account"]
    );
}

#[tokio::test]
async fn a_clock_that_was_ahead_at_the_beginning_makes_no_words_older_than_the_account() {
    const DAY: i64 = 86_400_000;
    let (mac, files) = (Mac::start().await, Files::new());
    // By an earlier version, which wrote down the hub's clock; it was corrected since.
    let hub = HubMock::at(&[("rows", "40"), ("first", "40"), ("began", &(now() + 3 * DAY).to_string())]);
    mac.gets(40, said("before", now() - 5 * DAY));
    let imessage = at(&mac, BRISK, &files);
    listening(&imessage, &hub, async {
        mac.gets(41, said("the house burns", now() - DAY / 2));
        assert_eq!(words(&hub.received(1).await), ["the house burns"]);
    })
    .await;
    assert!(hub.at_position("began").unwrap().parse::<i64>().unwrap() <= now());
    // What the database holds says when a new account begins: by the clocks of those who write, all of which are behind the hub's.
    let hub = HubMock::default();
    listening(&imessage, &hub, async {
        until(|| row_of(&hub) == Some(41)).await;
        mac.gets(42, said("from iCloud", now() - 3 * DAY));
        mac.gets(43, said("new", now() - DAY));
        assert_eq!(words(&hub.received(1).await), ["new"]);
    })
    .await;
    assert_eq!(hub.dropped(), [not_used("of before the account")]);
    // Nobody moves it by a time that is years away.
    mac.gets(44, said("of the future", now() + 400 * DAY));
    mac.gets(45, said("of long ago", 1));
    let hub = HubMock::default();
    listening(&imessage, &hub, until(|| row_of(&hub) == Some(45))).await;
    let began: i64 = hub.at_position("began").unwrap().parse().unwrap();
    assert!((now() - DAY / 2 - began).abs() < 60_000, "{began}");
}

/// Waits until the number of the newest row was asked for, so many times.
async fn asked_for_the_newest(mac: &Mac, times: usize) {
    let is_it =
        |body: &Value| body["where"][0]["statement"].as_str().is_some_and(|one| one.contains("DESC LIMIT 1"));
    until(|| mac.state().asked.iter().filter(|(_, body)| is_it(body)).count() >= times).await;
}

#[tokio::test]
async fn answers_without_a_row_and_one_with_fewer_forget_no_place() {
    let (mac, hub, files) = (Mac::start().await, read_to(9), Files::new());
    for n in 1..10 {
        mac.gets(n, said(&format!("old{n}"), now() - 40 * 86_400_000));
    }
    let imessage = at(&mac, PATIENT, &files);
    let wake = || imessage.listener.as_ref().unwrap().wake();
    listening(&imessage, &hub, async {
        // What it looks back at after a stop is told once more.
        hub.received(5).await;
        wake();
        until(|| mac.asked(QUERY) >= 5).await;
        let third = format!("{{\"data\":[{}]}}", numbered(3, said("old3", now())));
        for newest in ["{\"data\":[]}"; 4].into_iter().chain([third.as_str()]) {
            let asked = mac.asked(QUERY);
            // Behind the place, the newest, what was changed.
            mac.state().instead.extend([
                (200, "{\"data\":[]}".into()),
                (200, newest.into()),
                (200, "{\"data\":[]}".into()),
            ]);
            wake();
            until(|| mac.state().instead.is_empty() && mac.asked(QUERY) >= asked + 3).await;
        }
        mac.gets(10, said("new", now()));
        wake();
        hub.received(6).await
    })
    .await;
    assert_eq!(words(&hub.received(0).await)[5..], ["new"]);
    assert_eq!((row_of(&hub), hub.at_position("first")), (Some(10), None));
}

#[tokio::test]
async fn what_comes_while_another_database_is_not_believed_yet_is_read_and_nothing_of_before() {
    let (mac, files) = (Mac::start().await, Files::new());
    let began = now() - 60 * 86_400_000;
    let hub = HubMock::at(&[("rows", "900"), ("first", "800"), ("began", &began.to_string())]);
    mac.gets(5, said("of another database", now()));
    let imessage = at(&mac, each(Duration::from_millis(200)), &files);
    let received = listening(&imessage, &hub, async {
        asked_for_the_newest(&mac, 1).await;
        mac.gets(6, said("of last month", now() - 40 * 86_400_000));
        mac.gets(7, said("meanwhile", now()));
        hub.received(1).await
    })
    .await;
    assert_eq!((words(&received), row_of(&hub)), (vec!["meanwhile".to_owned()], Some(7)));
    assert_eq!(hub.at_position("first").as_deref(), Some("5"));
}

#[tokio::test]
async fn who_was_taken_into_a_group_is_known_by_the_number_of_their_handle() {
    let (mac, hub, files) = (Mac::start().await, read_to(1), Files::new());
    let chats = json!([{"guid": "iMessage;+;chat9", "displayName": "Family"}]);
    let action = |kind: i64| json!({"itemType": 1, "groupActionType": kind, "otherHandle": 8, "text": null, "chats": chats});
    mac.gets(2, with(said("A-1", now()), action(0)));
    mac.gets(3, with(said("A-2", now()), action(1)));
    let imessage = at(&mac, BRISK, &files);
    let received = listening(&imessage, &hub, hub.received(2)).await;
    assert_eq!(words(&received), ["join", "leave"]);
    assert!(received.iter().all(|one| one.author.id == "ben@example.org"), "{received:?}");
    assert_eq!(mac.asked("/api/v1/handle/query"), 1);
}

#[tokio::test]
async fn signs_go_to_the_chat_as_the_server_names_it() {
    let (mac, files) = (Mac::start().await, Files::new());
    let imessage = at(&mac, BRISK, &files);
    assert!(imessage.typing_lasts().is_some());
    let anna = Target { channel: "imessage".into(), address: ANNA.into(), thread: None };
    imessage.show_typing(&anna).await;
    imessage.mark_read(&anna, "A-1").await;
    let chat = CHAT.replace(';', "%3B");
    for sign in ["typing", "read"] {
        let asked = mac.state().asked.iter().any(|(path, _)| {
            path.replace(';', "%3B") == format!("/api/v1/chat/{chat}/{sign}")
                || path.ends_with(&format!("/{sign}"))
        });
        assert!(asked, "{sign}");
    }
}
