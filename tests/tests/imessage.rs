//! iMessage with a double of BlueBubbles and a program that stands for `imsg`: neither runs without a Mac.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    doubles::{Answer, bluebubbles},
    hub::{SpawnedHub, TestHub, client::text},
    main_job,
};
use serde_json::{Value, json};

const AGENTS: &str = "
[agents.engineer]
allow = [\"imessage:*\"]

[agents.courier]
allow = [\"imessage:*\"]
cross_context = \"allow\"
decorate = false

[approval]
allow_software_companion = true
";

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_message_arrives_by_bluebubbles_and_all_that_is_done_to_it() -> Result<()> {
    let (desk, secrets) = (bluebubbles::start()?, tempfile::tempdir()?);
    let password = secrets.path().join("password");
    fs::write(&password, bluebubbles::PASSWORD)?;
    let channel = format!(
        "[channels.imessage.mac]\nurl = \"{}\"\npassword = \"file:{}\"\n",
        desk.url(),
        password.display()
    );
    let mut house = TestHub::start(&format!("{AGENTS}{channel}")).await?;
    let engineer = house.agent("engineer").await?;
    let to = "imessage:+49 151 12345679";
    let held = engineer.send(&json!({"to": to, "message": main_job::report()}))?;
    let seen = house.decide(Verdict::Approve).await?;
    let sent = engineer.ended(text(&held, "id"), "sent")?;
    let parts = main_job::shown_and_signed(&house, text(&sent, "id"), &seen)?;
    let heard = desk.heard();
    ensure!(heard.len() == parts.len(), "{} requests for {} parts", heard.len(), parts.len());
    for (part, request) in parts.iter().zip(&heard) {
        let (wire, body) = (serde_json::from_str::<Value>(&part.wire)?, request.json());
        ensure!(wire["body"]["message"] == body["message"] && body["tempGuid"] == part.key, "{body}");
    }

    let agent = house.agent("courier").await?;
    let sent = agent.send_and_wait(&json!({
        "action": "sendWithEffect", "to": to, "message": "Done!", "effect": "confetti",
        "attachments": [{"base64": "aGVsbG8=", "name": "a.txt", "caption": "a list"}],
    }))?;
    ensure!(sent["state"] == "sent", "{sent}");
    let id = text(&sent["parts"][0], "platform_id");
    for call in [
        json!({"action": "react", "to": to, "messageId": id, "emoji": "❤️"}),
        json!({"action": "edit", "to": to, "messageId": id, "message": "Nearly done."}),
        json!({"action": "delete", "to": to, "messageId": id}),
        json!({"action": "reply", "to": to, "replyTo": id, "message": "As I said."}),
    ] {
        let done = agent.send_and_wait(&call)?;
        ensure!(done["state"] == "sent", "{done}");
    }
    // It arrived, and its answer was lost: it is found, and nobody gets it twice.
    desk.next([Answer::Lost]);
    let found = agent.send_and_wait(&json!({"to": to, "message": "Once."}))?;
    ensure!(found["state"] == "sent", "{found}");
    let sent = desk.heard().iter().filter(|request| request.json()["message"] == "Once.").count();
    ensure!(sent == 1, "{sent}");
    // A file has nothing to be known by.
    desk.next([Answer::Lost]);
    let file = json!([{"base64": "aGVsbG8=", "name": "b.txt"}]);
    let unknown = agent.send_and_wait(&json!({"to": to, "attachments": file}))?;
    ensure!(unknown["state"] == "unknown", "{unknown}");
    desk.next([Answer::Says(500, json!({"error": {"error": "no"}, "data": {"error": 22}}))]);
    let failed = agent.send_and_wait(&json!({"to": to, "message": "To a telephone."}))?;
    ensure!(text(&failed, "error").contains("not on iMessage"), "{failed}");

    fs::write(&password, "another")?;
    let refused = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?;
    ensure!(refused.status == 1 && refused.stdout.contains("401"), "{refused:?}");
    ensure!(!refused.stdout.contains("another") && !refused.stderr.contains("another"), "{refused:?}");
    Ok(())
}

/// A program that stands for `imsg`: `sent` holds a line for each text, and while `breaks` is there it sends and dies.
fn imsg(folder: &Path) -> Result<()> {
    let script = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
what=$1; shift
case $what in
chats) echo '{"id":3,"identifier":"+4915112345679","guid":"iMessage;-;+4915112345679"}' ;;
history)
  n=0
  while read -r line; do n=$((n+1)); echo "{\"guid\":\"G-$n\",\"is_from_me\":true,\"text\":\"$line\"}"; done <sent ;;
send)
  to= text= file=
  while [ $# -gt 0 ]; do
    case $1 in
    --to | --chat-guid) to=$2; shift ;;
    --service) [ "$2" = imessage ] || exit 2; shift ;;
    --text) text=$2; shift ;;
    --file) [ -r "$2" ] || { echo "missing file" >&2; exit 2; }; file=$2; shift ;;
    --json) ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
    esac
    shift
  done
  [ -n "$to" ] && [ -n "$text$file" ] || { echo "missing option" >&2; exit 2; }
  printf '%s\n' "$text" >>sent
  if [ -e breaks ]; then rm breaks; kill -9 $$; fi
  echo "{\"status\":\"sent\",\"guid\":\"G-$(wc -l <sent | tr -d ' ')\"}" ;;
esac
"#;
    let program = folder.join("imsg");
    fs::write(&program, script)?;
    fs::write(folder.join("sent"), "")?;
    Ok(fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_imsg_that_died_after_sending_is_found_in_the_history_and_not_sent_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    imsg(folder.path())?;
    let program = folder.path().join("imsg");
    let channel =
        format!("[channels.imessage.mac]\nkind = \"imsg\"\ncommand = [\"{}\"]\n", program.display());
    let mut house = TestHub::start(&format!("{AGENTS}{channel}")).await?;
    let agent = house.agent("courier").await?;
    let to = "imessage:+4915112345679";
    let sent = agent.send_and_wait(&json!({
        "to": to, "message": "Hello", "attachments": [{"base64": "aGVsbG8=", "name": "a.txt"}],
    }))?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "G-1", "{sent}");
    fs::write(folder.path().join("breaks"), "")?;
    let sent = agent.send_and_wait(&json!({"to": to, "message": "Hello again"}))?;
    ensure!(sent["state"] == "sent" && sent["parts"][0]["platform_id"] == "G-3", "{sent}");
    let lines = fs::read_to_string(folder.path().join("sent"))?;
    ensure!(lines.lines().filter(|line| *line == "Hello again").count() == 1, "{lines}");
    let ready = SpawnedHub::at_rest(tempfile::tempdir()?.into(), &channel)?.cli(&["check"])?.well()?;
    ensure!(ready.contains("imsg on this machine"), "{ready}");
    Ok(())
}
