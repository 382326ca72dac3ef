//! The loop, at a program that stands for `imsg rpc`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use serde_json::{Value, json};

use super::super::{Listener, Tempo, program::read};
use crate::channels::{
    imessage::program::Program,
    kit::polling,
    received::{AuthorKind, Event},
    testing::hub::HubMock,
};

const TEMPO: Tempo = Tempo {
    asking: polling::Tempo { each: Duration::from_mins(10), ..Tempo::USUAL.asking },
    arriving: Duration::from_millis(1),
    ..Tempo::USUAL
};

/// Rows are lines of `rows`, each its number, a blank and the message. It ends when `ends` is there, and says that something came when
/// `wakes` is. Where `odd` is, what it is asked for next is at the end of all numbers. Where `long` is, it tells of a long message before it answers, if it was asked to tell. LONG is such a message.
const SCRIPT: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
long() { printf '{"text":"%s"}' "$(head -c 1100000 /dev/zero | tr '\0' x)"; }
number() { rest=${line#*"\"$1\":"}; printf %s "${rest%%[,\}]*}"; }
told=
echo begun >>starts
( while sleep 0.05; do [ -e wakes ] && rm wakes && printf '{"jsonrpc":"2.0","method":"message","params":{}}\n'; [ -d . ] || exit; done ) &
trap 'kill $!' EXIT
while IFS= read -r line; do
  id=${line#*'"id":'} id=${id%%,*}
  [ -e ends ] && { rm ends; exit 3; }
  case $line in
  *'"status"'*) say '"result":{"version":"0.14.0","methods":["status","messages.after"]}' ;;
  *'"watch.subscribe"'*) told=1; say '"result":{"subscription":1}' ;;
  *'"chats.list"'*) say '"result":{"chats":[{"id":1}]}' ;;
  *'"messages.history"'*) say '"result":{"messages":[{"id":1}]}' ;;
  *'"messages.after"'*)
    [ -n "$told" ] && [ -e long ] && rm long &&
      printf '{"jsonrpc":"2.0","method":"message","params":%s}\n' "$(long)"
    [ -e odd ] && rm odd && { say '"result":{"messages":[],"next_rowid":9223372036854775807,"has_more":true}'; continue; }
    since=$(number since_rowid) limit=$(number limit) all= n=0 last=$since more=false
    while read -r number message; do
      [ "$number" -gt "$since" ] || continue
      [ $n -lt "$limit" ] || { more=true; break; }
      case $message in *LONG*) message=$(long) ;; esac
      n=$((n+1)) last=$number all="$all${all:+,}$message"
    done <rows
    say "\"result\":{\"messages\":[$all],\"next_rowid\":$last,\"has_more\":$more}" ;;
  esac
done
"#;

fn message(number: i64, guid: &str, members: Value) -> Value {
    let mut message = json!({
        "id": number, "chat_id": 3, "guid": guid, "sender": "+4915112345679", "sender_name": "Anna", "is_from_me": false,
        "text": guid, "created_at": jiff::Timestamp::now().to_string(), "attachments": [], "chat_guid": "any;-;+4915112345679",
        "chat_name": "", "destination_caller_id": "+4915112345678",
    });
    message.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    message
}

fn gets(folder: &Path, messages: &[Value]) {
    let lines: Vec<String> = messages.iter().map(|one| format!("{} {one}\n", one["id"])).collect();
    let rows = folder.join("rows");
    fs::write(&rows, fs::read_to_string(&rows).unwrap_or_default() + &lines.concat()).unwrap();
}

/// Something comes, and the program says so.
fn comes(folder: &Path, messages: &[Value]) {
    gets(folder, messages);
    fs::write(folder.join("wakes"), "").unwrap();
}

/// Listens while something is done.
async fn listening<T>(program: &Program, hub: &HubMock, test: impl Future<Output = T>) -> T {
    let listener = Listener::new("imsg", "mac", TEMPO);
    tokio::select! {
        () = listener.listen_to_program(program, hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    }
}

/// Waits until it is read up to this row, and it waits for word, or is about to.
async fn read_to(hub: &HubMock, row: i64) {
    while hub.at_position("rows") != Some(row.to_string()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
}

fn install() -> (tempfile::TempDir, Program) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("imsg");
    fs::write(&path, SCRIPT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    gets(folder.path(), &[message(1, "before", json!({}))]);
    (folder, Program { command: vec![path.display().to_string()], ssh: vec![] })
}

#[tokio::test]
async fn it_hears_from_now_on_at_once_and_a_program_that_ends_is_begun_again_behind_the_last_row() {
    let (folder, program) = install();
    let kept = folder.path().join("Library/Messages/Attachments/0a");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("a.txt"), "hello").unwrap();
    let file = json!({"original_path": kept.join("a.txt"), "transfer_name": "a.txt", "mime_type": "text/plain", "total_bytes": 5});
    let elsewhere = json!({"original_path": folder.path().join("rows"), "transfer_name": "rows"});
    let (hub, listener) = (HubMock::default(), Listener::new("imsg", "mac", TEMPO));
    let test = async {
        while hub.at_position("rows").as_deref() != Some("1") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // It waits for word by then, or is about to.
        tokio::time::sleep(Duration::from_millis(300)).await;
        gets(folder.path(), &[message(2, "A-2", json!({"attachments": [file, elsewhere]}))]);
        fs::write(folder.path().join("wakes"), "").unwrap();
        let received = hub.received(1).await;
        let words = received[0].event.words().unwrap();
        assert_eq!((words.files.len(), words.missing.len()), (1, 1), "{words:?}");
        assert!(words.missing[0].contains("not lie where"), "{words:?}");
        assert_eq!(received[0].author.name.as_deref(), Some("Anna"));
        fs::write(folder.path().join("ends"), "").unwrap();
        gets(folder.path(), &(3..130).map(|n| message(n, &format!("A-{n}"), json!({}))).collect::<Vec<_>>());
        fs::write(folder.path().join("wakes"), "").unwrap();
        hub.received(128).await
    };
    let received = tokio::select! {
        () = listener.listen_to_program(&program, &hub) => panic!("it listens for as long as the hub runs"),
        done = tokio::time::timeout(Duration::from_secs(20), test) => done.expect("in time"),
    };
    let guids: Vec<&str> = received.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(guids, (2..130).map(|n| format!("A-{n}")).collect::<Vec<_>>());
    assert_eq!((hub.at_position("rows").as_deref(), hub.files()), (Some("129"), vec![b"hello".to_vec()]));
    assert_eq!(fs::read_to_string(folder.path().join("starts")).unwrap().lines().count(), 2);
}

#[tokio::test]
async fn a_message_that_is_too_long_loses_none_before_it() {
    let (folder, program) = install();
    let hub = HubMock::default();
    let received = listening(&program, &hub, async {
        read_to(&hub, 1).await;
        fs::write(folder.path().join("long"), "").unwrap();
        comes(folder.path(), &[message(2, "please", json!({})), message(3, "LONG", json!({}))]);
        read_to(&hub, 3).await;
        comes(folder.path(), &[message(4, "there", json!({}))]);
        hub.received(2).await
    })
    .await;
    assert_eq!(received.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["please", "there"]);
    assert_eq!(hub.dropped().len(), 1, "{:?}", hub.dropped());
}

#[tokio::test]
async fn a_row_that_gets_its_conversation_after_others_were_read_is_told() {
    let (folder, program) = install();
    let hub = HubMock::default();
    let received = listening(&program, &hub, async {
        read_to(&hub, 1).await;
        comes(folder.path(), &[message(2, "late", json!({"chat_guid": ""}))]);
        for number in 3..6 {
            read_to(&hub, number - 1).await;
            comes(folder.path(), &[message(number, &format!("A-{number}"), json!({}))]);
        }
        read_to(&hub, 5).await;
        let rows = folder.path().join("rows");
        let joined = fs::read_to_string(&rows)
            .unwrap()
            .replace(r#""chat_guid":"""#, r#""chat_guid":"any;-;+4915112345679""#);
        fs::write(&rows, joined).unwrap();
        comes(folder.path(), &[]);
        hub.received(4).await
    })
    .await;
    assert_eq!(
        received.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(),
        ["A-3", "A-4", "A-5", "late"]
    );
    assert_eq!(hub.dropped(), []);
}

#[tokio::test]
async fn a_number_that_is_far_behind_all_rows_ends_no_reading() {
    let (folder, program) = install();
    let hub = HubMock::default();
    let received = listening(&program, &hub, async {
        read_to(&hub, 1).await;
        fs::write(folder.path().join("odd"), "").unwrap();
        comes(folder.path(), &[]);
        while folder.path().join("odd").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for n in 2..5 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            comes(folder.path(), &[message(n, &format!("A-{n}"), json!({}))]);
            read_to(&hub, n).await;
        }
        hub.received(3).await
    })
    .await;
    assert_eq!(received.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["A-2", "A-3", "A-4"]);
}

#[tokio::test]
async fn it_begins_however_many_rows_are_behind_the_message_with_the_newest_time() {
    let (folder, program) = install();
    let bare = |number: i64| json!({ "id": number });
    gets(folder.path(), &(2..1500).map(bare).chain([bare(40_000)]).collect::<Vec<_>>());
    let hub = HubMock::default();
    let received = listening(&program, &hub, async {
        read_to(&hub, 40_000).await;
        comes(folder.path(), &[message(40_001, "now", json!({}))]);
        hub.received(1).await
    })
    .await;
    assert_eq!(received[0].key, "now");
}

#[test]
fn what_a_program_hands_over_is_read_as_a_server_s_rows_are() {
    let of = |members: Value| {
        let answer = json!({"messages": [message(5, "A-5", members)]}).to_string();
        let (mut received, dropped) = read(answer.as_bytes());
        (received.pop(), dropped)
    };
    let said = of(json!({
        "chat_guid": "iMessage;+;chat9", "chat_name": "Family", "created_at": "2026-03-01T12:00:00.000Z",
    }))
    .0
    .unwrap();
    assert_eq!((said.conversation.address.as_str(), said.conversation.direct), ("iMessage;+;chat9", false));
    assert_eq!((said.said_at, said.author.id.as_str()), (Some(1_772_366_400_000), "+4915112345679"));
    let own = of(json!({"is_from_me": true, "sender": ""})).0.unwrap();
    let echo = of(json!({"sender": "+4915112345678"})).0.unwrap();
    assert_eq!([own.author.kind, echo.author.kind], [AuthorKind::Myself; 2]);
    assert!(of(json!({"chat_guid": "SMS;-;+4915112345679"})).0.unwrap().author.unverified);
    let reaction = of(json!({
        "is_reaction": true, "reaction_type": "love", "reaction_emoji": "❤️", "is_reaction_add": false, "reacted_to_guid": "B-1",
    }))
    .0
    .unwrap();
    assert_eq!(reaction.event, Event::Reaction { emoji: "❤️".into(), removed: true });
    assert_eq!(reaction.message_id.as_deref(), Some("B-1"));
    let reply = of(
        json!({"thread_originator_guid": "B-1", "reply_to_text": "Tea?", "reply_to_sender": "+49 151 12345679"}),
    );
    let reply = reply.0.unwrap().event.words().unwrap().reply_to.clone().unwrap();
    assert_eq!((reply.id.as_str(), reply.text.as_deref()), ("B-1", Some("Tea?")));
    assert_eq!(reply.author.as_deref(), Some("+4915112345679"));
    for (members, what) in [
        (json!({"text": "\u{fffc}"}), "message without words"),
        (json!({"guid": ""}), "message"),
        (json!({"sender": "a;b"}), "sender"),
        (json!({"chat_guid": ""}), "conversation"),
        (json!({"is_reaction": true}), "reaction"),
    ] {
        let (received, dropped) = of(members);
        assert!(received.is_none() && dropped[0].what == what, "{what}: {dropped:?}");
    }
}
