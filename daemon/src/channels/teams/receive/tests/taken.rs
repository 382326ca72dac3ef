//! What becomes of activities at a hub: rows, files, and the answer to Teams.

use std::time::Duration;

use serde_json::{Value, json};

use super::{in_channel, message};
use crate::{
    channels::{
        Adapter, Receiver as _,
        callback::CallbackRefused,
        received::{Event, Received, Seen, Words},
        teams::{Teams, receive::Reception, scenarios},
        testing::{
            http::{Mock, Reply, body},
            hub::HubMock,
        },
    },
    message::target::Target,
};

const GRANTED: Reply =
    Reply::Says(200, "", r#"{"token_type":"Bearer","expires_in":86399,"access_token":"a.granted.jwt"}"#);
const NO: Reply = Reply::Says(403, "", "hush");

fn hearing(port: u16) -> Teams {
    Teams { reception: Some(Reception::new("work")), ..scenarios::bot(port) }
}

async fn take(teams: &Teams, hub: &HubMock, activity: &Value) -> Result<(), CallbackRefused> {
    teams.reception.as_ref().unwrap().take(&teams.client, hub, activity).await
}

async fn heard(teams: &Teams, activity: &Value) -> Received {
    let hub = HubMock::default();
    take(teams, &hub, activity).await.unwrap();
    hub.received(1).await.remove(0)
}

async fn words(teams: &Teams, activity: &Value) -> Words {
    heard(teams, activity).await.event.words().unwrap().clone()
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_acknowledged_and_the_account_says_so() {
    let mock = Mock::start(&[GRANTED]);
    let (teams, hub) = (hearing(mock.port), HubMock::default());
    assert!(teams.check_ready().await.unwrap().contains("nothing has come since the hub's start"));
    hub.fail(1);
    assert_eq!(take(&teams, &hub, &message(json!({}))).await, Err(CallbackRefused::Unwritten));
    let standing = teams.check_ready().await.unwrap();
    assert!(standing.starts_with("app app-1; nothing is received since 20"), "{standing}");
    assert_eq!(take(&teams, &hub, &message(json!({}))).await, Ok(()));
    assert_eq!(hub.received(1).await.len(), 1);
    let standing = teams.check_ready().await.unwrap();
    assert!(
        standing.contains("/v1/platform/teams/work, last at 20") && standing.contains("is lost"),
        "{standing}"
    );
    // What is of no use is counted, and acknowledged too.
    assert_eq!(take(&teams, &hub, &message(json!({"type": "typing"}))).await, Ok(()));
    assert_eq!(hub.dropped().len(), 1);
}

/// What a person has read of the bot's, with these members in the place of its own.
fn read_receipt(more: Value) -> Value {
    let mut activity = message(json!({
        "type": "event", "name": "application/vnd.microsoft.readReceipt", "id": "f:1", "text": null,
        "value": {"lastReadMessageId": "1700000000009"},
    }));
    for (name, value) in more.as_object().unwrap() {
        activity[name] = value.clone();
    }
    activity
}

#[tokio::test]
async fn what_a_person_has_read_in_their_own_conversation_is_seen_with_all_before_it() {
    let (teams, hub) = (hearing(1), HubMock::default());
    take(&teams, &hub, &read_receipt(json!({}))).await.unwrap();
    let seen = Seen {
        by: vec!["a:1abcdef".into()],
        ids: vec!["1700000000009".into()],
        and_before: true,
        read: true,
        at: Some(1_772_366_400_500),
    };
    assert_eq!(hub.seen_so_far(), [seen]);
    let group = json!({"id": "19:abc@thread.v2", "conversationType": "groupChat"});
    for (more, what) in [
        (json!({"conversation": group}), "readReceipt of several"),
        (json!({"from": {"id": "28:other"}}), "readReceipt of a program"),
        (json!({"from": null}), "readReceipt of a program"),
        (json!({"conversation": {"id": "29:x"}}), "readReceipt"),
        (json!({"value": {}}), "readReceipt"),
        (json!({"value": {"lastReadMessageId": "17000000000091234567"}}), "readReceipt"),
        (json!({"value": {"lastReadMessageId": "-1"}}), "readReceipt"),
        (json!({"name": "application/vnd.microsoft.meetingStart"}), "event"),
    ] {
        take(&teams, &hub, &read_receipt(more)).await.unwrap();
        assert_eq!(hub.dropped().last().unwrap().what, what);
    }
    assert_eq!(hub.seen_so_far().len(), 1);
    assert_eq!(hub.dropped().len(), 8);
}

#[tokio::test]
async fn in_a_thread_that_the_bot_began_each_message_answers_it() {
    let (teams, hub) = (hearing(1), HubMock::default());
    take(&teams, &hub, &in_channel(json!({"entities": []}))).await.unwrap();
    hub.has_sent("1700000000000");
    take(&teams, &hub, &in_channel(json!({"entities": [], "id": "1700000000002"}))).await.unwrap();
    let replies: Vec<Option<bool>> = hub
        .received(2)
        .await
        .iter()
        .map(|one| one.event.words().unwrap().reply_to.as_ref().map(|reply| reply.mine))
        .collect();
    assert_eq!(replies, [None, Some(true)]);
}

/// A file of somebody's conversation, and a picture in a message, which are at these addresses.
fn with_files(file: &str, picture: &str) -> Value {
    message(json!({"attachments": [
        {"contentType": "application/vnd.microsoft.teams.file.download.info", "name": "plan.txt",
         "content": {"downloadUrl": file, "uniqueId": "u", "fileType": "txt"}},
        {"contentType": "image/*", "contentUrl": picture},
    ]}))
}

#[tokio::test]
async fn a_file_is_fetched_without_the_bots_token_and_a_picture_with_it() {
    let mock = Mock::start(&[Reply::Says(200, "", "the plan"), GRANTED, Reply::Says(200, "", "a picture")]);
    let (teams, hub) = (hearing(mock.port), HubMock::default());
    let here = format!("http://127.0.0.1:{}", mock.port);
    let activity = with_files(
        &format!("{here}/drive?tempauth=1"),
        &format!("{here}/teams/v3/attachments/0/views/original"),
    );
    take(&teams, &hub, &activity).await.unwrap();
    let received = hub.received(1).await;
    let words = received[0].event.words().unwrap();
    let names: Vec<&str> = words.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((names, &words.missing), (vec!["plan.txt", "picture"], &vec![]));
    assert_eq!(hub.files(), [b"the plan".to_vec(), b"a picture".to_vec()]);
    let asked = mock.heard();
    assert!(
        asked[0].starts_with("GET /drive?tempauth=1 ") && !asked[0].to_lowercase().contains("authorization"),
        "{}",
        asked[0]
    );
    assert!(asked[2].to_lowercase().contains("authorization: bearer a.granted.jwt"), "{}", asked[2]);
}

#[tokio::test]
async fn a_hub_that_stops_writes_the_words_down_without_the_file_that_is_being_fetched() {
    let mock = Mock::start(&[Reply::Silent]);
    let (teams, hub) = (hearing(mock.port), HubMock::default());
    let here = format!("http://127.0.0.1:{}/drive", mock.port);
    let activity = with_files(&here, &here);
    let stops = async {
        while mock.heard().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        hub.stop();
    };
    let ended = async { tokio::join!(take(&teams, &hub, &activity), stops).0 };
    let taken = tokio::time::timeout(Duration::from_secs(5), ended).await;
    assert_eq!(taken.expect("it waits for the file"), Ok(()));
    let words = hub.received(1).await[0].event.words().unwrap().clone();
    assert_eq!((words.text.as_str(), words.files.len(), words.missing.len()), ("Is the oven on?", 0, 2));
    assert_eq!(words.missing[0], "plan.txt: the hub stopped meanwhile");
}

#[tokio::test]
async fn a_message_goes_without_its_files_where_strangers_files_have_all_the_places() {
    let (teams, hub) = (hearing(1), HubMock::default());
    hub.is_crowded();
    take(&teams, &hub, &with_files("http://127.0.0.1:1/x", "http://127.0.0.1:1/y")).await.unwrap();
    let words = hub.received(1).await[0].event.words().unwrap().clone();
    assert!(words.text == "Is the oven on?" && words.missing.len() == 2, "{words:?}");
    assert!(words.missing[0].starts_with("plan.txt: too many files"), "{words:?}");
}

#[tokio::test]
async fn nobody_but_onedrive_and_the_accounts_own_service_is_asked_and_the_message_goes_without() {
    let (mock, other) = (Mock::start(&[NO]), Mock::start(&[NO]));
    let teams = hearing(mock.port);
    let elsewhere = format!("http://127.0.0.1:{}/v3/attachments/0", other.port);
    for (file, picture) in [
        ("https://evil.test/plan", elsewhere.as_str()),
        ("https://c.sharepoint.com.evil.test/plan", "https://smba.trafficmanager.net.evil.test/x"),
        ("file:///etc/passwd", "https://evil.test/x"),
        ("", "data:image/png;base64,AAAA"),
    ] {
        let words = words(&teams, &with_files(file, picture)).await;
        assert_eq!((words.text.as_str(), words.files.len()), ("Is the oven on?", 0));
        assert!(
            words.missing.len() == 2 && words.missing.iter().all(|why| why.contains("no address of")),
            "{words:?}"
        );
    }
    assert!(mock.heard().is_empty() && other.heard().is_empty());
    let refused =
        words(&teams, &with_files(&format!("http://127.0.0.1:{}/x", mock.port), "https://evil.test/x")).await;
    assert_eq!(refused.missing[0], "plan.txt: Microsoft answered 403");
}

#[tokio::test]
async fn nothing_is_fetched_for_programs_and_files_of_an_edit_are_those_of_the_message() {
    let mock = Mock::start(&[NO]);
    let teams = hearing(mock.port);
    let here = format!("http://127.0.0.1:{}/x", mock.port);
    let mut activity = with_files(&here, &here);
    activity["from"] = json!({"id": "28:other"});
    heard(&teams, &activity).await;
    activity = with_files(&here, &here);
    (activity["type"], activity["channelData"]) =
        (json!("messageUpdate"), json!({"eventType": "editMessage"}));
    assert!(matches!(heard(&teams, &activity).await.event, Event::Edit(words) if words.files.is_empty()));
    assert!(mock.heard().is_empty());
}

#[tokio::test]
async fn an_account_that_receives_shows_that_it_writes_in_the_thread_it_answers() {
    let mock = Mock::start(&[GRANTED, Reply::Says(201, "", r#"{"id":"1"}"#)]);
    let teams = hearing(mock.port);
    assert!(teams.typing_lasts().is_some() && scenarios::bot(1).typing_lasts().is_none());
    let (channel, address) = ("teams".to_owned(), "19:abc@thread.tacv2".to_owned());
    let thread = Target { channel, address, thread: Some("17".into()) };
    teams.show_typing(&thread).await;
    let asked = mock.heard();
    assert!(
        asked[1].starts_with("POST /teams/v3/conversations/19:abc@thread.tacv2;messageid=17/activities "),
        "{}",
        asked[1]
    );
    assert_eq!(body(&asked[1]), json!({"type": "typing"}));
    scenarios::bot(1).show_typing(&thread).await;
}
