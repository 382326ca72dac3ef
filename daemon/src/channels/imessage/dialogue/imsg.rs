//! The program imsg.

use super::*;

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
    assert_eq!(
        imessage.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap().as_deref(),
        Some("G-7")
    );
    let asked = mac.log().pop().unwrap();
    assert_eq!(asked, "history|--chat-id|3|--limit|50|--start|2023-11-14T22:11:20Z|--json");
    assert_eq!(
        imessage.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(),
        None,
        "that one is known"
    );
    fs::write(mac.folder.path().join("imsg.second"), "").unwrap();
    assert_eq!(
        imessage.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap().as_deref(),
        Some("G-8")
    );
    let other = part("Something else");
    assert_eq!(
        imessage
            .find(&imessage.compose(&letter(ANNA, &other)), &Attempt::new(&key, 1_700_000_000_000))
            .await
            .unwrap(),
        None
    );
    let nobody = imessage.compose(&letter("anna@example.org", &text));
    assert_eq!(imessage.find(&nobody, &Attempt::new(&key, 1_700_000_000_000)).await.unwrap(), None);
    let broken = Mac::new("exit 1").account(&[]);
    assert!(matches!(
        broken.find(&wire, &Attempt::new(&key, 1_700_000_000_000)).await,
        Err(Failure::Retry(_))
    ));
}

#[tokio::test]
async fn what_stands_behind_the_last_page_is_unknown_and_not_sent_again() {
    let text = part("Hello");
    // A line as often as `seq` counts.
    let many = |n: usize, line: &str| format!("for n in $(seq {n}); do echo '{line}'; done");
    let other = r#"{"guid":"G-1","is_from_me":true,"text":"Something else"}"#;
    let chat = r#"echo '{"id":3,"identifier":"+4915112345679"}'"#;
    let stranger = r#"{"id":4,"identifier":"+4915100000000"}"#;
    for (chats, history, known) in [
        (chat.to_owned(), many(49, other), true),
        (chat.to_owned(), many(50, other), false),
        (many(499, stranger), String::new(), true),
        (many(500, stranger), String::new(), false),
    ] {
        let mac =
            Mac::new(&format!("case \"$1\" in\nchats) {chats};;\nhistory) {history}\n;;\nesac\nexit 0"));
        let imessage = mac.account(&[]);
        let found = imessage
            .find(&imessage.compose(&letter(ANNA, &text)), &Attempt::new(&key(), 1_700_000_000_000))
            .await;
        match known {
            true => assert_eq!(found, Ok(None), "{chats} {history}"),
            false => assert!(matches!(found, Err(Failure::Unknown(_))), "{found:?}"),
        }
    }
}
