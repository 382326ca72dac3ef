//! The program imsg: a shell script that speaks as `imsg rpc` does.

use super::*;
use crate::channels::imessage::contract::answers;

struct Mac {
    folder: TempDir,
    files: Files,
}

impl Mac {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("imsg");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, files: Files::new() }
    }

    fn account(&self, ssh: &[&str]) -> IMessage {
        let command = vec![self.folder.path().join("imsg").display().to_string()];
        let ssh: Vec<String> = ssh.iter().map(|&word| word.to_owned()).collect();
        let remote = !ssh.is_empty();
        let imsg = Imsg::hasty(Program { command, ssh }, self.staging());
        IMessage {
            bridge: Bridge::Program { imsg, remote },
            kept: self.files.kept(),
            listener: None,
            webhook: None,
        }
    }

    fn staging(&self) -> PathBuf {
        self.folder.path().join("staging")
    }

    /// The parameters of all that it was asked by this method.
    fn asked(&self, method: &str) -> Vec<Value> {
        let asked = fs::read_to_string(self.folder.path().join("imsg.asked")).unwrap_or_default();
        let all = asked.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|call| call["method"] == method).map(|call| call["params"].clone()).collect()
    }
}

const WELL: &str = answers!(r#"send) say '"result":{"ok":true,"id":7,"guid":"G-7"}' ;;"#);

#[tokio::test]
async fn imsg_is_given_texts_as_they_are_and_never_twice() {
    for ssh in [&[] as &[&str], &["/bin/sh", "-c"]] {
        let mac = Mac::new(WELL);
        let imessage = mac.account(ssh);
        let text = part("--file /etc/passwd; $(id) 'x' \\n\n\"");
        let request = imessage.composed(&outgoing(ANNA, &text));
        assert_eq!(imessage.redelivery_of(&request), Redelivery::Look);
        assert_eq!(imessage.delivered(&request, &key()).await.unwrap(), "G-7");
        assert_eq!(mac.asked("send"), [json!({"to": ANNA, "service": "imessage", "text": text.text})]);
    }
}

#[tokio::test]
async fn a_group_goes_by_its_number_whatever_its_service_is_called() {
    let mac = Mac::new(answers!(
        r#"chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679","guid":"any;-;+4915112345679"},{"id":4,"identifier":"chat1","guid":"any;+;chat1","is_group":true}]}' ;;
           send) say '"result":{"ok":true,"guid":"G-7"}' ;;"#
    ));
    let imessage = mac.account(&[]);
    let text = part("Hello");
    imessage.delivered(&imessage.composed(&outgoing("iMessage;+;chat1", &text)), &key()).await.unwrap();
    assert_eq!(mac.asked("send"), [json!({"chat_id": 4, "text": "Hello"})]);
    let unheard = imessage.composed(&outgoing("iMessage;+;chat2", &text));
    let failure = imessage.delivered(&unheard, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("no conversation")), "{failure:?}");
}

#[tokio::test]
async fn a_file_has_its_name_while_imsg_runs_and_is_gone_afterwards() {
    let mac = Mac::new(answers!(
        r#"send) file=${line#*'"file":"'} file=${file%%'"'*}
           [ "$(cat "$file")" = hello ] || exit 9
           say '"result":{"ok":true,"guid":"G-7"}' ;;"#
    ));
    let imessage = mac.account(&[]);
    let (text, file) = (part("See"), [mac.files.add("a b.txt", "text/plain", b"hello")]);
    let request = imessage.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &text) });
    assert_eq!(imessage.redelivery_of(&request), Redelivery::Never);
    imessage.delivered(&request, &key()).await.unwrap();
    let path = mac.staging().join(key().0).join("a b.txt");
    assert_eq!(mac.asked("send")[0]["file"], path.display().to_string());
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

#[tokio::test]
async fn how_imsg_ends_says_what_became_of_the_message() {
    let text = part("Hello");
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    macro_rules! error {
        ($error:literal) => {
            answers!(concat!("send) say '\"error\":", $error, "' ;;"))
        };
    }
    let cases: [(&str, Judged, &str); 13] = [
        // No row was seen within eight seconds.
        (
            error!(
                r#"{"code":-32001,"message":"Delivery outcome unknown","data":{"retry_safe":false,"disposition":"may_have_completed","detail":"no matching outgoing text row was observed within 8 seconds"}}"#
            ),
            unknown,
            "no matching",
        ),
        (
            error!(r#"{"code":-32603,"message":"x","data":{"retry_safe":true,"disposition":"not_started"}}"#),
            retry,
            "x",
        ),
        // What is not safe to repeat is the one before it.
        (
            error!(
                r#"{"code":-32004,"message":"Mutation lane blocked","data":{"retry_safe":false,"disposition":"may_have_completed","operation":"send-message","detail":"A prior send-message remains in flight."}}"#
            ),
            retry,
            "blocked",
        ),
        (error!(r#"{"code":-32002,"message":"database unavailable"}"#), retry, "database"),
        // 0.13 and older.
        (
            error!(
                r#"{"code":-32603,"message":"Internal error","data":"AppleScript failed: Messages got an error: AppleEvent timed out."}"#
            ),
            unknown,
            "timed out",
        ),
        (
            error!(
                r#"{"code":-32603,"message":"Internal error","data":"AppleScript failed: 85:110: execution error: Not authorized to send Apple events to Messages. (-1743)"}"#
            ),
            permanent,
            "Automation",
        ),
        (
            error!(
                r#"{"code":-32603,"message":"Internal error","data":"AppleScript failed: Not authorised to send Apple events to Messages."}"#
            ),
            permanent,
            "Automation",
        ),
        (
            error!(r#"{"code":-32602,"message":"Invalid params","data":"invalid service"}"#),
            permanent,
            "invalid service",
        ),
        (answers!(r#"send) say '"result":{"ok":true}' ;;"#), unknown, "not as which message"),
        (answers!("send) kill -9 $$ ;;"), unknown, "ended"),
        (answers!("send) echo not json; exit 0 ;;"), unknown, "ended"),
        ("echo 'dyld: cannot load' >&2; exit 1", retry, "dyld"),
        ("exit 0", retry, "does not answer"),
    ];
    for (script, judged, words) in cases {
        let mac = Mac::new(script);
        let imessage = mac.account(&[]);
        let failure =
            imessage.delivered(&imessage.composed(&outgoing(ANNA, &text)), &key()).await.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
    }
    for away in ["echo 'ssh: connect: Connection refused' >&2; exit 255", "exit 255"] {
        let imessage = Mac::new(WELL).account(&["/bin/sh", "-c", away]);
        let failure =
            imessage.delivered(&imessage.composed(&outgoing(ANNA, &text)), &key()).await.unwrap_err();
        assert!(retry(&failure), "{failure:?}");
    }
    let program = Program { command: vec!["/nonexistent/imsg".into()], ssh: vec![] };
    let imsg = Imsg::hasty(program, "/nonexistent".into());
    let nobody = IMessage {
        bridge: Bridge::Program { imsg, remote: false },
        kept: Files::new().kept(),
        listener: None,
        webhook: None,
    };
    let failure = nobody.delivered(&nobody.composed(&outgoing(ANNA, &text)), &key()).await.unwrap_err();
    assert!(retry(&failure), "{failure:?}");
    assert!(nobody.check_ready().await.unwrap_err().0.contains("Full Disk Access"));
}

/// Conversation 3 with Anna, in which `rows` of a text of the account's own stand in a file beside the program; it has no
/// `message.send_status`, as 0.9.0.
const KEEPS: &str = concat!(
    "VERSION=0.9.0\n",
    answers!(
        r#"chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679","guid":"any;-;+4915112345679"}]}' ;;
       messages.history) say "\"result\":{\"messages\":[$(cat "$0.rows")]}" ;;"#
    )
);

#[tokio::test]
async fn no_earlier_message_is_taken_for_a_lost_one() {
    let mac = Mac::new(KEEPS);
    let rows = |rows: &str| fs::write(mac.folder.path().join("imsg.rows"), rows).unwrap();
    let imessage = mac.account(&[]);
    let text = part("ok");
    let request = imessage.composed(&outgoing(ANNA, &text));
    rows(
        r#"{"id":40,"guid":"G-40","is_from_me":true,"text":"ok"},{"id":39,"guid":"G-39","is_from_me":false,"text":"And?"}"#,
    );
    let position = imessage.position_before(&request).await.unwrap();
    assert_eq!(position.as_deref(), Some("40"));
    let key = key();
    let attempt = Attempt { position: position.as_deref(), ..Attempt::new(&key, 1_700_000_000_000) };
    // The earlier "ok", said again by nobody; and one that somebody else said.
    assert_eq!(imessage.found(&request, &attempt).await.unwrap(), None);
    rows(
        r#"{"id":41,"guid":"G-41","is_from_me":false,"text":"ok"},{"id":40,"guid":"G-40","is_from_me":true,"text":"ok"}"#,
    );
    assert_eq!(imessage.found(&request, &attempt).await.unwrap(), None);
    rows(
        r#"{"id":42,"guid":"G-42","is_from_me":true,"text":"ok"},{"id":40,"guid":"G-40","is_from_me":true,"text":"ok"}"#,
    );
    // Without a row to begin behind, nothing is proven.
    assert_eq!(imessage.found(&request, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(), None);
    assert_eq!(imessage.found(&request, &attempt).await.unwrap().as_deref(), Some("G-42"));
    assert_eq!(imessage.found(&request, &attempt).await.unwrap(), None, "that one is known");
    let asked = mac.asked("messages.history");
    assert_eq!(asked[0], json!({"chat_id": 3, "limit": 50}));
    assert_eq!(asked[1], json!({"chat_id": 3, "limit": 50, "start": "2023-11-14T22:11:20Z"}));

    // With somebody who was never written to all rows are new.
    let nobody = imessage.composed(&outgoing("anna@example.org", &text));
    assert_eq!(imessage.position_before(&nobody).await.unwrap().as_deref(), Some("0"));
    // A program that may not read sends without; one that does not run does not.
    let blind = Mac::new(answers!(r#"chats.list) say '"error":{"code":-32002,"message":"no access"}' ;;"#));
    assert_eq!(blind.account(&[]).position_before(&request).await.unwrap(), None);
    let broken = Mac::new("exit 1").account(&[]);
    assert!(matches!(broken.position_before(&request).await, Err(Failure::Retry(_))));
    assert!(matches!(broken.found(&request, &attempt).await, Err(Failure::Retry(_))));
}

#[tokio::test]
async fn a_page_that_is_too_long_is_asked_for_in_smaller_ones() {
    let mac = Mac::new(answers!(
        r#"chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679"}]}' ;;
           messages.history) limit=${line#*'"limit":'} limit=${limit%%[!0-9]*}
             if [ "$limit" -gt 12 ]; then head -c 1200000 /dev/zero | tr '\0' x; echo
             else say '"result":{"messages":[{"id":5,"guid":"G-5","is_from_me":true,"text":"ok"}]}'; fi ;;"#
    ));
    let imessage = mac.account(&[]);
    let text = part("ok");
    let request = imessage.composed(&outgoing(ANNA, &text));
    let key = key();
    let attempt = Attempt { position: Some("4"), ..Attempt::new(&key, 1_700_000_000_000) };
    assert_eq!(imessage.found(&request, &attempt).await.unwrap().as_deref(), Some("G-5"));
    let limits: Vec<Value> = mac.asked("messages.history").iter().map(|call| call["limit"].clone()).collect();
    assert_eq!(limits, [50, 25, 12]);
}

#[tokio::test]
async fn with_its_bridge_a_message_has_an_id_of_ours_and_is_asked_about_by_it() {
    let mac = Mac::new(answers!(
        r#"status) say '"result":{"version":"0.15.10","methods":["send","send.tracked","message.send_status"]}' ;;
           send.tracked) say '"result":{"ok":true,"guid":"018BCFE5-6800-7000-8000-000000000000"}' ;;
           message.send_status) case $line in
             *018bcfe5*) say '"result":{"guid":"018BCFE5-6800-7000-8000-000000000000","send_state":"sent","status_fields":{"is_sent":true,"error":0}}' ;;
             *EEEEEEEE*) say '"result":{"send_state":"failed","status_fields":{"is_sent":false,"error":22}}' ;;
             *DDDDDDDD*) say '"result":{"send_state":"pending","status_fields":{"is_sent":false,"error":0}}' ;;
             *) say '"result":{"send_state":"pending","status_fields":null}' ;;
             esac ;;
           chats.list) say '"result":{"chats":[]}' ;;"#
    ));
    let imessage = mac.account(&[]);
    let text = part("ok");
    let request = imessage.composed(&outgoing(ANNA, &text));
    let key = PartKey("018bcfe5680070008000000000000000".into());
    let id = "018BCFE5-6800-7000-8000-000000000000";
    assert_eq!(imessage.delivered(&request, &key).await.unwrap(), id);
    assert_eq!(mac.asked("send.tracked")[0]["attempt_id"], id);
    assert_eq!(imessage.found(&request, &Attempt::new(&key, 0)).await.unwrap().as_deref(), Some(id));
    let other = PartKey("f".repeat(32));
    assert_eq!(imessage.found(&request, &Attempt::new(&other, 0)).await.unwrap(), None);
    // Messages has it, and could not send it, or has not sent it yet.
    let failed = imessage.found(&request, &Attempt::new(&PartKey("e".repeat(32)), 0)).await.unwrap_err();
    assert!(
        matches!(&failed, Failure::NotDelivered(why) if why.contains("error 22, the recipient is not on iMessage")),
        "{failed:?}"
    );
    let waiting = imessage.found(&request, &Attempt::new(&PartKey("d".repeat(32)), 0)).await.unwrap_err();
    assert!(matches!(&waiting, Failure::Permanent(why) if why.contains("not sent it yet")), "{waiting:?}");
    // A file goes without.
    let file = [mac.files.add("a.txt", "text/plain", b"hello")];
    let request = imessage.composed(&OutgoingPart { files: &file, ..outgoing(ANNA, &text) });
    assert!(imessage.delivered(&request, &key).await.is_err() && mac.asked("send").len() == 1);
}

#[tokio::test]
async fn with_its_bridge_a_message_to_somebody_new_goes_by_applescript() {
    let mac = Mac::new(answers!(
        r#"status) say '"result":{"version":"0.15.10","methods":["send","send.tracked","message.send_status"]}' ;;
           send.tracked) say '"error":{"code":-32602,"message":"Invalid params","data":"bridge transport requires an existing chat target"}' ;;
           send) say '"result":{"ok":true,"transport":"applescript","guid":"G-7"}' ;;"#
    ));
    let imessage = mac.account(&[]);
    let text = part("ok");
    let key = PartKey("018bcfe5680070008000000000000000".into());
    assert_eq!(imessage.delivered(&imessage.composed(&outgoing(ANNA, &text)), &key).await.unwrap(), "G-7");
    assert_eq!(mac.asked("send.tracked").len(), 1);
    assert_eq!(mac.asked("send"), [json!({"to": ANNA, "service": "imessage", "text": "ok"})]);
    // Whatever else it refuses stays refused.
    let mac = Mac::new(answers!(
        r#"status) say '"result":{"version":"0.15.10","methods":["send","send.tracked","message.send_status"]}' ;;
           send.tracked) say '"error":{"code":-32602,"message":"Invalid params","data":"invalid service"}' ;;"#
    ));
    let imessage = mac.account(&[]);
    assert!(imessage.delivered(&imessage.composed(&outgoing(ANNA, &text)), &key).await.is_err());
    assert!(mac.asked("send").is_empty());
}

/// The same conversation at a program that has `message.send_status`: the state of each row stands in a file with its GUID.
const TELLS: &str = answers!(
    r#"chats.list) say '"result":{"chats":[{"id":3,"identifier":"+4915112345679","guid":"any;-;+4915112345679"}]}' ;;
       messages.history) say "\"result\":{\"messages\":[$(cat "$0.rows")]}" ;;
       message.send_status) guid=${line#*'"guid":"'} guid=${guid%%'"'*}; 
         if [ -e "$0.$guid" ]; then say "$(cat "$0.$guid")"
         else say '"result":{"send_state":"pending","status_fields":null}'; fi ;;"#
);

#[tokio::test]
async fn a_row_in_the_history_that_messages_could_not_send_is_never_told_as_sent() {
    let mac = Mac::new(TELLS);
    let put =
        |name: &str, text: &str| fs::write(mac.folder.path().join(format!("imsg.{name}")), text).unwrap();
    let state = |guid: &str, state: &str, error: i64| {
        let status = json!({"guid": guid, "send_state": state, "status_fields": {"error": error}});
        put(guid, &format!("\"result\":{status}"));
    };
    let imessage = mac.account(&[]);
    let text = part("ok");
    let request = imessage.composed(&outgoing(ANNA, &text));
    let key = key();
    let attempt = Attempt { position: Some("40"), ..Attempt::new(&key, 1_700_000_000_000) };
    // It went by a plain `send`, so there is nothing with an id of ours.
    put("rows", r#"{"id":41,"guid":"G-41","is_from_me":true,"text":"ok"}"#);
    state("G-41", "failed", 22);
    let failed = imessage.found(&request, &attempt).await.unwrap_err();
    assert!(matches!(&failed, Failure::NotDelivered(why) if why.contains("error 22")), "{failed:?}");
    state("G-41", "failed", 43);
    let failed = imessage.found(&request, &attempt).await.unwrap_err();
    assert!(
        matches!(&failed, Failure::NotDelivered(why) if why.contains("error 43 of Messages")),
        "{failed:?}"
    );
    state("G-41", "pending", 0);
    let waiting = imessage.found(&request, &attempt).await.unwrap_err();
    assert!(matches!(&waiting, Failure::Permanent(why) if why.contains("not sent it yet")), "{waiting:?}");
    // One that failed stands beside one that left.
    put(
        "rows",
        r#"{"id":42,"guid":"G-42","is_from_me":true,"text":"ok"},{"id":41,"guid":"G-41","is_from_me":true,"text":"ok"}"#,
    );
    state("G-42", "failed", 22);
    state("G-41", "delivered", 0);
    assert_eq!(imessage.found(&request, &attempt).await.unwrap().as_deref(), Some("G-41"));
    // A program that has the method and fails at it is asked again.
    put("G-42", r#""error":{"code":-32002,"message":"Database unavailable"}"#);
    assert!(matches!(imessage.found(&request, &attempt).await, Err(Failure::Retry(_))));
}

#[tokio::test]
async fn readiness_says_the_version_and_what_it_lacks() {
    let ready = async |version: &str| {
        let script = answers!(r#"chats.list) say '"result":{"chats":[]}' ;;"#);
        Mac::new(&format!("VERSION='{version}'\n{script}"))
            .account(&[])
            .check_ready()
            .await
            .map_err(|why| why.0)
    };
    assert_eq!(ready("0.14.0").await.unwrap(), "imsg 0.14.0 on this machine");
    assert!(ready("imsg 0.9.0").await.unwrap().contains("older than 0.14.0"));
    assert!(ready("0.8.2").await.unwrap_err().contains("too old"));
    assert!(ready("hello").await.unwrap_err().contains("no imsg"));
    let blind = answers!(r#"chats.list) say '"error":{"code":-32002,"message":"authorization denied"}' ;;"#);
    assert!(Mac::new(blind).account(&[]).check_ready().await.unwrap_err().0.contains("Full Disk Access"));
}
