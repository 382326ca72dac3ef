//! Tests of whole dialogues with a BlueBubbles that follows a script, and with a program that stands for `imsg`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::{Bridge, IMessage, Imsg, KEYS, PLAIN, PRIVATE, Program, REMOTE, Server, Settings};
use crate::{
    channels::{
        Adapter, Failure, Letter, PartKey, Redelivery,
        http::{
            base::Base,
            double::{Double, Reply, body, http},
        },
        sample::{Files, act, key, letter, part},
    },
    message::{
        action::Action,
        deed::{Deed, Extras},
    },
    settings::secret::Secret,
};

const ANNA: &str = "+4915112345679";
const SENT: Reply =
    Reply::Says(200, "", r#"{"status":200,"message":"Message sent!","data":{"guid":"A-1","error":0}}"#);

fn bluebubbles(port: u16, private: bool, files: &Files) -> IMessage {
    let url = Base::parse("url", &format!("http://127.0.0.1:{port}")).unwrap();
    let server = Server::new(http(), url, Secret::from("bb secret"));
    IMessage { bridge: Bridge::Server { server, private }, kept: files.kept() }
}

async fn deliver(script: &'static [Reply]) -> (Result<String, Failure>, Vec<String>) {
    let double = Double::start(script);
    let imessage = bluebubbles(double.port, true, &Files::new());
    let part = part("Hello");
    let wire = imessage.compose(&letter(ANNA, &part));
    (imessage.deliver(&wire, &key()).await, double.heard())
}

#[tokio::test]
async fn a_text_is_sent_with_the_parts_key() {
    let (sent, heard) = deliver(&[SENT]).await;
    assert_eq!(sent.unwrap(), "A-1");
    assert!(
        heard[0].starts_with("POST /api/v1/message/text?password=bb+secret HTTP/1.1\r\n"),
        "{}",
        heard[0]
    );
    assert_eq!(
        body(&heard[0]),
        json!({"chatGuid": "iMessage;-;+4915112345679", "method": "private-api", "message": "Hello", "tempGuid": key().0})
    );
}

#[tokio::test]
async fn replies_effects_and_all_that_is_done_to_a_message_have_their_requests() {
    let files = Files::new();
    let double = Double::start(&[SENT, SENT, SENT, SENT]);
    let imessage = bluebubbles(double.port, true, &files);
    let text = part("Hello");
    let extras = Extras { effect: Some("slam".into()), ..Extras::default() };
    let wire = imessage.compose(&Letter { reply_to: Some("B-2"), extras: &extras, ..letter(ANNA, &text) });
    assert_eq!(wire["body"]["effectId"], "com.apple.MobileSMS.expressivesend.impact");
    assert_eq!(
        (&wire["body"]["selectedMessageGuid"], &wire["body"]["partIndex"]),
        (&json!("B-2"), &json!(0))
    );
    assert_eq!(imessage.redelivery(&wire), Redelivery::Never);
    imessage.deliver(&wire, &key()).await.unwrap();
    for (deed, path, expected) in [
        (
            Deed::React { message: "B-2".into(), emoji: "❤️".into(), remove: true },
            "/api/v1/message/react?",
            json!({"chatGuid": "iMessage;-;+4915112345679", "selectedMessageGuid": "B-2", "reaction": "-love", "partIndex": 0}),
        ),
        (
            Deed::Edit { message: "B/2".into() },
            "/api/v1/message/B%2F2/edit?",
            json!({"editedMessage": "Hello", "backwardsCompatibilityMessage": "Edited to “Hello”", "partIndex": 0}),
        ),
        (Deed::Delete { message: "B-2".into() }, "/api/v1/message/B-2/unsend?", json!({"partIndex": 0})),
    ] {
        let wire = imessage.act(&act(ANNA, &deed, Some(&text))).unwrap();
        assert!(matches!(imessage.redelivery(&wire), Redelivery::Keyed(_)));
        let id = imessage.deliver(&wire, &key()).await.unwrap();
        assert!(id == "B-2" || id == "B/2", "{id}");
        let heard = double.heard().pop().unwrap();
        assert!(heard.starts_with(&format!("POST {path}")), "{heard}");
        assert_eq!(body(&heard), expected);
    }
    let odd = Deed::React { message: "B-2".into(), emoji: "🦀".into(), remove: false };
    let wire = imessage.act(&act(ANNA, &odd, None)).unwrap();
    let failure = imessage.deliver(&wire, &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("six reactions")), "{failure:?}");
}

#[test]
fn each_kind_of_account_has_what_its_bridge_has() {
    assert!(PRIVATE.replies && PRIVATE.does(Action::Edit) && PRIVATE.effects.contains(&"confetti"));
    assert!(!PLAIN.replies && PLAIN.actions.is_empty() && PLAIN.effects.is_empty() && PLAIN.files.is_some());
    assert!(REMOTE.files.is_none());
    let plain = bluebubbles(1, false, &Files::new());
    for deed in [Deed::Delete { message: "1".into() }, Deed::Pin { message: "1".into() }] {
        assert_eq!(plain.act(&act(ANNA, &deed, None)), None);
    }
    let private = bluebubbles(1, true, &Files::new());
    assert_eq!(private.act(&act(ANNA, &Deed::Pin { message: "1".into() }, None)), None);
    let text = part("Hello");
    assert_eq!(plain.compose(&letter(ANNA, &text))["body"]["method"], "apple-script");
}

#[tokio::test]
async fn a_files_caption_goes_before_it_and_never_twice() {
    let files = Files::new();
    let mut file = files.add("a b.caf", "audio/x-caf", b"hello");
    file.voice = true;
    let (text, file) = (part("See"), [file]);
    let double = Double::start(&[SENT, SENT]);
    let imessage = bluebubbles(double.port, true, &files);
    let wire = imessage.compose(&Letter { files: &file, ..letter("iMessage;+;chat1", &text) });
    imessage.deliver(&wire, &key()).await.unwrap();
    let heard = double.heard();
    assert_eq!(body(&heard[0])["message"], "See");
    assert_eq!(body(&heard[0])["tempGuid"], format!("{}-caption", key().0));
    assert!(heard[1].starts_with("POST /api/v1/message/attachment?"), "{}", heard[1]);
    for piece in [
        "name=\"chatGuid\"\r\n\r\niMessage;+;chat1\r\n",
        "name=\"isAudioMessage\"\r\n\r\ntrue\r\n",
        "name=\"name\"\r\n\r\na b.caf\r\n",
        "name=\"attachment\"; filename=\"a b.caf\"\r\nContent-Type: audio/x-caf\r\n\r\nhello\r\n",
    ] {
        assert!(heard[1].contains(piece), "{piece} in {}", heard[1]);
    }
    // The file's refusal after its caption has gone is the end.
    const BUSY: Reply = Reply::Says(503, "", "{}");
    for (script, captioned) in [(&[SENT, BUSY] as &'static [Reply], true), (&[BUSY], false)] {
        let imessage = bluebubbles(Double::start(script).port, true, &files);
        let bare = part("");
        let part = if captioned { &text } else { &bare };
        let wire = imessage.compose(&Letter { files: &file, ..letter(ANNA, part) });
        let failure = imessage.deliver(&wire, &key()).await.unwrap_err();
        assert_eq!(matches!(failure, Failure::Permanent(_)), captioned, "{failure:?}");
    }
}

#[tokio::test]
async fn what_bluebubbles_refuses_is_told_without_its_password() {
    const BUSY: Reply = Reply::Says(
        400,
        "",
        r#"{"status":400,"message":"Bad","error":{"type":"Validation Error","error":"Message is already queued to be sent! (Temp GUID: x)"}}"#,
    );
    const NO_IMESSAGE: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"type":"iMessage Error","error":"Failed to send message!"},"data":{"guid":"x","error":22}}"#,
    );
    const TIMED_OUT: Reply = Reply::Says(
        500,
        "",
        r#"{"status":500,"message":"Message Send Error","error":{"error":"Transaction timeout"}}"#,
    );
    const HELPER: Reply =
        Reply::Says(500, "", r#"{"status":500,"error":{"error":"iMessage Private API is not enabled!"}}"#);
    const PASSWORD: Reply = Reply::Says(
        401,
        "",
        r#"{"status":401,"message":"bb secret","error":{"type":"Authentication Error"}}"#,
    );
    const BAD: Reply = Reply::Says(400, "", r#"{"status":400,"error":{"error":"chatGuid is required"}}"#);
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let cases: [(&'static [Reply], Judged, &str); 10] = [
        (&[BUSY], unknown, "already queued"),
        (&[NO_IMESSAGE], permanent, "not on iMessage"),
        (&[TIMED_OUT], unknown, "timeout"),
        (&[HELPER], permanent, "private_api = false"),
        (&[PASSWORD], permanent, "replace the token"),
        (&[BAD], permanent, "chatGuid is required"),
        (&[Reply::Says(404, "", "")], permanent, "check url"),
        (&[Reply::Close], unknown, "no answer"),
        (&[Reply::Says(200, "", "<p>yes</p>")], unknown, "no JSON"),
        (&[Reply::Says(200, "", "{}")], unknown, "not as which message"),
    ];
    for (script, judged, words) in cases {
        let failure = deliver(script).await.0.unwrap_err();
        assert!(judged(&failure) && failure.to_string().contains(words), "{words}: {failure:?}");
        assert!(
            !failure.to_string().contains("bb secret") && !failure.to_string().contains("bb+secret"),
            "{failure:?}"
        );
    }
    let gone = bluebubbles(1, true, &Files::new());
    let text = part("Hello");
    let failure = gone.deliver(&gone.compose(&letter(ANNA, &text)), &key()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if !why.contains("secret")), "{failure:?}");
}

#[tokio::test]
async fn readiness_says_what_is_missing_on_the_mac() {
    let files = &Files::new();
    let ready = |script, private| async move {
        bluebubbles(Double::start(script).port, private, files).check_ready().await.map_err(|why| why.0)
    };
    const OFF: Reply = Reply::Says(200, "", r#"{"data":{"server_version":"1.9.9","private_api":false}}"#);
    const AWAY: Reply = Reply::Says(
        200,
        "",
        r#"{"data":{"server_version":"1.9.9","private_api":true,"helper_connected":false}}"#,
    );
    assert_eq!(ready(&[OFF], false).await.unwrap(), "BlueBubbles 1.9.9");
    assert!(ready(&[OFF], true).await.unwrap_err().contains("switched off"));
    assert!(ready(&[AWAY], true).await.unwrap_err().contains("not connected"));
    assert!(ready(&[Reply::Says(200, "", "{}")], true).await.unwrap_err().contains("no BlueBubbles"));
}

/// A program that writes down what it was given, and does what the test wrote into a file.
struct Mac {
    folder: TempDir,
    files: Files,
}

impl Mac {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("imsg");
        let log = folder.path().join("log");
        let log = log.display();
        let script = format!(
            "#!/bin/sh\nfirst=$1 line=$1\nshift\nfor last in \"$@\"; do line=\"$line|$last\"; done\n\
             printf '%s\\n' \"$line\" >>'{log}'\nset -- \"$first\"\n{script}\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, files: Files::new() }
    }

    fn account(&self, ssh: &[&str]) -> IMessage {
        let command = vec![self.folder.path().join("imsg").display().to_string()];
        let ssh: Vec<String> = ssh.iter().map(|&word| word.to_owned()).collect();
        let remote = !ssh.is_empty();
        let imsg = Imsg::hasty(Program { command, ssh }, self.staging());
        IMessage { bridge: Bridge::Program { imsg, remote }, kept: self.files.kept() }
    }

    fn staging(&self) -> PathBuf {
        self.folder.path().join("staging")
    }

    fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }
}

const WELL: &str = r#"echo '{"status":"sent","id":7,"guid":"G-7"}'"#;

#[tokio::test]
async fn imsg_is_given_its_arguments_and_no_text_is_taken_for_an_option() {
    for ssh in [&[] as &[&str], &["/bin/sh", "-c"]] {
        let mac = Mac::new(WELL);
        let imessage = mac.account(ssh);
        let text = part("--file /etc/passwd; $(id) 'x'");
        let wire = imessage.compose(&letter(ANNA, &text));
        assert_eq!(imessage.redelivery(&wire), Redelivery::Ask);
        assert_eq!(imessage.deliver(&wire, &key()).await.unwrap(), "G-7");
        let expected =
            format!("send|--to|{ANNA}|--service|imessage|--text| --file /etc/passwd; $(id) 'x'|--json");
        assert_eq!(mac.log(), [expected]);
        let group = imessage.compose(&letter("iMessage;+;chat1", &text));
        assert_eq!(group["arguments"][1], "--chat-guid");
    }
}

#[tokio::test]
async fn a_file_has_its_name_while_imsg_runs_and_is_gone_afterwards() {
    let mac = Mac::new(&format!("[ \"$(cat \"$last\")\" = hello ] || exit 9; {WELL}"));
    let imessage = mac.account(&[]);
    let (text, file) = (part("See"), [mac.files.add("a b.txt", "text/plain", b"hello")]);
    let wire = imessage.compose(&Letter { files: &file, ..letter(ANNA, &text) });
    assert_eq!(imessage.redelivery(&wire), Redelivery::Never);
    imessage.deliver(&wire, &key()).await.unwrap();
    let path = mac.staging().join(key().0).join("a b.txt");
    assert!(
        mac.log()[0].ends_with(&format!("--text|See|--json|--file|{}", path.display())),
        "{:?}",
        mac.log()
    );
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

#[tokio::test]
async fn how_imsg_ends_says_what_became_of_the_message() {
    let text = part("Hello");
    type Judged = fn(&Failure) -> bool;
    let permanent: Judged = |failure| matches!(failure, Failure::Permanent(_));
    let unknown: Judged = |failure| matches!(failure, Failure::Unknown(_));
    let retry: Judged = |failure| matches!(failure, Failure::Retry(_));
    let cases: [(&str, &[&str], Judged); 6] = [
        ("echo 'Invalid recipient' >&2; exit 1", &[], permanent),
        ("echo 'AppleScript failed' >&2; exit 1", &[], unknown),
        ("kill -9 $$", &[], unknown),
        ("echo not json", &[], unknown),
        (WELL, &["/bin/sh", "-c", "echo 'ssh: connect: Connection refused' >&2; exit 255"], retry),
        (WELL, &["/bin/sh", "-c", "echo 'Connection closed by remote host' >&2; exit 255"], unknown),
    ];
    for (script, ssh, judged) in cases {
        let mac = Mac::new(script);
        let imessage = mac.account(ssh);
        let failure = imessage.deliver(&imessage.compose(&letter(ANNA, &text)), &key()).await.unwrap_err();
        assert!(judged(&failure), "{script}: {failure:?}");
    }
    let nobody = mac_without_program();
    let failure = nobody.deliver(&nobody.compose(&letter(ANNA, &text)), &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    assert!(nobody.check_ready().await.unwrap_err().0.contains("Full Disk Access"));
}

fn mac_without_program() -> IMessage {
    let program = Program { command: vec!["/nonexistent/imsg".into()], ssh: vec![] };
    let imsg = Imsg::hasty(program, "/nonexistent".into());
    IMessage { bridge: Bridge::Program { imsg, remote: false }, kept: Files::new().kept() }
}

#[tokio::test]
async fn a_lost_run_is_settled_by_the_history_and_no_earlier_message_is_taken_for_it() {
    // The third message of the history is the second with this text.
    let mac = Mac::new(
        r#"case "$1" in
chats) echo '{"id":3,"identifier":"+4915112345679","guid":"iMessage;-;+4915112345679"}';;
history) echo '{"guid":"G-1","is_from_me":false,"text":"Hello"}'
  echo '{"guid":"G-7","is_from_me":true,"text":"Hello"}'
  [ -e "$0.second" ] && echo '{"guid":"G-8","is_from_me":true,"text":"Hello"}';;
*) echo '{"status":"sent","guid":"G-7"}';;
esac
exit 0"#,
    );
    let imessage = mac.account(&[]);
    let text = part("Hello");
    let wire = imessage.compose(&letter(ANNA, &text));
    // 2023-11-14T22:13:20Z.
    let key = PartKey("018bcfe5680070008000000000000000".into());
    assert_eq!(imessage.find(&wire, &key).await.unwrap().as_deref(), Some("G-7"));
    let asked = mac.log().pop().unwrap();
    assert_eq!(asked, "history|--chat-id|3|--limit|50|--start|2023-11-14T22:11:20Z|--json");
    assert_eq!(imessage.find(&wire, &key).await.unwrap(), None, "that one is known");
    fs::write(mac.folder.path().join("imsg.second"), "").unwrap();
    assert_eq!(imessage.find(&wire, &key).await.unwrap().as_deref(), Some("G-8"));
    let other = part("Something else");
    assert_eq!(imessage.find(&imessage.compose(&letter(ANNA, &other)), &key).await.unwrap(), None);
    let nobody = imessage.compose(&letter("anna@example.org", &text));
    assert_eq!(imessage.find(&nobody, &key).await.unwrap(), None);
    let broken = Mac::new("exit 1").account(&[]);
    assert!(matches!(broken.find(&wire, &key).await, Err(Failure::Retry(_))));
}

#[test]
fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
    let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
    let all: Settings = toml::from_str(&all).unwrap();
    assert!(all.private_api && all.command.len() == 1 && all.ssh.len() == 6);
    assert!(toml::from_str::<Settings>("kind = \"sms\"").is_err());
}
